//! How recent and complete an answer is.

use super::Memory;
use poc_graph::View;
use poc_graph::time::Timestamp;
use poc_store::{DAMAGED_HINT, ReadOnlyReason};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Which state of the store an answer shows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AsOf {
    /// Sequence number of the last transaction in it.
    pub seq: u64,
    /// When it was read; for a past state the requested instant.
    pub at: Timestamp,
}

impl fmt::Display for AsOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, after change {}", self.at, self.seq)
    }
}

/// How recent and complete an answer is.
#[derive(Clone, Debug, PartialEq)]
pub struct AnswerStatus {
    /// Which state it shows.
    pub as_of: AsOf,
    /// How many transactions the slowest index is behind that.
    pub lag: u64,
    /// Reasons why the answer is incomplete, one line each.
    pub degraded: Vec<String>,
}

/// Prefix of a reason when the store is read-only until a person intervenes.
const READ_ONLY: &str = "read-only: ";

/// Prefix of a reason when the store is read-only until its disk accepts writes again.
const READ_ONLY_FOR_NOW: &str = "read-only for now: ";

/// Prefix of a reason when the store is read-only until the files of its log are restored.
const READ_ONLY_CHANGED: &str = "read-only, the log was changed: ";

/// Prefix of a reason when the store is read-only until the program is restarted.
const READ_ONLY_STOPPED: &str = "read-only until a restart: ";

/// Prefix of a reason when the store is read-only until its shared log answers.
const CUT_OFF: &str = "read-only, cut off: ";

/// Why the store accepts no writes, as a line for a person; `None` if it accepts writes.
pub fn read_only(memory: &Memory) -> Option<String> {
    let cause = memory.store.read_only()?;
    let prefix = match cause {
        ReadOnlyReason::Disk(_) => READ_ONLY_FOR_NOW,
        ReadOnlyReason::ChangedLog(_) => READ_ONLY_CHANGED,
        ReadOnlyReason::SharedLog(_) => CUT_OFF,
        ReadOnlyReason::Failure(_) => READ_ONLY_STOPPED,
        ReadOnlyReason::Damage(_) => READ_ONLY,
    };
    Some(format!("{prefix}{}", cause.message()))
}

/// What is damaged, as the line of [`read_only`]; `None` if no damage is known.
pub fn damage(memory: &Memory) -> Option<String> {
    match memory.store.read_only()? {
        ReadOnlyReason::Damage(_) => read_only(memory),
        _ => None,
    }
}

/// A hint that tells a person how to remove a reason of [`read_only`]; `None` for other reasons.
pub fn read_only_hint(reason: &str) -> Option<&'static str> {
    if reason.starts_with(READ_ONLY_FOR_NOW) {
        return Some(ReadOnlyReason::Disk(String::new()).hint());
    }
    if reason.starts_with(READ_ONLY_CHANGED) {
        return Some(ReadOnlyReason::ChangedLog(String::new()).hint());
    }
    if reason.starts_with(READ_ONLY_STOPPED) {
        return Some(ReadOnlyReason::Failure(String::new()).hint());
    }
    if reason.starts_with(CUT_OFF) {
        return Some(ReadOnlyReason::SharedLog(String::new()).hint());
    }
    reason.starts_with(READ_ONLY).then_some(DAMAGED_HINT)
}

/// The freshness of an answer from `view` and the current indexes.
pub fn of(memory: &Memory, view: &View) -> AnswerStatus {
    let behind = memory.store.lagging_indexes().into_iter().map(|(name, error)| format!("{name}: {error}"));
    let degraded =
        read_only(memory).into_iter().chain(behind).chain(memory.missing_vectors.lock().clone()).collect();
    AnswerStatus {
        as_of: AsOf { seq: view.seq, at: memory.now() },
        lag: memory.store.lag(view.seq),
        degraded,
    }
}
