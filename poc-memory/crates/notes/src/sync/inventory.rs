//! The notes of a store, with the fields that a sync needs.

use poc_graph::error::Result;
use poc_graph::time::Timestamp;
use poc_graph::{NodeId, Origin, State};
use poc_store::Store;
use std::collections::HashMap;

/// A note.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct InventoryNote {
    pub(super) id: NodeId,
    pub(super) hash: [u8; 32],
    pub(super) state: State,
    pub(super) created: Timestamp,
    /// When its text or state last changed.
    pub(super) modified: Timestamp,
    pub(super) expires: Option<Timestamp>,
    /// Whether its origin is local, that is, it was neither pulled nor pushed.
    pub(super) is_own: bool,
}

impl InventoryNote {
    /// Whether it is copied to the other store. Expired notes are not, because they would come back each time
    /// they are deleted.
    pub(super) fn is_synced(&self, now: Timestamp) -> bool {
        self.state != State::Expired && self.expires.is_none_or(|at| at > now)
    }
}

/// The notes of a store by id and by text.
#[derive(Clone, Debug, Default)]
pub(super) struct Inventory {
    notes: Vec<InventoryNote>,
    by_id: HashMap<NodeId, usize>,
    by_hash: HashMap<[u8; 32], usize>,
}

impl Inventory {
    /// Reads the notes of a store. Calls `progress` with the number of notes read and the total.
    pub(super) fn read(store: &Store, progress: &dyn Fn(u64, u64)) -> Result<Inventory> {
        let view = store.view();
        let mut ids: Vec<NodeId> =
            (0..view.slots()).filter(|&ix| view.state(ix).is_some()).filter_map(|ix| view.id(ix)).collect();
        ids.sort_unstable();
        let mut notes = Vec::with_capacity(ids.len());
        for (done, id) in ids.iter().enumerate() {
            if let Some(node) = store.node(*id)? {
                notes.push(InventoryNote {
                    id: node.id,
                    hash: node.content_hash,
                    state: node.state,
                    created: node.created,
                    modified: node.modified,
                    expires: node.expires,
                    is_own: node.origin == Origin::Local,
                });
            }
            if done.is_multiple_of(1000) {
                progress(done as u64, ids.len() as u64);
            }
        }
        Ok(Inventory::of(notes))
    }

    /// An inventory of notes. Notes with the same text are represented by the live one with the smallest id.
    pub(super) fn of(mut notes: Vec<InventoryNote>) -> Inventory {
        notes.sort_unstable_by_key(|note| (!note.state.is_live(), note.id));
        let mut inventory = Inventory::default();
        for (at, note) in notes.iter().enumerate() {
            inventory.by_id.insert(note.id, at);
            inventory.by_hash.entry(note.hash).or_insert(at);
        }
        Inventory { notes, ..inventory }
    }

    /// The inventory after some notes were deleted and others were added or changed.
    pub(super) fn after(&self, deleted: &[NodeId], changed: Vec<InventoryNote>) -> Inventory {
        let mut notes: HashMap<NodeId, InventoryNote> =
            self.notes.iter().map(|note| (note.id, *note)).collect();
        for id in deleted {
            notes.remove(id);
        }
        notes.extend(changed.into_iter().map(|note| (note.id, note)));
        Inventory::of(notes.into_values().collect())
    }

    /// All notes, live ones first, then by id.
    pub(super) fn notes(&self) -> &[InventoryNote] {
        &self.notes
    }

    pub(super) fn with_id(&self, id: NodeId) -> Option<&InventoryNote> {
        self.by_id.get(&id).and_then(|&at| self.notes.get(at))
    }

    /// The note that represents all notes with this text.
    pub(super) fn with_hash(&self, hash: &[u8; 32]) -> Option<&InventoryNote> {
        self.by_hash.get(hash).and_then(|&at| self.notes.get(at))
    }

    /// One note for each text, in the order of [`Inventory::notes`].
    pub(super) fn texts(&self) -> impl Iterator<Item = &InventoryNote> {
        self.notes.iter().filter(|note| self.with_hash(&note.hash).is_some_and(|first| first.id == note.id))
    }
}
