//! Kills and power cuts at any moment. Every transaction that is acknowledged, or visible in a store that accepts
//! writes, survives, and the surviving transactions have no gaps.

use super::shared_log::Daemon;
use super::*;
use crate::testing::MemoryLog;
use proptest::prelude::*;

/// How much of a file was written, and how much of it survives a power cut.
#[derive(Clone, Copy, Default)]
struct FileExtent {
    /// Length in bytes.
    written: u64,
    /// Number of bytes that were synced.
    synced: u64,
    /// Whether the directory entry was synced. Otherwise the file itself may be lost.
    has_synced_entry: bool,
}

/// The power supply of a disk. It fails after `operations_left` operations.
#[derive(Default)]
struct PowerSupply {
    operations_left: AtomicU64,
    files: Mutex<BTreeMap<PathBuf, FileExtent>>,
}

impl PowerSupply {
    /// Counts an operation; fails if there is no power left.
    fn use_power(&self) -> std::io::Result<()> {
        let spent =
            self.operations_left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        spent.map(drop).map_err(|_| std::io::Error::other("no power"))
    }

    /// Cuts the power. A random part of the unsynced bytes stays on disk, as written or as zeros. If it `leaves_holes`,
    /// bytes as written may also follow zeros.
    fn cut(&self, mut rng: u64, leaves_holes: bool) {
        let files = std::mem::take(&mut *self.files.lock());
        for (path, extent) in files.iter().filter(|(path, _)| path.exists()) {
            rng = rng.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let draw = rng >> 33;
            if !extent.has_synced_entry && draw.is_multiple_of(2) {
                fs::remove_file(path).unwrap();
                continue;
            }
            let mut bytes = fs::read(path).unwrap();
            let kept = extent.synced + (draw >> 1) % (extent.written - extent.synced + 1);
            bytes.truncate(kept as usize);
            let unsynced = &mut bytes[extent.synced as usize..];
            if draw.is_multiple_of(3) {
                unsynced.fill(0);
            } else if leaves_holes {
                let hole = (draw >> 3) as usize % (unsynced.len() + 1);
                unsynced[..hole].fill(0);
            }
            fs::write(path, bytes).unwrap();
        }
    }
}

/// A disk that writes only while it has power.
struct PoweredDisk(Arc<PowerSupply>);
struct PoweredFile(Arc<PowerSupply>, PathBuf, Box<dyn AppendFile>);

impl Disk for PoweredDisk {
    fn create(&self, path: &Path) -> std::io::Result<Box<dyn AppendFile>> {
        self.0.use_power()?;
        let file = SystemDisk.create(path)?;
        self.0.files.lock().insert(path.to_owned(), FileExtent::default());
        Ok(Box::new(PoweredFile(self.0.clone(), path.to_owned(), file)))
    }
    fn append(&self, path: &Path) -> std::io::Result<Box<dyn AppendFile>> {
        let length = fs::metadata(path)?.len();
        let extent = FileExtent { written: length, synced: length, has_synced_entry: true };
        self.0.files.lock().entry(path.to_owned()).or_insert(extent);
        Ok(Box::new(PoweredFile(self.0.clone(), path.to_owned(), SystemDisk.append(path)?)))
    }
    fn truncate(&self, path: &Path, length: u64) -> std::io::Result<()> {
        self.0.use_power()?;
        self.0
            .files
            .lock()
            .insert(path.to_owned(), FileExtent { written: length, synced: length, has_synced_entry: true });
        UnsyncedDisk.truncate(path, length)
    }
    fn overwrite(&self, path: &Path, offset: u64, bytes: &[u8]) -> std::io::Result<()> {
        self.0.use_power()?;
        UnsyncedDisk.overwrite(path, offset, bytes)?;
        let mut files = self.0.files.lock();
        let extent = files.get_mut(path).unwrap();
        extent.synced = extent.synced.max(offset + bytes.len() as u64);
        Ok(())
    }
    fn sync_directory(&self, path: &Path) -> std::io::Result<()> {
        self.0.use_power()?;
        let mut files = self.0.files.lock();
        let in_directory = files.iter_mut().filter(|(file, _)| file.parent() == Some(path));
        in_directory.for_each(|(_, extent)| extent.has_synced_entry = true);
        Ok(())
    }
    fn allocate(&self, _: &Path, _: u64) -> std::io::Result<()> {
        Ok(())
    }
}

impl AppendFile for PoweredFile {
    fn write_all(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        let powered = self.0.use_power();
        let accepted = if powered.is_ok() { bytes } else { &bytes[..bytes.len() / 2] };
        self.2.write_all(accepted)?;
        self.0.files.lock().get_mut(&self.1).unwrap().written += accepted.len() as u64;
        powered
    }
    fn id(&self) -> std::io::Result<FileId> {
        self.2.id()
    }
    fn sync(&mut self) -> std::io::Result<()> {
        self.0.use_power()?;
        let mut files = self.0.files.lock();
        let extent = files.get_mut(&self.1).unwrap();
        extent.synced = extent.written;
        Ok(())
    }
}

/// Runs three writers until the store rejects their writes, and returns the acknowledged nodes.
fn write_until_it_fails(store: &Store, round: u64) -> Vec<u64> {
    let acknowledged = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for writer in 0..3 {
            let acknowledged = &acknowledged;
            scope.spawn(move || {
                for number in (0..).map(|step| round * 1000 + step * 3 + writer) {
                    let done = store.transact(cause(), |tx| tx.put_node(&node(number)));
                    match done {
                        Ok(_) => acknowledged.lock().push(number),
                        Err(error) => return assert_eq!(error.code, Code::ReadOnly),
                    }
                }
            });
        }
    });
    acknowledged.into_inner()
}

#[test]
fn a_log_that_cannot_be_synced_leaves_no_newer_file_behind() {
    for (engine, buffer) in [(in_memory().engine, in_memory().buffer), (with_small_tables, 1)] {
        let folder = poc_graph::testing::folder();
        let power = Arc::new(PowerSupply::default());
        let open = || {
            let limits = LogLimits { segment: 900, ..LogLimits::default() };
            let disk = Arc::new(PoweredDisk(power.clone()));
            open_in(&folder, StoreOptions { disk, limits, engine, buffer, ..in_memory() })
        };
        power.operations_left.store(1000, Ordering::SeqCst);
        let store = open().unwrap();
        for number in 1..=7 {
            put(&store, number);
        }
        assert!(fs::read_dir(folder.path().join("log")).unwrap().count() > 2, "several segments");
        // The next write reaches the file, but its sync fails, and then the process is killed.
        power.operations_left.store(1, Ordering::SeqCst);
        store.transact(cause(), |tx| tx.put_node(&node(8))).unwrap_err();
        drop(store);
        let store = open().unwrap();
        assert!(store.read_only().is_some());
        assert_eq!(numbers(&store), (1..=8).collect::<Vec<_>>(), "what the killed process wrote is visible");
        store.checkpoint().unwrap();
        drop(store);
        for (path, extent) in power.files.lock().iter().filter(|(_, extent)| extent.written > extent.synced) {
            fs::OpenOptions::new().write(true).open(path).unwrap().set_len(extent.synced).unwrap();
        }
        power.files.lock().clear();
        power.operations_left.store(1000, Ordering::SeqCst);
        let store = open().unwrap();
        assert_eq!(
            store.read_only(),
            None,
            "a transaction that was never acknowledged does not count as lost"
        );
        assert_eq!(numbers(&store), (1..=7).collect::<Vec<_>>());
    }
}

poc_laws::laws! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn acknowledged_and_visible_transactions_survive_kills_and_power_cuts(
        rounds in proptest::collection::vec((1u64..40, any::<bool>(), any::<u64>()), 1..5),
    ) {
        let folder = poc_graph::testing::folder();
        let power = Arc::new(PowerSupply::default());
        let mut expected = Vec::new();
        for (round, (operations, cut, rng)) in rounds.into_iter().enumerate() {
            power.operations_left.store(operations, Ordering::SeqCst);
            let disk = Arc::new(PoweredDisk(power.clone()));
            // The power may also fail during the open.
            if let Ok(store) = open_in(&folder, StoreOptions { disk, limits: LogLimits { segment: 900, ..LogLimits::default() }, ..in_memory() }) {
                let visible = numbers(&store);
                // If the disk does not accept a sync, an open shows what a killed process wrote and reports that it is
                // read-only. Those writes were never acknowledged.
                if store.read_only().is_none() {
                    expected.extend(visible);
                }
                expected.extend(write_until_it_fails(&store, round as u64));
            }
            if cut {
                power.cut(rng, false);
            }
        }
        let store = open_in(&folder, in_memory()).unwrap();
        let kept = numbers(&store);
        for number in &expected {
            prop_assert!(kept.contains(number), "node {} is lost", number);
        }
        prop_assert_eq!(store.view().seq, kept.len() as u64, "one transaction per node, without gaps");
    }
}

/// What happens to a store over a shared log while it has power.
#[derive(Clone, Copy, Debug)]
enum SharedWork {
    Write,
    /// Another store writes.
    OtherWrites,
    Checkpoint,
}

fn shared_work() -> impl Strategy<Value = SharedWork> {
    prop_oneof![
        8 => Just(SharedWork::Write),
        2 => Just(SharedWork::OtherWrites),
        1 => Just(SharedWork::Checkpoint),
    ]
}

poc_laws::laws! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The copy of a shared log is synced after the acknowledgement, so a power cut removes the end of it, or a part
    /// before its end. The next open reads it from the shared log again. No derived file is ahead of what is left, which
    /// would look like damage.
    #[test]
    fn a_copy_of_a_shared_log_that_loses_its_end_is_completed(
        rounds in proptest::collection::vec(
            (proptest::collection::vec(shared_work(), 0..16), 1u64..60, any::<bool>(), any::<u64>()), 1..5,
        ),
        unsynced in prop_oneof![Just(1u64), Just(700u64), Just(1u64 << 20)],
    ) {
        let log = Arc::new(MemoryLog::default());
        let other = Daemon::new(&log);
        let folder = poc_graph::testing::folder();
        let power = Arc::new(PowerSupply::default());
        let open = || {
            let options = StoreOptions {
                disk: Arc::new(PoweredDisk(power.clone())),
                limits: LogLimits { segment: 2000, unsynced, ..LogLimits::default() },
                engine: with_small_tables,
                buffer: 800,
                shared_log: Some((log.writer(), CopyStart::Snapshot)),
                ..in_memory()
            };
            open_in(&folder, options)
        };
        let (mut acknowledged, mut number) = (Vec::new(), 0);
        for (works, operations, cut, rng) in rounds {
            power.operations_left.store(operations, Ordering::SeqCst);
            // The power may also fail during the open.
            if let Ok(store) = open() {
                prop_assert_eq!(store.damage(), None);
                for work in works {
                    number += 1;
                    match work {
                        SharedWork::Write => match store.transact(cause(), |tx| tx.put_node(&node(number))) {
                            Ok(_) => acknowledged.push(number),
                            Err(error) => prop_assert_eq!(error.code, Code::ReadOnly),
                        },
                        SharedWork::OtherWrites => {
                            put(other.store(), number);
                            acknowledged.push(number);
                        }
                        SharedWork::Checkpoint => drop(store.checkpoint()),
                    }
                }
                // Otherwise the store would sync its log when it is closed.
                power.operations_left.store(0, Ordering::SeqCst);
            }
            if cut {
                power.cut(rng, true);
            }
        }
        power.operations_left.store(1_000_000, Ordering::SeqCst);
        let store = open().unwrap();
        prop_assert_eq!((store.damage(), store.read_only()), (None, None));
        prop_assert_eq!(numbers(&store), acknowledged);
        other.catch_up(&log);
        prop_assert_eq!(contents(&store), contents(other.store()));
    }
}
