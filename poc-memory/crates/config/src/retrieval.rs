//! The settings for retrieval: `[retrieve]`, `[rerank]`, `[query]`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Hybrid retrieval, which combines vector search and text search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RetrieveConfig {
    /// How the two scores are combined.
    pub fusion: Fusion,
    /// Whether hits pass part of their score to notes that they mention and to neighbours in their session.
    pub graph: bool,
    /// Default number of notes in the answer of `retrieve`.
    pub top_k: usize,
    /// Weights for `fusion = "scores"`.
    pub scores: ScoreFusionConfig,
    /// Weights for `fusion = "rrf"`.
    pub rrf: RankFusionConfig,
}

/// How vector search and text search are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Fusion {
    /// By standard scores: how many standard deviations a note is above the average of each search.
    Scores,
    /// By the ranks in each search (reciprocal rank fusion).
    Rrf,
}

/// Weights for the fusion of scores, relative to the text score, whose weight is 1. A weight of 0 disables a signal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ScoreFusionConfig {
    /// Weight of the vector score with an embedder that is not contextual (`static`, `hash`).
    pub meaning_weight: f64,
    /// Weight of the vector score with a contextual embedder (`candle`, `http`).
    pub contextual_weight: f64,
    /// With a contextual embedder: clarity of the question's words below which the vector score weighs more; 0 disables
    /// this.
    pub clear_words: f64,
    /// Maximum factor by which the vector score then weighs more.
    pub meaning_factor: f64,
    /// Bonus for a note whose title occurs in the question, as a share of the best score.
    pub named_weight: f64,
    /// Bonus for a note that contains an identifier from the question or has it as its key, as a share of the best
    /// score.
    pub identifier_weight: f64,
    /// Weight of the score passed to notes that one of the best notes mentions.
    pub mentioned_weight: f64,
    /// Weight of the score passed to notes that mention one of the best notes.
    pub mentioning_weight: f64,
    /// Number of best notes that pass score along mentions.
    pub mention_from: usize,
    /// Weight of the score passed between notes that share a rare name which is not in the question.
    pub shared_weight: f64,
    /// Number of best notes that pass score along shared names.
    pub shared_from: usize,
    /// Maximum number of notes with such a name; fewer in a small store.
    pub shared_by: usize,
    /// Weight of the score passed to the previous and the next note in a session.
    pub beside_weight: f64,
    /// Weight of the score passed to the notes two places before and after in a session.
    pub further_weight: f64,
    /// Weight of the score that a note gets from the best session window that contains it.
    pub window_weight: f64,
    /// Number of consecutive notes in a session window.
    pub window_notes: usize,
    /// Number of best notes whose session windows are scored.
    pub window_from: usize,
    /// Weight of the score that a candidate passes to the notes it was derived from. With 0, and with `fusion = "rrf"`,
    /// derived notes are hits like all others.
    pub derived_weight: f64,
    /// Number of best confirmed questions that pass score to the notes that answered them.
    pub question_from: usize,
    /// Weight of the score passed along a link of strength 1.
    pub link_weight: f64,
    /// Number of links up to which each link of a note passes on its full share.
    pub link_degree: usize,
    /// Number of best notes that pass score along their links.
    pub link_from: usize,
    /// Total weight of the score that a note without other relations gets from its nearest notes.
    pub alike_weight: f64,
    /// Number of nearest notes that pass score.
    pub alike_notes: usize,
    /// Cosine above which a nearest note passes score.
    pub alike_cosine: f64,
}

impl ScoreFusionConfig {
    /// Maximum number of notes with a name that relates them, in a store with `notes` notes: `shared-by` or, in a small
    /// store, a tenth of the notes but at least `min`.
    pub fn max_sharing(&self, notes: usize, min: usize) -> usize {
        self.shared_by.min((notes / 10).max(min))
    }
}

/// Weights of the ranked lists for reciprocal rank fusion; 0 disables a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RankFusionConfig {
    /// Weight of the list of nearest vectors.
    pub vector_weight: f64,
    /// Weight of the list by BM25 of titles.
    pub title_weight: f64,
    /// Weight of the list by BM25 of bodies.
    pub body_weight: f64,
}

/// A cross-encoder that rescores the best notes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RerankConfig {
    /// The folder of the model, or its name on the hub; empty for none.
    pub model: String,
    /// Number of best notes to rescore.
    pub top: usize,
    /// Thresholds of `query` for the likelihood, 0–1, that the best note answers the question.
    pub gate: GateConfig,
}

/// The op `query`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct QueryConfig {
    /// The rule that decides between STRONG, WEAK and MISS.
    pub gate: GateKind,
    /// Number of hits to consider.
    pub pool: usize,
    /// Number of notes returned for a MISS.
    pub fallback: usize,
    /// Weight of the cosine relative to the coverage in the certainty.
    pub cosine_weight: f64,
    /// Thresholds of the certainty by kind of embedder; `default` applies to all others.
    pub gates: BTreeMap<String, GateConfig>,
    /// Cosine of a title below which the gates `two-path` and `fused` ignore it.
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
    /// By the certainty: how well one hit covers the question, plus the weighted cosine of the nearest note.
    Certainty,
    /// By spelling and meaning of the title; either of two paths gives STRONG.
    TwoPath,
    /// By the weighted mean of the similarity of spelling and meaning of the title.
    Fused,
}

impl GateKind {
    /// All gates.
    pub const ALL: [GateKind; 3] = [GateKind::Certainty, GateKind::TwoPath, GateKind::Fused];

    /// The name used in the settings.
    pub fn name(self) -> &'static str {
        match self {
            GateKind::Certainty => "certainty",
            GateKind::TwoPath => "two-path",
            GateKind::Fused => "fused",
        }
    }
}

/// Thresholds of the gate `two-path`, each 0–1. `lex` is the Jaccard similarity of the character trigrams of question
/// and title, `vec` is the cosine of their vectors, and `ce` is the likelihood from a cross-encoder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct TwoPathConfig {
    /// Minimum `lex` for STRONG on the spelling path.
    pub lex_strong_min_lex: f64,
    /// Minimum `vec` for STRONG on the spelling path.
    pub lex_strong_min_vec: f64,
    /// Minimum `vec` for STRONG on the meaning path.
    pub sem_strong_min_vec: f64,
    /// Minimum amount by which `lex` must exceed `weak-min-lex` for STRONG on the meaning path.
    pub sem_margin: f64,
    /// Minimum `ce` for STRONG, if a cross-encoder is configured.
    pub strong_min_ce: f64,
    /// Minimum `vec` for WEAK.
    pub weak_min_vec: f64,
    /// Minimum `lex` for WEAK.
    pub weak_min_lex: f64,
}

/// Weights and thresholds of the gate `fused`. A signal without a value is left out of the mean, together with its
/// weight.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct FusedConfig {
    /// Weight of the cosine of question and title.
    pub vec_weight: f64,
    /// Weight of the Jaccard similarity of their character trigrams.
    pub lex_weight: f64,
    /// Weight of the likelihood from a cross-encoder.
    pub ce_weight: f64,
    /// Minimum mean for STRONG, 0–1.
    pub strong_min_fused: f64,
    /// Minimum mean for WEAK, 0–1.
    pub weak_min_fused: f64,
}

impl QueryConfig {
    /// The thresholds for a kind of embedder.
    pub fn gate(&self, embedder: &str) -> Option<&GateConfig> {
        self.gates.get(embedder).or_else(|| self.gates.get("default"))
    }
}

/// Thresholds for the verdict of `query`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct GateConfig {
    /// Minimum value for STRONG.
    pub strong: f64,
    /// Minimum value for WEAK.
    pub weak: f64,
}
