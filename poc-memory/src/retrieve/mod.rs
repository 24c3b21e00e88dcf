//! Finding by meaning and by words together.

pub mod explore;
pub mod key;
pub mod nearest;
mod ranks;
mod scores;
mod structure;
#[cfg(test)]
mod tests;

use crate::config::{self, Fusion};
use crate::embed::Embedder;
use crate::error::Result;
use crate::graph::{NodeId, Sight, View};
use crate::index::{MentionIndex, TextIndex, VectorHit, VectorIndex};

/// Nodes each list names; more when more are wanted.
const DEPTH: usize = 50;

/// Nodes an answer may have.
pub const MOST: usize = 256;

/// What is asked, and how much each answer counts.
#[derive(Clone, Copy)]
pub struct Retriever<'a> {
    /// The notes.
    pub view: &'a View,
    /// Words.
    pub text: &'a TextIndex,
    /// Vectors.
    pub vectors: &'a VectorIndex,
    /// Which notes name which.
    pub mentions: &'a MentionIndex,
    /// Turns the question into a vector.
    pub embedder: &'a dyn Embedder,
    /// How they are fused.
    pub config: &'a config::Retrieve,
    /// Notes that are left out as if they were not there.
    pub except: &'a [NodeId],
}

/// A node that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    /// The node.
    pub id: NodeId,
    /// The fused score: the sum of the shares.
    pub score: f64,
    /// The lists that named it, with its rank in each, from 1.
    pub ranks: Vec<(&'static str, usize)>,
    /// What each signal adds to the score; those that add nothing are left out.
    pub shares: Vec<(&'static str, f64)>,
    /// The note that its share of mentions or of names in common comes from, if it has one.
    pub led_by: Option<NodeId>,
    /// Whether the text asks for it by its key ([`key::asked`]): then it is before all others. Fused by
    /// ranks none is.
    pub by_key: bool,
    /// Its part that is nearest in meaning; `None` without a vector.
    pub near: Option<VectorHit>,
    /// How likely it answers the text, 0–1, where a cross-encoder was asked: not here.
    pub likelihood: Option<f64>,
}

/// What was found, best first, ties by id.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Retrieved {
    /// At most as many as wanted.
    pub hits: Vec<Hit>,
    /// The lists, with how many nodes each named.
    pub named: Vec<(&'static str, usize)>,
    /// The greatest cosine of any node with the question; `None` when nothing has one.
    pub cosine: Option<f64>,
}

impl<'a> Retriever<'a> {
    /// The same, as if some notes were not there.
    #[must_use]
    pub fn without(self, except: &'a [NodeId]) -> Self {
        Retriever { except, ..self }
    }

    /// The names that tie two notes for a text, folded, the rarest first.
    pub fn names_in_common(&self, one: NodeId, other: NodeId, text: &str) -> Vec<String> {
        self.mentions.names_between([one, other], self.most_sharing(), text)
    }

    /// How many notes may have a name that ties them: as the settings say, in a small store a tenth of the
    /// notes, and never fewer than two.
    fn most_sharing(&self) -> usize {
        self.config.scores.shared_by.min((self.view.live_count() / 10).max(2))
    }

    /// Whether a note may be found.
    fn sees(&self, id: NodeId, sight: Sight) -> bool {
        !self.except.contains(&id) && self.view.find(id).is_some_and(|ix| self.view.is_found_at(ix, sight))
    }

    /// The best `wanted` nodes that are seen for a text, fused as the settings say: by scores
    /// ([`crate::rank::fusion`], [`crate::rank::flow`]) or by ranks ([`crate::rank::rrf`]).
    ///
    /// Up to the switch-over of the vector index to HNSW every note is compared with the text by meaning
    /// and by words, and what comes out is what a comparison with all of them gives. Above it mean and
    /// deviation of the cosines are estimated, and candidates are the nearest 128 (more when more are
    /// wanted) and the best 1,000 by words. The step along the structure begins at the best 128; among them
    /// alone notes are compared with each other.
    ///
    /// # Errors
    /// As [`Retriever::find_near`]; what the embedder fails with.
    pub fn find(&self, text: &str, wanted: usize, sight: Sight) -> Result<Retrieved> {
        self.find_near(text, &self.embedder.embed_one(text)?, wanted, sight)
    }

    /// As [`Retriever::find`] for a text whose vector is known.
    ///
    /// # Errors
    /// `invalid_argument` when the vector is none of this store.
    pub fn find_near(&self, text: &str, vector: &[f32], wanted: usize, sight: Sight) -> Result<Retrieved> {
        match self.config.fusion {
            Fusion::Scores => scores::find(self, text, vector, wanted, sight),
            Fusion::Rrf => ranks::find(self, text, vector, wanted, sight),
        }
    }
}
