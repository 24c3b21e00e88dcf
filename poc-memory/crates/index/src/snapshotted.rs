//! What an index holds in memory alone: it follows the log, and is saved as one sealed file.

use super::latch::Latch;
use parking_lot::{MappedRwLockReadGuard, RwLock, RwLockReadGuard};
use poc_graph::error::Result;
use poc_graph::{Delta, Node, NodeId};
use poc_store::atomic_file::{self, Fingerprint};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Content that readers wait for until it is released, with how far it has followed the log.
pub(super) struct SnapshottedIndex<C> {
    // A fork has none: it is never saved.
    file: Option<PathBuf>,
    fingerprint: Fingerprint,
    state: RwLock<State<C>>,
    latch: Latch,
    // `State::changes` as of the saved file.
    saved: AtomicU64,
}

#[derive(Default)]
struct State<C> {
    content: C,
    applied: u64,
    // Counts what was taken in since the index was opened.
    changes: u64,
}

/// The content, which nobody changes meanwhile.
pub(super) type ReadGuard<'a, C> = MappedRwLockReadGuard<'a, C>;

impl<C: Default + Clone> SnapshottedIndex<C> {
    /// Empty, with its file in a directory, and closed to readers.
    pub(super) fn closed(directory: &Path, fingerprint: Fingerprint) -> SnapshottedIndex<C> {
        SnapshottedIndex::new(Some(directory.join("snapshot")), fingerprint, C::default(), 0)
    }

    /// As empty and closed, with its file in another directory.
    pub(super) fn empty_in(&self, directory: &Path) -> SnapshottedIndex<C> {
        SnapshottedIndex::closed(directory, self.fingerprint)
    }

    /// A copy in memory alone, as it is now, which goes its own way.
    pub(super) fn fork(&self) -> SnapshottedIndex<C> {
        self.latch.wait();
        let state = self.state.read();
        let fork = SnapshottedIndex::new(None, self.fingerprint, state.content.clone(), state.applied);
        fork.release();
        fork
    }

    fn new(file: Option<PathBuf>, fingerprint: Fingerprint, content: C, applied: u64) -> SnapshottedIndex<C> {
        let state = RwLock::new(State { content, applied, changes: 0 });
        SnapshottedIndex { file, fingerprint, state, latch: Latch::default(), saved: AtomicU64::new(0) }
    }

    /// The content, once readers may see it. Who has it must not ask for it again: a writer may wait between.
    pub(super) fn read(&self) -> ReadGuard<'_, C> {
        self.latch.wait();
        RwLockReadGuard::map(self.state.read(), |state| &state.content)
    }

    /// Takes the saved file, when it is whole, of this fingerprint, and can be decoded.
    pub(super) fn load(&self, decode: impl FnOnce(&[u8]) -> Option<C>) -> bool {
        let saved = self.file.as_ref().and_then(|file| atomic_file::read(file, self.fingerprint));
        let state =
            saved.and_then(|(applied, bytes)| Some(State { content: decode(&bytes)?, applied, changes: 0 }));
        state.map(|state| *self.state.write() = state).is_some()
    }

    /// Lets readers in.
    pub(super) fn release(&self) {
        self.latch.open();
    }

    /// The last record of the log that has been taken in.
    pub(super) fn applied(&self) -> u64 {
        self.state.read().applied
    }

    /// Empties it and removes the file.
    pub(super) fn reset(&self) -> Result<()> {
        self.file.as_deref().map_or(Ok(()), atomic_file::remove)?;
        let mut state = self.state.write();
        *state = State { changes: state.changes + 1, ..State::default() };
        Ok(())
    }

    /// Takes in what a transaction did to live notes: `ready` makes of each what `put` puts in, `remove` takes
    /// those out that are gone or live no more. Readers wait only for the latter two.
    pub(super) fn apply<R>(
        &self,
        seq: u64,
        deltas: &[Delta],
        ready: impl Fn(&Node) -> R,
        put: impl Fn(&mut C, NodeId, R),
        remove: impl Fn(&mut C, NodeId),
    ) {
        let changes: Vec<(NodeId, Option<R>)> = deltas
            .iter()
            .filter_map(|delta| match delta {
                Delta::Node(node) => Some((node.id, node.state.is_live().then(|| ready(node)))),
                Delta::NodeDeleted(id) => Some((*id, None)),
                _ => None,
            })
            .collect();
        let mut state = self.state.write();
        for (id, change) in changes {
            match change {
                Some(change) => put(&mut state.content, id, change),
                None => remove(&mut state.content, id),
            }
        }
        state.applied = state.applied.max(seq);
        state.changes += 1;
    }

    /// Saves what has changed since it was saved.
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
