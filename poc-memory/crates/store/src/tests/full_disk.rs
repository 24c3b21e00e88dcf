//! A disk that fails writes, syncs and all other operations for a while. Nothing is acknowledged falsely, nothing
//! acknowledged is lost, all reads are answered, and writing resumes by itself afterwards.

use super::*;
use crate::engine::{EngineError, Put, Visitor, Watermark};
use crate::testing::MemoryLog;
use proptest::prelude::*;
use rustix::io::Errno;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io;
use std::time::Duration;

/// The errors with which a disk fails.
const ERRORS: [Errno; 5] = [Errno::NOSPC, Errno::DQUOT, Errno::IO, Errno::ROFS, Errno::FBIG];

/// The planned results of the next operations, and which parts of the files have reached the disk.
#[derive(Default)]
struct FaultPlan {
    /// The results of the next operations; `None` means success. Operations without an entry succeed.
    faults: Mutex<std::collections::VecDeque<Option<Errno>>>,
    /// If set, every operation fails with this error.
    down: Mutex<Option<Errno>>,
    /// If set, no space can be allocated. All other operations succeed.
    is_almost_full: AtomicBool,
    /// Parts of files that the system has dropped because their sync failed. A later sync does not write them.
    dropped: Mutex<BTreeMap<PathBuf, Vec<(u64, u64)>>>,
    /// The number of bytes of each file up to which it was synced.
    synced: Mutex<BTreeMap<PathBuf, u64>>,
    /// The number of operations that failed.
    injected: AtomicU64,
}

impl FaultPlan {
    /// The result of the next operation.
    fn next(&self) -> io::Result<()> {
        let down = *self.down.lock();
        let fault = down.or_else(|| self.faults.lock().pop_front().flatten());
        let Some(errno) = fault else { return Ok(()) };
        self.injected.fetch_add(1, Ordering::SeqCst);
        Err(errno.into())
    }

    /// Simulates a power failure: the dropped parts of files become zeros.
    fn cut_power(&self) {
        for (path, dropped) in self.dropped.lock().iter() {
            let Ok(mut bytes) = fs::read(path) else { continue };
            for &(from, to) in dropped {
                let end = (to as usize).min(bytes.len());
                bytes[(from as usize).min(end)..end].fill(0);
            }
            fs::write(path, bytes).unwrap();
        }
    }

    /// Like [`FaultPlan::cut_power`], for files whose last bytes were not synced yet: they are lost, too.
    fn cut_power_before_sync(&self) {
        for (path, synced) in self.synced.lock().iter() {
            if fs::metadata(path).is_ok_and(|found| found.len() > *synced) {
                fs::OpenOptions::new().write(true).open(path).unwrap().set_len(*synced).unwrap();
            }
        }
        self.cut_power();
    }
}

/// A disk whose operations fail as planned.
#[derive(Clone, Default)]
struct FailingDisk(Arc<FaultPlan>);
struct FailingFile(Box<dyn AppendFile>, Arc<FaultPlan>, PathBuf);

impl FailingDisk {
    /// Makes the next operations fail with these of [`ERRORS`], or succeed.
    fn fail(&self, faults: &[Option<usize>]) {
        *self.0.faults.lock() = faults.iter().map(|fault| fault.map(|at| ERRORS[at])).collect();
    }

    fn file(&self, file: Box<dyn AppendFile>, path: &Path) -> Box<dyn AppendFile> {
        let length = fs::metadata(path).unwrap().len();
        self.0.synced.lock().entry(path.to_owned()).or_insert(length);
        Box::new(FailingFile(file, self.0.clone(), path.to_owned()))
    }
}

impl Disk for FailingDisk {
    fn create(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        self.0.next()?;
        let file = SystemDisk.create(path)?;
        self.0.dropped.lock().remove(path);
        self.0.synced.lock().remove(path);
        Ok(self.file(file, path))
    }
    fn append(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        self.0.next()?;
        Ok(self.file(SystemDisk.append(path)?, path))
    }
    fn truncate(&self, path: &Path, length: u64) -> io::Result<()> {
        self.0.next()?;
        UnsyncedDisk.truncate(path, length)?;
        if let Some(dropped) = self.0.dropped.lock().get_mut(path) {
            dropped.retain_mut(|(from, to)| {
                *to = (*to).min(length);
                from < to
            });
        }
        // A truncation syncs what is left.
        let synced = self.0.synced.lock().insert(path.to_owned(), length).unwrap_or(0);
        self.0.next().inspect_err(|_| {
            if synced < length {
                self.0.dropped.lock().entry(path.to_owned()).or_default().push((synced, length));
            }
        })
    }
    fn overwrite(&self, path: &Path, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.0.next()?;
        UnsyncedDisk.overwrite(path, offset, bytes)?;
        self.0.next()?;
        let end = offset + bytes.len() as u64;
        if let Some(dropped) = self.0.dropped.lock().get_mut(path) {
            dropped.retain_mut(|(from, to)| {
                if (offset..end).contains(&*from) {
                    *from = end;
                }
                from < to
            });
        }
        Ok(())
    }
    fn sync_directory(&self, _: &Path) -> io::Result<()> {
        self.0.next()
    }
    fn allocate(&self, path: &Path, bytes: u64) -> io::Result<()> {
        self.0.next()?;
        if self.0.is_almost_full.load(Ordering::SeqCst) {
            return Err(Errno::NOSPC.into());
        }
        fs::File::create(path)?.set_len(bytes)
    }
}

impl AppendFile for FailingFile {
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self.1.next() {
            Ok(()) => self.0.write_all(bytes),
            Err(error) => {
                // The disk accepts a part of the write.
                self.0.write_all(&bytes[..bytes.len() / 2])?;
                Err(error)
            }
        }
    }
    fn id(&self) -> std::io::Result<FileId> {
        self.0.id()
    }
    fn sync(&mut self) -> io::Result<()> {
        let length = fs::metadata(&self.2)?.len();
        let synced = self.1.synced.lock().insert(self.2.clone(), length).unwrap_or(0);
        self.1.next().inspect_err(|_| {
            self.1.dropped.lock().entry(self.2.clone()).or_default().push((synced, length));
        })
    }
}

/// The folders of records whose disk is full.
static FULL: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Behaves like sled: it cannot be opened on a full disk, and after a failed write, reads fail too.
struct FragileEngine {
    engine: InMemoryEngine,
    folder: PathBuf,
    has_failed: AtomicBool,
}

impl FragileEngine {
    fn open(folder: &Path) -> Result<Arc<dyn Engine>> {
        check_space(folder)?;
        Ok(Arc::new(FragileEngine {
            engine: InMemoryEngine::default(),
            folder: folder.to_owned(),
            has_failed: AtomicBool::new(false),
        }))
    }

    fn check(&self) -> Result<()> {
        if self.has_failed.load(Ordering::SeqCst) {
            Err(Error::internal("a write has failed"))
        } else {
            Ok(())
        }
    }
}

/// Fails if the disk of the records in a folder is full.
fn check_space(folder: &Path) -> Result<()> {
    let is_full = FULL.lock().contains(folder);
    if is_full { Err(EngineError::NoSpace(Errno::NOSPC.into()).into()) } else { Ok(()) }
}

impl Engine for FragileEngine {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.check()?;
        self.engine.get(key)
    }
    fn scan(&self, prefix: &[u8], each: &mut Visitor) -> Result<()> {
        self.check()?;
        self.engine.scan(prefix, each)
    }
    fn apply(&self, changes: Cow<'_, [Put]>, watermark: Watermark) -> Result<()> {
        self.check()?;
        check_space(&self.folder).inspect_err(|_| self.has_failed.store(true, Ordering::SeqCst))?;
        self.engine.apply(changes, watermark)
    }
    fn watermark(&self) -> Result<Watermark> {
        self.engine.watermark()
    }
    fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::SeqCst)
    }
    fn size(&self) -> Result<u64> {
        self.engine.size()
    }
    fn flush(&self) -> Result<()> {
        self.check()
    }
}

fn options(disk: &FailingDisk) -> StoreOptions {
    StoreOptions {
        disk: Arc::new(disk.clone()),
        limits: LogLimits { segment: 2000, reserve: 64, ..LogLimits::default() },
        engine: FragileEngine::open,
        buffer: 1500,
        // Only the tests trigger further attempts.
        retry_delay: Duration::from_secs(3600),
        ..StoreOptions::default()
    }
}

#[derive(Clone, Debug)]
enum Event {
    /// Writers write at once while the disk fails some operations.
    Write(Vec<Option<usize>>, u64),
    /// The disk of the records is full from now on, or has space again.
    Full(bool),
    Checkpoint,
    /// The process ends and opens the store again, perhaps after a power cut.
    Reopen {
        cut: bool,
    },
}

/// For [`FailingDisk::fail`]: each operation fails with this probability.
fn faults(probability: f64, count: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Option<usize>>> {
    proptest::collection::vec(proptest::option::weighted(probability, 0..ERRORS.len()), count)
}

/// Writes notes at the same time. Returns those that were acknowledged, sorted.
fn write_at_once(store: &Store, numbers: std::ops::Range<u64>) -> Vec<u64> {
    let acknowledged = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for number in numbers {
            let acknowledged = &acknowledged;
            scope.spawn(move || match store.transact(cause(), |tx| tx.put_node(&node(number))) {
                Ok(_) => acknowledged.lock().push(number),
                Err(error) => assert_eq!(error.code, Code::ReadOnly),
            });
        }
    });
    let mut acknowledged = acknowledged.into_inner();
    acknowledged.sort_unstable();
    acknowledged
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        8 => (faults(0.4, 0..12), 1u64..4).prop_map(|(faults, writers)| Event::Write(faults, writers)),
        1 => any::<bool>().prop_map(Event::Full),
        1 => Just(Event::Checkpoint),
        1 => any::<bool>().prop_map(|cut| Event::Reopen { cut }),
    ]
}

poc_laws::laws! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn a_failing_disk_stops_writes_but_not_reads(events in proptest::collection::vec(event(), 1..24)) {
        let folder = poc_graph::testing::folder();
        let records = folder.path().join("records");
        let disk = FailingDisk::default();
        let mut store = open_in(&folder, options(&disk)).unwrap();
        let mut acknowledged: Vec<u64> = Vec::new();
        let mut next = 1;
        for event in events {
            match event {
                Event::Write(faults, writers) => {
                    disk.fail(&faults);
                    acknowledged.extend(write_at_once(&store, next..next + writers));
                    next += writers;
                }
                Event::Full(true) => drop(FULL.lock().insert(records.clone())),
                Event::Full(false) => drop(FULL.lock().remove(&records)),
                Event::Checkpoint => drop(store.checkpoint()),
                Event::Reopen { cut } => {
                    drop(store);
                    if cut {
                        disk.0.cut_power();
                    }
                    *disk.0 .dropped.lock() = BTreeMap::new();
                    disk.0.faults.lock().clear();
                    store = open_in(&folder, options(&disk)).unwrap();
                    let kept = numbers(&store);
                    prop_assert!(store.damage().is_none(), "{:?}", store.damage());
                    prop_assert!(acknowledged.iter().all(|number| kept.contains(number)), "{kept:?}");
                    // A failed write may be on disk if the process ends before the log was truncated.
                    acknowledged = kept;
                }
            }
            prop_assert_eq!(&numbers(&store), &acknowledged);
            for number in &acknowledged {
                prop_assert!(store.node(node(*number).id).unwrap().is_some());
            }
        }
        // The disk has space again.
        disk.0.faults.lock().clear();
        FULL.lock().remove(&records);
        let write = || store.transact(cause(), |tx| tx.put_node(&node(next)));
        // The committer of a store that was just opened may have found the disk full a moment ago.
        write().or_else(|_| write()).unwrap();
        acknowledged.push(next);
        prop_assert_eq!(store.read_only(), None);
        prop_assert!(folder.path().join("reserve").exists());
        prop_assert_eq!(&numbers(&store), &acknowledged);
        drop(store);
        disk.0.cut_power();
        prop_assert_eq!(&numbers(&open_in(&folder, options(&disk)).unwrap()), &acknowledged);
        prop_assert!(!folder.path().join("quarantine").exists() || fs::read_dir(folder.path().join("quarantine")).unwrap().all(|entry| {
            entry.unwrap().file_name().to_string_lossy().contains(".log")
        }), "only ends of interrupted writes are moved there");
    }
}

poc_laws::laws! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The copy of a shared log is synced after its records were acknowledged, and the system drops the records of a sync
    /// that fails.
    #[test]
    fn a_copy_of_a_shared_log_on_a_failing_disk_loses_nothing(
        events in proptest::collection::vec(event(), 1..24),
        unsynced in 1u64..3000,
    ) {
        let folder = poc_graph::testing::folder();
        let records = folder.path().join("records");
        let (disk, log) = (FailingDisk::default(), Arc::new(MemoryLog::default()));
        let open = || {
            let limits = LogLimits { segment: 2000, reserve: 64, unsynced };
            let options = StoreOptions {
                limits,
                shared_log: Some((log.writer(), CopyStart::Snapshot)),
                ..options(&disk)
            };
            open_in(&folder, options)
        };
        let mut store = open().unwrap();
        let mut acknowledged: Vec<u64> = Vec::new();
        let mut next = 1;
        for event in events {
            match event {
                Event::Write(faults, writers) => {
                    disk.fail(&faults);
                    acknowledged.extend(write_at_once(&store, next..next + writers));
                    next += writers;
                }
                Event::Full(true) => drop(FULL.lock().insert(records.clone())),
                Event::Full(false) => drop(FULL.lock().remove(&records)),
                Event::Checkpoint => drop(store.checkpoint()),
                Event::Reopen { cut } => {
                    drop(store);
                    if cut {
                        disk.0.cut_power_before_sync();
                    }
                    *disk.0.dropped.lock() = BTreeMap::new();
                    disk.0.faults.lock().clear();
                    store = open().unwrap();
                    prop_assert_eq!(store.damage(), None);
                    prop_assert_eq!(&numbers(&store), &acknowledged);
                }
            }
        }
        // The disk has space again.
        disk.0.faults.lock().clear();
        FULL.lock().remove(&records);
        let write = || store.transact(cause(), |tx| tx.put_node(&node(next)));
        // The committer of a store that was just opened may have found the disk full a moment ago.
        write().or_else(|_| write()).unwrap();
        acknowledged.push(next);
        prop_assert_eq!(store.read_only(), None);
        prop_assert_eq!(&numbers(&store), &acknowledged);
        drop(store);
        disk.0.cut_power_before_sync();
        let store = open().unwrap();
        prop_assert_eq!(store.damage(), None);
        prop_assert_eq!(&numbers(&store), &acknowledged);
    }
}

#[test]
fn records_that_a_failed_truncation_drops_are_written_again() {
    let folder = poc_graph::testing::folder();
    let (disk, log) = (FailingDisk::default(), Arc::new(MemoryLog::default()));
    let open = || {
        let options = StoreOptions {
            limits: LogLimits { segment: 1 << 20, reserve: 64, ..LogLimits::default() },
            buffer: 1 << 20,
            shared_log: Some((log.writer(), CopyStart::Snapshot)),
            ..options(&disk)
        };
        open_in(&folder, options).unwrap()
    };
    let store = open();
    (1..=3).for_each(|number| {
        put(&store, number);
    });
    // A write fails, and then the sync of the truncation that removes a part of it.
    disk.fail(&[Some(0), None, Some(2)]);
    put(&store, 4);
    assert_eq!(store.read_only().unwrap().name(), "disk");
    assert_eq!(disk.0.dropped.lock().len(), 1);
    put(&store, 5);
    store.checkpoint().unwrap();
    drop(store);
    disk.0.cut_power_before_sync();
    let store = open();
    assert_eq!((store.damage(), numbers(&store)), (None, (1..=5).collect()));
}

poc_laws::laws! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// A write that fails during a compaction leaves nothing in the segment that the compaction completes, and no
    /// segment whose creation failed.
    #[test]
    fn a_disk_that_fails_during_a_compaction_damages_no_log(
        moment in 0usize..4,
        during in faults(0.3, 1..16),
        afterwards in faults(0.4, 0..12),
    ) {
        let folder = poc_graph::testing::folder();
        let disk = FailingDisk::default();
        // The compaction completes the only segment.
        let limits = LogLimits { segment: 1 << 20, reserve: 64, ..LogLimits::default() };
        let options = || StoreOptions { engine: StoreOptions::default().engine, limits, ..options(&disk) };
        let store = open_in(&folder, options()).unwrap();
        (1..=12).for_each(|number| {
            put(&store, number);
        });
        let acknowledged = Mutex::new((1..=12).collect::<Vec<u64>>());
        let write = |number| {
            let written = store.transact(cause(), |tx| tx.put_node(&node(number)));
            if written.is_ok() {
                acknowledged.lock().push(number);
            }
            written
        };
        let (calls, is_written) = (std::cell::Cell::new(0), AtomicBool::new(false));
        std::thread::scope(|scope| {
            let check_cancelled = || {
                calls.set(calls.get() + 1);
                if calls.get() == moment + 1 {
                    disk.fail(&during);
                    scope.spawn(|| {
                        let _ = write(13);
                        is_written.store(true, Ordering::SeqCst);
                    });
                    // The compaction may hold what the write waits for.
                    (0..100_000).take_while(|_| !is_written.load(Ordering::SeqCst)).for_each(|_| std::thread::yield_now());
                }
                Ok(())
            };
            let callbacks = CompactionCallbacks { progress: &|_, _| (), check_cancelled: &check_cancelled };
            let _ = store.compact(Some(Timestamp(i64::MAX)), &callbacks);
        });
        disk.fail(&afterwards);
        let _ = write(14);
        disk.fail(&[]);
        write(15).or_else(|_| write(16)).unwrap();
        let acknowledged = acknowledged.into_inner();
        prop_assert_eq!(&numbers(&store), &acknowledged);
        drop(store);
        let store = open_in(&folder, options()).unwrap();
        prop_assert!(store.damage().is_none(), "{:?}", store.damage());
        prop_assert_eq!(&numbers(&store), &acknowledged);
    }
}

#[test]
fn writing_resumes_without_a_write_attempt() {
    for (errno, message) in [
        (Errno::NOSPC, "No space left on device (os error 28)"),
        (Errno::DQUOT, "Disk quota exceeded (os error 122)"),
    ] {
        let folder = poc_graph::testing::folder();
        let disk = FailingDisk::default();
        let store =
            open_in(&folder, StoreOptions { retry_delay: Duration::from_millis(1), ..options(&disk) })
                .unwrap();
        put(&store, 1);
        *disk.0.down.lock() = Some(errno);
        let error = store.transact(cause(), |tx| tx.put_node(&node(2))).unwrap_err();
        let expected = format!("the store accepts no writes: its log cannot be written: {message}");
        assert_eq!(error.to_string(), expected);
        assert!(error.hint.is_some());
        assert!(!folder.path().join("reserve").exists(), "the reserve is freed when the disk is full");
        assert_eq!(store.read_only().unwrap().name(), "disk");
        assert_eq!(numbers(&store), [1]);
        *disk.0.down.lock() = None;
        while store.read_only().is_some() {
            std::thread::yield_now();
        }
        assert!(folder.path().join("reserve").exists());
        assert_eq!(put(&store, 3).seq, 2);
    }
}

/// A store that is opened on an almost full disk accepts writes, but has no reserve.
#[test]
fn a_reserve_that_could_not_be_created_is_created_as_soon_as_there_is_space() {
    let folder = poc_graph::testing::folder();
    let disk = FailingDisk::default();
    disk.0.is_almost_full.store(true, Ordering::SeqCst);
    let store = open_in(&folder, options(&disk)).unwrap();
    put(&store, 1);
    store.check_log_files();
    let reserve = folder.path().join("reserve");
    assert!(!reserve.exists());
    assert_eq!(store.read_only(), None);
    disk.0.is_almost_full.store(false, Ordering::SeqCst);
    // A check does not wait for a slow committer.
    while !reserve.exists() {
        store.check_log_files();
    }
    assert_eq!(put(&store, 2).seq, 2);
}

/// A command ends right after its write has failed.
#[test]
fn a_failed_write_leaves_nothing_for_the_next_open() {
    let folder = poc_graph::testing::folder();
    let disk = FailingDisk::default();
    let store = open_in(&folder, options(&disk)).unwrap();
    for number in 1..=12 {
        put(&store, number);
        // The write fails, then the sync of another one, then the header of the segment to which the next one goes.
        for faults in [&[Some(0)][..], &[None, Some(0)], &[None, Some(0)]] {
            let before = bytes_of_files(&folder.path().join("log"));
            disk.fail(faults);
            let refused = store.transact(cause(), |tx| tx.put_node(&node(99)));
            assert_eq!(refused.unwrap_err().code, Code::ReadOnly);
            assert!(disk.0.faults.lock().is_empty(), "the fault was injected");
            assert!(!store.may_have_refused_write());
            assert!(bytes_of_files(&folder.path().join("log")) == before, "{faults:?} after note {number}");
            store.shared.commits.resume().unwrap();
        }
    }
    drop(store);
    let store = open_in(&folder, options(&disk)).unwrap();
    assert_eq!(numbers(&store), (1..=12).collect::<Vec<_>>());
    assert!(store.recovery().messages.is_empty(), "{:?}", store.recovery().messages);
    assert!(!folder.path().join("quarantine").exists());
}

/// Until the process ends, the disk fails the write and also the truncation that would remove the written part. The
/// next open finds the end of an interrupted write or a whole record, and no damage.
#[test]
fn a_failed_write_that_cannot_be_removed_is_not_damage() {
    let mut left_behind = 0;
    // In the middle of a segment, and before and after the beginning of one.
    for (errno, count) in (0..ERRORS.len()).zip([3, 4, 5, 6, 7]).chain([(0, 8), (1, 9)]) {
        for succeeding in 0..6 {
            let folder = poc_graph::testing::folder();
            let disk = FailingDisk::default();
            let store = open_in(&folder, options(&disk)).unwrap();
            for number in 1..=count {
                put(&store, number);
            }
            let log = folder.path().join("log");
            let before = bytes_of_files(&log);
            let failing = std::iter::repeat_n(Some(errno), 1000);
            disk.fail(&std::iter::repeat_n(None, succeeding).chain(failing).collect::<Vec<_>>());
            let refused = store.transact(cause(), |tx| tx.put_node(&node(99)));
            let may_have_refused = store.may_have_refused_write();
            drop(store);
            left_behind += usize::from(refused.is_err() && bytes_of_files(&log) != before);
            disk.fail(&[]);
            let acknowledged: Vec<u64> = (1..=count).chain(refused.is_ok().then_some(99)).collect();
            let mut store = open_in(&folder, options(&disk)).unwrap();
            let kept = numbers(&store);
            assert!(
                kept == acknowledged || kept == [&acknowledged[..], &[99]].concat(),
                "{errno} {count} {succeeding}: {kept:?}"
            );
            assert!(may_have_refused || kept == acknowledged, "{errno} {count} {succeeding}: {kept:?}");
            for number in [100, 101] {
                assert_eq!((store.damage(), store.read_only()), (None, None), "{errno} {count} {succeeding}");
                put(&store, number);
                drop(store);
                store = open_in(&folder, options(&disk)).unwrap();
            }
            assert_eq!(numbers(&store), [&kept[..], &[100, 101]].concat());
        }
    }
    assert!(left_behind > 10, "{left_behind} failed writes left something in the log");
}

/// A transaction built on one that is rolled back gets its error. A later transaction with the same number does not
/// acknowledge it.
#[test]
fn transactions_built_on_a_failed_write_fail_with_it() {
    let folder = poc_graph::testing::folder();
    let faults = Arc::new(Faults::default());
    let disk = Arc::new(FaultyDisk(faults.clone()));
    let store = open_in(&folder, StoreOptions { disk, ..in_memory() }).unwrap();
    put(&store, 1);
    let (open_gate, gate) = mpsc::channel();
    *faults.gate.lock() = Some(gate);
    faults.fail_syncs.store(true, Ordering::SeqCst);
    std::thread::scope(|scope| {
        let store = &store;
        let first = scope.spawn(|| store.transact(cause(), |tx| tx.put_node(&node(2))));
        while store.shared.writer.lock().borrow().seq < 2 {
            std::thread::yield_now();
        }
        let second =
            scope.spawn(|| store.transact(cause(), |tx| tx.put_edge(&edge(1, 2, EdgeKind::Link, 1.0))));
        let reader = scope.spawn(|| store.transact(cause(), |tx| Ok(tx.scan::<Node>(&[])?.len())));
        while store.shared.writer.lock().borrow().seq < 3 {
            std::thread::yield_now();
        }
        (0..2).for_each(|_| open_gate.send(()).unwrap());
        for failed in [first.join().unwrap().map(drop), second.join().unwrap().map(drop)] {
            assert_eq!(failed.unwrap_err().code, Code::ReadOnly);
        }
        // It read the rolled-back value and fails, or was built afterwards and does not see it.
        assert_eq!(reader.join().unwrap().map_or(1, |read| read.value), 1);
    });
    *faults.gate.lock() = None;
    faults.fail_syncs.store(false, Ordering::SeqCst);
    assert_eq!(put(&store, 4).seq, 2);
    assert_eq!(numbers(&store), [1, 4]);
    assert_eq!(
        store.transaction(2).unwrap().unwrap().writes.len(),
        store.transaction(1).unwrap().unwrap().writes.len()
    );
    drop(store);
    assert_eq!(numbers(&open_in(&folder, in_memory()).unwrap()), [1, 4]);
}

/// The end of an interrupted write stays in place until the disk accepts writes again, and reads continue.
#[test]
fn a_store_opens_for_reading_when_its_disk_accepts_no_writes() {
    let folder = poc_graph::testing::folder();
    let disk = FailingDisk::default();
    let store = open_in(&folder, options(&disk)).unwrap();
    for number in 1..=3 {
        put(&store, number);
    }
    drop(store);
    let path = segment_files(&folder).pop().unwrap();
    let length = fs::metadata(&path).unwrap().len();
    fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(length - 5).unwrap();
    // As if the last record had never been acknowledged.
    fs::remove_file(folder.path().join(log_head::NAME)).unwrap();
    *disk.0.down.lock() = Some(Errno::NOSPC);
    FULL.lock().insert(folder.path().join("records"));
    let store = open_in(&folder, options(&disk)).unwrap();
    assert_eq!(numbers(&store), [1, 2]);
    assert!(matches!(store.read_only(), Some(ReadOnlyReason::Disk(_))));
    assert_eq!(fs::metadata(&path).unwrap().len(), length - 5);
    assert!(!folder.path().join("quarantine").join("records").exists());
    assert_eq!(store.transact(cause(), |tx| tx.put_node(&node(4))).unwrap_err().code, Code::ReadOnly);
    *disk.0.down.lock() = None;
    FULL.lock().remove(&folder.path().join("records"));
    assert_eq!(put(&store, 5).seq, 3);
    drop(store);
    assert_eq!(numbers(&open_in(&folder, options(&disk)).unwrap()), [1, 2, 5]);
}
