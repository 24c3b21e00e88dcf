//! Tests of the open store: acknowledged transactions survive every fault.

use super::disk::{AppendFile, Disk, FileId, SystemDisk, UnsyncedDisk};
use super::engine::Engine;
use super::engine::lsm::{self, LsmEngine};
use super::engine::memory::InMemoryEngine;
use super::log::LogLimits;
use super::open::StoreOptions;
use super::*;
use parking_lot::Mutex;
use poc_graph::error::Code;
use poc_graph::testing::{edge, node};
use poc_graph::time::Timestamp;
use poc_graph::{Activity, Node, NodeId, Visit};
use poc_graph::{Delta, EdgeKind, State, VisitOutcome};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;
use tempfile::TempDir;

mod buffered;
mod changes;
mod checked_segments;
mod compact;
mod concurrency;
mod counts;
mod damage;
mod damaged_copy;
mod derived_files;
mod derived_indexes;
mod equivalence;
mod full_disk;
mod opening;
mod past;
mod power_cut;
mod read_only;
mod shared_history;
mod shared_log;
mod shared_snapshot;
mod snapshot_files;
mod tenant_memory;
mod tenant_view_files;
mod tenants;
mod transactions;
mod unpublished_views;
mod verify;
mod view_file;

/// Callbacks of a compaction that do nothing.
const QUIET_COMPACTION: CompactionCallbacks<'static> =
    CompactionCallbacks { progress: &|_, _| {}, check_cancelled: &|| Ok(()) };

/// The embedder of all tests.
const EMBEDDER: &str = "test";

fn cause() -> Cause {
    Cause::new(Timestamp(7), "manual", "test")
}

/// A store with the memory engine behind a small buffer, and a disk that skips syncs.
fn in_memory() -> StoreOptions {
    let disk = Arc::new(FaultyDisk::default());
    StoreOptions {
        disk,
        engine: |_| Ok(Arc::new(InMemoryEngine::default())),
        buffer: 2000,
        ..StoreOptions::default()
    }
}

/// Every file in a folder except the lock of a store, with its bytes.
pub(crate) fn bytes_of_files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let kept = files(folder).into_iter().filter(|path| path.file_name().unwrap() != "lock");
    kept.map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

/// The files of a folder and of the folders in it, sorted.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { all.extend(files(&path)) } else { all.push(path) }
    }
    all.sort();
    all
}

/// An engine that writes a table for every few records.
fn with_small_tables(folder: &Path) -> Result<Arc<dyn Engine>> {
    let limits = lsm::FlushLimits { table: 1500, recent: 1500 };
    Ok(Arc::new(LsmEngine::open_with(folder, limits)?))
}

fn open_in(folder: &TempDir, options: StoreOptions) -> Result<Store> {
    Store::open_with(folder.path(), EMBEDDER, Vec::new(), options)
}

/// Stores a node in a transaction of its own.
fn put(store: &Store, number: u64) -> Commit<()> {
    store.transact(cause(), |tx| tx.put_node(&node(number))).unwrap()
}

/// Bytes that cannot be compressed, in blocks of 32 bytes. Different numbers give different bytes.
fn incompressible(number: u64, blocks: u64) -> Vec<u8> {
    let block = |block: u64| *blake3::hash(&[number, block].map(u64::to_le_bytes).concat()).as_bytes();
    (0..blocks).flat_map(block).collect()
}

/// The numbers of a store's nodes. Checks that the records and the view agree.
fn numbers(store: &Store) -> Vec<u64> {
    let number = |key: &str| key[1..].parse().unwrap();
    let mut stored: Vec<u64> =
        store.scan::<Node>(&[]).unwrap().iter().map(|(_, node)| number(&node.key)).collect();
    let view = store.view();
    let mut viewed: Vec<u64> =
        (0..view.slots()).filter(|&ix| view.state(ix).is_some()).map(|ix| number(view.key(ix))).collect();
    stored.sort_unstable();
    viewed.sort_unstable();
    assert_eq!(stored, viewed);
    stored
}

/// The contents of all tables, as bytes.
fn contents(store: &Store) -> BTreeMap<Vec<u8>, Vec<u8>> {
    contents_of(store, Table::ALL)
}

/// The contents of all tables but the index of changes, which lacks changes before a snapshot.
fn contents_without_changes(store: &Store) -> BTreeMap<Vec<u8>, Vec<u8>> {
    contents_of(store, Table::ALL.into_iter().filter(|table| *table != Table::Changes))
}

fn contents_of(store: &Store, tables: impl IntoIterator<Item = Table>) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let mut all = BTreeMap::new();
    for table in tables {
        for (key, value) in store.raw_range(table, &[]).unwrap() {
            all.insert(table.engine_key(store.tenant, &key), value);
        }
    }
    all
}

/// The files of the log's segments, sorted.
fn segment_files(folder: &TempDir) -> Vec<PathBuf> {
    let mut files: Vec<_> =
        fs::read_dir(folder.path().join("log")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "log"));
    files.sort();
    files
}

/// The faults of a disk that counts its syncs instead of performing them.
#[derive(Default)]
struct Faults {
    syncs: AtomicU64,
    fail_writes: AtomicBool,
    fail_syncs: AtomicBool,
    /// If set, each sync first waits for a message of this channel.
    gate: Mutex<Option<mpsc::Receiver<()>>>,
}

impl Faults {
    /// From now on, writes and syncs succeed.
    fn end(&self) {
        self.fail_writes.store(false, Ordering::SeqCst);
        self.fail_syncs.store(false, Ordering::SeqCst);
    }

    fn sync(&self) -> std::io::Result<()> {
        if let Some(gate) = &*self.gate.lock() {
            gate.recv().unwrap();
        }
        if self.fail_syncs.load(Ordering::SeqCst) {
            return Err(std::io::Error::other("the disk is gone"));
        }
        self.syncs.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }
}

/// A disk with injected [`Faults`].
#[derive(Clone, Default)]
struct FaultyDisk(Arc<Faults>);
struct FaultyFile(Box<dyn AppendFile>, Arc<Faults>);

impl Disk for FaultyDisk {
    fn create(&self, path: &Path) -> std::io::Result<Box<dyn AppendFile>> {
        Ok(Box::new(FaultyFile(SystemDisk.create(path)?, self.0.clone())))
    }
    fn append(&self, path: &Path) -> std::io::Result<Box<dyn AppendFile>> {
        Ok(Box::new(FaultyFile(SystemDisk.append(path)?, self.0.clone())))
    }
    fn truncate(&self, path: &Path, length: u64) -> std::io::Result<()> {
        UnsyncedDisk.truncate(path, length)
    }
    fn overwrite(&self, path: &Path, offset: u64, bytes: &[u8]) -> std::io::Result<()> {
        if self.0.fail_writes.load(Ordering::SeqCst) {
            return Err(std::io::Error::from(std::io::ErrorKind::StorageFull));
        }
        UnsyncedDisk.overwrite(path, offset, bytes)?;
        self.0.sync()
    }
    fn sync_directory(&self, _: &Path) -> std::io::Result<()> {
        Ok(())
    }
    fn allocate(&self, _: &Path, _: u64) -> std::io::Result<()> {
        Ok(())
    }
}

impl AppendFile for FaultyFile {
    fn write_all(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        if self.1.fail_writes.load(Ordering::SeqCst) {
            // A full disk accepts part of the write.
            self.0.write_all(&bytes[..bytes.len() / 2])?;
            return Err(std::io::Error::from(std::io::ErrorKind::StorageFull));
        }
        self.0.write_all(bytes)
    }
    fn id(&self) -> std::io::Result<FileId> {
        self.0.id()
    }
    fn sync(&mut self) -> std::io::Result<()> {
        self.1.sync()
    }
}
