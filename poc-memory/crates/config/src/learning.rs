//! The settings for learning from use: `[weight]`, `[edges]`, `[write]`, `[recall]`, `[reinforce]`.

use super::section::section;
use poc_graph::error::{Error, Result};
use poc_graph::time::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

section!(
    /// The weights of notes and their decay.
    WeightConfig {
        /// Minimum weight of a note.
        floor: f64,
        /// Maximum weight of a note.
        cap: f64,
        /// Rate λ of exponential decay, per second.
        decay: f64,
        /// Factors on the decay rate, by category.
        category: CategoryDecayConfig,
    }
);
section!(
    /// Factors on the decay rate, by category of the note.
    CategoryDecayConfig {
        /// Factor for `core`.
        core: f64,
        /// Factor for `general`.
        general: f64,
        /// Factor for `technical`.
        technical: f64,
        /// Factor for `observation`.
        observation: f64,
        /// Factor for `task`.
        task: f64,
    }
);

/// Weights of associative edges.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct EdgesConfig {
    /// Weight below which recall does not follow an edge and consolidation deletes it.
    pub floor: f64,
    /// Maximum weight of an edge.
    pub cap: f64,
    /// Rates λ of exponential decay, by kind of edge.
    pub decay: EdgeDecayConfig,
}

/// The decay rate λ of each kind of associative edge, per second.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct EdgeDecayConfig {
    /// Rate for `structural` edges, per second.
    pub structural: f64,
    /// Rate for `co_retrieval` edges, per second.
    pub co_retrieval: f64,
    /// Rate for `co_traversal` edges, per second.
    pub co_traversal: f64,
}

/// The op `write`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct WriteConfig {
    /// Number of sentences in a chunk.
    pub chunk_window: usize,
    /// Number of sentences from the start of one chunk to the start of the next.
    pub chunk_stride: usize,
    /// Language whose abbreviations do not end a sentence, as an ISO 639 code.
    pub language: String,
    /// Weight of edges between neighbouring chunks.
    pub structural_weight: f64,
    /// Weight of edges to notes written just before.
    pub temporal_weight: f64,
    /// Maximum number of such edges per message.
    pub temporal_nodes: usize,
    /// Maximum age of those notes when the message is written.
    pub temporal_within: Span,
    /// Maximum size of a message, in bytes.
    pub max_message_bytes: usize,
    /// Maximum number of chunks of a message; all of them are written and deleted in one
    /// transaction.
    pub max_chunks: usize,
    /// Maximum size of a message's metadata, in bytes of JSON.
    pub max_metadata_bytes: usize,
}

/// The op `recall`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RecallConfig {
    /// Number of notes in an answer.
    pub k: usize,
    /// Maximum number of hops from the notes found; 0 for none.
    pub hops: usize,
    /// Number of nearest notes, and of best notes by words, to score.
    pub oversample: usize,
    /// Exponent α of the relevance in the score.
    pub likeness_exponent: f64,
    /// Exponent β of the boost by the weight in the score.
    pub weight_exponent: f64,
    /// Factor by which each hop divides the score, at least 1.
    pub depth_factor: f64,
    /// Gain of an edge between two notes found together. It is multiplied by the smaller of their
    /// similarities.
    pub co_retrieval_base: f64,
    /// Number of best notes found that are linked to each other.
    pub co_retrieval_notes: usize,
    /// Gain of an edge that led to a hit, as a multiple of `co-retrieval-base`.
    pub co_traversal_multiplier: f64,
}

/// The ops `reinforce`, `demote` and `mark`. `recall` uses the same `delta`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ReinforceConfig {
    /// Amount that a use adds to the weight of a note.
    pub delta: f64,
    /// Time after feedback during which further feedback has no effect.
    pub refractory: Span,
    /// Whether gains become smaller as a weight approaches the cap.
    pub log_dampening: bool,
    /// Maximum number of notes that a call of `mark` reaches.
    pub mark_nodes: usize,
    /// Maximum number of confirmed questions kept per note; 0 for none.
    pub questions: usize,
}

impl EdgesConfig {
    pub(super) fn check(&self) -> Result<()> {
        check_cap("edges", self.floor, self.cap)
    }
}

impl WeightConfig {
    pub(super) fn check(&self) -> Result<()> {
        check_cap("weight", self.floor, self.cap)
    }
}

/// Fails unless the maximum weight is above 0 and at least the minimum.
fn check_cap(section: &str, floor: f64, cap: f64) -> Result<()> {
    if cap < floor || cap == 0.0 {
        return wrong(section, "cap", cap, "give a number above 0 and not below `floor`");
    }
    Ok(())
}

impl WriteConfig {
    pub(super) fn check(&self) -> Result<()> {
        // A stride longer than the window would omit sentences.
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
