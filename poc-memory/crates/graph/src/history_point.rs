//! A state of the past as users write it.

use crate::error::{Error, Result};
use crate::time::PastTime;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A state of the past, by the number of its last change or by a time. JSON has text, and accepts a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HistoryPoint {
    /// The state after the change with this number, from 1.
    Change(u64),
    /// The state as of this time.
    Time(PastTime),
}

impl HistoryPoint {
    /// Parses the number of a change, or a [`PastTime`].
    ///
    /// # Errors
    /// `invalid_argument` if the text is neither, or if no change can have the number.
    pub fn parse(text: &str) -> Result<HistoryPoint> {
        if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
            return match text.parse() {
                Ok(seq) if seq > 0 => Ok(HistoryPoint::Change(seq)),
                _ => {
                    Err(Error::invalid(format!("there is no change {text}"))
                        .hint("changes are numbered from 1"))
                }
            };
        }
        PastTime::parse_opt(text)?.map(HistoryPoint::Time).ok_or_else(|| {
            Error::invalid(format!("`{text}` is neither the number of a change nor a time")).hint(
                "write `1042`, `2026-11-21`, `2026-11-21T08:00:00Z`, or how long ago: `7d`, `24h`, `30m`",
            )
        })
    }
}

impl fmt::Display for HistoryPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HistoryPoint::Change(seq) => write!(f, "{seq}"),
            HistoryPoint::Time(time) => write!(f, "{time}"),
        }
    }
}

impl Serialize for HistoryPoint {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The forms of a point in JSON.
#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "is neither the number of a change nor a time; write a number, or a time as text"
)]
enum Form {
    Number(u64),
    Text(String),
}

impl<'de> Deserialize<'de> for HistoryPoint {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let parsed = match Form::deserialize(deserializer)? {
            Form::Number(number) => HistoryPoint::parse(&number.to_string()),
            Form::Text(text) => HistoryPoint::parse(&text),
        };
        parsed.map_err(|error| serde::de::Error::custom(error.line()))
    }
}

impl schemars::JsonSchema for HistoryPoint {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "HistoryPoint".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "pattern": r"^([1-9][0-9]*|[0-9]+(w|d|h|m|s|ms)|[0-9]{4}-[0-9]{2}-[0-9]{2}([Tt ].+)?)$",
            "description": "the number of a change (1042), an instant (2026-11-21T08:00:00Z), a date, or how long ago (7d, 24h)"
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn numbers_and_times_round_trip_through_text_and_json() {
        assert_eq!(HistoryPoint::parse("1042").unwrap(), HistoryPoint::Change(1042));
        assert_eq!(HistoryPoint::parse("7d").unwrap(), HistoryPoint::Time(PastTime::parse("7d").unwrap()));
        for text in ["1", "18446744073709551615", "7d", "2026-11-21", "2026-11-21T08:00:00Z"] {
            let point = HistoryPoint::parse(text).unwrap();
            let encoded = serde_json::to_value(point).unwrap();
            assert_eq!(HistoryPoint::parse(&point.to_string()).unwrap(), point);
            assert_eq!(serde_json::from_value::<HistoryPoint>(encoded).unwrap(), point);
        }
        assert_eq!(serde_json::from_value::<HistoryPoint>(json!(7)).unwrap(), HistoryPoint::Change(7));
    }

    #[test]
    fn anything_else_is_refused() {
        let lines: Vec<String> =
            ["0", "18446744073709551616", "yesterday", "-1", "", "2026-11-31", "2026-02-29T08:00:00Z"]
                .iter()
                .map(|text| HistoryPoint::parse(text).unwrap_err().line())
                .collect();
        insta::assert_snapshot!(lines.join("\n"), @r"
        there is no change 0; changes are numbered from 1
        there is no change 18446744073709551616; changes are numbered from 1
        `yesterday` is neither the number of a change nor a time; write `1042`, `2026-11-21`, `2026-11-21T08:00:00Z`, or how long ago: `7d`, `24h`, `30m`
        `-1` is neither the number of a change nor a time; write `1042`, `2026-11-21`, `2026-11-21T08:00:00Z`, or how long ago: `7d`, `24h`, `30m`
        `` is neither the number of a change nor a time; write `1042`, `2026-11-21`, `2026-11-21T08:00:00Z`, or how long ago: `7d`, `24h`, `30m`
        there is no day `2026-11-31`; that month has 30 days
        there is no day `2026-02-29`; that month has 28 days
        ");
        for wrong in [json!(0), json!(-1), json!(1.5), json!(true), json!("soon")] {
            assert!(serde_json::from_value::<HistoryPoint>(wrong).is_err());
        }
    }
}
