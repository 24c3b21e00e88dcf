//! Finding by meaning and by words together: three ranked lists, fused by their ranks.

pub mod explore;
pub mod nearest;
#[cfg(test)]
mod tests;

use crate::config;
use crate::embed::Embedder;
use crate::error::{Error, Result};
use crate::graph::NodeId;
use crate::index::{TextField, TextIndex, VectorIndex};
use crate::rank::rrf::rrf;

/// Nodes each list names; more when more are wanted.
const DEPTH: usize = 50;

/// Nodes an answer may have.
pub const MOST: usize = 256;

/// The lists, in the order of [`Hit::ranks`].
pub const LISTS: [&str; 3] = ["meaning", "title", "text"];

/// What is asked, and how much each answer counts.
#[derive(Clone, Copy)]
pub struct Retriever<'a> {
    /// Words.
    pub text: &'a TextIndex,
    /// Vectors.
    pub vectors: &'a VectorIndex,
    /// Turns the question into a vector.
    pub embedder: &'a dyn Embedder,
    /// Weights of the lists.
    pub config: &'a config::Retrieve,
}

/// A node that was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hit {
    /// The node.
    pub id: NodeId,
    /// The fused score: above 0, and at most the weights' sum / 61.
    pub score: f64,
    /// Its rank, from 1, in each of [`LISTS`].
    pub ranks: [Option<usize>; 3],
}

/// What was found, best first, ties by id.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Retrieved {
    /// At most as many as wanted.
    pub hits: Vec<Hit>,
    /// How many nodes each of [`LISTS`] named.
    pub named: [usize; 3],
}

impl Retriever<'_> {
    /// The best `wanted` nodes that `keep` lets through for a text: the nearest by their best vector,
    /// 50 or as many as are wanted, the best as many by BM25 of the title and by BM25 of the body,
    /// fused by reciprocal rank ([`crate::rank::rrf`]).
    ///
    /// # Errors
    /// As [`Retriever::find_near`]; what the embedder fails with.
    pub fn find(&self, text: &str, wanted: usize, keep: &dyn Fn(NodeId) -> bool) -> Result<Retrieved> {
        self.find_near(text, &self.embedder.embed_one(text)?, wanted, keep)
    }

    /// As [`Retriever::find`] for a text whose vector is known.
    ///
    /// # Errors
    /// `invalid_config` when a weight is no number from 0.
    pub fn find_near(
        &self,
        text: &str,
        vector: &[f32],
        wanted: usize,
        keep: &dyn Fn(NodeId) -> bool,
    ) -> Result<Retrieved> {
        let weights = self.weights()?;
        let depth = wanted.max(DEPTH);
        let near = self.vectors.search(vector, depth, keep)?;
        let by_field = |field| -> Vec<NodeId> {
            self.text.search(text, field, depth, keep).into_iter().map(|hit| hit.id).collect()
        };
        let lists = [
            near.into_iter().map(|hit| hit.id).collect(),
            by_field(TextField::Title),
            by_field(TextField::Body),
        ];
        let [meaning, title, body]: &[Vec<NodeId>; 3] = &lists;
        let [a, b, c] = weights;
        let fused = rrf(&[(a, meaning.as_slice()), (b, title.as_slice()), (c, body.as_slice())]);
        let rank =
            |id| lists.each_ref().map(|list| list.iter().position(|other| *other == id).map(|at| at + 1));
        let hits = fused.into_iter().take(wanted).map(|(id, score)| Hit { id, score, ranks: rank(id) });
        Ok(Retrieved { hits: hits.collect(), named: lists.each_ref().map(Vec::len) })
    }

    fn weights(&self) -> Result<[f64; 3]> {
        let config = self.config;
        let named = [
            ("vector-weight", config.vector_weight),
            ("title-weight", config.title_weight),
            ("body-weight", config.body_weight),
        ];
        for (name, weight) in named {
            if !(weight.is_finite() && weight >= 0.0) {
                return Err(Error::config(format!("`{name}` cannot be {weight}"))
                    .hint("a number from 0 up; 1 is usual, 0 leaves the list out")
                    .field(format!("retrieve.{name}")));
            }
        }
        Ok(named.map(|(_, weight)| weight))
    }
}
