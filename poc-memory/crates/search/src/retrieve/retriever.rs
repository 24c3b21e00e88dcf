//! What a retrieval reads.
use poc_embed::Embedder;
use poc_graph::{NodeId, View, Visibility};
use poc_index::{MentionReader, TextReader, VectorReader};

/// Nodes each list names; more when more are wanted.
pub(super) const DEPTH: usize = 50;

/// What is asked, and how much each answer counts.
#[derive(Clone, Copy)]
pub struct Retriever<'a> {
    /// The notes.
    pub view: &'a View,
    /// The text index.
    pub text: &'a dyn TextReader,
    /// The vector index.
    pub vectors: &'a dyn VectorReader,
    /// The mention index.
    pub mentions: &'a dyn MentionReader,
    /// Turns the question into a vector.
    pub embedder: &'a dyn Embedder,
    /// How they are fused.
    pub config: &'a poc_config::RetrieveConfig,
    /// Notes that are left out as if they were not there.
    pub except: &'a [NodeId],
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
    pub(super) fn most_sharing(&self) -> usize {
        self.config.scores.shared_by.min((self.view.live_count() / 10).max(2))
    }

    /// Whether a note may be found.
    pub(super) fn is_visible(&self, id: NodeId, visibility: Visibility) -> bool {
        !self.except.contains(&id)
            && self.view.find(id).is_some_and(|ix| self.view.is_visible(ix, visibility))
    }
}
