//! The saved views of tenants with many notes. Every answer is the same as without them.

use super::changes::{Op, op};
use super::tenant_memory::{TINY, copy, open_limited_with, write_to_both};
use super::tenants::{seen, tuple};
use super::verify::QUIET;
use super::view_file::truncate_log;
use super::*;
use crate::engine::{Put, Visitor, Watermark};
use crate::table::tenant_prefix;
use crate::tenant_view_files::{FOLDER, TenantViewFiles};
use crate::testing::{MemoryLog, segment_contains};
use proptest::prelude::*;
use std::borrow::Cow;
use std::time::Duration;

const TENANTS: usize = 4;
/// Number of notes from which these tests save the view of a tenant.
const LARGE: usize = 3;

#[derive(Clone, Debug)]
enum Step {
    /// Changes of a tenant in one transaction.
    Write(usize, Vec<Op>),
    Checkpoint,
    Reopen,
    /// Opens copies of the files, as a process that was killed leaves them, perhaps while it was writing to the log.
    Kill {
        is_writing: bool,
    },
    /// Like [`Step::Kill`], without the file that has the counts of the tenants.
    LoseCounts,
    /// Like [`Step::Kill`], with a changed byte in one of the files.
    Damage(prop::sample::Index, prop::sample::Index),
    /// Drops history older than this number of transactions.
    Compact(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let index = any::<prop::sample::Index>;
    prop_oneof![
        16 => (0..TENANTS, proptest::collection::vec(op(), 1..6)).prop_map(|(tenant, ops)| Step::Write(tenant, ops)),
        2 => Just(Step::Checkpoint),
        1 => Just(Step::Reopen),
        1 => any::<bool>().prop_map(|is_writing| Step::Kill { is_writing }),
        1 => Just(Step::LoseCounts),
        1 => (index(), index()).prop_map(|(file, at)| Step::Damage(file, at)),
        1 => (0usize..6).prop_map(Step::Compact),
    ]
}

fn with_files() -> StoreOptions {
    StoreOptions { large_tenant: LARGE, ..in_memory() }
}

fn open(folder: &TempDir, large_tenant: usize, limit: Option<u64>) -> Store {
    open_limited_with(folder, limit, StoreOptions { large_tenant, ..in_memory() })
}

/// What all tenants see, without the numbers of transactions: they depend on when the counts were saved.
fn answers(store: &Store) -> Vec<String> {
    let of = |number: usize| {
        let own = store.for_tenant(&tuple(number));
        let (view, counts) = (own.view(), own.counts());
        assert_eq!(counts, TenantCounts::of(&view));
        format!("{:?} {:?}", seen(&own), TenantCounts { seq: 0, ..counts })
    };
    (0..TENANTS).map(of).collect()
}

/// The folder of the saved views of tenants.
fn saved_folder(folder: &TempDir) -> PathBuf {
    folder.path().join(FOLDER)
}

fn saved_files(folder: &TempDir) -> Vec<PathBuf> {
    if saved_folder(folder).exists() { files(&saved_folder(folder)) } else { Vec::new() }
}

fn file_of(folder: &TempDir, tenant: usize) -> PathBuf {
    saved_folder(folder).join(tuple(tenant).id().to_string())
}

fn flip(path: &Path, at: prop::sample::Index) {
    let mut bytes = fs::read(path).unwrap();
    let at = at.index(bytes.len());
    bytes[at] ^= 1;
    fs::write(path, bytes).unwrap();
}

/// Appends the beginning of a record to the log.
fn append_half_a_record(folder: &TempDir) {
    let segment = segment_files(folder).pop().unwrap();
    let mut bytes = fs::read(&segment).unwrap();
    bytes.extend_from_slice(&[7; 11]);
    fs::write(&segment, bytes).unwrap();
}

poc_laws::laws! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn answers_are_the_same_with_and_without_the_files(
        steps in proptest::collection::vec(step(), 1..40), is_limited in any::<bool>(),
    ) {
        let mut folders = [poc_graph::testing::folder(), poc_graph::testing::folder()];
        let open = |folders: &[TempDir; 2]| {
            [open(&folders[0], LARGE, is_limited.then_some(TINY)), open(&folders[1], usize::MAX, None)]
        };
        let mut stores = open(&folders);
        for (number, step) in steps.iter().enumerate() {
            match step {
                Step::Write(tenant, ops) => write_to_both(&stores, *tenant, ops, number as i64)?,
                Step::Checkpoint => stores.iter().for_each(|store| store.checkpoint().unwrap()),
                Step::Compact(kept) => for store in &stores {
                    store.compact(Some(Timestamp(number as i64 - *kept as i64)), &QUIET_COMPACTION).unwrap();
                },
                Step::Reopen => {
                    drop(stores);
                    stores = open(&folders);
                }
                Step::Kill { .. } | Step::LoseCounts | Step::Damage(..) => {
                    let copies = [copy(&folders[0]), copy(&folders[1])];
                    drop(stores);
                    folders = copies;
                    match step {
                        Step::Kill { is_writing: true } if stores_have_a_log(&folders) => {
                            folders.iter().for_each(append_half_a_record);
                        }
                        Step::LoseCounts => folders.iter().for_each(|folder| drop(fs::remove_file(folder.path().join("view")))),
                        Step::Damage(file, at) => {
                            let saved = saved_files(&folders[0]);
                            if !saved.is_empty() {
                                flip(&saved[file.index(saved.len())], *at);
                            }
                        }
                        _ => {}
                    }
                    stores = open(&folders);
                }
            }
        }
        prop_assert_eq!(answers(&stores[0]), answers(&stores[1]));
        stores[0].checkpoint().unwrap();
        let mut damaged = stores[0].verify(&QUIET).unwrap();
        damaged.retain(|part| !part.is_rebuilt);
        prop_assert_eq!(damaged, vec![]);
        // Exactly the tenants with many notes have a file.
        for tenant in 1..TENANTS {
            let nodes = stores[0].for_tenant(&tuple(tenant)).counts().nodes;
            prop_assert_eq!(file_of(&folders[0], tenant).exists(), nodes >= LARGE as u64, "{}", tenant);
        }
        prop_assert_eq!(saved_files(&folders[1]), Vec::<PathBuf>::new());
        drop(stores);
        let stores = open(&folders);
        prop_assert_eq!(answers(&stores[0]), answers(&stores[1]));
    }
}

fn stores_have_a_log(folders: &[TempDir; 2]) -> bool {
    // A copy of a folder has no empty folders.
    folders.iter().all(|folder| folder.path().join("log").exists() && !segment_files(folder).is_empty())
}

/// Writes nodes of a tenant, each in a transaction of its own.
fn fill(store: &Store, tenant: usize, numbers: impl IntoIterator<Item = u64>) {
    let own = store.for_tenant(&tuple(tenant));
    for number in numbers {
        own.transact(cause(), |tx| tx.put_node(&Node { tenant: tx.tenant(), ..node(number) })).unwrap();
    }
}

fn numbers_of(store: &Store, tenant: usize) -> Vec<u64> {
    numbers(&store.for_tenant(&tuple(tenant)))
}

/// A closed store with a saved view of four notes of tenant 1.
fn closed() -> TempDir {
    let folder = poc_graph::testing::folder();
    let store = open_in(&folder, with_files()).unwrap();
    fill(&store, 1, 1..=4);
    store.checkpoint().unwrap();
    assert_eq!(saved_files(&folder), [file_of(&folder, 1)]);
    drop(store);
    folder
}

/// Whether the view of tenant 1 is loaded from its file.
fn is_used(folder: &TempDir, store: &Store) -> bool {
    let counts = store.for_tenant(&tuple(1)).counts();
    TenantViewFiles::new(folder.path(), store.shared.log.clone(), Arc::default(), LARGE)
        .load(tuple(1).id(), &counts)
        .is_some()
}

/// The prefixes of the keys that were scanned. Only one test opens an engine that adds to them.
static SCANNED: Mutex<Vec<Vec<u8>>> = Mutex::new(Vec::new());

/// A memory engine that records which keys were scanned.
#[derive(Default)]
struct WatchedEngine(InMemoryEngine);

impl Engine for WatchedEngine {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.0.get(key)
    }
    fn scan(&self, prefix: &[u8], each: &mut Visitor) -> Result<()> {
        SCANNED.lock().push(prefix.to_vec());
        self.0.scan(prefix, each)
    }
    fn apply(&self, changes: Cow<'_, [Put]>, watermark: Watermark) -> Result<()> {
        self.0.apply(changes, watermark)
    }
    fn watermark(&self) -> Result<Watermark> {
        self.0.watermark()
    }
    fn size(&self) -> Result<u64> {
        self.0.size()
    }
    fn flush(&self) -> Result<()> {
        self.0.flush()
    }
}

#[test]
fn a_view_is_loaded_from_its_file_without_a_scan_of_the_records() {
    let folder = poc_graph::testing::folder();
    let open = || {
        let engine = |_: &Path| -> Result<Arc<dyn Engine>> { Ok(Arc::new(WatchedEngine::default())) };
        open_in(&folder, StoreOptions { engine, ..with_files() }).unwrap()
    };
    // The number of scans of the records of a tenant while its view is loaded, and the number of its notes.
    let load = |store: &Store, tenant: usize| {
        let own = store.for_tenant(&tuple(tenant));
        SCANNED.lock().clear();
        let notes = own.view().node_count();
        let prefix = tenant_prefix(own.tenant());
        (SCANNED.lock().iter().filter(|scanned| scanned.starts_with(&prefix)).count(), notes)
    };
    {
        let store = open();
        fill(&store, 1, 1..=5);
        fill(&store, 2, 1..=2);
        store.checkpoint().unwrap();
    }
    {
        let store = open();
        assert_eq!(load(&store, 1), (0, 5));
        let (scans, notes) = load(&store, 2);
        assert_eq!((scans > 0, notes), (true, 2), "a tenant with few notes has no file");
        // One change is not worth a checkpoint.
        fill(&store, 1, [6]);
    }
    {
        let store = open();
        assert_eq!(load(&store, 1), (0, 6), "the change is read from the log");
    }
    fs::remove_dir_all(saved_folder(&folder)).unwrap();
    {
        let store = open();
        let (scans, notes) = load(&store, 1);
        assert_eq!((scans > 0, notes), (true, 6));
        assert!(store.unsaved() >= CHECKPOINT_MIN_CHANGES, "it is not built from the records twice");
    }
    assert_eq!(load(&open(), 1), (0, 6));
}

#[test]
fn a_view_is_saved_when_it_is_unloaded_and_only_if_it_has_changed() {
    let folder = poc_graph::testing::folder();
    let store = open_in(&folder, with_files()).unwrap();
    store.limit_tenant_memory(TINY);
    fill(&store, 1, 1..=4);
    assert_eq!(saved_files(&folder), Vec::<PathBuf>::new(), "a write saves nothing");
    fill(&store, 2, 1..=4);
    assert!(file_of(&folder, 1).exists());
    assert!(is_used(&folder, &store));
    assert_eq!(store.for_tenant(&tuple(1)).view().node_count(), 4);
    // If it is written again, it has other bytes.
    let path = file_of(&folder, 1);
    let mut bytes = fs::read(&path).unwrap();
    bytes.push(0);
    fs::write(&path, &bytes).unwrap();
    assert_eq!(store.for_tenant(&tuple(2)).view().node_count(), 4, "tenant 1 is unloaded");
    store.checkpoint().unwrap();
    assert_eq!(fs::read(&path).unwrap(), bytes);
    fill(&store, 1, [5]);
    fill(&store, 2, [5]);
    assert_ne!(fs::read(&path).unwrap(), bytes);
    assert_eq!((numbers_of(&store, 1).len(), numbers_of(&store, 2).len()), (5, 5));
}

#[test]
fn a_damaged_file_is_ignored_and_written_again() {
    let folder = closed();
    let whole = fs::read(file_of(&folder, 1)).unwrap();
    {
        let store = open_in(&folder, with_files()).unwrap();
        assert!(is_used(&folder, &store));
        for at in 0..whole.len() {
            let mut flipped = whole.clone();
            flipped[at] ^= 0x10;
            for bytes in [&flipped, &whole[..at]] {
                fs::write(file_of(&folder, 1), bytes).unwrap();
                assert!(!is_used(&folder, &store), "byte {at}");
            }
        }
    }
    for at in [0, 40, 100, whole.len() - 1] {
        fs::write(file_of(&folder, 1), &whole[..at]).unwrap();
        let store = open_in(&folder, with_files()).unwrap();
        assert_eq!(numbers_of(&store, 1), [1, 2, 3, 4]);
        drop(store);
        assert_eq!(fs::read(file_of(&folder, 1)).unwrap(), whole, "byte {at}");
    }
}

#[test]
fn a_file_of_another_tenant_or_another_log_is_ignored() {
    let folder = closed();
    let own = fs::read(file_of(&folder, 1)).unwrap();
    let of_other_log = {
        let other = poc_graph::testing::folder();
        let store = open_in(&other, with_files()).unwrap();
        fill(&store, 1, 5..=8);
        store.checkpoint().unwrap();
        fs::read(file_of(&other, 1)).unwrap()
    };
    // Two stores with the same beginning.
    let of_other_history = {
        let other = poc_graph::testing::folder();
        let store = open_in(&other, with_files()).unwrap();
        fill(&store, 1, [1, 2, 3, 9]);
        store.checkpoint().unwrap();
        assert_eq!(
            store.log_origin().unwrap(),
            open_in(&folder, with_files()).unwrap().log_origin().unwrap()
        );
        fs::read(file_of(&other, 1)).unwrap()
    };
    for foreign in [of_other_log, of_other_history] {
        fs::write(file_of(&folder, 1), foreign).unwrap();
        let store = open_in(&folder, with_files()).unwrap();
        assert!(!is_used(&folder, &store));
        assert_eq!(numbers_of(&store, 1), [1, 2, 3, 4]);
        drop(store);
        assert_eq!(fs::read(file_of(&folder, 1)).unwrap(), own);
    }
    fs::rename(file_of(&folder, 1), file_of(&folder, 2)).unwrap();
    let store = open_in(&folder, with_files()).unwrap();
    fill(&store, 2, 11..=13);
    assert_eq!((numbers_of(&store, 1), numbers_of(&store, 2)), (vec![1, 2, 3, 4], vec![11, 12, 13]));
    store.checkpoint().unwrap();
    assert_eq!(store.verify(&QUIET).unwrap(), vec![]);
    assert_eq!(saved_files(&folder).len(), 2);
}

/// The log has lost its last transaction, and nothing shows that.
#[test]
fn a_file_ahead_of_the_log_is_ignored_even_when_the_log_reaches_its_number_again() {
    let folder = closed();
    let ahead = fs::read(file_of(&folder, 1)).unwrap();
    truncate_log(&folder);
    fs::remove_file(folder.path().join("view")).unwrap();
    let store = open_in(&folder, with_files()).unwrap();
    assert!(!is_used(&folder, &store));
    assert_eq!(numbers_of(&store, 1), [1, 2, 3]);
    fill(&store, 1, [9]);
    drop(store);
    fs::write(file_of(&folder, 1), ahead).unwrap();
    let store = open_in(&folder, with_files()).unwrap();
    assert_eq!(store.for_tenant(&tuple(1)).counts().seq, 4);
    assert!(!is_used(&folder, &store));
    assert_eq!(numbers_of(&store, 1), [1, 2, 3, 9]);
}

#[test]
fn a_file_that_is_far_behind_the_log_is_neither_used_nor_kept() {
    let folder = closed();
    fill(&open_in(&folder, with_files()).unwrap(), 1, [5]);
    let store = open_in(&folder, with_files()).unwrap();
    assert!(is_used(&folder, &store), "one change was not worth a checkpoint");
    for number in 0..20u64 {
        let value = incompressible(number, 1 << 15);
        let put =
            |tx: &mut Transaction<'_>| tx.put_raw(Table::Meta, &number.to_le_bytes(), Some(value.clone()));
        store.transact(cause(), put).unwrap();
    }
    assert!(!is_used(&folder, &store));
    store.checkpoint().unwrap();
    assert_eq!(saved_files(&folder), Vec::<PathBuf>::new());
    assert_eq!(numbers_of(&store, 1), [1, 2, 3, 4, 5]);
}

#[test]
fn changes_of_another_daemon_are_added_to_a_saved_view() {
    let log = Arc::new(MemoryLog::default());
    let folders = [poc_graph::testing::folder(), poc_graph::testing::folder()];
    let [first, second] = [0, 1].map(|at| {
        let options = StoreOptions {
            retry_delay: Duration::from_millis(1),
            shared_log: Some((log.writer(), CopyStart::Snapshot)),
            ..with_files()
        };
        open_in(&folders[at], options).unwrap()
    });
    let catch_up = || assert!(second.wait_published(log.head(), Duration::from_secs(60)));
    let is_loaded = || second.shared.commits.loaded().contains(&tuple(1).id());
    fill(&first, 1, 1..=4);
    catch_up();
    second.limit_tenant_memory(TINY);
    assert_eq!(numbers_of(&second, 1), [1, 2, 3, 4]);
    fill(&second, 2, [1]);
    assert!(!is_loaded() && is_used(&folders[1], &second));
    fill(&first, 1, 5..=6);
    catch_up();
    assert!(!is_loaded() && is_used(&folders[1], &second));
    assert_eq!(numbers_of(&second, 1), [1, 2, 3, 4, 5, 6]);
    fill(&first, 1, [7]);
    catch_up();
    second.checkpoint().unwrap();
    assert_eq!(numbers_of(&second, 1), [1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(second.verify(&QUIET).unwrap(), vec![]);
}

#[test]
fn a_damaged_store_keeps_the_files_and_a_repair_deletes_them() {
    let folder = closed();
    let segment = segment_files(&folder).remove(0);
    let bytes = fs::read(&segment).unwrap();
    fs::write(&segment, &bytes[..bytes.len() - 1]).unwrap();
    let before = bytes_of_files(folder.path());
    let store = open_in(&folder, with_files()).unwrap();
    assert!(store.damage().is_some());
    store.checkpoint().unwrap();
    drop(store);
    assert!(bytes_of_files(folder.path()) == before);
    let repair = Repair::of(folder.path(), false).unwrap().unwrap();
    let source = repair.options().unwrap()[0].source;
    repair.run(source, Timestamp(9), &[]).unwrap();
    assert!(!saved_folder(&folder).exists());
    assert_eq!(numbers_of(&open_in(&folder, with_files()).unwrap(), 1), [1, 2, 3]);
}

const SECRET: &str = "Zanzibarquetzal";

fn has_secret(path: &Path) -> bool {
    let bytes = fs::read(path).unwrap();
    let is_plain = bytes.windows(SECRET.len()).any(|window| window == SECRET.as_bytes());
    is_plain || segment_contains(&bytes, SECRET.as_bytes())
}

#[test]
fn an_erased_text_is_in_no_file() {
    for (is_killed, is_unloaded) in [(false, false), (false, true), (true, false)] {
        let mut folder = poc_graph::testing::folder();
        let mut store = open(&folder, LARGE, is_unloaded.then_some(TINY));
        let own = store.for_tenant(&tuple(1));
        fill(&store, 1, 1..=4);
        let secret = Node { tenant: own.tenant(), key: SECRET.to_owned(), ..node(5) };
        own.transact(cause(), |tx| tx.put_node(&secret)).unwrap();
        store.checkpoint().unwrap();
        assert!(has_secret(&file_of(&folder, 1)));
        let deleted = own.transact(cause(), |tx| tx.delete_node(secret.id)).unwrap().seq;
        put(&store, 1);
        drop(own);
        if is_unloaded {
            fill(&store, 2, [1]);
        }
        if is_killed {
            let left = copy(&folder);
            drop(store);
            folder = left;
            // The file that the process was writing when it was killed.
            fs::copy(file_of(&folder, 1), file_of(&folder, 1).with_extension("partial")).unwrap();
            store = open(&folder, LARGE, None);
        }
        assert!(files(folder.path()).iter().any(|path| has_secret(path)));
        store.compact(Some(Timestamp(i64::MAX)), &QUIET_COMPACTION).unwrap();
        assert!(store.history_base().unwrap().seq >= deleted);
        let found: Vec<PathBuf> = files(folder.path()).into_iter().filter(|path| has_secret(path)).collect();
        assert_eq!(found, Vec::<PathBuf>::new(), "killed: {is_killed}, unloaded: {is_unloaded}");
        assert_eq!(numbers_of(&store, 1), [1, 2, 3, 4]);
        assert_eq!(store.verify(&QUIET).unwrap(), vec![]);
        drop(store);
        // The history before the last transaction of the tenant is gone, and its file can be used.
        let store = open(&folder, LARGE, None);
        assert!(is_used(&folder, &store));
        assert_eq!(numbers_of(&store, 1), [1, 2, 3, 4]);
    }
}
