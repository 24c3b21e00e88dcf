//! Days in texts, as in `2026-11-05`, `5 November 2026` and `November 5`.

use super::Timestamp;
use super::calendar_names::MONTHS;
use chrono::NaiveDate;
use std::ops::{Range, RangeInclusive};

/// Any leap year, because a day without a year may be 29 February.
const LEAP_YEAR: i32 = 2000;

/// The minimum and maximum length in bytes of a name that is a day, which are those of `1 May` and of `30th of September
/// 2026`.
const NAME_LENGTHS: RangeInclusive<usize> = 5..=22;

/// The length in bytes of `2026-11-05`, and of the year in it.
const ISO_DAY_BYTES: usize = 10;
const ISO_YEAR_BYTES: usize = 4;

/// Half a year in months.
const HALF_YEAR: u32 = 6;

/// Words between the ends of a range of days or between days in a list (`5 to 7 March`).
const JOINING_WORDS: [&str; 6] = ["to", "and", "or", "until", "till", "through"];

/// What else is between them.
const JOINING_SIGNS: [&str; 6] = ["-", "–", "—", " - ", " – ", "/"];

/// The most parts of a time that follow the day in a name: hour, minute and second.
const MAX_TIME_PARTS: usize = 3;

/// Words for parts of a day that may follow the day in a name.
const DAY_PARTS: [&str; 7] = ["morning", "noon", "afternoon", "evening", "night", "am", "pm"];

/// A day of the calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CalendarDay {
    /// The year; `None` if the text names none (`November 5`).
    pub year: Option<i32>,
    /// The month, 1–12.
    pub month: u32,
    /// The day of the month, 1–31.
    pub day: u32,
}

impl CalendarDay {
    /// `None` if there is no such day.
    fn new(year: Option<i32>, month: u32, day: u32) -> Option<CalendarDay> {
        NaiveDate::from_ymd_opt(year.unwrap_or(LEAP_YEAR), month, day)?;
        Some(CalendarDay { year, month, day })
    }

    /// The day that the last part of a key is, as in `daily/2026-11-05` and `day#2026-11-05`.
    pub fn of_name(name: &str) -> Option<CalendarDay> {
        let base = name.rsplit(['/', '#']).next()?.trim();
        // Most names are excluded by their length or their first letters.
        let begins_day = || {
            let is_begin = |begin: &str| {
                MONTHS.iter().any(|name| name.get(..3).is_some_and(|name| name.eq_ignore_ascii_case(begin)))
            };
            base.starts_with(|first: char| first.is_ascii_digit()) || base.get(..3).is_some_and(is_begin)
        };
        if !NAME_LENGTHS.contains(&base.len()) || !begins_day() {
            return None;
        }
        let (range, day) = CalendarDay::in_text(base).into_iter().next()?;
        (range.len() == base.len()).then_some(day)
    }

    /// Whether a name contains the day as `2026-11-05`, not inside of a longer number. Fast, because it is called for all
    /// names of a memory.
    pub fn is_in_name(self, name: &str) -> bool {
        // Year, two hyphens and the numbers of month and day.
        let is_day = |at: usize| {
            let text = name.get(at..at + ISO_DAY_BYTES)?;
            let is_digit = |character: char| character.is_ascii_digit();
            let is_part =
                name.get(..at)?.ends_with(is_digit) || name.get(at + ISO_DAY_BYTES..)?.starts_with(is_digit);
            let mut parts = text.split('-').map(|part| part.parse::<u32>().ok());
            let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
            let same_year = self.year.is_none_or(|wanted| u32::try_from(wanted) == Ok(year));
            Some(!is_part && same_year && (month, day) == (self.month, self.day))
        };
        let mut years = name.match_indices('-').filter_map(|(at, _)| at.checked_sub(ISO_YEAR_BYTES));
        years.any(|at| is_day(at) == Some(true))
    }

    /// As [`CalendarDay::of_name`], but a time or a part of the day may follow the day, as in `log/2026-11-05-08`,
    /// `log/2026-11-05/0830` and `2026-11-05 evening`.
    pub fn of_timed_name(name: &str) -> Option<CalendarDay> {
        let mut name = name;
        for _ in 0..MAX_TIME_PARTS {
            if let Some(day) = CalendarDay::of_name(name) {
                return Some(day);
            }
            name = without_time_part(name)?;
        }
        CalendarDay::of_name(name)
    }

    /// The days that a text names, in order, with the byte ranges of their names. Names of months are English. The days
    /// of a range or a list with one month (`5 to 7 March`) are left out.
    pub fn in_text(text: &str) -> Vec<(Range<usize>, CalendarDay)> {
        let words = DayWords::of(text);
        let mut days = Vec::new();
        let mut at = 0;
        while let Some(first) = words.ranges.get(at) {
            let found = words.by_numbers(at);
            let found = found.or_else(|| words.day_first(at)).or_else(|| words.month_first(at));
            if let Some((last, day)) = found {
                let end = words.ranges.get(last).map_or(first.end, |range| range.end);
                days.push((first.start..end, day));
                at = last;
            }
            at += 1;
        }
        days
    }

    /// The months, 1–12, that a text names without a day (`in November`), or with a range or a list of days (`5 to 7
    /// March`).
    pub fn months_in_text(text: &str) -> Vec<u32> {
        let days = CalendarDay::in_text(text);
        let is_in_day = |word: &Range<usize>| {
            let next = days.partition_point(|(day, _)| day.end <= word.start);
            days.get(next).is_some_and(|(day, _)| day.start <= word.start)
        };
        let words = DayWords::of(text).ranges.into_iter().filter(|word| !is_in_day(word));
        words.filter_map(|word| month_number(text.get(word)?)).collect()
    }

    /// Whether two days may be the same one. A day without a year may be of any year.
    pub fn may_be(self, other: CalendarDay) -> bool {
        let years_differ = self.year.zip(other.year).is_some_and(|(year, other)| year != other);
        !years_differ && self.month == other.month && self.day == other.day
    }

    /// Whether the day is one of two days or between them. Unless all three have a year, the years are ignored, and two
    /// days more than half a year apart are on both sides of a new year (`28 December to 3 January`).
    pub fn is_within(self, one: CalendarDay, other: CalendarDay) -> bool {
        let days = [self, one, other];
        let have_years = days.iter().all(|day| day.year.is_some());
        let [own, one, other] = days.map(|day| (day.year.filter(|_| have_years), day.month, day.day));
        let (first, last) = (one.min(other), one.max(other));
        match !have_years && last.1 - first.1 > HALF_YEAR {
            true => own <= first || own >= last,
            false => (first..=last).contains(&own),
        }
    }

    /// The first instant of the day in UTC; `None` without a year.
    pub fn start(self) -> Option<Timestamp> {
        let midnight = NaiveDate::from_ymd_opt(self.year?, self.month, self.day)?.and_hms_opt(0, 0, 0)?;
        Some(Timestamp(midnight.and_utc().timestamp_millis()))
    }
}

/// The runs of letters and digits of a text.
struct DayWords<'a> {
    text: &'a str,
    ranges: Vec<Range<usize>>,
}

impl<'a> DayWords<'a> {
    fn of(text: &'a str) -> DayWords<'a> {
        let mut ranges = Vec::new();
        let mut start = None;
        for (at, character) in text.char_indices() {
            match (character.is_alphanumeric(), start) {
                (true, None) => start = Some(at),
                (false, Some(from)) => {
                    ranges.push(from..at);
                    start = None;
                }
                _ => {}
            }
        }
        ranges.extend(start.map(|from| from..text.len()));
        DayWords { text, ranges }
    }

    fn word(&self, at: usize) -> Option<&'a str> {
        self.text.get(self.ranges.get(at)?.clone())
    }

    /// What is between a word and the one before it.
    fn gap_before(&self, at: usize) -> &'a str {
        let before = at.checked_sub(1).and_then(|before| self.ranges.get(before));
        let pair = before.zip(self.ranges.get(at));
        pair.and_then(|(before, word)| self.text.get(before.end..word.start)).unwrap_or_default()
    }

    /// `2026-11-05` at a place: the place of its last word, and the day.
    fn by_numbers(&self, at: usize) -> Option<(usize, CalendarDay)> {
        let year = year(self.word(at)?)?;
        let separator = self.gap_before(at + 1);
        if !matches!(separator, "-" | "_" | "/" | ".") || self.gap_before(at + 2) != separator {
            return None;
        }
        let month = self.word(at + 1).filter(|word| is_number(word))?.parse::<u32>().ok()?;
        let day = day_of_month(self.word(at + 2)?)?;
        Some((at + 2, CalendarDay::new(Some(year), month, day)?))
    }

    /// `5 November 2026`, `5th of November` or `5. November` at a place.
    fn day_first(&self, at: usize) -> Option<(usize, CalendarDay)> {
        let day = day_of_month(self.word(at)?)?;
        let is_of = self.word(at + 1) == Some("of") && self.gap_before(at + 1) == " ";
        let month_at = at + 1 + usize::from(is_of);
        if !matches!(self.gap_before(month_at), " " | "-" | ". ") || self.continues_list(at) {
            return None;
        }
        let month = self.word(month_at)?;
        self.with_year(month_at, month, day)
    }

    /// `November 5, 2026` or `November the 5th` at a place.
    fn month_first(&self, at: usize) -> Option<(usize, CalendarDay)> {
        let month = self.word(at)?;
        let is_the = self.word(at + 1) == Some("the") && self.gap_before(at + 1) == " ";
        let day_at = at + 1 + usize::from(is_the);
        if !matches!(self.gap_before(day_at), " " | ". ") {
            return None;
        }
        let day = day_of_month(self.word(day_at)?)?;
        // `March 12:30` is a month and a time.
        if self.gap_before(day_at + 1) == ":" || self.is_continued(day_at) {
            return None;
        }
        self.with_year(day_at, month, day)
    }

    /// The day with the name of its month, and with the year if one follows the word at a place. `may` and `march`
    /// without a capital are mostly no months, unless a year follows.
    fn with_year(&self, last: usize, month: &str, day: u32) -> Option<(usize, CalendarDay)> {
        let number = month_number(month)?;
        let follows = matches!(self.gap_before(last + 1), " " | ", " | "-" | ". ");
        match self.word(last + 1).filter(|_| follows).and_then(year) {
            Some(year) => Some((last + 1, CalendarDay::new(Some(year), number, day)?)),
            None if matches!(month, "may" | "march") => None,
            None => Some((last, CalendarDay::new(None, number, day)?)),
        }
    }

    /// Whether the number at a place is the end of a range or a list.
    fn continues_list(&self, at: usize) -> bool {
        let is_day = |at: Option<usize>| at.and_then(|at| self.word(at)).is_some_and(is_number);
        match at.checked_sub(1) {
            Some(before) if self.word(before).is_some_and(|word| JOINING_WORDS.contains(&word)) => {
                is_day(before.checked_sub(1))
            }
            before => is_day(before) && JOINING_SIGNS.contains(&self.gap_before(at)),
        }
    }

    /// Whether the number at a place is the beginning of a range or a list.
    fn is_continued(&self, at: usize) -> bool {
        let is_day = |at: usize| self.word(at).is_some_and(is_number);
        match self.word(at + 1) {
            Some(word) if JOINING_WORDS.contains(&word) => is_day(at + 2),
            _ => is_day(at + 1) && JOINING_SIGNS.contains(&self.gap_before(at + 1)),
        }
    }
}

/// A name without its last word, if that may be a part of a time: `08`, `0830` or a part of the day.
fn without_time_part(name: &str) -> Option<&str> {
    let is_separator = |c: char| !c.is_alphanumeric();
    let rest = name.trim_end_matches(char::is_alphanumeric);
    let part = name.get(rest.len()..)?;
    let is_number = matches!(part.len(), 1 | 2 | 4 | 6) && part.bytes().all(|byte| byte.is_ascii_digit());
    let is_day_part = || DAY_PARTS.iter().any(|word| word.eq_ignore_ascii_case(part));
    (is_number || is_day_part()).then(|| rest.trim_end_matches(is_separator))
}

/// Whether a word is a number of one or two digits.
fn is_number(word: &str) -> bool {
    (1..=2).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_digit())
}

/// The year of four digits; `None` if a number is hardly a year.
fn year(word: &str) -> Option<i32> {
    let is_year = word.len() == 4 && word.bytes().all(|byte| byte.is_ascii_digit());
    word.parse::<i32>().ok().filter(|year| is_year && (1000..3000).contains(year))
}

/// The number of a day (`5`, `5th`), also if a time follows (`05T08`).
fn day_of_month(word: &str) -> Option<u32> {
    let digits = word.bytes().take_while(u8::is_ascii_digit).count();
    let (number, ending) = word.split_at_checked(digits)?;
    let is_time = || {
        let time = ending.strip_prefix(['T', 't']);
        time.is_some_and(|time| time.starts_with(|first: char| first.is_ascii_digit()))
    };
    let is_day = matches!(ending, "" | "st" | "nd" | "rd" | "th") || is_time();
    number.parse::<u32>().ok().filter(|_| is_day && is_number(number))
}

/// The number of a month by its English name or its abbreviation (`Nov`, `Sept`).
fn month_number(word: &str) -> Option<u32> {
    let word = word.to_lowercase();
    let is_abbreviation = word.len() == 3 || word == "sept";
    let is_meant = |name: &&str| *name == word || is_abbreviation && name.starts_with(&word);
    let at = MONTHS.iter().position(is_meant)?;
    u32::try_from(at + 1).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn days(text: &str) -> Vec<String> {
        let day = |(range, CalendarDay { year, month, day }): (Range<usize>, CalendarDay)| {
            let year = year.map_or_else(|| "any".to_owned(), |year| year.to_string());
            format!("{}={year}-{month}-{day}", &text[range])
        };
        CalendarDay::in_text(text).into_iter().map(day).collect()
    }

    #[test]
    fn days_are_read_as_people_write_them() {
        for (text, expected) in [
            ("what happened on 2026-11-05?", "2026-11-05=2026-11-5"),
            ("2026/11/5 2026_11_05", "2026/11/5=2026-11-5 2026_11_05=2026-11-5"),
            ("at 2026-11-05T08:00:00Z", "2026-11-05T08=2026-11-5"),
            ("on 5 November 2026", "5 November 2026=2026-11-5"),
            ("on the 5th of November", "5th of November=any-11-5"),
            ("november 5, november the 5th", "november 5=any-11-5 november the 5th=any-11-5"),
            ("Nov. 5, 2026 and 3 sept", "Nov. 5, 2026=2026-11-5 3 sept=any-9-3"),
            ("5. November 2026", "5. November 2026=2026-11-5"),
            ("5-Nov-2026", "5-Nov-2026=2026-11-5"),
            ("on 3 May, on 3 may 2027", "3 May=any-5-3 3 may 2027=2027-5-3"),
            ("on 29 February", "29 February=any-2-29"),
        ] {
            assert_eq!(days(text).join(" "), expected, "{text}");
        }
    }

    #[test]
    fn other_numbers_are_no_days() {
        for text in [
            "",
            "November 2026",
            "2026-13-01",
            "29 February 2026",
            "31 November",
            "2026-11",
            "in March 12:30",
            "the 5 may differ, march 5 miles",
            "version 2026.11-05",
            "room 5 Novembers",
            // Ranges and lists.
            "5 to 7 March",
            "5–7 March",
            "March 5-7, 2027",
            "March 5 and 7",
        ] {
            assert_eq!(days(text), [""; 0], "{text}");
        }
    }

    #[test]
    fn a_name_is_a_day_by_its_last_part() {
        let day = CalendarDay { year: Some(2026), month: 11, day: 5 };
        for name in ["2026-11-05", "daily/2026-11-05", "day#2026-11-05", "a/2026_11_05", "5 November 2026"] {
            assert_eq!(CalendarDay::of_name(name), Some(day), "{name}");
        }
        for name in ["2026-11-05-meeting", "2026-11-05/roof", "plain", ""] {
            assert_eq!(CalendarDay::of_name(name), None, "{name}");
        }
        for name in [
            "log/2026-11-05-08",
            "log/2026-11-05/08:30",
            "2026-11-05_083015",
            "2026-11-05 Evening",
            "2026-11-05",
        ] {
            assert_eq!(CalendarDay::of_timed_name(name), Some(day), "{name}");
        }
        for name in ["2026-11-05-meeting", "2026-11-45-08", "08-30", "08", "2026-11-05-123", ""] {
            assert_eq!(CalendarDay::of_timed_name(name), None, "{name}");
        }
        for (name, month) in [("trips/1 May", 5), ("30th of September 2026", 9)] {
            assert_eq!(CalendarDay::of_name(name).map(|day| day.month), Some(month), "{name}");
        }
        assert_eq!(day.start().unwrap().to_string(), "2026-11-05T00:00:00.000Z");
    }

    #[test]
    fn a_day_is_in_a_name_between_boundaries() {
        let day = |year| CalendarDay { year, month: 11, day: 5 };
        for name in ["2026-11-05", "log/2026-11-05-07", "a-b/2026-11-05#roof", "meeting-2026-11-05"] {
            assert!(day(Some(2026)).is_in_name(name) && day(None).is_in_name(name), "{name}");
            assert!(!day(Some(2025)).is_in_name(name), "{name}");
        }
        for name in
            ["", "2026-11-051", "12026-11-05", "2026-11-06", "-11-05", "é-11-05-", "2026-1-105", "2026--11-0"]
        {
            assert!(!day(None).is_in_name(name), "{name}");
        }
    }

    #[test]
    fn days_are_compared_with_or_without_years() {
        let day = |text: &str| CalendarDay::in_text(text).remove(0).1;
        assert!(day("5 November").may_be(day("2026-11-05")) && day("2026-11-05").may_be(day("5 November")));
        assert!(!day("2025-11-05").may_be(day("2026-11-05")) && !day("6 November").may_be(day("5 November")));
        assert!(day("5 November").is_within(day("9 December"), day("2026-11-05")));
        assert!(!day("2025-11-07").is_within(day("2026-11-05"), day("2026-12-09")));
        let [december, january] = [day("28 December"), day("3 January")];
        assert!(
            day("31 December").is_within(december, january) && day("1 January").is_within(december, january)
        );
        assert!(!day("5 March").is_within(december, january));
    }

    #[test]
    fn months_without_a_day_are_read() {
        for (text, expected) in [
            ("in November 2026, 5 to 7 March", vec![11, 3]),
            ("on 5 November 2026, 2026-12-05", vec![]),
            ("on March 12, in Sept", vec![9]),
            ("", vec![]),
        ] {
            assert_eq!(CalendarDay::months_in_text(text), expected, "{text}");
        }
    }

    poc_laws::laws! {
        #[test]
        fn the_days_of_any_text_exist_in_it(
            text in "((5|31|05|2026|November|may|of|to|the|5th|é)[ .,:/-]){0,10}|\\PC{0,30}"
        ) {
            let mut end = 0;
            for (range, _) in CalendarDay::in_text(&text) {
                prop_assert!(range.start >= end && text.get(range.clone()).is_some());
                end = range.end;
            }
        }
    }
}
