//! The setting for how much history is kept.

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
    /// Parses `all` or a duration such as `90d`.
    pub fn parse(text: &str) -> poc_graph::error::Result<HistoryRetention> {
        if text == ALL { Ok(HistoryRetention::All) } else { Span::parse(text).map(HistoryRetention::For) }
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
        let text = String::deserialize(deserializer)?;
        HistoryRetention::parse(&text)
            .map_err(|error| serde::de::Error::custom(format!("{}; `{ALL}` keeps everything", error.message)))
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
    }
}
