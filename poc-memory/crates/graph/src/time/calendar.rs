//! The days of the week and the months, in English.

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

/// Whether a word in small letters is the name of a day or of a month, or of several (`fridays`).
pub fn is_day_or_month(word: &str) -> bool {
    DAYS_AND_MONTHS.contains(&word.strip_suffix('s').unwrap_or(word))
}
