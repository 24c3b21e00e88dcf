//! Instants, durations in their text form, and clocks that are passed as arguments.

mod calendar_day;
pub mod calendar_names;
mod date_text;
mod future_time;
mod past_time;

pub use calendar_day::CalendarDay;
pub use future_time::FutureTime;
pub use past_time::PastTime;

use crate::error::{Error, Result};
use chrono::{DateTime, Datelike as _, SecondsFormat, Utc};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::SystemTime;

/// An instant, as milliseconds since 1970-01-01T00:00:00Z.
///
/// Text and JSON use RFC 3339 in UTC; compact codecs store the integer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// The earliest instant that RFC 3339 and calendars agree on: the start of the year 1.
    pub const EARLIEST: Timestamp = Timestamp(-62_135_596_800_000);
    /// The latest instant that RFC 3339 can express: the end of the year 9999.
    pub const LATEST: Timestamp = Timestamp(253_402_300_799_999);

    /// Seconds from `earlier` to `self`, with a fraction; negative if `earlier` is later.
    pub fn seconds_since(self, earlier: Timestamp) -> f64 {
        self.0.saturating_sub(earlier.0) as f64 / 1000.0
    }

    /// The instant `span` later.
    pub fn plus(self, span: Span) -> Timestamp {
        Timestamp(self.0.saturating_add(span.0))
    }

    /// The instant `span` earlier.
    pub fn minus(self, span: Span) -> Timestamp {
        Timestamp(self.0.saturating_sub(span.0))
    }

    /// Parses RFC 3339 (`2026-11-21T08:00:00Z`) or a plain date, which means midnight UTC.
    pub fn parse(text: &str) -> Result<Timestamp> {
        Timestamp::parse_opt(text)?.ok_or_else(|| {
            Error::invalid(format!("`{text}` is not a time"))
                .hint("write `2026-11-21` or `2026-11-21T08:00:00Z`")
        })
    }

    /// Like [`parse`](Self::parse), but `None` if the text is neither an instant nor a date. The caller may accept
    /// other forms of a time.
    ///
    /// # Errors
    /// `invalid_argument` for a day that its month does not have, and for an instant without a time zone.
    pub(crate) fn parse_opt(text: &str) -> Result<Option<Timestamp>> {
        let day = || {
            // `%Y` takes two digits, too, and `23` would be the year 23.
            let has_whole_year = text.find('-') == Some(4);
            let day = chrono::NaiveDate::parse_from_str(text, "%Y-%m-%d").ok().filter(|_| has_whole_year)?;
            Some(day.and_hms_opt(0, 0, 0)?.and_utc().timestamp_millis())
        };
        let instant = DateTime::parse_from_rfc3339(text).map(|at| at.timestamp_millis()).ok();
        let at = instant.or_else(day).map(Timestamp);
        match at.filter(|at| (Timestamp::EARLIEST..=Timestamp::LATEST).contains(at)) {
            Some(at) => Ok(Some(at)),
            None => missing_day(text).or_else(|| missing_zone(text)).map_or(Ok(None), Err),
        }
    }

    /// Converts to chrono's type for calendar arithmetic; `None` beyond chrono's range.
    pub fn utc(self) -> Option<DateTime<Utc>> {
        DateTime::from_timestamp_millis(self.0)
    }
}

/// The error for a date, or an instant, of a day that its month does not have, such as `2026-11-31`; `None` if the text
/// is anything else.
fn missing_day(text: &str) -> Option<Error> {
    let date =
        text.get(..10).filter(|_| matches!(text.as_bytes().get(10), None | Some(b'T' | b't' | b' ')))?;
    let mut numbers = date.split('-').map(|part| {
        let is_number = part.bytes().all(|byte| byte.is_ascii_digit());
        part.parse::<u32>().ok().filter(|_| is_number)
    });
    let (year, month, day) = (numbers.next()??, numbers.next()??, numbers.next()??);
    let first = chrono::NaiveDate::from_ymd_opt(i32::try_from(year).ok()?, month, 1)?;
    let days = u32::from(first.num_days_in_month());
    if numbers.next().is_some() || !(days + 1..=31).contains(&day) {
        return None;
    }
    let hint = format!("that month has {days} days");
    Some(Error::invalid(format!("there is no day `{date}`")).hint(hint))
}

/// The error for a date with a time of day but without a time zone, which many programs write and which RFC 3339 does
/// not allow; `None` if the text is anything else.
fn missing_zone(text: &str) -> Option<Error> {
    let in_utc = [format!("{text}Z"), format!("{text}:00Z")];
    let in_utc = in_utc.into_iter().find(|time| DateTime::parse_from_rfc3339(time).is_ok())?;
    let hint = format!("write `{in_utc}` for UTC, or an offset such as `+01:00` instead of `Z`");
    Some(Error::invalid(format!("`{text}` has no time zone")).hint(hint))
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.utc() {
            Some(at) => f.write_str(&at.to_rfc3339_opts(SecondsFormat::Millis, true)),
            None => write!(f, "{}ms", self.0),
        }
    }
}

impl Serialize for Timestamp {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            serializer.collect_str(self)
        } else {
            serializer.serialize_i64(self.0)
        }
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            let text = String::deserialize(deserializer)?;
            Timestamp::parse(&text).map_err(|error| serde::de::Error::custom(error.line()))
        } else {
            i64::deserialize(deserializer).map(Timestamp)
        }
    }
}

impl schemars::JsonSchema for Timestamp {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Timestamp".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": "string", "format": "date-time"})
    }
}

/// A duration in milliseconds, written `7d`, `24h`, `30m`, `2w`, `45s` or `300ms`. A bare integer
/// means seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(pub i64);

impl Span {
    /// One second.
    pub const SECOND: Span = Span(1000);
    /// One minute.
    pub const MINUTE: Span = Span(60 * 1000);
    /// One hour.
    pub const HOUR: Span = Span(3600 * 1000);
    /// One day of 24 hours.
    pub const DAY: Span = Span(86_400 * 1000);
    /// One week of seven days.
    pub const WEEK: Span = Span(7 * 86_400 * 1000);

    const UNITS: [(char, Span); 5] =
        [('w', Span::WEEK), ('d', Span::DAY), ('h', Span::HOUR), ('m', Span::MINUTE), ('s', Span::SECOND)];

    /// The span in seconds, with a fraction.
    pub fn seconds(self) -> f64 {
        self.0 as f64 / 1000.0
    }

    /// Converts to the standard library's type; a negative span becomes zero.
    pub fn std(self) -> std::time::Duration {
        std::time::Duration::from_millis(self.0.max(0) as u64)
    }

    /// Parses `7d`, `24h`, `30m`, `2w`, `45s` or a bare number of seconds.
    pub fn parse(text: &str) -> Result<Span> {
        let wrong = || {
            Error::invalid(format!("`{text}` is not a duration")).hint(
                "write a whole number with a unit: `7d`, `24h`, `30m`, `2w`, `45s`; a bare number is seconds",
            )
        };
        if let Some(digits) = text.strip_suffix("ms") {
            return digits.parse::<u32>().map(|millis| Span(i64::from(millis))).map_err(|_| wrong());
        }
        let (digits, unit) =
            match text.chars().last().and_then(|last| Self::UNITS.iter().find(|(name, _)| *name == last)) {
                Some((name, unit)) => (text.strip_suffix(*name).unwrap_or(text), *unit),
                None => (text, Span::SECOND),
            };
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(wrong());
        }
        let count: i64 = digits.parse().map_err(|_| wrong())?;
        count.checked_mul(unit.0).map(Span).ok_or_else(wrong)
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 {
            return f.write_str("0s");
        }
        for (name, unit) in Self::UNITS {
            if self.0 % unit.0 == 0 {
                return write!(f, "{}{name}", self.0 / unit.0);
            }
        }
        write!(f, "{}ms", self.0)
    }
}

impl Serialize for Span {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_string(SpanVisitor)
    }
}

/// Reads a duration from a text or a whole number of seconds, such as one without quotes in TOML.
struct SpanVisitor;

impl serde::de::Visitor<'_> for SpanVisitor {
    type Value = Span;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a duration such as \"24h\", \"30m\" or \"45s\"; a bare number is seconds")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Span, E> {
        Span::parse(text)
            .map_err(|error| E::custom(format!("{}; {}", error.message, error.hint.unwrap_or_default())))
    }

    fn visit_i64<E: serde::de::Error>(self, seconds: i64) -> Result<Span, E> {
        self.visit_str(&seconds.to_string())
    }

    fn visit_u64<E: serde::de::Error>(self, seconds: u64) -> Result<Span, E> {
        self.visit_str(&seconds.to_string())
    }
}

impl schemars::JsonSchema for Span {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Duration".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": ["string", "integer"], "pattern": "^[0-9]+(w|d|h|m|s|ms)?$", "minimum": 0, "description": "a duration such as 7d, 24h, 30m, 45s"})
    }
}

/// The source of the current time. Code that depends on time takes a clock as an argument.
pub trait Clock: Send + Sync {
    /// The current instant.
    fn now(&self) -> Timestamp;
}

/// The system clock. No other code asks the operating system for the time of day.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[allow(clippy::disallowed_methods, reason = "the one place the architecture allows it")]
    fn now(&self) -> Timestamp {
        // `Utc::now` panics if the clock is before 1970; the conversion does not.
        Timestamp(DateTime::<Utc>::from(SystemTime::now()).timestamp_millis())
    }
}

/// A clock that moves only when it is set, for tests and the demo.
#[derive(Debug)]
pub struct ManualClock(Mutex<Timestamp>);

impl ManualClock {
    /// Creates a clock that shows `now`.
    pub fn new(now: Timestamp) -> Self {
        ManualClock(Mutex::new(now))
    }

    /// Sets the clock to `now`, forwards or backwards.
    pub fn set(&self, now: Timestamp) {
        *self.0.lock() = now;
    }

    /// Moves the clock forwards by `span`.
    pub fn advance(&self, span: Span) {
        let mut now = self.0.lock();
        *now = now.plus(span);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        *self.0.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_round_trip_through_text() {
        for text in ["7d", "24h", "30m", "2w", "45s"] {
            let span = Span::parse(text).unwrap();
            assert_eq!(Span::parse(&span.to_string()).unwrap(), span);
        }
        assert_eq!(Span::parse("90").unwrap(), Span(90_000));
        for wrong in ["", "d", "7x", "-1d", "1.5h", "7 d", "99999999999999999w"] {
            assert!(Span::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_timestamp_is_rfc3339_in_json() {
        let at = Timestamp::parse("2026-11-21T08:00:00Z").unwrap();
        assert_eq!(serde_json::to_string(&at).unwrap(), "\"2026-11-21T08:00:00.000Z\"");
        assert_eq!(serde_json::from_str::<Timestamp>("\"2026-11-21T08:00:00.000Z\"").unwrap(), at);
    }

    #[test]
    fn a_time_of_day_needs_a_time_zone() {
        for (text, message) in [
            ("2026-11-21T08:00:00", "`2026-11-21T08:00:00` has no time zone"),
            ("2026-11-21 08:00:00.5", "`2026-11-21 08:00:00.5` has no time zone"),
            ("2026-11-21T08:00", "`2026-11-21T08:00` has no time zone"),
            ("2026-11-31T08:00:00", "there is no day `2026-11-31`"),
            ("2026-11-21T", "`2026-11-21T` is not a time"),
            ("26-11-21", "`26-11-21` is not a time"),
            ("", "`` is not a time"),
        ] {
            assert_eq!(Timestamp::parse(text).unwrap_err().message, message);
            assert_eq!(PastTime::parse(text).unwrap_err().message, message);
            assert_eq!(FutureTime::parse(text).unwrap_err().message, message);
        }
        for text in ["2026-11-21T08:00:00", "2026-11-21T08:00"] {
            let hint = Timestamp::parse(text).unwrap_err().hint.unwrap();
            let right = "write `2026-11-21T08:00:00Z` for UTC, or an offset such as `+01:00` instead of `Z`";
            assert_eq!(hint, right, "{text}");
        }
        for offset in ["Z", "z", "+01:00", "-08:00"] {
            assert!(Timestamp::parse(&format!("2026-11-21T08:00:00{offset}")).is_ok(), "{offset}");
        }
    }
}
