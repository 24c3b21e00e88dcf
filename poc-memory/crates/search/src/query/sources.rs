//! The data that a pipeline reads: the graph, the indexes (through read-only traits) and the settings.

use super::visit_rule::VisitRules;
use poc_config::Config;
use poc_embed::Embedder;
use poc_graph::error::Result;
use poc_graph::time::Timestamp;
use poc_graph::{View, Visibility};
use poc_index::{MentionReader, TextReader, VectorReader};

/// The indexes that a pipeline can search. A stage requests an index only when it needs it, because the
/// indexes of a past state are built on demand.
pub trait Indexes {
    /// The text index.
    fn text(&self) -> Result<&dyn TextReader>;
    /// The vector index.
    fn vectors(&self) -> Result<&dyn VectorReader>;
    /// The mention index.
    fn mentions(&self) -> Result<&dyn MentionReader>;
}

/// What is known of a name that no note has in a past state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AbsentName {
    /// The state, as in a message: `at change 5`, `7d ago`.
    pub state: String,
    /// Why the note that has the name in another state does not have it in this one; `None` if there is no such note.
    pub reason: Option<String>,
}

/// A past state, which can explain why it does not have a note.
pub trait PastNames {
    /// What is known of a name that no note has in this state.
    fn absent(&self, name: &str) -> Result<AbsentName>;
}

/// The data that a pipeline reads.
#[derive(Clone, Copy)]
pub struct Sources<'a> {
    /// The graph.
    pub view: &'a View,
    /// The text, vector and mention indexes.
    pub indexes: &'a dyn Indexes,
    /// Embeds the texts of a pipeline.
    pub embedder: &'a dyn Embedder,
    /// The settings.
    pub config: &'a Config,
    /// The current time of the run.
    pub now: Timestamp,
    /// Whether quarantined nodes are visible to the run.
    pub quarantined: bool,
    /// Whether the generators return notes that only lead a search to others ([`View::is_pointer`]). The query of an
    /// agent has none, because agents do not read them.
    pub pointers: bool,
    /// Which visits the filters by visits count.
    pub visits: VisitRules<'a>,
    /// The past state, if the graph is that of one.
    pub past: Option<&'a dyn PastNames>,
}

impl Sources<'_> {
    /// Which nodes are visible to the run.
    pub(in crate::query) fn visibility(&self) -> Visibility {
        Visibility { now: self.now, quarantined: self.quarantined }
    }
}
