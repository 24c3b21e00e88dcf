//! The settings of retrieval: `[retrieve]`, `[rerank]`, `[query]`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Hybrid retrieval by meaning and by words.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RetrieveConfig {
    /// How the two scores are fused.
    pub fusion: Fusion,
    /// Whether hits pass part of their score to the notes they mention and to their neighbours in a session.
    pub graph: bool,
    /// Default number of notes in an answer of `retrieve`.
    pub top_k: usize,
    /// Weights of the fusion of scores.
    pub scores: ScoreFusionConfig,
    /// Weights of the fusion of ranks.
    pub rrf: RankFusionConfig,
}

/// How meaning and words are fused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Fusion {
    /// By standard scores: how far a note stands out in each.
    Scores,
    /// By reciprocal rank fusion of the ranked lists.
    Rrf,
}

/// Weights of score fusion; the weight of the words is 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ScoreFusionConfig {
    /// Weight of the meaning.
    pub meaning_weight: f64,
    /// The clarity of the words of a question below which the meaning weighs more, with a contextual embedder.
    pub clear_words: f64,
    /// The greatest factor by which the meaning weighs more.
    pub meaning_factor: f64,
    /// Weight of a note whose title occurs in the question.
    pub named_weight: f64,
    /// Weight of a note that contains an identifier from the question or has it as its key.
    pub identifier_weight: f64,
    /// Weight of notes that one of the best notes mentions.
    pub mentioned_weight: f64,
    /// Weight of notes that mention one of the best notes.
    pub mentioning_weight: f64,
    /// How many of the best notes pass their score along mentions.
    pub mention_from: usize,
    /// Weight of notes that share a name with one of the best notes that no other note has.
    pub shared_weight: f64,
    /// How many of the best notes pass their score along shared names.
    pub shared_from: usize,
    /// How many notes may have such a name; fewer in a small store.
    pub shared_by: usize,
    /// Weight of the previous and next note in a session.
    pub beside_weight: f64,
    /// Weight of the notes two before and two after.
    pub further_weight: f64,
    /// Weight of the best window of a session that contains a note.
    pub window_weight: f64,
    /// Number of consecutive notes in a window.
    pub window_notes: usize,
    /// How many of the best notes are looked up in their sessions for windows.
    pub window_from: usize,
    /// Weight of a note that one of the candidates was derived from.
    pub derived_weight: f64,
    /// How many of the best confirmed questions pass score to the notes that answered them.
    pub question_from: usize,
    /// Weight of a note that a good note has a link of strength 1 with.
    pub link_weight: f64,
    /// How many links a note may have that pass on their whole share.
    pub link_degree: usize,
    /// How many of the best notes pass score along their links.
    pub link_from: usize,
    /// Weight of all nearest notes together, for a note without other relations.
    pub alike_weight: f64,
    /// Number of nearest notes.
    pub alike_notes: usize,
    /// Minimum cosine of nearest notes (exclusive).
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

/// A cross-encoder that rescores the best notes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RerankConfig {
    /// The folder of the model or its name on the hub; empty for none.
    pub model: String,
    /// How many of the best notes are rescored.
    pub top: usize,
    /// Thresholds of `query` for the likelihood that a note answers the question.
    pub gate: GateConfig,
}

/// The op `query`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct QueryConfig {
    /// The gate that decides.
    pub gate: GateKind,
    /// Number of notes considered.
    pub pool: usize,
    /// Number of notes named when nothing is known.
    pub fallback: usize,
    /// Weight of the cosine relative to the coverage.
    pub cosine_weight: f64,
    /// Thresholds by kind of embedder; `default` applies to all others.
    pub gates: BTreeMap<String, GateConfig>,
    /// Minimum cosine of a title that the gates `two-path` and `fused` consider.
    pub title_min_vec: f64,
    /// Thresholds of the gate `two-path`.
    pub two_path: TwoPathConfig,
    /// Weights and thresholds of the gate `fused`.
    pub fused: FusedConfig,
}

/// The gate of `query`: the rule that decides between STRONG, WEAK and MISS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GateKind {
    /// One number from the coverage of the question and the cosine of the nearest note.
    Certainty,
    /// Spelling and meaning of the title: STRONG by either of two paths.
    TwoPath,
    /// The weighted mean of spelling and meaning of the title.
    Fused,
}

impl GateKind {
    /// All gates.
    pub const ALL: [GateKind; 3] = [GateKind::Certainty, GateKind::TwoPath, GateKind::Fused];

    /// The name in the settings.
    pub fn name(self) -> &'static str {
        match self {
            GateKind::Certainty => "certainty",
            GateKind::TwoPath => "two-path",
            GateKind::Fused => "fused",
        }
    }
}

/// Thresholds of the gate `two-path`. `lex` is the Jaccard similarity of the character trigrams of question and
/// title, `vec` the cosine of their vectors, `ce` the likelihood of a cross-encoder; each is 0 to 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct TwoPathConfig {
    /// Minimum `lex` for STRONG on the path of the spelling.
    pub lex_strong_min_lex: f64,
    /// Minimum `vec` for STRONG on the path of the spelling.
    pub lex_strong_min_vec: f64,
    /// Minimum `vec` for STRONG on the path of the meaning.
    pub sem_strong_min_vec: f64,
    /// How far `lex` must exceed `weak-min-lex` on the path of the meaning.
    pub sem_margin: f64,
    /// Minimum `ce` for STRONG, if a cross-encoder is configured.
    pub strong_min_ce: f64,
    /// Minimum `vec` for WEAK.
    pub weak_min_vec: f64,
    /// Minimum `lex` for WEAK.
    pub weak_min_lex: f64,
}

/// Weights and thresholds of the gate `fused`. A signal without a value leaves both sums of the mean.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct FusedConfig {
    /// Weight of the cosine of question and title.
    pub vec_weight: f64,
    /// Weight of the Jaccard similarity of their character trigrams.
    pub lex_weight: f64,
    /// Weight of the likelihood of a cross-encoder.
    pub ce_weight: f64,
    /// Minimum mean for STRONG.
    pub strong_min_fused: f64,
    /// Minimum mean for WEAK.
    pub weak_min_fused: f64,
}

impl QueryConfig {
    /// The thresholds for a kind of embedder.
    pub fn gate(&self, embedder: &str) -> Option<&GateConfig> {
        self.gates.get(embedder).or_else(|| self.gates.get("default"))
    }
}

/// Thresholds of the certainty of an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct GateConfig {
    /// Minimum certainty for STRONG.
    pub strong: f64,
    /// Minimum certainty for WEAK.
    pub weak: f64,
}
