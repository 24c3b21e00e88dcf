//! What a pipeline reads: the graph, the indexes through their read-only traits, and the settings.

use poc_config::Config;
use poc_embed::Embedder;
use poc_graph::error::Result;
use poc_graph::time::Timestamp;
use poc_graph::{View, Visibility};
use poc_index::{MentionReader, TextReader, VectorReader};

/// The indexes a pipeline may search. A stage asks for an index only when it needs it: the indexes of a past
/// state are built at that moment.
pub trait Indexes {
    /// The text index.
    fn text(&self) -> Result<&dyn TextReader>;
    /// The vector index.
    fn vectors(&self) -> Result<&dyn VectorReader>;
    /// The mention index.
    fn mentions(&self) -> Result<&dyn MentionReader>;
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
    pub(in crate::query) fn visibility(&self) -> Visibility {
        Visibility { now: self.now, quarantined: self.quarantined }
    }
}
