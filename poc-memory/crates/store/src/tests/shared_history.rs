//! Tests the deletion of the beginning of a shared log: old history and erased texts. All copies stay equal, including
//! those that had not read the deleted records.

use super::shared_log::{Daemon, delete_history, snapshot, truncate_log};
use super::*;
use crate::testing::{LogFault, MemoryLog, segment_contains};

const SECRET: &[u8] = b"the secret of the harbour";

/// Creates a node. Its number is also the time of the change.
fn put_at(store: &Store, number: u64) {
    let cause = Cause::new(Timestamp(number as i64), "manual", "test");
    store.transact(cause, |tx| tx.put_node(&node(number))).unwrap();
}

/// A log with `count` records, and the store that wrote them.
fn written(count: u64) -> (Arc<MemoryLog>, Daemon) {
    let log = Arc::new(MemoryLog::default());
    let first = Daemon::new(&log);
    (1..=count).for_each(|number| put_at(first.store(), number));
    (log, first)
}

fn first_seq(log: &MemoryLog) -> u64 {
    log.records()[0].seq
}

fn erase(store: &Store) -> Result<()> {
    store.compact(Some(Timestamp(i64::MAX)), &QUIET_COMPACTION)?;
    store.erase_shared_history(&QUIET_COMPACTION)
}

#[test]
fn old_history_is_deleted_and_new_copies_begin_after_it() {
    let (log, first) = written(20);
    assert_eq!(
        delete_history(first.store(), 11, 11).unwrap(),
        None,
        "ten records are fewer than the minimum"
    );
    assert_eq!(delete_history(first.store(), 1, 1).unwrap(), None, "nothing is old enough");
    assert_eq!(first_seq(&log), 1);
    assert_eq!(delete_history(first.store(), 11, 10).unwrap(), Some(10));
    assert_eq!((first_seq(&log), log.head(), log.snapshots()), (11, 20, vec![11]));
    assert_eq!((first.store().history_base(), log.is_claimed()), (None, false));
    assert_eq!(first.store().first_shared().unwrap(), Some(11));
    put_at(first.store(), 21);
    assert_eq!(snapshot(first.store(), 1).unwrap().unwrap().seq, 21);
    for (start, base) in [(CopyStart::Snapshot, 20), (CopyStart::History, 10)] {
        let folder = poc_graph::testing::folder();
        let options = StoreOptions { shared_log: Some((log.writer(), start)), ..in_memory() };
        let store = open_in(&folder, options).unwrap();
        assert_eq!(store.history_base().unwrap().seq, base, "{start:?}");
        assert_eq!(contents_without_changes(&store), contents_without_changes(first.store()));
        assert_eq!(store.log_origin().unwrap(), first.store().log_origin().unwrap());
    }
    assert_eq!(delete_history(first.store(), 11, 1).unwrap(), None, "it is deleted already");
    put_at(first.store(), 22);
    snapshot(first.store(), 1).unwrap().unwrap();
    assert_eq!(log.snapshots(), [11, 21, 22]);
    assert_eq!(delete_history(first.store(), 16, 5).unwrap(), Some(15));
    assert_eq!((first_seq(&log), log.snapshots()), (16, vec![16, 21, 22]));
    assert_eq!(delete_history(first.store(), 100, 1).unwrap(), Some(21), "the last record stays");
    assert_eq!((first_seq(&log), log.snapshots()), (22, vec![22]));
    let mut second = Daemon::new(&log);
    put_at(second.store(), 23);
    first.catch_up(&log);
    assert_eq!(numbers(first.store()), (1..=23).collect::<Vec<_>>());
    second.open().unwrap();
    assert_eq!(contents_without_changes(second.store()), contents_without_changes(first.store()));
}

/// Otherwise a power failure could leave a copy that ends within the deleted history.
#[test]
fn the_own_copy_is_synced_before_history_is_deleted() {
    let log = Arc::new(MemoryLog::default());
    let second = Daemon::new(&log);
    let (folder, faults) = (poc_graph::testing::folder(), Arc::new(Faults::default()));
    let options = StoreOptions {
        disk: Arc::new(FaultyDisk(faults.clone())),
        buffer: 1 << 20,
        shared_log: Some((log.writer(), CopyStart::Snapshot)),
        ..in_memory()
    };
    let store = open_in(&folder, options).unwrap();
    (1..=11).for_each(|number| put_at(&store, number));
    second.catch_up(&log);
    // With this snapshot, the deletion needs no other one, whose preparation would sync the copy.
    assert_eq!(snapshot(second.store(), 1).unwrap().unwrap().seq, 11);
    (12..=20).for_each(|number| put_at(&store, number));
    faults.fail_syncs.store(true, Ordering::SeqCst);
    assert_eq!(delete_history(&store, 11, 1).unwrap_err().code, Code::ReadOnly);
    assert_eq!(first_seq(&log), 1);
    faults.end();
    assert_eq!(delete_history(&store, 11, 1).unwrap(), Some(10));
    assert_eq!(first_seq(&log), 11);
}

/// A copy that begins with a snapshot knows the time of its beginning, but not of the changes before.
#[test]
fn a_copy_without_the_old_history_does_not_delete_what_may_be_newer() {
    let (log, first) = written(20);
    snapshot(first.store(), 1).unwrap().unwrap();
    let second = Daemon::new(&log);
    assert_eq!(second.store().history_base().unwrap().seq, 19);
    assert_eq!(delete_history(second.store(), 11, 1).unwrap(), None);
    assert_eq!(first_seq(&log), 1);
    assert_eq!(delete_history(second.store(), 20, 1).unwrap(), Some(19));
    assert_eq!(first_seq(&log), 20);
}

#[test]
fn a_copy_that_lacks_deleted_records_begins_anew_when_it_is_opened() {
    for is_torn in [false, true] {
        let (log, first) = written(3);
        let folder = poc_graph::testing::folder();
        let open = |faults: Vec<Option<LogFault>>| {
            let writer = log.writer();
            writer.plan(faults);
            let options =
                StoreOptions { shared_log: Some((writer, CopyStart::Snapshot)), ..Default::default() };
            open_in(&folder, options).unwrap()
        };
        let store = open(Vec::new());
        // A log that ends before the saved records is damaged.
        if !is_torn {
            store.checkpoint().unwrap();
        }
        drop(store);
        if is_torn {
            truncate_log(&folder);
        }
        (4..=20).for_each(|number| put_at(first.store(), number));
        assert_eq!(delete_history(first.store(), 11, 1).unwrap(), Some(10));
        // Without a connection, it shows what it has.
        if !is_torn {
            let store = open(vec![Some(LogFault::Unreachable); 2000]);
            assert_eq!((numbers(&store), store.read_only().unwrap().name()), (vec![1, 2, 3], "log"));
        }
        for _ in 0..2 {
            let store = open(Vec::new());
            assert_eq!((store.read_only(), store.history_base().unwrap().seq), (None, 10));
            assert_eq!(contents_without_changes(&store), contents_without_changes(first.store()));
            assert_eq!(numbers(&store), (1..=20).collect::<Vec<_>>());
        }
        let quarantined = quarantine_names(folder.path()).unwrap().len();
        assert!(quarantined <= usize::from(is_torn), "only the torn record is in the quarantine");
    }
}

/// The only record of a new copy may be half written when the program is killed.
#[test]
fn a_copy_without_a_whole_record_begins_anew_when_it_is_opened() {
    let (log, first) = written(1);
    let mut second = Daemon::new(&log);
    second.close();
    (2..=20).for_each(|number| put_at(first.store(), number));
    assert_eq!(delete_history(first.store(), 11, 1).unwrap(), Some(10));
    truncate_log(&second.folder);
    let unreachable = vec![Some(LogFault::Unreachable); 2000];
    assert_eq!(second.open_with(unreachable).unwrap_err().code, Code::Unavailable);
    second.open().unwrap();
    assert_eq!(contents_without_changes(second.store()), contents_without_changes(first.store()));
    put(second.store(), 30);
}

#[test]
fn the_snapshot_that_a_log_begins_with_replaces_a_damaged_one() {
    let (log, first) = written(20);
    snapshot(first.store(), 1).unwrap().unwrap();
    log.damage_snapshots(60);
    assert_eq!(delete_history(first.store(), 11, 1).unwrap(), Some(10));
    assert_eq!(log.snapshots(), [11, 20]);
    let second = Daemon::new(&log);
    assert_eq!(second.store().history_base().unwrap().seq, 10);
    assert_eq!(contents_without_changes(second.store()), contents_without_changes(first.store()));
}

#[test]
fn the_newest_snapshot_replaces_a_damaged_one_that_a_log_begins_with() {
    let (log, first) = written(20);
    assert_eq!(delete_history(first.store(), 11, 1).unwrap(), Some(10));
    log.damage_snapshots(60);
    put_at(first.store(), 21);
    snapshot(first.store(), 1).unwrap().unwrap();
    assert_eq!(log.snapshots(), [11, 21]);
    let folder = poc_graph::testing::folder();
    let options = StoreOptions { shared_log: Some((log.writer(), CopyStart::History)), ..in_memory() };
    let store = open_in(&folder, options).unwrap();
    assert_eq!(store.history_base().unwrap().seq, 20);
    assert_eq!(contents_without_changes(&store), contents_without_changes(first.store()));
}

#[test]
fn without_an_intact_snapshot_a_log_whose_beginning_was_deleted_cannot_be_copied() {
    let (log, first) = written(3);
    let mut second = Daemon::new(&log);
    second.close();
    (4..=20).for_each(|number| put_at(first.store(), number));
    assert_eq!(delete_history(first.store(), 11, 1).unwrap(), Some(10));
    log.damage_snapshots(60);
    let folder = poc_graph::testing::folder();
    let open = || {
        let options = StoreOptions { shared_log: Some((log.writer(), CopyStart::Snapshot)), ..in_memory() };
        open_in(&folder, options)
    };
    let error = open().map(drop).unwrap_err();
    assert_eq!(error.code, Code::Damaged);
    insta::assert_snapshot!(error.message, @"the shared log `memory` cannot be copied: its changes up to 10 were deleted, and the snapshot at change 11 is damaged or belongs to another log");
    // A copy that lacks deleted changes shows what it has, and says why it cannot be replaced.
    second.open().unwrap();
    let reason = second.store().read_only().unwrap();
    assert!(matches!(&reason, ReadOnlyReason::Failure(message) if *message == error.message), "{reason:?}");
    assert_eq!(numbers(second.store()), [1, 2, 3]);
    log.lose_part(0);
    assert_eq!(open().map(drop).unwrap_err().message, error.message);
    put_at(first.store(), 21);
    snapshot(first.store(), 1).unwrap().unwrap();
    assert_eq!(contents_without_changes(&open().unwrap()), contents_without_changes(first.store()));
}

#[test]
fn an_open_copy_that_lacks_deleted_records_accepts_no_writes() {
    let (log, first) = written(3);
    let mut second = Daemon::new(&log);
    second.writer.silence(true);
    (4..=20).for_each(|number| put_at(first.store(), number));
    assert_eq!(delete_history(first.store(), 11, 1).unwrap(), Some(10));
    let error = second.store().transact(cause(), |tx| tx.put_node(&node(30))).unwrap_err();
    assert_eq!(error.code, Code::ReadOnly, "{error}");
    assert!(error.message.contains("begins after change 3"), "{error}");
    assert!(second.store().is_outdated());
    assert_eq!(numbers(second.store()), [1, 2, 3]);
    second.catch_up_or_begin_anew(&log);
    assert_eq!(numbers(second.store()), (1..=20).collect::<Vec<_>>());
    put(second.store(), 30);
}

#[test]
fn another_memory_is_refused_although_its_records_were_deleted() {
    let (log, first) = written(20);
    assert_eq!(delete_history(first.store(), 11, 1).unwrap(), Some(10));
    let other = Arc::new(MemoryLog::default());
    for count in [3, 15] {
        let folder = poc_graph::testing::folder();
        let open = |log: &Arc<MemoryLog>| {
            let options =
                StoreOptions { shared_log: Some((log.writer(), CopyStart::Snapshot)), ..in_memory() };
            open_in(&folder, options)
        };
        let store = open(&other).unwrap();
        (store.last_seq() + 1..=count).for_each(|number| {
            put(&store, 100 + number);
        });
        drop(store);
        let error = open(&log).map(drop).unwrap_err();
        assert_eq!(error.code, Code::Conflict, "{count}: {error}");
        assert_eq!(numbers(&open(&other).unwrap()).len() as u64, count);
    }
}

/// A copy that was verified has no records of its own, and is replaced.
#[test]
fn a_folder_with_changes_of_its_own_is_not_replaced() {
    for is_own in [false, true] {
        let (folder, log) = (poc_graph::testing::folder(), Arc::new(MemoryLog::default()));
        let store = open_in(&folder, in_memory()).unwrap();
        (1..=3).for_each(|number| put_at(&store, number));
        copy_log(folder.path(), log.writer().as_ref(), &|_, _| {}).unwrap();
        let open = || {
            let options =
                StoreOptions { shared_log: Some((log.writer(), CopyStart::Snapshot)), ..in_memory() };
            open_in(&folder, options)
        };
        if is_own {
            put_at(&store, 30);
            drop(store);
        } else {
            drop(store);
            drop(open().unwrap());
        }
        require_continued(folder.path(), log.writer().as_ref()).unwrap();
        let first = Daemon::new(&log);
        (4..=20).for_each(|number| put_at(first.store(), number));
        assert_eq!(delete_history(first.store(), 11, 1).unwrap(), Some(10));
        let error = require_continued(folder.path(), log.writer().as_ref()).unwrap_err();
        assert_eq!(error.code, Code::Conflict, "{error}");
        if is_own {
            let error = open().map(drop).unwrap_err();
            assert_eq!(error.code, Code::Conflict, "{error}");
            assert!(error.message.contains("its own changes"), "{error}");
            let store = open_in(&folder, in_memory()).unwrap();
            assert_eq!(numbers(&store), [1, 2, 3, 30]);
        } else {
            let store = open().unwrap();
            assert_eq!(numbers(&store), (1..=20).collect::<Vec<_>>());
            assert_eq!(store.recovery().messages, Vec::<String>::new());
        }
    }
}

/// Its former copy contained the text, but cannot be searched after it was replaced.
#[test]
fn a_copy_that_missed_an_erasure_says_what_was_not_searched() {
    let (log, first) = written(3);
    let mut second = Daemon::new(&log);
    second.close();
    let saved = [crate::tenant_view_files::FOLDER, crate::derived_files::FOLDER]
        .map(|folder| second.folder.path().join(folder));
    for folder in &saved {
        fs::create_dir(folder).unwrap();
        fs::write(folder.join("00000000000000000000000000000001"), "the view of a tenant").unwrap();
    }
    (4..=9).for_each(|number| put_at(first.store(), number));
    erase(first.store()).unwrap();
    second.open().unwrap();
    assert!(saved.iter().all(|folder| !folder.exists()));
    let messages = &second.store().recovery().messages;
    assert!(messages.iter().any(|message| message.contains("has erased texts")), "{messages:?}");
    second.open().unwrap();
    assert_eq!(second.store().recovery().messages, Vec::<String>::new());
}

#[test]
fn an_interrupted_deletion_leaves_a_log_that_can_be_read() {
    let (log, first) = written(20);
    first.writer.silence(true);
    for fault in [LogFault::Unreachable, LogFault::AnswerLost] {
        for failing in 0..17 {
            log.expire_claim();
            let mut faults = vec![Some(fault)];
            faults.resize(failing + 1, None);
            first.writer.plan(faults);
            let before = first_seq(&log) as i64 + 1;
            if let Err(error) = delete_history(first.store(), before, 1) {
                assert_eq!(error.code, Code::Unavailable, "{failing}: {error}");
            }
            first.writer.plan(Vec::new());
            let second = Daemon::new(&log);
            assert_eq!(contents_without_changes(second.store()), contents_without_changes(first.store()));
        }
    }
    log.expire_claim();
    assert_eq!(delete_history(first.store(), 21, 1).unwrap(), Some(19));
    assert_eq!(log.snapshots(), [20]);
}

#[test]
fn an_erased_text_leaves_the_log_and_the_other_copies() {
    let log = Arc::new(MemoryLog::default());
    let first = Daemon::new(&log);
    let second = Daemon::new(&log);
    for number in 1..=3 {
        put(first.store(), number);
    }
    let set = |value: Option<&[u8]>| {
        let value = value.map(<[u8]>::to_vec);
        first.store().transact(cause(), |tx| tx.put_raw(Table::Meta, b"text", value.clone())).unwrap();
    };
    set(Some(SECRET));
    snapshot(first.store(), 1).unwrap().unwrap();
    set(None);
    put(first.store(), 4);
    let third = Daemon::new(&log);
    [&second, &third].into_iter().for_each(|daemon| daemon.catch_up(&log));
    assert!(log.has_text(SECRET));
    assert_eq!(second.store().erased_elsewhere().unwrap(), None);
    erase(first.store()).unwrap();
    assert!(!log.has_text(SECRET));
    assert_eq!((first_seq(&log), log.snapshots()), (6, vec![6]));
    assert_eq!(first.store().erased_elsewhere().unwrap(), None);
    for daemon in [&second, &third] {
        assert_eq!(daemon.store().erased_elsewhere().unwrap(), Some(5));
        daemon.store().compact(Some(Timestamp(i64::MAX)), &QUIET_COMPACTION).unwrap();
        assert_eq!(daemon.store().erased_elsewhere().unwrap(), None);
        let has_secret = |file: &PathBuf| segment_contains(&fs::read(file).unwrap(), SECRET);
        assert!(!segment_files(&daemon.folder).iter().any(has_secret));
        assert_eq!(contents_without_changes(daemon.store()), contents_without_changes(first.store()));
    }
    assert_eq!(Daemon::new(&log).store().erased_elsewhere().unwrap(), None);
}

#[test]
fn an_erasure_is_refused_while_another_writer_stores_a_snapshot() {
    let (log, first) = written(5);
    let second = Daemon::new(&log);
    second.writer.claim(std::time::Duration::from_secs(60)).unwrap();
    let error = erase(first.store()).unwrap_err();
    assert_eq!(error.code, Code::Unavailable);
    assert!(error.message.ends_with("; if its process has ended, its claim ends within 24 s"), "{error}");
    assert_eq!(first_seq(&log), 1);
    second.writer.release().unwrap();
    erase(first.store()).unwrap();
    assert_eq!(first_seq(&log), 5);
}
