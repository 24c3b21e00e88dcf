//! The data that a retrieval reads.

use poc_embed::Embedder;
use poc_graph::{NodeId, NoteSet, View, Visibility};
use poc_index::{MentionReader, TextReader, VectorReader};

/// The length of each list, unless more nodes are wanted.
pub(super) const DEPTH: usize = 50;

/// An identifier in at most this many notes relates them even in a small store.
const IDENTIFIER_NOTES: usize = 3;

/// Finds nodes for a text in the graph and its indexes.
#[derive(Clone, Copy)]
pub struct Retriever<'a> {
    /// The graph.
    pub view: &'a View,
    /// The text index.
    pub text: &'a dyn TextReader,
    /// The vector index.
    pub vectors: &'a dyn VectorReader,
    /// The mention index.
    pub mentions: &'a dyn MentionReader,
    /// The embedder for the query.
    pub embedder: &'a dyn Embedder,
    /// The fusion method and its weights.
    pub config: &'a poc_config::RetrieveConfig,
    /// Notes that are treated as if they did not exist.
    pub except: &'a [NodeId],
    /// Notes outside this set are not found, for example those of other projects. `None` if all notes may be found.
    pub within: Option<&'a NoteSet>,
    /// Whether notes derived from others may be hits. Otherwise their sources represent them, unless the text names
    /// them by their key.
    pub list_derived: bool,
}

impl<'a> Retriever<'a> {
    /// The same retriever, for which the given notes do not exist.
    #[must_use]
    pub fn without(self, except: &'a [NodeId]) -> Self {
        Retriever { except, ..self }
    }

    /// The same retriever, which returns only notes of a set, if one is given.
    #[must_use]
    pub fn within(self, within: Option<&'a NoteSet>) -> Self {
        Retriever { within, ..self }
    }

    /// The same retriever, with or without derived notes among its hits.
    #[must_use]
    pub fn listing_derived(self, list_derived: bool) -> Self {
        Retriever { list_derived, ..self }
    }

    /// The same retriever with other settings.
    #[must_use]
    pub fn with_config(self, config: &'a poc_config::RetrieveConfig) -> Self {
        Retriever { config, ..self }
    }

    /// The folded names that relate two notes for a text, rarest first.
    pub fn names_in_common(&self, one: NodeId, other: NodeId, text: &str) -> Vec<String> {
        let names_in = |max| self.mentions.names_between([one, other], max, text);
        let (max, max_identifiers) = (self.max_sharing(), self.max_sharing_identifiers());
        let mut names = names_in(max_identifiers);
        if max < max_identifiers {
            let rare = names_in(max);
            let has = |name: &String, is: fn(char) -> bool| name.chars().any(is);
            let is_identifier = |name: &String| has(name, char::is_alphabetic) && has(name, char::is_numeric);
            names.retain(|name| is_identifier(name) || rare.contains(name));
        }
        names
    }

    /// The notes that have a name in common with a note, as [`Retriever::names_in_common`] returns them. Notes with the
    /// rarest names come first.
    pub fn notes_sharing_names(&self, id: NodeId) -> Vec<NodeId> {
        let (max, max_identifiers) = (self.max_sharing(), self.max_sharing_identifiers());
        let found = self.mentions.sharing_names(&[id], max_identifiers, "");
        let mut sharing: Vec<(NodeId, usize)> = found.into_iter().flatten().collect();
        sharing.retain(|&(other, count)| count <= max || !self.names_in_common(id, other, "").is_empty());
        sharing.sort_by_key(|&(id, count)| (count, id));
        sharing.into_iter().map(|(id, _)| id).collect()
    }

    /// The maximum number of notes in which a shared name may occur: the configured value or, in a small store, a tenth
    /// of the notes but at least two.
    pub(super) fn max_sharing(&self) -> usize {
        self.config.scores.max_sharing(self.view.live_count(), 2)
    }

    /// The same for an identifier that relates two notes. In a small store more notes may have it, because it names one
    /// particular thing.
    fn max_sharing_identifiers(&self) -> usize {
        self.config.scores.max_sharing(self.view.live_count(), IDENTIFIER_NOTES)
    }

    /// Whether a note may be found.
    pub(super) fn is_visible(&self, id: NodeId, visibility: Visibility) -> bool {
        !self.except.contains(&id)
            && self.within.is_none_or(|notes| notes.contains(id))
            && self.view.find(id).is_some_and(|ix| self.view.is_visible(ix, visibility))
    }
}
