//! What the words of a question say of every note at once.

use super::hit::TextHit;
use super::postings::{Parameters, Postings, Scope, Scores};
use super::tokens::{Name, Tokenizer, names_in_url};
use crate::snapshotted::ReadGuard;
use poc_graph::NodeId;
use poc_rank::bm25;
use poc_rank::coverage::coverage;
use poc_rank::standard_score::Moments;
use rustc_hash::FxHashSet;
use std::borrow::Cow;

/// Addresses in a question that are looked into: each costs a pass over it.
const ADDRESSES: usize = 8;

/// The words of a question, while the index stays as it is: do not hold it for long, and ask the index
/// nothing else meanwhile.
pub struct QueryTerms<'a> {
    postings: ReadGuard<'a, Postings>,
    tokenizer: &'a Tokenizer,
    terms: Vec<String>,
    // What the question names.
    names: Vec<Name>,
}

/// BM25 of every live note for a question.
pub struct TextScores<'a> {
    terms: QueryTerms<'a>,
    scores: Scores,
}

impl<'a> QueryTerms<'a> {
    /// What these postings know of the words of a question.
    pub(super) fn of(
        query: &str,
        postings: ReadGuard<'a, Postings>,
        tokenizer: &'a Tokenizer,
    ) -> QueryTerms<'a> {
        let is_indexed = |name: &Name| postings.nodes_with_term(&name.whole).next().is_some();
        let mut query = Cow::Borrowed(query);
        let names = tokenizer.names(&query).into_iter().filter(|name| !is_indexed(name));
        let pages = names.filter_map(|name| Some((names_in_url(&name.spelling)?, name.spelling)));
        // The address of a ticket that no note holds asks for the ticket.
        for (within, address) in pages.take(ADDRESSES) {
            query = query.replace(&address, &within).into();
        }
        QueryTerms { terms: tokenizer.query(&query), names: tokenizer.names(&query), postings, tokenizer }
    }

    /// For each name in the question that is told from common words by its form (`INC-90037`,
    /// `store_open`, `src/main.rs`), the notes that hold it as a whole.
    pub fn nodes_with_names(&self) -> impl Iterator<Item = NodeId> {
        self.names.iter().flat_map(|name| self.postings.nodes_with_term(&name.whole))
    }

    /// The names of the question, folded, that none of the notes that `sees` lets through holds as a whole,
    /// and that `is_key` does not know as it is spelt there.
    pub fn missing_names(
        &self,
        sees: &dyn Fn(NodeId) -> bool,
        is_key: &dyn Fn(&str) -> bool,
    ) -> impl Iterator<Item = &str> {
        let is_indexed =
            move |name: &Name| self.postings.nodes_with_term(&name.whole).any(sees) || is_key(&name.spelling);
        self.names.iter().filter(move |name| !is_indexed(name)).map(|name| name.whole.as_str())
    }

    /// Whether notes that `sees` lets through hold a word, or `also` does, which is no part of the index.
    pub fn is_indexed(&self, word: &str, also: &str, sees: &dyn Fn(NodeId) -> bool) -> bool {
        let also = self.tokenizer.terms(also);
        let is_indexed = |term: &String| also.contains(term) || self.postings.nodes_with_term(term).any(sees);
        self.tokenizer.terms(word).iter().all(is_indexed)
    }

    /// Whether the question has words, and another text all of them.
    pub fn all_terms_in(&self, text: &str) -> bool {
        let there = self.tokenizer.terms(text);
        !self.terms.is_empty() && self.terms.iter().all(|term| there.contains(term))
    }

    /// How much of what the question asks about a note speaks of ([`poc_rank::coverage`]), 0–1: of its
    /// title, its text and `key`, which is no part of the index.
    pub fn coverage(&self, id: NodeId, key: &str) -> f64 {
        let (postings, key) = (&self.postings, self.tokenizer.terms(key));
        coverage(self.terms.iter().map(|term| {
            let weight = bm25::idf(postings.len(), postings.frequency(term));
            (weight, postings.contains(id, term) || key.contains(term))
        }))
    }
}

impl<'a> TextScores<'a> {
    /// The scores of every note over title and body as one document.
    pub(super) fn of_all(terms: QueryTerms<'a>, parameters: Parameters) -> TextScores<'a> {
        let scores = terms.postings.scores(&terms.terms, Scope::Both, parameters);
        TextScores { terms, scores }
    }

    /// The question.
    pub fn terms(&self) -> &QueryTerms<'a> {
        &self.terms
    }

    /// Every note that holds a term, with its score above 0, in no order.
    pub fn hits(&self) -> impl Iterator<Item = TextHit> {
        self.hits_where(|_| true)
    }

    /// Of these the ones whose score is worth it.
    pub fn hits_where(&self, worth: impl Fn(f64) -> bool) -> impl Iterator<Item = TextHit> {
        self.terms.postings.scored(&self.scores, worth).map(|(id, score)| TextHit { id, score })
    }

    /// The `k` best that `keep` lets through, best first, ties by id.
    pub fn best(&self, k: usize, keep: &dyn Fn(NodeId) -> bool) -> Vec<TextHit> {
        let best = self.terms.postings.best(&self.scores, k, keep).into_iter();
        best.map(|hit| TextHit { id: hit.id, score: hit.score }).collect()
    }

    /// The sums of the scores of all live notes but those of `hidden`.
    pub fn moments(&self, hidden: &FxHashSet<NodeId>) -> Moments {
        let mut sums = Moments::default();
        self.scores.each().for_each(|(_, score)| sums.add(score));
        hidden.iter().for_each(|&id| sums.subtract(self.of(id)));
        sums
    }

    /// The score of a note, 0 when it holds no term.
    pub fn of(&self, id: NodeId) -> f64 {
        self.terms.postings.score(&self.scores, id)
    }
}
