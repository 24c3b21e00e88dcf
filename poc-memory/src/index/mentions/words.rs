//! Words as they stand: whole, folded, and whether a name may begin with them.

use crate::index::text::fold::fold;
use crate::index::text::tokens::identifiers;
use unicode_normalization::char::is_combining_mark;

/// Letters that a title needs to be looked for, or letters and digits that a key needs.
const LEAST_LETTERS: usize = 4;

/// Words that a title may have.
const MOST_WORDS: usize = 16;

/// The words of a text, folded, in one piece.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Folded {
    text: String,
    // Where each word ends, and whether a name may begin with it.
    ends: Vec<(u32, bool)>,
}

impl Folded {
    /// The words of a text: runs of letters, digits and `_`, with one apostrophe within.
    pub(super) fn words(text: &str) -> Folded {
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

    /// The words of a text and behind them its identifiers, each as one word. An empty word stands in front
    /// of each: they follow on nothing.
    pub(super) fn of(text: &str) -> Folded {
        let mut folded = Folded::words(text);
        for name in identifiers(text) {
            folded.add("", false);
            folded.add(name, true);
        }
        folded
    }

    fn push(&mut self, word: &str) {
        self.add(word, word.chars().next().is_some_and(char::is_uppercase));
    }

    fn add(&mut self, word: &str, begins: bool) {
        self.text.push_str(&fold(word));
        self.ends.push((u32::try_from(self.text.len()).unwrap_or(u32::MAX), begins));
    }

    /// Each word, and whether a name may begin with it: it has a capital, or is an identifier.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, bool)> {
        let mut start = 0;
        self.ends.iter().map(move |&(end, begins)| {
            let word = self.text.get(start..end as usize).unwrap_or_default();
            start = end as usize;
            (word, begins)
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

/// What a note is looked for by: the words of its title, and key and title where they are identifiers.
pub(super) fn names(title: &str, key: &str) -> Vec<Folded> {
    let title = without_brackets(title);
    let mut names = vec![of_title(title)];
    for name in [key, title] {
        let mut word = Folded::default();
        if identifiers(name).any(|whole| whole == name)
            && name.chars().filter(|c| c.is_alphanumeric()).count() >= LEAST_LETTERS
        {
            word.add(name, true);
        }
        names.push(word);
    }
    names.retain(|name| name.len() > 0);
    let mut different: Vec<Folded> = Vec::new();
    for name in names {
        if !different
            .iter()
            .any(|other| other.iter().map(|(word, _)| word).eq(name.iter().map(|(word, _)| word)))
        {
            different.push(name);
        }
    }
    different
}

/// The words of a title; none when it is too short or too long to be looked for.
fn of_title(title: &str) -> Folded {
    if title.chars().filter(|c| c.is_alphabetic()).count() < LEAST_LETTERS {
        return Folded::default();
    }
    let words = Folded::words(title);
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
        let word = |(word, begins): (&str, bool)| match (word, begins) {
            ("", _) => "|".to_owned(),
            (word, true) => format!("^{word}"),
            (word, false) => word.to_owned(),
        };
        words.iter().map(word).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn words_are_whole_and_folded() {
        let check = |text: &str, expected: &str| assert_eq!(told(&Folded::of(text)), expected, "{text}");
        check("The Ångström — it's Bob’s, “O'Brien's'” no!", "^the ^angstrom it's ^bob's ^o'brien s no");
        check("snake_case v1.2 São", "snake_case v1 2 ^sao | ^snake_case | ^v1.2");
        check(
            "the Retry-Policy of src/main.rs",
            "the ^retry ^policy of src main rs | ^retry-policy | ^src/main.rs",
        );
        check("'' ’", "");
        check("", "");
    }

    #[test]
    fn names_are_titles_long_enough_without_their_brackets() {
        let check = |title: &str, expected: &str| {
            assert_eq!(told(&of_title(without_brackets(title))), expected, "{title}")
        };
        check("Mercury (planet)", "^mercury");
        check("Mercury (planet) I", "^mercury planet ^i");
        check("(What) it is", "^what it is");
        check("(Untitled)", "^untitled");
        check("Ann", "");
        check("1984", "");
        check("Anna", "^anna");
        check(&"word ".repeat(17), "");
    }

    #[test]
    fn keys_and_titles_that_are_identifiers_are_names_as_they_stand() {
        let check = |title: &str, key: &str, expected: &[&str]| {
            assert_eq!(names(title, key).iter().map(told).collect::<Vec<_>>(), expected, "{title}, {key}");
        };
        check("Retrying", "retry-policy", &["^retrying", "^retry-policy"]);
        check("parseFrame", "parse-frame", &["parseframe", "^parse-frame"]);
        check("", "journal", &[]);
        check("", "a-b", &[]);
        check("", "INC-90037", &["^inc-90037"]);
    }

    proptest! {
        #[test]
        fn no_text_is_too_odd(text in "\\PC{0,60}|[a-zA-Z'’ ]{0,40}") {
            let words = Folded::of(&text);
            prop_assert_eq!(words.iter().count(), words.len());
            names(&text, &text);
        }
    }
}
