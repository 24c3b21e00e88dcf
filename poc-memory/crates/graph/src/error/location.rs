//! Where in a request, a file or a pipeline an error is.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Where in the input something is wrong. Every part is optional. Lines and columns count from 1, and columns
/// count characters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorLocation {
    /// Dotted path of the offending field of a request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// What was given there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub got: Option<String>,
    /// What would be right there, as a JSON Schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<serde_json::Map<String, serde_json::Value>>")]
    pub expected: Option<serde_json::Value>,
    /// The file, as the caller named it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Line, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// Column in characters, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
    /// The version that the note has, if the request expects another one; 0 if there is no note.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// The invalid pipelines, with the position of every problem.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pipelines: Vec<PipelineDiagnostics>,
}

/// A pipeline with its problems.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PipelineDiagnostics {
    /// Its text.
    pub text: String,
    /// Its name, if it is a saved pipeline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saved: Option<String>,
    /// The problems, in the order of the text.
    pub problems: Vec<Diagnostic>,
}

/// One thing that is wrong in a text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Diagnostic {
    /// Where it begins, in characters from 0.
    pub offset: usize,
    /// How many characters it covers; 0 where something is missing.
    pub length: usize,
    /// What is wrong.
    pub message: String,
    /// What would be right.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl ErrorLocation {
    /// The position of byte `offset` in `text`, as a line and a column.
    pub fn offset(text: &str, offset: usize) -> Self {
        let mut end = offset.min(text.len());
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let before = text.get(..end).unwrap_or(text);
        let line = before.matches('\n').count() as u32 + 1;
        let column = before.rsplit('\n').next().unwrap_or("").chars().count() as u32 + 1;
        ErrorLocation { line: Some(line), column: Some(column), ..ErrorLocation::default() }
    }
}

impl fmt::Display for ErrorLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        if let Some(file) = &self.file {
            write!(f, "{file}")?;
            separator = ":";
        }
        if let Some(line) = self.line {
            write!(f, "{separator}{line}")?;
            if let Some(column) = self.column {
                write!(f, ":{column}")?;
            }
            separator = ": ";
        }
        if let Some(field) = &self.field {
            write!(f, "{separator}`{field}`")?;
        }
        Ok(())
    }
}
