//! An index that is held in memory, kept up to date with the log, and saved as a single file with a checksum.

use super::latch::Latch;
use parking_lot::{MappedRwLockReadGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};
use poc_graph::error::Result;
use poc_graph::{Delta, Node, NodeId};
use poc_store::atomic_file::{self, Fingerprint};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Number of notes of a transaction after which waiting readers are admitted. The view does not yet contain the
/// transaction, so they ignore its notes.
const NOTES_PER_LOCK: usize = 8;

/// The content of an index and its position in the log. Readers wait until it is released.
pub(super) struct SnapshottedIndex<C> {
    // `None` for a fork, which is never saved.
    file: Option<PathBuf>,
    fingerprint: Fingerprint,
    state: RwLock<IndexState<C>>,
    latch: Latch,
    // The value of `IndexState::changes` when the file was saved.
    saved: AtomicU64,
}

#[derive(Default)]
struct IndexState<C> {
    content: C,
    applied: u64,
    // The number of changes since the index was opened.
    changes: u64,
}

/// Read access to the content.
pub(super) type ReadGuard<'a, C> = MappedRwLockReadGuard<'a, C>;

impl<C: Default + Clone> SnapshottedIndex<C> {
    /// Creates an empty index with its file in a directory. It is not released yet.
    pub(super) fn closed(directory: &Path, fingerprint: Fingerprint) -> SnapshottedIndex<C> {
        SnapshottedIndex::new(Some(directory.join("snapshot")), fingerprint, IndexState::default())
    }

    /// Creates an empty index with the same settings and its file in another directory. It is not released yet.
    pub(super) fn empty_in(&self, directory: &Path) -> SnapshottedIndex<C> {
        SnapshottedIndex::closed(directory, self.fingerprint)
    }

    /// An independent copy of the current state. It exists only in memory.
    pub(super) fn fork(&self) -> SnapshottedIndex<C> {
        self.latch.wait();
        let state = {
            let state = self.state.read();
            IndexState { content: state.content.clone(), applied: state.applied, changes: 0 }
        };
        let fork = SnapshottedIndex::new(None, self.fingerprint, state);
        fork.release();
        fork
    }

    fn new(file: Option<PathBuf>, fingerprint: Fingerprint, state: IndexState<C>) -> SnapshottedIndex<C> {
        let (state, latch) = (RwLock::new(state), Latch::default());
        SnapshottedIndex { file, fingerprint, state, latch, saved: AtomicU64::new(0) }
    }

    /// Waits until the index is released, and locks the content for reading. A thread must not call this again while it
    /// holds the guard, because that deadlocks if a writer is waiting.
    pub(super) fn read(&self) -> ReadGuard<'_, C> {
        self.latch.wait();
        RwLockReadGuard::map(self.state.read(), |state| &state.content)
    }

    /// Loads the saved file. Returns `false` if it is missing, damaged, has another fingerprint or cannot be
    /// decoded.
    pub(super) fn load(&self, decode: impl FnOnce(Vec<u8>) -> Option<C>) -> bool {
        let Some(file) = &self.file else { return false };
        let Some((applied, bytes)) = atomic_file::read(file, self.fingerprint) else { return false };
        let state = decode(bytes).map(|content| IndexState { content, applied, changes: 0 });
        state.map(|state| *self.state.write() = state).is_some()
    }

    /// The position in the saved file according to its unverified header; `None` if the file is missing or has another
    /// fingerprint.
    pub(super) fn claimed_seq(&self) -> Option<u64> {
        atomic_file::claimed_seq(self.file.as_deref()?, self.fingerprint)
    }

    /// Whether the index has not changed since it was last saved.
    pub(super) fn is_saved(&self) -> bool {
        self.state.read().changes == self.saved.load(Ordering::Acquire)
    }

    /// The size of the content in memory according to `bytes`, which does not wait for the release. A thread that reads
    /// the content may call it, even if a writer is waiting.
    pub(super) fn bytes(&self, bytes: impl FnOnce(&C) -> usize) -> u64 {
        bytes(&self.state.read_recursive().content) as u64
    }

    /// Admits readers from now on.
    pub(super) fn release(&self) {
        self.latch.open();
    }

    /// The sequence number of the last applied transaction.
    pub(super) fn applied(&self) -> u64 {
        self.state.read().applied
    }

    /// Empties the index and removes its file.
    pub(super) fn reset(&self) -> Result<()> {
        self.file.as_deref().map_or(Ok(()), atomic_file::remove)?;
        let mut state = self.state.write();
        *state = IndexState { changes: state.changes + 1, ..IndexState::default() };
        Ok(())
    }

    /// Applies a transaction. `prepare` is called for each live note, and its result is passed to `put`. `remove` is
    /// called for each note that was deleted or is no longer live; if there are several in a row, the last one comes
    /// first. Only `put` and `remove` run under the lock.
    pub(super) fn apply<'a, R>(
        &self,
        seq: u64,
        deltas: &'a [Delta],
        mut prepare: impl FnMut(&'a Node) -> R,
        put: impl Fn(&mut C, NodeId, R),
        remove: impl Fn(&mut C, NodeId),
    ) {
        let mut changes: Vec<(NodeId, Option<R>)> = deltas
            .iter()
            .filter_map(|delta| match delta {
                Delta::Node(node) => Some((node.id, node.state.is_live().then(|| prepare(node)))),
                Delta::NodeDeleted(id) => Some((*id, None)),
                _ => None,
            })
            .collect();
        // The notes of an import are usually the last ones in sorted lists, such as those of words. Removing them from the
        // end, as an undo of the import does, moves no others.
        for similar in changes.chunk_by_mut(|(_, one), (_, other)| one.is_none() == other.is_none()) {
            if similar.first().is_some_and(|(_, change)| change.is_none()) {
                similar.reverse();
            }
        }
        let mut state = self.state.write();
        for (count, (id, change)) in changes.into_iter().enumerate() {
            if count > 0 && count % NOTES_PER_LOCK == 0 {
                RwLockWriteGuard::bump(&mut state);
            }
            match change {
                Some(change) => put(&mut state.content, id, change),
                None => remove(&mut state.content, id),
            }
        }
        state.applied = state.applied.max(seq);
        state.changes += 1;
    }

    /// The path of the saved file if the file is damaged, or missing although the index was loaded from it or saved.
    pub(super) fn damaged_file(&self) -> Option<PathBuf> {
        let is_missing = |file: &PathBuf| self.applied() > 0 && self.is_saved() && !file.exists();
        self.file.clone().filter(|file| atomic_file::is_damaged(file) || is_missing(file))
    }

    /// Saves the index if it has changed since it was last saved.
    pub(super) fn checkpoint(&self, encode: impl FnOnce(&C) -> Result<Vec<u8>>) -> Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        let (bytes, applied, changes) = {
            let state = self.state.read();
            if state.changes == self.saved.load(Ordering::Acquire) {
                return Ok(());
            }
            (encode(&state.content)?, state.applied, state.changes)
        };
        atomic_file::write(file, self.fingerprint, applied, &[&bytes])?;
        self.saved.store(changes, Ordering::Release);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use poc_graph::testing::node;
    use std::sync::Arc;

    #[test]
    fn notes_that_are_removed_in_a_row_are_removed_from_the_last_to_the_first() {
        let index: SnapshottedIndex<Vec<NodeId>> =
            SnapshottedIndex::closed(Path::new("unused"), Fingerprint::of("test"));
        let removed = |number| Delta::NodeDeleted(node(number).id);
        let deltas = [removed(1), removed(2), Delta::Node(Arc::new(node(3))), removed(4), removed(5)];
        let push = |seen: &mut Vec<NodeId>, id| seen.push(id);
        index.apply(1, &deltas, |_| (), |seen, id, ()| push(seen, id), push);
        index.release();
        assert_eq!(*index.read(), [2, 1, 3, 5, 4].map(|number| node(number).id));
    }
}
