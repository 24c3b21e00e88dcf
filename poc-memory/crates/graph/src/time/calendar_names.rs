//! The English names of weekdays and months.

/// The weekdays, Monday first.
pub const WEEKDAYS: [&str; 7] =
    ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];

/// The months, January first.
pub const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// The place of a lower-case word, singular or plural (`fridays`), in a list of names.
pub fn position(names: &[&str], word: &str) -> Option<usize> {
    let singular = word.strip_suffix('s').unwrap_or(word);
    names.iter().position(|name| *name == singular)
}

/// Whether a lower-case word is the English name of a weekday or month, singular or plural
/// (`fridays`).
pub fn is_day_or_month(word: &str) -> bool {
    position(&WEEKDAYS, word).or_else(|| position(&MONTHS, word)).is_some()
}
