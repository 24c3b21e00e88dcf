//! A verification finds any damage in any file, and reports nothing for an intact store, whatever its history is and
//! whatever is written during it.

use super::changes::{apply_for, op};
use super::*;
use poc_graph::testing::contents as view_contents;
use proptest::prelude::*;
use std::time::Duration;

/// Callbacks that do nothing.
pub(super) const QUIET: VerifyCallbacks<'static> =
    VerifyCallbacks { progress: &|_, _, _| {}, check_cancelled: &|| Ok(()) };

fn found(store: &Store) -> Vec<String> {
    let findings = store.verify(&QUIET).unwrap();
    let line = |finding: &DamagedPart| {
        let file = finding.path.strip_prefix(&store.shared.directory).unwrap();
        format!("{}: {}", file.display(), finding.message)
    };
    findings.iter().map(line).collect()
}

fn options() -> StoreOptions {
    let limits = LogLimits { segment: 3000, ..LogLimits::default() };
    StoreOptions {
        limits,
        buffer: 3000,
        engine: with_small_tables,
        large_tenant: 3,
        ..StoreOptions::default()
    }
}

fn tuple(tenant: u8) -> Tuple {
    if tenant == 0 { Tuple::default() } else { Tuple::new([("t", tenant.to_string().as_str())]).unwrap() }
}

/// A closed store with nodes of two tenants in several segments, of which the last changes are in no checkpoint.
fn closed() -> (TempDir, BTreeMap<Vec<u8>, Vec<u8>>, Vec<String>) {
    let folder = poc_graph::testing::folder();
    let store = open_in(&folder, options()).unwrap();
    let other = store.for_tenant(&tuple(1));
    for number in 1..=20 {
        put(&store, number);
        other
            .transact(cause(), |tx| tx.put_node(&Node { tenant: tx.tenant(), ..node(number + 100) }))
            .unwrap();
        if number == 15 {
            store.checkpoint().unwrap();
        }
    }
    assert!(segment_files(&folder).len() > 3);
    let state = (contents(&store), view_contents(&store.view()));
    assert!(store.save_derived("found", atomic_file::Fingerprint::of("test"), b"found").unwrap());
    drop(store);
    (folder, state.0, state.1)
}

/// Every file of a store, except those whose content means nothing.
fn meaningful_files(folder: &Path) -> Vec<PathBuf> {
    let mut all = files(folder);
    all.retain(|path| !["lock", "reserve"].iter().any(|name| path.file_name().unwrap() == *name));
    all
}

/// Changes, cuts or extends a file.
fn damage(path: &Path, kind: u8, at: prop::sample::Index) {
    let mut bytes = fs::read(path).unwrap();
    if bytes.is_empty() {
        return;
    }
    let at = at.index(bytes.len());
    match kind {
        0 => bytes.truncate(at),
        1 => bytes.extend_from_slice(b"more"),
        _ => bytes[at] ^= 1 << (kind % 8),
    }
    fs::write(path, bytes).unwrap();
}

/// Without a compacted log, the records keep the entries for the history that the log has.
#[test]
fn a_compaction_that_does_not_replace_the_log_keeps_all_records() {
    let folder = poc_graph::testing::folder();
    let store = open_in(&folder, options()).unwrap();
    let at = |seconds| Cause { at: Timestamp(seconds), ..cause() };
    let (kept, deleted) = (node(1), node(2));
    let other = store.for_tenant(&tuple(1));
    let put =
        |tx: &mut Transaction<'_>, node: &Node| tx.put_node(&Node { tenant: tx.tenant(), ..node.clone() });
    other
        .transact(at(1), |tx| {
            put(tx, &deleted)?;
            tx.delete_node(deleted.id)?;
            put(tx, &kept)
        })
        .unwrap();
    store.transact(at(2), |tx| tx.put_node(&node(3))).unwrap();
    store.transact(at(3), |tx| tx.put_node(&node(4))).unwrap();
    // The state after the first transaction would take two, one for each tenant.
    let done = store.compact(Some(Timestamp(2)), &QUIET_COMPACTION).unwrap();
    assert_eq!((done.deleted, done.base), (0, None));
    assert_eq!(found(&store), Vec::<String>::new());
}

/// A compaction that is cancelled at any point leaves files that the next one reuses.
#[test]
fn a_compaction_after_a_cancelled_one_keeps_all_records() {
    for steps in 0.. {
        let folder = poc_graph::testing::folder();
        let store = open_in(&folder, options()).unwrap();
        for seconds in 1..=12 {
            let cause = Cause { at: Timestamp(seconds), ..cause() };
            let body = format!("written at {seconds}");
            store
                .transact(cause, |tx| tx.put_node(&Node { body: body.clone(), ..node(seconds as u64 % 3) }))
                .unwrap();
        }
        let remaining = std::cell::Cell::new(steps);
        let check_cancelled = || match remaining.get() {
            0 => Err(Error::unavailable("cancelled")),
            number => {
                remaining.set(number - 1);
                Ok(())
            }
        };
        let callbacks = CompactionCallbacks { progress: &|_, _| {}, check_cancelled: &check_cancelled };
        let is_cancelled = store.compact(Some(Timestamp(9)), &callbacks).is_err();
        assert_eq!(found(&store), Vec::<String>::new(), "cancelled after {steps} steps");
        store.compact(None, &QUIET_COMPACTION).unwrap();
        assert_eq!(found(&store), Vec::<String>::new(), "compacted after {steps} steps");
        if !is_cancelled {
            assert!(steps > 3);
            break;
        }
    }
}

poc_laws::laws! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn an_intact_store_gives_no_finding(
        events in proptest::collection::vec((0u8..3, proptest::collection::vec(op(), 1..6), 0u8..12), 1..25),
    ) {
        let folder = poc_graph::testing::folder();
        let mut store = open_in(&folder, options()).unwrap();
        for (seconds, (tenant, ops, then)) in (10..).zip(&events) {
            let own = store.for_tenant(&tuple(*tenant));
            let cause = Cause { at: Timestamp(seconds), ..cause() };
            own.transact(cause, |tx| {
                // Changes that fail are skipped. A node has one tenant.
                let tenant = tx.tenant();
                ops.iter().for_each(|op| drop(apply_for(tx, op, tenant)));
                Ok(())
            }).unwrap();
            drop(own);
            match then {
                0 => store.checkpoint().unwrap(),
                1 => {
                    drop(store);
                    store = open_in(&folder, options()).unwrap();
                }
                2 => {
                    store.compact(Some(Timestamp(seconds - 2)), &QUIET_COMPACTION).unwrap();
                }
                _ => {}
            }
        }
        prop_assert_eq!(found(&store), Vec::<String>::new());
    }

    #[test]
    fn damage_of_any_file_is_found_or_harmless(file in any::<prop::sample::Index>(), kind in 0u8..10, at in any::<prop::sample::Index>()) {
        let (folder, records, view) = closed();
        let all = meaningful_files(folder.path());
        let path = &all[file.index(all.len())];
        let original = fs::read(path).unwrap();
        damage(path, kind, at);
        let options = StoreOptions { heartbeat_timeout: std::time::Duration::from_secs(5), ..options() };
        let store = open_in(&folder, options).unwrap();
        let is_found = store.damage().is_some()
            || !store.recovery().messages.is_empty()
            || !store.verify(&QUIET).unwrap().is_empty();
        if !is_found {
            // sled has rewritten its files, or the damage was in an unused part of them.
            prop_assert_eq!(&contents(&store), &records);
            prop_assert_eq!(&view_contents(&store.view()), &view);
            let is_of_log = path.extension().is_some_and(|extension| extension == "log");
            prop_assert!(!is_of_log || fs::read(path).unwrap() == original, "{}", path.display());
            prop_assert!(!atomic_file::is_damaged(&folder.path().join("view")));
        }
    }

    /// The store is open, as with a daemon: all files except sled's are read from the disk.
    #[test]
    fn damage_of_an_open_store_is_found(file in any::<prop::sample::Index>(), kind in 0u8..10, at in any::<prop::sample::Index>()) {
        let (folder, ..) = closed();
        let store = open_in(&folder, options()).unwrap();
        store.checkpoint().unwrap();
        let mut all = meaningful_files(folder.path());
        all.retain(|path| !path.parent().unwrap().file_name().unwrap().to_string_lossy().starts_with("recent."));
        let path = &all[file.index(all.len())];
        // The end of the newest segment is where the next record is written.
        prop_assume!(kind != 1 || Some(path) != segment_files(&folder).last());
        let original = fs::read(path).unwrap();
        damage(path, kind, at);
        prop_assume!(fs::read(path).unwrap() != original);
        let found = found(&store);
        let name = path.strip_prefix(folder.path()).unwrap().display().to_string();
        let is_named = |line: &String| line.starts_with(&name) || name.ends_with(".table") && line.starts_with("records: ");
        prop_assert!(found.iter().any(is_named), "{name}: {found:?}");
    }
}

#[test]
fn files_that_were_damaged_at_the_open_are_named_once() {
    for name in ["view", "head", "records/last", "log/checked"] {
        let (folder, ..) = closed();
        let path = folder.path().join(name);
        let mut bytes = fs::read(&path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(&path, bytes).unwrap();
        let store = open_in(&folder, options()).unwrap();
        let rebuilt = store.recovery().rebuilt;
        assert!(matches!(&rebuilt[..], [line] if line.contains(name)), "{name}: {rebuilt:?}");
        if name != "view" {
            store.checkpoint().unwrap();
        }
        let line = "it was damaged when it was read, and its content was built again from the log";
        assert_eq!(found(&store), [format!("{name}: {line}")]);
        assert_eq!(found(&store), Vec::<String>::new(), "{name}");
        drop(store);
        let store = open_in(&folder, options()).unwrap();
        assert_eq!(store.recovery().rebuilt, Vec::<String>::new(), "{name}");
        assert_eq!(found(&store), Vec::<String>::new(), "{name}");
    }
}

/// A view is derived, so nothing has to be done about its file.
#[test]
fn a_damaged_view_of_a_tenant_is_named_once_as_rebuilt() {
    let (folder, ..) = closed();
    let store = open_in(&folder, options()).unwrap();
    drop(store.for_tenant(&tuple(1)).view());
    store.checkpoint().unwrap();
    drop(store);
    let mut saved = files(&folder.path().join(crate::tenant_view_files::FOLDER));
    let path = saved.pop().unwrap();
    fs::write(&path, "garbage").unwrap();
    let store = open_in(&folder, options()).unwrap();
    let damaged = store.verify(&QUIET).unwrap();
    assert!(matches!(&damaged[..], [part] if part.path == path && part.is_rebuilt), "{damaged:?}");
    assert_eq!(found(&store), Vec::<String>::new());
    drop(store);
    assert!(path.exists() && !atomic_file::is_damaged(&path));
}

/// The committer takes the lock of the writers to reject a transaction whose outcome the verification waits for.
#[test]
fn a_write_may_fail_during_a_verification() {
    let folder = poc_graph::testing::folder();
    let faults = Arc::new(Faults::default());
    let disk = Arc::new(FaultyDisk(faults.clone()));
    let options = StoreOptions { disk, engine: with_small_tables, ..in_memory() };
    let store = open_in(&folder, options).unwrap();
    put(&store, 1);
    let (open_gate, gate) = mpsc::channel();
    *faults.gate.lock() = Some(gate);
    faults.fail_syncs.store(true, Ordering::SeqCst);
    std::thread::scope(|scope| {
        let written = scope.spawn(|| store.transact(cause(), |tx| tx.put_node(&node(2))));
        while store.shared.writer.lock().borrow().seq < 2 {
            std::thread::yield_now();
        }
        let verified = scope.spawn(|| store.verify(&QUIET));
        // It has the lock while it waits for the outcome. Before, it waits for the committer.
        while store.shared.writer.try_lock().is_some() {
            store.wait_published(2, Duration::from_millis(5));
        }
        open_gate.send(()).unwrap();
        assert_eq!(written.join().unwrap().unwrap_err().code, Code::ReadOnly);
        assert_eq!(verified.join().unwrap().unwrap(), []);
    });
    *faults.gate.lock() = None;
    faults.end();
    assert_eq!(numbers(&store), [1]);
}

/// Such a file may be intact, so it is neither deleted nor called damaged.
#[test]
fn views_that_cannot_be_read_are_named_and_stay() {
    // Following a link to itself fails, also for an administrator.
    let make_unreadable = |path: &Path| {
        fs::remove_file(path).unwrap();
        std::os::unix::fs::symlink(path.file_name().unwrap(), path).unwrap();
    };
    let (folder, _, view) = closed();
    let path = folder.path().join("view");
    make_unreadable(&path);
    let store = open_in(&folder, options()).unwrap();
    let recovery = store.recovery();
    assert_eq!(recovery.rebuilt, Vec::<String>::new());
    let start =
        format!("the file `{}` cannot be read, so the view was built from the records: ", path.display());
    assert!(matches!(&recovery.messages[..], [line] if line.starts_with(&start)), "{recovery:?}");
    assert!(path.is_symlink());
    // Its number is that of the records, which is the one of the last change of any tenant.
    assert_eq!(view_contents(&store.view())[1..], view[1..]);
    let named = found(&store);
    assert!(matches!(&named[..], [line] if line.starts_with("view: it cannot be read: ")), "{named:?}");
    drop(store.for_tenant(&tuple(1)).view());
    store.checkpoint().unwrap();
    drop(store);
    let path = files(&folder.path().join(crate::tenant_view_files::FOLDER)).pop().unwrap();
    make_unreadable(&path);
    let store = open_in(&folder, options()).unwrap();
    let damaged = store.verify(&QUIET).unwrap();
    let is_named = |part: &DamagedPart| {
        part.path == path && !part.is_rebuilt && part.message.starts_with("it cannot be read: ")
    };
    assert!(matches!(&damaged[..], [part] if is_named(part)), "{damaged:?}");
    assert!(path.is_symlink());
    assert_eq!(store.recovery().rebuilt, Vec::<String>::new());
}

/// A small store saves little when it is closed, but a damaged file is replaced.
#[test]
fn a_damaged_view_of_a_small_store_is_replaced_when_the_store_is_closed() {
    let folder = poc_graph::testing::folder();
    let store = open_in(&folder, options()).unwrap();
    put(&store, 1);
    store.checkpoint().unwrap();
    drop(store);
    let path = folder.path().join("view");
    fs::write(&path, "garbage").unwrap();
    drop(open_in(&folder, options()).unwrap());
    assert!(!atomic_file::is_damaged(&path));
    let store = open_in(&folder, options()).unwrap();
    assert_eq!(store.recovery().rebuilt, Vec::<String>::new());
}

#[test]
fn missing_files_and_files_of_other_formats_are_no_damage() {
    for name in ["view", "head", "records/last", "log/checked", "derived/found"] {
        let (folder, ..) = closed();
        let path = folder.path().join(name);
        fs::remove_file(&path).unwrap();
        drop(open_in(&folder, options()).unwrap());
        if name != "head" {
            let other = atomic_file::Fingerprint::of("an earlier format");
            atomic_file::write(&path, other, 1, &[b"other"]).unwrap();
        }
        let store = open_in(&folder, options()).unwrap();
        let expected = atomic_file::Fingerprint::of("test");
        assert_eq!(store.load_derived("found", expected).unwrap().is_some(), name != "derived/found");
        assert_eq!(store.recovery().rebuilt, Vec::<String>::new(), "{name}");
    }
}

#[test]
fn a_damaged_file_that_is_read_later_is_named() {
    let (folder, ..) = closed();
    let store = open_in(&folder, options()).unwrap();
    let path = folder.path().join("derived/found");
    fs::write(&path, "garbage").unwrap();
    assert_eq!(store.load_derived("found", atomic_file::Fingerprint::of("test")).unwrap(), None);
    let rebuilt = store.recovery().rebuilt;
    assert!(matches!(&rebuilt[..], [line] if line.contains("derived/found")), "{rebuilt:?}");
}

#[test]
fn a_file_that_is_damaged_again_after_a_verification_is_reported_again() {
    let files = RebuiltFiles::default();
    let (a, b) = (PathBuf::from("a"), PathBuf::from("b"));
    for found in [&a, &b, &a] {
        files.add(found.clone());
    }
    assert_eq!(files.take_unreported(), [a.clone(), b]);
    assert_eq!(files.take_unreported(), Vec::<PathBuf>::new());
    files.add(a.clone());
    assert_eq!((files.take_unreported(), files.messages().len()), (vec![a], 2));
}

#[test]
fn files_that_are_deleted_while_the_store_is_open_are_named() {
    for name in ["view", "head", "lock"] {
        let (folder, ..) = closed();
        let store = open_in(&folder, options()).unwrap();
        store.checkpoint().unwrap();
        fs::remove_file(folder.path().join(name)).unwrap();
        let found = found(&store);
        let start = format!("{name}: it is missing");
        assert!(matches!(&found[..], [line] if line.starts_with(&start)), "{found:?}");
    }
}

#[test]
fn records_that_are_deleted_while_the_store_is_open_are_built_again() {
    let (folder, records, _) = closed();
    let store = open_in(&folder, options()).unwrap();
    // One table, so that no thread merges tables.
    store.shared.engine.rewrite(&|| Ok(())).unwrap();
    fs::remove_dir_all(folder.path().join("records")).unwrap();
    assert_eq!(found(&store), ["records: the records are damaged: their folder is missing"]);
    assert_eq!(contents(&store), records);
}

#[test]
fn damaged_records_are_rebuilt_when_they_are_found() {
    let (folder, records, _) = closed();
    let store = open_in(&folder, options()).unwrap();
    // One table, so that no thread merges tables.
    store.shared.engine.rewrite(&|| Ok(())).unwrap();
    let tables = files(&folder.path().join("records")).into_iter();
    let table = tables.filter(|path| path.extension().is_some_and(|end| end == "table")).min().unwrap();
    let mut bytes = fs::read(&table).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&table, bytes).unwrap();
    let findings = store.verify(&QUIET).unwrap();
    let rebuilt: Vec<bool> = findings.iter().map(|finding| finding.is_rebuilt).collect();
    assert_eq!(rebuilt, [true], "{findings:?}");
    assert_eq!(found(&store), Vec::<String>::new());
    assert_eq!(contents(&store), records);
    assert!(folder.path().join("quarantine/records").exists());
}

#[test]
fn records_that_differ_from_the_log_are_named() {
    let folder = poc_graph::testing::folder();
    let store = open_in(&folder, in_memory()).unwrap();
    for number in 1..=3 {
        put(&store, number);
    }
    let engine = &store.shared.engine;
    let watermark = engine.watermark().unwrap();
    let key = |number: u64| Table::Nodes.engine_key(Tenant::default(), node(number).id.as_bytes());
    let own = engine.get(&key(1)).unwrap();
    let change =
        |key: Vec<u8>, value: Option<Vec<u8>>| engine.apply(vec![(key, value)].into(), watermark).unwrap();
    assert_eq!(found(&store), Vec::<String>::new());
    for (number, value) in [(2, own.clone()), (2, None), (9, own)] {
        let before = engine.get(&key(number)).unwrap();
        change(key(number), value);
        let id: String = node(number).id.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(found(&store)[0], format!("records: the records differ from the log: Nodes {id}"));
        change(key(number), before);
    }
    assert_eq!(found(&store), Vec::<String>::new());
}

#[test]
fn writes_during_a_verification_are_not_reported() {
    let folder = poc_graph::testing::folder();
    let store =
        open_in(&folder, StoreOptions { disk: Arc::new(FaultyDisk::default()), ..options() }).unwrap();
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in (1..=40).cycle() {
                if is_done.load(Ordering::SeqCst) {
                    break;
                }
                store
                    .transact(cause(), |tx| match tx.node(node(number).id)? {
                        Some(_) if number % 3 == 0 => tx.delete_node(node(number).id),
                        known => {
                            let version = known.map_or(1, |node| node.version + 1);
                            tx.put_node(&Node { version, ..node(number) })
                        }
                    })
                    .unwrap();
            }
        });
        for _ in 0..20 {
            assert_eq!(found(&store), Vec::<String>::new());
        }
        is_done.store(true, Ordering::SeqCst);
    });
}

#[test]
fn a_verification_can_be_cancelled() {
    let (folder, ..) = closed();
    let store = open_in(&folder, options()).unwrap();
    let stop = || Err(Error::new(Code::Unavailable, "enough"));
    let error =
        store.verify(&VerifyCallbacks { progress: &|_, _, _| {}, check_cancelled: &stop }).unwrap_err();
    assert_eq!(error.message, "enough");
}
