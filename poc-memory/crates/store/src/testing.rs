//! Counts by full scan for comparison, copies of folders, and an index that tests can pause.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "only tests use it; the lints exempt tests by `cfg(test)`, which does not reach other crates"
)]

mod file_contents;
mod memory_log;

pub use file_contents::any_content;
pub use memory_log::{LogFault, MemoryLog, MemoryLogWriter};

use super::Store;
use super::derived_index::DerivedIndex;
use super::log::{LogLimits, intact_records};
use super::logged_transaction::LoggedTransaction;
use super::open::StoreOptions;
use super::records::Records;
use parking_lot::{Condvar, Mutex};
use poc_graph::error::{Error, Result};
use poc_graph::{Delta, Edge, Node, NodeId, Tenant, View};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::Arc;

/// Copies a folder with everything in it. Files that are deleted meanwhile are left out.
pub fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        if source.is_dir() {
            copy_folder(&source, &target);
        } else if fs::copy(&source, &target).is_err() {
            assert!(!source.exists(), "{} cannot be copied", source.display());
        }
    }
}

/// Whether a record that the bytes of a segment write or replace contains a text. A search of the bytes themselves
/// finds no text in long transactions, because these are compressed.
pub fn segment_contains(segment: &[u8], text: &[u8]) -> bool {
    intact_records(segment, 0).iter().any(|record| transaction_contains(record.payload, text))
}

/// Like [`segment_contains`], for one encoded transaction.
fn transaction_contains(payload: &[u8], text: &[u8]) -> bool {
    let txn = LoggedTransaction::decode(payload).unwrap();
    let images =
        txn.writes.iter().flat_map(|write| [Some(&write.key), write.before.as_ref(), write.after.as_ref()]);
    images.flatten().any(|image| image.windows(text.len()).any(|window| window == text))
}

/// Numbers of nodes, live nodes, edges and keywords of live nodes; then of nodes by type, nodes by state, and edges by
/// kind.
pub type Counts = ([u64; 4], [BTreeMap<String, u64>; 3]);

/// Counts every record.
pub fn count_by_scan<R: Records + ?Sized>(records: &R) -> Counts {
    let (mut types, mut states, mut kinds) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    let (mut nodes, mut live, mut edges, mut words) = (0, 0, 0, BTreeSet::new());
    for (_, node) in records.range::<Node>(&[]).unwrap() {
        nodes += 1;
        *types.entry(node.node_type.0).or_default() += 1;
        *states.entry(node.state.name().to_owned()).or_default() += 1;
        if node.state.is_live() {
            live += 1;
            words.extend(node.keywords);
        }
    }
    for (_, edge) in records.range::<Edge>(&[]).unwrap() {
        edges += 1;
        *kinds.entry(edge.kind.name().to_owned()).or_default() += 1;
    }
    ([nodes, live, edges, words.len() as u64], [types, states, kinds])
}

/// The same counts from a view.
pub fn counts_of_view(view: &View) -> Counts {
    let types = view.nodes_by_type().into_iter().map(|(name, count)| (name.to_owned(), count));
    let states = view.nodes_by_state().into_iter().map(|(state, count)| (state.name().to_owned(), count));
    let kinds = view.edges_by_kind().into_iter().map(|(kind, count)| (kind.name().to_owned(), count));
    let edges = view.edges_by_kind().values().sum();
    let sums = [view.node_count() as u64, view.live_count() as u64, edges, view.keyword_count() as u64];
    (sums, [types.collect(), states.collect(), kinds.collect()])
}

/// Opens the store in a directory without indexes. Segments of its log have at most about `bytes` bytes.
pub fn open_with_segments(directory: &Path, bytes: u64) -> Result<Store> {
    let options = StoreOptions {
        limits: LogLimits { segment: bytes, ..LogLimits::default() },
        ..StoreOptions::default()
    };
    Store::open_with(directory, "test", Vec::new(), options)
}

/// Where a [`PausableIndex`] pauses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PausePoint {
    /// Before it has loaded its saved state.
    Load,
    /// While it is fed.
    Feed,
}

/// An index that keeps the ids of all nodes in memory.
#[derive(Debug, Default)]
pub struct PausableIndex {
    pause_point: Mutex<Option<PausePoint>>,
    resumed: Condvar,
    state: Mutex<(u64, BTreeSet<NodeId>)>,
}

impl PausableIndex {
    /// Creates an index that pauses at a point until [`PausableIndex::resume`].
    pub fn paused_at(pause_point: PausePoint) -> PausableIndex {
        PausableIndex { pause_point: Mutex::new(Some(pause_point)), ..PausableIndex::default() }
    }

    /// Lets the index continue.
    pub fn resume(&self) {
        *self.pause_point.lock() = None;
        self.resumed.notify_all();
    }

    /// The number of nodes in the index.
    pub fn node_count(&self) -> usize {
        self.state.lock().1.len()
    }

    fn pass(&self, point: PausePoint) {
        self.resumed.wait_while(&mut self.pause_point.lock(), |pause_point| *pause_point == Some(point));
    }
}

impl DerivedIndex for PausableIndex {
    fn name(&self) -> &'static str {
        "slow"
    }

    fn load(&self, _: u64) -> Result<()> {
        self.pass(PausePoint::Load);
        Ok(())
    }

    fn applied(&self) -> u64 {
        self.state.lock().0
    }

    fn reset(&self) -> Result<()> {
        Err(Error::internal("it has nothing saved"))
    }

    fn apply(&self, seq: u64, _: Tenant, deltas: &[Delta]) -> Result<()> {
        self.pass(PausePoint::Feed);
        let (applied, nodes) = &mut *self.state.lock();
        for delta in deltas {
            match delta {
                Delta::Node(node) => drop(nodes.insert(node.id)),
                Delta::NodeDeleted(id) => drop(nodes.remove(id)),
                _ => {}
            }
        }
        *applied = (*applied).max(seq);
        Ok(())
    }

    fn checkpoint(&self) -> Result<()> {
        Ok(())
    }
}

/// Resumes an index when a test ends, even if it fails: closing the store waits for the index.
pub struct ResumeOnDrop(pub Arc<PausableIndex>);

impl Drop for ResumeOnDrop {
    fn drop(&mut self) {
        self.0.resume();
    }
}
