//! The result of a sync, or the plan of a dry run.

use super::LinkReport;
use poc_graph::NodeId;

/// A note in the lists of a dry run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoteSummary {
    /// Its id in the store it is in.
    pub id: NodeId,
    /// Its key in that store.
    pub key: String,
    /// Its title.
    pub title: String,
}

/// The notes that a sync would pull, delete and push.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlannedChanges {
    /// Notes of the remote to pull.
    pub pulled: Vec<NoteSummary>,
    /// Local notes to delete.
    pub deleted: Vec<NoteSummary>,
    /// Local notes to push.
    pub pushed: Vec<NoteSummary>,
    /// Keys that cannot name the notes of both stores that have them now.
    pub conflicts: Vec<PlannedConflict>,
}

/// A key that names two texts, one of each store, of which only one can keep it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedConflict {
    /// The key.
    pub key: String,
    /// Whether the texts are two edits of one note; otherwise they are two notes.
    pub edited_in_both: bool,
}

/// A note that could not keep its key, because another note of the other store had it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRename {
    /// Whether it comes from the remote; otherwise it comes from the local store.
    pub pulled: bool,
    /// The key that it had there.
    pub key: String,
    /// The key that it has now in the other store, and in its own store, too, if both stores have both notes.
    pub renamed: String,
    /// Whether it is the earlier of two edits of one note, of which the later one kept the key.
    pub edited_in_both: bool,
}

/// The result of a sync, or the plan of a dry run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SyncReport {
    /// Number of notes pulled from the remote.
    pub pulled: u64,
    /// Number of notes deleted because the remote no longer has them, including those whose text was
    /// replaced.
    pub deleted: u64,
    /// Number of notes pushed to the remote.
    pub pushed: u64,
    /// Number of notes retired because the remote retired them.
    pub retired: u64,
    /// Numbers of synchronised edges.
    pub links: LinkReport,
    /// Notes that got another key.
    pub renamed: Vec<KeyRename>,
    /// The changes that a dry run plans; empty after a sync.
    pub planned: PlannedChanges,
}
