//! Tests of vaults: syncs of single changes, and a property of random ones.

mod binding;
mod file_changes;
mod law;
mod links;
mod scan;
mod undone_sync;
mod write_back;

use super::*;
use crate::testing::{TestMemory, draft};
use crate::{Draft, Memory, link, supersede};
use poc_graph::cancellation::{self, CancellationToken};
use poc_graph::error::Result;
use poc_graph::time::{Clock, ManualClock, Span, Timestamp};
use poc_graph::{Edge, EdgeKind, Node};
use poc_store::Records as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A memory with a bound folder.
struct World {
    memory: TestMemory,
    folder: PathBuf,
}

impl World {
    fn new(files: &[(&str, &str)]) -> World {
        World::over(TestMemory::new(), files)
    }

    fn over(memory: TestMemory, files: &[(&str, &str)]) -> World {
        let folder = memory.folder().join("vault");
        fs::create_dir(&folder).unwrap();
        let world = World { memory, folder };
        files.iter().for_each(|(path, text)| world.put(path, text));
        add(&world.memory, &world.folder, None, false).unwrap();
        world
    }

    fn put(&self, path: &str, text: &str) {
        put(&self.folder, path, text);
    }

    fn delete(&self, path: &str) {
        fs::remove_file(self.folder.join(path)).unwrap();
    }

    fn mv(&self, from: &str, to: &str) {
        let to = self.folder.join(to);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::rename(self.folder.join(from), to).unwrap();
    }

    fn sync(&self) -> VaultReport {
        self.sync_with(&SyncOptions::default())
    }

    fn sync_with(&self, options: &SyncOptions) -> VaultReport {
        self.memory.clock.advance(Span::SECOND);
        let vault = named(&self.memory, "vault").unwrap();
        sync(&self.memory, &vault, options, &|_, _| {}).unwrap()
    }

    /// Syncs with a clock that calls `at` with the number of each reading, from 0. Each transaction reads it. The
    /// token stops the sync.
    fn sync_watched(
        &self,
        token: &CancellationToken,
        at: impl Fn(u64) + Send + Sync + 'static,
    ) -> Result<VaultReport> {
        self.memory.clock.advance(Span::SECOND);
        let mut memory = Memory::clone(&self.memory);
        let (clock, readings) = (self.memory.clock.clone(), AtomicU64::new(0));
        memory.clock = Arc::new(WatchedClock { clock, readings, at: Box::new(at) });
        let vault = named(&memory, "vault").unwrap();
        cancellation::scope(token, || sync(&memory, &vault, &SyncOptions::default(), &|_, _| {}))
    }

    fn supersede(&self, old: &str, new: &str) {
        let (old, new, now) = (self.note(old).id, self.note(new).id, self.memory.now());
        let cause = self.memory.cause("manual", "supersede");
        let apply = |tx: &mut poc_store::Transaction<'_>| {
            supersede::apply(tx, old, new, "manual", "better", &self.memory.config, now)
        };
        self.memory.store.transact(cause, apply).unwrap();
    }

    fn note(&self, key: &str) -> Node {
        self.memory.find(key).unwrap()
    }

    fn links(&self, key: &str) -> Vec<String> {
        links(&self.memory, key)
    }
}

/// A clock that calls a function at each reading.
struct WatchedClock {
    clock: Arc<ManualClock>,
    readings: AtomicU64,
    at: Box<dyn Fn(u64) + Send + Sync>,
}

impl Clock for WatchedClock {
    fn now(&self) -> Timestamp {
        (self.at)(self.readings.fetch_add(1, Ordering::Relaxed));
        self.clock.now()
    }
}

fn put(folder: &Path, file: &str, text: &str) {
    let file = folder.join(file);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text).unwrap();
}

/// The keys of the notes that a note links to.
fn links(memory: &TestMemory, key: &str) -> Vec<String> {
    let id = memory.find(key).unwrap().id;
    let edges = memory.store.edges_from(id, &[EdgeKind::Link]).unwrap();
    let mut keys: Vec<String> =
        edges.iter().map(|edge| memory.store.node(edge.dst).unwrap().unwrap().key).collect();
    keys.sort();
    keys
}

/// Added, updated, renamed, retired, revived, replaced.
fn counts(report: &VaultReport) -> [u64; 6] {
    let renamed = report.renamed.len() as u64;
    [report.added, report.updated, renamed, report.retired, report.revived, report.merged]
}

fn problems(report: &VaultReport) -> String {
    let line = |problem: &FileError| format!("{}: {}\n", problem.file, problem.error.line());
    report.refused.iter().chain(&report.warnings).map(line).collect()
}

fn link_as(world: &World, provenance: &str, from: &str, to: &str) {
    let link = link::Link {
        src: world.note(from).id,
        dst: world.note(to).id,
        kind: EdgeKind::Link,
        strength: 0.5,
        reason: "found".into(),
        provenance: provenance.into(),
    };
    let now = world.memory.now();
    world
        .memory
        .store
        .transact(world.memory.cause(provenance, "link"), |tx| link::set(tx, &link, now))
        .unwrap();
}
