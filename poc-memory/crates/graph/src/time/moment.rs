//! A point in the past: an instant, a date, or a duration before now.

use super::{Span, Timestamp};
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A point in time, written `2026-11-21T08:00:00Z`, `2026-11-21` (midnight UTC) or `7d` (7 days ago).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// An instant.
    At(Timestamp),
    /// A duration before now.
    Ago(Span),
}

impl Moment {
    /// Parses an instant, a date, or a duration with a unit.
    pub fn parse(text: &str) -> Result<Moment> {
        let has_unit = text.ends_with(|last: char| last.is_ascii_alphabetic());
        match (Timestamp::parse(text), Span::parse(text)) {
            (Ok(at), _) => Ok(Moment::At(at)),
            (_, Ok(span)) if has_unit => Ok(Moment::Ago(span)),
            _ => Err(Error::invalid(format!("`{text}` is not a time"))
                .hint("write `2026-11-21`, `2026-11-21T08:00:00Z`, or how long ago: `7d`, `24h`, `30m`")),
        }
    }

    /// The instant relative to `now`, clamped to the earliest timestamp if it is a duration.
    pub fn resolve(self, now: Timestamp) -> Timestamp {
        match self {
            Moment::At(at) => at,
            Moment::Ago(span) => now.minus(span).max(Timestamp::EARLIEST),
        }
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Moment::At(at) => write!(f, "{at}"),
            Moment::Ago(span) => write!(f, "{span}"),
        }
    }
}

impl Serialize for Moment {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Moment::parse(&text).map_err(|error| {
            serde::de::Error::custom(format!("{}; {}", error.message, error.hint.unwrap_or_default()))
        })
    }
}

impl schemars::JsonSchema for Moment {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Moment".into()
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
    fn moments_round_trip_through_text() {
        let now = Timestamp::parse("2026-11-21T08:00:00Z").unwrap();
        for (text, instant) in [
            ("2026-11-20", "2026-11-20T00:00:00.000Z"),
            ("2026-11-20T10:00:00+02:00", "2026-11-20T08:00:00.000Z"),
            ("7d", "2026-11-14T08:00:00.000Z"),
            ("90m", "2026-11-21T06:30:00.000Z"),
            ("0s", "2026-11-21T08:00:00.000Z"),
            ("9999-12-31", "9999-12-31T00:00:00.000Z"),
        ] {
            let moment = Moment::parse(text).unwrap();
            assert_eq!(moment.resolve(now).to_string(), instant);
            assert_eq!(Moment::parse(&moment.to_string()).unwrap(), moment);
        }
        assert_eq!(Moment::parse("880039w").unwrap().resolve(now).to_string(), "0001-01-01T00:00:00.000Z");
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
            assert!(Moment::parse(wrong).is_err(), "{wrong}");
        }
    }
}
