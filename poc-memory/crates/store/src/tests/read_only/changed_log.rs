//! Another program changes the log while the store is open: the store takes no writes and loses nothing.

use super::*;

/// How another program changes the log of an open store, so that it lacks something.
fn changed_logs() -> [fn(&Path); 3] {
    [
        |segment| fs::remove_file(segment).unwrap(),
        |segment| fs::remove_dir_all(segment.parent().unwrap()).unwrap(),
        |segment| fs::OpenOptions::new().write(true).open(segment).unwrap().set_len(40).unwrap(),
    ]
}

/// Checks that a store refuses a note because another program has changed its log.
fn assert_put_refused(store: &Store) {
    let cause = Cause::new(Timestamp(6), "manual", "test");
    let error = store.transact(cause, |tx| tx.put_node(&node(66))).unwrap_err();
    assert_eq!(error.code, Code::ReadOnly, "{error}");
    assert!(error.message.contains("another program has changed its log"), "{error}");
    assert_eq!(store.read_only().unwrap().name(), "changed-log");
}

#[test]
fn a_log_that_is_changed_while_it_is_open_accepts_no_writes_and_nothing_is_lost() {
    let all: Vec<u64> = (1..=5).collect();
    for (change, checked_first) in
        changed_logs().into_iter().flat_map(|change| [(change, false), (change, true)])
    {
        let folder = poc_graph::testing::folder();
        let store = open_in(&folder, StoreOptions::default()).unwrap();
        for number in 1..=5 {
            put(&store, number);
        }
        change(&segment_files(&folder)[0]);
        if checked_first {
            store.check_log_files();
            store.check_log_files();
            assert_eq!(store.read_only().unwrap().name(), "changed-log");
        }
        assert_put_refused(&store);
        assert_put_refused(&store);
        assert_eq!(numbers(&store), all);
        // As after a kill: the records already have what the log lacks.
        let killed = copied(folder.path());
        drop(store);
        for folder in [folder, killed] {
            let store = open_in(&folder, StoreOptions::default()).unwrap();
            assert_eq!((store.damage().is_some(), numbers(&store)), (true, all.clone()));
            drop(store);
            repaired(&folder, RepairSource::Records);
            let store = open_in(&folder, StoreOptions::default()).unwrap();
            assert_eq!((store.damage(), numbers(&store)), (None, all.clone()));
            put(&store, 6);
        }
    }
}

#[test]
fn a_log_that_was_moved_away_and_back_takes_writes_again() {
    let folder = poc_graph::testing::folder();
    let limits = LogLimits { segment: 500, ..LogLimits::default() };
    let store = open_in(&folder, StoreOptions { limits, ..StoreOptions::default() }).unwrap();
    for number in 1..=5 {
        put(&store, number);
    }
    let segments = segment_files(&folder);
    assert!(segments.len() > 2, "{segments:?}");
    // Tests both the segment being written and a complete one.
    for (round, segment) in [segments.last().unwrap(), &segments[0]].into_iter().enumerate() {
        let elsewhere = segment.with_extension("away");
        fs::rename(segment, &elsewhere).unwrap();
        store.check_log_files();
        assert_put_refused(&store);
        fs::rename(&elsewhere, segment).unwrap();
        store.check_log_files();
        assert_eq!(store.read_only(), None);
        put(&store, 6 + round as u64);
    }
    drop(store);
    assert_eq!(numbers(&open_in(&folder, StoreOptions::default()).unwrap()), (1..=7).collect::<Vec<_>>());
}

#[test]
fn a_log_that_was_replaced_by_a_copy_is_written_to_again() {
    let folder = poc_graph::testing::folder();
    let store = open_in(&folder, StoreOptions::default()).unwrap();
    put(&store, 1);
    let segment = segment_files(&folder).remove(0);
    let bytes = fs::read(&segment).unwrap();
    fs::remove_file(&segment).unwrap();
    // A shorter file is not accepted as a copy.
    fs::write(&segment, &bytes[..bytes.len() - 1]).unwrap();
    assert_put_refused(&store);
    fs::write(&segment, bytes).unwrap();
    put(&store, 2);
    // This happens before the change is noticed.
    let bytes = fs::read(&segment).unwrap();
    fs::remove_file(&segment).unwrap();
    fs::write(&segment, bytes).unwrap();
    put(&store, 3);
    drop(store);
    assert_eq!(numbers(&open_in(&folder, StoreOptions::default()).unwrap()), [1, 2, 3]);
}

/// A failed write is cut off. If another program has cut off more, the gap is not filled with zeros.
#[test]
fn a_log_that_is_emptied_on_a_full_disk_is_not_continued() {
    let folder = poc_graph::testing::folder();
    let disk = FaultyDisk::default();
    let store =
        open_in(&folder, StoreOptions { disk: Arc::new(disk.clone()), ..StoreOptions::default() }).unwrap();
    put(&store, 1);
    disk.0.fail_writes.store(true, Ordering::SeqCst);
    let refused = store.transact(Cause::new(Timestamp(6), "manual", "test"), |tx| tx.put_node(&node(2)));
    assert_eq!(refused.unwrap_err().code, Code::ReadOnly);
    fs::write(&segment_files(&folder)[0], "").unwrap();
    disk.0.fail_writes.store(false, Ordering::SeqCst);
    assert_put_refused(&store);
    drop(store);
    let store = open_in(&folder, StoreOptions::default()).unwrap();
    assert_eq!((store.damage().is_some(), numbers(&store)), (true, vec![1]));
}

/// Otherwise the records, which have what was cut off, could be replaced with those of the shorter log.
#[test]
fn a_log_whose_last_records_were_cut_off_is_not_complete() {
    let folder = poc_graph::testing::folder();
    let store = open_in(&folder, StoreOptions::default()).unwrap();
    for number in 1..=5 {
        put(&store, number);
    }
    let segment = segment_files(&folder).remove(0);
    let SegmentState::Intact { bytes, .. } = check_segment(&segment, 1, 3).unwrap() else {
        panic!("the segment is damaged");
    };
    fs::OpenOptions::new().write(true).open(&segment).unwrap().set_len(bytes).unwrap();
    for error in [store.shared.log.verify().unwrap_err(), store.shared.log.read(4).unwrap_err()] {
        assert_eq!(error.code, Code::Damaged);
        assert_eq!(error.message, "the log does not contain transaction 4");
    }
    assert!(store.shared.log.read(3).unwrap().is_some());
}

#[test]
fn the_content_of_a_lost_log_is_saved_when_the_store_is_closed() {
    let folder = poc_graph::testing::folder();
    let store = open_in(&folder, StoreOptions::default()).unwrap();
    for number in 1..=5 {
        put(&store, number);
    }
    fs::remove_dir_all(folder.path().join("log")).unwrap();
    drop(store);
    let store = open_in(&folder, StoreOptions::default()).unwrap();
    assert!(store.damage().unwrap().starts_with("the log is missing"), "{:?}", store.damage());
    assert_eq!(numbers(&store), [1, 2, 3, 4, 5]);
}
