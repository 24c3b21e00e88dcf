//! A mistake in a file, with its position.

use crate::error::{Error, ErrorLocation, PipelineDiagnostics};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A mistake in an agent file, a template or a pipeline. Unlike an [`Error`], it does not end a request: all
/// mistakes of a file are collected and listed together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileDiagnostic {
    /// What is wrong.
    pub message: String,
    /// How to fix it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The path of the file, as the caller named it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Line number, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// Column in characters, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
    /// The invalid pipelines, with the positions of all errors.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pipelines: Vec<PipelineDiagnostics>,
}

impl FileDiagnostic {
    /// Creates a diagnostic without a hint or position.
    pub fn new(message: impl Into<String>) -> Self {
        FileDiagnostic { message: message.into(), ..FileDiagnostic::default() }
    }

    /// Adds a hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Sets the file.
    #[must_use]
    pub fn file(mut self, file: impl Into<String>) -> Self {
        self.file = Some(file.into());
        self
    }

    /// Sets the position; this replaces file, line and column.
    #[must_use]
    pub fn at(mut self, at: ErrorLocation) -> Self {
        (self.file, self.line, self.column) = (at.file, at.line, at.column);
        self
    }

    /// The position of the mistake.
    pub fn location(&self) -> ErrorLocation {
        let (file, line, column) = (self.file.clone(), self.line, self.column);
        ErrorLocation { file, line, column, ..ErrorLocation::default() }
    }

    /// Position, message and hint on one line, in the format of [`Error::line`].
    pub fn line(&self) -> String {
        Error::from(self.clone()).line()
    }
}

impl From<Error> for FileDiagnostic {
    fn from(Error { message, hint, at, .. }: Error) -> Self {
        let ErrorLocation { file, line, column, pipelines, .. } = at.map(|at| *at).unwrap_or_default();
        FileDiagnostic { message, hint, file, line, column, pipelines }
    }
}

impl From<FileDiagnostic> for Error {
    /// Converts to the error of a request, with the code `invalid_config`.
    fn from(diagnostic: FileDiagnostic) -> Self {
        let FileDiagnostic { message, hint, file, line, column, pipelines } = diagnostic;
        let at = ErrorLocation { file, line, column, pipelines, ..ErrorLocation::default() };
        let at = (at != ErrorLocation::default()).then(|| Box::new(at));
        Error { hint, at, ..Error::config(message) }
    }
}

impl fmt::Display for FileDiagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = self.location().to_string();
        if !at.is_empty() {
            write!(f, "{at}: ")?;
        }
        f.write_str(&self.message)
    }
}
