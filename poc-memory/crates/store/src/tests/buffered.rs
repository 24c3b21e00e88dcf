//! The engine may lack the newest transactions or contain only parts of them, and nothing is lost.

use super::*;
use crate::engine::buffered::{BUFFER_BYTES, BufferedEngine};
use crate::engine::lsm::{self, LsmEngine};
use crate::engine::sled::SledEngine;
use crate::engine::{Put, Visitor, Watermark, changes, highest_seq};
use poc_graph::rng::{Rng, SeededRng};
use proptest::prelude::*;
use std::borrow::Cow;

/// A memory engine whose disk can be full. A write then fails after half of its changes.
#[derive(Default)]
struct FullEngine {
    engine: InMemoryEngine,
    is_full: AtomicBool,
}

impl Engine for FullEngine {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.engine.get(key)
    }
    fn scan(&self, prefix: &[u8], each: &mut Visitor) -> Result<()> {
        self.engine.scan(prefix, each)
    }
    fn apply(&self, changes: Cow<'_, [Put]>, watermark: Watermark) -> Result<()> {
        if self.is_full.load(Ordering::SeqCst) {
            self.engine.apply(changes[..changes.len() / 2].into(), self.engine.watermark()?)?;
            return Err(Error::internal("no space left on device"));
        }
        self.engine.apply(changes, watermark)
    }
    fn watermark(&self) -> Result<Watermark> {
        self.engine.watermark()
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

poc_laws::laws! {
    #[test]
    fn a_buffered_engine_equals_one_without_a_buffer(
        steps in proptest::collection::vec(step(), 1..40), limit in 1usize..300,
    ) {
        let (inner, plain) = (Arc::new(FullEngine::default()), InMemoryEngine::default());
        let buffered = BufferedEngine::new(inner.clone(), limit).unwrap();
        let mut seq = 0;
        for step in steps {
            match step {
                Step::Apply(changes) => {
                    seq += 1;
                    let watermark = Watermark { seq, checksum: seq as u32 };
                    plain.apply(changes.clone().into(), watermark).unwrap();
                    // An error means that an earlier buffer cannot be written. The new changes are buffered
                    // nevertheless.
                    let applied = buffered.apply(changes.into(), watermark);
                    prop_assert!(applied.is_ok() || inner.is_full.load(Ordering::SeqCst));
                }
                Step::Flush => {
                    let flushed = buffered.flush();
                    if !inner.is_full.load(Ordering::SeqCst) {
                        flushed.unwrap();
                        prop_assert_eq!(inner.watermark().unwrap(), plain.watermark().unwrap());
                        prop_assert_eq!(buffered.buffered(), 0);
                        prop_assert_eq!(scanned(inner.as_ref(), &[]), scanned(&plain, &[]));
                    }
                }
                Step::Full(is_full) => inner.is_full.store(is_full, Ordering::SeqCst),
            }
            prop_assert_eq!(buffered.watermark().unwrap(), plain.watermark().unwrap());
            for prefix in [&[][..], &[0], &[1, 2], &[2, 0, 1]] {
                prop_assert_eq!(scanned(&buffered, prefix), scanned(&plain, prefix));
            }
            for (key, value) in scanned(&plain, &[]) {
                prop_assert_eq!(buffered.get(&key).unwrap(), Some(value));
            }
            let starts: [(&[u8], &[u8]); 4] = [(&[], &[]), (&[], &[1, 1]), (&[1], &[1, 1]), (&[2, 0], &[2, 0, 1])];
            for (prefix, from) in starts {
                let keys = scanned(&plain, prefix).into_iter().map(|(key, _)| key);
                let first = keys.filter(|key| key.as_slice() >= from).min();
                prop_assert_eq!(plain.first_key(prefix, from).unwrap(), first.clone());
                prop_assert_eq!(buffered.first_key(prefix, from).unwrap(), first);
            }
        }
    }
}

/// An engine that cannot be scanned.
#[derive(Default)]
struct UnscannedEngine(InMemoryEngine);

impl Engine for UnscannedEngine {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.0.get(key)
    }
    fn scan(&self, _: &[u8], _: &mut Visitor) -> Result<()> {
        Err(Error::internal("the engine was scanned"))
    }
    fn first_key(&self, prefix: &[u8], from: &[u8]) -> Result<Option<Vec<u8>>> {
        self.0.first_key(prefix, from)
    }
    fn apply(&self, changes: Cow<'_, [Put]>, watermark: Watermark) -> Result<()> {
        self.0.apply(changes, watermark)
    }
    fn watermark(&self) -> Result<Watermark> {
        self.0.watermark()
    }
    fn size(&self) -> Result<u64> {
        self.0.size()
    }
    fn flush(&self) -> Result<()> {
        self.0.flush()
    }
}

#[test]
fn the_first_key_is_found_without_a_scan() {
    let buffered = BufferedEngine::new(Arc::new(UnscannedEngine::default()), BUFFER_BYTES).unwrap();
    let puts: Vec<Put> = (0..100u8).map(|key| (vec![1, key], Some(vec![key]))).collect();
    buffered.apply(puts.into(), Watermark { seq: 1, checksum: 1 }).unwrap();
    buffered.flush().unwrap();
    let deletions: Vec<Put> = (50..60u8).map(|key| (vec![1, key], None)).collect();
    buffered.apply(deletions.into(), Watermark { seq: 2, checksum: 2 }).unwrap();
    assert_eq!(buffered.first_key(&[1], &[1, 50]).unwrap(), Some(vec![1, 60]));
    assert_eq!(buffered.first_key(&[1], &[1, 100]).unwrap(), None);
}

#[test]
fn a_disk_too_full_for_records_loses_no_acknowledged_transaction() {
    let folder = poc_graph::testing::folder();
    let full = StoreOptions {
        engine: |_| Ok(Arc::new(FullEngine { is_full: AtomicBool::new(true), ..FullEngine::default() })),
        ..in_memory()
    };
    let store = open_in(&folder, full).unwrap();
    let mut acknowledged = Vec::new();
    let error = (1..).find_map(|number| {
        let done = store.transact(cause(), |tx| tx.put_node(&node(number)));
        done.map(|_| acknowledged.push(number)).err()
    });
    insta::assert_snapshot!(error.unwrap(), @"the store accepts no writes: its records cannot be written: no space left on device");
    assert!(acknowledged.len() > 5, "two buffers must be filled first");
    for &number in &acknowledged {
        assert!(store.node(node(number).id).unwrap().is_some(), "node {number}");
    }
    drop(store);
    let kept = numbers(&open_in(&folder, in_memory()).unwrap());
    assert!(acknowledged.iter().all(|number| kept.contains(number)));
}

/// A closed store with one transaction per node. sled has the first `written` of them.
fn lagging(count: u64, written: u64) -> TempDir {
    let folder = poc_graph::testing::folder();
    let store = open_in(&folder, StoreOptions::default()).unwrap();
    for number in 1..=count {
        put(&store, number);
        if number > 1 {
            let link = edge(number, number / 2, EdgeKind::Link, 0.5);
            store.transact(cause(), |tx| tx.put_edge(&link)).unwrap();
        }
        if number == written {
            store.checkpoint().unwrap();
        }
    }
    drop(store);
    folder
}

fn engine_in(folder: &TempDir) -> LsmEngine {
    LsmEngine::open(&folder.path().join("records")).unwrap()
}

/// The newest records of a store that has few.
fn sled_in(folder: &TempDir) -> SledEngine {
    SledEngine::open(&folder.path().join("records").join("recent.0")).unwrap()
}

#[test]
fn changes_wait_for_a_checkpoint() {
    let folder = lagging(40, 10);
    assert_eq!(engine_in(&folder).watermark().unwrap().seq, 19);
    let store = open_in(&folder, StoreOptions::default()).unwrap();
    assert_eq!(numbers(&store), (1..=40).collect::<Vec<_>>());
    assert!(store.recovery().messages.is_empty());
    store.checkpoint().unwrap();
    drop(store);
    assert_eq!(engine_in(&folder).watermark().unwrap().seq, 79);
    assert_eq!(numbers(&open_in(&folder, StoreOptions::default()).unwrap()), (1..=40).collect::<Vec<_>>());
}

/// The process ends after any number of sled's writes, and the log may lose its end as well.
#[test]
fn a_write_of_records_interrupted_at_any_point_loses_nothing() {
    for cut in [false, true] {
        let interrupted = (0..).take_while(|&writes| is_interrupted_after(writes, cut)).count();
        assert!(interrupted > 10, "{interrupted} interruptions");
    }
}

/// Applies changes until they are complete or a number of sled's writes was made. Returns whether they are complete.
fn apply_writes(sled: &SledEngine, changes: &[Put], watermark: Watermark, mut writes: usize) -> bool {
    let mut is_interrupted = false;
    let applied = sled.apply_with(changes, watermark, &mut |put| {
        is_interrupted = writes == 0;
        if is_interrupted {
            return Err(Error::unavailable("the process ends"));
        }
        writes -= 1;
        sled.write(put)
    });
    assert_eq!(applied.is_err(), is_interrupted);
    !is_interrupted
}

/// Whether a write of records was interrupted after a number of sled's writes. Checks that nothing is lost by that.
fn is_interrupted_after(writes: usize, cut: bool) -> bool {
    const COUNT: u64 = 100;
    let folder = lagging(COUNT, COUNT / 2);
    let written = COUNT - 1;
    let store = open_in(&folder, in_memory()).unwrap();
    let log = store.shared.log.clone();
    let (mut all, mut watermark) = (Vec::new(), Watermark::default());
    log.replay(written + 1, log.last(), &mut |txn, checksum| {
        all.extend(changes(&txn)?);
        watermark = Watermark { seq: txn.seq, checksum };
        Ok(())
    })
    .unwrap();
    drop(store);
    highest_seq::write(&folder.path().join("records"), watermark.seq).unwrap();
    let sled = sled_in(&folder);
    if apply_writes(&sled, &lsm::encoded(&all), watermark, writes) {
        return false;
    }
    // The last write but one sets the watermark: the records have everything from then on.
    let has_all = sled.watermark().unwrap() == watermark;
    assert!(has_all || sled.watermark().unwrap().seq == written);
    assert_eq!(sled.unfinished().unwrap(), (writes > 0).then_some(watermark));
    drop(sled);
    let path = segment_files(&folder).remove(0);
    let length = fs::metadata(&path).unwrap().len();
    if cut {
        // The log then ends before the watermark of the records.
        fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(length * 3 / 4).unwrap();
    }
    let store = open_in(&folder, StoreOptions::default()).unwrap();
    let found = contents(&store);
    // If the log was cut, how much is there depends on what was written before the interruption.
    assert!(numbers(&store).len() == COUNT as usize || (cut && !has_all));
    assert_eq!(store.damage().is_some(), cut, "read-only if the log lacks what was being written");
    assert!(!folder.path().join("quarantine").exists());
    drop(store);
    if has_all && cut {
        return true;
    }
    // The same log without records. If the log was cut, intact parts of the records have more than it.
    fs::remove_dir_all(folder.path().join("records")).unwrap();
    let in_log = contents(&open_in(&folder, StoreOptions::default()).unwrap());
    match cut {
        true => assert!(in_log.keys().all(|key| found.contains_key(key)), "{writes} writes"),
        false => assert_eq!(found, in_log, "{writes} writes"),
    }
    true
}

/// The layout of an earlier release: single records, and a watermark with another name.
#[test]
fn records_of_the_layout_before_blocks_are_written_again() {
    let folder = lagging(10, 10);
    let before = contents(&open_in(&folder, StoreOptions::default()).unwrap());
    let records = folder.path().join("records");
    fs::remove_dir_all(&records).unwrap();
    let db = sled::Config::new().path(&records).open().unwrap();
    db.insert(b"\0mark", vec![0; 12]).unwrap();
    db.insert([Table::Keys as u8, 7].as_slice(), b"stale".as_slice()).unwrap();
    drop(db);
    let store = open_in(&folder, StoreOptions::default()).unwrap();
    assert_eq!(contents(&store), before);
    assert!(store.recovery().messages.is_empty());
    drop(store);
    assert!(!records.join("db").exists());
}

/// Each write is interrupted at any point and then repeated, as by an open after a crash. Leftovers of an interruption
/// in a block must not reappear later, for example when the next block is removed.
#[test]
fn records_after_interrupted_writes_equal_a_sorted_map() {
    let folder = poc_graph::testing::folder();
    let engine = sled_in(&folder);
    let rng = SeededRng::new(5);
    let mut expected: BTreeMap<Vec<u8>, Vec<u8>> = BTreeMap::new();
    for seq in 1..=300 {
        // Ranges of keys, so that whole blocks appear and disappear.
        let (from, count, removes) =
            (rng.next_u64() % 400, rng.next_u64() % 60, rng.next_u64().is_multiple_of(2));
        let length = (rng.next_u64() % 400) as usize;
        let put = |number: u64| {
            let key = [&[7u8], number.to_be_bytes().as_slice()].concat();
            (key, (!removes).then(|| vec![number as u8 ^ seq as u8; length]))
        };
        let changes: Vec<Put> = (from..from + count).map(put).collect();
        for (key, value) in &changes {
            match value {
                Some(value) => drop(expected.insert(key.clone(), value.clone())),
                None => drop(expected.remove(key)),
            }
        }
        let watermark = Watermark { seq, checksum: 1 };
        apply_writes(&engine, &changes, watermark, (rng.next_u64() % 12) as usize);
        engine.apply(changes.into(), watermark).unwrap();
        assert!(scanned(&engine, &[7]).into_iter().eq(expected.clone()), "after {seq} writes");
        for (key, value) in &expected {
            assert_eq!(engine.get(key).unwrap().as_ref(), Some(value));
        }
    }
}

/// Blocks are split, merged and removed by a writer while readers look for records that never change.
#[test]
fn readers_find_every_record_while_blocks_change() {
    let folder = poc_graph::testing::folder();
    let engine = sled_in(&folder);
    let key = |number: u32| [&[7u8], number.to_be_bytes().as_slice()].concat();
    let value = |number: u32| vec![number as u8; 30];
    let kept = |number: &u32| number.is_multiple_of(8);
    let all: Vec<Put> = (0..8000).filter(kept).map(|number| (key(number), Some(value(number)))).collect();
    engine.apply(all.into(), Watermark { seq: 1, checksum: 1 }).unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (engine, done) = (&engine, &done);
        let reader = scope.spawn(move || {
            let mut rounds = 0;
            while !done.load(Ordering::SeqCst) || rounds == 0 {
                for number in (0..8000).filter(kept).skip(rounds % 7).step_by(7) {
                    assert_eq!(engine.get(&key(number)).unwrap(), Some(value(number)));
                }
                let found = scanned(engine, &[7]).into_iter();
                let numbers = found.map(|(key, _)| u32::from_be_bytes(key[1..].try_into().unwrap()));
                assert!(numbers.filter(kept).eq((0..8000).filter(kept)));
                rounds += 1;
            }
        });
        for round in 0..12u32 {
            let others = (0..8000).filter(|number| !kept(number) && number / 1000 != round % 8);
            let put = |number| (key(number), (round % 3 != 2).then(|| value(number)));
            let watermark = Watermark { seq: 2 + u64::from(round), checksum: 1 };
            let changes: Vec<Put> = others.map(put).collect();
            engine.apply(changes.into(), watermark).unwrap();
        }
        done.store(true, Ordering::SeqCst);
        reader.join().unwrap();
    });
    let left = scanned(&engine, &[7]);
    assert!(left.iter().is_sorted_by(|(a, _), (b, _)| a < b));
}
