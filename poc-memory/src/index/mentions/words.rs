//! Words as they stand: whole, folded, and whether they begin with a capital.

use crate::index::text::fold::fold;
use unicode_normalization::char::is_combining_mark;

/// Letters that a title needs to be looked for.
const LEAST_LETTERS: usize = 4;

/// Words that it may have.
const MOST_WORDS: usize = 16;

/// The words of a text, folded, in one piece.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Folded {
    text: String,
    // Where each word ends, and whether it begins with a capital.
    ends: Vec<(u32, bool)>,
}

impl Folded {
    /// The words of a text: runs of letters, digits and `_`, with one apostrophe within.
    pub(super) fn of(text: &str) -> Folded {
        let mut folded = Folded::default();
        let mut rest = text;
        while let Some(start) = rest.find(is_part) {
            let (_, from) = rest.split_at(start);
            let (word, behind) = from.split_at(length(from));
            folded.push(word);
            rest = behind;
        }
        folded
    }

    fn push(&mut self, word: &str) {
        let capital = word.chars().next().is_some_and(char::is_uppercase);
        self.text.push_str(&fold(word));
        self.ends.push((u32::try_from(self.text.len()).unwrap_or(u32::MAX), capital));
    }

    /// Each word, and whether it begins with a capital.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, bool)> {
        let mut start = 0;
        self.ends.iter().map(move |&(end, capital)| {
            let word = self.text.get(start..end as usize).unwrap_or_default();
            start = end as usize;
            (word, capital)
        })
    }

    /// How many words there are.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }
}

/// Bytes of the word that a text begins with.
fn length(text: &str) -> usize {
    let run = |text: &str| text.find(|c| !is_part(c)).unwrap_or(text.len());
    let first = run(text);
    let behind = text.get(first..).unwrap_or_default();
    match behind.strip_prefix(['\'', '’']) {
        Some(tail) if tail.starts_with(is_part) => first + (behind.len() - tail.len()) + run(tail),
        _ => first,
    }
}

fn is_part(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || is_combining_mark(c)
}

/// The words that a title is looked for by; none when it is too short or too long for that.
pub(super) fn name(title: &str) -> Folded {
    let title = without_brackets(title);
    if title.chars().filter(|c| c.is_alphabetic()).count() < LEAST_LETTERS {
        return Folded::default();
    }
    let words = Folded::of(title);
    if words.len() > MOST_WORDS { Folded::default() } else { words }
}

/// A title without what stands in brackets at its end, unless there is nothing else.
fn without_brackets(title: &str) -> &str {
    let title = title.trim();
    let cut = title.strip_suffix(')').and_then(|open| open.rsplit_once('('));
    match cut.map(|(before, _)| before.trim_end()) {
        Some(before) if !before.is_empty() => before,
        _ => title,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn told(words: &Folded) -> String {
        let word = |(word, capital): (&str, bool)| if capital { format!("^{word}") } else { word.to_owned() };
        words.iter().map(word).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn words_are_whole_and_folded() {
        let check = |text: &str, expected: &str| assert_eq!(told(&Folded::of(text)), expected, "{text}");
        check("The Ångström — it's Bob’s, “O'Brien's'” no!", "^the ^angstrom it's ^bob's ^o'brien s no");
        check("snake_case v1.2 São", "snake_case v1 2 ^sao");
        check("'' ’", "");
        check("", "");
    }

    #[test]
    fn names_are_titles_long_enough_without_their_brackets() {
        let check = |title: &str, expected: &str| assert_eq!(told(&name(title)), expected, "{title}");
        check("Mercury (planet)", "^mercury");
        check("Mercury (planet) I", "^mercury planet ^i");
        check("(What) it is", "^what it is");
        check("(Untitled)", "^untitled");
        check("Ann", "");
        check("1984", "");
        check("Anna", "^anna");
        check(&"word ".repeat(17), "");
    }

    proptest! {
        #[test]
        fn no_text_is_too_odd(text in "\\PC{0,60}|[a-zA-Z'’ ]{0,40}") {
            let words = Folded::of(&text);
            prop_assert_eq!(words.iter().count(), words.len());
            name(&text);
        }
    }
}
