//! Parameters of stages: where they stand, what they take, what holds without them.

use super::diagnostic::SourceDiagnostic;
use super::field;
use super::glob::Glob;
use super::value::{Compare, Direction, Quantity, Relation, Value};
use poc_graph::similar;
use poc_graph::time::Span;
use poc_graph::{State, normal_key};
use std::fmt::Write;

/// One parameter of a stage.
#[derive(Clone, Copy, Debug)]
pub struct Param {
    /// Its name: in capitals where it stands by place, as written where it stands by name.
    pub name: &'static str,
    /// Where it stands.
    pub place: Place,
    /// What it takes.
    pub takes: Takes,
    /// What holds when it is not given.
    pub absent: Absent,
    /// What it means, as half a sentence.
    pub doc: &'static str,
}

/// Where a parameter stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Behind the `:`.
    Colon,
    /// Behind a `,` without a name.
    Comma,
    /// Behind a `,` as `name=value`.
    Named,
    /// Behind a space.
    Space,
}

/// What holds when a parameter is not given.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Absent {
    /// It must be given.
    Error,
    /// The parameter does nothing.
    Nothing,
    /// This value.
    Default(&'static str),
}

/// What a parameter takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Takes {
    /// Words, joined by spaces.
    Text,
    /// One word.
    Name,
    /// The key of a node.
    Key,
    /// One word that must be the name of a node type; checked against the settings.
    NodeType,
    /// One word that must be a field that sorts.
    SortField,
    /// `asc` or `desc`.
    Direction,
    /// A glob.
    Glob,
    /// A state of nodes.
    State,
    /// A whole number within bounds.
    Count(usize, usize),
    /// A number within bounds.
    Number(f64, f64),
    /// A duration.
    Duration,
    /// A comparison with a number that is not negative.
    CompareNumber,
    /// A comparison with a duration.
    CompareDuration,
}

impl Takes {
    /// Whether the value may run over several words, and what joins them.
    pub(super) fn joins(self) -> Option<&'static str> {
        match self {
            Takes::Text => Some(" "),
            Takes::CompareNumber | Takes::CompareDuration => Some(""),
            _ => None,
        }
    }

    /// What it takes, as `a whole number from 1`.
    pub fn words(self) -> String {
        match self {
            Takes::Text => "a text".into(),
            Takes::Name => "a name".into(),
            Takes::Key => "a key".into(),
            Takes::NodeType => "a node type".into(),
            Takes::SortField => "a field".into(),
            Takes::Direction => "`asc` or `desc`".into(),
            Takes::Glob => "a glob such as `journal#*`".into(),
            Takes::State => format!(
                "a state: {}",
                State::ALL.iter().map(|state| format!("`{state}`")).collect::<Vec<_>>().join(", ")
            ),
            Takes::Count(least, usize::MAX) => format!("a whole number from {least}"),
            Takes::Count(least, most) => format!("a whole number from {least} to {most}"),
            Takes::Number(least, most) => format!("a number from {least} to {most}"),
            Takes::Duration => "a duration such as `7d`, `24h`, `30m`".into(),
            Takes::CompareNumber => "a number from 0, as in `>0.5`, `<=100` or `7`".into(),
            Takes::CompareDuration => "a duration, as in `>7d` or `<=24h`".into(),
        }
    }

    /// Reads a value; an error is what would be right, and a finer reason where there is one.
    pub(super) fn read(self, text: &str) -> Result<Value, Option<String>> {
        let plain = |value: Option<Value>| value.ok_or(None);
        match self {
            Takes::Text if text.trim().is_empty() => Err(None),
            Takes::Name | Takes::Key | Takes::NodeType | Takes::Glob if text.is_empty() => Err(None),
            Takes::Text | Takes::Name | Takes::Key | Takes::NodeType => Ok(Value::Text(text.to_owned())),
            Takes::SortField => field::sorted_by(text).map(|_| Value::Text(text.to_owned())).map_err(Some),
            Takes::Direction => plain(Direction::parse(text).map(Value::Direction)),
            Takes::Glob => Glob::parse(&normal_key(text)).map(Value::Glob).map_err(Some),
            Takes::State => State::parse(text).map(Value::State).ok_or_else(|| {
                similar::to(text, State::ALL.iter().map(|state| state.name()))
                    .map(|near| format!("did you mean `{near}`?"))
            }),
            Takes::Count(least, most) => {
                let count = text.parse::<usize>().ok().filter(|count| (least..=most).contains(count));
                plain(count.filter(|_| !text.starts_with('+')).map(Value::Count))
            }
            Takes::Number(least, most) => {
                plain(number(text).filter(|number| (least..=most).contains(number)).map(Value::Number))
            }
            Takes::Duration => plain(Span::parse(text).ok().map(Value::Span)),
            Takes::CompareNumber => compare(text, |text| number(text).map(Quantity::Number)),
            Takes::CompareDuration => compare(text, |text| Span::parse(text).ok().map(Quantity::Span)),
        }
    }
}

/// A finite number from 0, in decimal digits.
fn number(text: &str) -> Option<f64> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    text.parse::<f64>().ok().filter(|number| digits && number.is_finite())
}

fn compare(text: &str, quantity: impl Fn(&str) -> Option<Quantity>) -> Result<Value, Option<String>> {
    let (relation, rest) = Relation::SIGNS
        .into_iter()
        .find_map(|(sign, relation)| text.strip_prefix(sign).map(|rest| (relation, rest)))
        .unwrap_or((Relation::Equal, text));
    quantity(rest).map(|quantity| Value::Compare(Compare { relation, quantity })).ok_or(None)
}

/// How a stage is written: `not-visited:AGENT[,DURATION]`.
pub(super) fn signature(word: &str, params: &[Param]) -> String {
    let mut text = word.to_owned();
    for param in params {
        let value = match param.takes {
            Takes::Direction => "asc|desc".to_owned(),
            _ => param.name.to_owned(),
        };
        let value = match (param.place, param.absent) {
            (Place::Colon, _) => format!(":{value}"),
            (Place::Comma, _) => format!(",{value}"),
            (Place::Space, _) => format!(" {value}"),
            (Place::Named, Absent::Default(default)) => format!(",{value}={default}"),
            (Place::Named, _) => format!(",{value}=…"),
        };
        let _ = match param.absent {
            Absent::Error => write!(text, "{value}"),
            _ => write!(text, "[{value}]"),
        };
    }
    text
}

/// The problem of a value that cannot be read.
pub(super) fn unreadable(
    stage: &str,
    param: &Param,
    text: &str,
    span: std::ops::Range<usize>,
    reason: Option<String>,
) -> SourceDiagnostic {
    let what = match param.place {
        Place::Named => format!("`{}` of `{stage}`", param.name),
        _ => format!("`{stage}`"),
    };
    let message = match (&reason, text) {
        (_, "") => format!("{what} needs {}", param.takes.words()),
        (_, _) if param.takes == Takes::SortField => format!("{what} knows no field `{text}`"),
        (Some(reason), _) if param.takes == Takes::Glob => {
            format!("`{text}` is not a glob for {what}: {reason}")
        }
        (_, _) => format!("{what} takes {}, not `{text}`", param.takes.words()),
    };
    let problem = SourceDiagnostic::new(span, message);
    match reason {
        Some(hint) if param.takes != Takes::Glob && !text.is_empty() => problem.hint(hint),
        _ => problem,
    }
}
