//! Where in a request, a file or a pipeline an error is.

use crate::escape::escape_line;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Where in the input an error is. Every field is optional.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorLocation {
    /// Dotted path of the invalid field of a request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// The value given there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub got: Option<String>,
    /// The values allowed there, as a JSON Schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<serde_json::Map<String, serde_json::Value>>")]
    pub expected: Option<serde_json::Value>,
    /// The file, as the caller named it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Line number, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// Column in characters, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
    /// The current version of the note, if the request expects another one; 0 if there is no such note.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// The invalid pipelines, with the positions of all errors.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pipelines: Vec<PipelineDiagnostics>,
}

/// A pipeline with its errors.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PipelineDiagnostics {
    /// The text of the pipeline.
    pub text: String,
    /// The name of the saved pipeline; `None` for a pipeline given in the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saved: Option<String>,
    /// The errors, in the order of their positions.
    pub problems: Vec<Diagnostic>,
}

/// An error at a position in a text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Diagnostic {
    /// The position of its first character, counted in characters from 0.
    pub offset: usize,
    /// The number of characters it covers; 0 where something is missing.
    pub length: usize,
    /// What is wrong.
    pub message: String,
    /// How to fix it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl ErrorLocation {
    /// The position of byte `offset` in `text`, as a line and a column.
    pub fn offset(text: &str, offset: usize) -> Self {
        let before = text.get(..text.floor_char_boundary(offset)).unwrap_or(text);
        let line = before.matches('\n').count() as u32 + 1;
        let column = before.rsplit('\n').next().unwrap_or("").chars().count() as u32 + 1;
        ErrorLocation { line: Some(line), column: Some(column), ..ErrorLocation::default() }
    }
}

impl fmt::Display for ErrorLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        if let Some(file) = &self.file {
            f.write_str(&escape_line(file))?;
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
