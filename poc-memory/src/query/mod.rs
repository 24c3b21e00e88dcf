//! The pipeline language. It sees a [`View`] and the indexes, takes no lock and cannot write.

mod arguments;
mod ast;
mod explain;
mod field;
mod glob;
mod lex;
mod names;
mod outline;
mod param;
mod parse;
mod pass;
mod plan;
mod problem;
mod scan;
mod stage;
#[cfg(test)]
pub(crate) mod tests;
mod top;
mod value;

pub use ast::Pipeline;
pub use explain::{Explanation, StageReport};
pub use field::{FIELDS, Field, Unit};
pub use names::Names;
pub use outline::{Argument, Outline};
pub use param::{Absent, Param, Place, Takes};
pub use stage::{Example, Kind, STAGES, StageDef, is_generated, is_id, vocabulary};

use crate::config::Config;
use crate::embed::Embedder;
use crate::error::Result;
use crate::graph::{Ix, Sight, View};
use crate::index::{MentionIndex, TextIndex, VectorIndex};
use crate::time::Timestamp;

/// The indexes a pipeline may search. Each is asked for only when a stage needs it: those of the
/// past are built then.
pub trait Indexes {
    /// Words.
    fn text(&self) -> Result<&TextIndex>;
    /// Vectors.
    fn vectors(&self) -> Result<&VectorIndex>;
    /// Which notes name which.
    fn mentions(&self) -> Result<&MentionIndex>;
}

/// Indexes at hand: text, vectors and mentions.
impl Indexes for (&TextIndex, &VectorIndex, &MentionIndex) {
    fn text(&self) -> Result<&TextIndex> {
        Ok(self.0)
    }

    fn vectors(&self) -> Result<&VectorIndex> {
        Ok(self.1)
    }

    fn mentions(&self) -> Result<&MentionIndex> {
        Ok(self.2)
    }
}

/// What a pipeline reads.
#[derive(Clone, Copy)]
pub struct Sources<'a> {
    /// The graph.
    pub view: &'a View,
    /// Words and vectors.
    pub indexes: &'a dyn Indexes,
    /// Turns the texts of a pipeline into vectors.
    pub embedder: &'a dyn Embedder,
    /// The settings.
    pub config: &'a Config,
    /// The instant the pipeline runs at.
    pub now: Timestamp,
    /// Whether nodes that are quarantined are seen.
    pub quarantined: bool,
    /// Whether a visit counts only for the version it saw, so that a node edited since counts as
    /// not visited.
    pub revisit_on_change: bool,
}

impl Sources<'_> {
    /// What is seen.
    pub(in crate::query) fn sight(&self) -> Sight {
        Sight { now: self.now, quarantined: self.quarantined }
    }
}

/// A node with its score.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scored {
    /// The node.
    pub ix: Ix,
    /// The score.
    pub score: f64,
}

/// Two nodes that are alike in text but live in different communities.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// The node with the smaller id.
    pub a: Ix,
    /// The other.
    pub b: Ix,
    /// Their similarity, 0–1.
    pub similarity: f64,
}

/// What a stage takes and returns.
#[derive(Clone, Debug, Default)]
pub struct ResultSet {
    /// The nodes, in order.
    pub items: Vec<Scored>,
    /// The pairs a generator found; only pairs whose members are both in `items` count.
    pub pairs: Vec<Pair>,
}
