//! A point in the past: an instant, a date, or a duration before now.

use super::{Span, Timestamp};
use crate::error::{Error, Result};
use chrono::SecondsFormat;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A point in time, written `2026-11-21T08:00:00Z`, `2026-11-21` (midnight UTC) or `7d` (7 days ago).
///
/// A time without a fraction of a second names the whole second, because times are shown in this way: a state as of
/// that time includes the changes of that second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PastTime {
    /// An instant.
    At(Timestamp),
    /// A second, by its first instant.
    Second(Timestamp),
    /// A duration before now.
    Ago(Span),
}

impl PastTime {
    /// Parses an instant, a date, or a duration with a unit.
    pub fn parse(text: &str) -> Result<PastTime> {
        PastTime::parse_opt(text)?.ok_or_else(|| {
            Error::invalid(format!("`{text}` is not a time"))
                .hint("write `2026-11-21`, `2026-11-21T08:00:00Z`, or how long ago: `7d`, `24h`, `30m`")
        })
    }

    /// Like [`parse`](Self::parse), but `None` if the text has none of these forms.
    ///
    /// # Errors
    /// `invalid_argument` for a day that its month does not have, and for an instant without a time zone.
    pub(crate) fn parse_opt(text: &str) -> Result<Option<PastTime>> {
        let has_unit = text.ends_with(|last: char| last.is_ascii_alphabetic());
        Ok(match (Timestamp::parse_opt(text)?, Span::parse(text)) {
            // Dates have no `:`; in RFC 3339, only a fraction has a `.`.
            (Some(at), _) if text.contains(':') && !text.contains('.') => Some(PastTime::Second(at)),
            (Some(at), _) => Some(PastTime::At(at)),
            (None, Ok(span)) if has_unit => Some(PastTime::Ago(span)),
            _ => None,
        })
    }

    /// The first instant, for the start of a period, clamped to the earliest timestamp if it is a duration before `now`.
    pub fn resolve(self, now: Timestamp) -> Timestamp {
        match self {
            PastTime::At(at) | PastTime::Second(at) => at,
            PastTime::Ago(span) => now.minus(span).max(Timestamp::EARLIEST),
        }
    }

    /// The last instant, for a state as of this time. Of the current second it is `now`, because later instants are in
    /// the future.
    pub fn resolve_end(self, now: Timestamp) -> Timestamp {
        let first = self.resolve(now);
        match self {
            PastTime::At(_) | PastTime::Ago(_) => first,
            PastTime::Second(_) => {
                let last = first.plus(Span(Span::SECOND.0 - 1));
                if (first..=last).contains(&now) { now } else { last }
            }
        }
    }
}

impl fmt::Display for PastTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PastTime::At(at) => write!(f, "{at}"),
            PastTime::Second(at) => match at.utc() {
                Some(utc) => f.write_str(&utc.to_rfc3339_opts(SecondsFormat::Secs, true)),
                None => write!(f, "{at}"),
            },
            PastTime::Ago(span) => write!(f, "{span}"),
        }
    }
}

impl Serialize for PastTime {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for PastTime {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        PastTime::parse(&text).map_err(|error| serde::de::Error::custom(error.line()))
    }
}

impl schemars::JsonSchema for PastTime {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "PastTime".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "pattern": r"^([0-9]+(w|d|h|m|s|ms)|[0-9]{4}-[0-9]{2}-[0-9]{2}([Tt ].+)?)$",
            "description": "an instant (2026-11-21T08:00:00Z), a date, or how long ago (7d, 24h)"
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn past_times_round_trip_through_text() {
        let now = Timestamp::parse("2026-11-21T08:00:00Z").unwrap();
        for (text, instant) in [
            ("2026-11-20", "2026-11-20T00:00:00.000Z"),
            ("2026-11-20T10:00:00+02:00", "2026-11-20T08:00:00.000Z"),
            ("7d", "2026-11-14T08:00:00.000Z"),
            ("90m", "2026-11-21T06:30:00.000Z"),
            ("0s", "2026-11-21T08:00:00.000Z"),
            ("9999-12-31", "9999-12-31T00:00:00.000Z"),
        ] {
            let past_time = PastTime::parse(text).unwrap();
            assert_eq!(past_time.resolve(now).to_string(), instant);
            assert_eq!(PastTime::parse(&past_time.to_string()).unwrap(), past_time);
        }
        assert_eq!(PastTime::parse("880039w").unwrap().resolve(now).to_string(), "0001-01-01T00:00:00.000Z");
        for wrong in [
            "0000-12-31",
            "10000-01-01",
            "+12026-01-01",
            "",
            "2026",
            "yesterday",
            "7",
            "-1d",
            "2026-13-01",
            "d",
            "20:00",
        ] {
            assert!(PastTime::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_time_without_a_fraction_includes_its_second() {
        let now = Timestamp::parse("2026-11-21T08:00:00.250Z").unwrap();
        for (text, first, last) in [
            ("2026-11-20T10:00:05Z", "2026-11-20T10:00:05.000Z", "2026-11-20T10:00:05.999Z"),
            ("2026-11-20T12:00:05+02:00", "2026-11-20T10:00:05.000Z", "2026-11-20T10:00:05.999Z"),
            ("2026-11-20T10:00:05.000Z", "2026-11-20T10:00:05.000Z", "2026-11-20T10:00:05.000Z"),
            ("2026-11-20T10:00:05.5Z", "2026-11-20T10:00:05.500Z", "2026-11-20T10:00:05.500Z"),
            ("2026-11-20", "2026-11-20T00:00:00.000Z", "2026-11-20T00:00:00.000Z"),
            ("1h", "2026-11-21T07:00:00.250Z", "2026-11-21T07:00:00.250Z"),
            // The current second ends now; a later one stays in the future.
            ("2026-11-21T08:00:00Z", "2026-11-21T08:00:00.000Z", "2026-11-21T08:00:00.250Z"),
            ("2026-11-21T08:00:01Z", "2026-11-21T08:00:01.000Z", "2026-11-21T08:00:01.999Z"),
            ("9999-12-31T23:59:59Z", "9999-12-31T23:59:59.000Z", "9999-12-31T23:59:59.999Z"),
        ] {
            let past_time = PastTime::parse(text).unwrap();
            // A request is sent as text, which must keep the difference.
            let past_time = PastTime::parse(&past_time.to_string()).unwrap();
            let period = (past_time.resolve(now).to_string(), past_time.resolve_end(now).to_string());
            assert_eq!(period, (first.to_owned(), last.to_owned()), "{text}");
        }
    }
}
