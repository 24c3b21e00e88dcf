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
}

/// A copied note that could not keep its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRename {
    /// Whether it was pulled; otherwise it was pushed.
    pub pulled: bool,
    /// Its key in the source store.
    pub key: String,
    /// Its key in the target store.
    pub renamed: String,
    /// Whether its key was taken by its own copy, because it was edited in both stores.
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
    /// Notes whose key was taken in the other store.
    pub renamed: Vec<KeyRename>,
    /// The changes that a dry run plans; empty after a sync.
    pub planned: PlannedChanges,
}
