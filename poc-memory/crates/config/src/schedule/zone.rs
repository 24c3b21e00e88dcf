//! Converts between instants and local times.

use chrono::{MappedLocalTime, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta, TimeZone, Timelike};
use chrono_tz::Tz;
use poc_graph::time::Timestamp;

/// The machine's time zone: `TZ` if it is an IANA name, else the system setting, else UTC.
pub fn local_zone() -> Tz {
    let named = |name: String| name.trim_start_matches(':').parse::<Tz>().ok();
    std::env::var("TZ")
        .ok()
        .and_then(named)
        .or_else(|| iana_time_zone::get_timezone().ok().and_then(named))
        .unwrap_or(Tz::UTC)
}

/// Start and end of the day that contains an instant.
pub fn day(at: Timestamp, zone: Tz) -> Option<(Timestamp, Timestamp)> {
    let date = shown(at, zone)?.date();
    let midnight = |date: NaiveDate| instant(date.and_time(NaiveTime::MIN), zone);
    Some((midnight(date)?, midnight(date.succ_opt()?)?))
}

/// The local time at an instant, in whole seconds.
pub(super) fn wall_clock(at: Timestamp, zone: Tz) -> Option<NaiveDateTime> {
    shown(at, zone)?.with_nanosecond(0)
}

/// The instant of a local time: the first of two, or the end of the gap for a skipped time.
pub(super) fn instant(local: NaiveDateTime, zone: Tz) -> Option<Timestamp> {
    match zone.from_local_datetime(&local) {
        MappedLocalTime::Single(at) | MappedLocalTime::Ambiguous(at, _) => {
            Some(Timestamp(at.timestamp_millis()))
        }
        MappedLocalTime::None => after_gap(local, zone),
    }
}

/// The instant at which the clock skips `local`: the first one with a later local time.
fn after_gap(local: NaiveDateTime, zone: Tz) -> Option<Timestamp> {
    // Offsets from UTC and skipped times together are always shorter.
    let reach = TimeDelta::hours(40);
    let mut before = local.checked_sub_signed(reach)?.and_utc().timestamp_millis();
    let mut after = local.checked_add_signed(reach)?.and_utc().timestamp_millis();
    while after - before > 1 {
        let middle = before + (after - before) / 2;
        if shown(Timestamp(middle), zone)? > local {
            after = middle;
        } else {
            before = middle;
        }
    }
    Some(Timestamp(after))
}

fn shown(at: Timestamp, zone: Tz) -> Option<NaiveDateTime> {
    Some(at.utc()?.with_timezone(&zone).naive_local())
}
