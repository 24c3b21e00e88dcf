//! Dates as people write them.

use super::Timestamp;
use chrono::{DateTime, Datelike as _, NaiveDate, NaiveDateTime};

/// Formats of a day. `%B` parses both full and abbreviated names of months.
const DAYS: [&str; 4] = ["%d %B %Y", "%B %d %Y", "%Y/%m/%d", "%d.%m.%Y"];

/// Formats of a time of day, before or after the day.
const TIMES: [&str; 4] = ["%H:%M", "%H:%M:%S", "%I:%M %p", "%I:%M:%S %p"];

const WEEKDAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];

/// Words that do not change which time is meant.
const FILLERS: [&str; 6] = ["at", "on", "of", "the", "utc", "gmt"];

impl Timestamp {
    /// Parses a date as people write it in English, such as `1:10 pm on 27 March, 2023`, `May 8th, 2009` or
    /// `27.3.2023`, in UTC, and dates of e-mails with their time zone. Numbers separated by slashes are accepted only
    /// if the year comes first, because the order of day and month differs between countries.
    pub fn parse_written(text: &str) -> Option<Timestamp> {
        // Most names of files are no dates, and many formats are tried.
        if !text.bytes().any(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let mail = DateTime::parse_from_rfc2822(text.trim()).ok().map(|at| at.timestamp_millis());
        let at = Timestamp(mail.or_else(|| written(&words(text).join(" ")))?);
        (Timestamp::EARLIEST..=Timestamp::LATEST).contains(&at).then_some(at)
    }

    /// The beginning of the day that a number such as `20230327` is, in UTC; `None` for a number that is no day from
    /// the year 1900 on.
    pub fn of_day_number(number: i64) -> Option<Timestamp> {
        let (year, month, day) = (number / 10_000, number / 100 % 100, number % 100);
        let is_year = (1900..=2999).contains(&year);
        Timestamp::parse(&format!("{year}-{month:02}-{day:02}")).ok().filter(|_| is_year)
    }
}

/// A day, or a day and a time of day in either order, in milliseconds since 1970.
fn written(text: &str) -> Option<i64> {
    // Every time of day has a colon.
    let times: &[&str] = if text.contains(':') { &TIMES } else { &[] };
    let timed =
        DAYS.iter().flat_map(|day| times.iter().map(move |time| (day, time))).find_map(|(day, time)| {
            let parse = |format: String| NaiveDateTime::parse_from_str(text, &format).ok();
            parse(format!("{day} {time}")).or_else(|| parse(format!("{time} {day}")))
        });
    let day = || DAYS.iter().find_map(|day| NaiveDate::parse_from_str(text, day).ok())?.and_hms_opt(0, 0, 0);
    let at = timed.or_else(day)?;
    // `%Y` takes two digits, too, and `23` would be the year 23.
    (at.year() >= 1000).then(|| at.and_utc().timestamp_millis())
}

/// The words of a date in lower case, without weekdays and fillers. A time with `am` or `pm` has minutes.
fn words(text: &str) -> Vec<String> {
    let is_ignored = |word: &String| {
        let is_weekday = word.ends_with("day") && WEEKDAYS.iter().any(|day| word.starts_with(day))
            || WEEKDAYS.contains(&word.as_str());
        is_weekday || FILLERS.contains(&word.as_str())
    };
    let spaced = text.replace(',', " ").to_lowercase();
    let mut words: Vec<String> = Vec::new();
    for word in spaced.split_whitespace().flat_map(parts).filter(|word| !is_ignored(word)) {
        if let ("am" | "pm", Some(time)) = (word.as_str(), words.last_mut())
            && time.chars().all(|char| char.is_ascii_digit() || matches!(char, ':' | '.'))
        {
            *time = time.replace('.', ":");
            if !time.contains(':') {
                time.push_str(":00");
            }
        }
        words.push(word);
    }
    words
}

/// The words of a text without spaces: `5pm` and `27-mar-2023` are several. The endings of ordinal numbers and the dots
/// of abbreviations are removed.
fn parts(word: &str) -> Vec<String> {
    let is_number = |text: &str| !text.is_empty() && text.chars().all(|char| char.is_ascii_digit());
    let word = match word {
        "a.m." | "p.m." => word.replace('.', ""),
        "sept" | "sept." => "sep".to_owned(),
        _ => word.strip_suffix('.').unwrap_or(word).to_owned(),
    };
    for ending in ["st", "nd", "rd", "th"] {
        if let Some(number) = word.strip_suffix(ending).filter(|number| is_number(number)) {
            return vec![number.to_owned()];
        }
    }
    for suffix in ["am", "pm"] {
        if let Some(time) =
            word.strip_suffix(suffix).filter(|time| time.ends_with(|char: char| char.is_ascii_digit()))
        {
            return vec![time.to_owned(), suffix.to_owned()];
        }
    }
    let by_hyphens: Vec<&str> = word.split('-').collect();
    match by_hyphens.as_slice() {
        [day, month, year]
            if is_number(day)
                && is_number(year)
                && month.chars().all(char::is_alphabetic)
                && !month.is_empty() =>
        {
            vec![(*day).to_owned(), (*month).to_owned(), (*year).to_owned()]
        }
        _ => vec![word],
    }
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
            ("1:10 PM on March 27, 2023", "2023-03-27T13:10:00.000Z"),
            ("March 27, 2023 at 1:10:05 PM", "2023-03-27T13:10:05.000Z"),
            ("27 Mar 2023, 13:10 UTC", "2023-03-27T13:10:00.000Z"),
            ("5pm on the 3rd of Sept. 2023", "2023-09-03T17:00:00.000Z"),
            ("Aug. 9, 2023, 1.10 p.m.", "2023-08-09T13:10:00.000Z"),
            ("27-Mar-2023", "2023-03-27T00:00:00.000Z"),
            ("Mon, 27 Mar 2023 13:10:00 +0200", "2023-03-27T11:10:00.000Z"),
        ] {
            assert_eq!(
                Timestamp::parse_written(text).map(|at| at.to_string()).as_deref(),
                Some(expected),
                "{text}"
            );
        }
    }

    #[test]
    fn a_number_of_eight_digits_is_a_day() {
        let day = |number: i64| Timestamp::of_day_number(number).map(|at| at.to_string());
        assert_eq!(day(20_230_327).as_deref(), Some("2023-03-27T00:00:00.000Z"));
        for other in [20_230_231, 20_231_301, 2023, 18_991_231, 1_700_000_000, -20_230_327, i64::MIN] {
            assert_eq!(day(other), None, "{other}");
        }
    }

    #[test]
    fn texts_without_a_clear_date_are_not_dates() {
        for text in [
            "",
            "3/7/2023",
            "yesterday",
            "May",
            "31 February 2023",
            "8 May",
            "25:00 on 8 May 2023",
            "day 8",
            "5pm",
            "3-7-2023",
            "27.3.23",
            "23/3/7",
            "8 May 09",
        ] {
            assert_eq!(Timestamp::parse_written(text), None, "{text}");
        }
    }
}
