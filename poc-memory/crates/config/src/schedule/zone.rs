//! Converts between instants and local times.

use chrono::{MappedLocalTime, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta, TimeZone, Timelike};
use chrono_tz::Tz;
use poc_graph::error::Error;
use poc_graph::similar;
use poc_graph::time::Timestamp;
use std::ops::Range;
use std::sync::Once;

/// What a value of the variable `TZ` means.
#[derive(Debug, PartialEq, Eq)]
enum ZoneVariable {
    /// This zone.
    Named(Tz),
    /// The zone of the system.
    System,
    /// Nothing: it names no zone.
    Unknown,
}

impl ZoneVariable {
    /// Reads the value of this process; [`ZoneVariable::System`] if the variable is not set.
    fn of_process() -> ZoneVariable {
        zone_variable().map_or(ZoneVariable::System, |value| ZoneVariable::parse(&value))
    }

    /// Reads an IANA name, the path of its file, or a fixed offset. Other programs accept a colon before the first two.
    fn parse(value: &str) -> ZoneVariable {
        let fixed = fixed_offset(value);
        let value = value.trim_start_matches(':');
        if value.is_empty() || value == "/etc/localtime" {
            return ZoneVariable::System;
        }
        let name = value.rsplit_once("/zoneinfo/").map_or(value, |(_, name)| name);
        let named = Tz::from_str_insensitive(name).ok();
        named.or(fixed).map_or(ZoneVariable::Unknown, ZoneVariable::Named)
    }
}

/// The zone of a value in the form of POSIX with a fixed offset of whole hours, such as `<+03>-3` or `UTC0`. `None` for
/// other values. Those with daylight saving time have no equal in the zone database, because their rules hold for all
/// years.
fn fixed_offset(value: &str) -> Option<Tz> {
    let (name, offset) = match value.strip_prefix('<') {
        Some(quoted) => quoted.split_once('>')?,
        None => value.split_at(value.find(|c: char| !c.is_ascii_alphabetic())?),
    };
    let is_name =
        name.len() >= 3 && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-".contains(&byte));
    let (sign, hours) = match offset.strip_prefix('-') {
        Some(hours) => ('-', hours),
        None => ('+', offset.strip_prefix('+').unwrap_or(offset)),
    };
    let hours = hours.strip_suffix(":00").unwrap_or(hours);
    let is_offset = hours.len() <= 2 && hours.bytes().all(|byte| byte.is_ascii_digit());
    let hours: u8 = hours.parse().ok().filter(|_| is_name && is_offset)?;
    // The sign has the same meaning in both: `-` is east of Greenwich.
    format!("Etc/GMT{sign}{hours}").parse().ok()
}

fn zone_variable() -> Option<String> {
    Some(std::env::var_os("TZ")?.to_string_lossy().into_owned())
}

/// The time zone of this machine: `TZ` if it names a zone, else the system setting, else UTC. The first call logs a
/// warning if `TZ` names no zone.
pub fn local_zone() -> Tz {
    static WARNING: Once = Once::new();
    match ZoneVariable::of_process() {
        ZoneVariable::Named(zone) => zone,
        ZoneVariable::System => system_zone(),
        ZoneVariable::Unknown => {
            WARNING.call_once(|| {
                if let Some(problem) = local_zone_problem() {
                    tracing::warn!("{}", problem.line());
                }
            });
            system_zone()
        }
    }
}

/// Why `TZ` is ignored, and which zone is used instead; `None` if it names a zone or is not set.
pub fn local_zone_problem() -> Option<Error> {
    let value = zone_variable()?;
    (ZoneVariable::parse(&value) == ZoneVariable::Unknown).then(|| unknown_zone(&value, system_zone()))
}

/// The error for a value of `TZ` that names no zone.
fn unknown_zone(value: &str, used: Tz) -> Error {
    let near = similar::closest(value, chrono_tz::TZ_VARIANTS.iter().map(|zone| zone.name()));
    let hint = match near {
        Some(near) => format!("did you mean `{near}`?"),
        None => "use a name such as `Europe/Vienna`".to_owned(),
    };
    let value = value.escape_debug();
    let message = format!(
        "`TZ` is `{value}`, which is not the name of a time zone: schedules and printed times use `{used}`"
    );
    Error::config(message).hint(hint)
}

fn system_zone() -> Tz {
    let name = iana_time_zone::get_timezone().ok();
    name.and_then(|name| name.parse().ok()).unwrap_or(Tz::UTC)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zone_variable_is_a_name_or_a_path() {
        let vienna = ZoneVariable::Named(Tz::Europe__Vienna);
        for value in ["Europe/Vienna", "europe/vienna", ":Europe/Vienna", "/usr/share/zoneinfo/Europe/Vienna"]
        {
            assert_eq!(ZoneVariable::parse(value), vienna, "{value}");
        }
        for value in ["", ":", "/etc/localtime", ":/etc/localtime"] {
            assert_eq!(ZoneVariable::parse(value), ZoneVariable::System, "{value}");
        }
        for value in ["Europe/Viena", "CET-1CEST,M3.5.0,M10.5.0/3", "local", "/usr/share/zoneinfo"] {
            assert_eq!(ZoneVariable::parse(value), ZoneVariable::Unknown, "{value}");
        }
    }

    #[test]
    fn a_zone_variable_may_be_a_fixed_offset_of_whole_hours() {
        let hours = |value: &str| match ZoneVariable::parse(value) {
            ZoneVariable::Named(zone) => offset(Timestamp(0), zone).map(|offset| offset / 3_600_000),
            _ => None,
        };
        for (value, expected) in
            [("<+03>-3", 3), ("<-03>3", -3), ("UTC0", 0), ("JST-09:00", 9), ("ABC+12", -12), ("XYZ-14", 14)]
        {
            assert_eq!(hours(value), Some(expected), "{value}");
        }
        for value in
            ["IST-5:30", "ABC-15", "AB-3", "ABC", "ABC++3", "ABC-003", "<+03-3", "<+03>", ":<+03>-3", "-3"]
        {
            assert_eq!(ZoneVariable::parse(value), ZoneVariable::Unknown, "{value}");
        }
    }

    #[test]
    fn an_unknown_zone_is_reported_with_the_zone_that_is_used() {
        insta::assert_snapshot!(unknown_zone("Europe/Viena", Tz::UTC).line(), @"`TZ` is `Europe/Viena`, which is not the name of a time zone: schedules and printed times use `UTC`; did you mean `Europe/Vienna`?");
        insta::assert_snapshot!(unknown_zone("CET-1CEST,M3.5.0,M10.5.0/3", Tz::Europe__Vienna).line(), @"`TZ` is `CET-1CEST,M3.5.0,M10.5.0/3`, which is not the name of a time zone: schedules and printed times use `Europe/Vienna`; use a name such as `Europe/Vienna`");
    }
}
