//! Did you mean: the known name that a wrong one most resembles.

use std::borrow::Cow;

/// Least similarity (0–1, normalised Damerau–Levenshtein, letter case aside) of a name worth
/// proposing.
const MIN_SIMILARITY: f64 = 0.6;

/// Characters of a wrong name from which on nobody just mistyped.
const LONGEST: usize = 200;

/// The name most similar to `wrong`, if any is similar enough; of equals the first.
pub fn closest<'a>(wrong: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let wrong = lower(wrong);
    let letters = Letters::of(&wrong);
    if letters.count > LONGEST {
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

/// How many characters of each of 32 kinds a text has: enough to see at once that two texts cannot
/// be alike.
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

    /// No pair of such texts is more similar: each edit brings or takes one character at most.
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
    fn a_slip_is_recognised_and_a_stranger_is_not() {
        let to = |wrong| super::closest(wrong, ["semantic", "episodic", "daily"].into_iter());
        assert_eq!(to("semantci"), Some("semantic"));
        assert_eq!(to("dayly"), Some("daily"));
        assert_eq!(to("DAILY"), Some("daily"));
        assert_eq!(to("kitten"), None);
        assert_eq!(to(&"daily".repeat(100)), None);
    }

    proptest! {
        #[test]
        fn nothing_alike_is_passed_over_at_a_glance(a in "[a-eä]{0,12}", b in "[a-eä]{0,12}") {
            let most = Letters::of(&a).most_similar(&Letters::of(&b));
            prop_assert!(most >= strsim::normalized_damerau_levenshtein(&a, &b) - 1e-12);
        }
    }
}
