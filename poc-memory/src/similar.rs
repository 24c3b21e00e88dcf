//! Did you mean: the known name that a wrong one most resembles.

/// Least similarity (0–1, normalised Damerau–Levenshtein) of a name worth proposing.
const MIN_SIMILARITY: f64 = 0.6;

/// The name most similar to `wrong`, if any is similar enough; of equals the first.
pub fn to<'a>(wrong: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let mut best = None;
    for name in known {
        let similarity = strsim::normalized_damerau_levenshtein(wrong, name);
        if similarity >= MIN_SIMILARITY && best.is_none_or(|(greatest, _)| similarity > greatest) {
            best = Some((similarity, name));
        }
    }
    best.map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_slip_is_recognised_and_a_stranger_is_not() {
        let to = |wrong| super::to(wrong, ["semantic", "episodic", "daily"].into_iter());
        assert_eq!(to("semantci"), Some("semantic"));
        assert_eq!(to("dayly"), Some("daily"));
        assert_eq!(to("kitten"), None);
    }
}
