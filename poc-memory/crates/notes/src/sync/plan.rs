//! Plans a sync, based on what both stores have and what they had in common.
//!
//! A note is identified by its text, that is, by its content hash. A text that only the remote has is pulled.
//! A text that both had and the remote no longer has is deleted locally. A text that only the local store has
//! and that was never in both is pushed. Ids only serve to recognise edits: an edit in one store becomes
//! a new version of the same note in the other.

use super::binding::SyncedNote;
use super::inventory::{Inventory, InventoryNote};
use poc_graph::NodeId;
use poc_graph::time::Timestamp;
use std::collections::{HashMap, HashSet};

/// Number of candidate ids that are searched for a copy of a note.
const MAX_IDS: usize = 8;

/// The changes that a sync will make.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RemoteSyncPlan {
    /// Notes that are in both stores but have no mark, because a push was interrupted or an edit was reverted.
    pub(super) recognized: Vec<RecognizedNote>,
    /// Local notes that now have the text of another remote note; their marks are deleted.
    pub(super) diverged: Vec<NodeId>,
    /// Notes to copy from the remote.
    pub(super) pulls: Vec<NoteCopy>,
    /// Local notes to delete.
    pub(super) deletes: Vec<NoteDeletion>,
    /// Notes to copy to the remote.
    pub(super) pushes: Vec<NoteCopy>,
    /// Notes that were edited in both stores since the last sync, by their id in either: both texts are copied.
    pub(super) edited_in_both: HashSet<NodeId>,
}

/// A note that both stores have under their own ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RecognizedNote {
    /// Its id in the local store.
    pub(super) local: NodeId,
    /// Its content hash.
    pub(super) hash: [u8; 32],
    /// Its id in the remote.
    pub(super) remote: NodeId,
}

/// A local note to delete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NoteDeletion {
    pub(super) id: NodeId,
    /// The content hash that both stores had.
    pub(super) hash: [u8; 32],
}

/// A note to copy from one store into the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NoteCopy {
    /// Its id in the source store.
    pub(super) id: NodeId,
    /// Its content hash.
    pub(super) hash: [u8; 32],
    /// The node that it becomes in the target store.
    pub(super) target: CopyTarget,
}

/// The node that a copied note becomes in the target store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CopyTarget {
    /// A new note, with this id unless it is taken.
    New(NodeId),
    /// The next version of the note with this id, if it still has this content hash.
    NextVersion(NodeId, [u8; 32]),
}

impl RemoteSyncPlan {
    /// The plan for two stores. `marks` are the notes that both had, by local id; `None` if that is unknown.
    pub(super) fn of(
        local: &Inventory,
        remote: &Inventory,
        marks: Option<&HashMap<NodeId, SyncedNote>>,
        now: Timestamp,
    ) -> RemoteSyncPlan {
        let mut plan = RemoteSyncPlan::default();
        let stores = ComparedStores { local, remote, marks, now };
        let synced = plan.recognize(&stores);
        plan.plan_pushes(&stores, &synced);
        plan.plan_pulls(&stores, &synced);
        plan.plan_deletes(&stores, &synced);
        plan
    }

    /// Plans the changes of marks. Returns the local notes that the remote has, or had at the last sync and that were
    /// not edited since.
    fn recognize(&mut self, stores: &ComparedStores<'_>) -> HashSet<NodeId> {
        let remote = stores.remote;
        let mut synced = HashSet::new();
        for note in stores.local.notes() {
            let mark = stores.mark(note.id);
            let valid_mark = mark.filter(|mark| mark.hash == note.hash);
            let unmarked = SyncedNote { hash: note.hash, remote_id: None };
            let copy = copy_of(note.id, valid_mark.unwrap_or(unmarked), remote);
            if valid_mark.is_some() || copy.is_some() {
                synced.insert(note.id);
                // A note that was edited and then reverted has a local origin.
                let is_to_mark = valid_mark.is_none() || note.is_own;
                if let Some(copy) = copy.or(remote.with_hash(&note.hash)).filter(|_| is_to_mark) {
                    self.recognized.push(RecognizedNote { local: note.id, hash: note.hash, remote: copy.id });
                }
            } else if mark.is_some() && remote.with_hash(&note.hash).is_some() {
                self.diverged.push(note.id);
            }
        }
        synced
    }

    fn plan_pushes(&mut self, stores: &ComparedStores<'_>, synced: &HashSet<NodeId>) {
        let ComparedStores { local, remote, now, .. } = *stores;
        let mut pushed = HashSet::new();
        for note in local.notes() {
            let known = synced.contains(&note.id) || remote.with_hash(&note.hash).is_some();
            if known || !note.is_synced(now) || !pushed.insert(note.hash) {
                continue;
            }
            let before = stores.mark(note.id).and_then(|mark| copy_of(note.id, mark, remote));
            let target = match before.filter(|other| local.with_hash(&other.hash).is_none()) {
                Some(other) => CopyTarget::NextVersion(other.id, other.hash),
                None => CopyTarget::New(free_id(note, remote)),
            };
            if let Some(mark) = stores.mark(note.id)
                && let Some(other) = remote.with_id(mark.remote_id.unwrap_or(note.id))
                && other.hash != mark.hash
            {
                self.edited_in_both.extend([note.id, other.id]);
            }
            self.pushes.push(NoteCopy { id: note.id, hash: note.hash, target });
        }
    }

    /// Plans what is copied from the remote, apart from notes that get a local edit.
    fn plan_pulls(&mut self, stores: &ComparedStores<'_>, synced: &HashSet<NodeId>) {
        let ComparedStores { local, remote, now, .. } = *stores;
        let overwritten: HashSet<NodeId> = next_versions(&self.pushes).collect();
        for note in remote.texts() {
            if local.with_hash(&note.hash).is_some() || !note.is_synced(now) || overwritten.contains(&note.id)
            {
                continue;
            }
            let target = match local.with_id(note.id) {
                Some(own) if synced.contains(&own.id) && remote.with_hash(&own.hash).is_none() => {
                    CopyTarget::NextVersion(own.id, own.hash)
                }
                _ => CopyTarget::New(free_id(note, local)),
            };
            self.pulls.push(NoteCopy { id: note.id, hash: note.hash, target });
        }
    }

    fn plan_deletes(&mut self, stores: &ComparedStores<'_>, synced: &HashSet<NodeId>) {
        let replaced: HashSet<NodeId> = self.replaced().collect();
        let is_deleted = |note: &&InventoryNote| {
            synced.contains(&note.id)
                && stores.remote.with_hash(&note.hash).is_none()
                && !replaced.contains(&note.id)
        };
        let deleted = stores.local.notes().iter().filter(is_deleted);
        self.deletes = deleted.map(|note| NoteDeletion { id: note.id, hash: note.hash }).collect();
    }

    /// Local notes whose text is replaced by one of the remote; they count as deleted, too.
    pub(super) fn replaced(&self) -> impl Iterator<Item = NodeId> {
        next_versions(&self.pulls)
    }
}

/// The notes that get a new version by these copies.
fn next_versions(copies: &[NoteCopy]) -> impl Iterator<Item = NodeId> {
    copies.iter().filter_map(|copy| match copy.target {
        CopyTarget::NextVersion(id, _) => Some(id),
        CopyTarget::New(_) => None,
    })
}

/// What the plan is made from.
#[derive(Clone, Copy)]
struct ComparedStores<'a> {
    local: &'a Inventory,
    remote: &'a Inventory,
    /// The notes that both had, by local id; `None` if that is unknown.
    marks: Option<&'a HashMap<NodeId, SyncedNote>>,
    now: Timestamp,
}

impl ComparedStores<'_> {
    fn mark(&self, id: NodeId) -> Option<SyncedNote> {
        self.marks?.get(&id).copied()
    }
}

/// The remote copy of a local note, if it still has the text that both had: the note itself, not just one with
/// the same text.
fn copy_of(
    id: NodeId,
    SyncedNote { hash, remote_id }: SyncedNote,
    remote: &Inventory,
) -> Option<&InventoryNote> {
    if let Some(remote_id) = remote_id {
        return remote.with_id(remote_id).filter(|other| other.hash == hash);
    }
    let local = InventoryNote { id, hash, ..*remote.with_hash(&hash)? };
    // The search continues after an unused candidate id, because the note that had this id when the copy was
    // made may have been deleted.
    let pushed = candidate_ids(&local)
        .take(MAX_IDS)
        .filter_map(|id| remote.with_id(id))
        .find(|other| other.hash == hash);
    let pulled = || {
        remote
            .with_hash(&hash)
            .filter(|other| candidate_ids(other).take(MAX_IDS).any(|candidate| candidate == id))
    };
    pushed.or_else(pulled)
}

/// The id that a note gets in a store: its own, unless that is taken.
fn free_id(note: &InventoryNote, target: &Inventory) -> NodeId {
    candidate_ids(note).find(|id| target.with_id(*id).is_none()).unwrap_or(note.id)
}

/// The ids that a note may get, in order of preference.
fn candidate_ids(note: &InventoryNote) -> impl Iterator<Item = NodeId> {
    std::iter::successors(Some(*note), |note| Some(InventoryNote { id: next_id(note), ..*note }))
        .map(|note| note.id)
}

/// The next candidate id of a note, for a store where its id belongs to another text. It is derived from id and
/// text, so that a copy without a mark is recognised.
fn next_id(note: &InventoryNote) -> NodeId {
    let mut hasher = blake3::Hasher::new();
    hasher.update(note.id.as_bytes()).update(&note.hash);
    let mut bytes = *note.id.as_bytes();
    // The leading timestamp is kept so that the id sorts correctly, as are the version and variant bits of
    // the UUID.
    let (_, random) = bytes.split_at_mut(6);
    for (index, (byte, fresh)) in random.iter_mut().zip(hasher.finalize().as_bytes()).enumerate() {
        let kept = match index {
            0 => 0xF0,
            2 => 0xC0,
            _ => 0,
        };
        *byte = (*byte & kept) | (fresh & !kept);
    }
    NodeId::from_bytes(bytes)
}
