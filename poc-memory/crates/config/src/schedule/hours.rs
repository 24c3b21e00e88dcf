//! Slots of cron rules that count hours: all instants at which the wall clock shows one of their times.
//!
//! Between two changes of the offset from UTC, local times and instants advance together. At a change, a search
//! continues with the new offset.

use super::zone;
use chrono::{DateTime, NaiveDateTime};
use chrono_tz::Tz;
use croner::Cron;
use poc_graph::time::Timestamp;

/// Maximum number of offset changes that a search passes. Rules fire at least every few years, and a year has two
/// changes.
const MAX_CHANGES: usize = 1000;

/// The first slot after an instant.
pub(super) fn next_after(cron: &Cron, after: Timestamp, zone: Tz) -> Option<Timestamp> {
    let (mut from, mut inclusive) = (after, false);
    for _ in 0..MAX_CHANGES {
        let offset = zone::offset(from, zone)?;
        let slot = instant(cron.find_next_occurrence(&local(from, offset)?, inclusive).ok()?, offset);
        match zone::first_change(from, slot, zone)? {
            None => return Some(slot),
            Some(change) => (from, inclusive) = (change, true),
        }
    }
    None
}

/// The last slot at or before an instant.
pub(super) fn latest(cron: &Cron, now: Timestamp, zone: Tz) -> Option<Timestamp> {
    let mut until = now;
    for _ in 0..MAX_CHANGES {
        let offset = zone::offset(until, zone)?;
        let slot = instant(cron.find_previous_occurrence(&local(until, offset)?, true).ok()?, offset);
        match zone::last_change(slot, until, zone)? {
            None => return Some(slot),
            Some(change) => until = Timestamp(change.0 - 1),
        }
    }
    None
}

/// The local time at an instant, in whole seconds, for an offset from UTC in milliseconds.
fn local(at: Timestamp, offset: i64) -> Option<NaiveDateTime> {
    let seconds = at.0.checked_add(offset)?.div_euclid(1000);
    DateTime::from_timestamp(seconds, 0).map(|at| at.naive_utc())
}

fn instant(local: NaiveDateTime, offset: i64) -> Timestamp {
    Timestamp(local.and_utc().timestamp_millis() - offset)
}
