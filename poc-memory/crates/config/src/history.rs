//! How much history is kept.

use poc_graph::time::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// How much history the log keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HistoryKeep {
    /// Everything since the memory was made.
    All,
    /// At least what is not older than this.
    For(Span),
}

/// The name of [`HistoryKeep::All`].
const ALL: &str = "all";

impl HistoryKeep {
    /// Parses `all` or a duration such as `90d`.
    pub fn parse(text: &str) -> poc_graph::error::Result<HistoryKeep> {
        if text == ALL { Ok(HistoryKeep::All) } else { Span::parse(text).map(HistoryKeep::For) }
    }
}

impl fmt::Display for HistoryKeep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HistoryKeep::All => f.write_str(ALL),
            HistoryKeep::For(span) => span.fmt(f),
        }
    }
}

impl Serialize for HistoryKeep {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for HistoryKeep {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        HistoryKeep::parse(&text)
            .map_err(|error| serde::de::Error::custom(format!("{}; `{ALL}` keeps everything", error.message)))
    }
}

impl JsonSchema for HistoryKeep {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "HistoryKeep".into()
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
    fn all_or_a_duration() {
        assert_eq!(HistoryKeep::parse("all").unwrap(), HistoryKeep::All);
        assert_eq!(HistoryKeep::parse("90d").unwrap(), HistoryKeep::For(Span(90 * Span::DAY.0)));
        assert_eq!(HistoryKeep::parse("90d").unwrap().to_string(), "90d");
        assert!(HistoryKeep::parse("everything").is_err());
    }
}
