//! The values of a stage's parameters.

use super::glob::Glob;
use poc_graph::time::{Span, Timestamp};
use poc_graph::{Category, State};
use std::fmt;

/// A checked value of a parameter.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    /// A name or a text.
    Text(String),
    /// A whole number.
    Count(usize),
    /// A number.
    Number(f64),
    /// A duration.
    Span(Span),
    /// A comparison.
    FieldComparison(FieldComparison),
    /// A glob.
    Glob(Glob),
    /// A state.
    State(State),
    /// A category.
    Category(Category),
    /// The direction of a sort.
    Direction(SortDirection),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Text(text) => f.write_str(&quoted(text)),
            Value::Count(count) => write!(f, "{count}"),
            Value::Number(number) => write!(f, "{number}"),
            Value::Span(span) => f.write_str(&in_days(*span)),
            Value::FieldComparison(compare) => write!(f, "{compare}"),
            Value::Glob(glob) => f.write_str(&quoted(glob.text())),
            Value::State(state) => write!(f, "{state}"),
            Value::Category(category) => write!(f, "{category}"),
            Value::Direction(direction) => write!(f, "{direction}"),
        }
    }
}

/// The direction of a sort.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SortDirection {
    /// Lowest value first.
    Asc,
    /// Highest value first.
    Desc,
}

impl SortDirection {
    /// Parses `asc` or `desc`.
    pub(super) fn parse(text: &str) -> Option<SortDirection> {
        match text {
            "asc" => Some(SortDirection::Asc),
            "desc" => Some(SortDirection::Desc),
            _ => None,
        }
    }
}

impl fmt::Display for SortDirection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SortDirection::Asc => "asc",
            SortDirection::Desc => "desc",
        })
    }
}

/// A comparison such as `>0.5`, `<=7d` or `4000` (the same as `=4000`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct FieldComparison {
    /// The comparison operator.
    pub(super) relation: Relation,
    /// The right-hand side.
    pub(super) quantity: Quantity,
}

impl FieldComparison {
    /// Whether the comparison can be true for some value up to `max`.
    pub(super) fn can_hold_up_to(self, max: f64) -> bool {
        let min = self.quantity.amount();
        match self.relation {
            Relation::Greater => max > min,
            Relation::GreaterEqual | Relation::Equal => max >= min,
            Relation::Less | Relation::LessEqual => true,
        }
    }
}

/// The right-hand side of a comparison.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Quantity {
    /// A number.
    Number(f64),
    /// A duration.
    Span(Span),
    /// A day in UTC, by its first instant.
    Day(Timestamp),
}

/// A comparison operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Relation {
    /// `>`
    Greater,
    /// `>=`
    GreaterEqual,
    /// `<`
    Less,
    /// `<=`
    LessEqual,
    /// `=`
    Equal,
}

impl Relation {
    /// The operators by their signs. Longer signs come first, so that `>=` is not read as `>`.
    pub(super) const SIGNS: [(&'static str, Relation); 5] = [
        (">=", Relation::GreaterEqual),
        ("<=", Relation::LessEqual),
        (">", Relation::Greater),
        ("<", Relation::Less),
        ("=", Relation::Equal),
    ];
}

impl Quantity {
    /// The number itself, the duration in milliseconds, or the number of the day since 1970.
    pub(super) fn amount(self) -> f64 {
        match self {
            Quantity::Number(number) => number,
            Quantity::Span(span) => span.0 as f64,
            Quantity::Day(start) => day_number(start.0 as f64),
        }
    }
}

impl fmt::Display for FieldComparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.relation != Relation::Equal {
            let sign = Relation::SIGNS.iter().find(|(_, relation)| *relation == self.relation);
            f.write_str(sign.map_or("", |(sign, _)| sign))?;
        }
        match self.quantity {
            Quantity::Number(number) => write!(f, "{number}"),
            Quantity::Span(span) => f.write_str(&in_days(span)),
            Quantity::Day(start) => f.write_str(start.to_string().split('T').next().unwrap_or_default()),
        }
    }
}

/// The number of the day in UTC of an instant in milliseconds since 1970.
pub(super) fn day_number(millis: f64) -> f64 {
    (millis / Span::DAY.0 as f64).floor()
}

/// A duration in pipeline syntax. Whole weeks are written as days.
pub(super) fn in_days(span: Span) -> String {
    if span.0 != 0 && span.0 % Span::WEEK.0 == 0 {
        format!("{}d", span.0 / Span::DAY.0)
    } else {
        span.to_string()
    }
}

/// A text in pipeline syntax: unquoted if it parses back to itself, otherwise quoted. A quote of
/// the same kind inside quotes is doubled.
pub(super) fn quoted(text: &str) -> String {
    let special = |char: char| char.is_whitespace() || char.is_control() || "|,\"'=".contains(char);
    if !text.is_empty() && !text.contains(special) {
        text.to_owned()
    } else if text.contains('"') && !text.contains('\'') {
        format!("'{text}'")
    } else {
        format!("\"{}\"", text.replace('"', "\"\""))
    }
}
