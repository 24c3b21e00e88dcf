//! Weekdays, months and times of day: a note on Tuesdays does not answer a question about Fridays.
//!
//! Words and vectors hardly tell one weekday from another. English only, like the names that are compared.

use super::tokens::without_possessive;
use super::words::{MAX_WORDS, Word};
use poc_graph::time::calendar_names::{MONTHS, WEEKDAYS, is_day_or_month, position};

/// The times of day that are compared. Others overlap with them (`night`, `noon`).
const TIMES_OF_DAY: [&str; 3] = ["morning", "afternoon", "evening"];

/// Words after which a day of the question bounds a time or is not the one that is asked for (`since March`, `moved from
/// Friday`, `earlier than Friday`).
const BOUNDS: [&str; 12] =
    ["before", "after", "since", "until", "till", "by", "from", "to", "between", "than", "past", "through"];

/// Words that exclude a day from a question.
const EXCLUSIONS: [&str; 5] = ["except", "besides", "unless", "instead", "rather"];

/// Words of a note that may mean any weekday.
const ANY_WEEKDAY: [&str; 14] = [
    "day",
    "days",
    "daily",
    "everyday",
    "week",
    "weekly",
    "weekday",
    "weekdays",
    "weekend",
    "weekends",
    "today",
    "tomorrow",
    "tonight",
    "yesterday",
];

/// Words of a note that may mean any month.
const ANY_MONTH: [&str; 12] = [
    "month", "months", "monthly", "year", "years", "yearly", "spring", "summer", "autumn", "fall", "winter",
    "season",
];

/// Words of a note that may mean any time of day.
const ANY_TIME_OF_DAY: [&str; 23] = [
    "day",
    "days",
    "daily",
    "always",
    "twice",
    "hour",
    "hours",
    "hourly",
    "noon",
    "midday",
    "night",
    "nights",
    "midnight",
    "tonight",
    "bedtime",
    "sunrise",
    "sunset",
    "breakfast",
    "brunch",
    "lunch",
    "dinner",
    "supper",
    "o'clock",
];

/// Words between the ends of a range of days.
const RANGES: [&str; 5] = ["to", "through", "thru", "until", "till"];

/// Words before a time of day that show that something happens then (`every morning`). In `the morning shift`, it is a
/// part of a name.
const TIME_DETERMINERS: [&str; 5] = ["every", "each", "this", "that", "one"];

/// Words before `the morning` that show the same.
const TIME_PREPOSITIONS: [&str; 4] = ["in", "during", "on", "throughout"];

/// Words before `may` and `march` that show that a month is meant.
const BEFORE_MONTHS: [&str; 5] = ["in", "of", "last", "next", "every"];

/// The maximum number of days or months that a text names. A text with more is a schedule or a history, which may leave
/// out or imply the others.
const MAX_NAMED: usize = 2;

/// The number of content words of the question, if it has as many, in a sentence that names another day or month. With
/// fewer, the sentence is about something else.
const MIN_SHARED: usize = 2;

/// The minimum length of an abbreviation, such as `tue` and `sept`.
const MIN_ABBREVIATION: usize = 3;

/// What a calendar names.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unit {
    Weekday,
    Month,
    TimeOfDay,
}

/// The weekdays, the months or the times of day.
struct Calendar {
    unit: Unit,
    names: &'static [&'static str],
    /// Words that may mean any of them.
    any: &'static [&'static str],
}

static CALENDARS: [Calendar; 3] = [
    Calendar { unit: Unit::Weekday, names: &WEEKDAYS, any: &ANY_WEEKDAY },
    Calendar { unit: Unit::Month, names: &MONTHS, any: &ANY_MONTH },
    Calendar { unit: Unit::TimeOfDay, names: &TIMES_OF_DAY, any: &ANY_TIME_OF_DAY },
];

/// The weekdays of a question if a text names other weekdays and none of these, and likewise the months and the times
/// of day. A sentence that names another one must share words with the question. `changed` has the weekday and the
/// month in which the text was written, which it rarely contains. They do not count for repeated days (`Fridays`).
/// Folded.
pub(super) fn differing(question: &[Word], text: &[Word], changed: &[Word]) -> Vec<String> {
    let excludes = |word: &Word| EXCLUSIONS.contains(&word.folded.as_str());
    if question.len() > MAX_WORDS || question.iter().any(excludes) {
        return Vec::new();
    }
    let asked = |calendar: &Calendar| -> Vec<(usize, String)> {
        let bounds = |at: usize| {
            // `since this morning` has a word more than `since Friday`.
            let first = if calendar.unit == Unit::TimeOfDay { at.saturating_sub(1) } else { at };
            before(question, first).is_some_and(|word| BOUNDS.contains(&word.folded.as_str()))
        };
        let found = calendar.found(question);
        if found.iter().any(|(at, _)| bounds(*at)) { Vec::new() } else { named(question, &found) }
    };
    let asked: Vec<(&Calendar, Vec<(usize, String)>)> = CALENDARS
        .iter()
        .map(|calendar| (calendar, asked(calendar)))
        .filter(|(_, found)| !found.is_empty())
        .collect();
    let mut differing = Vec::new();
    for (calendar, asked) in asked {
        let is_about_question =
            |sentence: &[Word]| !calendar.found(sentence).is_empty() && is_about(sentence, question);
        let is_other = text.chunk_by(|_, next| !next.begins_sentence).any(is_about_question);
        if is_other && calendar.differs(&asked, text, changed) {
            differing.extend(asked.into_iter().map(|(_, spelling)| spelling));
        }
    }
    differing
}

/// The numbers of days or months with their spellings in a text, each once.
fn named(words: &[Word], found: &[(usize, usize)]) -> Vec<(usize, String)> {
    let mut named: Vec<(usize, String)> = Vec::new();
    for (at, number) in found {
        let spelling =
            words.get(*at).map(|word| without_possessive(&word.folded).to_owned()).unwrap_or_default();
        if named.iter().all(|(other, _)| other != number) {
            named.push((*number, spelling));
        }
    }
    named
}

impl Calendar {
    /// The words of a text that name a day or month of the calendar: their places, and the numbers of the names.
    fn found(&self, words: &[Word]) -> Vec<(usize, usize)> {
        let of_word = |(at, word): (usize, &Word)| {
            let number = position(self.names, without_possessive(&word.folded))?;
            let is_month = || {
                word.is_name && !word.begins_sentence
                    || before(words, at).is_some_and(|word| BEFORE_MONTHS.contains(&word.folded.as_str()))
            };
            let is_meant = match self.unit {
                Unit::Weekday => true,
                Unit::Month => !matches!(word.folded.as_str(), "may" | "march") || is_month(),
                Unit::TimeOfDay => is_time_of_day(words, at),
            };
            is_meant.then_some((at, number))
        };
        words.iter().enumerate().filter_map(of_word).collect()
    }

    /// Whether a text names other days than the given ones and none of these.
    fn differs(&self, asked: &[(usize, String)], text: &[Word], changed: &[Word]) -> bool {
        let found = self.found(text);
        let count = named(text, &found).len();
        let is_any = |word: &Word| self.any.contains(&word.folded.as_str());
        // In `Monday to Friday` and in `Monday – Friday`, the days between are meant, too. A list without `and` looks
        // the same.
        let is_range = |pair: &[(usize, usize)]| match pair {
            [(first, day), (second, other)] if day != other => {
                match text.get(first + 1..*second).unwrap_or_default() {
                    [] => true,
                    [word] if RANGES.contains(&word.folded.as_str()) => true,
                    [word] => {
                        word.folded == "and"
                            && before(text, *first).is_some_and(|word| word.folded == "between")
                    }
                    _ => false,
                }
            }
            _ => false,
        };
        let has = |(number, spelling): &(usize, String)| {
            let is_repeated = spelling.ends_with('s');
            text.iter().any(|word| self.is_name(*number, word) || self.is_number(*number, word))
                || !is_repeated && changed.iter().any(|word| self.is_name(*number, word))
        };
        (1..=MAX_NAMED).contains(&count)
            && !text.iter().any(is_any)
            && !found.windows(2).any(is_range)
            && match self.unit {
                Unit::Weekday => !has_date(text),
                Unit::Month => true,
                Unit::TimeOfDay => !has_clock_time(text),
            }
            && !asked.iter().any(has)
    }

    /// Whether a word is the name with a number, its plural or an abbreviation of it.
    fn is_name(&self, number: usize, word: &Word) -> bool {
        let word = without_possessive(&word.folded);
        // `after` is no abbreviation.
        let is_abbreviation = |name: &&str| {
            self.unit != Unit::TimeOfDay && word.len() >= MIN_ABBREVIATION && name.starts_with(word)
        };
        position(self.names, word) == Some(number) || self.names.get(number).is_some_and(is_abbreviation)
    }

    /// Whether a word is the number of a month in a date (`2026-05-01`).
    fn is_number(&self, number: usize, word: &Word) -> bool {
        self.unit == Unit::Month && word.folded.len() == 2 && word.folded.parse::<usize>() == Ok(number + 1)
    }
}

/// Whether a sentence has enough content words of a question.
fn is_about(sentence: &[Word], question: &[Word]) -> bool {
    let is_date = |word: &Word| {
        let name = without_possessive(&word.folded);
        is_day_or_month(name) || position(&TIMES_OF_DAY, name).is_some()
    };
    let wanted = question.iter().filter(|word| word.is_part() && !is_date(word));
    let shared = wanted.clone().filter(|word| sentence.iter().any(|other| other.term == word.term));
    shared.count() >= MIN_SHARED.min(wanted.count())
}

/// Whether a text contains a date (`2026-05-01`, `May 1`, `3 Sept`), which may be any weekday.
fn has_date(text: &[Word]) -> bool {
    let is_month = |word: &Word| {
        word.folded.len() >= MIN_ABBREVIATION && MONTHS.iter().any(|name| name.starts_with(&word.folded))
    };
    let is_day = |word: &Word| {
        let number = word.folded.trim_end_matches(char::is_alphabetic);
        (1..=2).contains(&number.len()) && number.bytes().all(|byte| byte.is_ascii_digit())
    };
    let has_digits = |word: &Word, count: usize| {
        word.folded.len() == count && word.folded.bytes().all(|byte| byte.is_ascii_digit())
    };
    let has_month_and_day = text.windows(2).any(|date| match date {
        [first, second] => {
            second.adjoins && (is_month(first) && is_day(second) || is_day(first) && is_month(second))
        }
        _ => false,
    });
    has_month_and_day
        || text.windows(3).any(|date| match date {
            [year, month, day] => {
                has_digits(year, 4)
                    && has_digits(month, 2)
                    && has_digits(day, 2)
                    && month.adjoins
                    && day.adjoins
            }
            _ => false,
        })
}

/// Whether the time of day at a place says when something happens.
fn is_time_of_day(words: &[Word], at: usize) -> bool {
    let is_one_of = |word: &Word, words: &[&str]| words.contains(&word.folded.as_str());
    let is_plural = words.get(at).is_some_and(|word| word.folded.ends_with('s') && !word.is_genitive);
    is_plural
        || before(words, at).is_some_and(|word| {
            let is_weekday = || position(&WEEKDAYS, without_possessive(&word.folded)).is_some();
            let after_preposition = || {
                let preposition = at.checked_sub(1).and_then(|at| before(words, at));
                preposition.is_some_and(|word| is_one_of(word, &TIME_PREPOSITIONS))
            };
            is_one_of(word, &TIME_DETERMINERS) || is_weekday() || word.folded == "the" && after_preposition()
        })
}

/// Whether a text contains a time of the clock (`7 pm`, `7pm`, `19:00`, `at 7`), which is also a time of day.
fn has_clock_time(text: &[Word]) -> bool {
    let is_number =
        |word: &str| (1..=2).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_digit());
    let is_half = |word: &str| matches!(word, "am" | "pm" | "a.m" | "p.m");
    let has_half = |word: &Word| {
        let number = ["am", "pm"].iter().find_map(|half| word.folded.strip_suffix(half));
        number.is_some_and(is_number)
    };
    let is_time = |pair: &[Word]| match pair {
        [first, second] => {
            is_number(&first.folded)
                && (is_half(&second.folded) || is_number(&second.folded) && !second.adjoins)
                || is_number(&second.folded) && matches!(first.folded.as_str(), "at" | "around" | "about")
        }
        _ => false,
    };
    text.iter().any(has_half) || text.windows(2).any(is_time)
}

/// The word before a place.
fn before(words: &[Word], at: usize) -> Option<&Word> {
    words.get(at.checked_sub(1)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::words::english_words;
    use proptest::prelude::*;

    fn compare(question: &str, text: &str, changed: &str) -> Vec<String> {
        differing(&english_words(question), &english_words(text), &english_words(changed))
    }

    fn check_changed(question: &str, text: &str, changed: &str, expected: &[&str]) {
        assert_eq!(compare(question, text, changed), expected, "{question} | {text} | {changed}");
    }

    fn check(question: &str, text: &str, expected: &[&str]) {
        check_changed(question, text, "", expected);
    }

    const PARKING: &str = "On Tuesdays, visitors park behind the church in Lisbon.";

    #[test]
    fn another_weekday_or_month_is_another_subject() {
        check("where do the visitors park in lisbon on Fridays?", PARKING, &["fridays"]);
        check("where do the visitors park on friday or saturday?", PARKING, &["friday", "saturday"]);
        check("what was Friday's dinner?", "Tuesday's dinner was soup.", &["friday"]);
        check("when does the crane rest on Tuesday?", "The crane rests on Monday and Friday.", &["tuesday"]);
        check("what did Ann plant in June?", "Ann planted beans in April.", &["june"]);
        check("what did Ann plant in may?", "Ann planted beans in March.", &["may"]);
        check(
            "what did Ann plant on a Friday in June?",
            "On Monday in April, Ann planted beans.",
            &["friday", "june"],
        );
        check(
            "what did Ann plant on a Friday in June?",
            "On Monday in June, Ann planted beans.",
            &["friday"],
        );
    }

    #[test]
    fn a_text_that_may_mean_the_day_does_not_contradict_it() {
        for (question, text) in [
            ("where do the visitors park on Tuesday?", PARKING),
            ("where do the visitors park?", PARKING),
            ("where do the visitors park on Fridays?", "Visitors park behind the church."),
            ("where do the visitors park on Friday or Tuesday?", PARKING),
            ("is the office open on Wednesday?", "The office is open from Monday to Friday."),
            ("is the office open on Wednesday?", "The office is open Monday–Friday."),
            ("is the office open on Wednesday?", "The office is open between Monday and Friday."),
            ("is the office open on Saturday?", "The office is open at weekends, and on Monday."),
            ("is the office open on Friday?", "Open Tue and Fri. On Monday, the office is open late."),
            ("what broke on Friday?", "2026-05-01: the crane broke. The pump broke on Tuesday."),
            ("what broke on Friday?", "On May 1, the crane broke, and on Tuesday the pump."),
            ("what broke on Friday?", "On 3 Sept the crane broke. The pump broke on Tuesday."),
            ("what broke in May?", "2026-05-01: the crane broke. The pump broke in June."),
            ("what broke in September?", "On 3 Sept. the crane broke. The pump broke in October."),
            // A schedule, and a sentence about something else.
            ("does the crane rest on Tuesday?", "The crane rests on Monday, on Wednesday and on Friday."),
            ("what did Ann fix on Friday?", "Ann can fix the crane. See Ann on Monday."),
            ("what did Ann fix on Friday?", "Ann had to fix it yesterday, not on Monday."),
            // Bounds of a time, and exclusions.
            ("has Ann paid since March?", "Ann paid in April."),
            ("what was moved from Friday?", "The dinner is on Tuesday now."),
            ("who works on a day except Friday?", "Bob works on Tuesday."),
            // Words that are also names of months.
            ("when may I park behind the church?", "Visitors park there in June."),
            ("May I park behind the church?", "Visitors park there in June."),
            ("what did Ann plant in June?", "Ann may march on. She planted beans."),
        ] {
            check(question, text, &[]);
        }
    }

    #[test]
    fn the_day_on_which_a_text_was_written_counts_unless_days_are_repeated() {
        let text = "Ann will fix the crane on Monday.";
        check_changed("what did Ann fix on Friday?", text, " Friday May Friday May", &[]);
        check_changed("what did Ann fix on Friday?", text, " Sunday May Sunday May", &["friday"]);
        check_changed("what does Ann fix on Fridays?", text, " Friday May Friday May", &["fridays"]);
        check_changed(
            "what did Ann fix in May?",
            "Ann has a fix due in June.",
            " Friday May Friday May",
            &[],
        );
    }

    #[test]
    fn long_prompts_are_not_compared() {
        let prompt = |count| format!("{} where do the visitors park on Fridays?", "please ".repeat(count));
        check(&prompt(1), PARKING, &["fridays"]);
        check(&prompt(MAX_WORDS), PARKING, &[]);
    }

    #[test]
    fn another_time_of_day_is_another_subject() {
        let note = "In the morning, Rex gets 200 g of dry food.";
        check("what does Rex get in the evening?", note, &["evening"]);
        check("Rex in the evening", note, &["evening"]);
        check("what does Rex get on Friday evenings?", note, &["evenings"]);
        check("what does Rex get in the morning?", "Every evening, Rex gets a bone.", &["morning"]);
        for (question, text) in [
            ("what does Rex get in the morning?", note),
            ("what does Rex get?", note),
            // Times that are not compared, or are not when something happens.
            ("what does Rex get at night?", note),
            ("who has the evening shift?", note),
            ("what did Rex get since this evening?", note),
            ("what does Rex get in the evening?", "Rex gets the morning biscuits."),
            ("what does Rex get in the evening?", "Rex gets dry food."),
            // A text that may mean the time.
            ("what does Rex get in the evening?", "In the morning and evening, Rex gets dry food."),
            (
                "what does Rex get in the evening?",
                "In the morning, Rex gets food. For dinner, he gets a bone.",
            ),
            ("what does Rex get in the evening?", "In the morning, Rex gets food, and at 7 a bone."),
            ("what does Rex get in the evening?", "In the morning, Rex gets food, and a bone 7pm."),
            ("what does Rex get in the evening?", "19:00: Rex gets a bone. In the morning, Rex gets food."),
            // A sentence about something else.
            ("what does Rex get in the evening?", "Ann runs in the morning. Rex gets dry food."),
        ] {
            check(question, text, &[]);
        }
    }

    poc_laws::laws! {
        #[test]
        fn a_text_never_differs_from_itself(
            text in "((on|in|the|Monday|fridays|May|march|June|2026|morning|evenings|visitors|park)[ .,-]){0,12}"
        ) {
            prop_assert_eq!(compare(&text, &text, ""), Vec::<String>::new());
        }
    }
}
