//! The derived files of a snapshot: a store that begins with them equals one that builds them, and what is damaged,
//! missing or of another log is built.

use super::shared_log::{delete_history, snapshot};
use super::shared_snapshot::fill;
use super::verify::QUIET;
use super::*;
use crate::atomic_file::{self, Fingerprint};
use crate::engine::lsm::{each_intact_record, is_table, record_files};
use crate::engine::{Put, Visitor, Watermark};
use crate::shared_log::FIRST_FILE_PART;
use crate::testing::{LogFault, MemoryLog, count_by_scan, counts_of_view};
use crate::watchdog::HEARTBEAT_TIMEOUT;
use std::borrow::Cow;

/// A store that writes a table for every few records and saves the views of tenants with few notes.
fn over(folder: &TempDir, log: Arc<dyn SharedLog>) -> Result<Store> {
    let options = StoreOptions {
        engine: with_small_tables,
        buffer: 2000,
        large_tenant: 5,
        shared_log: Some((log, CopyStart::Snapshot)),
        ..StoreOptions::default()
    };
    open_in(folder, options)
}

fn open(folder: &TempDir, log: &Arc<MemoryLog>) -> Store {
    over(folder, log.writer()).unwrap()
}

/// A new store over a log, in a folder of its own.
fn new(log: &Arc<MemoryLog>) -> (TempDir, Store) {
    let folder = poc_graph::testing::folder();
    let store = open(&folder, log);
    (folder, store)
}

/// A log with a snapshot at its last record, and the store that made it.
fn with_files() -> (Arc<MemoryLog>, TempDir, Store) {
    let log = Arc::new(MemoryLog::default());
    let (folder, store) = new(&log);
    fill(&store, &log);
    snapshot(&store, 1).unwrap().unwrap();
    (log, folder, store)
}

/// Stores values that need several parts of a snapshot.
fn put_large_values(store: &Store) {
    for number in 1..=3u64 {
        let value = incompressible(number, 25_000);
        let key = number.to_le_bytes();
        store.transact(cause(), |tx| tx.put_raw(Table::Meta, &key, Some(value.clone()))).unwrap();
    }
}

fn exists(folder: &TempDir, name: &str) -> bool {
    folder.path().join(name).exists()
}

/// Fails unless two stores have the same records, notes and counts of all tenants.
fn require_equal(one: &Store, other: &Store) {
    let tenants = |store: &Store| -> Vec<Tuple> {
        store.tenants().unwrap().into_iter().map(|named| named.tuple).collect()
    };
    assert_eq!(tenants(one), tenants(other));
    for tuple in tenants(one) {
        let [one, other] = [one, other].map(|store| store.for_tenant(&tuple));
        assert_eq!(contents_without_changes(&one), contents_without_changes(&other));
        assert_eq!(numbers(&one), numbers(&other));
        assert_eq!(counts_of_view(&one.view()), counts_of_view(&other.view()));
        assert_eq!(counts_of_view(&one.view()), count_by_scan(&one));
    }
}

#[test]
fn a_store_with_the_files_equals_one_that_builds_them() {
    let (log, _folder, first) = with_files();
    let (folder, with) = new(&log);
    let tables = record_files(&folder.path().join("records"));
    assert!(tables.len() == 1 && is_table(&tables[0]), "{tables:?}");
    assert!(exists(&folder, "view") && fs::read_dir(folder.path().join("views")).unwrap().count() == 1);
    log.lose_files();
    let (other_folder, without) = new(&log);
    assert!(!exists(&other_folder, "view") && !exists(&other_folder, "views"));
    for store in [&with, &without] {
        require_equal(store, &first);
        assert_eq!(store.verify(&QUIET).unwrap(), vec![]);
        assert_eq!(store.recovery().lines(), Vec::<String>::new());
    }
    assert_eq!(contents(&with), contents(&without));
    // Both go on from there.
    put(&with, 30);
    assert!([&first, &without].iter().all(|store| store.wait_published(log.head(), HEARTBEAT_TIMEOUT)));
    drop((with, without));
    for folder in [&folder, &other_folder] {
        let store = open(folder, &log);
        require_equal(&store, &first);
        assert_eq!(store.verify(&QUIET).unwrap(), vec![]);
        assert!(!exists(folder, "snapshot"));
    }
}

#[test]
fn files_that_are_damaged_or_missing_are_built() {
    let (log, _folder, first) = with_files();
    let segment = first.newest_snapshot().unwrap().unwrap().bytes as usize;
    let bytes = log.file_bytes();
    for position in (0..bytes).step_by(bytes / 40).chain([bytes - 1]) {
        log.damage_snapshots(segment + position);
        let (folder, store) = new(&log);
        require_equal(&store, &first);
        assert_eq!(store.recovery().lines(), Vec::<String>::new(), "{position}");
        assert!(!exists(&folder, "snapshot"));
        log.damage_snapshots(segment + position);
    }
    let (folder, store) = new(&log);
    assert!(exists(&folder, "view"));
    drop(store);
    log.lose_part(FIRST_FILE_PART);
    let (folder, store) = new(&log);
    require_equal(&store, &first);
    assert!(store.history_base().is_some() && !exists(&folder, "view"));
}

#[test]
fn an_interrupted_download_leaves_nothing() {
    let (log, _folder, first) = with_files();
    let mut interrupted = 0;
    for failing in 0..12 {
        let folder = poc_graph::testing::folder();
        let writer = log.writer();
        let mut faults = vec![Some(LogFault::Unreachable)];
        faults.resize(failing + 1, None);
        writer.plan(faults);
        match over(&folder, writer) {
            Ok(store) => require_equal(&store, &first),
            Err(error) => {
                assert_eq!(error.code, Code::Unavailable, "{failing}: {error}");
                assert_eq!(segment_files(&folder), Vec::<PathBuf>::new());
                assert!(["view", "views", "records"].iter().all(|name| !exists(&folder, name)));
                interrupted += 1;
            }
        }
        let store = open(&folder, &log);
        require_equal(&store, &first);
        assert!(exists(&folder, "view") && !exists(&folder, "snapshot"));
    }
    // Four calls: the newest snapshot, its segment, its last record, its files.
    assert_eq!(interrupted, 4);
}

/// The files have the changes up to the last one, and the segment ends earlier.
#[test]
fn files_with_changes_of_a_log_that_was_replaced_are_not_used() {
    let log = Arc::new(MemoryLog::default());
    let (folder, first) = new(&log);
    for number in 1..=20 {
        let cause = Cause::new(Timestamp(number as i64), "manual", "test");
        first.transact(cause, |tx| tx.put_node(&node(number))).unwrap();
    }
    assert_eq!(delete_history(&first, 11, 1).unwrap(), Some(10));
    let (copied, second) = new(&log);
    require_equal(&second, &first);
    assert!(exists(&copied, "view"));
    drop((first, second, folder));
    // A replica that lacked the last records replaces the log.
    log.remove_after(15);
    for count in [15, 20] {
        let (folder, store) = new(&log);
        assert_eq!(store.history_base().unwrap().seq, 10);
        assert!(!exists(&folder, "view") && !exists(&folder, "snapshot"));
        assert_eq!(store.last_seq(), count);
        assert_eq!(store.verify(&QUIET).unwrap(), vec![]);
        (store.last_seq() + 1..=20).for_each(|number| {
            put(&store, 100 + number);
        });
        assert_eq!(numbers(&store), (1..=15).chain(116..=120).collect::<Vec<_>>());
    }
}

#[test]
fn a_copy_that_is_replaced_gets_the_files() {
    let log = Arc::new(MemoryLog::default());
    let (_folder, first) = new(&log);
    let (folder, second) = new(&log);
    put(&first, 1);
    assert!(second.wait_published(1, HEARTBEAT_TIMEOUT));
    second.checkpoint().unwrap();
    drop(second);
    (2..=20).for_each(|number| {
        put(&first, number);
    });
    assert_eq!(delete_history(&first, i64::MAX, 1).unwrap(), Some(19));
    let second = open(&folder, &log);
    assert_eq!((second.read_only(), second.history_base().unwrap().seq), (None, 19));
    assert!(exists(&folder, "view") && !exists(&folder, "snapshot"));
    require_equal(&second, &first);
    assert_eq!(second.verify(&QUIET).unwrap(), vec![]);
}

/// The history of the store that makes the snapshot still has the text.
#[test]
fn a_deleted_text_is_not_in_the_files() {
    const SECRET: &[u8] = b"the secret of the harbour";
    let log = Arc::new(MemoryLog::default());
    let (_folder, first) = new(&log);
    let set = |value: Option<&[u8]>| {
        let value = value.map(<[u8]>::to_vec);
        first.transact(cause(), |tx| tx.put_raw(Table::Meta, b"text", value.clone())).unwrap();
    };
    set(Some(SECRET));
    (1..=20).for_each(|number| {
        put(&first, number);
    });
    set(None);
    (21..=30).for_each(|number| {
        put(&first, number);
    });
    snapshot(&first, 1).unwrap().unwrap();
    let (folder, _second) = new(&log);
    let has_secret = |bytes: &[u8]| bytes.windows(SECRET.len()).any(|window| window == SECRET);
    for file in record_files(&folder.path().join("records")) {
        let mut records = 0;
        let read = each_intact_record(&file, HEARTBEAT_TIMEOUT, &mut |_, key, value| {
            assert!(value.is_some() && !has_secret(value.unwrap_or_default()), "{key:?}");
            records += 1;
        });
        read.unwrap();
        assert!(records >= 30, "{records}");
    }
    assert!(!has_secret(&fs::read(folder.path().join("view")).unwrap()));
}

#[test]
fn large_files_have_several_parts() {
    let log = Arc::new(MemoryLog::default());
    let (_folder, first) = new(&log);
    put_large_values(&first);
    snapshot(&first, 1).unwrap().unwrap();
    assert!(log.file_bytes() > 2 << 20);
    let (folder, second) = new(&log);
    let tables = record_files(&folder.path().join("records"));
    assert!(fs::metadata(&tables[0]).unwrap().len() > 2 << 20, "{tables:?}");
    require_equal(&second, &first);
    assert_eq!(second.verify(&QUIET).unwrap(), vec![]);
}

#[test]
fn a_file_that_cannot_be_read_does_not_prevent_the_snapshot() {
    let log = Arc::new(MemoryLog::default());
    let (folder, first) = new(&log);
    put_large_values(&first);
    // It is deleted while the tables of records are stored, which come first.
    let view = folder.path().join("snapshot/view");
    let delete_view = || {
        if log.file_bytes() > 0 {
            let _ = fs::remove_file(&view);
        }
        Ok(())
    };
    let callbacks = CompactionCallbacks { progress: &|_, _| {}, check_cancelled: &delete_view };
    first.make_snapshot(1, &callbacks).unwrap().unwrap();
    assert!(log.file_bytes() > 0);
    let (folder, second) = new(&log);
    assert!(second.history_base().is_some() && !exists(&folder, "view") && !exists(&folder, "snapshot"));
    require_equal(&second, &first);
}

/// An engine without space for rewritten records.
#[derive(Default)]
struct FullEngine(InMemoryEngine);

impl Engine for FullEngine {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.0.get(key)
    }

    fn scan(&self, prefix: &[u8], each: &mut Visitor) -> Result<()> {
        self.0.scan(prefix, each)
    }

    fn apply(&self, changes: Cow<'_, [Put]>, watermark: Watermark) -> Result<()> {
        self.0.apply(changes, watermark)
    }

    fn watermark(&self) -> Result<Watermark> {
        self.0.watermark()
    }

    fn rewrite(&self, _: &dyn Fn() -> Result<()>) -> Result<()> {
        Err(Error::new(Code::ReadOnly, "the disk is full"))
    }

    fn size(&self) -> Result<u64> {
        self.0.size()
    }

    fn flush(&self) -> Result<()> {
        self.0.flush()
    }
}

#[test]
fn a_snapshot_is_made_although_its_files_do_not_fit_on_the_disk() {
    let log = Arc::new(MemoryLog::default());
    let folder = poc_graph::testing::folder();
    let options = StoreOptions {
        engine: |_| Ok(Arc::new(FullEngine::default())),
        shared_log: Some((log.writer(), CopyStart::Snapshot)),
        ..StoreOptions::default()
    };
    let first = open_in(&folder, options).unwrap();
    fill(&first, &log);
    snapshot(&first, 1).unwrap().unwrap();
    assert_eq!(log.file_bytes(), 0);
    let (_copied, second) = new(&log);
    assert!(second.history_base().is_some());
    require_equal(&second, &first);
}

/// An index that applies a transaction only after a message of a channel, if there is one.
#[derive(Default)]
struct WaitingIndex {
    applied: AtomicU64,
    gate: Mutex<Option<mpsc::Receiver<()>>>,
}

impl DerivedIndex for WaitingIndex {
    fn name(&self) -> &'static str {
        "waiting"
    }

    fn applied(&self) -> u64 {
        self.applied.load(Ordering::SeqCst)
    }

    fn reset(&self) -> Result<()> {
        self.applied.store(0, Ordering::SeqCst);
        Ok(())
    }

    fn apply(&self, seq: u64, _: Tenant, _: &[Delta]) -> Result<()> {
        if let Some(gate) = &*self.gate.lock() {
            gate.recv().unwrap();
        }
        self.applied.store(seq, Ordering::SeqCst);
        Ok(())
    }

    fn checkpoint(&self) -> Result<()> {
        Ok(())
    }
}

/// A change is in the log before it is in the views. If it is a deletion, they still have the deleted name.
#[test]
fn files_that_lack_the_last_change_of_the_snapshot_are_left_out() {
    let log = Arc::new(MemoryLog::default());
    let folder = poc_graph::testing::folder();
    let index = Arc::new(WaitingIndex::default());
    let options =
        StoreOptions { shared_log: Some((log.writer(), CopyStart::Snapshot)), ..StoreOptions::default() };
    let store = Store::open_with(folder.path(), EMBEDDER, vec![index.clone()], options).unwrap();
    store.settle();
    (1..=3).for_each(|number| {
        put(&store, number);
    });
    let (open_gate, gate) = mpsc::channel();
    *index.gate.lock() = Some(gate);
    let made = std::thread::scope(|scope| {
        scope.spawn(|| store.transact(cause(), |tx| tx.delete_node(node(1).id)).unwrap());
        while store.last_seq() < 4 {
            std::thread::yield_now();
        }
        let made = snapshot(&store, 1);
        open_gate.send(()).unwrap();
        made
    });
    assert_eq!((made.unwrap().unwrap().seq, log.file_bytes()), (4, 0));
    *index.gate.lock() = None;
    put(&store, 5);
    assert_eq!(snapshot(&store, 1).unwrap().unwrap().seq, 5);
    assert!(log.file_bytes() > 0);
}

/// The names in it may have been erased by that change.
#[test]
fn an_index_that_lacks_the_last_change_of_the_snapshot_is_left_out() {
    let (log, folder, store) = with_files();
    put(&store, 30);
    for (name, seq) in [("text", store.last_seq() - 1), ("mentions", store.last_seq())] {
        for file in ["snapshot", "tenants/manifest"] {
            let path = folder.path().join(name).join(file);
            atomic_file::write(&path, Fingerprint::of("index"), seq, &[]).unwrap();
        }
    }
    snapshot(&store, 1).unwrap().unwrap();
    let (copied, second) = new(&log);
    assert_eq!(["text", "mentions", "view"].map(|name| exists(&copied, name)), [false, true, true]);
    require_equal(&second, &store);
}

/// It may have texts that are to be erased.
#[test]
fn a_compaction_deletes_what_an_interrupted_snapshot_has_left() {
    let (_log, folder, store) = with_files();
    fs::create_dir_all(folder.path().join("snapshot/text")).unwrap();
    fs::write(folder.path().join("snapshot/text/snapshot"), "text").unwrap();
    store.compact(None, &QUIET_COMPACTION).unwrap();
    assert!(!exists(&folder, "snapshot"));
}

/// Its indexes may still have what they derived from erased texts.
#[test]
fn a_store_that_has_erased_texts_left_adds_no_files() {
    let (log, _folder, first) = with_files();
    let (_other, second) = new(&log);
    put(&first, 30);
    first.compact(Some(Timestamp::LATEST), &QUIET_COMPACTION).unwrap();
    first.erase_shared_history(&QUIET_COMPACTION).unwrap();
    assert!(log.file_bytes() > 0);
    put(&second, 31);
    snapshot(&second, 1).unwrap().unwrap();
    assert_eq!(log.file_bytes(), 0);
    second.compact(Some(Timestamp::LATEST), &QUIET_COMPACTION).unwrap();
    put(&second, 32);
    snapshot(&second, 1).unwrap().unwrap();
    assert!(log.file_bytes() > 0);
}
