//! The errors of a compaction, which also apply to the segment of a snapshot.

use super::{DAMAGED_HINT, disk};
use poc_graph::error::{Code, Error};
use std::io;

/// Why a store cannot be compacted.
#[derive(Debug, thiserror::Error)]
pub(super) enum CompactionError {
    #[error("a damaged store cannot be compacted")]
    DamagedStore,
    #[error("the memory is being compacted, or a snapshot of it is being made")]
    Running,
    #[error("the log cannot be compacted: a file cannot be written ({0})")]
    Write(io::Error),
    /// A record of this many bytes exceeds the limit for a transaction.
    #[error("the log cannot be compacted: a record of {0} bytes exceeds the limit for a transaction")]
    TooLong(usize),
    /// A key of this many bytes belongs to no table.
    #[error("the log cannot be compacted: a key of {0} bytes belongs to no table")]
    NoTable(usize),
    /// The transaction with this number differs when it is read back.
    #[error("the log cannot be compacted: transaction {0} differs when it is read back")]
    Different(u64),
    /// Only this many records were found when the new log was read back.
    #[error("the log cannot be compacted: only {0} of its records are found when it is read back")]
    Incomplete(u64),
}

impl From<CompactionError> for Error {
    fn from(error: CompactionError) -> Error {
        let message = error.to_string();
        match error {
            CompactionError::DamagedStore => Error::damaged(message).hint(DAMAGED_HINT),
            CompactionError::Running => Error::new(Code::Locked, message),
            CompactionError::Write(source) => Error::new(disk::code(&source), message),
            CompactionError::TooLong(_)
            | CompactionError::NoTable(_)
            | CompactionError::Different(_)
            | CompactionError::Incomplete(_) => Error::internal(message),
        }
    }
}
