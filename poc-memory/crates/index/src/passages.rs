//! Splits long bodies into overlapping passages at the boundaries of sentences and Markdown blocks.

use std::ops::Range;
use unicode_segmentation::UnicodeSegmentation;

/// Splits a body into trimmed passages of at most `words` words. Each one starts about `stride` words after the
/// previous one; `stride` is limited to `words`, so that no word is omitted. A body of at most `words` words is a
/// single passage, and a blank body has none. A passage ends inside a sentence only if the sentence is longer than
/// `stride` words.
pub fn passages(body: &str, words: usize, stride: usize) -> Vec<&str> {
    let words = words.max(1);
    if word_count_bound(body) <= words {
        return Some(body.trim()).filter(|whole| !whole.is_empty()).into_iter().collect();
    }
    windows(body, words, stride.clamp(1, words))
}

/// Like [`passages`], for a body of any length. `stride` must be from 1 to `words`.
fn windows(body: &str, words: usize, stride: usize) -> Vec<&str> {
    let units = units(body, stride);
    // The number of words before each unit.
    let mut before = Vec::with_capacity(units.len());
    let mut total = 0;
    for unit in &units {
        before.push(total);
        total += unit.words;
    }
    let position = |unit: usize| before.get(unit).copied().unwrap_or(total);
    let mut passages = Vec::new();
    let mut start = 0;
    while start < units.len() {
        // Units are added while they fit, but at least one.
        let mut end = start + 1;
        while end < units.len() && position(end + 1) <= position(start) + words {
            end += 1;
        }
        let first = units.get(start).map_or(0, |unit| unit.range.start);
        let last = units.get(end - 1).map_or(body.len(), |unit| unit.range.end);
        passages.extend(body.get(first..last).map(str::trim).filter(|passage| !passage.is_empty()));
        if end == units.len() {
            break;
        }
        // The next passage starts at the last unit within the stride, but no later than the end of this passage.
        let mut next = start + 1;
        while next < end && position(next + 1) <= position(start) + stride {
            next += 1;
        }
        start = next;
    }
    passages
}

/// An upper bound of the number of words of a text, which is much faster to compute than the words. Every word contains
/// a run of ASCII letters and digits, which is never split, or a character outside ASCII.
fn word_count_bound(text: &str) -> usize {
    let (mut count, mut is_within) = (0, false);
    for byte in text.bytes() {
        let is_part = byte.is_ascii_alphanumeric();
        // The bytes of a character after the first begin with the bits 10.
        count += usize::from(is_part && !is_within || byte >= 0b1100_0000);
        is_within = is_part;
    }
    count
}

/// The smallest unit of a passage: a sentence, a line of a list or of code, or a piece of one.
struct Unit {
    range: Range<usize>,
    words: usize,
}

fn units(body: &str, max_words: usize) -> Vec<Unit> {
    let mut units = Vec::new();
    let joined = join_wrapped_lines(body);
    for (start, sentence) in joined.split_sentence_bound_indices() {
        let mut from = start;
        let mut words = 0;
        for (at, _) in sentence.unicode_word_indices() {
            if words == max_words {
                units.push(Unit { range: from..start + at, words });
                (from, words) = (start + at, 0);
            }
            words += 1;
        }
        units.push(Unit { range: from..start + sentence.len(), words });
    }
    units
}

/// Replaces line breaks within paragraphs by spaces, without changing byte offsets. The sentence rules of Unicode annex
/// 29 would end a sentence at a line break.
fn join_wrapped_lines(body: &str) -> String {
    let mut joined = String::with_capacity(body.len());
    let mut lines = body.split_inclusive('\n').peekable();
    let mut is_in_fence = false;
    while let Some(line) = lines.next() {
        let fence = is_fence(line);
        is_in_fence ^= fence;
        let next = lines.peek().copied().unwrap_or("");
        let keeps_break = fence || is_in_fence || line.trim_start().starts_with('#') || starts_block(next);
        if keeps_break || line.trim().is_empty() {
            joined.push_str(line);
        } else {
            let text = line.trim_end_matches(['\n', '\r']);
            joined.push_str(text);
            joined.extend(std::iter::repeat_n(' ', line.len() - text.len()));
        }
    }
    joined
}

fn is_fence(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("```") || line.starts_with("~~~")
}

/// Whether a line is blank or starts a heading, list item, quote, table row or code block.
fn starts_block(line: &str) -> bool {
    let text = line.trim_start();
    let after_digits = text.trim_start_matches(|character: char| character.is_ascii_digit());
    text.is_empty()
        || text.starts_with(['#', '>', '|'])
        || ["- ", "* ", "+ "].iter().any(|bullet| text.starts_with(bullet))
        || after_digits.len() < text.len()
            && (after_digits.starts_with(". ") || after_digits.starts_with(") "))
        || is_fence(line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(body: &str, words: usize, stride: usize, expected: &[&str]) {
        assert_eq!(passages(body, words, stride), expected, "{body:?}");
    }

    #[test]
    fn a_short_body_is_one_passage_and_a_blank_one_none() {
        check("One. Two.\n\nThree.", 200, 150, &["One. Two.\n\nThree."]);
        check("  one \n", 200, 150, &["one"]);
        check("", 200, 150, &[]);
        check(" \n\n ", 200, 150, &[]);
        check("🎉", 200, 150, &["🎉"]);
    }

    #[test]
    fn windows_overlap_at_sentences() {
        check(
            "One two three. Four five. Six seven eight. Nine ten.",
            5,
            3,
            &["One two three. Four five.", "Four five. Six seven eight.", "Six seven eight. Nine ten."],
        );
    }

    #[test]
    fn lines_of_a_paragraph_are_joined_and_blocks_are_not() {
        check("One two\nthree four. Five\nsix.", 4, 4, &["One two\nthree four.", "Five\nsix."]);
        check(
            "# One two\nThree four\n- five six\n- seven",
            2,
            2,
            &["# One two", "Three four", "- five six", "- seven"],
        );
        check("```\na b\nc d\n```\nE f", 2, 2, &["```\na b", "c d\n```", "E f"]);
    }

    #[test]
    fn a_very_long_sentence_is_split_at_words() {
        let body = vec!["word"; 1000].join(" ");
        let found = passages(&body, 200, 150);
        assert!(found.iter().all(|passage| passage.unicode_words().count() <= 200));
        assert_eq!(found.len(), 7);
    }

    poc_laws::laws! {
        #[test]
        fn a_short_body_is_the_passage_that_a_search_for_sentences_gives(
            body in "([a-cA-C0-9é日. '_\n:,-]|\\PC){0,40}",
            stride in 1usize..9,
        ) {
            let bound = word_count_bound(&body);
            prop_assert!(body.unicode_words().count() <= bound);
            prop_assert!(units(&body, usize::MAX).iter().map(|unit| unit.words).sum::<usize>() <= bound);
            let whole: Vec<&str> = Some(body.trim()).filter(|whole| !whole.is_empty()).into_iter().collect();
            prop_assert_eq!(&passages(&body, bound, stride), &whole);
            let words = bound.max(1);
            prop_assert_eq!(&windows(&body, words, stride.min(words)), &whole);
        }

        #[test]
        fn every_word_is_in_a_passage_and_none_is_too_long(
            body in "([a-z]{1,4}[ .\n#-]{1,3}){0,80}",
            words in 1usize..30,
            stride in 1usize..40,
        ) {
            let found = passages(&body, words, stride);
            let mut covered = 0;
            for passage in &found {
                prop_assert!(passage.unicode_words().count() <= words);
                let start = passage.as_ptr() as usize - body.as_ptr() as usize;
                prop_assert_eq!(body[covered.min(start)..start].unicode_words().count(), 0);
                covered = covered.max(start + passage.len());
            }
            prop_assert_eq!(body[covered..].unicode_words().count(), 0);
        }
    }
}
