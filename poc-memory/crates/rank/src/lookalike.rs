//! Telling look-alikes apart: notes with different numbers or names are different notes, however alike
//! they read. An embedder hardly sees a digit, so this is asked beside every cosine that ties notes.

use std::borrow::Cow;
use std::collections::BTreeSet;

/// Share of the plain words of two texts that both have, from which on they read alike.
const ALIKE: f64 = 0.9;

/// Numbers, names in code, abbreviations: the tokens of a text with a digit, a capital inside or a joint
/// inside.
pub fn identifiers(text: &str) -> BTreeSet<&str> {
    tokens(text).filter(|token| is_identifier(token)).collect()
}

/// Whether a token is an identifier.
pub fn is_identifier(token: &str) -> bool {
    let inner = || token.chars().skip(1);
    token.chars().any(char::is_numeric)
        || inner().any(char::is_uppercase)
        || inner().any(|c| "_/.:@#=\\".contains(c))
}

/// What a text is compared with others by.
pub struct WordProfile<'a> {
    identifiers: BTreeSet<&'a str>,
    // The other words in lower case, in order, each once.
    words: Vec<Cow<'a, str>>,
}

impl<'a> WordProfile<'a> {
    /// That of a text.
    pub fn of(text: &'a str) -> WordProfile<'a> {
        let words = tokens(text).filter(|token| !token.is_empty() && !is_identifier(token));
        let mut words: Vec<Cow<'a, str>> = words.map(lower).collect();
        words.sort_unstable();
        words.dedup();
        WordProfile { identifiers: identifiers(text), words }
    }

    /// Whether both texts say the same of different things: their identifiers differ, and of their other
    /// words nine of ten are the same (Jaccard). Symmetric; a text is no look-alike of itself.
    pub fn is_lookalike_of(&self, other: &WordProfile<'_>) -> bool {
        let (a, b) = (&self.words, &other.words);
        let (fewer, more) = (a.len().min(b.len()), a.len().max(b.len()));
        if self.identifiers == other.identifiers || (fewer as f64) < ALIKE * more as f64 {
            return false;
        }
        let both = a.iter().filter(|word| b.binary_search(word).is_ok()).count();
        both as f64 >= ALIKE * (a.len() + b.len() - both) as f64
    }
}

/// As [`WordProfile::is_lookalike_of`] of two texts.
pub fn are_lookalikes(a: &str, b: &str) -> bool {
    WordProfile::of(a).is_lookalike_of(&WordProfile::of(b))
}

fn lower(word: &str) -> Cow<'_, str> {
    match word.chars().any(|c| !c.is_lowercase()) {
        true => word.to_lowercase().into(),
        false => word.into(),
    }
}

fn tokens(text: &str) -> impl Iterator<Item = &str> {
    text.split_whitespace().map(|token| token.trim_matches(|c: char| !c.is_alphanumeric()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn identifiers_are_what_tells_look_alikes_apart() {
        let found =
            identifiers("Error BRK-4021\nSee `retry_policy`, src/lib.rs and maxRetries (INC). Then rest.");
        let expected = ["BRK-4021", "INC", "maxRetries", "retry_policy", "src/lib.rs"];
        assert_eq!(found.into_iter().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn texts_that_differ_in_their_digits_alone_are_look_alikes() {
        for (a, b, expected) in [
            ("The disk of node 12 is full", "The disk of node 17 is full", true),
            ("INC-90037: payment refused", "INC-90041: payment refused", true),
            ("INC-90037: payment refused", "INC-90037: Payment refused!", false),
            ("The disk of node 12 is full", "Node 17 was replaced because its disk had died", false),
            ("The disk is full", "The disk is full", false),
            ("12", "13", true),
            ("", "", false),
        ] {
            assert_eq!(are_lookalikes(a, b), expected, "{a} / {b}");
        }
    }

    proptest! {
        #[test]
        fn another_number_in_the_same_words_is_another_note(words in "[a-z]{1,8}( [a-z]{1,8}){0,20}", a in 0u32..9999, b in 0u32..9999) {
            let text = |number: u32| format!("{words} {number}");
            prop_assert_eq!(are_lookalikes(&text(a), &text(b)), a != b);
            prop_assert_eq!(are_lookalikes(&text(b), &text(a)), a != b);
        }
    }
}
