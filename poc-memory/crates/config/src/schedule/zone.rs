//! Converts between instants and local times.

use chrono::{MappedLocalTime, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta, TimeZone, Timelike};
use chrono_tz::Tz;
use poc_graph::time::Timestamp;
use std::ops::Range;

/// The time zone of this machine: `TZ` if it is an IANA name, else the system setting, else UTC.
pub fn local_zone() -> Tz {
    let named = |name: String| name.trim_start_matches(':').parse::<Tz>().ok();
    std::env::var("TZ")
        .ok()
        .and_then(named)
        .or_else(|| iana_time_zone::get_timezone().ok().and_then(named))
        .unwrap_or(Tz::UTC)
}

/// A time to the minute in the time zone of this machine, with its offset from UTC, which is `Z` for UTC; `-` if the
/// time is out of range.
pub fn local_minute(at: Timestamp) -> String {
    local_text(at, "%Y-%m-%d %H:%M")
}

/// Like [`local_minute`], but to the second.
pub fn local_second(at: Timestamp) -> String {
    local_text(at, "%Y-%m-%d %H:%M:%S")
}

fn local_text(at: Timestamp, format: &str) -> String {
    let Some(at) = at.utc().map(|at| at.with_timezone(&local_zone())) else { return "-".to_owned() };
    let offset = at.format("%:z").to_string();
    format!("{}{}", at.format(format), if offset == "+00:00" { "Z" } else { &offset })
}

/// The local day that contains an instant, as a half-open range; empty if the instant is outside the calendar.
pub fn day(at: Timestamp, zone: Tz) -> Range<Timestamp> {
    let midnight = |date: NaiveDate| instant(date.and_time(NaiveTime::MIN), zone);
    let day = local_time(at, zone).and_then(|local| {
        let date = local.date();
        Some(midnight(date)?..midnight(date.succ_opt()?)?)
    });
    day.unwrap_or(at..at)
}

/// The local time at an instant, in whole seconds; `None` if it is outside the calendar.
pub(super) fn wall_clock(at: Timestamp, zone: Tz) -> Option<NaiveDateTime> {
    local_time(at, zone)?.with_nanosecond(0)
}

/// The instant of a local time: the first of two if the time is repeated, or the end of the gap if it is skipped.
/// `None` if it is outside the calendar.
pub(super) fn instant(local: NaiveDateTime, zone: Tz) -> Option<Timestamp> {
    match zone.from_local_datetime(&local) {
        MappedLocalTime::Single(at) | MappedLocalTime::Ambiguous(at, _) => {
            Some(Timestamp(at.timestamp_millis()))
        }
        MappedLocalTime::None => after_gap(local, zone),
    }
}

/// The first instant after the gap in which the clock skips `local`.
fn after_gap(local: NaiveDateTime, zone: Tz) -> Option<Timestamp> {
    // An offset from UTC and a gap together are always shorter than this.
    let reach = TimeDelta::hours(40);
    let mut before = local.checked_sub_signed(reach)?.and_utc().timestamp_millis();
    let mut after = local.checked_add_signed(reach)?.and_utc().timestamp_millis();
    while after - before > 1 {
        let middle = before + (after - before) / 2;
        if local_time(Timestamp(middle), zone)? > local {
            after = middle;
        } else {
            before = middle;
        }
    }
    Some(Timestamp(after))
}

/// The offset from UTC at an instant, in milliseconds; `None` if the instant is outside the calendar.
pub(super) fn offset(at: Timestamp, zone: Tz) -> Option<i64> {
    Some(local_time(at, zone)?.and_utc().timestamp_millis() - at.0)
}

/// If two instants at most this many milliseconds apart have the same offset, the offset does not change between them:
/// zones keep an offset for weeks. The shortest such period is the month of Ramadan in Morocco.
const STEP: i64 = 14 * 86_400_000;

/// The first instant after `from`, up to `until`, whose offset differs from that at `from`; `Some(None)` if there is
/// none, and `None` if the range is outside the calendar.
pub(super) fn first_change(from: Timestamp, until: Timestamp, zone: Tz) -> Option<Option<Timestamp>> {
    let before = offset(from, zone)?;
    let mut low = from.0;
    while low < until.0 {
        let high = low.saturating_add(STEP).min(until.0);
        if offset(Timestamp(high), zone)? != before {
            return change_between(low, high, before, zone).map(Some);
        }
        low = high;
    }
    Some(None)
}

/// The last instant after `from`, up to `until`, whose offset differs from the one just before it; `Some(None)` if
/// there is none, and `None` if the range is outside the calendar.
pub(super) fn last_change(from: Timestamp, until: Timestamp, zone: Tz) -> Option<Option<Timestamp>> {
    let after = offset(until, zone)?;
    let mut high = until.0;
    while high > from.0 {
        let low = high.saturating_sub(STEP).max(from.0);
        let before = offset(Timestamp(low), zone)?;
        if before != after {
            return change_between(low, high, before, zone).map(Some);
        }
        high = low;
    }
    Some(None)
}

/// The first instant after `low` whose offset is not `before`. The offset must be `before` at `low` and another at
/// `high`.
fn change_between(mut low: i64, mut high: i64, before: i64, zone: Tz) -> Option<Timestamp> {
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if offset(Timestamp(middle), zone)? == before {
            low = middle;
        } else {
            high = middle;
        }
    }
    Some(Timestamp(high))
}

/// The local time at an instant; `None` if it is outside the calendar.
fn local_time(at: Timestamp, zone: Tz) -> Option<NaiveDateTime> {
    Some(at.utc()?.with_timezone(&zone).naive_local())
}
