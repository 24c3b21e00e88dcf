//! Text output of common parts of answers.

use poc_graph::error::{Error, PipelineDiagnostics};
use poc_graph::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An error or warning about an agent file or a pipeline.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(in crate::ops) struct Diagnostic {
    /// What is wrong.
    pub(in crate::ops) message: String,
    /// How to fix it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::ops) hint: Option<String>,
    /// The file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::ops) file: Option<String>,
    /// Line, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::ops) line: Option<u32>,
    /// Column in characters, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::ops) column: Option<u32>,
    /// The invalid pipelines, with the positions of all errors.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(in crate::ops) pipelines: Vec<PipelineDiagnostics>,
}

impl From<&Error> for Diagnostic {
    fn from(error: &Error) -> Diagnostic {
        let at = error.at.clone().unwrap_or_default();
        Diagnostic {
            message: error.message.clone(),
            hint: error.hint.clone(),
            file: at.file,
            line: at.line,
            column: at.column,
            pipelines: at.pipelines,
        }
    }
}

/// `FILE:LINE:COLUMN: MESSAGE`, then the hint on a line of its own.
pub(in crate::ops) fn diagnostic_text(problem: &Diagnostic) -> String {
    let place: Vec<String> = [
        problem.file.clone(),
        problem.line.map(|line| line.to_string()),
        problem.column.map(|column| column.to_string()),
    ]
    .into_iter()
    .flatten()
    .collect();
    let place = if place.is_empty() { String::new() } else { format!("{}: ", place.join(":")) };
    let hint = problem.hint.as_ref().map_or_else(String::new, |hint| format!("\n  hint: {hint}"));
    format!("{place}{}{hint}\n", problem.message)
}

/// A time to the minute in UTC; `-` for none.
pub(in crate::ops) fn minute(at: Option<Timestamp>) -> String {
    match at.and_then(Timestamp::utc) {
        Some(at) => at.format("%Y-%m-%d %H:%MZ").to_string(),
        None => "-".to_owned(),
    }
}

/// Text of a model or a note on one line, so that it cannot imitate lines of the output.
pub(in crate::ops) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Rows with aligned columns.
pub(crate) fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            line.push_str(cell);
            line.extend(std::iter::repeat_n(' ', (width + 2).saturating_sub(cell.chars().count())));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// The degradations of an answer, one line each.
pub(in crate::ops) fn degradations(problems: &[String]) -> String {
    problems.iter().map(|problem| format!("degraded: {problem}\n")).collect()
}

/// `1 edge`, `2 edges`.
pub(crate) fn plural(count: u64, one: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{count} {one}s") }
}
