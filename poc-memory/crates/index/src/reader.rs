//! The indexes as those see them who only read: the retriever and the pipeline language. None of these traits
//! can change an index.
//!
//! What concerns every note ([`TextReader::scores`], [`VectorReader::cosine_scores`]) is asked for once per
//! question. The answer is a type of its own, so that no note costs a call through a trait object.

use super::mentions::MentionIndex;
use super::text::{TextField, TextHit, TextIndex, TextScores};
use super::vectors::{CosineScores, VectorHit, VectorIndex};
use poc_graph::NodeId;
use poc_graph::error::Result;
use std::sync::Arc;

/// Reads the text index.
pub trait TextReader: Send + Sync {
    /// As [`TextIndex::search`].
    fn search(
        &self,
        query: &str,
        field: TextField,
        limit: usize,
        keep: &dyn Fn(NodeId) -> bool,
    ) -> Vec<TextHit>;
    /// As [`TextIndex::search_all`].
    fn search_all(&self, query: &str, limit: usize) -> Vec<TextHit>;
    /// As [`TextIndex::scores`].
    fn scores(&self, query: &str) -> TextScores<'_>;
}

impl TextReader for TextIndex {
    fn search(
        &self,
        query: &str,
        field: TextField,
        limit: usize,
        keep: &dyn Fn(NodeId) -> bool,
    ) -> Vec<TextHit> {
        TextIndex::search(self, query, field, limit, keep)
    }

    fn search_all(&self, query: &str, limit: usize) -> Vec<TextHit> {
        TextIndex::search_all(self, query, limit)
    }

    fn scores(&self, query: &str) -> TextScores<'_> {
        TextIndex::scores(self, query)
    }
}

/// Reads the vector index.
pub trait VectorReader: Send + Sync {
    /// As [`VectorIndex::search`].
    ///
    /// # Errors
    /// `invalid_argument` when the vector is none of this store.
    fn search(&self, vector: &[f32], k: usize, keep: &dyn Fn(NodeId) -> bool) -> Result<Vec<VectorHit>>;
    /// As [`VectorIndex::of`].
    fn of(&self, id: NodeId) -> Vec<(u16, Arc<[f32]>)>;
    /// As [`VectorIndex::similarity`].
    fn similarity(&self, a: NodeId, b: NodeId) -> Option<f64>;
    /// As [`VectorIndex::cosine_scores`].
    ///
    /// # Errors
    /// As [`VectorReader::search`].
    fn cosine_scores(&self, vector: &[f32]) -> Result<CosineScores<'_>>;
}

impl VectorReader for VectorIndex {
    fn search(&self, vector: &[f32], k: usize, keep: &dyn Fn(NodeId) -> bool) -> Result<Vec<VectorHit>> {
        VectorIndex::search(self, vector, k, keep)
    }

    fn of(&self, id: NodeId) -> Vec<(u16, Arc<[f32]>)> {
        VectorIndex::of(self, id)
    }

    fn similarity(&self, a: NodeId, b: NodeId) -> Option<f64> {
        VectorIndex::similarity(self, a, b)
    }

    fn cosine_scores(&self, vector: &[f32]) -> Result<CosineScores<'_>> {
        VectorIndex::cosine_scores(self, vector)
    }
}

/// Reads the mention index.
pub trait MentionReader: Send + Sync {
    /// As [`MentionIndex::mentioned_by`].
    fn mentioned_by(&self, id: NodeId) -> Vec<NodeId>;
    /// As [`MentionIndex::mentioning`].
    fn mentioning(&self, id: NodeId) -> Vec<NodeId>;
    /// As [`MentionIndex::sharing_names`].
    fn sharing_names(&self, ids: &[NodeId], most: usize, text: &str) -> Vec<Vec<(NodeId, usize)>>;
    /// As [`MentionIndex::names_between`].
    fn names_between(&self, notes: [NodeId; 2], most: usize, text: &str) -> Vec<String>;
    /// As [`MentionIndex::in_text`].
    fn in_text(&self, text: &str) -> Vec<NodeId>;
}

impl MentionReader for MentionIndex {
    fn mentioned_by(&self, id: NodeId) -> Vec<NodeId> {
        MentionIndex::mentioned_by(self, id)
    }

    fn mentioning(&self, id: NodeId) -> Vec<NodeId> {
        MentionIndex::mentioning(self, id)
    }

    fn sharing_names(&self, ids: &[NodeId], most: usize, text: &str) -> Vec<Vec<(NodeId, usize)>> {
        MentionIndex::sharing_names(self, ids, most, text)
    }

    fn names_between(&self, notes: [NodeId; 2], most: usize, text: &str) -> Vec<String> {
        MentionIndex::names_between(self, notes, most, text)
    }

    fn in_text(&self, text: &str) -> Vec<NodeId> {
        MentionIndex::in_text(self, text)
    }
}
