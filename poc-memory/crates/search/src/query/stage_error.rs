//! Defects in the table of stages. A request can only meet one if a test of the table is missing.

use poc_graph::error::Error;

/// A stage whose implementation contradicts its row in the table of stages.
#[derive(Debug, thiserror::Error)]
pub(super) enum StageError {
    #[error("`{stage}` has no {value_type} `{param}`")]
    NoSuchParameter { stage: String, value_type: &'static str, param: String },
    #[error("the default of `{param}` of `{stage}` is invalid")]
    InvalidDefault { stage: String, param: String },
    #[error("`{0}` cannot start a pipeline")]
    CannotStart(String),
    #[error("`{0}` can only start a pipeline")]
    CanOnlyStart(String),
    /// The field of `sort` is invalid. The text says what would be valid.
    #[error("{0}")]
    InvalidField(String),
    #[error("no stage takes free search terms")]
    NoTermStage,
}

impl From<StageError> for Error {
    fn from(error: StageError) -> Error {
        Error::internal(error.to_string())
    }
}
