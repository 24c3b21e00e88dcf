//! Comparison with an earlier evaluation.

use super::report::{EvalReport, MEASURES, QuestionResult, by_kind};
use poc_graph::error::{Error, ErrorLocation, Result};
use poc_rank::bootstrap::{self, ConfidenceInterval};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

/// The differences from an earlier evaluation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The name of that evaluation's folder.
    pub set: String,
    /// The embedder it used.
    pub embedder: String,
    /// A row for each type of question that both have, by name, then one for all questions.
    pub rows: Vec<MeasureDifference>,
    /// Change of the median latency in milliseconds; positive is slower.
    pub p50_ms: f64,
    /// Change of the 99th percentile of the latency in milliseconds; positive is slower.
    pub p99_ms: f64,
    /// Change of the number of documents stored per second; positive is faster.
    pub documents_per_second: f64,
}

/// The differences of the questions of one type.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeasureDifference {
    /// Their type, or `all`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Number of questions now, and in the earlier evaluation.
    pub questions: [u64; 2],
    /// Whether both asked the same questions. Paired questions are compared one by one, which detects smaller
    /// differences.
    pub paired: bool,
    /// Each of the measures: the change (now minus then) with a confidence interval.
    #[serde(flatten)]
    pub measures: BTreeMap<String, ConfidenceInterval>,
}

/// Reads a report that was written with `--json`.
///
/// # Errors
/// `not_found` or `invalid_argument`, with the file.
pub fn read(file: &Path) -> Result<EvalReport> {
    let name = file.display().to_string();
    let text = poc_config::files::read_text(file).map_err(|error| {
        let error = match error.kind() {
            std::io::ErrorKind::NotFound => Error::not_found("there is no such file"),
            _ => Error::invalid(format!("cannot be read: {error}")),
        };
        error.hint("write one with `poc-memory eval DIR --json > FILE`").file(&name)
    })?;
    serde_json::from_str(&text).map_err(|error| {
        let at = ErrorLocation {
            file: Some(name),
            line: u32::try_from(error.line()).ok(),
            column: u32::try_from(error.column()).ok(),
            ..ErrorLocation::default()
        };
        let message = error.to_string();
        let message = message.split(" at line ").next().unwrap_or_default();
        Error::invalid(format!("it is not an output of `eval --json`: {message}"))
            .hint("write one with `poc-memory eval DIR --json > FILE`")
            .at(at)
    })
}

/// The differences of `now` from `then`.
pub fn compare(then: &EvalReport, now: &EvalReport) -> Comparison {
    let earlier: HashMap<&str, Vec<&QuestionResult>> = by_kind(&then.questions).into_iter().collect();
    let rows = by_kind(&now.questions).into_iter().filter_map(|(kind, later)| {
        let earlier = earlier.get(kind)?;
        Some(difference(kind, earlier, &later))
    });
    Comparison {
        set: then.set.clone(),
        embedder: then.embedder.clone(),
        rows: rows.collect(),
        p50_ms: now.latency.p50_ms - then.latency.p50_ms,
        p99_ms: now.latency.p99_ms - then.latency.p99_ms,
        documents_per_second: now.ingest.documents_per_second - then.ingest.documents_per_second,
    }
}

fn difference(kind: &str, then: &[&QuestionResult], now: &[&QuestionResult]) -> MeasureDifference {
    let before: HashMap<&str, &QuestionResult> =
        then.iter().map(|asked| (asked.id.as_str(), *asked)).collect();
    let pairs: Option<Vec<(&QuestionResult, &QuestionResult)>> =
        now.iter().map(|asked| Some((*before.get(asked.id.as_str())?, *asked))).collect();
    let pairs = pairs.filter(|pairs| pairs.len() == then.len());
    let values = |asked: &[&QuestionResult], name: &str| -> Vec<f64> {
        asked.iter().map(|asked| asked.measure(name)).collect()
    };
    let measure = |(name, _): &(&str, &str)| {
        let interval = match &pairs {
            Some(pairs) => {
                let more =
                    |(then, now): &(&QuestionResult, &QuestionResult)| now.measure(name) - then.measure(name);
                bootstrap::of_mean(&pairs.iter().map(more).collect::<Vec<f64>>())
            }
            None => bootstrap::of_difference(&values(then, name), &values(now, name)),
        };
        ((*name).to_owned(), interval)
    };
    MeasureDifference {
        kind: kind.to_owned(),
        questions: [now.len() as u64, then.len() as u64],
        paired: pairs.is_some(),
        measures: MEASURES.iter().map(measure).collect(),
    }
}
