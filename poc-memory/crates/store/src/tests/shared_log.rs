//! Several stores use one shared log. Every acknowledged write is in it exactly once, and all stores become equal.

use super::verify::QUIET;
use super::*;
use crate::testing::{LogFault, MemoryLog, MemoryLogWriter};
use proptest::prelude::*;
use std::time::Duration;

/// Maximum time that a store needs to read what others have written.
const CATCH_UP_TIMEOUT: Duration = Duration::from_secs(60);

/// A store over a shared log, in a folder that outlives it.
pub(super) struct Daemon {
    pub(super) folder: TempDir,
    log: Arc<MemoryLog>,
    faults: Arc<Faults>,
    pub(super) writer: Arc<MemoryLogWriter>,
    store: Option<Store>,
}

impl Daemon {
    pub(super) fn new(log: &Arc<MemoryLog>) -> Daemon {
        let mut daemon = Daemon {
            folder: poc_graph::testing::folder(),
            log: log.clone(),
            faults: Arc::default(),
            writer: log.writer(),
            store: None,
        };
        daemon.open().unwrap();
        daemon
    }

    pub(super) fn open(&mut self) -> Result<()> {
        self.open_with(Vec::new())
    }

    /// Opens the store with faults of the first calls to its log.
    pub(super) fn open_with(&mut self, faults: Vec<Option<LogFault>>) -> Result<()> {
        self.store = None;
        self.writer = self.log.writer();
        self.writer.plan(faults);
        let options = StoreOptions {
            disk: Arc::new(FaultyDisk(self.faults.clone())),
            limits: LogLimits { unsynced: 500, ..LogLimits::default() },
            retry_delay: Duration::from_millis(1),
            shared_log: Some((self.writer.clone(), CopyStart::Snapshot)),
            ..in_memory()
        };
        self.store = Some(open_in(&self.folder, options)?);
        Ok(())
    }

    pub(super) fn close(&mut self) {
        self.store = None;
    }

    pub(super) fn store(&self) -> &Store {
        self.store.as_ref().unwrap()
    }

    pub(super) fn catch_up(&self, log: &MemoryLog) {
        self.writer.silence(false);
        assert!(self.store().wait_published(log.head(), CATCH_UP_TIMEOUT));
    }

    /// Catches up, and opens the store again if the log has deleted what it lacks.
    pub(super) fn catch_up_or_begin_anew(&mut self, log: &MemoryLog) {
        self.writer.silence(false);
        for _ in 0..6000 {
            if self.store().wait_published(log.head(), Duration::from_millis(10)) {
                return;
            }
            if matches!(self.store().read_only(), Some(ReadOnlyReason::Failure(_))) {
                self.open().unwrap();
            }
        }
        panic!("the store does not catch up: {:?}", self.store().read_only());
    }
}

/// Makes a snapshot if the log has at least `every` transactions more than the newest one.
pub(super) fn snapshot(store: &Store, every: u64) -> Result<Option<SharedSnapshot>> {
    store.make_snapshot(every, &QUIET_COMPACTION)
}

/// Deletes the records that were made before a time from the shared log, if they are at least `min_records`.
pub(super) fn delete_history(store: &Store, before: i64, min_records: u64) -> Result<Option<u64>> {
    store.delete_shared_history(Timestamp(before), min_records, &QUIET_COMPACTION)
}

pub(super) fn daemons(log: &Arc<MemoryLog>, count: u8) -> Vec<Daemon> {
    (0..count).map(|_| Daemon::new(log)).collect()
}

/// How many nodes a store has, by a counter that every creation increments.
fn count(store: &Store) -> u64 {
    read_count(store.raw(Table::Meta, b"count").unwrap())
}

fn read_count(bytes: Option<Vec<u8>>) -> u64 {
    bytes.map_or(0, |bytes| u64::from_le_bytes(bytes.try_into().unwrap()))
}

/// Creates a node and counts it.
fn put_and_count(store: &Store, number: u64) -> Result<u64> {
    let done = store.transact(cause(), |tx| {
        tx.put_node(&node(number))?;
        let count = 1 + read_count(tx.get_raw(Table::Meta, b"count")?);
        tx.put_raw(Table::Meta, b"count", Some(count.to_le_bytes().to_vec()))?;
        Ok(count)
    })?;
    Ok(done.value)
}

#[test]
fn one_store_reads_what_another_writes() {
    let log = Arc::new(MemoryLog::default());
    let [a, b]: [Daemon; 2] = daemons(&log, 2).try_into().ok().unwrap();
    put(a.store(), 1);
    b.catch_up(&log);
    assert_eq!(numbers(b.store()), [1]);
    put(b.store(), 2);
    a.catch_up(&log);
    assert_eq!(contents(a.store()), contents(b.store()));
    assert_eq!(a.store().checksum(2).unwrap(), b.store().checksum(2).unwrap());
    assert_eq!(a.store().transaction(2).unwrap(), b.store().transaction(2).unwrap());
}

#[test]
fn a_transaction_on_an_old_head_is_built_again() {
    let log = Arc::new(MemoryLog::default());
    let all = daemons(&log, 2);
    all.iter().for_each(|daemon| daemon.writer.silence(true));
    for round in 0..20u64 {
        for (at, daemon) in all.iter().enumerate() {
            let number = 1 + round * 2 + at as u64;
            assert_eq!(put_and_count(daemon.store(), number).unwrap(), number);
        }
    }
    assert!(all[0].store().shared_log().unwrap().conflicts >= 19);
    all.iter().for_each(|daemon| daemon.catch_up(&log));
    assert_eq!(numbers(all[0].store()), (1..=40).collect::<Vec<_>>());
    assert_eq!(contents(all[0].store()), contents(all[1].store()));
}

#[test]
fn many_threads_of_many_stores_count_every_write_once() {
    let log = Arc::new(MemoryLog::default());
    let all = daemons(&log, 3);
    std::thread::scope(|scope| {
        for (at, daemon) in all.iter().enumerate() {
            for thread in 0..3u64 {
                let first = 1 + (at as u64 * 3 + thread) * 20;
                scope.spawn(move || {
                    (first..first + 20)
                        .for_each(|number| assert!(put_and_count(daemon.store(), number).is_ok()));
                });
            }
        }
    });
    all.iter().for_each(|daemon| daemon.catch_up(&log));
    for daemon in &all {
        assert_eq!(count(daemon.store()), 180);
        assert_eq!(numbers(daemon.store()), (1..=180).collect::<Vec<_>>());
        assert_eq!(contents(daemon.store()), contents(all[0].store()));
        assert_eq!(count_by_view(daemon.store()), count_by_view(all[0].store()));
    }
    // No writer starves.
    let records = log.records();
    assert!(all.iter().all(|daemon| records.iter().any(|record| record.writer == daemon.writer.writer())));
}

fn count_by_view(store: &Store) -> crate::testing::Counts {
    crate::testing::counts_of_view(&store.view())
}

#[test]
fn an_unreachable_log_stops_writes_but_not_reads() {
    let log = Arc::new(MemoryLog::default());
    let daemon = Daemon::new(&log);
    put(daemon.store(), 1);
    daemon.writer.plan(vec![Some(LogFault::Unreachable); 2000]);
    let error = daemon.store().transact(cause(), |tx| tx.put_node(&node(2))).unwrap_err();
    assert_eq!(error.code, Code::Unavailable);
    // Whether the write was sent depends on which thread first finds the log unreachable.
    let unknown = "it is not known whether this write succeeded; ";
    assert_eq!(
        error.line().replace(unknown, ""),
        "the store accepts no writes: the log cannot be reached; try again in a few seconds: writing resumes without a restart once the shared log responds"
    );
    assert_eq!(daemon.store().read_only().unwrap().name(), "log");
    assert_eq!(numbers(daemon.store()), [1]);
    daemon.writer.plan(Vec::new());
    while daemon.store().read_only().is_some() {
        std::thread::yield_now();
    }
    put(daemon.store(), 3);
    assert_eq!(numbers(daemon.store()), [1, 3]);
    assert_eq!(log.records().len(), 2);
}

#[test]
fn only_a_write_that_was_sent_may_have_succeeded() {
    let log = Arc::new(MemoryLog::default());
    let daemon = Daemon::new(&log);
    // Otherwise the watching thread may find the log unreachable before the write.
    daemon.writer.silence(true);
    put(daemon.store(), 1);
    for is_sent in [false, true] {
        daemon.writer.plan(vec![Some(LogFault::Unreachable); 2000]);
        if !is_sent {
            // After a failed call, the next write first compares the copy with the log.
            daemon.store().peers().unwrap_err();
        }
        let error = daemon.store().transact(cause(), |tx| tx.put_node(&node(2))).unwrap_err();
        assert_eq!(error.code, Code::Unavailable);
        assert_eq!(error.message.contains("not known whether this write succeeded"), is_sent, "{error}");
        daemon.writer.plan(Vec::new());
        while daemon.store().read_only().is_some() {
            std::thread::yield_now();
        }
    }
    put(daemon.store(), 3);
    assert_eq!(numbers(daemon.store()), [1, 3]);
}

#[test]
fn a_copy_opens_without_its_log_and_an_empty_folder_does_not() {
    let log = Arc::new(MemoryLog::default());
    let mut daemon = Daemon::new(&log);
    put(daemon.store(), 1);
    daemon.open_with(vec![Some(LogFault::Unreachable); 2000]).unwrap();
    assert_eq!(numbers(daemon.store()), [1]);
    assert_eq!(
        daemon.store().transact(cause(), |tx| tx.put_node(&node(2))).unwrap_err().code,
        Code::Unavailable
    );
    daemon.store = None;
    daemon.folder = poc_graph::testing::folder();
    let unreachable = vec![Some(LogFault::Unreachable); 2000];
    assert_eq!(daemon.open_with(unreachable).unwrap_err().code, Code::Unavailable);
    daemon.open().unwrap();
    assert_eq!(numbers(daemon.store()), [1], "a new folder is filled from the log");
}

#[test]
fn a_folder_with_another_memory_is_refused_and_unchanged() {
    let log = Arc::new(MemoryLog::default());
    let daemon = Daemon::new(&log);
    put(daemon.store(), 1);
    let mut other = Daemon::new(&Arc::new(MemoryLog::default()));
    put(other.store(), 2);
    for more in [false, true] {
        if more {
            other.open().unwrap();
            put(other.store(), 3);
        }
        other.store = None;
        let before = fs::read(&segment_files(&other.folder)[0]).unwrap();
        let own = std::mem::replace(&mut other.log, log.clone());
        let error = other.open().unwrap_err();
        assert_eq!(error.code, Code::Conflict);
        assert!(error.message.contains("are different memories"), "{error}");
        assert_eq!(fs::read(&segment_files(&other.folder)[0]).unwrap(), before);
        other.log = own;
    }
    assert_eq!(log.records().len(), 1);
}

#[test]
fn a_log_that_has_lost_records_is_another_memory() {
    for others_write in [false, true] {
        let log = Arc::new(MemoryLog::default());
        let daemon = Daemon::new(&log);
        // Otherwise the watching thread may read the other log before its connection ends.
        daemon.writer.silence(true);
        put(daemon.store(), 1);
        put(daemon.store(), 2);
        log.remove_after(1);
        if others_write {
            let other = Daemon::new(&log);
            put(other.store(), 3);
            put(other.store(), 4);
        }
        // The connection ended with the log that was replaced.
        daemon.writer.plan(vec![Some(LogFault::Unreachable)]);
        let error = daemon.store().transact(cause(), |tx| tx.put_node(&node(5))).unwrap_err();
        assert_eq!(error.code, Code::Unavailable);
        let problem = if others_write {
            "are different memories"
        } else {
            "the shared log `memory` ends at change 1, but the store's folder has changes up to 2; if an older state"
        };
        assert!(error.message.contains(problem), "{error}");
        assert_eq!(numbers(daemon.store()), [1, 2]);
        assert_eq!(log.records().len(), if others_write { 3 } else { 1 });
    }
}

#[test]
fn a_copy_puts_back_what_its_log_has_lost() {
    let log = Arc::new(MemoryLog::default());
    let mut all = daemons(&log, 2);
    (1..=3).for_each(|number| {
        put(all[0].store(), number);
    });
    all[1].catch_up(&log);
    all.iter_mut().for_each(Daemon::close);
    log.remove_after(1);
    let lost = all[0].open().unwrap_err();
    assert_eq!(lost.code, Code::Conflict);
    assert!(lost.message.contains("ends at change 1, but the store's folder has changes up to 3"), "{lost}");
    assert!(lost.hint.unwrap().contains("`poc-memory store copy --from FOLDER"));
    assert_eq!(copy_log(all[0].folder.path(), log.writer().as_ref(), &|_, _| {}).unwrap(), 3);
    for daemon in &mut all {
        daemon.open().unwrap();
        assert_eq!(numbers(daemon.store()), [1, 2, 3]);
    }
    // A memory in files that was never copied is not lost, either.
    all[0].close();
    all[0].log = Arc::default();
    let empty = all[0].open().unwrap_err();
    assert!(empty.message.contains("is empty, but the store's folder has changes up to 3"), "{empty}");
    let hint = empty.hint.unwrap();
    assert!(
        hint.starts_with("copy the folder into the database first") && !hint.contains("delete"),
        "{hint}"
    );
}

#[test]
fn a_copy_of_a_snapshot_says_that_its_log_has_lost_changes() {
    let log = Arc::new(MemoryLog::default());
    let mut first = Daemon::new(&log);
    (1..=3).for_each(|number| {
        put(first.store(), number);
    });
    snapshot(first.store(), 1).unwrap().unwrap();
    let mut second = Daemon::new(&log);
    assert_eq!(second.store().history_base().unwrap().seq, 2);
    first.close();
    second.close();
    log.remove_after(1);
    let lost = second.open().unwrap_err();
    assert!(lost.message.contains("ends at change 1, but the store's folder has changes up to 3"), "{lost}");
    let error = copy_log(second.folder.path(), log.writer().as_ref(), &|_, _| {}).unwrap_err();
    assert!(error.message.contains("is missing in the shared log"), "{error}");
}

#[test]
fn a_write_whose_copy_fails_is_in_the_shared_log_and_becomes_visible() {
    let log = Arc::new(MemoryLog::default());
    let daemon = Daemon::new(&log);
    put(daemon.store(), 1);
    daemon.faults.fail_writes.store(true, Ordering::SeqCst);
    put(daemon.store(), 2);
    assert_eq!(daemon.store().read_only().unwrap().name(), "disk");
    assert_eq!(
        daemon.store().transact(cause(), |tx| tx.put_node(&node(3))).unwrap_err().code,
        Code::ReadOnly
    );
    daemon.faults.fail_writes.store(false, Ordering::SeqCst);
    daemon.catch_up(&log);
    assert_eq!(put(daemon.store(), 4).seq, 3);
    assert_eq!(numbers(daemon.store()), [1, 2, 4]);
}

#[test]
fn writes_are_acknowledged_without_a_sync_of_the_copy() {
    let log = Arc::new(MemoryLog::default());
    let (folder, faults) = (poc_graph::testing::folder(), Arc::new(Faults::default()));
    let options = StoreOptions {
        disk: Arc::new(FaultyDisk(faults.clone())),
        buffer: 1 << 20,
        shared_log: Some((log.writer(), CopyStart::Snapshot)),
        ..in_memory()
    };
    let store = open_in(&folder, options).unwrap();
    // The first record begins a segment.
    put(&store, 1);
    let syncs = || faults.syncs.swap(0, Ordering::SeqCst);
    syncs();
    (2..=50).for_each(|number| {
        put(&store, number);
    });
    assert_eq!(syncs(), 0);
    for expected in [1, 0] {
        store.checkpoint().unwrap();
        assert_eq!(syncs(), expected);
    }
    let synced = store.shared.log.keep_synced().unwrap();
    put(&store, 51);
    assert_eq!(syncs(), 1, "a file that is written now may have the change");
    drop(synced);
    put(&store, 52);
    assert_eq!(syncs(), 0);
    drop(store);
    assert_eq!(syncs(), 1, "an orderly end leaves nothing unsynced");
}

#[test]
fn a_copy_that_cannot_be_synced_is_written_again() {
    let log = Arc::new(MemoryLog::default());
    let mut daemon = Daemon::new(&log);
    put(daemon.store(), 1);
    daemon.faults.fail_syncs.store(true, Ordering::SeqCst);
    let mut acknowledged = vec![1];
    for number in 2.. {
        match daemon.store().transact(cause(), |tx| tx.put_node(&node(number))) {
            Ok(_) => acknowledged.push(number),
            Err(error) => {
                assert_eq!(error.code, Code::ReadOnly);
                break;
            }
        }
    }
    assert_eq!(numbers(daemon.store()), acknowledged);
    assert_eq!(daemon.store().read_only().unwrap().name(), "disk");
    assert_eq!(daemon.store().checkpoint().unwrap_err().code, Code::ReadOnly);
    daemon.faults.fail_syncs.store(false, Ordering::SeqCst);
    while daemon.store().read_only().is_some() {
        std::thread::yield_now();
    }
    daemon.store().checkpoint().unwrap();
    put(daemon.store(), 1000);
    acknowledged.push(1000);
    assert_eq!(numbers(daemon.store()), acknowledged);
    daemon.open().unwrap();
    assert_eq!(numbers(daemon.store()), acknowledged);
}

/// After a power failure, the disk may have later records of the copy and not the ones before.
#[test]
fn a_hole_in_the_end_of_a_copy_is_read_again() {
    let log = Arc::new(MemoryLog::default());
    let mut daemon = Daemon::new(&log);
    (1..=5).for_each(|number| {
        put(daemon.store(), number);
    });
    for may_have_own_changes in [false, true] {
        daemon.close();
        let segment = segment_files(&daemon.folder).pop().unwrap();
        let mut bytes = fs::read(&segment).unwrap();
        bytes[60] ^= 1;
        fs::write(&segment, bytes).unwrap();
        if may_have_own_changes {
            crate::log_head::LogHead::new(daemon.folder.path()).write(5);
        }
        daemon.open().unwrap();
        assert_eq!(daemon.store().damage().is_some(), may_have_own_changes);
        if !may_have_own_changes {
            assert_eq!(numbers(daemon.store()), [1, 2, 3, 4, 5]);
        }
    }
}

/// The header of a segment is synced before its first record is written.
#[test]
fn a_wrong_header_before_intact_records_of_a_copy_is_damage() {
    let log = Arc::new(MemoryLog::default());
    let mut daemon = Daemon::new(&log);
    (1..=2).for_each(|number| {
        put(daemon.store(), number);
    });
    daemon.close();
    let segment = segment_files(&daemon.folder).pop().unwrap();
    let mut bytes = fs::read(&segment).unwrap();
    bytes[0] ^= 1;
    fs::write(&segment, bytes).unwrap();
    daemon.open_with(vec![Some(LogFault::Unreachable); 2000]).unwrap();
    assert!(daemon.store().damage().is_some());
    daemon.open().unwrap();
    assert_eq!((daemon.store().damage(), numbers(daemon.store())), (None, vec![1, 2]));
}

#[test]
fn changes_of_all_tenants_are_applied() {
    let log = Arc::new(MemoryLog::default());
    let all = daemons(&log, 2);
    let tuple = Tuple::new([("user", "ada")]).unwrap();
    for (number, daemon) in (1..).zip(&all) {
        let tenant = daemon.store().for_tenant(&tuple);
        tenant.transact(cause(), |tx| tx.put_node(&Node { tenant: tx.tenant(), ..node(number) })).unwrap();
        all.iter().for_each(|daemon| daemon.catch_up(&log));
    }
    for daemon in &all {
        assert_eq!(numbers(&daemon.store().for_tenant(&tuple)), [1, 2]);
        assert_eq!(daemon.store().tenants().unwrap().len(), 2);
        assert!(numbers(daemon.store()).is_empty());
    }
}

#[test]
fn a_log_that_lost_its_end_is_not_copied() {
    let folder = poc_graph::testing::folder();
    let store = open_in(&folder, StoreOptions::default()).unwrap();
    for number in 1..=3 {
        put(&store, number);
    }
    drop(store);
    let segment = segment_files(&folder).pop().unwrap();
    let bytes = fs::read(&segment).unwrap();
    let record = 16 + u32::from_le_bytes(bytes[24..28].try_into().unwrap()) as usize;
    let log = Arc::new(MemoryLog::default());
    let copy = || copy_log(folder.path(), log.writer().as_ref(), &|_, _| {});
    fs::write(&segment, &bytes[..24 + record]).unwrap();
    let error = copy().unwrap_err();
    assert_eq!((error.code, error.message.as_str()), (Code::InvalidArgument, "the log is damaged"));
    assert!(log.records().is_empty());
    fs::write(&segment, &bytes).unwrap();
    assert_eq!((copy().unwrap(), log.records().len()), (3, 3));
}

#[test]
fn a_log_is_not_used_before_a_copy_into_it_is_complete() {
    let folder = poc_graph::testing::folder();
    let store = open_in(&folder, StoreOptions::default()).unwrap();
    for number in 1..=3 {
        put(&store, number);
    }
    drop(store);
    // Seven calls: the beginning, the claim, the head, a renewal, the append, a renewal and the end. Without a record,
    // there is nothing to complete. Without the claim, another process may be copying.
    for failing in 0..7 {
        let log = Arc::new(MemoryLog::default());
        let copier = log.writer();
        let mut faults = vec![Some(LogFault::Unreachable)];
        faults.resize(failing + 1, None);
        copier.plan(faults);
        let error = copy_log(folder.path(), copier.as_ref(), &|_, _| {}).unwrap_err();
        assert_eq!(error.code, Code::Unavailable, "{failing}");
        let used = log.writer().head().map_err(|error| error.code);
        let is_unusable = [1, 5, 6].contains(&failing);
        assert_eq!(used, if is_unusable { Err(Code::Conflict) } else { Ok(0) }, "{failing}");
        assert_eq!(copy_log(folder.path(), log.writer().as_ref(), &|_, _| {}).unwrap(), 3);
        assert_eq!(numbers(Daemon::new(&log).store()), [1, 2, 3]);
    }
}

#[test]
fn only_one_process_copies_at_once() {
    let (folder, other_folder) = (poc_graph::testing::folder(), poc_graph::testing::folder());
    for folder in [&folder, &other_folder] {
        let store = open_in(folder, StoreOptions::default()).unwrap();
        for number in 1..=3 {
            put(&store, number);
        }
    }
    let log = Arc::new(MemoryLog::default());
    let refused = |from: &TempDir| {
        let error = copy_log(from.path(), log.writer().as_ref(), &|_, _| {}).unwrap_err();
        assert_eq!(error.code, Code::Conflict, "{error}");
        assert!(error.message.starts_with("another process is copying to"), "{error}");
        assert_eq!(log.writer().head().unwrap_err().code, Code::Conflict, "the log is not complete");
    };
    let first = log.writer();
    first.begin_copy().unwrap();
    assert!(first.snapshots().claim(Duration::from_secs(30)).unwrap());
    // Nothing is copied yet, so the second copy does not know that it is that of another memory.
    refused(&folder);
    refused(&other_folder);
    // All records are copied, but the first copy has not ended.
    let copied = copy_log(folder.path(), first.as_ref(), &|_, _| refused(&folder));
    assert_eq!(copied.unwrap(), 3);
    assert_eq!(log.writer().head().unwrap(), 3);
    assert!(!log.is_claimed());
    let again = log.writer();
    assert_eq!(copy_log(folder.path(), again.as_ref(), &|_, _| {}).unwrap(), 3);
}

/// Any call may fail; the next copy completes it.
#[test]
fn a_compacted_store_is_copied_with_its_state() {
    let folder = poc_graph::testing::folder();
    let store = open_in(&folder, StoreOptions::default()).unwrap();
    for number in 1..=6 {
        put(&store, number);
    }
    store.compact(Some(Timestamp(i64::MAX)), &QUIET_COMPACTION).unwrap();
    for number in 7..=8 {
        put(&store, number);
    }
    let (base, copied) = (store.history_base().unwrap(), contents_without_changes(&store));
    assert_eq!(base.seq, 5);
    drop(store);
    for failing in 0..20 {
        let log = Arc::new(MemoryLog::default());
        let copier = log.writer();
        let mut faults = vec![Some(LogFault::AnswerLost)];
        faults.resize(failing + 1, None);
        copier.plan(faults);
        let first = copy_log(folder.path(), copier.as_ref(), &|_, _| {});
        log.expire_claim();
        assert_eq!(copy_log(folder.path(), log.writer().as_ref(), &|_, _| {}).unwrap(), 8, "{failing}");
        let daemon = Daemon::new(&log);
        assert_eq!(daemon.store().history_base(), Some(base));
        assert_eq!(contents_without_changes(daemon.store()), copied);
        assert_eq!(log.records().len(), 3);
        put(daemon.store(), 9);
        if first.is_ok() {
            assert!(failing > 8, "only {failing} calls were made");
            return;
        }
    }
    panic!("a copy without a fault fails");
}

/// The folder became a copy of a shared log that ends earlier.
#[test]
fn a_copy_ignores_the_head_of_its_folder() {
    let log = Arc::new(MemoryLog::default());
    let mut daemon = Daemon::new(&log);
    put(daemon.store(), 1);
    daemon.close();
    crate::log_head::LogHead::new(daemon.folder.path()).write(9);
    assert!(Repair::of(daemon.folder.path(), true).unwrap().is_none());
    assert!(Repair::of(daemon.folder.path(), false).unwrap().is_some());
    daemon.open().unwrap();
    assert_eq!((daemon.store().damage(), numbers(daemon.store())), (None, vec![1]));
    let findings = daemon.store().verify(&QUIET).unwrap();
    assert!(findings.iter().all(|finding| !finding.path.ends_with("head")), "{findings:?}");
}

/// One step of a history.
#[derive(Clone, Debug)]
enum Step {
    /// A store writes while the next calls of its log have faults.
    Write(usize, Vec<Option<LogFault>>),
    /// A store opens again, perhaps without the last bytes of its copy, as after a crash between the two appends. No
    /// crash cuts off what a saved view has.
    Reopen(usize, bool),
    /// Turns notifications of new records off (`true`) or on.
    Silence(usize, bool),
    /// Syncs of a store's disk fail from now on (`true`), or succeed again.
    FailSyncs(usize, bool),
    /// Writes to a store's disk fail from now on (`true`), or succeed again.
    FailWrites(usize, bool),
    /// A store makes a snapshot while the next calls of its log have faults.
    Snapshot(usize, Vec<Option<LogFault>>),
    /// A store deletes all records but the last one from the log while the next calls of its log have faults.
    Drop(usize, Vec<Option<LogFault>>),
    /// A store begins anew in an empty folder.
    Replace(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let fault = prop_oneof![
        3 => Just(None), 1 => Just(Some(LogFault::AnswerLost)), 1 => Just(Some(LogFault::Unreachable)),
    ];
    let faults = proptest::collection::vec(fault, 0..8);
    let daemon = 0usize..3;
    prop_oneof![
        8 => (daemon.clone(), faults.clone()).prop_map(|(at, faults)| Step::Write(at, faults)),
        1 => (daemon.clone(), faults.clone()).prop_map(|(at, faults)| Step::Snapshot(at, faults)),
        1 => (daemon.clone(), faults).prop_map(|(at, faults)| Step::Drop(at, faults)),
        1 => daemon.clone().prop_map(Step::Replace),
        1 => (daemon.clone(), any::<bool>()).prop_map(|(at, cut)| Step::Reopen(at, cut)),
        1 => (daemon.clone(), any::<bool>()).prop_map(|(at, silent)| Step::Silence(at, silent)),
        1 => (daemon.clone(), any::<bool>()).prop_map(|(at, fails)| Step::FailSyncs(at, fails)),
        1 => (daemon, any::<bool>()).prop_map(|(at, fails)| Step::FailWrites(at, fails)),
    ]
}

/// Truncates the local log by its last bytes.
pub(super) fn truncate_log(folder: &TempDir) {
    if let Some(last) = segment_files(folder).last() {
        let length = fs::metadata(last).unwrap().len();
        if length > 40 {
            fs::OpenOptions::new().write(true).open(last).unwrap().set_len(length - 10).unwrap();
        }
    }
}

poc_laws::laws! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn every_acknowledged_write_is_stored_once(steps in proptest::collection::vec(step(), 1..40)) {
        let log = Arc::new(MemoryLog::default());
        let mut all = daemons(&log, 3);
        let (mut acknowledged, mut unknown) = (Vec::new(), Vec::new());
        for (number, step) in (2u64..).zip(steps) {
            let is_drop = matches!(step, Step::Drop(..));
            match step {
                Step::Write(at, faults) => {
                    all[at].writer.plan(faults);
                    match put_and_count(all[at].store(), number) {
                        Ok(_) => acknowledged.push(number),
                        Err(error) => {
                            prop_assert!([Code::Unavailable, Code::ReadOnly].contains(&error.code), "{}", error);
                            unknown.push(number);
                        }
                    }
                    all[at].writer.plan(Vec::new());
                }
                Step::Reopen(at, cut) => {
                    all[at].faults.end();
                    let last = all[at].store().last_seq();
                    all[at].store = None;
                    if cut && crate::view_file::claimed_seq(all[at].folder.path()) < last {
                        truncate_log(&all[at].folder);
                    }
                    all[at].open().unwrap();
                }
                Step::Silence(at, silent) => all[at].writer.silence(silent),
                Step::FailSyncs(at, fails) => all[at].faults.fail_syncs.store(fails, Ordering::SeqCst),
                Step::FailWrites(at, fails) => all[at].faults.fail_writes.store(fails, Ordering::SeqCst),
                Step::Snapshot(at, faults) | Step::Drop(at, faults) => {
                    log.expire_claim();
                    all[at].writer.plan(faults);
                    let done = match is_drop {
                        true => delete_history(all[at].store(), i64::MAX, 1).map(drop),
                        false => snapshot(all[at].store(), 1).map(drop),
                    };
                    if let Err(error) = done {
                        let is_planned = error.message.contains("the disk is gone");
                        let codes = [Code::Unavailable, Code::ReadOnly];
                        prop_assert!(codes.contains(&error.code) || is_planned, "{}", error);
                    }
                    all[at].writer.plan(Vec::new());
                }
                Step::Replace(at) => {
                    all[at].faults.end();
                    all[at].store = None;
                    all[at].folder = poc_graph::testing::folder();
                    all[at].open().unwrap();
                }
            }
        }
        for daemon in &mut all {
            daemon.faults.end();
            daemon.catch_up_or_begin_anew(&log);
        }
        let first = numbers(all[0].store());
        for number in &acknowledged {
            prop_assert!(first.contains(number), "{} was acknowledged and is lost", number);
        }
        prop_assert!(first.iter().all(|number| acknowledged.contains(number) || unknown.contains(number)));
        prop_assert_eq!(count(all[0].store()), first.len() as u64, "nothing is applied twice");
        for daemon in &all {
            prop_assert_eq!(
                contents_without_changes(daemon.store()),
                contents_without_changes(all[0].store())
            );
            prop_assert_eq!(count_by_view(daemon.store()), count_by_view(all[0].store()));
        }
        for (one, other) in [(0, 1), (0, 2), (1, 2)].map(|(one, other)| (all[one].store(), all[other].store())) {
            if one.history_base() == other.history_base() {
                prop_assert_eq!(contents(one), contents(other));
            }
        }
        // Reopened copies have the same contents.
        for daemon in &mut all {
            let before = contents(daemon.store());
            daemon.open().unwrap();
            prop_assert_eq!(&before, &contents(daemon.store()));
        }
    }
}
