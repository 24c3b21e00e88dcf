//! A memory that begins with a snapshot of a shared log has the indexes of the memory that made it.

use crate::INDEX_FOLDERS;
use crate::testing::TestMemory;
use crate::verification::verify;
use poc_graph::{NodeId, Tenant};
use poc_store::testing::MemoryLog;
use poc_store::{CompactionCallbacks, DerivedIndex, VerifyCallbacks};
use std::sync::Arc;

const QUIET: VerifyCallbacks<'static> =
    VerifyCallbacks { progress: &|_, _, _| {}, check_cancelled: &|| Ok(()) };

/// Which of the indexes have files. They get some only at a checkpoint, or with a snapshot.
fn saved_indexes(memory: &TestMemory) -> Vec<&'static str> {
    memory.store.settle();
    let store = memory.paths.store();
    let is_saved = |name: &&str| store.join(name).join("tenants/manifest").exists();
    INDEX_FOLDERS.into_iter().filter(is_saved).collect()
}

/// The hashes of what the indexes have of each note.
fn digests(memory: &TestMemory) -> Vec<Vec<(NodeId, u64)>> {
    let indexes: [&dyn DerivedIndex; 3] =
        [&*memory.text_by_tenant, &*memory.vectors_by_tenant, &*memory.mentions_by_tenant];
    let sorted = |index: &dyn DerivedIndex| {
        let mut digests: Vec<(NodeId, u64)> = index.digests(Tenant::default()).unwrap().into_iter().collect();
        digests.sort_unstable();
        digests
    };
    indexes.map(sorted).into()
}

#[test]
fn indexes_arrive_with_a_snapshot_or_are_built() {
    let log = Arc::new(MemoryLog::default());
    let first = TestMemory::over(log.writer(), 7);
    for number in 0..30 {
        first.note(&format!("lamp-{number}"), &format!("Lamp {number} of the harbour is lit at noon."));
    }
    first.store.settle();
    let callbacks = CompactionCallbacks { progress: &|_, _| {}, check_cancelled: &|| Ok(()) };
    let made = first.store.make_snapshot(1, &callbacks).unwrap().unwrap();
    let segment = made.bytes as usize;
    let copied = TestMemory::over(log.writer(), 8);
    assert_eq!(saved_indexes(&copied), INDEX_FOLDERS);
    let mut memories = vec![copied];
    // Files that arrive damaged are built, with the others of their index.
    for part in 1..4 {
        let position = segment + log.file_bytes() * part / 4;
        log.damage_snapshots(position);
        memories.push(TestMemory::over(log.writer(), 8 + part as u64));
        log.damage_snapshots(position);
    }
    log.lose_files();
    let built = TestMemory::over(log.writer(), 20);
    assert_eq!(saved_indexes(&built), Vec::<&str>::new());
    memories.push(built);
    for memory in &memories {
        memory.store.settle();
        assert_eq!(digests(memory), digests(&first));
        assert_eq!(verify(memory, &QUIET).unwrap().damaged, vec![]);
        assert!(memory.find("lamp-7").is_ok());
    }
}
