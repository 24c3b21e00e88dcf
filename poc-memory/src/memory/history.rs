//! What happened to a node.

use super::diff::{self, FieldChange};
use super::{Memory, resolve};
use crate::error::Result;
use crate::graph::{NodeId, Sight};
use crate::store::{Cause, Change};

/// The history of one node.
#[derive(Clone, Debug)]
pub struct History {
    /// The node.
    pub id: NodeId,
    /// Its key; of a deleted node the last one.
    pub key: String,
    /// Its changes, oldest first.
    pub entries: Vec<Entry>,
}

/// One change.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Number of the transaction.
    pub seq: u64,
    /// Who, when, why.
    pub cause: Cause,
    /// What was done.
    pub did: Did,
    /// The version after it; of a deletion the last one.
    pub version: u32,
    /// What a change changed.
    pub fields: Vec<FieldChange>,
}

/// What a change did to the node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Did {
    /// It was made.
    Created,
    /// It has a new version.
    Changed,
    /// It is gone.
    Deleted,
}

impl Did {
    /// The name people and JSON use.
    pub fn name(self) -> &'static str {
        match self {
            Did::Created => "created",
            Did::Changed => "changed",
            Did::Deleted => "deleted",
        }
    }
}

/// The history of the node that an id or a key names; of a deleted node only by its id.
pub fn find(memory: &Memory, name: &str, sight: Sight) -> Result<History> {
    match memory.find(name) {
        Ok(node) => resolve::seen(node, sight)
            .and_then(|node| Ok(History { id: node.id, key: node.key, entries: entries(memory, node.id)? })),
        Err(unknown) => {
            let Ok(id) = name.parse::<NodeId>() else {
                let hint = unknown.hint.as_ref().map_or_else(String::new, |hint| format!("{hint}; "));
                return Err(
                    unknown.hint(format!("{hint}a note that was deleted has its history under its id"))
                );
            };
            let changes = memory.store.history(id)?;
            let last =
                changes.iter().rev().find_map(|change| change.after.as_ref().or(change.before.as_ref()));
            match last {
                Some(node) => {
                    let key = resolve::seen(node.clone(), sight)?.key;
                    Ok(History { id, key, entries: changes.into_iter().map(entry).collect() })
                }
                None => Err(unknown),
            }
        }
    }
}

/// The changes of a node, oldest first.
pub fn entries(memory: &Memory, id: NodeId) -> Result<Vec<Entry>> {
    Ok(memory.store.history(id)?.into_iter().map(entry).collect())
}

fn entry(change: Change) -> Entry {
    let (did, version, fields) = match (&change.before, &change.after) {
        (Some(before), Some(after)) => (Did::Changed, after.version, diff::fields(before, after)),
        (None, Some(after)) => (Did::Created, after.version, Vec::new()),
        (before, None) => (Did::Deleted, before.as_ref().map_or(0, |node| node.version), Vec::new()),
    };
    Entry { seq: change.seq, cause: change.cause, did, version, fields }
}
