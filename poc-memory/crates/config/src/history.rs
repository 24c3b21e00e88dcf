//! The setting for how much history is kept.

use poc_graph::error::{Error, Result};
use poc_graph::time::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// How much history the log keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HistoryRetention {
    /// All history since the memory was created.
    All,
    /// At least the history that is not older than this.
    For(Span),
}

/// The name of [`HistoryRetention::All`].
const ALL: &str = "all";

impl HistoryRetention {
    /// Parses `all` or a duration with a unit, such as `90d`.
    ///
    /// Elsewhere, a number without a unit means seconds. Here it would drop nearly all history, which cannot be undone,
    /// although days are meant.
    ///
    /// # Errors
    /// `invalid_argument` if the text is neither, or if the unit is missing.
    pub fn parse(text: &str) -> Result<HistoryRetention> {
        if text == ALL {
            return Ok(HistoryRetention::All);
        }
        if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
            let hint = format!("write `{text}d` for days, `{text}h` for hours, or `{ALL}`");
            return Err(Error::invalid(format!("`{text}` has no unit")).hint(hint));
        }
        let hint = format!("write a whole number with a unit, such as `90d` or `24h`, or `{ALL}`");
        Span::parse(text).map(HistoryRetention::For).map_err(|error| error.hint(hint))
    }
}

impl fmt::Display for HistoryRetention {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HistoryRetention::All => f.write_str(ALL),
            HistoryRetention::For(span) => span.fmt(f),
        }
    }
}

impl Serialize for HistoryRetention {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for HistoryRetention {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_string(RetentionVisitor)
    }
}

/// Reads a retention from a text. A number gets the same error as in a text.
struct RetentionVisitor;

impl serde::de::Visitor<'_> for RetentionVisitor {
    type Value = HistoryRetention;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a duration such as \"90d\" or \"24h\", or \"all\"")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<HistoryRetention, E> {
        HistoryRetention::parse(text).map_err(|error| E::custom(error.line()))
    }

    fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<HistoryRetention, E> {
        self.visit_str(&number.to_string())
    }
}

impl JsonSchema for HistoryRetention {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "HistoryRetention".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "description": "`all`, or how long history is kept at least, such as `90d`",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_and_durations_are_read() {
        assert_eq!(HistoryRetention::parse("all").unwrap(), HistoryRetention::All);
        assert_eq!(HistoryRetention::parse("90d").unwrap(), HistoryRetention::For(Span(90 * Span::DAY.0)));
        assert_eq!(HistoryRetention::parse("90d").unwrap().to_string(), "90d");
        assert!(HistoryRetention::parse("everything").is_err());
        assert!(HistoryRetention::parse("").is_err());
    }

    #[test]
    fn a_number_without_a_unit_is_refused() {
        let error = HistoryRetention::parse("5").unwrap_err();
        assert_eq!(error.line(), "`5` has no unit; write `5d` for days, `5h` for hours, or `all`");
        assert!(serde_json::from_str::<HistoryRetention>("\"90\"").is_err());
        assert_eq!(
            serde_json::from_str::<HistoryRetention>("\"0s\"").unwrap(),
            HistoryRetention::For(Span(0))
        );
    }
}
