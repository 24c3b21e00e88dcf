//! Why a store takes no writes.

use super::DAMAGED_HINT;
use poc_graph::error::{Code, Error};

/// Why a store takes no writes. It answers all reads meanwhile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadOnlyCause {
    /// Its files are damaged, and a person must choose how they are repaired: what is damaged, and which state the
    /// answers show.
    Damage(String),
    /// Its files cannot be written, for example because the disk is full. Writes are possible again, without a restart,
    /// as soon as the disk takes them.
    Disk(String),
    /// Another program has changed the log while it was in use. Writes are possible again, without a restart, when its files
    /// are back; what the log lacks is in the records.
    ChangedLog(String),
    /// The shared log cannot be reached. Writes are possible again, without a restart, as soon as it can.
    SharedLog(String),
    /// The thread that writes has ended. The store must be opened again.
    Failure(String),
}

impl ReadOnlyCause {
    /// A word for monitors: `damage`, `disk`, `changed-log`, `log` or `failure`.
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

    /// The error of a write.
    pub fn error(&self) -> Error {
        let code =
            if matches!(self, ReadOnlyCause::SharedLog(_)) { Code::Unavailable } else { Code::ReadOnly };
        Error::new(code, format!("the store takes no writes: {}", self.message())).hint(self.hint())
    }

    /// The cause for a log that has lost what was written to it.
    pub(super) fn changed_log(problem: &dyn std::fmt::Display) -> ReadOnlyCause {
        ReadOnlyCause::ChangedLog(format!("another program has changed its log: {problem}"))
    }

    /// Whether the committer can bring the store back to taking writes.
    pub(super) fn may_end(&self) -> bool {
        matches!(self, ReadOnlyCause::Disk(_) | ReadOnlyCause::ChangedLog(_) | ReadOnlyCause::SharedLog(_))
    }
}
