//! Did you mean.

/// The candidate most like `word`, if any is like it at all.
pub(super) fn nearest<'a>(word: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    /// Jaro–Winkler similarity under which two words have nothing to do with each other.
    const ALIKE: f64 = 0.8;
    let word = word.to_lowercase().replace('_', "-");
    candidates
        .map(|candidate| (strsim::jaro_winkler(&word, candidate), candidate))
        .filter(|(likeness, _)| *likeness >= ALIKE)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}
