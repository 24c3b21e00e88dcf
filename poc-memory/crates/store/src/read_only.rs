//! The reasons why a store accepts no writes.

use super::DAMAGED_HINT;
use poc_graph::error::{Code, Error};

/// Why a store accepts no writes. It still answers all reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadOnlyReason {
    /// The files are damaged, and a person must choose how to repair them. The text says what is damaged and, if the
    /// store was opened with the damage, which state the answers show. If a verification of an open store has found it,
    /// writes resume when another one finds no damage.
    Damage(String),
    /// The files cannot be written, for example because the disk is full. Writes resume without a restart as soon as
    /// the disk accepts them.
    Disk(String),
    /// Another program has changed the log while it was in use. Writes resume without a restart as soon as its files
    /// are restored. Data that the log lost is still in the records.
    ChangedLog(String),
    /// The shared log cannot be reached, refuses the login, or is not the one that was copied. Writes resume without a
    /// restart as soon as it can be used.
    SharedLog(String),
    /// The thread that writes has ended, or the shared log no longer has changes that this copy of it lacks. The
    /// store must be closed and opened again.
    Failure(String),
}

impl ReadOnlyReason {
    /// The name used for monitoring: `damage`, `disk`, `changed-log`, `log` or `failure`.
    pub fn name(&self) -> &'static str {
        match self {
            ReadOnlyReason::Damage(_) => "damage",
            ReadOnlyReason::Disk(_) => "disk",
            ReadOnlyReason::ChangedLog(_) => "changed-log",
            ReadOnlyReason::SharedLog(_) => "log",
            ReadOnlyReason::Failure(_) => "failure",
        }
    }

    /// The cause as a sentence for people, without a full stop.
    pub fn message(&self) -> &str {
        let (ReadOnlyReason::Damage(message)
        | ReadOnlyReason::Disk(message)
        | ReadOnlyReason::ChangedLog(message)
        | ReadOnlyReason::SharedLog(message)
        | ReadOnlyReason::Failure(message)) = self;
        message
    }

    /// What a person can do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            ReadOnlyReason::Damage(_) => DAMAGED_HINT,
            ReadOnlyReason::Disk(_) => {
                "free disk space, or check the disk and the permissions of the files: writing resumes without a restart; \
                 all acknowledged writes are safe"
            }
            ReadOnlyReason::ChangedLog(_) => {
                "put the files back; or stop the daemon and use `poc-memory repair`: the records still contain what the log \
                 lost"
            }
            ReadOnlyReason::SharedLog(_) => {
                "try again in a few seconds: writing resumes without a restart once the shared log responds"
            }
            ReadOnlyReason::Failure(_) => "restart the program; all acknowledged writes are safe",
        }
    }

    /// The error of a write that is refused for this reason.
    pub fn error(&self) -> Error {
        let code =
            if matches!(self, ReadOnlyReason::SharedLog(_)) { Code::Unavailable } else { Code::ReadOnly };
        Error::new(code, format!("the store accepts no writes: {}", self.message())).hint(self.hint())
    }

    /// The cause for a log that has lost data written to it.
    pub(super) fn changed_log(problem: &dyn std::fmt::Display) -> ReadOnlyReason {
        ReadOnlyReason::ChangedLog(format!("another program has changed its log: {problem}"))
    }

    /// Whether the committer can make the store writable again.
    pub(super) fn may_end(&self) -> bool {
        matches!(self, ReadOnlyReason::Disk(_) | ReadOnlyReason::ChangedLog(_) | ReadOnlyReason::SharedLog(_))
    }
}
