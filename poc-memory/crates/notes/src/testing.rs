//! Temporary memories for tests.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::new_without_default,
    reason = "only tests use it; the lints exempt tests by `cfg(test)`, which does not reach other crates"
)]

use super::{Draft, Memory, insert};
use poc_config::Config;
use poc_config::paths::Paths;
use poc_graph::rng::SeededRng;
use poc_graph::time::{ManualClock, Timestamp};
use poc_graph::{NodeId, Trust, testing};
use poc_store::{DerivedIndex, SharedLog, Store, Transaction};
use std::path::Path;
use std::sync::Arc;

/// An open memory in a temporary folder, with a manual clock.
pub struct TestMemory {
    // Dropped before its folder is deleted.
    memory: Memory,
    /// The clock of the memory.
    pub clock: Arc<ManualClock>,
    folder: tempfile::TempDir,
}

impl TestMemory {
    /// An empty memory with the default configuration.
    pub fn new() -> TestMemory {
        TestMemory::with(Config::defaults().unwrap())
    }

    /// An empty memory with this configuration.
    pub fn with(config: Config) -> TestMemory {
        TestMemory::apart(7, config)
    }

    /// An empty memory whose ids are generated with this seed, so that they differ from those of another
    /// memory.
    pub fn apart(seed: u64, config: Config) -> TestMemory {
        let folder = poc_graph::testing::folder();
        let clock = Arc::new(ManualClock::new(Timestamp::parse("2026-11-21T08:00:00Z").unwrap()));
        let paths = Paths::in_folder(&folder.path().join("home"));
        let rng = Arc::new(SeededRng::new(seed));
        let memory = Memory::open_temporary(paths, with_hash_embedder(config), clock.clone(), rng).unwrap();
        TestMemory { memory, clock, folder }
    }

    /// A memory over a shared log, whose ids are generated with this seed.
    pub fn over(log: Arc<dyn SharedLog>, seed: u64) -> TestMemory {
        let folder = poc_graph::testing::folder();
        let clock = Arc::new(ManualClock::new(Timestamp::parse("2026-11-21T08:00:00Z").unwrap()));
        let (paths, rng) = (Paths::in_folder(&folder.path().join("home")), Arc::new(SeededRng::new(seed)));
        let config = with_hash_embedder(Config::defaults().unwrap());
        let memory = Memory::open_shared(paths, config, clock.clone(), rng, log).unwrap();
        TestMemory { memory, clock, folder }
    }

    /// A memory whose store has `notes` notes and an additional index.
    pub fn with_index(index: Arc<dyn DerivedIndex>, notes: u64) -> TestMemory {
        let mut scratch = TestMemory::new();
        let directory = scratch.folder.path().join("with-index");
        let embedder = scratch.embedder.name();
        let store = Store::open_temporary(&directory, embedder, Vec::new()).unwrap();
        let fill =
            |tx: &mut Transaction<'_>| (1..=notes).try_for_each(|number| tx.put_node(&testing::node(number)));
        store.transact(scratch.cause("manual", "import"), fill).unwrap();
        store.checkpoint().unwrap();
        drop(store);
        scratch.memory.store = Store::open_temporary(&directory, embedder, vec![index]).unwrap();
        scratch
    }

    /// Closes and reopens the memory.
    pub fn reopened(self) -> TestMemory {
        let TestMemory { memory, clock, folder } = self;
        let (paths, config) = (Paths::clone(&memory.paths), Config::clone(&memory.config));
        drop(memory);
        let rng = Arc::new(SeededRng::new(8));
        let memory = Memory::open_temporary(paths, config, clock.clone(), rng).unwrap();
        TestMemory { memory, clock, folder }
    }

    /// A folder for files of the test.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Stores a note as the user.
    pub fn insert(&self, draft: Draft) -> poc_graph::error::Result<insert::InsertReport> {
        insert::insert(&self.memory, draft, self.memory.cause("manual", "insert"))
    }

    /// The keys of the neighbours of a note in its sessions, sorted.
    pub fn session_neighbors(&self, key: &str) -> Vec<String> {
        let view = self.memory.store.view();
        let ix = view.find_key(key).unwrap();
        let mut keys: Vec<String> = view.sequence_neighbors(ix).map(|ix| view.key(ix).to_owned()).collect();
        keys.sort();
        keys
    }

    /// Stores a note with a key and a body, and returns its id.
    pub fn note(&self, key: &str, body: &str) -> NodeId {
        self.insert(Draft { key: Some(key.into()), ..draft(body) }).unwrap().id
    }
}

/// A configuration with the hash embedder, whose similarities are predictable.
pub fn with_hash_embedder(config: Config) -> Config {
    let embedder = poc_config::EmbedderConfig { kind: "hash".into(), ..config.embedder };
    Config { embedder, ..config }
}

impl std::ops::Deref for TestMemory {
    type Target = Memory;
    fn deref(&self) -> &Memory {
        &self.memory
    }
}

/// A draft by the user with only a body.
pub fn draft(body: &str) -> Draft {
    Draft { body: Some(body.into()), ..Draft::new("manual", Trust::User) }
}

/// Sets when a file was last changed, in seconds since 1970.
pub fn set_modified(file: &Path, seconds: u64) {
    let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
    std::fs::File::options().write(true).open(file).unwrap().set_modified(time).unwrap();
}

/// Creates a pipe (FIFO). By the command of POSIX: macOS has no system call that `rustix` could use for it.
pub fn make_pipe(path: &Path) {
    let status = std::process::Command::new("mkfifo").arg(path).status().unwrap();
    assert!(status.success(), "no pipe was created at {}", path.display());
}
