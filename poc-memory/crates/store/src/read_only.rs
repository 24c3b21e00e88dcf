//! The reasons why a store accepts no writes.

use super::DAMAGED_HINT;
use poc_graph::error::{Code, Error};

/// Why a store accepts no writes. It still answers all reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadOnlyCause {
    /// The files are damaged, and a person must choose how to repair them. The text says what is damaged and which
    /// state the answers show.
    Damage(String),
    /// The files cannot be written, for example because the disk is full. Writes resume without a restart as soon as
    /// the disk accepts them.
    Disk(String),
    /// Another program has changed the log while it was in use. Writes resume without a restart as soon as its files
    /// are restored. Data that the log lost is still in the records.
    ChangedLog(String),
    /// The shared log cannot be reached. Writes resume without a restart as soon as it can.
    SharedLog(String),
    /// The thread that writes has ended. The store must be closed and opened again.
    Failure(String),
}

impl ReadOnlyCause {
    /// The name used for monitoring: `damage`, `disk`, `changed-log`, `log` or `failure`.
    pub fn name(&self) -> &'static str {
        match self {
            ReadOnlyCause::Damage(_) => "damage",
            ReadOnlyCause::Disk(_) => "disk",
            ReadOnlyCause::ChangedLog(_) => "changed-log",
            ReadOnlyCause::SharedLog(_) => "log",
            ReadOnlyCause::Failure(_) => "failure",
        }
    }

    /// The cause as a sentence for people, without a full stop.
    pub fn message(&self) -> &str {
        let (ReadOnlyCause::Damage(message)
        | ReadOnlyCause::Disk(message)
        | ReadOnlyCause::ChangedLog(message)
        | ReadOnlyCause::SharedLog(message)
        | ReadOnlyCause::Failure(message)) = self;
        message
    }

    /// What a person can do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            ReadOnlyCause::Damage(_) => DAMAGED_HINT,
            ReadOnlyCause::Disk(_) => {
                "free disk space, or check the disk: writing resumes without a restart; everything acknowledged is safe"
            }
            ReadOnlyCause::ChangedLog(_) => {
                "put the files back; or stop the daemon and use `poc-memory repair`: the records have what the log lacks"
            }
            ReadOnlyCause::SharedLog(_) => {
                "try again in a few seconds: writes are taken again without a restart once the shared log answers"
            }
            ReadOnlyCause::Failure(_) => "start again; everything acknowledged is safe",
        }
    }

    /// The error of a write that is refused for this reason.
    pub fn error(&self) -> Error {
        let code =
            if matches!(self, ReadOnlyCause::SharedLog(_)) { Code::Unavailable } else { Code::ReadOnly };
        Error::new(code, format!("the store takes no writes: {}", self.message())).hint(self.hint())
    }

    /// The cause for a log that has lost data written to it.
    pub(super) fn changed_log(problem: &dyn std::fmt::Display) -> ReadOnlyCause {
        ReadOnlyCause::ChangedLog(format!("another program has changed its log: {problem}"))
    }

    /// Whether the committer can make the store writable again.
    pub(super) fn may_end(&self) -> bool {
        matches!(self, ReadOnlyCause::Disk(_) | ReadOnlyCause::ChangedLog(_) | ReadOnlyCause::SharedLog(_))
    }
}
