//! Weekdays, months and times of day: a note on Tuesdays does not answer a question about Fridays.
//!
//! Words and vectors hardly tell one weekday from another. English only, like the names that are compared.

use super::tokens::without_possessive;
use super::words::{MAX_QUESTION_WORDS, Word};
use poc_graph::time::calendar_names::{MONTHS, WEEKDAYS, is_day_or_month, position};
use std::ops::Range;

/// The times of day that are compared. Others overlap with them (`night`, `noon`).
const TIMES_OF_DAY: [&str; 3] = ["morning", "afternoon", "evening"];

/// Words after which a day of the question bounds a time or is not the one that is asked for (`since March`, `moved from
/// Friday`, `earlier than Friday`).
pub(super) const BOUNDS: [&str; 12] =
    ["before", "after", "since", "until", "till", "by", "from", "to", "between", "than", "past", "through"];

/// Words that exclude a day from a question.
pub(super) const EXCLUSIONS: [&str; 5] = ["except", "besides", "unless", "instead", "rather"];

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

/// Of these, the words that do not mean any month in a sentence with a date (`twice a year, next on 3 March 2027`).
const YEARS: [&str; 3] = ["year", "years", "yearly"];

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
pub(super) const MAX_NAMED: usize = 2;

/// The number of content words of the question, if it has as many, in a sentence that names another day or month. With
/// fewer, the sentence is about something else.
const MIN_SHARED: usize = 2;

/// The maximum number of words from a time of the clock to the time of day that it belongs to (`7 pm in the evening`).
const MAX_AFTER_CLOCK: usize = 4;

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

/// The words of a note.
#[derive(Clone, Copy)]
pub(super) struct NoteWords<'a> {
    /// The words of the title, the body, the names and the attributes, in this order.
    pub(super) all: &'a [Word],
    /// The number of words in the title.
    pub(super) title: usize,
    /// The number of words in title and body.
    pub(super) content: usize,
}

impl<'a> NoteWords<'a> {
    fn content(&self) -> &'a [Word] {
        self.all.get(..self.content).unwrap_or_default()
    }

    /// Whether a sentence that `is_dated` accepts has, together with the title, at least `min` of the words of a question,
    /// and one of them itself. If there are fewer, it must have all. A title is completed by the body.
    pub(super) fn any_about(
        &self,
        question: &[&Word],
        min: usize,
        is_dated: &dyn Fn(&[Word]) -> bool,
    ) -> bool {
        let has = |words: &[Word], wanted: &Word| words.iter().any(|word| word.term == wanted.term);
        let min = min.min(question.len());
        let mut end = 0;
        self.all.chunk_by(|_, next| !next.begins_sentence).any(|sentence| {
            let begin = end;
            end += sentence.len();
            let context = if begin < self.title { self.content } else { self.title };
            let context = self.all.get(..context).unwrap_or_default();
            is_dated(sentence) && {
                let is_shared = |word: &&&Word| has(sentence, word) || has(context, word);
                let shared = question.iter().filter(is_shared).count();
                shared >= min && (min == 0 || question.iter().any(|word| has(sentence, word)))
            }
        })
    }
}

/// The weekdays of a question if a note names other weekdays and none of these, and likewise the months and the times
/// of day. A sentence that names another one must share words with the question. `changed` has the weekdays and the
/// months in which the note was written, which it rarely contains. They do not count for repeated days (`Fridays`).
/// Folded.
pub(super) fn differing(question: &[Word], text: &NoteWords<'_>, changed: &[Word]) -> Vec<String> {
    let excludes = |word: &Word| EXCLUSIONS.contains(&word.folded.as_str());
    if question.len() > MAX_QUESTION_WORDS || question.iter().any(excludes) {
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
        let is_dated = |sentence: &[Word]| !calendar.found(sentence).is_empty();
        let is_other = text.any_about(&content_words(question), MIN_SHARED, &is_dated);
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

    /// Whether a note names other days than the given ones and none of these.
    fn differs(&self, asked: &[(usize, String)], note: &NoteWords<'_>, changed: &[Word]) -> bool {
        let text = note.all;
        let found = self.found(text);
        let count = named(text, &found).len();
        let is_any = |sentence: &[Word]| {
            let is_dated = self.unit == Unit::Month && has_date(sentence);
            let mut words = sentence.iter().map(|word| word.folded.as_str());
            words.any(|word| self.any.contains(&word) && !(is_dated && YEARS.contains(&word)))
        };
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
        let only_repeats = found.iter().all(|(at, _)| is_repeated(text, *at));
        let has = |(number, spelling): &(usize, String)| {
            let is_repeated = only_repeats || spelling.ends_with('s');
            text.iter().any(|word| self.is_name(*number, word) || self.is_number(*number, word))
                || !is_repeated && changed.iter().any(|word| self.is_name(*number, word))
        };
        (1..=MAX_NAMED).contains(&count)
            && !text.chunk_by(|_, next| !next.begins_sentence).any(is_any)
            && !found.windows(2).any(is_range)
            && match self.unit {
                // A date in a name is that of the note, whose weekday is known.
                Unit::Weekday => !has_date(note.content()),
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

/// Whether the day at a place is repeated (`Tuesdays`, `every October`).
fn is_repeated(words: &[Word], at: usize) -> bool {
    words.get(at).is_some_and(|word| without_possessive(&word.folded).ends_with('s'))
        || before(words, at).is_some_and(|word| matches!(word.folded.as_str(), "every" | "each"))
}

/// The content words of a question without days, months and times of day.
pub(super) fn content_words(question: &[Word]) -> Vec<&Word> {
    let is_date = |word: &Word| {
        let name = without_possessive(&word.folded);
        is_day_or_month(name) || position(&TIMES_OF_DAY, name).is_some()
    };
    question.iter().filter(|word| word.is_part() && !is_date(word)).collect()
}

/// Whether a text contains a date (`2026-05-01`, `May 1`, `3 Sept`), which may be any weekday.
pub(super) fn has_date(text: &[Word]) -> bool {
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

/// Whether a text contains a time of the clock (`7 pm`, `7pm`, `19:00`, `at 7`), which is also a time of day. In `at 7 in
/// the morning`, both are one time.
fn has_clock_time(text: &[Word]) -> bool {
    let is_half = |word: &str| matches!(word, "am" | "pm" | "a.m" | "p.m");
    let has_half = |word: &Word| {
        let number = ["am", "pm"].iter().find_map(|half| word.folded.strip_suffix(half));
        number.is_some_and(is_hour)
    };
    let is_time = |pair: &[Word]| match pair {
        [first, second] => {
            is_hour(&first.folded) && (is_half(&second.folded) || is_hour(&second.folded) && !second.adjoins)
                || is_hour(&second.folded) && matches!(first.folded.as_str(), "at" | "around" | "about")
        }
        _ => false,
    };
    (0..text.len()).any(|at| {
        let is_word = text.get(at).is_some_and(has_half);
        let is_pair = text.get(at..at + 2).is_some_and(is_time);
        let end = at + 1 + usize::from(is_pair);
        (is_word || is_pair) && !is_beside_time_of_day(text, at..end)
    })
}

fn is_hour(word: &str) -> bool {
    (1..=2).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a time of the clock belongs to a time of day right after it (`7 pm in the evening`) or before it (`every
/// morning at 7`).
fn is_beside_time_of_day(words: &[Word], clock: Range<usize>) -> bool {
    let is_time_of_day = |word: &Word| position(&TIMES_OF_DAY, without_possessive(&word.folded)).is_some();
    // The minutes of `at 7:30`.
    let has_minutes = words.get(clock.end).is_some_and(|word| !word.adjoins && is_hour(&word.folded));
    let end = clock.end + usize::from(has_minutes);
    let after = words.get(end..).unwrap_or_default();
    let adjoining = after.iter().take(MAX_AFTER_CLOCK).take_while(|word| word.adjoins);
    let mut following = adjoining.take_while(|word| word.folded != "and");
    let preceding = clock.start.checked_sub(2).and_then(|begin| words.get(begin..=clock.start));
    let is_before = match preceding {
        Some([earlier, before, first]) => {
            let joins = before.adjoins && before.folded != "and";
            first.adjoins && (is_time_of_day(before) || joins && is_time_of_day(earlier))
        }
        _ => false,
    };
    is_before || following.any(is_time_of_day)
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
        compare_note(question, "", text, "", changed)
    }

    fn compare_note(question: &str, title: &str, body: &str, names: &str, changed: &str) -> Vec<String> {
        let mut all = english_words(title);
        let title = all.len();
        all.extend(english_words(body));
        let content = all.len();
        all.extend(english_words(names));
        let note = NoteWords { all: &all, title, content };
        differing(&english_words(question), &note, &english_words(changed))
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
    fn the_day_on_which_a_text_was_written_is_no_other_repeated_day() {
        let check = |question: &str, text: &str, expected: &[&str]| {
            assert_eq!(compare(question, text, "Monday October"), expected, "{question} | {text}");
        };
        check("is the bakery closed on Monday?", "The bakery is closed on Tuesdays.", &["monday"]);
        check("is the bakery closed on Mondays?", "The bakery is closed on Tuesdays.", &["mondays"]);
        check("is the piano tuned in October?", "The piano is tuned every March.", &["october"]);
        check("was the bakery closed on Monday?", "The bakery was closed on Tuesday.", &[]);
        check("is the bakery closed on Tuesday?", "The bakery is closed on Tuesdays.", &[]);
    }

    #[test]
    fn a_title_and_a_sentence_belong_together() {
        let check = |question: &str, title: &str, body: &str, expected: &[&str]| {
            let found = compare_note(question, title, body, "", "");
            assert_eq!(found, expected, "{question} | {title} | {body}");
        };
        check("is the piano tuned in March?", "Piano", "Tuned every October by Mr. Silva.", &["march"]);
        check("is the piano tuned in March?", "Piano in October", "It was tuned by Mr. Silva.", &["march"]);
        let drill = "All leave by the stairs. Drill twice a year, next on 3 March 2027.";
        check("when is the fire drill in September?", "Fire drill", drill, &["september"]);
        check("when is the fire drill in March?", "Fire drill", drill, &[]);
        // A sentence about something else, and one that may mean any month.
        check("is the piano tuned in March?", "Piano tuned", "Ann is born in October.", &[]);
        check("is the rent due in May?", "Rent", "The rent is due every month, next on 3 March 2027.", &[]);
    }

    #[test]
    fn a_date_in_a_name_is_that_of_the_note() {
        let check = |question: &str, body: &str, expected: &[&str]| {
            let found = compare_note(question, "", body, "plain-2026-11-03", "2026-11-03 Tuesday November");
            assert_eq!(found, expected, "{question} | {body}");
        };
        let note = "Ann sweeps the long hall on Saturday.";
        check("who sweeps the long hall on Thursday?", note, &["thursday"]);
        check("who sweeps the long hall on Saturday?", note, &[]);
        check("who sweeps the long hall on Tuesday?", note, &[]);
        check("who sweeps the long hall on Thursday?", &format!("2026-11-05: {note}"), &[]);
    }

    #[test]
    fn long_prompts_are_not_compared() {
        let prompt = |count| format!("{} where do the visitors park on Fridays?", "please ".repeat(count));
        check(&prompt(1), PARKING, &["fridays"]);
        check(&prompt(MAX_QUESTION_WORDS), PARKING, &[]);
    }

    #[test]
    fn another_time_of_day_is_another_subject() {
        let note = "In the morning, Rex gets 200 g of dry food.";
        check("what does Rex get in the evening?", note, &["evening"]);
        check("Rex in the evening", note, &["evening"]);
        check("what does Rex get on Friday evenings?", note, &["evenings"]);
        check("what does Rex get in the morning?", "Every evening, Rex gets a bone.", &["morning"]);
        // The time of the clock is the same time.
        let evening = "does the bakery open in the evening?";
        for text in [
            "The bakery opens at 7 in the morning.",
            "The bakery opens at 7:30 in the morning.",
            "The bakery opens every morning at 7 am.",
        ] {
            check(evening, text, &["evening"]);
        }
        check(evening, "The bakery opens at 7 in the morning and at 6.", &[]);
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
