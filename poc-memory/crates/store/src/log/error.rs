//! Errors about the contents of the log.

use super::segment::FORMAT;
use poc_graph::error::{Code, Error};
use std::io;
use std::path::PathBuf;

/// Why the log cannot be read or opened.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LogError {
    #[error("the store has format {0}, this release reads formats up to {FORMAT}")]
    NewerFormat(u32),
    #[error("the log's segment `{}` cannot be read: {source}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("the log's segment `{}` is damaged at byte {offset}", path.display())]
    Damaged { path: PathBuf, offset: u64 },
    #[error("the log does not contain transaction {0}")]
    Missing(u64),
    #[error("the log cannot be synced: {0}")]
    Unsynced(io::Error),
}

impl From<LogError> for Error {
    fn from(error: LogError) -> Error {
        let message = error.to_string();
        match error {
            LogError::NewerFormat(_) => Error::conflict(message)
                .hint("use the release that wrote it, or a newer one; nothing was changed"),
            LogError::Damaged { .. } | LogError::Missing(_) => Error::damaged(message)
                .hint("open the store again: it opens read-only with all intact data, and `poc-memory repair` repairs it"),
            // What was to be derived from the log is intact.
            LogError::Unsynced(_) => Error::new(Code::ReadOnly, message),
            LogError::Unreadable { .. } => Error::unavailable(message)
                .hint("check the permissions of the memory's files, and the health of the disk"),
        }
    }
}
