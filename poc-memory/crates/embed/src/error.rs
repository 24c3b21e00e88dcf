//! Errors of the choice of an embedder.

use poc_graph::error::Error;
use std::ops::RangeInclusive;

/// Why the configured embedder cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EmbedderError {
    #[error("unknown embedder `{0}`")]
    Unknown(String),
    /// The path of the model cannot be used. The text says why.
    #[error("{0}")]
    ModelPath(String),
    #[error("the embedder `hash` cannot have {dimensions} dimensions")]
    Dimensions { dimensions: usize, supported: RangeInclusive<usize> },
    /// The embedder of the store cannot be opened any more.
    #[error("the vectors of this store were computed by `{0}`, which is not available")]
    Unavailable(String),
    #[error("the embedder gave no vector")]
    NoVector,
}

impl From<EmbedderError> for Error {
    fn from(error: EmbedderError) -> Error {
        let message = error.to_string();
        match error {
            EmbedderError::Unknown(_) => Error::config(message)
                .hint("the embedders of this release are `static`, `candle`, `http` and `hash`")
                .field("embedder.kind"),
            EmbedderError::ModelPath(_) => Error::config(message).field("embedder.model"),
            EmbedderError::Dimensions { supported, .. } => Error::config(message)
                .hint(format!("give a number from {} to {}", supported.start(), supported.end()))
                .field("embedder.dimensions"),
            EmbedderError::Unavailable(_) => Error::config(message)
                .hint("`poc-memory embed migrate` computes them again with the embedder of the settings")
                .field("embedder"),
            EmbedderError::NoVector => Error::internal(message),
        }
    }
}
