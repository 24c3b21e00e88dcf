//! The error that every surface answers with.
//!
//! The crates of the store, the embedders, the indexes and the query language have small `thiserror` enums, or a struct
//! for a single error. Each converts into an [`Error`] by a `From` in the same file. Apart from tests and their
//! support, these crates create an [`Error`] directly only in these places:
//!
//! - `ReadOnlyReason` of the store is also a status. Its method `error` creates the error of a refused write.
//! - `query/diagnostic.rs` composes the message of an invalid pipeline from its diagnostics, and
//!   `query/saved_pipelines.rs` uses the text of a single one.
//! - `repair` and `verify` of the store have no error types of their own.
//!
//! The call of a model fails with a `CallError` of the crate `agent`. All other crates create an [`Error`] directly.
//!
//! The message says what is wrong, and the hint says what would be right. Names are in backticks. Neither text ends
//! with a full stop.

mod code;
mod location;

pub use code::{Code, Exit};
pub use location::{Diagnostic, ErrorLocation, PipelineDiagnostics};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Why a request failed, as every surface answers it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Error {
    /// The kind of failure; determines exit status and HTTP status.
    pub code: Code,
    /// What is wrong, in one sentence without a full stop.
    pub message: String,
    /// How to fix it, often a command to type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Where in the input the error is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Box<ErrorLocation>>,
    /// Reasons why something may exist although it was not found, one line each; absent if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub degraded: Vec<String>,
    /// The other mistakes in the settings, in the same form; absent if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    // Schemas are inlined, so this one cannot contain itself.
    #[schemars(with = "Vec<serde_json::Map<String, serde_json::Value>>")]
    pub others: Vec<Error>,
}

/// A result whose error can be returned to any surface.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// Creates an error without hint and location.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        let (degraded, others) = (Vec::new(), Vec::new());
        Error { code, message: message.into(), hint: None, at: None, degraded, others }
    }

    /// Combines errors that were found together: the first one, with the others in [`Error::others`]. `None` if there
    /// are none.
    pub fn combined(errors: impl IntoIterator<Item = Error>) -> Option<Error> {
        let mut errors = errors.into_iter();
        let first = errors.next()?;
        Some(Error { others: errors.collect(), ..first })
    }

    /// This error, then those in [`Error::others`].
    pub fn each(&self) -> impl Iterator<Item = &Error> {
        std::iter::once(self).chain(&self.others)
    }

    /// An error for a malformed request.
    pub fn invalid(message: impl Into<String>) -> Self {
        Error::new(Code::InvalidArgument, message)
    }

    /// An error for a malformed configuration, agent or template file.
    pub fn config(message: impl Into<String>) -> Self {
        Error::new(Code::InvalidConfig, message)
    }

    /// An error for something that does not exist.
    pub fn not_found(message: impl Into<String>) -> Self {
        Error::new(Code::NotFound, message)
    }

    /// An error for a request that contradicts the stored data.
    pub fn conflict(message: impl Into<String>) -> Self {
        Error::new(Code::Conflict, message)
    }

    /// An error for a service that is not running or not reachable, or a file that cannot be read or written.
    pub fn unavailable(message: impl Into<String>) -> Self {
        Error::new(Code::Unavailable, message)
    }

    /// An error for stored data that is damaged.
    pub fn damaged(message: impl Into<String>) -> Self {
        Error::new(Code::Damaged, message)
    }

    /// An error for a defect of the program.
    pub fn internal(message: impl Into<String>) -> Self {
        Error::new(Code::Internal, message)
    }

    /// Adds a hint that says how to fix the request.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds the name of the offending field.
    #[must_use]
    pub fn field(mut self, field: impl Into<String>) -> Self {
        self.at.get_or_insert_default().field = Some(field.into());
        self
    }

    /// Adds the current version of the note.
    #[must_use]
    pub fn version(mut self, version: u32) -> Self {
        self.at.get_or_insert_default().version = Some(version);
        self
    }

    /// Adds the file that the error is in.
    #[must_use]
    pub fn file(mut self, file: impl Into<String>) -> Self {
        self.at.get_or_insert_default().file = Some(file.into());
        self
    }

    /// Location, message and hint on one line. Only the first line of a multi-line message is used. If the location
    /// lists diagnostics of pipelines, their messages follow.
    pub fn line(&self) -> String {
        let text = self.to_string();
        let mut lines = text.lines();
        let mut line = lines.next().unwrap_or_default().to_owned();
        let problems = self.at.iter().flat_map(|at| &at.pipelines).flat_map(|pipeline| &pipeline.problems);
        let messages: Vec<&str> = problems.map(|problem| problem.message.as_str()).collect();
        if let [_, _, ..] = messages.as_slice() {
            line = format!("{line}: {}", messages.join("; "));
        }
        match &self.hint {
            Some(hint) => format!("{line}; {hint}"),
            None => line,
        }
    }

    /// The message and the hint of a [`line`](Self::line), which serde passes on as one text. A semicolon within quotes
    /// belongs to the message.
    pub fn split_line(line: &str) -> (&str, Option<&str>) {
        let parts = line.match_indices("; ").find_map(|(at, separator)| {
            let (message, rest) = line.split_at_checked(at)?;
            let closes = |quote: char| message.matches(quote).count() % 2 == 0;
            (closes('`') && closes('"')).then_some((message, rest.strip_prefix(separator)))
        });
        parts.unwrap_or((line, None))
    }

    /// Replaces the location. The pipelines of the earlier location are kept.
    #[must_use]
    pub fn at(mut self, mut at: ErrorLocation) -> Self {
        at.pipelines.extend(self.at.take().map(|at| at.pipelines).unwrap_or_default());
        self.at = Some(Box::new(at));
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = self.at.as_ref().map(ToString::to_string).unwrap_or_default();
        if !at.is_empty() {
            write!(f, "{at}: ")?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_split_outside_of_quotes() {
        let error = Error::invalid("`a; b` is not a time").hint("write `7d`; `all` for all");
        let line = error.line();
        assert_eq!(Error::split_line(&line), (&*error.message, error.hint.as_deref()));
        let without_hint = "invalid type: string \"a; b\", expected a number";
        assert_eq!(Error::split_line(without_hint), (without_hint, None));
    }
}
