//! Segments that an earlier open has checked are read again only when their files have changed.

use super::shared_log::Daemon;
use super::*;
use crate::log;
use crate::testing::MemoryLog;
use std::time::{Duration, SystemTime};

/// A closed store of nine nodes in three segments, whose first two count as checked.
fn closed_store() -> TempDir {
    let folder = poc_graph::testing::folder();
    let options = || StoreOptions {
        limits: LogLimits { segment: 1500, ..LogLimits::default() },
        ..StoreOptions::default()
    };
    let store = open_in(&folder, options()).unwrap();
    for number in 1..=9 {
        put(&store, number);
    }
    store.checkpoint().unwrap();
    drop(store);
    assert_eq!(segment_files(&folder).len(), 3);
    // Recently written segments would be read again.
    for segment in segment_files(&folder) {
        let file = fs::OpenOptions::new().write(true).open(segment).unwrap();
        let changed = file.metadata().unwrap().modified().unwrap();
        file.set_modified(changed - Duration::from_secs(60)).unwrap();
    }
    drop(open_in(&folder, options()).unwrap());
    folder
}

fn changed(path: &Path) -> SystemTime {
    fs::metadata(path).unwrap().modified().unwrap()
}

/// Changes a segment's bytes and shifts its modification time by `later` seconds.
fn change(path: &Path, later: i64, how: impl Fn(&mut Vec<u8>)) {
    let before = changed(path);
    let mut bytes = fs::read(path).unwrap();
    how(&mut bytes);
    fs::write(path, bytes).unwrap();
    let by = Duration::from_secs(later.unsigned_abs());
    let at = if later < 0 { before - by } else { before + by };
    fs::OpenOptions::new().write(true).open(path).unwrap().set_modified(at).unwrap();
}

/// Reads the log and returns the last transaction of its valid prefix and the messages about the damage after it.
fn recover(folder: &TempDir) -> (u64, Vec<String>) {
    let (log, prefix_end) = log::inspect(&folder.path().join("log"), false).unwrap();
    (log.last(), prefix_end.iter().map(ToString::to_string).collect())
}

const REPORTED: &str = "log segment `00000000000000000001.log` is damaged at byte 24";

#[test]
fn a_checked_segment_is_not_read_again() {
    let folder = closed_store();
    change(&segment_files(&folder)[0], 0, |bytes| bytes[60] ^= 1);
    assert_eq!(recover(&folder), (9, Vec::new()));
}

#[test]
fn a_segment_that_was_changed_is_read_and_its_damage_reported() {
    // The time may also be earlier, because clocks can be set back.
    for later in [1, -1, -3600, 3600] {
        let folder = closed_store();
        change(&segment_files(&folder)[0], later, |bytes| bytes[60] ^= 1);
        let (last, notes) = recover(&folder);
        assert_eq!(last, 0, "{later}");
        assert_eq!(notes, [REPORTED]);
    }
}

#[test]
fn a_segment_of_another_length_is_read_again() {
    let folder = closed_store();
    change(&segment_files(&folder)[0], 0, |bytes| bytes.push(0));
    let (last, notes) = recover(&folder);
    assert_eq!((last, notes.len()), (4, 1), "{notes:?}");
    let folder = closed_store();
    change(&segment_files(&folder)[0], 0, |bytes| bytes.truncate(bytes.len() - 1));
    assert_eq!(recover(&folder).0, 3);
}

#[test]
fn a_recently_written_segment_is_read_again() {
    let folder = closed_store();
    let checked = folder.path().join("log").join("checked");
    let first = segment_files(&folder).remove(0);
    let file = fs::OpenOptions::new().write(true).open(&checked).unwrap();
    file.set_modified(changed(&first) + Duration::from_millis(900)).unwrap();
    change(&first, 0, |bytes| bytes[60] ^= 1);
    assert_eq!(recover(&folder).0, 0);
}

#[test]
fn every_segment_is_read_when_the_list_is_missing_or_empty() {
    for damage_list in
        [|path: &Path| fs::remove_file(path).unwrap(), |path: &Path| fs::write(path, "").unwrap()]
    {
        let folder = closed_store();
        change(&segment_files(&folder)[0], 0, |bytes| bytes[60] ^= 1);
        damage_list(&folder.path().join("log").join("checked"));
        assert_eq!(recover(&folder).0, 0);
    }
}

#[test]
fn a_missing_checked_segment_is_damage() {
    for (deleted, kept) in [(0, 0), (1, 4)] {
        let folder = closed_store();
        fs::remove_file(&segment_files(&folder)[deleted]).unwrap();
        let (last, notes) = recover(&folder);
        assert_eq!((last, notes.len()), (kept, 1), "{notes:?}");
    }
}

/// Damage that the open did not notice is reported when the record is read. The next open reads from what is intact.
#[test]
fn damage_found_while_reading_makes_the_next_open_read_only() {
    let folder = closed_store();
    change(&segment_files(&folder)[1], 0, |bytes| bytes[60] ^= 1);
    let store = open_in(&folder, StoreOptions::default()).unwrap();
    assert_eq!(numbers(&store).len(), 9);
    assert_eq!(store.transaction(1).unwrap().unwrap().seq, 1);
    let error = store.transaction(5).unwrap_err();
    assert!(error.message.ends_with("00000000000000000005.log` is damaged at byte 24"), "{error}");
    insta::assert_snapshot!(error.hint.unwrap(), @"open the store again: it opens read-only with all intact data, and `poc-memory repair` repairs it");
    drop(store);
    let store = open_in(&folder, StoreOptions::default()).unwrap();
    assert_eq!(numbers(&store).len(), 9);
    insta::assert_snapshot!(store.damage().unwrap(), @"log segment `00000000000000000005.log` is damaged at byte 24 and lacks change 5; answers show the records up to change 9");
}

/// Damage that only a verification notices stops writes, in the open store and after the next open.
#[test]
fn damage_found_by_a_verification_makes_the_store_read_only() {
    let callbacks = VerifyCallbacks { progress: &|_, _, _| {}, check_cancelled: &|| Ok(()) };
    for is_restored in [false, true] {
        let folder = closed_store();
        let segment = segment_files(&folder).remove(1);
        let original = fs::read(&segment).unwrap();
        change(&segment, 0, |bytes| bytes[60] ^= 1);
        let store = open_in(&folder, StoreOptions::default()).unwrap();
        put(&store, 10);
        assert_eq!(store.verify(&callbacks).unwrap().len(), 1);
        let reason = store.read_only().unwrap();
        assert!(matches!(reason, ReadOnlyReason::Damage(_)), "{reason:?}");
        let is_named = reason.message().ends_with("00000000000000000005.log`: it is damaged at byte 24");
        assert!(is_named, "{reason:?}");
        let refused = store.transact(cause(), |tx| tx.put_node(&node(11))).unwrap_err();
        assert_eq!(refused.code, Code::ReadOnly);
        if is_restored {
            fs::write(&segment, original).unwrap();
            assert_eq!(store.verify(&callbacks).unwrap(), Vec::new());
            assert_eq!(store.read_only(), None);
            put(&store, 11);
        }
        drop(store);
        let store = open_in(&folder, StoreOptions::default()).unwrap();
        assert_eq!(store.damage().is_some(), !is_restored);
        let last = if is_restored { 11 } else { 10 };
        assert_eq!(numbers(&store), (1..=last).collect::<Vec<u64>>());
    }
}

/// The disk works again, but the log is still damaged.
#[test]
fn damage_found_while_the_disk_fails_outlasts_the_failure() {
    let callbacks = VerifyCallbacks { progress: &|_, _, _| {}, check_cancelled: &|| Ok(()) };
    let folder = closed_store();
    change(&segment_files(&folder)[1], 0, |bytes| bytes[60] ^= 1);
    let faults = Arc::new(Faults::default());
    let disk = Arc::new(FaultyDisk(faults.clone()));
    let store = open_in(&folder, StoreOptions { disk, ..StoreOptions::default() }).unwrap();
    let refused = || store.transact(cause(), |tx| tx.put_node(&node(10))).unwrap_err();
    faults.fail_syncs.store(true, Ordering::SeqCst);
    assert_eq!(refused().code, Code::ReadOnly);
    assert!(!store.verify(&callbacks).unwrap().is_empty());
    faults.fail_syncs.store(false, Ordering::SeqCst);
    assert_eq!(refused().code, Code::ReadOnly);
    let reason = store.read_only();
    assert!(matches!(reason, Some(ReadOnlyReason::Damage(_))), "{reason:?}");
}

#[test]
fn a_damaged_copy_of_a_shared_log_accepts_writes() {
    let callbacks = VerifyCallbacks { progress: &|_, _, _| {}, check_cancelled: &|| Ok(()) };
    let daemon = Daemon::new(&Arc::new(MemoryLog::default()));
    for number in 1..=5 {
        put(daemon.store(), number);
    }
    change(&segment_files(&daemon.folder)[0], 0, |bytes| bytes[60] ^= 1);
    assert!(!daemon.store().verify(&callbacks).unwrap().is_empty());
    assert_eq!(daemon.store().read_only(), None);
    put(daemon.store(), 6);
    assert_eq!(numbers(daemon.store()), [1, 2, 3, 4, 5, 6]);
}
