//! Selects the part of a text that fits a question best.

use std::collections::BTreeSet;

/// Maximum length of a snippet in characters.
pub(in crate::ops) const MAX_CHARS: usize = 300;

/// Maximum number of words of a text that are searched; a text may be a megabyte long.
const MAX_WORDS: usize = 50_000;

/// Marks where a text is cut.
const ELLIPSIS: char = '…';

/// The part of a text with the most distinct words of a question, or its beginning if it has none of them. The result
/// is one line of at most [`MAX_CHARS`] characters. It starts at the start of a sentence if one is near, otherwise
/// between two words.
pub(in crate::ops) fn snippet(text: &str, question: Option<&str>) -> String {
    let words: Vec<TextWord<'_>> = text.split_whitespace().take(MAX_WORDS).map(TextWord::of).collect();
    let terms: Vec<String> =
        question.map(|question| terms(question).into_iter().collect()).unwrap_or_default();
    let start = best_start(&words, &terms);
    let end = end_of(&words, start);
    let mut line = String::new();
    if start > 0 {
        line.push(ELLIPSIS);
    }
    for (at, word) in words.get(start..end).unwrap_or_default().iter().enumerate() {
        if at > 0 {
            line.push(' ');
        }
        line.push_str(word.text);
    }
    // A single word may be longer than a snippet, as in languages without spaces.
    if let Some((end, _)) = line.char_indices().nth(MAX_CHARS - 1) {
        line.truncate(end);
        line.push(ELLIPSIS);
    } else if end < words.len() {
        line.push(ELLIPSIS);
    }
    line
}

/// A word of a text, and its length in characters.
struct TextWord<'a> {
    text: &'a str,
    chars: usize,
}

impl<'a> TextWord<'a> {
    fn of(text: &'a str) -> TextWord<'a> {
        TextWord { text, chars: text.chars().count() }
    }

    fn ends_sentence(&self) -> bool {
        self.text.trim_end_matches(['"', '\'', ')', '”', '’', '*', '_']).ends_with(['.', '!', '?', ':'])
    }
}

/// The words of a question that are searched for: in lower case, without those of one or two letters.
fn terms(question: &str) -> BTreeSet<String> {
    let words = question.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase);
    words.filter(|word| word.chars().count() > 2).collect()
}

/// The end of the longest window of whole words that begins at `start`, with room for an ellipsis at both ends.
fn end_of(words: &[TextWord<'_>], start: usize) -> usize {
    let mut remaining = MAX_CHARS - 2;
    let mut end = start;
    for word in words.iter().skip(start) {
        let needed = word.chars + usize::from(end > start);
        if needed > remaining {
            break;
        }
        remaining -= needed;
        end += 1;
    }
    // A window has at least one word.
    end.max((start + 1).min(words.len()))
}

/// The index of the word where the snippet starts. The candidates are the first run of consecutive windows
/// with the most distinct terms; the window in the middle of the run has the terms in its middle. A window
/// that starts a sentence is preferred.
fn best_start(words: &[TextWord<'_>], terms: &[String]) -> usize {
    if terms.is_empty() || end_of(words, 0) == words.len() {
        return 0;
    }
    let longest = terms.iter().map(String::len).max().unwrap_or(0);
    let terms_of_words: Vec<Option<usize>> =
        words.iter().map(|word| term_of(word.text, terms, longest)).collect();
    let mut counts = vec![0usize; terms.len()];
    let (mut distinct, mut filled) = (0usize, 0usize);
    let (mut best, mut run, mut is_run_open) = (0usize, 0..1, true);
    for start in 0..words.len() {
        let end = end_of(words, start);
        for term in terms_of_words.get(filled..end).unwrap_or_default().iter().flatten() {
            if let Some(count) = counts.get_mut(*term) {
                distinct += usize::from(*count == 0);
                *count += 1;
            }
        }
        filled = filled.max(end);
        if distinct > best {
            (best, run, is_run_open) = (distinct, start..start + 1, true);
        } else if distinct == best && is_run_open {
            run.end = start + 1;
        } else {
            is_run_open = false;
        }
        if let Some(count) =
            terms_of_words.get(start).copied().flatten().and_then(|term| counts.get_mut(term))
        {
            *count -= 1;
            distinct -= usize::from(*count == 0);
        }
        if end == words.len() {
            if best > 0 && run.contains(&start) {
                // The window reaches the end of the text.
                return start;
            }
            // Later windows are parts of this one.
            break;
        }
    }
    if best == 0 {
        return 0;
    }
    let middle = run.start + (run.end - run.start) / 2;
    let begins = |start: &usize| *start == 0 || words.get(start - 1).is_some_and(TextWord::ends_sentence);
    // Skip the first and the last quarter of the run, where the terms are at an end of the window.
    let margin = (run.end - run.start) / 4;
    let inner = run.start + margin..run.end - margin;
    inner.filter(begins).min_by_key(|start| start.abs_diff(middle)).unwrap_or(middle)
}

/// The first term that a part of a word begins with, if any: `splits` begins with `split`. The terms are sorted, and
/// the longest has `longest` bytes.
fn term_of(word: &str, terms: &[String], longest: usize) -> Option<usize> {
    let word = word.to_lowercase();
    let mut parts = word.split(|c: char| !c.is_alphanumeric());
    parts.find_map(|part| {
        // A text has many words, and a question may have thousands of terms, so they are not compared one by one.
        let ends = part.char_indices().map(|(at, char)| at + char.len_utf8());
        let mut beginnings = ends.take_while(|end| *end <= longest).filter_map(|end| part.get(..end));
        beginnings.find_map(|beginning| terms.binary_search_by(|term| term.as_str().cmp(beginning)).ok())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_short_text_is_shown_in_full_on_one_line() {
        assert_eq!(snippet("A split\n\nwrites  two pages.", Some("pages")), "A split writes two pages.");
        assert_eq!(snippet("", Some("pages")), "");
    }

    #[test]
    fn a_long_text_starts_at_the_sentence_with_the_words_of_the_question() {
        let filler = "Nothing of interest happens in this sentence. ".repeat(40);
        let text = format!("{filler}The journal records every page split. {filler}");
        let shown = snippet(&text, Some("journal page splits"));
        assert!(shown.contains("The journal records every page split."), "{shown}");
        assert!(shown.starts_with("…Nothing") || shown.starts_with("…The journal"), "{shown}");
        assert!(shown.ends_with('…') && shown.chars().count() <= MAX_CHARS, "{shown}");
    }

    #[test]
    fn without_a_match_the_snippet_is_the_beginning() {
        let text = "word ".repeat(200);
        for question in [None, Some("zebra"), Some("a")] {
            let shown = snippet(&text, question);
            assert!(shown.starts_with("word word") && shown.ends_with("word…"), "{shown}");
        }
    }

    #[test]
    fn a_text_without_spaces_is_cut() {
        let shown = snippet(&"語".repeat(1000), Some("語"));
        assert_eq!((shown.chars().count(), shown.chars().last()), (MAX_CHARS, Some('…')));
    }

    poc_laws::laws! {
        #[test]
        fn the_term_of_a_word_is_the_first_that_one_of_its_parts_begins_with(
            word in "[a-cA-C語.-]{0,12}", question in "[a-c語 ]{0,60}",
        ) {
            let terms: Vec<String> = terms(&question).into_iter().collect();
            let longest = terms.iter().map(String::len).max().unwrap_or(0);
            let lower = word.to_lowercase();
            let of = |part: &str| terms.iter().position(|term| part.starts_with(term.as_str()));
            let expected = lower.split(|c: char| !c.is_alphanumeric()).find_map(of);
            prop_assert_eq!(term_of(&word, &terms, longest), expected);
        }

        #[test]
        fn a_snippet_is_one_line_of_at_most_300_characters(
            text in "[a-c .\n語]{0,900}", question in "[a-c ]{0,20}",
        ) {
            let shown = snippet(&text, Some(&question));
            prop_assert!(shown.chars().count() <= MAX_CHARS);
            prop_assert!(!shown.contains('\n'));
            prop_assert_eq!(shown.is_empty(), text.trim().is_empty());
        }
    }
}
