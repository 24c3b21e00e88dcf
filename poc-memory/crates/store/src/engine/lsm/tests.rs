//! Tests of the tables: power cuts, damage, merges and concurrent readers.

use super::*;
use crate::engine::memory::InMemoryEngine;
use crate::engine::sled::SledEngine;
use crate::engine::temporary_folder::copy_files;
use crate::table::Table;
use crate::tests::bytes_of_files;
use crate::watchdog::HEARTBEAT_TIMEOUT;
use poc_graph::error::{Code, Error};
use poc_graph::rng::{Rng, SeededRng};
use proptest::prelude::*;
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use tempfile::TempDir;

const SMALL: FlushLimits = FlushLimits { table: 200, recent: 300 };

type Contents = BTreeMap<Vec<u8>, Vec<u8>>;

fn open(folder: &TempDir) -> LsmEngine {
    LsmEngine::open_with(folder.path(), SMALL).unwrap()
}

fn contents(engine: &dyn Engine) -> Contents {
    let mut found = Contents::new();
    let mut take = |key: &[u8], value: &[u8]| {
        assert!(found.insert(key.to_vec(), value.to_vec()).is_none(), "a key is passed on twice");
        Ok(())
    };
    engine.scan(&[], &mut take).unwrap();
    found
}

fn apply_to(contents: &mut Contents, changes: &[Put]) {
    for (key, value) in changes {
        match value {
            Some(value) => drop(contents.insert(key.clone(), value.clone())),
            None => drop(contents.remove(key)),
        }
    }
}

/// The names of tables and folders.
fn names(folder: &TempDir) -> BTreeSet<String> {
    let entries = fs::read_dir(folder.path()).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    names.filter(|name| name.contains('.')).collect()
}

/// Simulates a power failure while the folder was open.
fn cut_power(folder: &TempDir, engine: LsmEngine) {
    engine.finish_merging();
    let recent = engine.state.current().recent.as_ref().map(|recent| recent.folder.path.clone());
    drop(engine);
    if let Some(recent) = recent {
        fs::write(recent.join("open-since-boot"), "another boot").unwrap();
    }
    assert!(is_readable(folder.path()));
}

#[derive(Clone, Debug)]
enum Step {
    Apply(Vec<Put>),
    FinishMerging,
    Reopen,
    PowerCut,
}

fn step() -> impl Strategy<Value = Step> {
    let key = proptest::collection::vec(0u8..4, 0..4);
    let value = proptest::option::weighted(0.7, proptest::collection::vec(any::<u8>(), 0..20));
    prop_oneof![
        12 => proptest::collection::vec((key, value), 1..30).prop_map(Step::Apply),
        2 => Just(Step::FinishMerging),
        1 => Just(Step::Reopen),
        1 => Just(Step::PowerCut),
    ]
}

poc_laws::laws! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// After a power failure, the engine has the state of its watermark, from which the log completes
    /// it.
    #[test]
    fn the_contents_are_those_of_the_watermark(steps in proptest::collection::vec(step(), 1..40)) {
        let folder = poc_graph::testing::folder();
        let mut engine = open(&folder);
        let mut states: Vec<Contents> = vec![Contents::new()];
        for step in steps {
            match step {
                Step::Apply(changes) => {
                    let mut next = states.last().unwrap().clone();
                    apply_to(&mut next, &changes);
                    let seq = states.len() as u64;
                    engine.apply(changes.into(), Watermark { seq, checksum: seq as u32 }).unwrap();
                    states.push(next);
                }
                Step::FinishMerging => engine.finish_merging(),
                Step::Reopen => {
                    drop(engine);
                    engine = open(&folder);
                }
                Step::PowerCut => {
                    cut_power(&folder, engine);
                    engine = open(&folder);
                    states.truncate(engine.watermark().unwrap().seq as usize + 1);
                }
            }
            let (seq, expected) = (states.len() as u64 - 1, states.last().unwrap());
            prop_assert_eq!(engine.watermark().unwrap().seq, seq);
            prop_assert!(highest_seq::read(folder.path()).unwrap() >= seq);
            prop_assert_eq!(&contents(&engine), expected);
            for key in (0u8..4).flat_map(|a| (0u8..4).map(move |b| vec![a, b])) {
                prop_assert_eq!(engine.get(&key).unwrap(), expected.get(&key).cloned());
                let first = expected.range(key.clone()..).next().map(|(first, _)| first.clone());
                prop_assert_eq!(&engine.first_key(&[], &key).unwrap(), &first);
                let with_prefix = first.filter(|first| first.starts_with(&key[..1]));
                prop_assert_eq!(engine.first_key(&key[..1], &key).unwrap(), with_prefix);
            }
        }
        let copy = poc_graph::testing::folder();
        drop(engine);
        copy_files(folder.path(), copy.path()).unwrap();
        let recent = copy.path().join(format!("recent.{}", open(&folder).state.current().newest_generation()));
        if recent.exists() {
            fs::write(recent.join("open-since-boot"), "another boot").unwrap();
        }
        let copied = LsmEngine::open_copy(copy.path()).unwrap();
        prop_assert_eq!(&contents(&copied), &states[copied.watermark().unwrap().seq as usize]);
    }

    /// Ranges of keys that overlap in parts, so that some blocks are copied and others are built again.
    #[test]
    fn merged_tables_have_the_newest_value_of_each_key(
        ranges in proptest::collection::vec((0u32..4000, 10u32..2000, any::<bool>()), 1..6),
    ) {
        let folder = poc_graph::testing::folder();
        let engine = open(&folder);
        let mut expected = Contents::new();
        for (seq, (first, count, deletes)) in (1..).zip(ranges) {
            let put = |number: u32| {
                let value = (!deletes || !number.is_multiple_of(700)).then(|| vec![seq as u8; 40]);
                (number.to_be_bytes().to_vec(), value)
            };
            let changes: Vec<Put> = (first..first + count).map(put).collect();
            apply_to(&mut expected, &changes);
            engine.apply(changes.into(), Watermark { seq, checksum: 1 }).unwrap();
        }
        engine.finish_merging();
        prop_assert!(contents(&engine) == expected);
        engine.rewrite(&|| Ok(())).unwrap();
        prop_assert!(contents(&engine) == expected);
        for (key, value) in &expected {
            prop_assert!(engine.get(key).unwrap().as_ref() == Some(value));
        }
        let current = engine.state.current();
        prop_assert_eq!(current.tables.iter().map(|run| run.table.records()).sum::<u64>(), expected.len() as u64);
    }

    #[test]
    fn a_damaged_byte_of_a_table_is_an_error(at in any::<prop::sample::Index>(), flip in 1u8.., cut in any::<bool>()) {
        let folder = poc_graph::testing::folder();
        let engine = open(&folder);
        let expected = filled(&engine, 1);
        drop(engine);
        let table = folder.path().join(GenerationRange::one(1).file_name());
        let mut bytes = fs::read(&table).unwrap();
        let at = at.index(bytes.len());
        if cut { bytes.truncate(at) } else { bytes[at] ^= flip }
        fs::write(&table, bytes).unwrap();
        let read = LsmEngine::open(folder.path()).and_then(|engine| {
            for (key, value) in &expected {
                assert_eq!(engine.get(key)?.as_ref(), Some(value));
            }
            engine.scan(&[], &mut |_, _| Ok(()))
        });
        let error = read.unwrap_err();
        prop_assert!(error.message.starts_with("the records are damaged"), "{error}");
    }
}

/// Applies and returns enough changes to become a table.
fn filled(engine: &LsmEngine, seq: u64) -> Contents {
    let put = |number: u64| {
        let number = number + 1000 * seq;
        (number.to_be_bytes().to_vec(), Some(vec![number as u8; 100]))
    };
    let changes: Vec<Put> = (0..200).map(put).collect();
    engine.apply(Cow::Borrowed(&changes), Watermark { seq, checksum: 1 }).unwrap();
    changes.into_iter().map(|(key, value)| (key, value.unwrap())).collect()
}

#[test]
fn the_tenants_of_recent_records_and_of_every_table_are_found() {
    let folder = poc_graph::testing::folder();
    let engine = open(&folder);
    for seq in 1..=20 {
        let tenant = |number: u64| Tenant([(seq * number % 7 + 1) as u8; 16]);
        let key = |number| (Table::Nodes.engine_key(tenant(number), &[seq as u8]), Some(vec![1; 8]));
        let changes: Vec<Put> =
            (1..=seq).map(key).chain([(Table::Nodes.engine_key(Tenant::default(), b"key"), None)]).collect();
        engine.apply(changes.into(), Watermark { seq, checksum: 0 }).unwrap();
        let expected: BTreeSet<Tenant> =
            contents(&engine).keys().filter_map(|key| split_tenant(key)).map(|(tenant, _)| tenant).collect();
        assert_eq!(engine.tenants().unwrap(), expected);
    }
    engine.finish_merging();
    assert_eq!(engine.tenants().unwrap().len(), 7);
}

#[test]
fn damage_that_was_found_is_known_to_the_next_open() {
    let folder = poc_graph::testing::folder();
    drop(filled(&open(&folder), 1));
    let table = folder.path().join(GenerationRange::one(1).file_name());
    let mut bytes = fs::read(&table).unwrap();
    bytes[20] ^= 1;
    fs::write(&table, bytes).unwrap();
    let engine = open(&folder);
    insta::assert_snapshot!(
        engine.scan(&[], &mut |_, _| Ok(())).unwrap_err(),
        @"the records are damaged: the table `00000001-00000001.table`: the block at byte 0 differs"
    );
    drop(engine);
    assert!(!is_readable(folder.path()));
    insta::assert_snapshot!(
        LsmEngine::open(folder.path()).err().unwrap(), @"damage was found when the records were last in use"
    );
}

#[test]
fn tables_of_similar_length_are_merged() {
    let folder = poc_graph::testing::folder();
    let engine = open(&folder);
    let mut expected = Contents::new();
    for seq in 1..=40 {
        expected.extend(filled(&engine, seq));
        engine.finish_merging();
        let tables = engine.state.current().tables.len();
        assert!(tables <= 7, "{tables} tables after {seq}");
    }
    assert_eq!(contents(&engine), expected);
    assert_eq!(names(&folder).len(), engine.state.current().tables.len());
}

/// Its records would be in other blocks if they were added one by one.
#[test]
fn a_block_that_no_other_table_divides_is_copied() {
    let folder = poc_graph::testing::folder();
    let engine = open(&folder);
    let rng = SeededRng::new(1);
    let put = |number: u32| {
        let value: Vec<u8> = (0..20).flat_map(|_| rng.next_u64().to_be_bytes()).collect();
        (number.to_be_bytes().to_vec(), Some(value))
    };
    let table = |generation: u64| folder.path().join(GenerationRange::one(generation).file_name());
    engine
        .apply((100..1_000).map(put).collect::<Vec<_>>().into(), Watermark { seq: 1, checksum: 1 })
        .unwrap();
    let first = fs::read(table(1)).unwrap();
    engine.apply((0..5).map(put).collect::<Vec<_>>().into(), Watermark { seq: 2, checksum: 1 }).unwrap();
    let expected = contents(&engine);
    engine.rewrite(&|| Ok(())).unwrap();
    assert!(contents(&engine) == expected);
    let merged = fs::read(folder.path().join(names(&folder).first().unwrap())).unwrap();
    // A block has about 8,192 bytes that cannot be compressed.
    let block = &first[..8_000];
    assert!(merged.len() > first.len() && merged.windows(block.len()).any(|bytes| bytes == block));
    assert!(!merged.starts_with(block));
}

#[test]
fn deleted_records_take_no_space_in_the_oldest_table() {
    let folder = poc_graph::testing::folder();
    let engine = open(&folder);
    let records = filled(&engine, 1);
    let deletions: Vec<Put> = records.into_keys().map(|key| (key, None)).collect();
    engine.apply(deletions.into(), Watermark { seq: 2, checksum: 1 }).unwrap();
    assert_eq!(contents(&engine), Contents::new());
    engine.finish_merging();
    let current = engine.state.current();
    engine.state.merge(&current, current.tables.len(), &|| Ok(())).unwrap();
    assert_eq!(contents(&engine), Contents::new());
    assert_eq!(engine.state.current().tables[0].table.records(), 0);
    assert_eq!(engine.watermark().unwrap().seq, 2);
}

/// A crash between any two steps of a merge or of writing a table leaves old files beside the new
/// ones.
#[test]
fn leftovers_of_a_crash_are_not_read() {
    let folder = poc_graph::testing::folder();
    let engine = open(&folder);
    let small = vec![(b"key".to_vec(), Some(b"old".to_vec()))];
    engine.apply(small.into(), Watermark { seq: 1, checksum: 1 }).unwrap();
    drop(engine);
    let old = poc_graph::testing::folder();
    copy_files(&folder.path().join("recent.0"), &old.path().join("recent.0")).unwrap();
    let engine = open(&folder);
    let mut expected = filled(&engine, 2);
    expected.insert(b"key".to_vec(), b"old".to_vec());
    fs::copy(folder.path().join("00000001-00000001.table"), old.path().join("00000001-00000001.table"))
        .unwrap();
    expected.extend(filled(&engine, 3));
    let deleted = vec![(b"key".to_vec(), None)];
    engine.finish_merging();
    engine.apply(deleted.into(), Watermark { seq: 4, checksum: 1 }).unwrap();
    expected.remove(b"key".as_slice());
    drop(engine);
    let names_before = names(&folder);
    copy_files(old.path(), folder.path()).unwrap();
    fs::write(folder.path().join("00000003-00000003.partial"), "half a table").unwrap();
    let engine = open(&folder);
    assert_eq!(contents(&engine), expected);
    drop(engine);
    assert_eq!(names(&folder), names_before);
}

#[test]
fn a_missing_table_is_damage() {
    let folder = poc_graph::testing::folder();
    let engine = open(&folder);
    filled(&engine, 1);
    engine.finish_merging();
    let large: Vec<Put> = (0..20).map(|number| (vec![number], Some(vec![number; 30]))).collect();
    engine.apply(large.into(), Watermark { seq: 2, checksum: 1 }).unwrap();
    engine.finish_merging();
    drop(engine);
    let first = names(&folder).into_iter().next().unwrap();
    fs::remove_file(folder.path().join(&first)).unwrap();
    insta::assert_snapshot!(
        LsmEngine::open(folder.path()).err().unwrap(),
        @"the records are damaged: the table of generation 1 is missing: the next one is `00000002-00000002.table`"
    );
}

#[test]
fn the_newest_transaction_is_known_without_the_file_that_has_its_number() {
    let heartbeat_timeout = std::time::Duration::from_secs(60);
    let newest = |folder: &TempDir| {
        fs::remove_file(folder.path().join("last")).ok();
        let before = bytes_of_files(folder.path());
        let newest = newest_seq(folder.path(), heartbeat_timeout).unwrap();
        assert!(bytes_of_files(folder.path()) == before, "the files of a damaged store must not change");
        newest
    };
    let folder = poc_graph::testing::folder();
    assert_eq!(newest(&folder), 0);
    drop(filled(&open(&folder), 3));
    assert_eq!(newest(&folder), 3);
    let small = vec![(b"key".to_vec(), Some(b"value".to_vec()))];
    open(&folder).apply(small.clone().into(), Watermark { seq: 4, checksum: 1 }).unwrap();
    assert_eq!(newest(&folder), 4);
    let earlier = poc_graph::testing::folder();
    SledEngine::open(earlier.path()).unwrap().apply(small.into(), Watermark { seq: 7, checksum: 3 }).unwrap();
    assert_eq!(newest(&earlier), 7);
    insta::assert_snapshot!(
        LsmEngine::open(earlier.path()).err().unwrap(), @"the records were written by an earlier release"
    );
}

/// No file contains a value that was overwritten or deleted.
#[test]
fn rewritten_records_have_no_obsolete_values() {
    let folder = poc_graph::testing::folder();
    let engine = open(&folder);
    let old = filled(&engine, 1);
    let mut expected = old.clone();
    let changes: Vec<Put> =
        old.keys().enumerate().map(|(at, key)| (key.clone(), (at % 2 == 0).then(|| vec![9; 100]))).collect();
    apply_to(&mut expected, &changes);
    for (seq, part) in (2..).zip(changes.chunks(50)) {
        engine.apply(part.into(), Watermark { seq, checksum: 1 }).unwrap();
    }
    engine.apply(vec![(b"last".to_vec(), None)].into(), Watermark { seq: 9, checksum: 1 }).unwrap();
    engine.rewrite(&|| Ok(())).unwrap();
    assert_eq!((contents(&engine), engine.watermark().unwrap().seq), (expected.clone(), 9));
    drop(engine);
    let names = names(&folder);
    assert_eq!(names.len(), 1, "{names:?}");
    let mut found = Contents::new();
    let table = folder.path().join(names.first().unwrap());
    each_intact_record(&table, HEARTBEAT_TIMEOUT, &mut |_, key, value| {
        found.insert(key.to_vec(), value.unwrap().to_vec());
    })
    .unwrap();
    assert_eq!(found, expected);
}

/// An engine with two tables, of which the second is too short to be merged with the first in the background.
fn with_two_tables(folder: &TempDir) -> LsmEngine {
    let engine = open(folder);
    let rng = SeededRng::new(1);
    for (seq, count) in [(1, 4_000), (2, 100)] {
        let put = |number: u32| (number.to_be_bytes().to_vec(), Some(rng.next_u64().to_be_bytes().to_vec()));
        let changes: Vec<Put> = (0..count).map(put).collect();
        engine.apply(changes.into(), Watermark { seq, checksum: 1 }).unwrap();
    }
    engine.finish_merging();
    assert_eq!(engine.state.current().tables.len(), 2);
    engine
}

/// A salvage reads every table that it finds, so a deleted note would be found again.
#[test]
fn a_merged_table_is_deleted_only_after_the_older_ones() {
    let folder = poc_graph::testing::folder();
    let engine = with_two_tables(&folder);
    let [older, newer] =
        ["00000001-00000001.table", "00000002-00000002.table"].map(|name| folder.path().join(name));
    // A file cannot be deleted where a folder has its name.
    fs::remove_file(&older).unwrap();
    fs::create_dir(&older).unwrap();
    engine.rewrite(&|| Ok(())).unwrap();
    assert!(newer.is_file());
    fs::remove_dir(&older).unwrap();
    drop(engine);
    drop(open(&folder));
    assert!(!newer.exists());
}

#[test]
fn a_cancelled_rewriting_leaves_the_tables_as_they_are() {
    let folder = poc_graph::testing::folder();
    let engine = with_two_tables(&folder);
    let (before, files) = (contents(&engine), bytes_of_files(folder.path()));
    for calls in 1..=3 {
        let made = Cell::new(0);
        let check_cancelled = || {
            made.set(made.get() + 1);
            if made.get() == calls { Err(Error::unavailable("cancelled")) } else { Ok(()) }
        };
        let error = engine.rewrite(&check_cancelled).unwrap_err();
        assert_eq!((error.code, made.get()), (Code::Unavailable, calls));
        assert!(bytes_of_files(folder.path()) == files, "{:?}", names(&folder));
        assert!(contents(&engine) == before && engine.watermark().unwrap().seq == 2);
    }
    engine.rewrite(&|| Ok(())).unwrap();
    assert!(contents(&engine) == before);
    assert_eq!(engine.state.current().tables.len(), 1);
}

/// The directory cannot be synced after the file got its name.
#[test]
fn a_table_that_is_not_completed_is_not_left_behind() {
    let folder = poc_graph::testing::folder();
    let path = folder.path().join(GenerationRange::one(1).file_name());
    let mut writer = TableWriter::create(&path, 1).unwrap();
    writer.push(b"key", b"value").unwrap();
    drop(writer);
    assert_eq!(names(&folder), BTreeSet::new());
    fs::create_dir(&path).unwrap();
    fs::write(path.join("in-the-way"), "").unwrap();
    let mut writer = TableWriter::create(&path, 1).unwrap();
    writer.push(b"key", b"value").unwrap();
    assert!(writer.finish(Watermark::default()).is_err());
    assert_eq!(names(&folder).len(), 1, "only the files in the way");
}

/// Readers look up records that never change while tables are written and merged.
#[test]
fn readers_find_every_record_while_tables_change() {
    let folder = poc_graph::testing::folder();
    let engine = open(&folder);
    let kept = filled(&engine, 1);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (engine, done, kept) = (&engine, &done, &kept);
        scope.spawn(move || {
            let mut is_last = false;
            while !is_last {
                is_last = done.load(Ordering::SeqCst);
                for (key, value) in kept {
                    assert_eq!(engine.get(key).unwrap().as_ref(), Some(value));
                }
                let all = contents(engine);
                assert!(kept.iter().all(|(key, value)| all.get(key) == Some(value)));
            }
        });
        let rng = SeededRng::new(3);
        for seq in 2..80 {
            let number = |_: u64| {
                (
                    vec![200, (rng.next_u64() % 50) as u8],
                    (!rng.next_u64().is_multiple_of(3)).then(|| vec![7; 40]),
                )
            };
            let changes: Vec<Put> = (0..rng.next_u64() % 40).map(number).collect();
            engine.apply(changes.into(), Watermark { seq, checksum: 1 }).unwrap();
        }
        done.store(true, Ordering::SeqCst);
    });
    let memory = InMemoryEngine::default();
    let all: Vec<Put> = contents(&engine).into_iter().map(|(key, value)| (key, Some(value))).collect();
    memory.apply(all.into(), Watermark::default()).unwrap();
    drop(engine);
    assert_eq!(contents(&open(&folder)), contents(&memory));
}

#[test]
fn the_records_of_a_table_without_its_end_are_newer_than_those_of_the_table_before_it() {
    let folder = poc_graph::testing::folder();
    let table = |generation: u64, seq: u64| {
        let path = folder.path().join(table_files::GenerationRange::one(generation).file_name());
        let mut writer = TableWriter::create(&path, 1).unwrap();
        writer.push(b"key", b"value").unwrap();
        writer.finish(Watermark { seq, checksum: 8 }).unwrap();
        path
    };
    let (_, last) = (table(1, 5), table(2, 9));
    let numbers = || {
        let mut numbers = Vec::new();
        each_intact_record(&last, HEARTBEAT_TIMEOUT, &mut |watermark, key, _| {
            numbers.push((watermark.seq, key.to_vec()));
        })
        .unwrap();
        numbers
    };
    assert_eq!(numbers(), [(9, b"key".to_vec())]);
    let mut bytes = fs::read(&last).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&last, bytes).unwrap();
    assert_eq!(numbers(), [(5, b"key".to_vec())]);
}
