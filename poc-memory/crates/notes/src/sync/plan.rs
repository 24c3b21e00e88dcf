//! Plans a sync, based on what both stores have and what they had in common.
//!
//! A note is identified by its text, that is, by its content hash. A text that only the remote has is pulled.
//! A text that both had and the remote no longer has is deleted locally. A text that only the local store has
//! and that was never in both is pushed. Ids only serve to recognise edits: an edit in one store becomes
//! a new version of the same note in the other. If a note was edited in both stores, the later edit wins: it becomes
//! the next version of the note in both, and the other text becomes a new note with the same id in both.

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
    /// Local notes whose edit wins over one of the remote. They are copied to the remote first, because the texts that
    /// they displace there are pulled.
    pub(super) winners: Vec<NoteCopy>,
    /// Notes to copy from the remote.
    pub(super) pulls: Vec<NoteCopy>,
    /// Local notes to delete.
    pub(super) deletes: Vec<NoteDeletion>,
    /// Notes to copy to the remote.
    pub(super) pushes: Vec<NoteCopy>,
    /// The displaced texts of notes that were edited in both stores: the id of the new note that gets the text, and the
    /// id of the note that has it now.
    pub(super) displaced: HashMap<NodeId, NodeId>,
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
    /// The next version of the note `id`, if it still has this content hash. The text that it has becomes a new note with
    /// the id `displaced` in the same transaction.
    Displace { id: NodeId, hash: [u8; 32], displaced: NodeId },
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
        let local_ids = local_ids(local, marks);
        let stores = ComparedStores { local, remote, marks, local_ids: &local_ids, now };
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
            // The copy may have got the same edit, or an interrupted sync may have pushed it.
            let edited = || copy_of(note.id, SyncedNote { hash: note.hash, ..mark? }, remote);
            let copy = copy_of(note.id, valid_mark.unwrap_or(unmarked), remote).or_else(edited);
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
            if let (None, Some(other)) = (before, stores.edited_copy(note)) {
                self.plan_conflict(stores, note, other);
                continue;
            }
            let target = match before.filter(|other| local.with_hash(&other.hash).is_none()) {
                Some(other) => CopyTarget::NextVersion(other.id, other.hash),
                None => CopyTarget::New(free_id(note, remote)),
            };
            self.pushes.push(NoteCopy { id: note.id, hash: note.hash, target });
        }
    }

    /// Plans what becomes of a note that was edited in both stores. Both stores decide alike.
    fn plan_conflict(&mut self, stores: &ComparedStores<'_>, local: &InventoryNote, remote: &InventoryNote) {
        let version = |note: &InventoryNote| (note.modified, note.hash);
        let local_wins = version(local) > version(remote);
        let (winner, loser) = if local_wins { (local, remote) } else { (remote, local) };
        let displaced = stores.free_id_in_both(loser);
        self.displaced.insert(displaced, loser.id);
        let target = CopyTarget::Displace { id: loser.id, hash: loser.hash, displaced };
        let win = NoteCopy { id: winner.id, hash: winner.hash, target };
        let lose = NoteCopy { id: displaced, hash: loser.hash, target: CopyTarget::New(displaced) };
        if local_wins {
            self.winners.push(win);
            self.pulls.push(lose);
        } else {
            self.pulls.push(win);
            self.pushes.push(lose);
        }
    }

    /// The remote notes that were edited in both stores. Their texts are copied already.
    fn conflicts_in_remote(&self) -> HashSet<NodeId> {
        let displaced = self.winners.iter().filter_map(|copy| match copy.target {
            CopyTarget::Displace { id, .. } => Some(id),
            CopyTarget::New(_) | CopyTarget::NextVersion(..) => None,
        });
        displaced.chain(self.pulls.iter().map(|copy| copy.id)).collect()
    }

    /// Plans what is copied from the remote, apart from notes that get a local edit or are a part of a conflict.
    fn plan_pulls(&mut self, stores: &ComparedStores<'_>, synced: &HashSet<NodeId>) {
        let ComparedStores { local, remote, now, .. } = *stores;
        let overwritten: HashSet<NodeId> = next_versions(&self.pushes).collect();
        let conflicts = self.conflicts_in_remote();
        for note in remote.texts() {
            let is_planned = overwritten.contains(&note.id) || conflicts.contains(&note.id);
            if local.with_hash(&note.hash).is_some() || !note.is_synced(now) || is_planned {
                continue;
            }
            let target = match stores.local_copy(note.id) {
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

    /// The id that a note to copy has before the sync.
    pub(super) fn present_id(&self, copy: &NoteCopy) -> NodeId {
        self.displaced.get(&copy.id).copied().unwrap_or(copy.id)
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
        CopyTarget::New(_) | CopyTarget::Displace { .. } => None,
    })
}

/// The local ids of the notes with marks that name another id in the remote, by that id.
fn local_ids(local: &Inventory, marks: Option<&HashMap<NodeId, SyncedNote>>) -> HashMap<NodeId, NodeId> {
    let mut ids = HashMap::new();
    let marked = local.notes().iter().filter_map(|note| Some((marks?.get(&note.id)?.remote_id?, note.id)));
    for (remote, local) in marked {
        ids.entry(remote).or_insert(local);
    }
    ids
}

/// What the plan is made from.
#[derive(Clone, Copy)]
struct ComparedStores<'a> {
    local: &'a Inventory,
    remote: &'a Inventory,
    /// The notes that both had, by local id; `None` if that is unknown.
    marks: Option<&'a HashMap<NodeId, SyncedNote>>,
    /// See [`local_ids`].
    local_ids: &'a HashMap<NodeId, NodeId>,
    now: Timestamp,
}

impl<'a> ComparedStores<'a> {
    fn mark(&self, id: NodeId) -> Option<SyncedNote> {
        self.marks?.get(&id).copied()
    }

    /// The local note of which a remote note is a copy: by its mark, or because it has the same id.
    fn local_copy(&self, remote: NodeId) -> Option<&'a InventoryNote> {
        if let Some(marked) = self.local_ids.get(&remote) {
            return self.local.with_id(*marked);
        }
        // The mark of a note with the same id may name another copy.
        let is_copy = |own: &&InventoryNote| {
            self.mark(own.id).and_then(|mark| mark.remote_id).is_none_or(|other| other == remote)
        };
        self.local.with_id(remote).filter(is_copy)
    }

    /// The remote copy of an edited local note, if it was edited, too, so that both stores need both texts. Without a
    /// mark, the note with the same id and creation time is a copy.
    fn edited_copy(&self, note: &InventoryNote) -> Option<&'a InventoryNote> {
        let mark = self.mark(note.id);
        let other = self.remote.with_id(mark.and_then(|mark| mark.remote_id).unwrap_or(note.id))?;
        let is_edited = match mark {
            Some(mark) => other.hash != mark.hash,
            None => other.created == note.created,
        };
        // The next version of a retired note is retired, so a text that is in use becomes a note of its own.
        let is_copy = self.local_copy(other.id).is_some_and(|own| own.id == note.id)
            && other.state.is_live() == note.state.is_live();
        let is_pulled = other.is_synced(self.now)
            && self.local.with_hash(&other.hash).is_none()
            && self.remote.with_hash(&other.hash).is_some_and(|text| text.id == other.id);
        (is_edited && is_copy && is_pulled).then_some(other)
    }

    /// An id for the displaced text of a note that neither store has.
    fn free_id_in_both(&self, note: &InventoryNote) -> NodeId {
        let is_free = |id: &NodeId| self.local.with_id(*id).is_none() && self.remote.with_id(*id).is_none();
        candidate_ids(note).find(is_free).unwrap_or(note.id)
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
