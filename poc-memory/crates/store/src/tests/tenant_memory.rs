//! A store that unloads tenants gives the same answers as one that keeps all of them in memory.

use super::changes::{Op, op};
use super::tenants::{seen, transact, tuple};
use super::verify::QUIET;
use super::*;
use proptest::prelude::*;

const TENANTS: usize = 6;

/// Every tenant is unloaded as soon as another is loaded.
pub(super) const TINY: u64 = 1;

#[derive(Clone, Debug)]
enum Step {
    /// Changes of a tenant in one transaction.
    Write(usize, Vec<Op>),
    Checkpoint,
    /// Closes both stores and opens them again.
    Reopen,
    /// Opens copies of the files of both stores, as a process that was killed leaves them.
    Crash,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => (0..TENANTS, proptest::collection::vec(op(), 1..5)).prop_map(|(tenant, ops)| Step::Write(tenant, ops)),
        1 => Just(Step::Checkpoint),
        1 => Just(Step::Reopen),
        1 => Just(Step::Crash),
    ]
}

fn open_limited(folder: &TempDir, limit: Option<u64>) -> Store {
    open_limited_with(folder, limit, in_memory())
}

/// A store whose records are on disk, in tables of a few records.
pub(super) fn open_limited_with(folder: &TempDir, limit: Option<u64>, options: StoreOptions) -> Store {
    let store = open_in(folder, StoreOptions { engine: with_small_tables, ..options }).unwrap();
    assert_eq!(store.damage(), None);
    if let Some(limit) = limit {
        store.limit_tenant_memory(limit);
    }
    store
}

/// The files of an open store at one moment. They are read until they do not change meanwhile, because tables are
/// merged in the background.
fn files_at_one_moment(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let read = || -> Option<BTreeMap<PathBuf, Vec<u8>>> {
        let kept = files(folder).into_iter().filter(|path| path.file_name().unwrap() != "lock");
        kept.map(|path| Some((path.clone(), fs::read(path).ok()?))).collect()
    };
    loop {
        if let Some(all) = read().filter(|all| read().as_ref() == Some(all)) {
            return all;
        }
    }
}

/// A copy of the files of an open store.
pub(super) fn copy(folder: &TempDir) -> TempDir {
    let copy = poc_graph::testing::folder();
    for (path, bytes) in files_at_one_moment(folder.path()) {
        let to = copy.path().join(path.strip_prefix(folder.path()).unwrap());
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::write(to, bytes).unwrap();
    }
    copy
}

/// Writes the same changes of a tenant to both stores. Checks that both give the same result and the same state of the
/// tenant.
pub(super) fn write_to_both(
    stores: &[Store; 2],
    tenant: usize,
    ops: &[Op],
    millis: i64,
) -> Result<(), TestCaseError> {
    let written = [0, 1].map(|at| transact(&stores[at].for_tenant(&tuple(tenant)), ops, millis));
    prop_assert_eq!(&written[0], &written[1]);
    let view = [0, 1].map(|at| seen(&stores[at].for_tenant(&tuple(tenant))));
    prop_assert_eq!(&view[0], &view[1]);
    Ok(())
}

/// A tenant that stays in memory after it has its answer would have others unloaded in its place.
#[test]
fn a_tenant_that_has_its_answer_may_be_unloaded() {
    let folder = poc_graph::testing::folder();
    let store = open_in(&folder, in_memory()).unwrap();
    let own = store.for_tenant(&tuple(1));
    for number in 0..200 {
        let node = Node { tenant: own.tenant(), ..node(number) };
        own.transact(cause(), |tx| tx.put_node(&node)).unwrap();
        assert_eq!(store.shared.commits.candidates().len(), 1, "transaction {number}");
    }
}

fn findings(store: &Store) -> Vec<DamagedPart> {
    store.verify(&QUIET).unwrap()
}

/// What all tenants see: views and records, the numbers of their transactions, and counts.
fn all_seen(store: &Store) -> Vec<String> {
    let mut all: Vec<String> = (0..TENANTS)
        .map(|number| {
            let own = store.for_tenant(&tuple(number));
            let counts = own.counts();
            assert_eq!(
                TenantCounts { seq: 0, ..counts },
                TenantCounts { seq: 0, ..TenantCounts::of(&own.view()) }
            );
            format!("{:?} {counts:?}", seen(&own))
        })
        .collect();
    all.extend(store.tenants().unwrap().iter().map(|named| format!("{} {:?}", named.tuple, named.counts)));
    all.push(format!("{:?}", store.total_counts()));
    all
}

poc_laws::laws! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn unloading_tenants_changes_no_answer(steps in proptest::collection::vec(step(), 1..40)) {
        let mut folders = [poc_graph::testing::folder(), poc_graph::testing::folder()];
        let limits = [Some(TINY), None];
        let open = |folders: &[TempDir; 2]| [0, 1].map(|at| open_limited(&folders[at], limits[at]));
        let mut stores = open(&folders);
        for (number, step) in steps.iter().enumerate() {
            match step {
                Step::Write(tenant, ops) => write_to_both(&stores, *tenant, ops, number as i64)?,
                Step::Checkpoint => stores.iter().for_each(|store| store.checkpoint().unwrap()),
                Step::Reopen => {
                    drop(stores);
                    stores = open(&folders);
                }
                Step::Crash => {
                    let copies = [copy(&folders[0]), copy(&folders[1])];
                    drop(stores);
                    folders = copies;
                    stores = open(&folders);
                }
            }
            let LoadedTenants { count, .. } = stores[0].loaded_tenants();
            prop_assert!(count <= 1, "{} tenants are in memory", count);
        }
        prop_assert_eq!(all_seen(&stores[0]), all_seen(&stores[1]));
        prop_assert_eq!(findings(&stores[0]), vec![]);
        // The counts that were saved are those of the records.
        drop(stores);
        for folder in &folders {
            fs::remove_file(folder.path().join("view")).ok();
        }
        let counts = |store: &Store| -> Vec<TenantCounts> {
            (0..TENANTS).map(|number| TenantCounts { seq: 0, ..store.for_tenant(&tuple(number)).counts() }).collect()
        };
        let [limited, all] = open(&folders);
        prop_assert_eq!(counts(&limited), counts(&all));
    }
}

#[test]
fn a_reader_keeps_the_view_of_a_tenant_that_was_unloaded() {
    let folder = poc_graph::testing::folder();
    let store = open_limited(&folder, Some(TINY));
    let own = |number| store.for_tenant(&tuple(number));
    let write = |tenant: usize, number: u64| {
        let own = own(tenant);
        own.transact(cause(), |tx| tx.put_node(&Node { tenant: own.tenant(), ..node(number) })).unwrap().seq
    };
    write(1, 1);
    let kept = own(1).view();
    for number in 2..5 {
        write(number, 1);
    }
    let seq = write(1, 2);
    assert_eq!((kept.node_count(), own(1).view().node_count(), own(1).view().seq), (1, 2, seq));
    assert_eq!(own(9).view().node_count(), 0, "a tenant that has never written anything has no view to load");
    assert_eq!(store.loaded_tenants().limit, TINY);
}

#[test]
fn tenants_stay_in_memory_up_to_the_limit() {
    let folder = poc_graph::testing::folder();
    let bytes_of_one = {
        let store = open_limited(&folder, None);
        for tenant in 1..=8 {
            let own = store.for_tenant(&tuple(tenant));
            for number in 0..5 {
                own.transact(cause(), |tx| tx.put_node(&Node { tenant: own.tenant(), ..node(number) }))
                    .unwrap();
            }
        }
        assert_eq!(store.loaded_tenants().count, 8, "without a limit");
        store.loaded_tenants().bytes / 8
    };
    let store = open_limited(&folder, Some(bytes_of_one * 4));
    assert_eq!(store.loaded_tenants(), LoadedTenants { count: 0, bytes: 0, limit: bytes_of_one * 4 });
    for tenant in [1, 2, 3, 1, 4, 1, 5, 1, 6, 1] {
        assert_eq!(store.for_tenant(&tuple(tenant)).view().node_count(), 5);
        let loaded = store.loaded_tenants();
        assert!(loaded.bytes <= loaded.limit, "{loaded:?}");
    }
    // Tenant 1 was always used between the others.
    assert!(store.shared.commits.loaded().contains(&tuple(1).id()));
    assert!(store.loaded_tenants().count > 1);
}

/// Each thread writes to tenants of its own and must see its writes, while all tenants are unloaded all the time.
#[test]
fn concurrent_writers_see_their_writes() {
    let folder = poc_graph::testing::folder();
    let store = open_limited(&folder, Some(TINY));
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let store = &store;
            scope.spawn(move || {
                for number in 0..60_u64 {
                    let own = store.for_tenant(&tuple(1 + thread + 4 * (number as usize % 3)));
                    own.transact(cause(), |tx| {
                        tx.put_node(&Node { tenant: own.tenant(), ..node(number) })?;
                        // The records and the view of the transaction belong together.
                        assert_eq!(tx.view().node_count() as u64, number / 3);
                        Ok(())
                    })
                    .unwrap();
                    assert_eq!(own.view().node_count() as u64, number / 3 + 1);
                    // Another thread may be writing to this one.
                    let other = store.for_tenant(&tuple(1 + (thread + 1) % 4));
                    let view = other.view();
                    assert!((0..view.slots()).all(|ix| view.state(ix).is_some()));
                }
            });
        }
    });
    assert_eq!(findings(&store), vec![]);
}
