//! The English names of weekdays and months.

const DAYS_AND_MONTHS: [&str; 19] = [
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "sunday",
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

/// Whether a lower-case word is the English name of a weekday or month, singular or plural
/// (`fridays`).
pub fn is_day_or_month(word: &str) -> bool {
    DAYS_AND_MONTHS.contains(&word.strip_suffix('s').unwrap_or(word))
}
