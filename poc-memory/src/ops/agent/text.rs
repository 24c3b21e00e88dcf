//! How answers about agents look to a person.

use crate::error::Error;
use crate::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A problem of an agent file.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct Problem {
    /// What is wrong.
    pub(super) message: String,
    /// What would be right.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) hint: Option<String>,
    /// The file it stands in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) file: Option<String>,
    /// Line, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) line: Option<u32>,
    /// Column in characters, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) column: Option<u32>,
}

impl From<&Error> for Problem {
    fn from(error: &Error) -> Problem {
        let at = error.at.clone().unwrap_or_default();
        Problem {
            message: error.message.clone(),
            hint: error.hint.clone(),
            file: at.file,
            line: at.line,
            column: at.column,
        }
    }
}

/// `FILE:LINE:COLUMN: MESSAGE`, then the hint on a line of its own.
pub(super) fn problem(problem: &Problem) -> String {
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

/// An instant to the minute, in UTC; `-` for none.
pub(super) fn minute(at: Option<Timestamp>) -> String {
    match at.and_then(Timestamp::utc) {
        Some(at) => at.format("%Y-%m-%d %H:%MZ").to_string(),
        None => "-".to_owned(),
    }
}

/// Rows with their columns below each other.
pub(super) fn table(rows: &[Vec<String>]) -> String {
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
