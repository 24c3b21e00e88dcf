//! The error for a value that cannot be encoded.

use poc_graph::error::Error;
use std::fmt::Display;

/// A value that cannot be encoded, which is a defect of the program.
#[derive(Debug, thiserror::Error)]
#[error("{what} cannot be encoded: {problem}")]
pub(super) struct EncodingError {
    what: &'static str,
    problem: String,
}

impl EncodingError {
    /// Creates the error. `what` describes the value in the message.
    pub(super) fn new(what: &'static str, problem: impl Display) -> EncodingError {
        EncodingError { what, problem: problem.to_string() }
    }
}

impl From<EncodingError> for Error {
    fn from(error: EncodingError) -> Error {
        Error::internal(error.to_string())
    }
}
