//! The inverted index in memory: BM25 over titles and bodies.

use crate::config;
use crate::error::Result;
use crate::graph::{Delta, NodeId};
use crate::store::Follower;
use std::path::Path;

/// Which text of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextField {
    /// The title.
    Title,
    /// The body.
    Body,
}

/// A node that matches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TextHit {
    /// The node.
    pub id: NodeId,
    /// BM25 score, above 0.
    pub score: f64,
}

/// The text index of live nodes.
pub struct TextIndex {}

impl TextIndex {
    /// Opens the saved snapshot in a directory when it is whole and fits the settings; else starts
    /// empty ([`Follower::applied`] is 0) and waits to be fed.
    pub fn open(_directory: &Path, _config: &config::Text) -> Result<TextIndex> {
        todo!()
    }

    /// The best matches of any of the query's terms in one field, best first, ties by id.
    pub fn search(&self, _query: &str, _field: TextField, _limit: usize) -> Vec<TextHit> {
        todo!()
    }

    /// As [`TextIndex::search`] over both fields as one document.
    pub fn search_all(&self, _query: &str, _limit: usize) -> Vec<TextHit> {
        todo!()
    }
}

impl Follower for TextIndex {
    fn name(&self) -> &'static str {
        "text"
    }
    fn applied(&self) -> u64 {
        todo!()
    }
    fn reset(&self) -> Result<()> {
        todo!()
    }
    fn apply(&self, _seq: u64, _deltas: &[Delta]) -> Result<()> {
        todo!()
    }
    fn checkpoint(&self) -> Result<()> {
        todo!()
    }
}
