//! The sections of what finds: `[retrieve]`, `[rerank]`, `[query]`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Finding by meaning and by words together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RetrieveConfig {
    /// How the two become one.
    pub fusion: Fusion,
    /// Whether what was found gives on to what it mentions and to what stands beside it.
    pub graph: bool,
    /// Notes an answer of `retrieve` has when the request does not say.
    pub top_k: usize,
    /// Weights of the fusion of scores.
    pub scores: ScoreFusionConfig,
    /// Weights of the fusion of ranks.
    pub rrf: RankFusionConfig,
}

/// How meaning and words become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Fusion {
    /// By how far a note stands out in each.
    Scores,
    /// By its ranks in the lists of the best (reciprocal rank fusion).
    Rrf,
}

/// Weights of the fusion of scores; that of the words is 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ScoreFusionConfig {
    /// Of the meaning.
    pub meaning_weight: f64,
    /// Of a note whose title the question has.
    pub named_weight: f64,
    /// Of a note that holds an identifier the question has, or has it as its key.
    pub identifier_weight: f64,
    /// Of what one of the best notes mentions.
    pub mentioned_weight: f64,
    /// Of what mentions one of the best notes.
    pub mentioning_weight: f64,
    /// From how many of the best notes a mention leads on.
    pub mention_from: usize,
    /// Of what has a name in common with one of the best notes that nobody else has.
    pub shared_weight: f64,
    /// From how many of the best notes a name in common leads on.
    pub shared_from: usize,
    /// How many notes may have such a name; fewer in a small store.
    pub shared_by: usize,
    /// Of the notes before and after, in a session.
    pub beside_weight: f64,
    /// Of the notes two before and two after.
    pub further_weight: f64,
    /// Of the nearest notes together, where a note is tied to nothing.
    pub alike_weight: f64,
    /// How many are the nearest.
    pub alike_notes: usize,
    /// The cosine they are above.
    pub alike_cosine: f64,
}

/// Weights of the lists whose ranks are fused.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RankFusionConfig {
    /// The nearest vectors.
    pub vector_weight: f64,
    /// BM25 of titles.
    pub title_weight: f64,
    /// BM25 of bodies.
    pub body_weight: f64,
}

/// A cross-encoder that judges the best notes again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RerankConfig {
    /// The folder of the model or its name on the hub; empty for none.
    pub model: String,
    /// How many are the best.
    pub top: usize,
    /// How likely a note must answer a question for `query`.
    pub gate: GateConfig,
}

/// The op `query`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct QueryConfig {
    /// Notes found that are looked at.
    pub pool: usize,
    /// Notes named when nothing is known.
    pub fallback: usize,
    /// How often the cosine counts beside the coverage.
    pub cosine_weight: f64,
    /// The thresholds by kind of embedder, which its cosines belong to; `default` is for all others.
    pub gates: BTreeMap<String, GateConfig>,
}

impl QueryConfig {
    /// The gate for a kind of embedder.
    pub fn gate(&self, embedder: &str) -> Option<&GateConfig> {
        self.gates.get(embedder).or_else(|| self.gates.get("default"))
    }
}

/// How certain an answer must be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct GateConfig {
    /// For STRONG.
    pub strong: f64,
    /// For WEAK.
    pub weak: f64,
}
