//! Days with a month: a note of 5 October does not answer a question about 10 November. English only, because a question
//! may exclude a day or bound a time by it.

use super::compared_note::ComparedNote;
use super::dates::{BOUNDS, EXCLUSIONS, MAX_NAMED, NoteWords, content_words, has_date};
use super::words::{MAX_QUESTION_WORDS, Word};
use poc_graph::time::CalendarDay;

/// Words of a question that may mean other days than the one it names (`the week of 2 November`).
const PERIODS: [&str; 4] = ["week", "weeks", "weekend", "around"];

/// The days of a question if a note is about other days and has none of these. A note is about the days in its names,
/// and about one or two days in sentences that share a word with the question. A day between two days may be meant, and
/// so may any day of a month that the note names without a day (`5 to 7 March`).
/// `question_words` and `words` have the words of both. In lower case, as spelled in the question.
pub(super) fn differing(
    question: &str,
    question_words: &[Word],
    note: &ComparedNote<'_>,
    words: &NoteWords<'_>,
) -> Vec<String> {
    let asked = CalendarDay::in_text(question);
    let means_others = |word: &Word| EXCLUSIONS.iter().chain(&PERIODS).any(|other| *other == word.folded);
    if asked.is_empty()
        || question_words.len() > MAX_QUESTION_WORDS
        || question_words.iter().any(means_others)
        || asked.iter().any(|(range, _)| is_bound(question.get(..range.start).unwrap_or_default()))
    {
        return Vec::new();
    }
    let [title, body, named, written] = [note.title, note.body, note.names, note.dates].map(days);
    let mut content = title;
    for day in body {
        if !content.contains(&day) {
            content.push(day);
        }
    }
    let has = |asked: CalendarDay| {
        let is_between = |one: &CalendarDay| content.iter().any(|other| asked.is_within(*one, *other));
        let is_same = |day: &CalendarDay| day.may_be(asked);
        content.iter().any(is_between) || content.iter().chain(&named).chain(&written).any(is_same)
    };
    let is_about_others = || {
        let mut wanted = content_words(question_words);
        wanted.retain(|word| !word.is_number());
        (1..=MAX_NAMED).contains(&content.len()) && words.any_about(&wanted, 1, &has_date)
    };
    let names_month = |text: &str| {
        let months = CalendarDay::months_in_text(text);
        asked.iter().any(|(_, day)| months.contains(&day.month))
    };
    if asked.iter().any(|(_, day)| has(*day))
        || named.is_empty() && !is_about_others()
        || names_month(note.title)
        || names_month(note.body)
    {
        return Vec::new();
    }
    let spellings = asked.into_iter().filter_map(|(range, _)| question.get(range));
    spellings.map(str::to_lowercase).collect()
}

fn days(text: &str) -> Vec<CalendarDay> {
    CalendarDay::in_text(text).into_iter().map(|(_, day)| day).collect()
}

/// Whether the day after a text bounds a time (`since`, `before the`).
fn is_bound(text: &str) -> bool {
    let before = text.split_whitespace().rev().map(str::to_lowercase).find(|word| word != "the");
    before.is_some_and(|word| BOUNDS.contains(&word.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::words::english_words;
    use proptest::prelude::*;

    fn compare(question: &str, note: &ComparedNote<'_>) -> Vec<String> {
        let mut all = english_words(note.title);
        let title = all.len();
        all.extend(english_words(note.body));
        let content = all.len();
        let words = NoteWords { all: &all, title, content };
        differing(question, &english_words(question), note, &words)
    }

    fn check(question: &str, body: &str, expected: &[&str]) {
        let note = ComparedNote { body, dates: "2026-11-30 Monday November", ..ComparedNote::default() };
        assert_eq!(compare(question, &note), expected, "{question} | {body}");
    }

    const MINUTES: &str = "Minutes of 2026-10-05: the roof.";

    #[test]
    fn another_day_is_another_subject() {
        check("what happened on 10 November 2026", MINUTES, &["10 november 2026"]);
        check("what happened on 2026-11-05?", MINUTES, &["2026-11-05"]);
        check("what did we say about the roof on November 5?", MINUTES, &["november 5"]);
        check(
            "what did we decide in the meeting on 12 October 2026?",
            "Meeting on 16 November. We decided to paint the roof.",
            &["12 october 2026"],
        );
    }

    #[test]
    fn a_note_that_may_mean_the_day_does_not_contradict_it() {
        for (question, body) in [
            ("what happened on 5 October 2026?", MINUTES),
            ("what happened on October 5th?", MINUTES),
            ("what happened with the roof?", MINUTES),
            // The day on which it was written, and a day between two others.
            ("what happened to the roof on 30 November 2026?", MINUTES),
            ("where was Ann on 6 October?", "Ann was in Porto from 5 October to 9 October."),
            ("where was Ann on 31 December?", "Ann was in Porto from 28 December to 3 January."),
            // A month or a range of its days.
            ("where was Ann on 6 March 2026?", "Ann was in Porto 5 to 7 March. Ann paid on 1 February 2026."),
            ("where was Ann on 6 March 2026?", "Ann was in Porto in March. Ann paid on 1 February 2026."),
            // A schedule, a note without a day, and a sentence about something else.
            ("what is due on 7 May?", "Due on 5 May, on 9 June and on 3 July."),
            ("what did Ann buy on 5 October 2026?", "Ann bought a lamp."),
            ("what did Ann buy on 5 October 2026?", "Ann bought a lamp. It is new since 4 May 2020."),
            // Periods, bounds and exclusions.
            ("what happened in the week of 10 November 2026?", MINUTES),
            ("what happened since 10 November 2026?", MINUTES),
            ("what happened before the 10 November 2026?", MINUTES),
            ("who was there except on 10 November 2026?", MINUTES),
            ("", MINUTES),
            ("what happened on 10 November 2026?", ""),
        ] {
            check(question, body, &[]);
        }
        let prompt = format!("what happened on 10 November 2026? {}", "please ".repeat(MAX_QUESTION_WORDS));
        check(&prompt, MINUTES, &[]);
    }

    #[test]
    fn a_note_is_about_the_days_in_its_names() {
        let check = |question: &str, body: &str, expected: &[&str]| {
            let note = ComparedNote { body, names: "daily/2026-11-05", ..ComparedNote::default() };
            assert_eq!(compare(question, &note), expected, "{question} | {body}");
        };
        let body = "Yuki shows the sensor dashboard.";
        check("what did Yuki show on 10 November 2026?", body, &["10 november 2026"]);
        check("what did Yuki show on 5 November?", body, &[]);
        check("what did Yuki show on 10 November 2026?", "Yuki also comes on November 10.", &[]);
    }

    poc_laws::laws! {
        #[test]
        fn a_text_never_differs_from_itself(
            text in "((on|the|5|10th|2026|2026-11-05|November|October|may|roof|to|and)[ .,-]){0,12}"
        ) {
            let note = ComparedNote { body: &text, ..ComparedNote::default() };
            prop_assert_eq!(compare(&text, &note), Vec::<String>::new());
        }
    }
}
