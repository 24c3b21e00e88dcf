//! By how much a memory has grown in a period.

use super::text::plural;
use poc_graph::error::{Error, Result};
use poc_graph::time::{PastTime, Timestamp};
use poc_notes::growth::Growth;

/// The notes that were added, as `+3 notes`.
pub(super) fn line(growth: &Growth) -> String {
    let sign = if growth.notes < 0 { "−" } else { "+" };
    format!("{sign}{}", plural(growth.notes.unsigned_abs(), "note"))
}

/// The start of a period.
///
/// # Errors
/// `invalid_argument` with the field `since` if it is not in the past.
pub(super) fn start(since: PastTime, now: Timestamp) -> Result<Timestamp> {
    let since = since.resolve(now);
    if since > now {
        return Err(Error::invalid(format!("{since} is not in the past"))
            .hint("give an earlier time, or how long ago: `12h`")
            .field("since"));
    }
    Ok(since)
}
