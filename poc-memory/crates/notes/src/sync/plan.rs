//! What a sync has to do, by what both stores have and what they had in common.
//!
//! A note is known by its text: the content hash. A text that the remote has and we lack is pulled;
//! one that was in both and that the remote no longer has is deleted here; one that we alone have
//! and that never was in both is pushed. Ids only help to recognise what became of a note: an edit
//! on one side alone is carried over as a new version of the same note.

use super::binding::Mark;
use super::inventory::{Inventory, Item};
use poc_graph::NodeId;
use poc_graph::time::Timestamp;
use std::collections::{HashMap, HashSet};

/// How many of the ids that a note may have got are looked at for its copy.
const MAX_IDS: usize = 8;

/// What is to be done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Plan {
    /// Notes that are in both stores as one, though that is not written down: a push that was cut off,
    /// an edit that was put back: local id, text, and id there.
    pub(super) recognised: Vec<(NodeId, [u8; 32], NodeId)>,
    /// Local notes that say by now what another note of the remote says: they are no longer those that
    /// both stores had.
    pub(super) diverged: Vec<NodeId>,
    /// From the remote.
    pub(super) pulls: Vec<NoteCopy>,
    /// Local notes that are gone remotely, as they were when both stores had them.
    pub(super) deletes: Vec<(NodeId, [u8; 32])>,
    /// To the remote.
    pub(super) pushes: Vec<NoteCopy>,
}

/// A note to copy from one store into the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NoteCopy {
    /// Where it is now.
    pub(super) id: NodeId,
    /// Its text.
    pub(super) hash: [u8; 32],
    /// What becomes of it there.
    pub(super) target: CopyTarget,
}

/// What a copy becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CopyTarget {
    /// A new note, with this id unless it is taken.
    New(NodeId),
    /// The next version of a note that has this id and, still, this text.
    NextVersion(NodeId, [u8; 32]),
}

impl Plan {
    /// The plan for two stores. `marks` are the notes that both had, by local id; `None` when it is
    /// not known what they had in common.
    pub(super) fn of(
        local: &Inventory,
        remote: &Inventory,
        marks: Option<&HashMap<NodeId, Mark>>,
        now: Timestamp,
    ) -> Plan {
        let mut plan = Plan::default();
        let mark = |id: NodeId| marks.and_then(|marks| marks.get(&id)).copied();
        let mut synced: HashSet<NodeId> = HashSet::new();
        for item in local.items() {
            let said = mark(item.id).filter(|mark| mark.hash == item.hash);
            let copy = copy_of(item.id, said.unwrap_or(Mark { hash: item.hash, there: None }), remote);
            if said.is_some() || copy.is_some() {
                synced.insert(item.id);
                // What was edited and then put back is said to be ours alone since.
                let is_to_mark = said.is_none() || item.is_own;
                if let Some(copy) = copy.or(remote.with_hash(&item.hash)).filter(|_| is_to_mark) {
                    plan.recognised.push((item.id, item.hash, copy.id));
                }
            } else if mark(item.id).is_some() && remote.with_hash(&item.hash).is_some() {
                plan.diverged.push(item.id);
            }
        }

        // Notes of the remote that become what they were edited to here.
        let mut overwritten = HashSet::new();
        let mut pushed = HashSet::new();
        for item in local.items() {
            let known = synced.contains(&item.id) || remote.with_hash(&item.hash).is_some();
            if known || !item.is_synced(now) || !pushed.insert(item.hash) {
                continue;
            }
            let before = mark(item.id).and_then(|mark| copy_of(item.id, mark, remote));
            let target = match before.filter(|other| local.with_hash(&other.hash).is_none()) {
                Some(other) => {
                    overwritten.insert(other.id);
                    CopyTarget::NextVersion(other.id, other.hash)
                }
                None => CopyTarget::New(free_id(item, remote)),
            };
            plan.pushes.push(NoteCopy { id: item.id, hash: item.hash, target });
        }

        let mut replaced = HashSet::new();
        for item in remote.texts() {
            if local.with_hash(&item.hash).is_some() || !item.is_synced(now) || overwritten.contains(&item.id)
            {
                continue;
            }
            let target = match local.with_id(item.id) {
                Some(own) if synced.contains(&own.id) && remote.with_hash(&own.hash).is_none() => {
                    replaced.insert(own.id);
                    CopyTarget::NextVersion(own.id, own.hash)
                }
                _ => CopyTarget::New(free_id(item, local)),
            };
            plan.pulls.push(NoteCopy { id: item.id, hash: item.hash, target });
        }

        let gone = |item: &&Item| {
            synced.contains(&item.id)
                && remote.with_hash(&item.hash).is_none()
                && !replaced.contains(&item.id)
        };
        plan.deletes = local.items().iter().filter(gone).map(|item| (item.id, item.hash)).collect();
        plan
    }

    /// Local notes whose text goes because the remote has another one for them: they count as
    /// deleted, too.
    pub(super) fn replaced(&self) -> impl Iterator<Item = NodeId> {
        self.pulls.iter().filter_map(|copy| match copy.target {
            CopyTarget::NextVersion(id, _) => Some(id),
            CopyTarget::New(_) => None,
        })
    }
}

/// The remote's copy of a local note, as long as it has the text that both had: the very note, not only
/// one that says the same.
fn copy_of(id: NodeId, Mark { hash, there }: Mark, remote: &Inventory) -> Option<&Item> {
    if let Some(there) = there {
        return remote.with_id(there).filter(|other| other.hash == hash);
    }
    let said = Item { id, hash, ..*remote.with_hash(&hash)? };
    // A free place ends nothing: what was in it when the copy was made may be gone by now.
    let pushed = candidate_ids(&said)
        .take(MAX_IDS)
        .filter_map(|id| remote.with_id(id))
        .find(|other| other.hash == hash);
    let pulled = || {
        remote.with_hash(&hash).filter(|other| candidate_ids(other).take(MAX_IDS).any(|place| place == id))
    };
    pushed.or_else(pulled)
}

/// The id a note gets in a store: its own unless that is taken.
fn free_id(item: &Item, there: &Inventory) -> NodeId {
    candidate_ids(item).find(|id| there.with_id(*id).is_none()).unwrap_or(item.id)
}

/// The ids a note may get, in order.
fn candidate_ids(item: &Item) -> impl Iterator<Item = NodeId> {
    std::iter::successors(Some(*item), |item| Some(Item { id: next_id(item), ..*item })).map(|item| item.id)
}

/// The id a note gets in a store where its own belongs to another text. It follows from both, so
/// that a copy of which nobody knows any more is recognised.
fn next_id(item: &Item) -> NodeId {
    let mut hasher = blake3::Hasher::new();
    hasher.update(item.id.as_bytes()).update(&item.hash);
    let mut bytes = *item.id.as_bytes();
    // The time in front stays, so that it sorts where the note belongs, and so do the bits that say
    // what kind of id it is.
    let (_, random) = bytes.split_at_mut(6);
    for (place, (byte, fresh)) in random.iter_mut().zip(hasher.finalize().as_bytes()).enumerate() {
        let kept = match place {
            0 => 0xF0,
            2 => 0xC0,
            _ => 0,
        };
        *byte = (*byte & kept) | (fresh & !kept);
    }
    NodeId::from_bytes(bytes)
}
