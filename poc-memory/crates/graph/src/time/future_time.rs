//! A point in the future: an instant, a date, or a duration from now.

use super::{Span, Timestamp};
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A point in the future, written `2026-11-21T08:00:00Z`, `2026-11-21` (midnight UTC) or `7d` (7 days from
/// now).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FutureTime {
    /// An instant.
    At(Timestamp),
    /// A duration from now.
    In(Span),
}

impl FutureTime {
    /// Parses an instant, a date, or a duration with a unit.
    pub fn parse(text: &str) -> Result<FutureTime> {
        let has_unit = text.ends_with(|last: char| last.is_ascii_alphabetic());
        match (Timestamp::parse_opt(text)?, Span::parse(text)) {
            (Some(at), _) => Ok(FutureTime::At(at)),
            (None, Ok(span)) if has_unit => Ok(FutureTime::In(span)),
            _ => Err(Error::invalid(format!("`{text}` is not a time")).hint(
                "write `2026-11-21`, `2026-11-21T08:00:00Z`, or how long from now: `7d`, `24h`, `30m`",
            )),
        }
    }

    /// The instant relative to `now`, at most [`Timestamp::LATEST`].
    pub fn resolve(self, now: Timestamp) -> Timestamp {
        match self {
            FutureTime::At(at) => at,
            FutureTime::In(span) => now.plus(span).min(Timestamp::LATEST),
        }
    }
}

impl fmt::Display for FutureTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FutureTime::At(at) => write!(f, "{at}"),
            FutureTime::In(span) => write!(f, "{span}"),
        }
    }
}

impl Serialize for FutureTime {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for FutureTime {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        FutureTime::parse(&text).map_err(|error| serde::de::Error::custom(error.line()))
    }
}

impl schemars::JsonSchema for FutureTime {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "FutureTime".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "pattern": r"^([0-9]+(w|d|h|m|s|ms)|[0-9]{4}-[0-9]{2}-[0-9]{2}([Tt ].+)?)$",
            "description": "an instant (2026-11-21T08:00:00Z), a date, or how long from now (7d, 24h)"
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deadlines_round_trip_through_text() {
        let now = Timestamp::parse("2026-11-21T08:00:00Z").unwrap();
        for (text, instant) in [
            ("2026-11-22", "2026-11-22T00:00:00.000Z"),
            ("2026-11-21T10:00:00+02:00", "2026-11-21T08:00:00.000Z"),
            ("7d", "2026-11-28T08:00:00.000Z"),
            ("90m", "2026-11-21T09:30:00.000Z"),
        ] {
            let deadline = FutureTime::parse(text).unwrap();
            assert_eq!(deadline.resolve(now).to_string(), instant, "{text}");
            assert_eq!(FutureTime::parse(&deadline.to_string()).unwrap(), deadline, "{text}");
        }
        assert_eq!(FutureTime::In(Span(i64::MAX)).resolve(now), Timestamp::LATEST);
        for text in ["", "7", "tomorrow", "2026-11-31"] {
            assert!(FutureTime::parse(text).is_err(), "{text}");
        }
    }
}
