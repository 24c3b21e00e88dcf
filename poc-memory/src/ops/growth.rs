//! By how much a memory has grown in a period.

use super::text::plural;
use poc_graph::error::{Error, Result};
use poc_graph::time::{Moment, Timestamp};
use poc_notes::{Memory, growth};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What there is more than at the beginning; negative if there is less.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct Growth {
    /// Notes that searches can find.
    notes: i64,
    edges: i64,
}

impl Growth {
    /// Compares the live notes and edges of a tenant now and at an instant; `None` if the history does not reach so far
    /// back.
    pub(super) fn since(memory: &Memory, instant: Timestamp) -> Result<Option<Growth>> {
        let found = growth::since(memory, instant)?;
        Ok(found.map(|growth::Growth { notes, edges }| Growth { notes, edges }))
    }
}

/// The notes, as `+3 notes`.
impl fmt::Display for Growth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.notes < 0 { "−" } else { "+" };
        write!(f, "{sign}{}", plural(self.notes.unsigned_abs(), "note"))
    }
}

/// The start of a period.
///
/// # Errors
/// `invalid_argument` with the field `since` if it is not in the past.
pub(super) fn start(since: Moment, now: Timestamp) -> Result<Timestamp> {
    let since = since.resolve(now);
    if since > now {
        return Err(Error::invalid(format!("{since} is not in the past"))
            .hint("give an earlier time, or how long ago: `12h`")
            .field("since"));
    }
    Ok(since)
}
