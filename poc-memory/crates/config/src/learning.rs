//! The settings of learning from use: `[weight]`, `[edges]`, `[write]`, `[recall]`, `[reinforce]`.

use super::section::section;
use poc_graph::error::{Error, Result};
use poc_graph::time::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

section!(
    /// Weights and their decay.
    WeightConfig {
        /// Minimum weight.
        floor: f64,
        /// Greatest weight.
        cap: f64,
        /// λ of exponential decay, per second.
        decay: f64,
        /// Factor on λ by category.
        category: CategoryDecayConfig,
    }
);
section!(
    /// Factors on the decay of each category.
    CategoryDecayConfig {
        /// For `core`.
        core: f64,
        /// For `general`.
        general: f64,
        /// For `technical`.
        technical: f64,
        /// For `observation`.
        observation: f64,
        /// For `task`.
        task: f64,
    }
);

/// Weights of associative edges.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct EdgesConfig {
    /// Walks do not follow edges below this weight.
    pub floor: f64,
    /// Greatest weight.
    pub cap: f64,
    /// λ of exponential decay, by kind.
    pub decay: EdgeDecayConfig,
}

/// λ of each kind of associative edge, per second.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct EdgeDecayConfig {
    /// For `structural`.
    pub structural: f64,
    /// For `co_retrieval`.
    pub co_retrieval: f64,
    /// For `co_traversal`.
    pub co_traversal: f64,
}

/// The op `write`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct WriteConfig {
    /// Sentences in a chunk.
    pub chunk_window: usize,
    /// Sentences from the start of one chunk to the next.
    pub chunk_stride: usize,
    /// Language whose abbreviations do not end a sentence, as an ISO 639 code.
    pub language: String,
    /// Weight of the edges between neighbouring chunks.
    pub structural_weight: f64,
    /// Weight of the edges to notes written just before.
    pub temporal_weight: f64,
    /// Greatest number of those edges of a message.
    pub temporal_nodes: usize,
    /// How long before the message those notes may have been written.
    pub temporal_within: Span,
    /// Bytes a message may have.
    pub max_message_bytes: usize,
    /// Chunks a message may have, because all are written and deleted in one transaction.
    pub max_chunks: usize,
    /// Bytes the metadata of a message may have, as JSON.
    pub max_metadata_bytes: usize,
}

/// The op `recall`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RecallConfig {
    /// Notes in an answer.
    pub k: usize,
    /// Hops from the notes found; 0 for none.
    pub hops: usize,
    /// Number of nearest notes that are scored.
    pub oversample: usize,
    /// α, the exponent of the similarity.
    pub likeness_exponent: f64,
    /// β, the exponent of the weight.
    pub weight_exponent: f64,
    /// The divisor of a score for each hop, at least 1.
    pub depth_factor: f64,
    /// Gain of the edges between two notes found together, multiplied by the smaller similarity.
    pub co_retrieval_base: f64,
    /// How many of the best notes found are linked to each other.
    pub co_retrieval_notes: usize,
    /// Gain of an edge that led to a hit, as a multiple of `co-retrieval-base`.
    pub co_traversal_multiplier: f64,
}

/// The ops `reinforce`, `demote` and `mark`; the delta is also that of `recall`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ReinforceConfig {
    /// Amount a use adds to the weight of a note.
    pub delta: f64,
    /// How long after a use further uses have no effect.
    pub refractory: Span,
    /// Whether gains shrink as a weight approaches the cap.
    pub log_dampening: bool,
    /// Greatest number of notes that a mark reaches.
    pub mark_nodes: usize,
    /// Greatest number of confirmed questions that are kept for a note; 0 for none.
    pub questions: usize,
}

impl EdgesConfig {
    pub(super) fn check(&self) -> Result<()> {
        cap("edges", self.floor, self.cap)
    }
}

impl WeightConfig {
    pub(super) fn check(&self) -> Result<()> {
        cap("weight", self.floor, self.cap)
    }
}

/// Checks that the greatest weight is above 0 and not below the least.
fn cap(section: &str, floor: f64, cap: f64) -> Result<()> {
    if cap < floor || cap == 0.0 {
        return wrong(section, "cap", cap, "give a number above 0 and not below `floor`");
    }
    Ok(())
}

impl WriteConfig {
    pub(super) fn check(&self) -> Result<()> {
        // A stride longer than the window would skip sentences.
        if self.chunk_stride > self.chunk_window {
            let hint = format!("give a number from 1 to `chunk-window`, {}", self.chunk_window);
            return wrong("write", "chunk-stride", self.chunk_stride, &hint);
        }
        Ok(())
    }
}

fn wrong(section: &str, name: &str, value: impl std::fmt::Display, hint: &str) -> Result<()> {
    Err(Error::config(format!("cannot be {value}")).hint(hint).field(format!("{section}.{name}")))
}

#[cfg(test)]
mod tests {
    use crate::Config;

    #[test]
    fn settings_out_of_range_are_rejected() {
        let report = |text: &str| match Config::layered(Some(("config.toml", text)), std::iter::empty()) {
            Ok(_) => "taken".to_owned(),
            Err(error) => error.line(),
        };
        let files = [
            "write.chunk-window = 0",
            "write.max-chunks = 0",
            "write.chunk-stride = 4",
            "write.chunk-stride = 0",
            "[write]\nchunk-window = 5\nchunk-stride = 5",
            "recall.depth-factor = 0.5",
            "recall.k = 0",
            "edges.floor = -1.0",
            "edges.cap = 0.01",
            "weight.cap = 0",
            "[weight]\nfloor = 5.0\ncap = 1.0",
            "edges.decay.structural = nan",
            "reinforce.delta = -1.0",
        ];
        let all: Vec<String> = files.iter().map(|file| report(file)).collect();
        insta::assert_snapshot!(all.join("\n"), @r"
        config.toml:1:7: `write.chunk-window`: cannot be 0; give 1 or more; 3 is usual
        config.toml:1:7: `write.max-chunks`: cannot be 0; give 1 or more; 1024 is usual
        config.toml:1:7: `write.chunk-stride`: cannot be 4; give a number from 1 to `chunk-window`, 3
        config.toml:1:7: `write.chunk-stride`: cannot be 0; give 1 or more; 2 is usual
        taken
        config.toml:1:8: `recall.depth-factor`: cannot be 0.5; give 1 or more; 2.0 is usual
        config.toml:1:8: `recall.k`: cannot be 0; give 1 to 256; 8 is usual
        config.toml:1:7: `edges.floor`: cannot be -1.0; give 0 or more; 0.05 is usual
        config.toml:1:7: `edges.cap`: cannot be 0.01; give a number above 0 and not below `floor`
        config.toml:1:8: `weight.cap`: cannot be 0; give a number above 0 and not below `floor`
        config.toml:3:1: `weight.cap`: cannot be 1; give a number above 0 and not below `floor`
        config.toml:1:13: `edges.decay.structural`: cannot be nan; give 0 or more; 0.00000004 is usual
        config.toml:1:11: `reinforce.delta`: cannot be -1.0; give 0 or more; 1.0 is usual
        ");
    }
}
