//! Separates the content of a note from boilerplate: sentences and form fields that other notes repeat, and
//! labels such as `Attendees:` and `Ann:`. Words that two notes share only in boilerplate are no reason to
//! relate them.

use std::collections::BTreeSet;
use unicode_segmentation::UnicodeSegmentation;

/// Maximum words of a label.
const LABEL_WORDS: usize = 3;

/// A sentence without its label.
pub(super) struct Segment<'a> {
    label: Option<&'a str>,
    pub(super) text: &'a str,
    /// In lower case, with digits replaced by 0 and without spaces and punctuation around it.
    normal: String,
}

impl Segment<'_> {
    /// A label and a value that is not a sentence, such as `Severity: 2`.
    fn is_field(&self) -> bool {
        self.label.is_some() && !self.text.trim_end().ends_with(['.', '!', '?', '…'])
    }
}

/// The sentences of a text in order.
pub(super) fn segments(text: &str) -> Vec<Segment<'_>> {
    let sentences = text.lines().flat_map(|line| line.unicode_sentences());
    let segment = |sentence| {
        let (label, text) = match labelled(sentence) {
            Some((label, text)) => (Some(label), text),
            None => (None, sentence),
        };
        Segment { label, text, normal: normal(sentence) }
    };
    sentences.map(segment).filter(|segment| !segment.normal.is_empty()).collect()
}

/// The segments of one text that the other ones do not repeat.
pub(super) fn distinct<'a>(own: Vec<Segment<'a>>, others: &[&[Segment<'_>]]) -> Vec<Segment<'a>> {
    let others = || others.iter().flat_map(|segments| segments.iter());
    let repeated: BTreeSet<&str> = others().map(|segment| segment.normal.as_str()).collect();
    let fields: BTreeSet<&str> =
        others().filter(|segment| segment.is_field()).filter_map(|segment| segment.label).collect();
    let is_own = |segment: &Segment<'_>| {
        let is_form = segment.is_field() && segment.label.is_some_and(|label| fields.contains(label));
        !is_form && !repeated.contains(segment.normal.as_str())
    };
    own.into_iter().filter(is_own).collect()
}

/// Splits a sentence into a label of up to three words without digits, and the text after it.
fn labelled(sentence: &str) -> Option<(&str, &str)> {
    let (label, text) = sentence.split_once(':')?;
    let label = label.trim_matches(|c: char| !c.is_alphanumeric());
    let is_label = (text.is_empty() || text.starts_with(char::is_whitespace))
        && (1..=LABEL_WORDS).contains(&label.split_whitespace().count())
        && label.chars().all(|c| c.is_alphabetic() || c.is_whitespace());
    is_label.then_some((label, text))
}

fn normal(sentence: &str) -> String {
    let words: Vec<String> = sentence
        .split_whitespace()
        .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()))
        .filter(|word| !word.is_empty())
        .map(|word| {
            word.chars().map(|c| if c.is_numeric() { '0' } else { c }).collect::<String>().to_lowercase()
        })
        .collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(one: &str, other: &str) -> Vec<String> {
        let kept = distinct(segments(one), &[segments(other).as_slice()]);
        kept.iter().map(|segment| segment.text.trim().to_owned()).collect()
    }

    #[test]
    fn repeated_sentences_fields_and_labels_are_boilerplate() {
        let one = "INC-7: the pump failed. Totally agree.\nAttendees: Ann, Bob\nSeverity: 2\nRecorded by Keeper 3.2\n\
            Ann: We will see.";
        let other = "Totally agree!\nAttendees: Bob, Lin\nRecorded by Keeper 3.3\nAnn: Nobody knows.";
        assert_eq!(own(one, other), ["INC-7: the pump failed.", "2", "We will see."]);
        assert_eq!(own(other, one), ["Nobody knows."]);
        // A field that no other note has belongs to the content of the note.
        assert_eq!(own("Attendees: Ann, Bob", "Soup."), ["Ann, Bob"]);
        assert!(own("", "Soup.").is_empty());
    }

    #[test]
    fn a_number_or_an_identifier_is_not_a_label() {
        assert_eq!(labelled("INC-7: the pump failed."), None);
        assert_eq!(labelled("At 10:15 the pump failed."), None);
        assert_eq!(labelled("Top three: tea"), Some(("Top three", " tea")));
    }
}
