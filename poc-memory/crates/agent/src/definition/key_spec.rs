//! An entry of the table of keys: path, type of the value and description of one key.

use crate::template::VARIABLES;

/// A key or table.
#[derive(Clone, Copy, Debug)]
pub struct KeySpec {
    /// Full path: the names of its tables and its own, separated by dots.
    pub path: &'static str,
    /// Type of its value.
    pub takes: ValueType,
    /// Example value of a required key; `None` for optional keys.
    pub example: Option<&'static str>,
    /// Description: one sentence without a full stop.
    pub doc: &'static str,
}

/// Type of the value of a key.
#[derive(Clone, Copy, Debug)]
pub enum ValueType {
    /// A table of the keys below it.
    Table,
    /// A list of tables.
    Tables,
    /// A text.
    Text,
    /// The file name of a template.
    Template,
    /// `true` or `false`.
    Flag,
    /// An integer in a closed range.
    Count(usize, usize),
    /// A number with a lower bound.
    Number(f64, Bound),
    /// A number above 0, at most 1.
    Share,
    /// A duration of at least this many milliseconds.
    Duration(i64),
    /// A duration, or this word.
    DurationOr(&'static str),
    /// A list of at most this many durations.
    Durations(usize),
    /// One word from a fixed set.
    OneOf(fn() -> Vec<&'static str>),
    /// A list of words from a fixed set.
    SomeOf(fn() -> Vec<String>),
    /// A list of distinct names.
    Names,
    /// A list of texts.
    Texts,
    /// A pipeline.
    Pipeline,
    /// A list of pipelines that contain only filters.
    Filters,
    /// A schedule.
    Schedule,
    /// A time zone.
    Zone,
    /// A set of tenants: a word, a pattern, or a list of patterns.
    Tenants,
    /// A table of texts, numbers and flags with custom names.
    Values,
}

/// Whether a lower bound is inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// Inclusive.
    From,
    /// Exclusive.
    Above,
}

/// How a duration is written.
const DURATION_EXAMPLES: &str = "such as \"7d\", \"24h\", \"30m\" or \"45s\"; a bare number is seconds";

/// The upper bound of a count that has none: the largest integer of TOML.
pub(super) const UNBOUNDED: usize = i64::MAX as usize;

impl KeySpec {
    /// Path of the table that contains it.
    pub fn table(&self) -> &'static str {
        self.path.rsplit_once('.').map_or("", |(table, _)| table)
    }

    /// Last part of the path.
    pub fn name(&self) -> &'static str {
        self.path.rsplit_once('.').map_or(self.path, |(_, name)| name)
    }
}

impl ValueType {
    /// Description of the type for error messages.
    pub fn description(self) -> String {
        let list = |words: Vec<String>, joint: &str| {
            let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
            match quoted.split_last() {
                Some((last, [])) => last.clone(),
                Some((last, others)) => format!("{}{joint}{last}", others.join(", ")),
                None => String::new(),
            }
        };
        match self {
            ValueType::Table => "a table: a line `[…]` with keys below it".into(),
            ValueType::Tables => "a list of tables: lines `[[…]]` with keys below each".into(),
            ValueType::Text => "text in quotes".into(),
            ValueType::Template => "the name of a file in quotes".into(),
            ValueType::Flag => "`true` or `false`".into(),
            ValueType::Count(min, UNBOUNDED) => format!("a whole number from {min} up"),
            ValueType::Count(min, max) => format!("a whole number from {min} to {max}"),
            ValueType::Number(min, Bound::From) => format!("a number from {min} up"),
            ValueType::Number(min, Bound::Above) => format!("a number above {min}"),
            ValueType::Share => "a number above 0, at most 1".into(),
            ValueType::Duration(min) => {
                let above = if min > 0 { " above zero," } else { "" };
                format!("a duration{above} {DURATION_EXAMPLES}")
            }
            ValueType::DurationOr(word) => {
                format!("\"{word}\" or a duration {DURATION_EXAMPLES}")
            }
            ValueType::Durations(max) => {
                format!("a list of at most {max} durations, such as [\"15m\", \"1h\"]")
            }
            ValueType::OneOf(words) => list(words().into_iter().map(str::to_owned).collect(), " or "),
            ValueType::SomeOf(words) => {
                // Each variable may be written in lower case, too.
                let words = words().into_iter().filter(|word| !is_variable_in_lower_case(word));
                format!("a list of {}", list(words.collect(), " and "))
            }
            ValueType::Names | ValueType::Texts => "a list of texts, such as [\"…\"]".into(),
            ValueType::Pipeline => "a pipeline in quotes, such as \"all | limit:20\"".into(),
            ValueType::Filters => "a list of filters, such as [\"provenance:manual\"]".into(),
            ValueType::Schedule => "a schedule in quotes, such as \"daily\" or \"every 6h\"".into(),
            ValueType::Zone => "\"local\" or an IANA name in quotes, such as \"Europe/Vienna\"".into(),
            ValueType::Tenants => {
                "\"all\", \"default\", a pattern in quotes such as \"user=*\", or a list of patterns".into()
            }
            ValueType::Values => "a table of values: `NAME = \"…\"`".into(),
        }
    }
}

fn is_variable_in_lower_case(word: &str) -> bool {
    VARIABLES.iter().any(|name| *name != word && name.to_lowercase() == word)
}
