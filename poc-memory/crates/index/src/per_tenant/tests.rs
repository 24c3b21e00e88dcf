//! Tests of saving, loading and unloading the indexes of several tenants.

use super::*;
use crate::TextField;
use crate::TextIndex;
use poc_config::Config;
use poc_graph::testing::node;
use poc_graph::time::Timestamp;
use poc_graph::{Node, Tuple};
use poc_store::testing::copy_folder;
use poc_store::{Cause, DerivedIndex, Store, Transaction, VerifyCallbacks};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use tempfile::TempDir;

type Texts = PerTenant<TextIndex>;

fn user(name: &str) -> Tuple {
    Tuple::new((!name.is_empty()).then_some(("user", name))).unwrap()
}

fn open(folder: &TempDir) -> (Store, Arc<Texts>) {
    let directory = folder.path().join("text");
    let main = TextIndex::closed(&directory, &Config::defaults().unwrap().text).unwrap();
    let texts = Arc::new(PerTenant::new(main, &directory));
    let store = Store::open_temporary(&folder.path().join("store"), "test", vec![texts.clone()]).unwrap();
    store.settle();
    (store, texts)
}

fn put(store: &Store, name: &str, number: u64) {
    let own = store.for_tenant(&user(name));
    let cause = Cause::new(Timestamp(7), "manual", "test");
    own.transact(cause, |tx| tx.put_node(&Node { tenant: own.tenant(), ..node(number) })).unwrap();
}

/// The number of nodes that each of three tenants finds.
fn found(texts: &Texts) -> [usize; 3] {
    ["", "ann", "bob"]
        .map(|name| texts.of(user(name).id()).search("title", TextField::Title, 99, &|_| true).len())
}

fn lacking(texts: &Texts) -> [bool; 3] {
    ["", "ann", "bob"].map(|name| texts.lacks(user(name).id()))
}

/// A closed store with saved indexes, in which the three tenants have one, two and three nodes.
fn closed() -> TempDir {
    let folder = poc_graph::testing::folder();
    let (store, texts) = open(&folder);
    // An index requested before the first write sees the writes.
    let early = texts.of(user("ann").id());
    for (name, count) in [("", 1), ("ann", 2), ("bob", 3)] {
        (1..=count).for_each(|number| put(&store, name, number));
    }
    assert_eq!(early.search("title", TextField::Title, 99, &|_| true).len(), 2);
    assert_eq!(found(&texts), [1, 2, 3]);
    store.checkpoint().unwrap();
    folder
}

fn manifest(folder: &TempDir) -> PathBuf {
    folder.path().join("text").join("tenants").join("manifest")
}

fn file(folder: &TempDir, name: &str) -> PathBuf {
    let folders = folder.path().join("text").join("tenants");
    folders.join(user(name).id().to_string()).join("snapshot")
}

#[test]
fn saved_indexes_are_loaded_and_only_changed_ones_are_written() {
    let folder = closed();
    let (store, texts) = open(&folder);
    assert_eq!((found(&texts), lacking(&texts)), ([1, 2, 3], [false; 3]));
    fs::write(file(&folder, "bob"), "as it was").unwrap();
    let before = fs::read(file(&folder, "ann")).unwrap();
    put(&store, "ann", 9);
    store.checkpoint().unwrap();
    assert_eq!(fs::read(file(&folder, "bob")).unwrap(), b"as it was");
    assert_ne!(fs::read(file(&folder, "ann")).unwrap(), before);
    let before = fs::metadata(manifest(&folder)).unwrap().modified().unwrap();
    store.checkpoint().unwrap();
    assert_eq!(fs::metadata(manifest(&folder)).unwrap().modified().unwrap(), before);
}

#[test]
fn damaged_files_of_one_tenant_do_not_affect_others() {
    let garbage = |path: &Path| fs::write(path, "garbage").unwrap();
    let missing = |path: &Path| fs::remove_file(path).unwrap();
    for damage in [garbage as fn(&Path), missing] {
        let folder = closed();
        damage(&file(&folder, "ann"));
        let (_store, texts) = open(&folder);
        assert_eq!((found(&texts), lacking(&texts)), ([1, 2, 3], [false, true, false]));
        let folder = closed();
        damage(&folder.path().join("text").join("snapshot"));
        let (_store, texts) = open(&folder);
        assert_eq!((found(&texts), lacking(&texts)), ([1, 2, 3], [true, false, false]));
        // Without the manifest the file of the default tenant records its own position, as in stores that
        // were written before tenants existed.
        let folder = closed();
        damage(&manifest(&folder));
        let (store, texts) = open(&folder);
        assert_eq!((found(&texts), lacking(&texts)), ([1, 2, 3], [false, true, true]));
        put(&store, "bob", 9);
        assert_eq!(found(&texts), [1, 2, 4]);
    }
}

#[test]
fn files_that_are_deleted_while_the_store_is_open_are_named() {
    let folder = closed();
    let (_store, texts) = open(&folder);
    assert_eq!(found(&texts), [1, 2, 3]);
    assert_eq!(texts.damaged_files(), Vec::<PathBuf>::new());
    for file in [manifest(&folder), folder.path().join("text").join("snapshot"), file(&folder, "ann")] {
        let bytes = fs::read(&file).unwrap();
        fs::remove_file(&file).unwrap();
        assert_eq!(texts.damaged_files(), [file.as_path()]);
        fs::write(&file, bytes).unwrap();
    }
}

#[test]
fn missing_files_and_files_of_other_formats_are_built_without_a_report() {
    for is_missing in [true, false] {
        for path in [manifest as fn(&TempDir) -> PathBuf, |folder: &TempDir| file(folder, "ann")] {
            let folder = closed();
            let path = path(&folder);
            match is_missing {
                true => fs::remove_file(&path).unwrap(),
                false => atomic_file::write(&path, Fingerprint::of("earlier"), 1, &[b"other"]).unwrap(),
            }
            let (store, texts) = open(&folder);
            assert_eq!((found(&texts), texts.has_damaged_file()), ([1, 2, 3], false));
            assert_eq!(store.recovery().rebuilt, Vec::<String>::new());
        }
    }
}

#[test]
fn damaged_files_are_replaced_when_the_store_is_closed() {
    let files = [
        manifest as fn(&TempDir) -> PathBuf,
        |folder: &TempDir| file(folder, "ann"),
        |folder: &TempDir| folder.path().join("text").join("snapshot"),
    ];
    for file in files {
        let folder = closed();
        fs::write(file(&folder), "garbage").unwrap();
        let (store, texts) = open(&folder);
        assert_eq!((found(&texts), texts.has_damaged_file()), ([1, 2, 3], true));
        let rebuilt = store.recovery().rebuilt;
        let name = file(&folder).display().to_string();
        assert!(matches!(&rebuilt[..], [line] if line.contains(&name)), "{rebuilt:?}");
        drop((store, texts));
        let (store, texts) = open(&folder);
        assert_eq!((found(&texts), texts.has_damaged_file()), ([1, 2, 3], false));
        assert_eq!(store.recovery().rebuilt, Vec::<String>::new());
        assert_eq!(lacking(&texts), [false; 3]);
    }
}

#[test]
fn files_of_another_checkpoint_are_used_only_if_they_match_the_manifest() {
    let folder = closed();
    let (early, late) = (poc_graph::testing::folder(), poc_graph::testing::folder());
    copy_folder(folder.path(), early.path());
    let (store, _) = open(&folder);
    put(&store, "ann", 9);
    put(&store, "", 9);
    store.checkpoint().unwrap();
    drop(store);
    copy_folder(folder.path(), late.path());
    // A checkpoint that was killed before it wrote its manifest.
    fs::copy(manifest(&early), manifest(&folder)).unwrap();
    let (store, texts) = open(&folder);
    assert_eq!((found(&texts), lacking(&texts)), ([2, 3, 3], [false, true, false]));
    drop((store, texts));
    // A file of an earlier checkpoint.
    fs::copy(manifest(&late), manifest(&folder)).unwrap();
    fs::copy(file(&early, "ann"), file(&folder, "ann")).unwrap();
    let (store, texts) = open(&folder);
    assert_eq!((found(&texts), lacking(&texts)), ([2, 3, 3], [false, true, false]));
    drop((store, texts));
    // A truncated log with one file, and then with all files, of the removed transactions.
    fs::copy(file(&late, "ann"), file(&early, "ann")).unwrap();
    let (store, texts) = open(&early);
    assert_eq!((found(&texts), lacking(&texts)), ([1, 2, 3], [false, true, false]));
    drop((store, texts));
    copy_folder(&late.path().join("text"), &early.path().join("text"));
    let (_store, texts) = open(&early);
    assert_eq!((found(&texts), lacking(&texts)), ([1, 2, 3], [true; 3]));
}

#[test]
fn unused_indexes_are_dropped() {
    let folder = closed();
    let (_store, texts) = open(&folder);
    assert_eq!(found(&texts), [1, 2, 3]);
    for number in 0..10_000 {
        texts.of(user(&format!("nobody{number}")).id());
    }
    assert_eq!(texts.all().len(), 3);
    assert!(texts.others.read().unused.len() < 1000, "{}", texts.others.read().unused.len());
}

fn tenants_in_memory(texts: &Texts) -> usize {
    texts.all().len() - 1
}

#[test]
fn an_index_is_loaded_when_it_is_used_and_unloaded_when_it_is_not() {
    let folder = closed();
    let (store, texts) = open(&folder);
    let ann = user("ann").id();
    assert_eq!((tenants_in_memory(&texts), texts.loads()), (0, 0));
    let handle = TenantIndex::new(texts.clone(), ann);
    assert_eq!(tenants_in_memory(&texts), 0, "the handle has not been used");
    assert_eq!(handle.search("title", TextField::Title, 99, &|_| true).len(), 2);
    assert_eq!((tenants_in_memory(&texts), texts.loads()), (1, 1));
    assert!(!texts.unload(ann).unwrap(), "the handle uses it");
    drop(handle);
    assert!(texts.loaded().iter().all(|loaded| loaded.tenant == ann && loaded.bytes > 0));
    let checkpoint = texts.saving.lock();
    assert!(!texts.unload(ann).unwrap(), "a checkpoint may be saving it");
    drop(checkpoint);
    assert!(texts.unload(ann).unwrap());
    assert_eq!(tenants_in_memory(&texts), 0);
    // A small index that has changed is not saved but built again.
    put(&store, "ann", 9);
    assert!(texts.unload(ann).unwrap() && texts.unload(ann).unwrap());
    let crashed = poc_graph::testing::folder();
    copy_folder(folder.path(), crashed.path());
    assert_eq!((found(&texts), lacking(&texts)), ([1, 3, 3], [false, true, false]));
    // After a crash, the saved one is brought up to date with the log.
    let (store, texts) = open(&crashed);
    assert_eq!((found(&texts), lacking(&texts)), ([1, 3, 3], [false; 3]));
    put(&store, "ann", 10);
    assert_eq!(found(&texts), [1, 4, 3]);
}

#[test]
fn files_of_a_changed_index_that_was_unloaded_are_deleted() {
    let folder = closed();
    let (store, texts) = open(&folder);
    put(&store, "ann", 9);
    assert!(texts.unload(user("ann").id()).unwrap());
    assert!(file(&folder, "ann").exists());
    store.checkpoint().unwrap();
    assert!(!file(&folder, "ann").exists() && file(&folder, "bob").exists());
    drop((store, texts));
    let (store, texts) = open(&folder);
    assert_eq!((found(&texts), lacking(&texts)), ([1, 3, 3], [false, true, false]));
    store.checkpoint().unwrap();
    assert!(file(&folder, "ann").exists());
    drop((store, texts));
    let (_store, texts) = open(&folder);
    assert_eq!((found(&texts), lacking(&texts)), ([1, 3, 3], [false; 3]));
}

#[test]
fn an_index_that_cannot_be_loaded_is_reported() {
    let folder = closed();
    fs::write(file(&folder, "ann"), "garbage").unwrap();
    let (store, texts) = open(&folder);
    assert!(store.lagging_indexes().is_empty());
    drop(store);
    // Without the store there are no notes from which it could be built.
    assert_eq!(texts.of(user("ann").id()).search("title", TextField::Title, 99, &|_| true).len(), 0);
    let ann = user("ann").id();
    // An index of another tenant that is loaded later does not hide it.
    texts.of(user("nobody").id());
    for tenant in [ann, Tenant::default()] {
        assert!(texts.load_failure(tenant).is_some_and(|error| error.message.contains("closed")));
    }
    assert_eq!(texts.load_failure(user("bob").id()), None);
}

/// A source of the notes of one tenant.
struct Notes(Mutex<Vec<Delta>>);

impl TenantSource for Notes {
    fn feed(&self, _: Tenant, take: &mut dyn FnMut(&[Delta]) -> Result<()>) -> Result<()> {
        take(&self.0.lock())
    }
}

#[test]
fn an_index_that_is_unloaded_between_two_transactions_keeps_the_notes_of_the_first() {
    let folder = poc_graph::testing::folder();
    let main = TextIndex::closed(folder.path(), &Config::defaults().unwrap().text).unwrap();
    let texts = PerTenant::new(main, folder.path());
    let notes = Arc::new(Notes(Mutex::default()));
    let source: Arc<dyn TenantSource> = notes.clone();
    texts.connect(Arc::downgrade(&source));
    texts.admit();
    texts.release();
    let ann = user("ann").id();
    for number in 1..=3 {
        // The records have a transaction before the index does.
        let delta = Delta::Node(Arc::new(Node { tenant: ann, ..node(number) }));
        notes.0.lock().push(delta.clone());
        texts.apply(number, ann, &[delta]).unwrap();
        assert!(texts.unload(ann).unwrap());
    }
    assert_eq!(texts.of(ann).search("title", TextField::Title, 99, &|_| true).len(), 3);
}

#[derive(Clone, Debug)]
enum Step {
    Put(usize, u64),
    Delete(usize, u64),
    Checkpoint,
    Reopen,
    /// Continues with a copy of the files, as a process that was killed leaves them.
    Crash,
}

fn step() -> impl Strategy<Value = Step> {
    let note = (0..5_usize, 0..8_u64);
    prop_oneof![
        8 => note.clone().prop_map(|(tenant, number)| Step::Put(tenant, number)),
        2 => note.prop_map(|(tenant, number)| Step::Delete(tenant, number)),
        1 => Just(Step::Checkpoint),
        1 => Just(Step::Reopen),
        1 => Just(Step::Crash),
    ]
}

poc_laws::laws! {
    // Each case waits for the disk.
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// With room for the indexes of one tenant at most, every tenant finds the notes that it has, at any time.
    #[test]
    fn indexes_have_the_notes_of_their_tenants_while_memory_is_limited(steps in proptest::collection::vec(step(), 1..40)) {
        let names = ["", "a", "b", "c", "d"];
        let mut folder = poc_graph::testing::folder();
        let limited = |folder: &TempDir| {
            let (store, texts) = open(folder);
            store.limit_tenant_memory(1);
            (store, texts)
        };
        let (mut store, mut texts) = limited(&folder);
        let mut model: [std::collections::BTreeSet<u64>; 5] = Default::default();
        for step in steps {
            match step {
                Step::Put(tenant, number) => {
                    put(&store, names[tenant], number);
                    model[tenant].insert(number);
                }
                Step::Delete(tenant, number) => {
                    let own = store.for_tenant(&user(names[tenant]));
                    let cause = Cause::new(Timestamp(7), "manual", "test");
                    own.transact(cause, |tx| tx.delete_node(node(number).id)).unwrap();
                    model[tenant].remove(&number);
                }
                Step::Checkpoint => store.checkpoint().unwrap(),
                Step::Reopen => {
                    drop((store, texts));
                    (store, texts) = limited(&folder);
                }
                Step::Crash => {
                    let crashed = poc_graph::testing::folder();
                    copy_folder(folder.path(), crashed.path());
                    drop((store, texts));
                    folder = crashed;
                    (store, texts) = limited(&folder);
                }
            }
            for (name, expected) in names.iter().zip(&model) {
                let own = store.for_tenant(&user(name));
                prop_assert_eq!(own.view().node_count(), expected.len());
                let found = texts.of(own.tenant()).search("title", TextField::Title, 99, &|_| true).len();
                prop_assert_eq!(found, expected.len(), "{}", name);
            }
            // Another thread may be unloading tenants at this moment. Then the next read does.
            let end = Instant::now() + Duration::from_secs(60);
            while tenants_in_memory(&texts) > 2 && Instant::now() < end {
                std::thread::yield_now();
                store.view();
            }
            prop_assert!(tenants_in_memory(&texts) <= 2);
        }
        let callbacks = VerifyCallbacks { progress: &|_, _, _| (), check_cancelled: &|| Ok(()) };
        prop_assert_eq!(store.verify(&callbacks).unwrap(), vec![]);
    }
}

#[test]
fn a_missing_index_of_a_large_tenant_is_built_when_the_store_opens() {
    let folder = closed();
    {
        let (store, _texts) = open(&folder);
        let own = store.for_tenant(&user("bob"));
        let notes = |tx: &mut Transaction<'_>| {
            (0..1000).try_for_each(|number| tx.put_node(&Node { tenant: own.tenant(), ..node(number) }))
        };
        own.transact(Cause::new(Timestamp(7), "manual", "test"), notes).unwrap();
        store.checkpoint().unwrap();
    }
    let (store, texts) = open(&folder);
    assert_eq!((tenants_in_memory(&texts), found(&texts)[2]), (0, 99));
    drop((store, texts));
    for name in ["ann", "bob"] {
        fs::remove_file(file(&folder, name)).unwrap();
    }
    let (_store, texts) = open(&folder);
    assert_eq!(tenants_in_memory(&texts), 1, "only the large one");
    assert_eq!((texts.loads(), found(&texts), texts.loads()), (0, [1, 2, 99], 1));
}

/// The bytes of all files in a folder and below it.
fn bytes_of_files(folder: &Path, found: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            bytes_of_files(&path, found);
        } else {
            let bytes = fs::read(&path).unwrap();
            found.insert(path, bytes);
        }
    }
}

fn flip(path: &Path, at: usize) {
    let mut bytes = fs::read(path).unwrap();
    bytes[at] ^= 0x10;
    fs::write(path, bytes).unwrap();
}

#[test]
fn a_damaged_log_leaves_saved_indexes_as_they_are_and_usable() {
    type Damage = fn(&TempDir);
    let nothing = |_: &TempDir| ();
    let index = |folder: &TempDir| flip(&folder.path().join("text").join("snapshot"), 70);
    let records = |folder: &TempDir| fs::remove_dir_all(folder.path().join("store").join("records")).unwrap();
    let damages: [(Damage, bool, usize); 3] =
        // Without its records, the store does not have the first note any more.
        [(nothing, true, 1), (index, false, 1), (records, false, 0)];
    for (damage, is_loaded, own) in damages {
        let folder = closed();
        flip(&folder.path().join("store/log/00000000000000000001.log"), 60);
        damage(&folder);
        let (mut before, mut after) = (BTreeMap::new(), BTreeMap::new());
        bytes_of_files(&folder.path().join("text"), &mut before);
        {
            let (store, texts) = open(&folder);
            assert!(store.damage().is_some());
            assert_eq!(!texts.lacks(Tenant::default()), is_loaded);
            assert_eq!(found(&texts), [own, 2, 3]);
        }
        bytes_of_files(&folder.path().join("text"), &mut after);
        assert!(before == after, "nothing changes on disk");
    }
}

#[test]
fn a_saved_index_does_not_hide_changes_after_it_when_the_log_is_damaged() {
    let folder = closed();
    let log = folder.path().join("store/log/00000000000000000001.log");
    let ends: Vec<usize> = {
        let (store, _texts) = open(&folder);
        let put_and_measure = |number| {
            put(&store, "", number);
            fs::metadata(&log).unwrap().len() as usize
        };
        (7..10).map(put_and_measure).collect()
    };
    // The change of note 8.
    flip(&log, ends[0] + 40);
    let (store, texts) = open(&folder);
    assert!(store.damage().is_some());
    assert_eq!((texts.lacks(Tenant::default()), found(&texts)), (false, [3, 2, 3]));
}

#[test]
fn a_saved_index_of_a_log_that_lost_its_end_does_not_lag() {
    let folder = closed();
    let log = folder.path().join("store/log/00000000000000000001.log");
    let end = {
        let (store, _texts) = open(&folder);
        put(&store, "", 7);
        let end = fs::metadata(&log).unwrap().len() as usize;
        put(&store, "", 8);
        end
    };
    // The last change is lost, and other files name it.
    flip(&log, end + 40);
    let (store, texts) = open(&folder);
    assert!(store.damage().is_some());
    assert_eq!((texts.lacks(Tenant::default()), found(&texts)), (false, [2, 2, 3]));
    assert_eq!(store.lag(store.last_seq()), 0);
}
