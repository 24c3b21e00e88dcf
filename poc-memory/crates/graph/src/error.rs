//! The one error every surface speaks, and the one place where its code becomes a status.
//!
//! Modules below the boundary have small `thiserror` enums of their own; they turn into an
//! [`Error`] by `From`, next to the enum. A message says what is wrong; the hint says what would
//! be right. Names stand in backticks and neither ends with a full stop.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The stable name of a kind of failure: scripts and clients may rely on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Code {
    /// The request is malformed: a missing, extra, wrong-typed or out-of-range argument.
    InvalidArgument,
    /// A configuration, agent or template file is malformed.
    InvalidConfig,
    /// What was asked for does not exist.
    NotFound,
    /// The request contradicts what is stored (a taken key, a node changed in between).
    Conflict,
    /// Another process holds the store.
    Locked,
    /// What the request needs is not running or not reachable.
    Unavailable,
    /// The request was refused by a permit or a budget.
    Rejected,
    /// The tenant has a key that the tenant schema does not know.
    TenantUnknownKey,
    /// A value of the tenant is none of those its key may have.
    TenantEnumMismatch,
    /// A value of the tenant does not match the pattern of its key.
    TenantPatternMismatch,
    /// The tenant lacks a key that every tenant has.
    TenantMissingRequired,
    /// The tenant has none of the sets of keys of which it needs one.
    TenantOneOfNoMatch,
    /// The tenant has more than one of the sets of keys of which it needs one.
    TenantOneOfMultipleMatch,
    /// The store stopped accepting writes because the disk failed it.
    ReadOnly,
    /// A defect or a failing disk: nothing the caller could have done differently.
    Internal,
}

impl Code {
    /// The name as it appears in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Code::InvalidArgument => "invalid_argument",
            Code::InvalidConfig => "invalid_config",
            Code::NotFound => "not_found",
            Code::Conflict => "conflict",
            Code::Locked => "locked",
            Code::Unavailable => "unavailable",
            Code::Rejected => "rejected",
            Code::TenantUnknownKey => "tenant_unknown_key",
            Code::TenantEnumMismatch => "tenant_enum_mismatch",
            Code::TenantPatternMismatch => "tenant_pattern_mismatch",
            Code::TenantMissingRequired => "tenant_missing_required",
            Code::TenantOneOfNoMatch => "tenant_one_of_no_match",
            Code::TenantOneOfMultipleMatch => "tenant_one_of_multiple_match",
            Code::ReadOnly => "read_only",
            Code::Internal => "internal",
        }
    }

    /// Whether the request itself is wrong, and another one would be right.
    pub fn is_invalid(self) -> bool {
        self.ends().1 == 400
    }

    /// The process exit status that stands for this code.
    pub fn exit(self) -> Exit {
        self.ends().0
    }

    /// The status of HTTP (RFC 9110) that stands for this code.
    pub fn status(self) -> u16 {
        self.ends().1
    }

    /// How a process and how an exchange over HTTP end with this code.
    fn ends(self) -> (Exit, u16) {
        match self {
            Code::InvalidArgument
            | Code::TenantUnknownKey
            | Code::TenantEnumMismatch
            | Code::TenantPatternMismatch
            | Code::TenantMissingRequired
            | Code::TenantOneOfNoMatch
            | Code::TenantOneOfMultipleMatch => (Exit::Usage, 400),
            Code::InvalidConfig => (Exit::Config, 500),
            Code::Rejected => (Exit::Rejected, 403),
            Code::NotFound => (Exit::Failed, 404),
            Code::Conflict => (Exit::Failed, 409),
            Code::Locked | Code::Unavailable => (Exit::Unavailable, 503),
            Code::ReadOnly => (Exit::Failed, 503),
            Code::Internal => (Exit::Failed, 500),
        }
    }
}

/// How a process ends. The numbers are part of the command line's contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Done.
    Ok = 0,
    /// Tried and failed.
    Failed = 1,
    /// The command line is wrong.
    Usage = 2,
    /// There was nothing to do.
    NothingToDo = 3,
    /// Rejected, or stopped by a budget.
    Rejected = 4,
    /// The daemon cannot be reached, or another process holds the store.
    Unavailable = 5,
    /// A configuration or agent file is invalid (`EX_CONFIG` of sysexits.h).
    Config = 78,
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        std::process::ExitCode::from(exit as u8)
    }
}

/// Where in the input something is wrong. Every part is optional; lines and columns count from 1,
/// columns in characters.
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
    /// The pipelines that are wrong, with every problem at its place.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pipelines: Vec<PipelineDiagnostics>,
}

/// A pipeline with what is wrong in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PipelineDiagnostics {
    /// Its text.
    pub text: String,
    /// The name it is saved under, when it is a saved one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saved: Option<String>,
    /// What is wrong, in the order it stands.
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

/// What every surface answers when a request fails.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Error {
    /// The stable kind.
    pub code: Code,
    /// What is wrong.
    pub message: String,
    /// What would be right, often a command to type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Where it is wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Box<ErrorLocation>>,
}

/// The result of everything that can fail at the boundary.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// An error with no hint and no place.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Error { code, message: message.into(), hint: None, at: None }
    }

    /// A malformed request.
    pub fn invalid(message: impl Into<String>) -> Self {
        Error::new(Code::InvalidArgument, message)
    }

    /// A malformed file of the operator's.
    pub fn config(message: impl Into<String>) -> Self {
        Error::new(Code::InvalidConfig, message)
    }

    /// Something that does not exist.
    pub fn not_found(message: impl Into<String>) -> Self {
        Error::new(Code::NotFound, message)
    }

    /// A contradiction with what is stored.
    pub fn conflict(message: impl Into<String>) -> Self {
        Error::new(Code::Conflict, message)
    }

    /// Something that is not running or not reachable.
    pub fn unavailable(message: impl Into<String>) -> Self {
        Error::new(Code::Unavailable, message)
    }

    /// A defect or a failing disk.
    pub fn internal(message: impl Into<String>) -> Self {
        Error::new(Code::Internal, message)
    }

    /// The same error with what would be right.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The same error with the name of the offending field.
    #[must_use]
    pub fn field(mut self, field: impl Into<String>) -> Self {
        self.at.get_or_insert_default().field = Some(field.into());
        self
    }

    /// The same error with the file it stands in.
    #[must_use]
    pub fn file(mut self, file: impl Into<String>) -> Self {
        self.at.get_or_insert_default().file = Some(file.into());
        self
    }

    /// Place, message and hint in one line; of a drawn message what it says, without the drawing.
    pub fn line(&self) -> String {
        let text = self.to_string();
        let mut lines = text.lines();
        let mut line = lines.next().unwrap_or_default().to_owned();
        let faults = self.at.iter().flat_map(|at| &at.pipelines).flat_map(|pipeline| &pipeline.problems);
        let faults: Vec<&str> = faults.map(|fault| fault.message.as_str()).collect();
        if let [_, _, ..] = faults.as_slice() {
            line = format!("{line}: {}", faults.join("; "));
        }
        match &self.hint {
            Some(hint) => format!("{line}; {hint}"),
            None => line,
        }
    }

    /// The same error with a place. The pipelines of an earlier one stay.
    #[must_use]
    pub fn at(mut self, at: ErrorLocation) -> Self {
        let pipelines = self.at.take().map(|at| at.pipelines).unwrap_or_default();
        self.at = Some(Box::new(ErrorLocation { pipelines: [at.pipelines, pipelines].concat(), ..at }));
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
