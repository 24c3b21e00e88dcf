//! Suggestions for misspelt names ("did you mean").

use std::borrow::Cow;

/// The least similarity of a suggestion, 0–1: normalised Damerau–Levenshtein, ignoring case.
const MIN_SIMILARITY: f64 = 0.6;

/// Names of more characters get no suggestion.
const MAX_CHARS: usize = 200;

/// The name most similar to `wrong`, if any is similar enough; the first wins a tie.
///
/// `known` may be all keys of a store, so most names are rejected by a comparison of their character
/// counts before the edit distance is computed.
pub fn closest<'a>(wrong: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let wrong = lower(wrong);
    let letters = Letters::of(&wrong);
    if letters.count > MAX_CHARS {
        return None;
    }
    let mut best: Option<(f64, &str)> = None;
    for name in known {
        let folded = lower(name);
        let most = letters.most_similar(&Letters::of(&folded));
        if most < MIN_SIMILARITY || best.is_some_and(|(greatest, _)| most <= greatest) {
            continue;
        }
        let similarity = strsim::normalized_damerau_levenshtein(&wrong, &folded);
        if similarity >= MIN_SIMILARITY && best.is_none_or(|(greatest, _)| similarity > greatest) {
            best = Some((similarity, name));
        }
    }
    best.map(|(_, name)| name)
}

fn lower(text: &str) -> Cow<'_, str> {
    if text.chars().any(char::is_uppercase) { text.to_lowercase().into() } else { text.into() }
}

/// Counts of the characters of a text in 32 classes, which give a cheap upper bound of the similarity of two
/// texts.
struct Letters {
    kinds: [u16; 32],
    count: usize,
}

impl Letters {
    fn of(text: &str) -> Letters {
        let mut letters = Letters { kinds: [0; 32], count: 0 };
        for character in text.chars() {
            if let Some(kind) = letters.kinds.get_mut(character as usize % 32) {
                *kind = kind.saturating_add(1);
            }
            letters.count += 1;
        }
        letters
    }

    /// An upper bound of the similarity: each edit adds or removes at most one character.
    fn most_similar(&self, other: &Letters) -> f64 {
        let more = |a: &Letters, b: &Letters| -> usize {
            a.kinds.iter().zip(&b.kinds).map(|(a, b)| usize::from(a.saturating_sub(*b))).sum()
        };
        let edits = more(self, other).max(more(other, self));
        1.0 - edits as f64 / self.count.max(other.count).max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_typo_gets_a_suggestion_and_an_unrelated_name_does_not() {
        let to = |wrong| super::closest(wrong, ["semantic", "episodic", "daily"].into_iter());
        assert_eq!(to("semantci"), Some("semantic"));
        assert_eq!(to("dayly"), Some("daily"));
        assert_eq!(to("DAILY"), Some("daily"));
        assert_eq!(to("kitten"), None);
        assert_eq!(to(&"daily".repeat(100)), None);
    }

    proptest! {
        #[test]
        fn the_bound_is_never_below_the_similarity(a in "[a-eä]{0,12}", b in "[a-eä]{0,12}") {
            let most = Letters::of(&a).most_similar(&Letters::of(&b));
            prop_assert!(most >= strsim::normalized_damerau_levenshtein(&a, &b) - 1e-12);
        }
    }
}
