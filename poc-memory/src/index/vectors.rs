//! The vector index: exact while small, HNSW above.

use crate::config;
use crate::error::Result;
use crate::graph::{Delta, NodeId};
use crate::store::Follower;
use std::path::Path;
use std::sync::Arc;

/// A node near a vector: its best part.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VectorHit {
    /// The node.
    pub id: NodeId,
    /// The part that was nearest: 0 is the title, passages follow.
    pub part: u16,
    /// Cosine, −1 to 1.
    pub cosine: f64,
}

/// The vector index of live nodes.
pub struct VectorIndex {}

impl VectorIndex {
    /// Opens the saved files in a directory when they are whole and fit embedder and settings;
    /// else starts empty and waits to be fed.
    pub fn open(
        _directory: &Path,
        _config: &config::Vectors,
        _embedder: &str,
        _dimensions: usize,
    ) -> Result<VectorIndex> {
        todo!()
    }

    /// The `k` nearest nodes that `keep` lets through, best part each, best first, ties by id.
    pub fn search(
        &self,
        _vector: &[f32],
        _k: usize,
        _keep: &dyn Fn(NodeId) -> bool,
    ) -> Result<Vec<VectorHit>> {
        todo!()
    }

    /// As [`VectorIndex::search`] over titles (part 0) only.
    pub fn search_titles(
        &self,
        _vector: &[f32],
        _k: usize,
        _keep: &dyn Fn(NodeId) -> bool,
    ) -> Result<Vec<VectorHit>> {
        todo!()
    }

    /// The vectors of a node by part.
    pub fn of(&self, _id: NodeId) -> Vec<(u16, Arc<[f32]>)> {
        todo!()
    }

    /// Cosine of the best pair of parts of two nodes; `None` when either has no vector.
    pub fn cosine(&self, _a: NodeId, _b: NodeId) -> Option<f64> {
        todo!()
    }
}

impl Follower for VectorIndex {
    fn name(&self) -> &'static str {
        "vectors"
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
