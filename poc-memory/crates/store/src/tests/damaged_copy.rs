//! A damaged copy of a shared log is restored from that log, whatever is damaged. It stays as it is if the shared log
//! cannot be reached, is another memory, or lacks what the copy has.

use super::shared_log::{Daemon, delete_history, snapshot};
use super::*;
use crate::testing::{LogFault, MemoryLog};

/// Number of records of the log.
const RECORDS: u64 = 20;

/// Opens the copy in a folder, with small segments and records on disk.
fn open(folder: &TempDir, log: &Arc<MemoryLog>, faults: Vec<Option<LogFault>>) -> Result<Store> {
    let writer = log.writer();
    writer.plan(faults);
    let options = StoreOptions {
        limits: LogLimits { segment: 500, ..LogLimits::default() },
        shared_log: Some((writer, CopyStart::Snapshot)),
        ..StoreOptions::default()
    };
    open_in(folder, options)
}

/// A log, a store with all of its records, and the folder of the closed store that wrote them. That one has saved its
/// view and its records.
fn written() -> (Arc<MemoryLog>, Daemon, TempDir) {
    let (log, folder) = (Arc::new(MemoryLog::default()), poc_graph::testing::folder());
    let first = Daemon::new(&log);
    let store = open(&folder, &log, Vec::new()).unwrap();
    (1..=RECORDS).for_each(|number| {
        put(&store, number);
    });
    store.checkpoint().unwrap();
    first.catch_up(&log);
    (log, first, folder)
}

fn shorten(file: &Path) {
    let length = fs::metadata(file).unwrap().len();
    fs::OpenOptions::new().write(true).open(file).unwrap().set_len(length - 1).unwrap();
}

fn flip(file: &Path, at: usize) {
    let mut bytes = fs::read(file).unwrap();
    bytes[at] ^= 1;
    fs::write(file, bytes).unwrap();
}

/// What happens to the segments of a log, which are given in order.
type SegmentDamage<'a> = &'a dyn Fn(&[PathBuf]);

#[test]
fn a_copy_is_restored_whatever_is_damaged() {
    let shorten_last = |files: &[PathBuf]| shorten(&files[files.len() - 1]);
    let flip_header = |files: &[PathBuf]| flip(&files[0], 0);
    let flip_first = |files: &[PathBuf]| flip(&files[0], 60);
    let flip_middle = |files: &[PathBuf]| flip(&files[1], 60);
    let delete = |file: &PathBuf| fs::remove_file(file).unwrap();
    let delete_first = |files: &[PathBuf]| delete(&files[0]);
    let delete_middle = |files: &[PathBuf]| delete(&files[1]);
    let delete_last = |files: &[PathBuf]| delete(&files[files.len() - 1]);
    let delete_all = |files: &[PathBuf]| files.iter().for_each(delete);
    let all: [(&str, SegmentDamage<'_>); 8] = [
        ("shorten last", &shorten_last),
        ("flip header", &flip_header),
        ("flip first", &flip_first),
        ("flip middle", &flip_middle),
        ("delete first", &delete_first),
        ("delete middle", &delete_middle),
        ("delete last", &delete_last),
        ("delete all", &delete_all),
    ];
    for (name, damage) in all {
        let (log, first, folder) = written();
        let segments = segment_files(&folder);
        assert!(segments.len() > 2, "{segments:?}");
        damage(&segments);
        let store = open(&folder, &log, Vec::new()).unwrap();
        assert_eq!((store.damage(), store.read_only()), (None, None), "{name}");
        let messages = store.recovery().messages;
        assert!(messages[0].starts_with("the copy of the shared log was damaged: "), "{name}: {messages:?}");
        assert_eq!(contents(&store), contents(first.store()), "{name}");
        assert_eq!(store.history_base(), None, "{name}: all history is in the shared log");
        drop(store);
        let store = open(&folder, &log, Vec::new()).unwrap();
        assert_eq!(store.recovery().messages, Vec::<String>::new(), "{name}");
        assert_eq!(contents(&store), contents(first.store()), "{name}");
        assert!(!has_undoable_repair(folder.path()), "{name}");
    }
}

#[test]
fn a_copy_that_cannot_be_continued_begins_with_a_snapshot_and_stays_in_the_quarantine() {
    let (log, first, _) = written();
    snapshot(first.store(), 1).unwrap().unwrap();
    let folder = poc_graph::testing::folder();
    drop(open(&folder, &log, Vec::new()).unwrap());
    let copied = segment_files(&folder);
    let before = fs::read(&copied[0]).unwrap();
    // A byte of the state with which the copy begins.
    flip(&copied[0], 60);
    let damaged = fs::read(&copied[0]).unwrap();
    let store = open(&folder, &log, Vec::new()).unwrap();
    assert_eq!((store.damage(), store.history_base().unwrap().seq), (None, RECORDS - 1));
    assert_eq!(contents_without_changes(&store), contents_without_changes(first.store()));
    assert_eq!(fs::read(&segment_files(&folder)[0]).unwrap(), before);
    let parts = quarantine_parts(folder.path()).unwrap();
    assert_eq!(
        parts.iter().map(|part| (part.name.as_str(), part.is_replaced_copy)).collect::<Vec<_>>(),
        [("copy-1", true)]
    );
    let kept = folder.path().join("quarantine/copy-1/log").join(copied[0].file_name().unwrap());
    assert_eq!(fs::read(kept).unwrap(), damaged);
    assert!(store.recovery().messages[0].contains("`quarantine/copy-1`"), "{:?}", store.recovery().messages);
    put(&store, 30);
    assert!(!has_undoable_repair(folder.path()), "a damaged copy is not brought back");
}

#[test]
fn a_copy_before_deleted_history_begins_anew() {
    let (log, first, folder) = written();
    flip(&segment_files(&folder)[0], 60);
    assert_eq!(delete_history(first.store(), 100, 1).unwrap(), Some(RECORDS - 1));
    let store = open(&folder, &log, Vec::new()).unwrap();
    assert_eq!((store.damage(), store.history_base().unwrap().seq), (None, RECORDS - 1));
    assert_eq!(contents_without_changes(&store), contents_without_changes(first.store()));
}

/// Checks that the damaged copy in a folder opens with all notes, for reading only, and does not change. Returns the
/// description of the damage.
#[track_caller]
fn require_read_only(folder: &TempDir, log: &Arc<MemoryLog>, faults: Vec<Option<LogFault>>) -> String {
    let before = bytes_of_files(folder.path());
    let store = open(folder, log, faults).unwrap();
    assert_eq!(numbers(&store), (1..=RECORDS).collect::<Vec<_>>());
    assert_eq!(store.read_only().unwrap().name(), "damage");
    let damage = store.damage().unwrap().to_owned();
    drop(store);
    assert!(bytes_of_files(folder.path()) == before, "a file has changed");
    damage
}

#[test]
fn a_copy_is_not_restored_from_a_log_that_cannot_be_reached_or_has_less() {
    let (log, first, folder) = written();
    let segments = segment_files(&folder);
    shorten(&segments[segments.len() - 1]);
    // The head, what was deleted, the newest record, and two reads that compare the valid prefix.
    for failing in 0..5 {
        let mut faults = vec![Some(LogFault::Unreachable)];
        faults.resize(failing + 1, None);
        assert!(open(&folder, &log, faults.clone()).unwrap().awaits_shared_log());
        let damage = require_read_only(&folder, &log, faults);
        let expected = "; it was not restored from the shared log: the log cannot be reached; the next start tries again, \
                        and a running daemon starts again when it reaches the shared log";
        assert!(damage.ends_with(expected), "{damage}");
    }
    let other = Arc::new(MemoryLog::default());
    let second = Daemon::new(&other);
    (1..=RECORDS + 1).for_each(|number| {
        put(second.store(), 100 + number);
    });
    let damage = require_read_only(&folder, &other, Vec::new());
    assert!(
        damage.contains("`memory` is another memory, or has lost changes that the folder has; "),
        "{damage}"
    );
    assert!(!open(&folder, &other, Vec::new()).unwrap().awaits_shared_log());
    // A replica that lacked the last records replaces the log.
    drop(first);
    log.remove_after(RECORDS - 2);
    let damage = require_read_only(&folder, &log, Vec::new());
    let expected = "`memory` ends at change 18, but the folder has changes up to 20; this folder may have changes that the \
                    shared log lacks: move it away without deleting it, and the next start begins a new copy";
    assert!(damage.ends_with(expected), "{damage}");
    crate::log_head::LogHead::new(folder.path()).write(RECORDS);
    let damage = require_read_only(&folder, &log, Vec::new());
    assert!(damage.ends_with("without the shared log, and may have changes of its own"), "{damage}");
}

/// A repaired log may have transactions that the shared log lacks.
#[test]
fn a_copy_is_not_repaired_from_its_own_parts() {
    let (_, _, folder) = written();
    flip(&segment_files(&folder)[1], 60);
    for source in [RepairSource::Records, RepairSource::IntactLog, RepairSource::Log] {
        let repair = Repair::of(folder.path(), true).unwrap().unwrap();
        assert_eq!(repair.options().unwrap(), []);
        let error = repair.run(source, Timestamp(9), &[]).unwrap_err();
        assert_eq!(error.code, Code::InvalidArgument);
    }
    // It may have changes of its own.
    crate::log_head::LogHead::new(folder.path()).write(RECORDS);
    let repair = Repair::of(folder.path(), true).unwrap().unwrap();
    assert_eq!(repair.options().unwrap().len(), 3);
    repair.run(RepairSource::Log, Timestamp(9), &[]).unwrap();
    assert_eq!(Repair::of(folder.path(), true).unwrap().map(|repair| repair.damage().to_owned()), None);
    assert!(may_have_own_changes(folder.path()), "a snapshot does not replace the repaired log");
}

/// Without the head, a snapshot of the shared log could replace the repaired log.
#[test]
fn a_copy_whose_interrupted_repair_is_completed_may_have_own_changes() {
    let (_, _, folder) = written();
    flip(&segment_files(&folder)[1], 60);
    crate::log_head::LogHead::new(folder.path()).write(RECORDS);
    // Nothing can be moved to a quarantine that is not a folder.
    let quarantine = folder.path().join("quarantine");
    fs::write(&quarantine, "").unwrap();
    let repair = Repair::of(folder.path(), true).unwrap().unwrap();
    repair.run(RepairSource::Log, Timestamp(9), &[]).unwrap_err();
    assert!(folder.path().join("repair.json").exists());
    fs::remove_file(&quarantine).unwrap();
    assert!(Repair::of(folder.path(), true).unwrap().is_none());
    assert!(!folder.path().join("repair.json").exists());
    assert!(may_have_own_changes(folder.path()));
    undo_repair(folder.path(), &[]).unwrap();
    assert!(may_have_own_changes(folder.path()) && Repair::of(folder.path(), true).unwrap().is_some());
}

/// The state before the first change that is left is only in snapshots.
#[test]
fn a_copy_is_not_moved_away_without_an_intact_snapshot() {
    let (log, first, folder) = written();
    flip(&segment_files(&folder)[0], 60);
    assert_eq!(delete_history(first.store(), 100, 1).unwrap(), Some(RECORDS - 1));
    log.damage_snapshots(60);
    let damage = require_read_only(&folder, &log, Vec::new());
    assert!(damage.contains("cannot be copied"), "{damage}");
    log.damage_snapshots(60);
    assert_eq!(open(&folder, &log, Vec::new()).unwrap().damage(), None);
}

/// Records and log may come from different folders.
#[test]
fn the_log_of_another_memory_is_not_continued() {
    let (log, _first, folder) = written();
    let (other, other_folder) = (Arc::new(MemoryLog::default()), poc_graph::testing::folder());
    let store = open(&other_folder, &other, Vec::new()).unwrap();
    (1..=5).for_each(|number| {
        put(&store, 100 + number);
    });
    drop(store);
    let segments = folder.path().join("log");
    fs::remove_dir_all(&segments).unwrap();
    fs::create_dir(&segments).unwrap();
    for segment in segment_files(&other_folder) {
        fs::copy(&segment, segments.join(segment.file_name().unwrap())).unwrap();
    }
    let before = bytes_of_files(folder.path());
    let store = open(&folder, &log, Vec::new()).unwrap();
    let damage = store.damage().unwrap().to_owned();
    drop(store);
    assert!(damage.contains("are different memories: they diverge at or before change 5"), "{damage}");
    assert!(damage.contains("move it away without deleting it"), "{damage}");
    assert!(bytes_of_files(folder.path()) == before, "a file has changed");
}

/// The last call that fails is made after the copy was moved or cut off.
#[test]
fn a_later_open_restores_the_copy_if_any_call_fails() {
    for begins_anew in [false, true] {
        for failing in 0..16 {
            let (log, first, folder) = written();
            flip(&segment_files(&folder)[if begins_anew { 0 } else { 1 }], 60);
            if begins_anew {
                assert_eq!(delete_history(first.store(), 100, 1).unwrap(), Some(RECORDS - 1));
            }
            let mut faults = vec![Some(LogFault::Unreachable)];
            faults.resize(failing + 1, None);
            let opened = open(&folder, &log, faults);
            match begins_anew {
                true => drop(opened),
                false => {
                    assert_eq!(numbers(&opened.unwrap()), (1..=RECORDS).collect::<Vec<_>>(), "{failing}")
                }
            }
            let store = open(&folder, &log, Vec::new()).unwrap();
            assert_eq!((store.damage(), store.read_only()), (None, None), "{begins_anew} {failing}");
            let expected = contents_without_changes(first.store());
            assert_eq!(contents_without_changes(&store), expected, "{begins_anew} {failing}");
        }
    }
}

#[test]
fn an_interrupted_move_to_the_quarantine_is_completed() {
    for done in 0.. {
        let (log, first, folder) = written();
        let in_folder = |name: &str| folder.path().join(name);
        let entries = fs::read_dir(in_folder("log")).unwrap().map(|entry| entry.unwrap().file_name());
        let mut parts: Vec<String> = entries.map(|name| format!("log/{}", name.to_str().unwrap())).collect();
        parts.extend(
            ["records", "view"].map(str::to_owned).into_iter().filter(|part| in_folder(part).exists()),
        );
        if done > parts.len() {
            break;
        }
        let to = |part: &String| format!("quarantine/copy-1/{part}");
        let moves: Vec<(String, String)> = parts.iter().map(|part| (part.clone(), to(part))).collect();
        let journal = serde_json::json!({ "source": "copy", "folder": "copy-1", "moves": moves });
        fs::write(in_folder("repair.json"), journal.to_string()).unwrap();
        fs::create_dir_all(in_folder("quarantine/copy-1/log")).unwrap();
        for (from, to) in moves.iter().take(done) {
            fs::rename(in_folder(from), in_folder(to)).unwrap();
        }
        let store = open(&folder, &log, Vec::new()).unwrap();
        assert_eq!((store.damage(), store.read_only()), (None, None), "{done}");
        assert_eq!(contents(&store), contents(first.store()), "{done}");
        assert!(moves.iter().all(|(_, to)| in_folder(to).exists()) && !in_folder("repair.json").exists());
        let parts = quarantine_parts(folder.path()).unwrap();
        assert!(matches!(parts.as_slice(), [part] if part.name == "copy-1" && part.is_replaced_copy));
    }
}

/// The settings may name no shared log any more when the next process starts.
#[test]
fn a_copy_that_was_moved_away_and_not_replaced_is_no_empty_memory() {
    let (log, first, folder) = written();
    assert_eq!(crate::repair::put_copy_aside(folder.path()).unwrap(), "copy-1");
    let before = bytes_of_files(folder.path());
    let store = open_in(&folder, StoreOptions::default()).unwrap();
    assert_eq!(
        store.damage().unwrap(),
        "the log is missing, because a damaged copy of a shared log was moved to `quarantine/copy-1` (`poc-memory doctor \
         quarantine list`) and not replaced: set `[store] log` again to begin a new copy; otherwise, restore a backup, or \
         move the folder of the store away to begin with an empty memory"
    );
    assert_eq!(store.transact(cause(), |tx| tx.put_node(&node(1))).unwrap_err().code, Code::ReadOnly);
    drop(store);
    assert!(bytes_of_files(folder.path()) == before, "a file has changed");
    assert!(!Repair::of(folder.path(), false).unwrap().unwrap().damage().is_empty());
    let store = open(&folder, &log, Vec::new()).unwrap();
    assert_eq!((store.damage(), store.read_only()), (None, None));
    assert_eq!(contents(&store), contents(first.store()));
    drop(store);
    assert_eq!(open_in(&folder, StoreOptions::default()).unwrap().damage(), None);
}

#[test]
fn a_person_may_begin_an_empty_memory_beside_a_copy_that_was_moved_away() {
    let (_, _, folder) = written();
    crate::repair::put_copy_aside(folder.path()).unwrap();
    // The notes of the old folder can be restored into a new one.
    let new = poc_graph::testing::folder();
    drop(open_in(&new, StoreOptions::default()).unwrap());
    fs::rename(folder.path().join("quarantine"), new.path().join("quarantine")).unwrap();
    assert_eq!(open_in(&new, StoreOptions::default()).unwrap().damage(), None);
    fs::rename(new.path().join("quarantine"), folder.path().join("quarantine")).unwrap();
    assert!(open_in(&folder, StoreOptions::default()).unwrap().damage().is_some());
    delete_quarantine_part(folder.path(), "copy-1").unwrap();
    let store = open_in(&folder, StoreOptions::default()).unwrap();
    assert_eq!(store.damage(), None);
    put(&store, 1);
}

/// A repair may leave an empty log without records.
#[test]
fn a_repair_takes_the_place_of_a_copy_that_was_moved_away() {
    let (_, _, folder) = written();
    crate::repair::put_copy_aside(folder.path()).unwrap();
    let repaired = folder.path().join("quarantine/repair-2");
    fs::create_dir(&repaired).unwrap();
    let manifest = "{\"source\": \"log\", \"folder\": \"repair-2\", \"moves\": []}";
    fs::write(repaired.join("manifest.json"), manifest).unwrap();
    let store = open_in(&folder, StoreOptions::default()).unwrap();
    assert_eq!(store.damage(), None);
    put(&store, 1);
}

/// The new copy does not have the erased texts, so nobody can search the quarantine for them.
#[test]
fn a_copy_that_begins_anew_after_an_erasure_of_another_says_what_was_not_searched() {
    let (log, first, folder) = written();
    flip(&segment_files(&folder)[0], 60);
    first.store().compact(Some(Timestamp(i64::MAX)), &QUIET_COMPACTION).unwrap();
    first.store().erase_shared_history(&QUIET_COMPACTION).unwrap();
    let store = open(&folder, &log, Vec::new()).unwrap();
    let messages = store.recovery().messages;
    assert!(messages[1].contains("which now has `quarantine/copy-1`, were not searched"), "{messages:?}");
}

/// A state that was cut off between two of its records has no wrong byte.
#[test]
fn a_copy_that_ends_within_its_state_begins_anew() {
    let (log, first, _folder) = written();
    snapshot(first.store(), 1).unwrap().unwrap();
    let folder = poc_graph::testing::folder();
    let close = |store: Store| {
        store.checkpoint().unwrap();
        drop(store);
    };
    close(open(&folder, &log, Vec::new()).unwrap());
    let segment = segment_files(&folder).remove(0);
    let number: u64 = segment.file_stem().unwrap().to_str().unwrap().parse().unwrap();
    for last in number - 1..RECORDS {
        let SegmentState::Intact { bytes, .. } = check_segment(&segment, number, last).unwrap() else {
            panic!("the segment is damaged before {last}");
        };
        fs::OpenOptions::new().write(true).open(&segment).unwrap().set_len(bytes).unwrap();
        let store = open(&folder, &log, Vec::new()).unwrap();
        assert_eq!((store.damage(), store.read_only()), (None, None), "{last}");
        assert_eq!(contents_without_changes(&store), contents_without_changes(first.store()), "{last}");
        close(store);
    }
}
