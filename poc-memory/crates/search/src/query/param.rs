//! Parameters of stages: their position, the type of their value, and whether they are required.

use super::diagnostic::SourceDiagnostic;
use super::field;
use super::glob::Glob;
use super::value::{FieldComparison, Quantity, Relation, SortDirection, Value};
use poc_graph::similar;
use poc_graph::time::{Span, Timestamp};
use poc_graph::{Category, State, normal_key};
use std::fmt::Write;

/// One parameter of a stage.
#[derive(Clone, Copy, Debug)]
pub struct Param {
    /// The name: in capitals for a positional parameter, as written for a named one.
    pub name: &'static str,
    /// Where the value is written.
    pub position: ParamPosition,
    /// The type of the value.
    pub value_type: ParamType,
    /// Whether the parameter is required or has a default.
    pub presence: Presence,
    /// What the parameter means, as a phrase without a full stop.
    pub doc: &'static str,
}

/// Where the value of a parameter is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParamPosition {
    /// After the `:`.
    Colon,
    /// After a `,`, without a name.
    Comma,
    /// After a `,`, as `name=value`.
    Named,
    /// After a space.
    Space,
}

/// Whether a parameter is required or has a default.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Presence {
    /// The parameter must be given.
    Required,
    /// The parameter may be omitted and then has no effect.
    Optional,
    /// If the parameter is omitted, this text is parsed in its place.
    Default(&'static str),
}

/// The type of a parameter's value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ParamType {
    /// One or more words, joined by single spaces.
    Text,
    /// One word.
    Name,
    /// The key of a node.
    Key,
    /// The name of a node type, which is checked against the settings.
    NodeType,
    /// A field that can be sorted by.
    SortField,
    /// `asc` or `desc`.
    Direction,
    /// A glob.
    Glob,
    /// A node state.
    State,
    /// A category of nodes.
    Category,
    /// A whole number between two inclusive bounds.
    Count(usize, usize),
    /// A number between two inclusive bounds.
    Number(f64, f64),
    /// A duration.
    Duration,
    /// A comparison with a non-negative number.
    CompareNumber,
    /// A comparison with a duration.
    CompareDuration,
    /// A comparison with a duration or a day.
    CompareInstant,
}

impl ParamType {
    /// For a value that may consist of several words: the separator that joins them.
    pub(super) fn separator(self) -> Option<&'static str> {
        match self {
            ParamType::Text => Some(" "),
            ParamType::CompareNumber | ParamType::CompareDuration | ParamType::CompareInstant => Some(""),
            _ => None,
        }
    }

    /// Whether the value is compared with a field.
    pub(super) fn is_comparison(self) -> bool {
        matches!(self, ParamType::CompareNumber | ParamType::CompareDuration | ParamType::CompareInstant)
    }

    /// Whether the value may be a duration.
    pub(super) fn takes_duration(self) -> bool {
        matches!(self, ParamType::Duration | ParamType::CompareDuration | ParamType::CompareInstant)
    }

    /// A description for messages and help, such as `a whole number from 1`.
    pub fn description(self) -> String {
        match self {
            ParamType::Text => "a text".into(),
            ParamType::Name => "a name".into(),
            ParamType::Key => "a key".into(),
            ParamType::NodeType => "a note type".into(),
            ParamType::SortField => "a field".into(),
            ParamType::Direction => "`asc` or `desc`".into(),
            ParamType::Glob => "a glob such as `journal#*`".into(),
            ParamType::State => format!(
                "a state: {}",
                State::ALL.iter().map(|state| format!("`{state}`")).collect::<Vec<_>>().join(", ")
            ),
            ParamType::Category => format!(
                "a category: {}",
                Category::ALL.iter().map(|category| format!("`{category}`")).collect::<Vec<_>>().join(", ")
            ),
            ParamType::Count(min, usize::MAX) => format!("a whole number from {min}"),
            ParamType::Count(min, max) => format!("a whole number from {min} to {max}"),
            ParamType::Number(min, max) => format!("a number from {min} to {max}"),
            ParamType::Duration => "a duration such as `7d`, `24h`, `30m`".into(),
            ParamType::CompareNumber => "a number from 0, as in `>0.5`, `<=100` or `7`".into(),
            ParamType::CompareDuration => "a duration, as in `>7d` or `<=24h`".into(),
            ParamType::CompareInstant => {
                "a duration, as in `>7d` or `<=24h`, or a day, as in `2026-11-21` or `>=2026-11-21`".into()
            }
        }
    }

    /// Parses a value. The error is a reason more specific than the type itself, if there is one.
    pub(super) fn parse(self, text: &str) -> Result<Value, Option<String>> {
        let plain = |value: Option<Value>| value.ok_or(None);
        match self {
            ParamType::Text | ParamType::Name | ParamType::Key | ParamType::NodeType | ParamType::Glob
                if text.trim().is_empty() =>
            {
                Err(None)
            }
            ParamType::Text | ParamType::Name | ParamType::Key | ParamType::NodeType => {
                Ok(Value::Text(text.to_owned()))
            }
            ParamType::SortField => {
                field::sorted_by(text).map(|_| Value::Text(text.to_owned())).map_err(Some)
            }
            ParamType::Direction => plain(SortDirection::parse(text).map(Value::Direction)),
            ParamType::Glob => {
                Glob::parse(&normal_key(text)).map(Value::Glob).map_err(|error| Some(error.to_string()))
            }
            ParamType::State => State::parse(text).map(Value::State).ok_or_else(|| {
                similar::closest(text, State::ALL.iter().map(|state| state.name()))
                    .map(|near| format!("did you mean `{near}`?"))
            }),
            ParamType::Category => Category::parse(text).map(Value::Category).ok_or_else(|| {
                similar::closest(text, Category::ALL.iter().map(|category| category.name()))
                    .map(|near| format!("did you mean `{near}`?"))
            }),
            ParamType::Count(min, max) => {
                let count = text.parse::<usize>().ok().filter(|count| (min..=max).contains(count));
                plain(count.filter(|_| !text.starts_with('+')).map(Value::Count))
            }
            ParamType::Number(min, max) => {
                plain(number(text).filter(|number| (min..=max).contains(number)).map(Value::Number))
            }
            ParamType::Duration => plain(Span::parse(text).ok().map(Value::Span)),
            ParamType::CompareNumber => compare(text, |text| number(text).map(Quantity::Number)),
            ParamType::CompareDuration => compare(text, duration),
            ParamType::CompareInstant => compare(text, |text| duration(text).or_else(|| day(text))),
        }
    }
}

/// Parses a finite, non-negative decimal number.
fn number(text: &str) -> Option<f64> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    text.parse::<f64>().ok().filter(|number| digits && number.is_finite())
}

fn duration(text: &str) -> Option<Quantity> {
    Span::parse(text).ok().map(Quantity::Span)
}

/// Parses a date without a time.
fn day(text: &str) -> Option<Quantity> {
    Timestamp::parse(text).ok().filter(|_| !text.contains(':')).map(Quantity::Day)
}

fn compare(text: &str, quantity: impl Fn(&str) -> Option<Quantity>) -> Result<Value, Option<String>> {
    let (relation, rest) = Relation::SIGNS
        .into_iter()
        .find_map(|(sign, relation)| text.strip_prefix(sign).map(|rest| (relation, rest)))
        .unwrap_or((Relation::Equal, text));
    quantity(rest).map(|quantity| Value::FieldComparison(FieldComparison { relation, quantity })).ok_or(None)
}

/// The signature of a stage, such as `not-visited:AGENT[,DURATION]`.
pub(super) fn signature(word: &str, params: &[Param]) -> String {
    let mut text = word.to_owned();
    for param in params {
        let value = match param.value_type {
            ParamType::Direction => "asc|desc".to_owned(),
            _ => param.name.to_owned(),
        };
        let value = match (param.position, param.presence) {
            (ParamPosition::Colon, _) => format!(":{value}"),
            (ParamPosition::Comma, _) => format!(",{value}"),
            (ParamPosition::Space, _) => format!(" {value}"),
            (ParamPosition::Named, Presence::Default(default)) => format!(",{value}={default}"),
            (ParamPosition::Named, _) => format!(",{value}=…"),
        };
        let _ = match param.presence {
            Presence::Required => write!(text, "{value}"),
            _ => write!(text, "[{value}]"),
        };
    }
    text
}

/// The diagnostic for a value that cannot be parsed.
pub(super) fn invalid_value(
    stage: &str,
    param: &Param,
    text: &str,
    span: std::ops::Range<usize>,
    reason: Option<String>,
) -> SourceDiagnostic {
    let what = match param.position {
        ParamPosition::Named => format!("`{}` of `{stage}`", param.name),
        _ => format!("`{stage}`"),
    };
    let message = match (&reason, text) {
        (_, "") => format!("{what} needs {}", param.value_type.description()),
        (_, _) if param.value_type == ParamType::SortField => format!("{what} has no field `{text}`"),
        (Some(reason), _) if param.value_type == ParamType::Glob => {
            format!("`{text}` is not a glob for {what}: {reason}")
        }
        (_, _) => format!("{what} takes {}, not `{text}`", param.value_type.description()),
    };
    let problem = SourceDiagnostic::new(span, message);
    match reason {
        Some(hint) if param.value_type != ParamType::Glob && !text.is_empty() => problem.hint(hint),
        _ => problem,
    }
}
