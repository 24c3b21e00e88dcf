//! Compares the subject of a question with that of a text by all rules. Each text is split into words once. English
//! only.

use super::compared_note::ComparedNote;
use super::dates::NoteWords;
use super::tokens::Tokenizer;
use super::words::words;
use super::{compounds, dates, days, frames, relations};

/// What a question names and a text replaces by something else. It suggests that the text is about another subject.
/// Folded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DifferingSubjects {
    /// The compounds (`mail worker`) of which the text has one word, joined with another one (`invoice worker`), and
    /// not the other word. They are followed by the days (`5 November`), if the text is about other days and has none of
    /// these. Otherwise by the weekdays, if the text names other weekdays and none of these, and likewise by the months
    /// and the times of day.
    pub compounds_and_dates: Vec<String>,
    /// The owner (`hotel` in `the password of the hotel`) that the text lacks, if it has the same thing with another
    /// one (`the password of the office`). Otherwise the words (`ferry` in `who operates the ferry in the north yard?`)
    /// that it lacks, if one of its sentences has all other words of the question and something else in the same place.
    pub owner_or_place: Option<String>,
}

/// Compares a question with a note.
pub(super) fn differing(tokenizer: &Tokenizer, asked: &str, note: &ComparedNote<'_>) -> DifferingSubjects {
    if !tokenizer.is_english() {
        return DifferingSubjects::default();
    }
    let question = words(tokenizer, asked);
    let dates = words(tokenizer, note.dates);
    let mut text = words(tokenizer, note.title);
    let title = text.len();
    text.extend(words(tokenizer, note.body));
    let content = text.len();
    text.extend(words(tokenizer, note.names));
    text.extend(words(tokenizer, note.attributes));
    let note_words = NoteWords { all: &text, title, content };
    let mut differing_dates = days::differing(asked, &question, note, &note_words);
    // A day names its month, too.
    if differing_dates.is_empty() {
        differing_dates = dates::differing(&question, &note_words, &dates);
    }
    text.extend(dates);
    let mut compounds_and_dates = compounds::differing(&question, &text);
    compounds_and_dates.extend(differing_dates);
    let owner_or_place =
        relations::differing(&question, &text).or_else(|| frames::differing(&question, &text));
    DifferingSubjects { compounds_and_dates, owner_or_place }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(language: &str, question: &str, compounds_and_dates: &[&str], owner_or_place: Option<&str>) {
        let note = ComparedNote {
            body: "On Tuesdays, the invoice worker prints the list of the office in the north yard.",
            names: "list-2026-11-10",
            dates: "2026-11-30 Monday November",
            ..ComparedNote::default()
        };
        let found = differing(&Tokenizer::new(language).unwrap(), question, &note);
        assert_eq!(found.compounds_and_dates, compounds_and_dates, "{question}");
        assert_eq!(found.owner_or_place.as_deref(), owner_or_place, "{question}");
    }

    #[test]
    fn subjects_differ_by_each_rule() {
        check("english", "what does the mail worker print on Friday?", &["mail worker", "friday"], None);
        check("english", "who prints the list of the shop?", &[], Some("shop"));
        check("english", "who prints the bill of the office in the north yard?", &[], Some("bill"));
        check("english", "what did the mail worker print on 9 October?", &["mail worker", "9 october"], None);
        // The day on which the note was written. A repeated day is another one.
        check("english", "what did the invoice worker print on 30 November?", &[], None);
        check("english", "what did the invoice worker print on Monday?", &["monday"], None);
        for question in ["what does the mail worker print on Friday?", "who prints the list of the shop?"] {
            check("german", question, &[], None);
        }
    }
}
