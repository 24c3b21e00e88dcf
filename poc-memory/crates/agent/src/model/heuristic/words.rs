//! Rare words that two texts have in common.

use crate::selection::Handle;
use poc_graph::Node;
use poc_index::TextIndex;
use poc_rank::bm25;
use poc_rank::lookalike::is_identifier;
use std::collections::{BTreeMap, BTreeSet};
use unicode_segmentation::UnicodeSegmentation;

/// A word in at most this many notes is rare even in a small memory.
const RARE_NOTES: usize = 3;

/// The rare terms of every node of a selection.
pub(super) struct RareTerms<'a> {
    text: &'a TextIndex,
    /// By handle: terms and their inverse document frequency.
    terms: BTreeMap<&'a str, BTreeMap<String, f64>>,
}

impl<'a> RareTerms<'a> {
    /// The rare terms in a memory with `notes` live notes. A term is rare when at most the square root of that
    /// number contain it.
    pub(super) fn new(text: &'a TextIndex, notes: usize, handles: &'a [Handle]) -> Self {
        let max = notes.isqrt().max(RARE_NOTES);
        let rare = |node: &Node| {
            let terms = text.query_tokens(&format!("{}\n{}", node.title, node.body)).into_iter();
            // A shared number or date does not mean that two notes are related.
            let terms = terms.filter(|term| term.chars().any(char::is_alphabetic));
            // The note may have been removed from the index since the view was taken.
            let counted = terms.map(|term| (text.frequency(&term).max(1), term));
            let rare = counted.filter(|(count, _)| *count <= max);
            rare.map(|(count, term)| (term, bm25::idf(notes.max(count), count))).collect()
        };
        let terms = handles.iter().map(|handle| (handle.name.as_str(), rare(&handle.node))).collect();
        RareTerms { text, terms }
    }

    /// The rare terms of a node with their inverse document frequencies.
    pub(super) fn of(&self, handle: &Handle) -> impl Iterator<Item = (&str, f64)> {
        let terms = self.terms.get(handle.name.as_str());
        terms.into_iter().flatten().map(|(term, idf)| (term.as_str(), *idf))
    }

    /// A term as the note spells it; plain words are in lower case.
    pub(super) fn spelled(&self, term: &str, node: &Node) -> String {
        let spelled = node.title.split_whitespace().chain(node.body.split_whitespace());
        spelled
            .flat_map(|token| {
                std::iter::once(token.trim_matches(|c: char| !c.is_alphanumeric()))
                    .chain(token.unicode_words())
            })
            .find(|word| self.text.tokens(word).first().is_some_and(|first| first == term))
            .map_or_else(
                || term.to_owned(),
                |word| if is_identifier(word) { word.to_owned() } else { word.to_lowercase() },
            )
    }
}

/// The sentences of a text, normalised: lower case, without extra spaces, list marks and final punctuation.
pub(super) fn sentences(text: &str) -> BTreeSet<String> {
    text.lines()
        .flat_map(|line| line.unicode_sentences())
        .map(|sentence| {
            let words: Vec<&str> = sentence.split_whitespace().collect();
            let sentence = words.join(" ").to_lowercase();
            sentence
                .trim_start_matches(['-', '*', '#', '>', ' '])
                .trim_end_matches(['.', '!', ' '])
                .to_owned()
        })
        .filter(|sentence| !sentence.is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_compare_without_case_spacing_and_marks() {
        assert_eq!(sentences("- It  works.\n* Really!"), sentences("it works. Really."));
        assert_ne!(sentences("It works."), sentences("It works?"));
        assert!(sentences(" \n. ").is_empty());
    }
}
