//! The windows of a body that get a vector each.

use std::ops::Range;
use unicode_segmentation::UnicodeSegmentation;

/// Overlapping windows of about `words` words, each starting about `stride` words after the one
/// before, cut at the ends of sentences and lines. A body of at most `words` words is one window, a
/// blank one none. Together the windows hold every word of the body.
pub(super) fn passages(body: &str, words: usize, stride: usize) -> Vec<&str> {
    let words = words.max(1);
    let stride = stride.clamp(1, words);
    let units = units(body, words);
    let mut windows = Vec::new();
    let mut first = 0;
    while let Some(rest) = units.get(first..).filter(|rest| !rest.is_empty()) {
        let mut taken = 0;
        let mut count = 0;
        for unit in rest {
            if count > 0 && taken + unit.words > words {
                break;
            }
            taken += unit.words;
            count += 1;
        }
        let range = rest.first().zip(rest.get(count - 1)).map(|(from, to)| from.range.start..to.range.end);
        windows.extend(range.and_then(|range| body.get(range)).map(str::trim));
        if count == rest.len() {
            break;
        }
        let mut passed = 0;
        let mut skip = 0;
        for unit in rest.iter().take(count) {
            if skip > 0 && passed + unit.words > stride {
                break;
            }
            passed += unit.words;
            skip += 1;
        }
        first += skip;
    }
    windows
}

/// A stretch of text that no window cuts.
struct Unit {
    range: Range<usize>,
    words: usize,
}

/// Sentences with words in them (a line's end always ends one); one of more than `limit` words is
/// cut between words.
fn units(body: &str, limit: usize) -> Vec<Unit> {
    let mut units = Vec::new();
    for (start, sentence) in body.split_sentence_bound_indices() {
        let mut unit: Option<Unit> = None;
        for (at, word) in words_of(sentence) {
            let range = start + at..start + at + word.len();
            match &mut unit {
                Some(unit) if unit.words < limit => {
                    unit.range.end = range.end;
                    unit.words += 1;
                }
                _ => units.extend(unit.replace(Unit { range, words: 1 })),
            }
        }
        units.extend(unit);
    }
    units
}

/// The words of a text by white space, with where they start.
fn words_of(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.split_whitespace().map(move |word| (word.as_ptr() as usize - text.as_ptr() as usize, word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn show(body: &str, words: usize, stride: usize) -> String {
        passages(body, words, stride).join("\n--\n")
    }

    #[test]
    fn windows_end_with_sentences() {
        insta::assert_snapshot!(show("One two three. Four five. Six seven eight. Nine ten.\n\nEleven.", 6, 4), @r"
        One two three. Four five.
        --
        Four five. Six seven eight.
        --
        Six seven eight. Nine ten.

        Eleven.
        ");
        insta::assert_snapshot!(show("a b c d e f g", 3, 2), @"
        a b c
        --
        d e f
        --
        g
        ");
        assert_eq!(passages(" \n\n", 200, 150), Vec::<&str>::new());
        assert_eq!(passages(" short \n", 200, 150), ["short"]);
    }

    proptest! {
        #[test]
        fn every_word_is_in_a_window_and_windows_are_bounded(
            body in "([a-zé]{1,5}[.,!]?[ \n]{1,3}){0,60}",
            words in 1usize..20,
            stride in 1usize..20,
        ) {
            let windows = passages(&body, words, stride);
            for window in &windows {
                prop_assert!(window.split_whitespace().count() <= words);
            }
            let mut from = 0;
            for word in body.split_whitespace() {
                let held = windows.iter().skip(from).position(|window| window.split_whitespace().any(|w| w == word));
                prop_assert!(held.is_some(), "{word} of {body:?} in {windows:?}");
                from += held.unwrap_or(0).saturating_sub(1);
            }
        }
    }
}
