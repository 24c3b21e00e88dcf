//! The gate of `query`: finds the note that is about a text and judges how certain that is.

mod certainty;
mod titles;

use super::{Memory, weight};
pub(crate) use certainty::thresholds as certainty_thresholds;
pub use certainty::{Certainty, certainty};
use poc_config::GateKind;
use poc_graph::error::{Error, Result};
use poc_graph::{Node, NodeId, NoteSet, View, Visibility};
use poc_rank::gate::{GateSignals, Verdict};
use poc_rank::histogram::Histogram;
use poc_search::retrieve::RetrievalHit;
use poc_store::Cause;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A question for a gate, and the notes that may answer it.
#[derive(Clone, Copy)]
pub struct GateQuery<'a> {
    /// The state of the graph that is searched.
    pub view: &'a View,
    /// The question.
    pub text: &'a str,
    /// The vector of the question, by the embedder of the store.
    pub vector: &'a [f32],
    /// Which notes may be found.
    pub visibility: Visibility,
    /// Notes that are left out.
    pub exclusions: Exclusions<'a>,
}

impl GateQuery<'_> {
    /// Whether a note may be the answer.
    fn may_answer(&self, id: NodeId) -> bool {
        let is_visible = |ix| self.view.is_visible(ix, self.visibility);
        !self.exclusions.contains(id) && self.view.find(id).is_some_and(is_visible)
    }
}

/// The answer of [`find`].
#[derive(Clone, Debug)]
pub struct GateResult {
    /// The gate that decided.
    pub gate: GateKind,
    /// How certain the match is.
    pub verdict: Verdict,
    /// The rule that decided the verdict.
    pub reason: GateReason,
    /// The signals on which the verdict is based: those of the best hit, or of the hits together.
    pub signals: GateSignals,
    /// The best hit, also when the verdict is a miss.
    pub best: Option<Node>,
    /// The hits, best first, at most `[query] fallback`. With a gate over titles only if the verdict is a miss.
    pub found: Vec<RetrievalHit>,
    /// Names in the query (such as `INC-90037`) that no note contains. They suggest that the query is about
    /// something unknown. Always empty with a gate over titles.
    pub unknown_names: Vec<String>,
    /// The names in the query if the best note contains none of them, the numbers if it contains none of those, and the
    /// compounds (`mail worker`) for which it has another one (`invoice worker`), the days, weekdays, months and times of
    /// day for which it has others, the owner (`hotel` in `the password of the hotel`) if it has the same thing with
    /// another one, and the words in whose place one of its sentences has others, case-folded. They suggest that the
    /// note is about another person, place, number, time or thing. Always empty with a gate over titles.
    pub missing_subjects: Vec<String>,
    /// The cosines of the hits in the pool.
    pub cosines: Histogram,
}

/// The rule that decided the verdict of a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GateReason {
    /// The query consists only of keys, and the best note has one of them.
    Key,
    /// The certainty, compared with the thresholds.
    Certainty,
    /// The likelihood of the cross-encoder, compared with the thresholds.
    Likelihood,
    /// A name of the query is in no note: STRONG became WEAK.
    UnknownName,
    /// The note has none of the names of the query, none of its numbers, another compound, another day, weekday, month
    /// or time of day, another owner of the same thing, or another word in the same place of a sentence: STRONG became
    /// WEAK.
    OtherSubject,
    /// The note has all words of the query, and one of them is rare: MISS became WEAK.
    AllWords,
    /// The spelling path of the gate `two-path`.
    Spelling,
    /// The meaning path of the gate `two-path`.
    Meaning,
    /// The cross-encoder rejected a note that a path of the gate `two-path` accepted.
    CrossEncoder,
    /// No path of the gate `two-path` led to STRONG, so the thresholds of WEAK decided.
    NoPath,
    /// The weighted mean of the gate `fused`, compared with the thresholds.
    Fused,
    /// Nothing was found, or no title was near enough.
    NothingFound,
}

impl GateReason {
    /// The name in answers.
    pub fn name(self) -> &'static str {
        match self {
            GateReason::Key => "key",
            GateReason::Certainty => "certainty",
            GateReason::Likelihood => "likelihood",
            GateReason::UnknownName => "unknown-name",
            GateReason::OtherSubject => "other-subject",
            GateReason::AllWords => "all-words",
            GateReason::Spelling => "spelling",
            GateReason::Meaning => "meaning",
            GateReason::CrossEncoder => "cross-encoder",
            GateReason::NoPath => "no-path",
            GateReason::Fused => "fused",
            GateReason::NothingFound => "nothing-found",
        }
    }
}

/// Finds notes for a text and judges with the gate of the settings whether one of them is about it.
///
/// # Errors
/// As for [`judge`], and `unavailable` if the embedder cannot be reached.
pub fn find(memory: &Memory, view: &View, text: &str, visibility: Visibility) -> Result<GateResult> {
    let (vector, exclusions) = (memory.embedder.embed_question(text)?, Exclusions::default());
    let query = GateQuery { view, text, vector: &vector, visibility, exclusions };
    judge(memory, &query, memory.config.query.gate)
}

/// Notes that a gate leaves out.
#[derive(Clone, Copy, Debug, Default)]
pub struct Exclusions<'a> {
    /// Notes that are treated as nonexistent, also in the weights of words. Intended for a few notes.
    pub except: &'a [NodeId],
    /// Notes outside this set must not be found. `None` if all notes may be found.
    pub within: Option<&'a NoteSet>,
}

impl<'a> Exclusions<'a> {
    /// Treats notes as nonexistent.
    pub fn except(except: &'a [NodeId]) -> Exclusions<'a> {
        Exclusions { except, within: None }
    }

    /// Excludes all notes outside a set from the hits.
    pub fn outside(within: &'a NoteSet) -> Exclusions<'a> {
        Exclusions { except: &[], within: Some(within) }
    }

    fn contains(&self, id: NodeId) -> bool {
        self.except.contains(&id) || self.within.is_some_and(|notes| !notes.contains(id))
    }
}

/// Judges with a gate.
///
/// # Errors
/// `invalid_config` if there are no thresholds for the embedder or the cross-encoder cannot be read.
pub fn judge(memory: &Memory, query: &GateQuery<'_>, gate: GateKind) -> Result<GateResult> {
    let judged = match gate {
        GateKind::Certainty => certainty::judge_hits(memory, query)?,
        GateKind::TwoPath | GateKind::Fused => titles::judge_titles(memory, query, gate)?,
    };
    Ok(match judged.best {
        Some(_) => judged,
        // Nothing was found, or it was deleted since the view was taken.
        None => GateResult { verdict: Verdict::Miss, reason: GateReason::NothingFound, ..judged },
    })
}

/// The settings that a gate compares with, by their path in the configuration file.
///
/// # Errors
/// `invalid_config` if there are no thresholds for the embedder.
pub fn thresholds(memory: &Memory, gate: GateKind) -> Result<BTreeMap<String, f64>> {
    let config = &memory.config.query;
    let (section, values) = match gate {
        GateKind::Certainty => {
            let section = match &memory.reranker {
                Some(_) => "rerank.gate".to_owned(),
                None if config.gates.contains_key(&memory.config.embedder.kind) => {
                    format!("query.gates.{}", memory.config.embedder.kind)
                }
                None => "query.gates.default".to_owned(),
            };
            (section, serde_json::to_value(certainty::thresholds(memory)?))
        }
        GateKind::TwoPath => ("query.two-path".to_owned(), serde_json::to_value(&config.two_path)),
        GateKind::Fused => ("query.fused".to_owned(), serde_json::to_value(&config.fused)),
    };
    let values = values.map_err(|error| Error::internal(format!("settings cannot be encoded: {error}")))?;
    let of_section = values.as_object().into_iter().flatten();
    let mut named: BTreeMap<String, f64> =
        of_section.filter_map(|(name, value)| Some((format!("{section}.{name}"), value.as_f64()?))).collect();
    if gate != GateKind::Certainty {
        named.insert("query.title-min-vec".to_owned(), config.title_min_vec);
    }
    Ok(named)
}

/// Counts a use of a note.
pub fn touch(memory: &Memory, id: NodeId, cause: Cause) -> Result<()> {
    let now = cause.at;
    memory.store.transact(cause, |tx| weight::touch(tx, id, &memory.config.weight, now))?;
    Ok(())
}
