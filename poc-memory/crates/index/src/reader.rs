//! Read-only traits of the indexes, for the retriever and the pipeline language. None of them can change an index.
//!
//! The scores of all notes ([`TextReader::scores`], [`VectorReader::cosine_scores`]) are requested once per query. They
//! are concrete types, so there is no dynamic call per note.

use super::mentions::MentionIndex;
use super::text::{TextField, TextHit, TextIndex, TextScores};
use super::vectors::{CosineScores, VectorHit, VectorIndex};
use poc_graph::NodeId;
use poc_graph::error::Result;
use rustc_hash::FxHashSet;
use std::sync::Arc;

/// Reads the text index.
pub trait TextReader: Send + Sync {
    /// See [`TextIndex::search`].
    fn search(
        &self,
        query: &str,
        field: TextField,
        limit: usize,
        keep: &dyn Fn(NodeId) -> bool,
    ) -> Vec<TextHit>;
    /// See [`TextIndex::search_all`].
    fn search_all(&self, query: &str, limit: usize) -> Vec<TextHit>;
    /// See [`TextIndex::scores`].
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
    /// See [`VectorIndex::search`].
    ///
    /// # Errors
    /// `invalid_argument` if the vector has the wrong length or contains values that are not finite.
    fn search(&self, vector: &[f32], k: usize, keep: &dyn Fn(NodeId) -> bool) -> Result<Vec<VectorHit>>;
    /// See [`VectorIndex::of`].
    fn of(&self, id: NodeId) -> Vec<(u16, Arc<[f32]>)>;
    /// See [`VectorIndex::similarity`].
    fn similarity(&self, a: NodeId, b: NodeId) -> Option<f64>;
    /// See [`VectorIndex::cosine_scores`].
    ///
    /// # Errors
    /// `invalid_argument` if the vector has the wrong length or contains values that are not finite.
    fn cosine_scores(&self, vector: &[f32]) -> Result<CosineScores<'_>>;
    /// See [`VectorIndex::cosine_scores_of`].
    ///
    /// # Errors
    /// As for [`VectorReader::cosine_scores`].
    fn cosine_scores_of(&self, vector: &[f32], notes: &FxHashSet<NodeId>) -> Result<CosineScores<'_>>;
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

    fn cosine_scores_of(&self, vector: &[f32], notes: &FxHashSet<NodeId>) -> Result<CosineScores<'_>> {
        VectorIndex::cosine_scores_of(self, vector, notes)
    }
}

/// Reads the mention index.
pub trait MentionReader: Send + Sync {
    /// See [`MentionIndex::mentioned_by`].
    fn mentioned_by(&self, id: NodeId) -> Vec<NodeId>;
    /// See [`MentionIndex::mentioning`].
    fn mentioning(&self, id: NodeId) -> Vec<NodeId>;
    /// See [`MentionIndex::sharing_names`].
    fn sharing_names(&self, ids: &[NodeId], max: usize, text: &str) -> Vec<Vec<(NodeId, usize)>>;
    /// See [`MentionIndex::names_between`].
    fn names_between(&self, notes: [NodeId; 2], max: usize, text: &str) -> Vec<String>;
    /// See [`MentionIndex::in_text`].
    fn in_text(&self, text: &str) -> Vec<NodeId>;
}

impl MentionReader for MentionIndex {
    fn mentioned_by(&self, id: NodeId) -> Vec<NodeId> {
        MentionIndex::mentioned_by(self, id)
    }

    fn mentioning(&self, id: NodeId) -> Vec<NodeId> {
        MentionIndex::mentioning(self, id)
    }

    fn sharing_names(&self, ids: &[NodeId], max: usize, text: &str) -> Vec<Vec<(NodeId, usize)>> {
        MentionIndex::sharing_names(self, ids, max, text)
    }

    fn names_between(&self, notes: [NodeId; 2], max: usize, text: &str) -> Vec<String> {
        MentionIndex::names_between(self, notes, max, text)
    }

    fn in_text(&self, text: &str) -> Vec<NodeId> {
        MentionIndex::in_text(self, text)
    }
}
