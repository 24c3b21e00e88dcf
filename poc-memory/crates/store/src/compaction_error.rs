//! The errors of a compaction, which also apply to the segment of a snapshot.

use super::{DAMAGED_HINT, disk};
use poc_graph::error::{Code, Error};
use std::io;

/// Why a store cannot be compacted.
#[derive(Debug, thiserror::Error)]
pub(super) enum CompactionError {
    #[error("a damaged store is not compacted")]
    DamagedStore,
    #[error("the memory is being compacted, or a snapshot of it is being made")]
    Running,
    #[error("the log cannot be compacted: a file cannot be written ({0})")]
    Write(io::Error),
    /// The number of bytes exceeds the limit for a transaction.
    #[error("the log cannot be compacted: a record is too long ({0})")]
    TooLong(usize),
    /// The key, whose length this is, belongs to no table.
    #[error("the log cannot be compacted: a record has no table ({0})")]
    NoTable(usize),
    /// The number is that of the transaction.
    #[error("the log cannot be compacted: a record differs when it is read back ({0})")]
    Different(u64),
    /// The number is that of the records found.
    #[error("the log cannot be compacted: records are missing when it is read back ({0})")]
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
