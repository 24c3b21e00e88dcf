//! Errors of the indexes.

use poc_graph::error::Error;
use std::io;
use std::path::PathBuf;

/// Why an index operation failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum IndexError {
    /// A setting has a value that the index does not support.
    #[error("{problem}")]
    InvalidSetting { field: String, problem: String, hint: String },
    #[error("a vector of {found} dimensions cannot be compared")]
    Dimensions { found: usize, expected: usize },
    #[error("a vector with values that are not finite cannot be compared")]
    NotFinite,
    #[error("the {what} cannot be encoded: {problem}")]
    Encode { what: &'static str, problem: postcard::Error },
    #[error("the vector graph cannot be {action}: {problem}")]
    VectorGraph { action: &'static str, problem: String },
    /// The store that has the notes is closed.
    #[error("the store is closed")]
    Closed,
    #[error("the folder `{}` cannot be removed: {problem}", path.display())]
    RemoveFolder { path: PathBuf, problem: io::Error },
}

impl From<IndexError> for Error {
    fn from(error: IndexError) -> Error {
        let message = error.to_string();
        match error {
            IndexError::InvalidSetting { field, hint, .. } => Error::config(message).hint(hint).field(field),
            IndexError::Dimensions { expected, .. } => {
                Error::invalid(message).hint(format!("the vectors of this store have {expected}"))
            }
            IndexError::NotFinite => Error::invalid(message),
            IndexError::Encode { .. } | IndexError::VectorGraph { .. } => Error::internal(message),
            IndexError::RemoveFolder { .. } | IndexError::Closed => Error::unavailable(message),
        }
    }
}
