//! Snapshots of a shared log: a store that starts with one equals the others, and incomplete snapshots are ignored.

use super::shared_log::{Daemon, daemons, snapshot, truncate_log};
use super::*;
use crate::testing::{LogFault, MemoryLog};
use std::time::Duration;

/// Notes, changes and deletions of two tenants.
pub(super) fn fill(store: &Store, log: &MemoryLog) {
    let tuple = Tuple::new([("user", "ada")]).unwrap();
    for number in 1..=20 {
        put(store, number);
        let tenant = store.for_tenant(&tuple);
        tenant
            .transact(cause(), |tx| tx.put_node(&Node { tenant: tx.tenant(), ..node(number + 100) }))
            .unwrap();
        if number % 3 == 0 {
            store.transact(cause(), |tx| tx.delete_node(node(number).id)).unwrap();
        }
    }
    assert_eq!(log.records().len(), 46);
}

/// A shared log with a snapshot at its last record, and the store that made it.
fn with_snapshot() -> (Arc<MemoryLog>, Daemon) {
    let log = Arc::new(MemoryLog::default());
    let first = Daemon::new(&log);
    fill(first.store(), &log);
    snapshot(first.store(), 1).unwrap().unwrap();
    (log, first)
}

#[test]
fn a_new_store_begins_with_the_newest_snapshot() {
    let log = Arc::new(MemoryLog::default());
    let first = Daemon::new(&log);
    fill(first.store(), &log);
    let made = snapshot(first.store(), 1).unwrap().unwrap();
    assert_eq!((made.seq, first.store().newest_snapshot().unwrap()), (46, Some(made)));
    for more in [false, true] {
        if more {
            put(first.store(), 30);
        }
        let mut second = Daemon::new(&log);
        second.catch_up(&log);
        let base = second.store().history_base().unwrap();
        assert_eq!((base.seq, first.store().history_base()), (45, None));
        let error = second.store().snapshot_at(PastState::AfterChange(9)).err().unwrap();
        assert_eq!(
            error.message,
            "the history begins after change 45, so the state at change 9 cannot be read"
        );
        assert!(error.hint.unwrap().contains("`begin-with = \"history\"`"));
        for _ in 0..2 {
            assert_eq!(contents_without_changes(second.store()), contents_without_changes(first.store()));
            assert_eq!(second.store().log_origin().unwrap(), first.store().log_origin().unwrap());
            let tenants = |store: &Store| -> Vec<Vec<u64>> {
                let all = store.tenants().unwrap().into_iter();
                all.map(|named| numbers(&store.for_tenant(&named.tuple))).collect()
            };
            assert_eq!(tenants(second.store()), tenants(first.store()));
            second.open().unwrap();
        }
    }
    let second = Daemon::new(&log);
    put(second.store(), 31);
    first.catch_up(&log);
    assert!(numbers(first.store()).contains(&31));
}

#[test]
fn a_copy_whose_end_was_cut_off_is_completed() {
    let (log, first) = with_snapshot();
    let mut second = Daemon::new(&log);
    // No saved file has this change.
    put(second.store(), 30);
    first.catch_up(&log);
    second.close();
    truncate_log(&second.folder);
    second.open().unwrap();
    assert_eq!(second.store().history_base().unwrap().seq, 45);
    assert_eq!(contents_without_changes(second.store()), contents_without_changes(first.store()));
}

#[test]
fn a_store_can_begin_with_the_first_record() {
    let (log, first) = with_snapshot();
    let folder = poc_graph::testing::folder();
    let options = StoreOptions { shared_log: Some((log.writer(), CopyStart::History)), ..in_memory() };
    let store = open_in(&folder, options).unwrap();
    assert_eq!(store.history_base(), None);
    assert_eq!(contents(&store), contents(first.store()));
}

#[test]
fn a_snapshot_is_made_when_it_is_due_and_by_one_store() {
    let log = Arc::new(MemoryLog::default());
    let [first, second] = daemons(&log, 2).try_into().ok().unwrap();
    put(first.store(), 1);
    assert_eq!(snapshot(first.store(), 1).unwrap(), None, "one change is its own snapshot");
    for number in 2..=10 {
        put(first.store(), number);
    }
    assert_eq!(snapshot(first.store(), 11).unwrap(), None);
    assert!(second.writer.claim(Duration::from_secs(60)).unwrap());
    assert_eq!(snapshot(first.store(), 10).unwrap(), None, "the other one makes it");
    second.catch_up(&log);
    assert_eq!(snapshot(second.store(), 10).unwrap().unwrap().seq, 10);
    assert_eq!(snapshot(first.store(), 10).unwrap(), None);
    put(first.store(), 11);
    assert_eq!(snapshot(first.store(), 1).unwrap().unwrap().seq, 11);
    assert!(!log.is_claimed());
}

#[test]
fn large_snapshots_have_several_parts() {
    let log = Arc::new(MemoryLog::default());
    let first = Daemon::new(&log);
    for number in 1..=5u64 {
        let value = incompressible(number, 25_000);
        first
            .store()
            .transact(cause(), |tx| tx.put_raw(Table::Meta, &number.to_le_bytes(), Some(value.clone())))
            .unwrap();
    }
    let made = snapshot(first.store(), 1).unwrap().unwrap();
    assert!(made.parts > 3, "{made:?}");
    let second = Daemon::new(&log);
    assert_eq!(contents_without_changes(second.store()), contents_without_changes(first.store()));
}

#[test]
fn a_damaged_snapshot_is_not_used() {
    let (log, first) = with_snapshot();
    let bytes = first.store().newest_snapshot().unwrap().unwrap().bytes as usize;
    for position in (0..bytes).step_by(bytes / 60).chain([bytes - 1]) {
        log.damage_snapshots(position);
        let second = Daemon::new(&log);
        assert_eq!(second.store().history_base(), None, "{position}");
        assert_eq!(contents(second.store()), contents(first.store()));
        let messages = second.store().recovery().lines();
        assert!(messages.iter().any(|line| line.starts_with("the snapshot at change 46 was not used")));
        log.damage_snapshots(position);
    }
    assert!(Daemon::new(&log).store().history_base().is_some());
    log.lose_part(0);
    assert_eq!(Daemon::new(&log).store().history_base(), None);
}

#[test]
fn a_snapshot_of_a_log_that_was_replaced_is_neither_made_nor_used() {
    let log = Arc::new(MemoryLog::default());
    let first = Daemon::new(&log);
    first.writer.silence(true);
    for number in 1..=10 {
        put(first.store(), number);
    }
    snapshot(first.store(), 1).unwrap().unwrap();
    // A replica that lacked the last record replaces the log, and another writer appends a different one.
    log.remove_after(9);
    let third = Daemon::new(&log);
    assert_eq!(third.store().history_base(), None);
    assert_eq!(numbers(third.store()), (1..=9).collect::<Vec<_>>());
    put(third.store(), 20);
    put(third.store(), 21);
    assert_eq!(Daemon::new(&log).store().history_base(), None);
    assert_eq!(snapshot(first.store(), 0).unwrap_err().code, Code::Conflict);
    assert!(!log.is_claimed());
    assert_eq!(snapshot(third.store(), 1).unwrap().unwrap().seq, 11);
    assert_eq!(numbers(Daemon::new(&log).store()), (1..=9).chain([20, 21]).collect::<Vec<_>>());
}

#[test]
fn a_store_that_fails_lets_others_make_the_snapshot() {
    let log = Arc::new(MemoryLog::default());
    let [first, second] = daemons(&log, 2).try_into().ok().unwrap();
    for number in 1..=10 {
        put(first.store(), number);
    }
    second.catch_up(&log);
    let check_cancelled = || Err(Error::unavailable("it is stopped"));
    let callbacks = CompactionCallbacks { progress: &|_, _| {}, check_cancelled: &check_cancelled };
    assert_eq!(first.store().make_snapshot(1, &callbacks).unwrap_err().code, Code::Unavailable);
    assert!(!log.is_claimed());
    assert_eq!(snapshot(second.store(), 1).unwrap().unwrap().seq, 10);
    // A store that began with a snapshot makes the next one.
    let mut third = Daemon::new(&log);
    put(third.store(), 11);
    let made = snapshot(third.store(), 1).unwrap().unwrap();
    assert_eq!(made.seq, 11);
    third.catch_up(&log);
    let fourth = Daemon::new(&log);
    assert_eq!(contents_without_changes(fourth.store()), contents_without_changes(third.store()));
    third.open().unwrap();
}

#[test]
fn an_interrupted_snapshot_does_not_count_and_two_stay() {
    let log = Arc::new(MemoryLog::default());
    let first = Daemon::new(&log);
    // Otherwise the watching thread may trigger the planned faults.
    first.writer.silence(true);
    fill(first.store(), &log);
    snapshot(first.store(), 1).unwrap().unwrap();
    put(first.store(), 30);
    // Each of the ten calls to the log fails once: two that read the newest snapshot, four that compare the store with
    // the log, and those that claim the snapshot, write its segment and its files, and complete it.
    for failing in 0..10 {
        let mut faults = vec![Some(LogFault::Unreachable)];
        faults.resize(failing + 1, None);
        first.writer.plan(faults);
        assert_eq!(snapshot(first.store(), 1).unwrap_err().code, Code::Unavailable, "{failing}");
        first.writer.plan(Vec::new());
        assert!(!log.is_claimed());
        assert_eq!(first.store().newest_snapshot().unwrap().unwrap().seq, 46);
        let second = Daemon::new(&log);
        assert_eq!(contents_without_changes(second.store()), contents_without_changes(first.store()));
    }
    for number in 31..35 {
        put(first.store(), number);
        let made = snapshot(first.store(), 1).unwrap().unwrap();
        assert_eq!(first.writer.newest().unwrap(), Some(made));
        let kept = |seq| first.writer.read_part(seq, 0).unwrap().is_some();
        let two_ago = made.seq > 48 && kept(made.seq - 2);
        assert_eq!([kept(made.seq), kept(made.seq - 1), two_ago], [true, made.seq > 48, false]);
    }
    let names = fs::read_dir(first.folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(names.into_iter().all(|name| name != "snapshot"), "nothing is left behind");
    assert!(!first.folder.path().join("log/compacted.partial").exists());
}
