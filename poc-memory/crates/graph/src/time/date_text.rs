//! Dates as people write them.

use super::Timestamp;
use chrono::{NaiveDate, NaiveDateTime};

/// Formats with a time of day. `%B` parses both full and abbreviated names of months.
const WITH_TIME: [&str; 10] = [
    "%I:%M %p on %d %B %Y",
    "%H:%M on %d %B %Y",
    "%d %B %Y %I:%M %p",
    "%d %B %Y %H:%M",
    "%B %d %Y %I:%M %p",
    "%B %d %Y %H:%M",
    "%Y/%m/%d %H:%M",
    "%Y/%m/%d %H:%M:%S",
    "%d.%m.%Y %H:%M",
    "%d.%m.%Y %H:%M:%S",
];

/// Formats without a time of day.
const DAYS: [&str; 4] = ["%d %B %Y", "%B %d %Y", "%Y/%m/%d", "%d.%m.%Y"];

const WEEKDAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];

impl Timestamp {
    /// Parses a date as people write it in English, such as `1:10 pm on 27 March, 2023`, `May 8th, 2009` or
    /// `27.3.2023`, in UTC. Numbers separated by slashes are accepted only if the year comes first, because the order
    /// of day and month differs between countries.
    pub fn parse_written(text: &str) -> Option<Timestamp> {
        let words: Vec<String> = text.replace(',', " ").split_whitespace().map(plain).collect();
        let is_weekday = |word: &String| {
            word.ends_with("day") && WEEKDAYS.iter().any(|day| word.starts_with(day))
                || WEEKDAYS.contains(&word.as_str())
        };
        let words: Vec<&str> =
            words.iter().filter(|word| !is_weekday(word) && *word != "at").map(String::as_str).collect();
        let text = words.join(" ");
        let with_time = WITH_TIME.iter().find_map(|format| NaiveDateTime::parse_from_str(&text, format).ok());
        let day = || {
            let day = DAYS.iter().find_map(|format| NaiveDate::parse_from_str(&text, format).ok())?;
            day.and_hms_opt(0, 0, 0)
        };
        let at = Timestamp(with_time.or_else(day)?.and_utc().timestamp_millis());
        (Timestamp::EARLIEST..=Timestamp::LATEST).contains(&at).then_some(at)
    }
}

/// A word in lower case, without the ending of an ordinal number and without the dots of `p.m.`.
fn plain(word: &str) -> String {
    let word = word.to_lowercase();
    if matches!(word.as_str(), "a.m." | "p.m.") {
        return word.replace('.', "");
    }
    for ending in ["st", "nd", "rd", "th"] {
        if let Some(number) = word.strip_suffix(ending)
            && !number.is_empty()
            && number.chars().all(|char| char.is_ascii_digit())
        {
            return number.to_owned();
        }
    }
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_as_people_write_them_are_read() {
        for (text, expected) in [
            ("1:56 pm on 8 May, 2023", "2023-05-08T13:56:00.000Z"),
            ("12:05 a.m. on 3rd March 2024", "2024-03-03T00:05:00.000Z"),
            ("27 March, 2023", "2023-03-27T00:00:00.000Z"),
            ("Monday, 27 Mar 2023 at 18:30", "2023-03-27T18:30:00.000Z"),
            ("May 8th, 2009 5:57 PM", "2009-05-08T17:57:00.000Z"),
            ("2023/3/7", "2023-03-07T00:00:00.000Z"),
            ("7.3.2023 08:15", "2023-03-07T08:15:00.000Z"),
        ] {
            assert_eq!(
                Timestamp::parse_written(text).map(|at| at.to_string()).as_deref(),
                Some(expected),
                "{text}"
            );
        }
    }

    #[test]
    fn texts_without_a_clear_date_are_not_dates() {
        for text in
            ["", "3/7/2023", "yesterday", "May", "31 February 2023", "8 May", "25:00 on 8 May 2023", "day 8"]
        {
            assert_eq!(Timestamp::parse_written(text), None, "{text}");
        }
    }
}
