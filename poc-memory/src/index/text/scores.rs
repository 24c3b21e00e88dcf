//! What the words of a question say of every note at once.

use super::postings::{Postings, Scope, Scores};
use super::{TextHit, TextIndex};
use crate::graph::NodeId;
use crate::index::kept::Reading;
use crate::rank::bm25;
use crate::rank::coverage::coverage;
use crate::rank::standard::Sums;
use rustc_hash::FxHashSet;

/// BM25 of every live note for a question, while the index stays as it is: do not hold it for long, and
/// ask the index nothing else meanwhile.
pub struct TextScores<'a> {
    postings: Reading<'a, Postings>,
    scores: Scores,
    terms: Vec<String>,
    // Whole folded names the question has.
    names: Vec<String>,
}

impl TextIndex {
    /// BM25 over title and body as one document, in which a term of the title counts `title-weight`
    /// times, of every note that holds a term of the query.
    pub fn scores(&self, query: &str) -> TextScores<'_> {
        let (terms, names) = (self.tokenizer.query(query), self.tokenizer.names(query));
        let postings = self.kept.read();
        let scores = postings.scores(&terms, Scope::Both, self.parameters);
        TextScores { postings, scores, terms, names }
    }
}

impl TextScores<'_> {
    /// Every note that holds a term, with its score above 0, in no order.
    pub fn hits(&self) -> impl Iterator<Item = TextHit> {
        self.postings.scored(&self.scores).map(|(id, score)| TextHit { id, score })
    }

    /// The sums of the scores of all live notes but those of `hidden`.
    pub fn sums(&self, hidden: &FxHashSet<NodeId>) -> Sums {
        let mut sums = Sums::default();
        self.hits().for_each(|hit| sums.add(hit.score));
        hidden.iter().for_each(|&id| sums.subtract(self.of(id)));
        sums
    }

    /// The score of a note, 0 when it holds no term.
    pub fn of(&self, id: NodeId) -> f64 {
        self.postings.score(&self.scores, id)
    }

    /// For each name in the question that is told from common words by its form (`INC-90037`,
    /// `store_open`, `src/main.rs`), the notes that hold it as a whole.
    pub fn named(&self) -> impl Iterator<Item = NodeId> {
        self.names.iter().flat_map(|name| self.postings.holding(name))
    }

    /// The names of the question, folded, that none of the notes that `sees` lets through holds as a whole.
    pub fn unheld(&self, sees: &dyn Fn(NodeId) -> bool) -> impl Iterator<Item = &str> {
        self.names.iter().filter(move |name| !self.postings.holding(name).any(sees)).map(String::as_str)
    }

    /// How much of what the question asks about a note speaks of ([`crate::rank::coverage`]), 0–1.
    pub fn coverage(&self, id: NodeId) -> f64 {
        let postings = &self.postings;
        coverage(self.terms.iter().map(|term| {
            let weight = bm25::idf(postings.len(), postings.frequency(term));
            (weight, postings.holds(id, term))
        }))
    }
}
