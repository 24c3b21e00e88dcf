//! The engine may lack any number of the newest transactions, or have a part of them: nothing is lost.

use super::*;
use crate::engine::buffered::BufferedEngine;
use crate::engine::sled::SledEngine;
use crate::engine::{Mark, Put, Visitor, changes};
use proptest::prelude::*;

/// A memory engine whose disk can be full: then a write fails after half of its changes.
#[derive(Default)]
struct FullEngine {
    engine: MemoryEngine,
    is_full: AtomicBool,
}

impl Engine for FullEngine {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.engine.get(key)
    }
    fn scan(&self, prefix: &[u8], each: &mut Visitor) -> Result<()> {
        self.engine.scan(prefix, each)
    }
    fn apply(&self, mut changes: Vec<Put>, mark: Mark) -> Result<()> {
        if self.is_full.load(Ordering::SeqCst) {
            changes.truncate(changes.len() / 2);
            self.engine.apply(changes, self.engine.mark()?)?;
            return Err(Error::internal("no space left on device"));
        }
        self.engine.apply(changes, mark)
    }
    fn mark(&self) -> Result<Mark> {
        self.engine.mark()
    }
    fn size(&self) -> Result<u64> {
        self.engine.size()
    }
    fn flush(&self) -> Result<()> {
        self.engine.flush()
    }
}

#[derive(Clone, Debug)]
enum Step {
    Apply(Vec<Put>),
    Flush,
    /// The disk is full from now on, or has space again.
    Full(bool),
}

fn step() -> impl Strategy<Value = Step> {
    let key = proptest::collection::vec(0u8..3, 0..4);
    let value = proptest::option::weighted(0.7, proptest::collection::vec(any::<u8>(), 0..20));
    prop_oneof![
        6 => proptest::collection::vec((key, value), 1..10).prop_map(Step::Apply),
        1 => Just(Step::Flush),
        1 => any::<bool>().prop_map(Step::Full),
    ]
}

fn scanned(engine: &dyn Engine, prefix: &[u8]) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut found = Vec::new();
    let mut take = |key: &[u8], value: &[u8]| {
        found.push((key.to_vec(), value.to_vec()));
        Ok(())
    };
    engine.scan(prefix, &mut take).unwrap();
    found
}

proptest! {
    #[test]
    fn a_buffered_engine_equals_one_without_a_buffer(
        steps in proptest::collection::vec(step(), 1..40), limit in 1usize..300,
    ) {
        let (inner, plain) = (Arc::new(FullEngine::default()), MemoryEngine::default());
        let buffered = BufferedEngine::new(inner.clone(), limit).unwrap();
        let mut seq = 0;
        for step in steps {
            match step {
                Step::Apply(changes) => {
                    seq += 1;
                    let mark = Mark { seq, checksum: seq as u32 };
                    plain.apply(changes.clone(), mark).unwrap();
                    // An error says that an earlier buffer cannot be written; the changes are there all the same.
                    let applied = buffered.apply(changes, mark);
                    prop_assert!(applied.is_ok() || inner.is_full.load(Ordering::SeqCst));
                }
                Step::Flush => {
                    let flushed = buffered.flush();
                    if !inner.is_full.load(Ordering::SeqCst) {
                        flushed.unwrap();
                        prop_assert_eq!(inner.mark().unwrap(), plain.mark().unwrap());
                        prop_assert_eq!(buffered.buffered(), 0);
                        prop_assert_eq!(scanned(inner.as_ref(), &[]), scanned(&plain, &[]));
                    }
                }
                Step::Full(is_full) => inner.is_full.store(is_full, Ordering::SeqCst),
            }
            prop_assert_eq!(buffered.mark().unwrap(), plain.mark().unwrap());
            for prefix in [&[][..], &[0], &[1, 2], &[2, 0, 1]] {
                prop_assert_eq!(scanned(&buffered, prefix), scanned(&plain, prefix));
            }
            for (key, value) in scanned(&plain, &[]) {
                prop_assert_eq!(buffered.get(&key).unwrap(), Some(value));
            }
        }
    }
}

/// A closed store with one transaction a node. sled has the first `written` of them.
fn lagging(count: u64, written: u64) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let store = open_in(&folder, Parts::default()).unwrap();
    for number in 1..=count {
        put(&store, number);
        if number > 1 {
            let tie = edge(number, number / 2, EdgeKind::Link, 0.5);
            store.transact(cause(), |tx| tx.put_edge(&tie)).unwrap();
        }
        if number == written {
            store.checkpoint().unwrap();
        }
    }
    drop(store);
    folder
}

fn engine_in(folder: &TempDir) -> SledEngine {
    SledEngine::open(&folder.path().join("records")).unwrap()
}

#[test]
fn changes_wait_for_a_checkpoint() {
    let folder = lagging(40, 10);
    assert_eq!(engine_in(&folder).mark().unwrap().seq, 19);
    let store = open_in(&folder, Parts::default()).unwrap();
    assert_eq!(numbers(&store), (1..=40).collect::<Vec<_>>());
    assert!(store.recovery().notes.is_empty());
    store.checkpoint().unwrap();
    drop(store);
    assert_eq!(engine_in(&folder).mark().unwrap().seq, 79);
    assert_eq!(numbers(&open_in(&folder, Parts::default()).unwrap()), (1..=40).collect::<Vec<_>>());
}

/// The process ends after any number of batches of a write, and the log may lose its end besides.
#[test]
fn a_write_of_records_that_was_interrupted_anywhere_loses_nothing() {
    for cut in [false, true] {
        let interrupted = (0..).take_while(|&batches| is_rebuilt_after(batches, cut)).count();
        assert!(interrupted > 3, "{interrupted} interruptions");
    }
}

/// Whether a write of records was interrupted after a number of batches. Checks that nothing is lost by that.
fn is_rebuilt_after(batches: usize, cut: bool) -> bool {
    const COUNT: u64 = 240;
    let folder = lagging(COUNT, COUNT / 2);
    let written = COUNT - 1;
    let store = open_in(&folder, in_memory()).unwrap();
    let log = store.shared.log.clone();
    let (mut all, mut mark) = (Vec::new(), Mark::default());
    log.replay(written + 1, log.last(), &mut |txn, checksum| {
        all.extend(changes(&txn)?);
        mark = Mark { seq: txn.seq, checksum };
        Ok(())
    })
    .unwrap();
    drop(store);
    let sled = engine_in(&folder);
    if sled.apply_batches(all, mark, 1, batches).unwrap() {
        return false;
    }
    assert_eq!(sled.mark().unwrap().seq, written);
    assert_eq!(sled.unfinished().unwrap(), (batches > 0).then_some(mark));
    drop(sled);
    let path = segment_files(&folder).remove(0);
    let length = fs::metadata(&path).unwrap().len();
    if cut {
        // Behind the mark of the records.
        fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(length * 3 / 4).unwrap();
    }
    let store = open_in(&folder, Parts::default()).unwrap();
    let found = contents(&store);
    assert_eq!(numbers(&store).len() == COUNT as usize, !cut);
    let moved = folder.path().join("quarantine/records").exists();
    assert_eq!(moved, cut && batches > 0, "rebuilt only if the log lacks what was being written");
    drop(store);
    // The same log without records.
    fs::remove_dir_all(folder.path().join("records")).unwrap();
    assert_eq!(found, contents(&open_in(&folder, Parts::default()).unwrap()), "{batches} batches");
    true
}

/// As an earlier release left it: single records, and a mark with another name.
#[test]
fn records_of_the_layout_before_blocks_are_written_again() {
    let folder = lagging(10, 10);
    let before = contents(&open_in(&folder, Parts::default()).unwrap());
    let records = folder.path().join("records");
    fs::remove_dir_all(&records).unwrap();
    let db = sled::Config::new().path(&records).open().unwrap();
    db.insert(b"\0mark", vec![0; 12]).unwrap();
    db.insert([Table::Keys as u8, 7].as_slice(), b"stale".as_slice()).unwrap();
    drop(db);
    let store = open_in(&folder, Parts::default()).unwrap();
    assert_eq!(contents(&store), before);
    assert!(store.recovery().notes.is_empty());
    drop(store);
    assert!(!engine_in(&folder).holds_earlier_layout().unwrap());
}
