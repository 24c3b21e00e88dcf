//! The report of an evaluation.

use super::set::{EvalSet, Question};
use poc_rank::bootstrap::{self, ConfidenceInterval};
use poc_rank::ndcg::ndcg;
use poc_rank::quantile::quantile;
use poc_rank::recall_at::recall_at;
use poc_rank::reciprocal_rank::reciprocal_rank;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// Number of hits that are measured; all measures use this depth or a smaller one.
pub(super) const DEPTH: usize = 10;

/// The names of the measures in reports, with their titles in tables.
pub const MEASURES: [(&str, &str); 5] = [
    ("recall_5", "Recall@5"),
    ("recall_10", "Recall@10"),
    ("ndcg_10", "nDCG@10"),
    ("mrr_10", "MRR@10"),
    (ALL_10, "All@10"),
];

/// The measure that is 1 if all relevant documents of a question are among the first ten hits, and 0 otherwise.
pub const ALL_10: &str = "all_10";

/// The name of the row for all questions.
pub const ALL: &str = "all";

/// The report of an evaluation of a set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EvalReport {
    /// The name of the folder.
    pub set: String,
    /// The embedder in use.
    pub embedder: String,
    /// Documents in the set.
    pub documents: u64,
    /// Notes they became; fewer than documents if some became the same note.
    pub notes: u64,
    /// Groups of documents, each a tenant.
    pub groups: u64,
    /// A row for each type of question, by name, then one for all questions.
    pub rows: Vec<TypeMeasures>,
    /// The latency of a question.
    pub latency: Latency,
    /// The speed of the import.
    pub ingest: ImportSpeed,
    /// Questions without a relevant document, which are not measured.
    pub left_out: Vec<String>,
    /// Every other question, in the order of the set.
    pub questions: Vec<QuestionResult>,
}

/// The measures of the questions of one type.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TypeMeasures {
    /// Their type, or `all`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Number of questions.
    pub questions: u64,
    /// Each of [`MEASURES`]: its mean with a confidence interval.
    #[serde(flatten)]
    pub measures: BTreeMap<String, ConfidenceInterval>,
}

/// The result of one question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QuestionResult {
    /// Its id.
    pub id: String,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: String,
    /// Each of [`MEASURES`], 0 to 1.
    #[serde(flatten)]
    pub measures: BTreeMap<String, f64>,
    /// The documents that were found, best first, at most ten.
    pub found: Vec<String>,
    /// Relevant documents that were not found.
    pub missed: Vec<String>,
}

/// Milliseconds from the text of a question to its hits, measured sequentially on a warm memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Latency {
    /// The median, in milliseconds.
    pub p50_ms: f64,
    /// The 99th percentile, in milliseconds.
    pub p99_ms: f64,
}

/// The speed of the import.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ImportSpeed {
    /// Seconds until all documents were on disk and searchable.
    pub seconds: f64,
    /// Documents per second.
    pub documents_per_second: f64,
}

impl EvalReport {
    pub(super) fn new(
        set: &EvalSet,
        embedder: &str,
        notes: u64,
        questions: Vec<QuestionResult>,
        latency: Latency,
        ingest: ImportSpeed,
    ) -> EvalReport {
        EvalReport {
            set: set.name.clone(),
            embedder: embedder.to_owned(),
            documents: set.len() as u64,
            notes,
            groups: set.groups.len() as u64,
            rows: rows(&questions),
            latency,
            ingest,
            left_out: set.unanswered.iter().map(|question| question.id.clone()).collect(),
            questions,
        }
    }
}

/// The questions by type, sorted by name, then all questions.
pub(super) fn by_kind(questions: &[QuestionResult]) -> Vec<(&str, Vec<&QuestionResult>)> {
    let mut kinds: BTreeMap<&str, Vec<&QuestionResult>> = BTreeMap::new();
    for question in questions {
        kinds.entry(&question.kind).or_default().push(question);
    }
    // A type named like the row of all questions would be mistaken for it.
    kinds.remove(ALL);
    kinds.into_iter().chain([(ALL, questions.iter().collect())]).collect()
}

/// The measures of questions by type, then of all.
pub(super) fn rows(questions: &[QuestionResult]) -> Vec<TypeMeasures> {
    let row = |(kind, questions): (&str, Vec<&QuestionResult>)| {
        let measure = |(name, _): &(&str, &str)| {
            let values: Vec<f64> = questions.iter().map(|question| question.measure(name)).collect();
            ((*name).to_owned(), bootstrap::of_mean(&values))
        };
        TypeMeasures {
            kind: kind.to_owned(),
            questions: questions.len() as u64,
            measures: MEASURES.iter().map(measure).collect(),
        }
    };
    by_kind(questions).into_iter().map(row).collect()
}

impl QuestionResult {
    /// `gains` are the relevance grades of the hits, best hit first; `ideal` are the grades of all relevant
    /// notes; `documents` are the found and the missed documents.
    pub(super) fn new(
        question: &Question,
        gains: &[f64],
        ideal: &[f64],
        documents: [Vec<String>; 2],
    ) -> QuestionResult {
        let [found, missed] = documents;
        let relevant = ideal.len();
        let recall = recall_at(gains, relevant, DEPTH);
        let values = [
            recall_at(gains, relevant, 5),
            recall,
            ndcg(gains, ideal, DEPTH),
            reciprocal_rank(gains, DEPTH),
            all_found(recall >= 1.0),
        ];
        QuestionResult {
            id: question.id.clone(),
            kind: question.kind.clone(),
            measures: MEASURES.iter().map(|(name, _)| (*name).to_owned()).zip(values).collect(),
            found,
            missed,
        }
    }

    /// One of [`MEASURES`]; 0 if the report does not have it. Reports of earlier releases lack [`ALL_10`], which follows
    /// from the documents that were missed.
    pub(super) fn measure(&self, name: &str) -> f64 {
        let missing = || if name == ALL_10 { all_found(self.missed.is_empty()) } else { 0.0 };
        self.measures.get(name).copied().unwrap_or_else(missing)
    }
}

fn all_found(is_complete: bool) -> f64 {
    f64::from(u8::from(is_complete))
}

impl Latency {
    pub(super) fn of(took: &[Duration]) -> Latency {
        let mut millis: Vec<f64> = took.iter().map(|took| took.as_secs_f64() * 1e3).collect();
        let mut at = |share| quantile(&mut millis, share).unwrap_or_default();
        Latency { p50_ms: at(0.5), p99_ms: at(0.99) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latency_quantiles_are_measured_values() {
        let took =
            |count: u64| Latency::of(&(1..=count).rev().map(Duration::from_millis).collect::<Vec<_>>());
        assert_eq!(took(100), Latency { p50_ms: 50.0, p99_ms: 99.0 });
        assert_eq!(took(1), Latency { p50_ms: 1.0, p99_ms: 1.0 });
        assert_eq!(took(0), Latency::default());
    }
}
