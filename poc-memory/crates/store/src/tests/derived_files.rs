//! Derived files are used only with the log that they were written for.

use super::tenant_memory::copy;
use super::*;
use crate::atomic_file::Fingerprint;
use crate::derived_files::FOLDER;
use proptest::prelude::*;

const NAME: &str = "found";

fn fingerprint() -> Fingerprint {
    Fingerprint::of("found 1")
}

fn save(store: &Store, payload: &[u8]) -> bool {
    store.save_derived(NAME, fingerprint(), payload).unwrap()
}

fn load(store: &Store) -> Option<Vec<u8>> {
    store.load_derived(NAME, fingerprint()).unwrap()
}

poc_laws::laws! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Two logs with the same beginning, of which one has a file. The other one gets a copy of the file.
    #[test]
    fn a_file_is_used_only_with_a_log_that_has_its_last_transaction(
        common in 1u64..6, own in 0u64..4, other in 0u64..4, payload in any::<Vec<u8>>(),
    ) {
        let folder = poc_graph::testing::folder();
        let write = |folder: &TempDir, from: u64, count: u64| {
            let store = open_in(folder, in_memory()).unwrap();
            for number in from..from + count {
                put(&store, number);
            }
            store
        };
        drop(write(&folder, 1, common));
        let fork = copy(&folder);
        {
            let store = write(&folder, 100, own);
            prop_assert_eq!(load(&store), None);
            prop_assert!(save(&store, &payload));
            prop_assert_eq!(load(&store), Some(payload.clone()));
        }
        drop(write(&fork, 200, other));
        fs::create_dir(fork.path().join(FOLDER)).unwrap();
        let file = Path::new(FOLDER).join(NAME);
        fs::copy(folder.path().join(&file), fork.path().join(&file)).unwrap();
        let found = load(&open_in(&fork, in_memory()).unwrap());
        prop_assert_eq!(found, (own == 0).then(|| payload.clone()));
        // Its own log continues.
        prop_assert_eq!(load(&write(&folder, 300, other)), Some(payload));
    }
}

#[test]
fn a_file_has_one_name_and_one_fingerprint_and_can_be_lost() {
    let folder = poc_graph::testing::folder();
    let store = open_in(&folder, in_memory()).unwrap();
    assert!(!save(&store, b"1") && load(&store).is_none(), "there is no transaction that identifies the log");
    put(&store, 1);
    assert!(save(&store, b"1") && save(&store, b"2"));
    assert_eq!(load(&store).as_deref(), Some(&b"2"[..]));
    assert_eq!(store.load_derived(NAME, Fingerprint::of("found 2")).unwrap(), None);
    assert_eq!(store.load_derived("other", fingerprint()).unwrap(), None);
    fs::remove_dir_all(folder.path().join(FOLDER)).unwrap();
    assert_eq!(load(&store), None);
}

#[test]
fn a_damaged_store_neither_reads_nor_writes_a_file() {
    let folder = poc_graph::testing::folder();
    {
        let store = open_in(&folder, in_memory()).unwrap();
        for number in 1..=3 {
            put(&store, number);
        }
        assert!(save(&store, b"1"));
    }
    let path = segment_files(&folder).remove(0);
    let mut log = fs::read(&path).unwrap();
    log[50] ^= 0x10;
    fs::write(&path, log).unwrap();
    let store = open_in(&folder, in_memory()).unwrap();
    assert!(store.damage().is_some());
    assert_eq!((load(&store), save(&store, b"2")), (None, false));
}

#[test]
fn a_file_is_written_anew_after_a_compaction() {
    let folder = poc_graph::testing::folder();
    let store = open_in(&folder, in_memory()).unwrap();
    for number in 1..=3 {
        put(&store, number);
    }
    assert!(save(&store, b"1"));
    for number in 4..=8 {
        put(&store, number);
    }
    assert_eq!(load(&store).as_deref(), Some(&b"1"[..]));
    let base = store.compact(Some(Timestamp(9)), &QUIET_COMPACTION).unwrap().base.unwrap();
    assert!(base.seq > 3);
    assert_eq!(load(&store), None);
    assert!(save(&store, b"2"));
    drop(store);
    assert_eq!(load(&open_in(&folder, in_memory()).unwrap()).as_deref(), Some(&b"2"[..]));
}
