//! Suggestions for misspelt names ("did you mean").

use std::borrow::Cow;

/// The minimum similarity of a suggestion, 0–1: normalised Damerau–Levenshtein similarity, ignoring case. Up to
/// four edits in ten characters still give a suggestion.
const MIN_SIMILARITY: f64 = 0.6;

/// Longer names, in characters, get no suggestion: the edit distance takes quadratic time.
const MAX_CHARS: usize = 200;

/// The name most similar to `wrong`; `None` if none is similar enough. Among equally similar names the first wins.
///
/// `known` may be all keys of a store. Most names are therefore rejected by comparing character counts, before the edit
/// distance is computed.
pub fn closest<'a>(wrong: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let wrong = lower(wrong);
    let counts = CharacterCounts::of(&wrong);
    if counts.count > MAX_CHARS {
        return None;
    }
    let mut best: Option<(f64, &str)> = None;
    for name in known {
        // Most names are too long or too short, and most are in ASCII, where characters need not be counted.
        if name.is_ascii()
            && max_similarity(counts.count.abs_diff(name.len()), counts.count, name.len()) < MIN_SIMILARITY
        {
            continue;
        }
        let folded = lower(name);
        let max = counts.max_similarity(&CharacterCounts::of(&folded));
        if max < MIN_SIMILARITY || best.is_some_and(|(greatest, _)| max <= greatest) {
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

/// Counts of the characters of a text in 32 classes. They give a cheap upper bound for the similarity of two texts.
struct CharacterCounts {
    kinds: [u16; 32],
    count: usize,
}

impl CharacterCounts {
    fn of(text: &str) -> CharacterCounts {
        let mut counts = CharacterCounts { kinds: [0; 32], count: 0 };
        for character in text.chars() {
            if let Some(kind) = counts.kinds.get_mut(character as usize % 32) {
                *kind = kind.saturating_add(1);
            }
            counts.count += 1;
        }
        counts
    }

    /// An upper bound of the similarity: each edit adds or removes at most one character.
    fn max_similarity(&self, other: &CharacterCounts) -> f64 {
        let more = |a: &CharacterCounts, b: &CharacterCounts| -> usize {
            a.kinds.iter().zip(&b.kinds).map(|(a, b)| usize::from(a.saturating_sub(*b))).sum()
        };
        max_similarity(more(self, other).max(more(other, self)), self.count, other.count)
    }
}

/// The maximum similarity of two texts that are at least `edits` edits apart. `a` and `b` are their numbers of
/// characters.
fn max_similarity(edits: usize, a: usize, b: usize) -> f64 {
    1.0 - edits as f64 / a.max(b).max(1) as f64
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

    poc_laws::laws! {
        #[test]
        fn the_bound_is_never_below_the_similarity(a in "[a-eä]{0,12}", b in "[a-eä]{0,12}") {
            let max = CharacterCounts::of(&a).max_similarity(&CharacterCounts::of(&b));
            prop_assert!(max >= strsim::normalized_damerau_levenshtein(&a, &b) - 1e-12);
        }

        #[test]
        fn the_closest_name_is_the_most_similar_one_of_all(
            wrong in "[a-cä]{0,6}",
            known in prop::collection::vec("[a-cÄ]{0,10}", 0..6),
        ) {
            let similarity = |name: &str| strsim::normalized_damerau_levenshtein(&wrong, &name.to_lowercase());
            let greatest = known.iter().map(|name| similarity(name)).fold(0.0, f64::max);
            let first = known.iter().find(|name| greatest >= MIN_SIMILARITY && similarity(name) == greatest);
            prop_assert_eq!(closest(&wrong, known.iter().map(String::as_str)), first.map(String::as_str));
        }
    }
}
