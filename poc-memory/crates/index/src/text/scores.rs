//! The terms of a query and their scores for all notes.

use super::compared_note::ComparedNote;
use super::hit::TextHit;
use super::joined::JoinedScores;
use super::postings::{Parameters, Postings, Scores, TextScope};
use super::stop_words::is_stop_word;
use super::subjects::{self, DifferingSubjects};
use super::tokens::{Name, Tokenizer, names_in_url};
use crate::snapshotted::ReadGuard;
use poc_graph::{NodeId, NoteSet};
use poc_rank::bm25;
use poc_rank::coverage::coverage;
use poc_rank::standard_score::Moments;
use rustc_hash::FxHashSet;
use std::borrow::Cow;

/// The maximum number of URLs in a query that are replaced by the names in them. Each replacement reads the whole
/// query.
const MAX_URLS: usize = 8;

/// A term is rare if it occurs in at most one of this many notes.
const RARE_SHARE: usize = 50;

/// The terms and names of a query. It holds a read lock on the index: keep it only briefly, and do not read the index
/// in any other way while it exists.
pub struct QueryTerms<'a> {
    postings: ReadGuard<'a, Postings>,
    tokenizer: &'a Tokenizer,
    terms: Vec<String>,
    // The names in the query.
    names: Vec<Name>,
}

/// The BM25 scores of all live notes for a query.
pub struct TextScores<'a> {
    terms: QueryTerms<'a>,
    scores: Scores,
    parameters: Parameters,
}

impl<'a> QueryTerms<'a> {
    /// The coverage of a note that has all terms. Their weights are added up, so that it may be slightly less than 1.
    pub const FULL_COVERAGE: f64 = 1.0 - 1e-9;

    /// Analyses a query.
    pub(super) fn of(
        query: &str,
        postings: ReadGuard<'a, Postings>,
        tokenizer: &'a Tokenizer,
    ) -> QueryTerms<'a> {
        let is_indexed = |name: &Name| postings.nodes_with_term(&name.whole).next().is_some();
        let mut query = Cow::Borrowed(query);
        let names = tokenizer.names(&query).into_iter().filter(|name| !is_indexed(name));
        let urls = names.filter_map(|name| Some((names_in_url(&name.spelling)?, name.spelling)));
        // If the URL of a ticket occurs in no note, it is replaced by the name of the ticket.
        for (names, url) in urls.take(MAX_URLS) {
            query = query.replace(&url, &names).into();
        }
        QueryTerms { terms: tokenizer.query(&query), names: tokenizer.names(&query), postings, tokenizer }
    }

    /// The notes that contain a whole name of the query (`INC-90037`, `store_open`, `src/main.rs`). A note is returned
    /// once per name that it contains.
    pub fn nodes_with_names(&self) -> impl Iterator<Item = NodeId> {
        self.names.iter().flat_map(|name| self.postings.nodes_with_term(&name.whole))
    }

    /// The folded names of the query that no note accepted by `is_visible` contains as a whole, and whose original
    /// spelling is not accepted by `is_key`.
    pub fn missing_names(
        &self,
        is_visible: &dyn Fn(NodeId) -> bool,
        is_key: &dyn Fn(&str) -> bool,
    ) -> impl Iterator<Item = &str> {
        let is_indexed = move |name: &Name| {
            self.postings.nodes_with_term(&name.whole).any(is_visible) || is_key(&name.spelling)
        };
        self.names.iter().filter(move |name| !is_indexed(name)).map(|name| name.whole.as_str())
    }

    /// The terms of a text outside the index.
    pub fn terms_of(&self, text: &str) -> FxHashSet<String> {
        self.tokenizer.terms(text).into_iter().collect()
    }

    /// Whether a word occurs in a note accepted by `is_visible`, or in a text outside the index, given by its terms.
    pub fn is_indexed(
        &self,
        word: &str,
        also: &FxHashSet<String>,
        is_visible: &dyn Fn(NodeId) -> bool,
    ) -> bool {
        let is_indexed =
            |term: &String| also.contains(term) || self.postings.nodes_with_term(term).any(is_visible);
        self.tokenizer.terms(word).iter().all(is_indexed)
    }

    /// Whether the query has terms and all of them occur in another text.
    pub fn all_terms_in(&self, text: &str) -> bool {
        let other = self.tokenizer.terms(text);
        !self.terms.is_empty() && self.terms.iter().all(|term| other.contains(term))
    }

    /// Compares the subject of a question with that of a note. Only in English.
    pub fn differing_subjects(&self, question: &str, note: &ComparedNote<'_>) -> DifferingSubjects {
        subjects::differing(self.tokenizer, question, note)
    }

    /// Whether a term of the query that is no stop word occurs in few notes: in at most one of 50 or, in a small index,
    /// in at most two.
    pub fn has_rare_term(&self) -> bool {
        self.rare_terms().next().is_some()
    }

    /// Whether a note lacks one of the rare terms ([`QueryTerms::has_rare_term`]).
    pub fn lacks_rare_term(&self, id: NodeId) -> bool {
        self.rare_terms().any(|term| !self.postings.contains(id, term))
    }

    fn rare_terms(&self) -> impl Iterator<Item = &String> {
        let max = (self.postings.len() / RARE_SHARE).max(2);
        let is_rare = move |term: &str| (1..=max).contains(&self.postings.frequency(term));
        self.terms.iter().filter(move |term| !is_stop_word(term) && is_rare(term))
    }

    /// The share, 0–1, of the query's terms, weighted by IDF, that a note contains ([`poc_rank::coverage`]) in its
    /// title, its text or `key`, which is not part of the index. The notes in `except` are left out of the IDF as if
    /// they did not exist.
    pub fn coverage(&self, id: NodeId, key: &str, except: &[NodeId]) -> f64 {
        let (postings, key) = (&self.postings, self.tokenizer.terms(key));
        let all = postings.len().saturating_sub(except.len());
        coverage(self.terms.iter().map(|term| {
            let left_out = except.iter().filter(|&&id| postings.contains(id, term)).count();
            let weight = bm25::idf(all, postings.frequency(term).saturating_sub(left_out));
            (weight, postings.contains(id, term) || key.contains(term))
        }))
    }

    /// The share, 0–1, of the query's terms that a note contains in its title or its text. Unlike
    /// [`QueryTerms::coverage`], it does not depend on other notes.
    pub fn share_of_terms(&self, id: NodeId) -> f64 {
        coverage(self.terms.iter().map(|term| (1.0, self.postings.contains(id, term))))
    }
}

impl<'a> TextScores<'a> {
    /// Scores all notes, with title and body as one document.
    pub(super) fn of_all(terms: QueryTerms<'a>, parameters: Parameters) -> TextScores<'a> {
        let scores = terms.postings.scores(&terms.terms, TextScope::Both, parameters);
        TextScores { terms, scores, parameters }
    }

    /// The terms of the query.
    pub fn terms(&self) -> &QueryTerms<'a> {
        &self.terms
    }

    /// All notes that contain a term, with their scores, in no particular order.
    pub fn hits(&self) -> impl Iterator<Item = TextHit> {
        self.hits_where(|_| true)
    }

    /// Like [`TextScores::hits`], but only notes whose score `is_wanted` accepts.
    pub fn hits_where(&self, is_wanted: impl Fn(f64) -> bool) -> impl Iterator<Item = TextHit> {
        self.terms.postings.scored(&self.scores, is_wanted).map(|(id, score)| TextHit { id, score })
    }

    /// The `k` best notes that `keep` accepts, best first. Equal scores are ordered by id.
    pub fn best(&self, k: usize, keep: &dyn Fn(NodeId) -> bool) -> Vec<TextHit> {
        let best = self.terms.postings.best(&self.scores, k, keep).into_iter();
        best.map(|hit| TextHit { id: hit.id, score: hit.score }).collect()
    }

    /// The moments of the scores of the notes in a set.
    pub fn moments(&self, notes: &NoteSet) -> Moments {
        let mut sums = Moments::default();
        match notes {
            NoteSet::Only(notes) => notes.iter().for_each(|&id| sums.add(self.of(id))),
            NoteSet::AllBut(hidden) => {
                self.scores.each().for_each(|(_, score)| sums.add(score));
                hidden.iter().for_each(|&id| sums.subtract(self.of(id)));
            }
        }
        sums
    }

    /// Scores several notes as one text.
    pub fn joined(&self) -> JoinedScores<'_> {
        JoinedScores::of_terms(&self.terms.terms, &self.terms.postings, self.parameters)
    }

    /// The score of a note; 0 if the note contains no term of the query.
    pub fn of(&self, id: NodeId) -> f64 {
        self.terms.postings.score(&self.scores, id)
    }
}
