//! A store with random damage loses no note that any intact part of it contains. No file of a store opened read-only
//! changes.

use super::changes::op;
use super::*;
use proptest::prelude::*;

/// Notes, one for each transaction.
const COUNT: u64 = 40;
const SEGMENT: u64 = 2000;

/// A closed store. Its records and its view contain the first `checkpoint` transactions.
struct Made {
    folder: TempDir,
    checkpoint: u64,
    /// Segment, first byte and last byte of each record of the log.
    places: Vec<(PathBuf, u64, u64)>,
}

fn made(checkpoint: u64) -> Made {
    let folder = tempfile::tempdir().unwrap();
    let limits = LogLimits { segment: SEGMENT, ..LogLimits::default() };
    let parts = StoreOptions { limits, buffer: 4000, engine: with_small_tables, ..StoreOptions::default() };
    let store = open_in(&folder, parts).unwrap();
    let mut places = Vec::new();
    for number in 1..=COUNT {
        put(&store, number);
        let newest = segment_files(&folder).pop().unwrap();
        let begin = places.last().filter(|(path, _, _)| *path == newest).map_or(24, |(_, _, end)| *end);
        let end = fs::metadata(&newest).unwrap().len();
        places.push((newest, begin, end));
        if number == checkpoint {
            store.checkpoint().unwrap();
        }
    }
    drop(store);
    Made { folder, checkpoint, places }
}

/// One thing that happens to a store.
#[derive(Clone, Debug)]
enum Harm {
    /// A byte of a segment changes.
    Flip(prop::sample::Index, prop::sample::Index),
    /// A segment loses its end.
    Truncate(prop::sample::Index, prop::sample::Index),
    DeleteSegment(prop::sample::Index),
    DeleteLog,
    FlipView(prop::sample::Index),
    DeleteView,
    FlipRecords(prop::sample::Index, prop::sample::Index),
    DeleteRecords,
    DeleteHead,
}

fn harm() -> impl Strategy<Value = Harm> {
    let index = any::<prop::sample::Index>;
    prop_oneof![
        5 => (index(), index()).prop_map(|(segment, at)| Harm::Flip(segment, at)),
        3 => (index(), index()).prop_map(|(segment, at)| Harm::Truncate(segment, at)),
        2 => index().prop_map(Harm::DeleteSegment),
        1 => Just(Harm::DeleteLog),
        1 => index().prop_map(Harm::FlipView),
        1 => Just(Harm::DeleteView),
        1 => (index(), index()).prop_map(|(file, at)| Harm::FlipRecords(file, at)),
        1 => Just(Harm::DeleteRecords),
        1 => Just(Harm::DeleteHead),
    ]
}

/// What is left untouched.
struct Intact {
    records: bool,
    view: bool,
    /// The number of the last acknowledged transaction.
    head: bool,
}

impl Intact {
    fn of(made: &Made) -> Intact {
        Intact { records: made.checkpoint > 0, view: made.checkpoint > 0, head: true }
    }
}

fn apply(harm: &Harm, made: &Made, intact: &mut Intact) {
    let folder = made.folder.path();
    let flip = |path: &Path, at: &prop::sample::Index, used: fn(&[u8]) -> usize| {
        let Ok(mut bytes) = fs::read(path) else { return };
        if !bytes.is_empty() {
            let at = at.index(used(&bytes).max(1));
            bytes[at] ^= 0x10;
            fs::write(path, bytes).unwrap();
        }
    };
    let segments = || if folder.join("log").exists() { segment_files(&made.folder) } else { Vec::new() };
    match harm {
        Harm::Flip(segment, at) => {
            if let Some(path) = segments().get(segment.index(COUNT as usize) % segments().len().max(1)) {
                flip(path, at, <[u8]>::len);
            }
        }
        Harm::Truncate(segment, at) => {
            if let Some(path) = segments().get(segment.index(COUNT as usize) % segments().len().max(1)) {
                let bytes = fs::read(path).unwrap();
                fs::write(path, &bytes[..at.index(bytes.len() + 1)]).unwrap();
            }
        }
        Harm::DeleteSegment(segment) => {
            if let Some(path) = segments().get(segment.index(COUNT as usize) % segments().len().max(1)) {
                fs::remove_file(path).unwrap();
            }
        }
        Harm::DeleteLog => drop(fs::remove_dir_all(folder.join("log"))),
        Harm::FlipView(at) => {
            flip(&folder.join("view"), at, <[u8]>::len);
            intact.view = false;
        }
        Harm::DeleteView => {
            fs::remove_file(folder.join("view")).ok();
            intact.view = false;
        }
        Harm::FlipRecords(file, at) => {
            let records = folder.join("records");
            let all: Vec<PathBuf> = if records.exists() { files(&records) } else { Vec::new() };
            if let Some(path) = all.get(file.index(all.len().max(1))) {
                // Most of sled's file is zeros.
                flip(path, at, |bytes| bytes.iter().rposition(|&byte| byte != 0).unwrap_or(0));
            }
            intact.records = false;
        }
        Harm::DeleteRecords => {
            fs::remove_dir_all(folder.join("records")).ok();
            intact.records = false;
        }
        Harm::DeleteHead => {
            fs::remove_file(folder.join(log_head::NAME)).ok();
            intact.head = false;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn no_note_that_an_intact_copy_has_is_missing_and_nothing_changes_on_disk(
        checkpoint in 0..=COUNT, harms in proptest::collection::vec(harm(), 1..5),
    ) {
        let made = made(checkpoint);
        let original = bytes_of_files(made.folder.path());
        let mut intact = Intact::of(&made);
        for harm in &harms {
            apply(harm, &made, &mut intact);
        }
        let before = bytes_of_files(made.folder.path());
        // A record of the log whose bytes are unchanged, wherever the damage is.
        let is_logged = |number: u64| {
            let (path, begin, end) = &made.places[number as usize - 1];
            let part = |bytes: &Vec<u8>| bytes.get(*begin as usize..*end as usize).map(<[u8]>::to_vec);
            before.get(path).and_then(part) == part(&original[path])
        };
        let logged: Vec<u64> = (1..=COUNT).filter(|&number| is_logged(number)).collect();
        let in_records = |number: u64| intact.records && number <= made.checkpoint;
        let in_view = |number: u64| intact.view && number <= made.checkpoint;
        let mut shown = Vec::new();
        for _ in 0..2 {
            let parts = StoreOptions { heartbeat_timeout: std::time::Duration::from_secs(5), ..StoreOptions::default() };
            let store = open_in(&made.folder, parts).unwrap();
            // Whatever the log lacks is noticed.
            prop_assert!(!intact.head || logged.len() as u64 == COUNT || store.damage().is_some(), "{:?}", harms);
            let view = store.view();
            for number in 1..=COUNT {
                let id = node(number).id;
                let is_listed = view.find(id).is_some();
                if logged.contains(&number) || in_records(number) {
                    prop_assert!(is_listed, "note {} is not listed: {:?}", number, store.damage());
                    prop_assert_eq!(store.node(id).unwrap(), Some(node(number)), "{:?}", store.damage());
                } else if in_view(number) {
                    prop_assert!(is_listed, "note {} is not listed: {:?}", number, store.damage());
                }
            }
            let listed: Vec<u64> = (1..=COUNT).filter(|&number| view.find(node(number).id).is_some()).collect();
            if store.damage().is_some() {
                let error = store.transact(cause(), |tx| tx.put_node(&node(99))).unwrap_err();
                prop_assert_eq!(error.code, Code::ReadOnly);
                store.checkpoint().unwrap();
                drop(store);
                prop_assert!(bytes_of_files(made.folder.path()) == before, "{:?}", harms);
            } else {
                // In that case nothing is known about notes that are not shown.
                prop_assert_eq!(&numbers(&store), &listed);
                prop_assert_eq!(listed.len() as u64, store.last_seq());
            }
            if !shown.is_empty() {
                prop_assert_eq!(&shown, &listed, "the second open shows the same");
            }
            shown = listed;
        }
    }
}

/// A copy of a store's files.
fn copied(folder: &Path) -> TempDir {
    let copy = tempfile::tempdir().unwrap();
    for (path, bytes) in bytes_of_files(folder) {
        let target = copy.path().join(path.strip_prefix(folder).unwrap());
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::write(target, bytes).unwrap();
    }
    copy
}

/// The bytes of the log, the records and the view, by their paths within the store.
fn parts(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let all = bytes_of_files(folder).into_iter();
    let all = all.map(|(path, bytes)| (path.strip_prefix(folder).unwrap().to_owned(), bytes));
    all.filter(|(path, _)| ["log", "records", "view"].iter().any(|part| path.starts_with(part))).collect()
}

/// The records of a tenant, without those that are derived from the numbers of transactions.
fn stated(store: &Store) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let mut all = contents(store);
    all.retain(|key, _| Table::split_engine_key(key).unwrap().1 != Table::Changes);
    all
}

fn repaired(folder: &TempDir, source: RepairSource) -> String {
    Repair::of(folder.path(), false).unwrap().unwrap().run(source, Timestamp(9), &["index"]).unwrap().replaced
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_repair_keeps_what_it_says_and_is_undone_byte_for_byte(
        checkpoint in 0..=COUNT, harms in proptest::collection::vec(harm(), 1..5),
    ) {
        let made = made(checkpoint);
        let mut intact = Intact::of(&made);
        for harm in &harms {
            apply(harm, &made, &mut intact);
        }
        let shown = {
            let store = open_in(&made.folder, StoreOptions::default()).unwrap();
            if store.damage().is_none() {
                return Ok(());
            }
            let has_text = |number: &u64| store.node(node(*number).id).unwrap().is_some();
            (1..=COUNT).filter(has_text).collect::<Vec<_>>()
        };
        let before = parts(made.folder.path());
        let options = Repair::of(made.folder.path(), false).unwrap().unwrap().options().unwrap();
        prop_assert!(files(made.folder.path()).iter().all(|path| !path.ends_with("repair.json")));
        for (at, option) in options.iter().enumerate() {
            let copy = copied(made.folder.path());
            repaired(&copy, option.source);
            let kept = {
                let store = open_in(&copy, StoreOptions::default()).unwrap();
                prop_assert_eq!(store.damage(), None);
                prop_assert_eq!(store.last_seq(), option.last_seq);
                let kept = numbers(&store);
                prop_assert_eq!(kept.len() as u64, option.notes, "{:?}", option);
                put(&store, 99);
                kept
            };
            if at == 0 {
                prop_assert_eq!(&kept, &shown, "the most complete choice keeps what was shown");
            }
            if option.source == RepairSource::Log {
                prop_assert_eq!(&kept, &(1..=option.last_seq).collect::<Vec<_>>());
            }
            prop_assert!(kept.iter().all(|number| shown.contains(number)));
            undo_repair(copy.path(), &["index"]).unwrap();
            prop_assert!(parts(copy.path()) == before, "{:?}: {:?}", option, harms);
            prop_assert_eq!(undo_repair(copy.path(), &["index"]).unwrap_err().code, Code::NotFound);
        }
    }

    /// Any changes of two tenants, and a damaged byte in the log that is older than the records.
    #[test]
    fn a_log_that_is_repaired_from_the_records_leads_to_the_state_before_the_damage(
        txns in proptest::collection::vec((any::<bool>(), proptest::collection::vec(op(), 1..6)), 4..30),
        saved in any::<prop::sample::Index>(), at in any::<prop::sample::Index>(), from_zero: bool,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let of = |store: &Store| {
            let tenant = store.for_tenant(&poc_graph::Tuple::new([("who", "other")]).unwrap());
            // Without the last transaction, which for a view of the records is that of all tenants.
            let without_seq = |line: String| match line.split_once(", ") {
                Some((seq, rest)) if seq.starts_with('(') => rest.to_owned(),
                _ => line,
            };
            let lines = |store: &Store| poc_graph::testing::contents(&store.view()).into_iter();
            let view = |store: &Store| lines(store).map(without_seq).collect::<Vec<_>>();
            (stated(store), stated(&tenant), view(store), view(&tenant))
        };
        let saved = txns.len() / 2 + saved.index(txns.len() - txns.len() / 2);
        let (before, last, bytes) = {
            let store = open_in(&folder, StoreOptions::default()).unwrap();
            let other = store.for_tenant(&poc_graph::Tuple::new([("who", "other")]).unwrap());
            let mut bytes = 24;
            for (number, (is_other, ops)) in txns.iter().enumerate() {
                let writer = if *is_other { &other } else { &store };
                let done = writer.transact(cause(), |tx| {
                    // Changes that fail are skipped.
                    ops.iter().for_each(|op| drop(super::changes::apply_for(tx, op, writer.tenant())));
                    Ok(())
                });
                prop_assert!(done.is_ok());
                if number == saved {
                    store.checkpoint().unwrap();
                    bytes = store.sizes().unwrap().log;
                }
            }
            (of(&store), store.last_seq(), bytes as usize)
        };
        if last == 0 {
            return Ok(());
        }
        let path = segment_files(&folder).remove(0);
        let mut log = fs::read(&path).unwrap();
        let at = if from_zero { at.index(24) } else { 24 + at.index((bytes - 24).max(1)) };
        if at >= bytes {
            return Ok(());
        }
        log[at] ^= 0x10;
        fs::write(&path, log).unwrap();
        let store = open_in(&folder, StoreOptions::default()).unwrap();
        prop_assert!(store.damage().is_some());
        let shown = of(&store);
        prop_assert_eq!((&shown.2, &shown.3), (&before.2, &before.3));
        prop_assert_eq!((&shown.0, &shown.1), (&before.0, &before.1));
        drop(store);
        repaired(&folder, RepairSource::Records);
        for _ in 0..2 {
            let store = open_in(&folder, StoreOptions::default()).unwrap();
            prop_assert_eq!(store.damage(), None);
            prop_assert!(of(&store) == before);
            prop_assert_eq!(store.last_seq(), last);
            drop(store);
            fs::remove_dir_all(folder.path().join("records")).unwrap();
        }
    }
}

#[test]
fn an_interrupted_repair_is_completed_by_the_next_open() {
    let made = made(COUNT);
    fs::remove_file(segment_files(&made.folder).remove(1)).unwrap();
    let before = bytes_of_files(made.folder.path());
    repaired(&made.folder, RepairSource::Records);
    let after = parts(made.folder.path());
    let manifest = made.folder.path().join("quarantine/repair-1/manifest.json");
    let journal: serde_json::Value = serde_json::from_slice(&fs::read(&manifest).unwrap()).unwrap();
    let moves: Vec<(PathBuf, PathBuf)> = serde_json::from_value(journal["moves"].clone()).unwrap();
    assert_eq!(moves.len(), 5);
    for done in 0..=moves.len() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &Path, bytes: &[u8]| {
            let target = folder.path().join(path);
            fs::create_dir_all(target.parent().unwrap()).unwrap();
            fs::write(target, bytes).unwrap();
        };
        for (path, bytes) in &before {
            write(path.strip_prefix(made.folder.path()).unwrap(), bytes);
        }
        for (path, bytes) in &after {
            write(&Path::new("log.repaired").join(path.strip_prefix("log").unwrap()), bytes);
        }
        write(Path::new("repair.json"), &fs::read(&manifest).unwrap());
        fs::create_dir_all(folder.path().join("quarantine/repair-1")).unwrap();
        for (from, to) in moves.iter().take(done) {
            fs::rename(folder.path().join(from), folder.path().join(to)).unwrap();
        }
        let store = open_in(&folder, StoreOptions::default()).unwrap();
        assert_eq!((store.damage(), numbers(&store).len() as u64), (None, COUNT), "{done} moves");
        assert!(!folder.path().join("repair.json").exists());
        drop(store);
        undo_repair(folder.path(), &["index"]).unwrap();
        assert!(open_in(&folder, StoreOptions::default()).unwrap().damage().is_some());
    }
}

#[test]
fn an_intact_store_is_not_repaired() {
    let made = made(3);
    assert!(Repair::of(made.folder.path(), false).unwrap().is_none());
    let store = open_in(&made.folder, StoreOptions::default()).unwrap();
    assert_eq!(Repair::of(made.folder.path(), false).err().unwrap().code, Code::Locked);
    drop(store);
    assert_eq!(undo_repair(made.folder.path(), &["index"]).unwrap_err().code, Code::NotFound);
    let nothing = tempfile::tempdir().unwrap();
    assert_eq!(Repair::of(nothing.path(), false).err().unwrap().code, Code::NotFound);
}

/// Records of tenants and compressed ones count too.
#[test]
fn quarantined_files_are_counted_and_their_notes_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let store = open_in(&folder, StoreOptions::default()).unwrap();
    assert_eq!(quarantine_parts(folder.path()).unwrap(), []);
    let other = poc_graph::Tuple::new([("who", "other")]).unwrap();
    let tenant = store.for_tenant(&other);
    put(&store, 1);
    let own = Node { tenant: tenant.tenant(), ..node(2) };
    tenant.transact(cause(), |tx| tx.put_node(&own)).unwrap();
    let long = Node { body: "a long text ".repeat(1000), ..node(3) };
    store.transact(cause(), |tx| tx.put_node(&long)).unwrap();
    store.transact(cause(), |tx| tx.delete_node(node(1).id)).unwrap();
    drop((store, tenant));
    let segment = segment_files(&folder).remove(0);
    fs::create_dir(folder.path().join("quarantine")).unwrap();
    fs::write(folder.path().join("quarantine/x.log-24"), &fs::read(segment).unwrap()[24..]).unwrap();
    fs::create_dir(folder.path().join("quarantine/records")).unwrap();
    let [records, piece] = &quarantine_parts(folder.path()).unwrap()[..] else { panic!() };
    assert_eq!((records.name.as_str(), records.changes), ("records", 0));
    assert_eq!((piece.changes, piece.range), (4, Some((1, 4))));
    assert!(!records.is_unreadable_piece && !piece.is_unreadable_piece);
    let found = quarantine_contents(folder.path(), "x.log-24").unwrap();
    let notes = |tuple: &Tuple| -> Vec<(String, bool)> {
        found[&tuple.id()].notes.iter().map(|note| (note.node.body.clone(), note.deleted)).collect()
    };
    assert_eq!(found.len(), 2);
    assert_eq!(notes(&Tuple::default()), [(node(1).body, true), (long.body, false)]);
    assert_eq!(notes(&other), [(node(2).body, false)]);
    assert_eq!(found[&other.id()].tuple, Some(other));
    assert!(quarantine_contents(folder.path(), "records").unwrap().is_empty());
    for name in ["nothing", "../view", ".", ""] {
        assert_eq!(quarantine_contents(folder.path(), name).unwrap_err().code, Code::NotFound);
    }
}

/// The file with the number of the records' last transaction may be lost, too.
#[test]
fn nothing_changes_on_disk_when_the_number_of_the_last_transaction_is_lost() {
    for checkpoint in [3, COUNT] {
        let made = made(checkpoint);
        fs::remove_file(made.folder.path().join("records/last")).unwrap();
        fs::remove_file(segment_files(&made.folder).remove(1)).unwrap();
        let before = bytes_of_files(made.folder.path());
        let store = open_in(&made.folder, StoreOptions::default()).unwrap();
        assert!(store.damage().is_some());
        drop(store);
        assert!(bytes_of_files(made.folder.path()) == before, "checkpoint {checkpoint}");
    }
}

/// How another program changes the log of an open store, so that it lacks something.
fn changed_logs() -> [fn(&Path); 3] {
    [
        |segment| fs::remove_file(segment).unwrap(),
        |segment| fs::remove_dir_all(segment.parent().unwrap()).unwrap(),
        |segment| fs::OpenOptions::new().write(true).open(segment).unwrap().set_len(40).unwrap(),
    ]
}

/// Stores a note in a store that takes no writes because of its log.
fn put_is_refused(store: &Store) {
    let cause = Cause::new(Timestamp(6), "manual", "test");
    let error = store.transact(cause, |tx| tx.put_node(&node(66))).unwrap_err();
    assert_eq!(error.code, Code::ReadOnly, "{error}");
    assert!(error.message.contains("another program has changed its log"), "{error}");
    assert_eq!(store.read_only().unwrap().name(), "changed-log");
}

#[test]
fn a_log_that_is_changed_while_it_is_open_takes_no_writes_and_nothing_is_lost() {
    let all: Vec<u64> = (1..=5).collect();
    for (change, checked_first) in
        changed_logs().into_iter().flat_map(|change| [(change, false), (change, true)])
    {
        let folder = tempfile::tempdir().unwrap();
        let store = open_in(&folder, StoreOptions::default()).unwrap();
        for number in 1..=5 {
            put(&store, number);
        }
        change(&segment_files(&folder)[0]);
        if checked_first {
            store.check_log_files();
            store.check_log_files();
            assert_eq!(store.read_only().unwrap().name(), "changed-log");
        }
        put_is_refused(&store);
        put_is_refused(&store);
        assert_eq!(numbers(&store), all);
        // As after a kill: the records already have what the log lacks.
        let killed = copied(folder.path());
        drop(store);
        for folder in [folder, killed] {
            let store = open_in(&folder, StoreOptions::default()).unwrap();
            assert_eq!((store.damage().is_some(), numbers(&store)), (true, all.clone()));
            drop(store);
            repaired(&folder, RepairSource::Records);
            let store = open_in(&folder, StoreOptions::default()).unwrap();
            assert_eq!((store.damage(), numbers(&store)), (None, all.clone()));
            put(&store, 6);
        }
    }
}

#[test]
fn a_log_that_was_moved_away_and_back_takes_writes_again() {
    let folder = tempfile::tempdir().unwrap();
    let limits = LogLimits { segment: 500, ..LogLimits::default() };
    let store = open_in(&folder, StoreOptions { limits, ..StoreOptions::default() }).unwrap();
    for number in 1..=5 {
        put(&store, number);
    }
    let segments = segment_files(&folder);
    assert!(segments.len() > 2, "{segments:?}");
    // Tests both the segment being written and a complete one.
    for (round, segment) in [segments.last().unwrap(), &segments[0]].into_iter().enumerate() {
        let elsewhere = segment.with_extension("away");
        fs::rename(segment, &elsewhere).unwrap();
        store.check_log_files();
        put_is_refused(&store);
        fs::rename(&elsewhere, segment).unwrap();
        store.check_log_files();
        assert_eq!(store.read_only(), None);
        put(&store, 6 + round as u64);
    }
    drop(store);
    assert_eq!(numbers(&open_in(&folder, StoreOptions::default()).unwrap()), (1..=7).collect::<Vec<_>>());
}

#[test]
fn a_log_that_was_replaced_by_a_copy_is_written_to_again() {
    let folder = tempfile::tempdir().unwrap();
    let store = open_in(&folder, StoreOptions::default()).unwrap();
    put(&store, 1);
    let segment = segment_files(&folder).remove(0);
    let bytes = fs::read(&segment).unwrap();
    fs::remove_file(&segment).unwrap();
    // A shorter file is not accepted as a copy.
    fs::write(&segment, &bytes[..bytes.len() - 1]).unwrap();
    put_is_refused(&store);
    fs::write(&segment, bytes).unwrap();
    put(&store, 2);
    // This happens before the change is noticed.
    let bytes = fs::read(&segment).unwrap();
    fs::remove_file(&segment).unwrap();
    fs::write(&segment, bytes).unwrap();
    put(&store, 3);
    drop(store);
    assert_eq!(numbers(&open_in(&folder, StoreOptions::default()).unwrap()), [1, 2, 3]);
}

/// A failed write is cut off. If another program has cut off more, the gap is not filled with zeros.
#[test]
fn a_log_that_is_emptied_on_a_full_disk_is_not_continued() {
    let folder = tempfile::tempdir().unwrap();
    let disk = FaultyDisk::default();
    let store =
        open_in(&folder, StoreOptions { disk: Arc::new(disk.clone()), ..StoreOptions::default() }).unwrap();
    put(&store, 1);
    disk.0.fail_writes.store(true, Ordering::SeqCst);
    let refused = store.transact(Cause::new(Timestamp(6), "manual", "test"), |tx| tx.put_node(&node(2)));
    assert_eq!(refused.unwrap_err().code, Code::ReadOnly);
    fs::write(&segment_files(&folder)[0], "").unwrap();
    disk.0.fail_writes.store(false, Ordering::SeqCst);
    put_is_refused(&store);
    drop(store);
    let store = open_in(&folder, StoreOptions::default()).unwrap();
    assert_eq!((store.damage().is_some(), numbers(&store)), (true, vec![1]));
}

#[test]
fn the_content_of_a_lost_log_is_saved_when_the_store_is_closed() {
    let folder = tempfile::tempdir().unwrap();
    let store = open_in(&folder, StoreOptions::default()).unwrap();
    for number in 1..=5 {
        put(&store, number);
    }
    fs::remove_dir_all(folder.path().join("log")).unwrap();
    drop(store);
    let store = open_in(&folder, StoreOptions::default()).unwrap();
    assert!(store.damage().unwrap().starts_with("the log is missing"), "{:?}", store.damage());
    assert_eq!(numbers(&store), [1, 2, 3, 4, 5]);
}

/// Notes of a lost segment that are too large for the same number of transactions of the usual size.
#[test]
fn a_gap_of_large_notes_is_repaired() {
    let folder = tempfile::tempdir().unwrap();
    let limits = LogLimits { segment: 1 << 20, ..LogLimits::default() };
    let store = open_in(&folder, StoreOptions { limits, ..StoreOptions::default() }).unwrap();
    put(&store, 1);
    for txn in 0..2 {
        let cause = Cause::new(Timestamp(2), "manual", "test");
        let large = |number: u64| {
            // It cannot be compressed, and is different in each.
            let mut state = number;
            let mut next = || {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                char::from(b'!' + (state >> 33) as u8 % 94)
            };
            Node { body: (0..800_000).map(|_| next()).collect(), ..node(number) }
        };
        let numbers = 10 + 20 * txn..30 + 20 * txn;
        let put_all =
            |tx: &mut Transaction<'_>| numbers.clone().try_for_each(|number| tx.put_node(&large(number)));
        store.transact(cause, put_all).unwrap();
    }
    put(&store, 2);
    store.checkpoint().unwrap();
    let all = numbers(&store);
    drop(store);
    let segments = segment_files(&folder);
    assert!(segments.len() >= 3, "{segments:?}");
    segments[1..segments.len() - 1].iter().for_each(|path| fs::remove_file(path).unwrap());
    repaired(&folder, RepairSource::Records);
    let store = open_in(&folder, StoreOptions::default()).unwrap();
    assert_eq!((store.damage(), numbers(&store)), (None, all));
}

/// No checkpoint was made, so only the number of the last acknowledged transaction shows the loss.
#[test]
fn a_log_that_lost_its_end_is_damaged_until_a_person_decides() {
    let shorten = |folder: &TempDir| {
        let last = segment_files(folder).pop().unwrap();
        let bytes = fs::read(&last).unwrap();
        let record = 16 + u32::from_le_bytes(bytes[24..28].try_into().unwrap()) as usize;
        fs::write(&last, &bytes[..24 + record]).unwrap();
    };
    let delete = |folder: &TempDir| fs::remove_file(segment_files(folder).pop().unwrap()).unwrap();
    for (lose, kept) in [(shorten as fn(&TempDir), 5), (delete, 4)] {
        let folder = tempfile::tempdir().unwrap();
        let limits = LogLimits { segment: 1500, ..LogLimits::default() };
        let store = open_in(&folder, StoreOptions { limits, ..StoreOptions::default() }).unwrap();
        for number in 1..=6 {
            put(&store, number);
        }
        drop(store);
        assert_eq!(segment_files(&folder).len(), 2);
        assert!(!folder.path().join("view").exists());
        lose(&folder);
        let before = bytes_of_files(folder.path());
        let store = open_in(&folder, StoreOptions::default()).unwrap();
        let lost = if kept == 5 { "change 6" } else { "changes 5 to 6" };
        let damage =
            format!("the log ends at change {kept} and lacks {lost}, which `head` and `log/checked` know of");
        assert!(store.damage().unwrap().starts_with(&damage), "{:?}", store.damage());
        assert_eq!(numbers(&store), (1..=kept).collect::<Vec<_>>());
        assert_eq!(store.transact(cause(), |tx| tx.put_node(&node(9))).unwrap_err().code, Code::ReadOnly);
        drop(store);
        assert!(bytes_of_files(folder.path()) == before);
        let repair = Repair::of(folder.path(), false).unwrap().unwrap();
        assert_eq!((repair.damage(), repair.lost_end()), (damage.as_str(), Some(6)));
        let [option] = &repair.options().unwrap()[..] else { panic!() };
        assert_eq!(
            (option.source, option.last_seq, &option.lost),
            (RepairSource::Log, kept, &vec![(kept + 1, 6)])
        );
        let report = repair.run(RepairSource::Log, Timestamp(9), &[]).unwrap();
        assert_eq!(report.restorable, Some((0, 0)));
        let store = open_in(&folder, StoreOptions::default()).unwrap();
        assert_eq!((store.damage(), put(&store, 9).seq), (None, kept + 1));
        drop(store);
        assert_eq!(open_in(&folder, StoreOptions::default()).unwrap().damage(), None);
        undo_repair(folder.path(), &[]).unwrap();
        assert!(open_in(&folder, StoreOptions::default()).unwrap().damage().is_some());
    }
}

#[test]
fn a_store_of_which_only_an_index_is_left_is_not_an_empty_one() {
    let folder = tempfile::tempdir().unwrap();
    let store = open_in(&folder, StoreOptions::default()).unwrap();
    for number in 1..=5 {
        put(&store, number);
    }
    drop(store);
    let fingerprint = atomic_file::Fingerprint::of("an index of any kind");
    atomic_file::write(&folder.path().join("text/snapshot"), fingerprint, 4, &[b"postings"]).unwrap();
    for part in ["log", "records"] {
        fs::remove_dir_all(folder.path().join(part)).unwrap();
    }
    for (gone, last) in [(None, 5), (Some(log_head::NAME), 4)] {
        if let Some(name) = gone {
            fs::remove_file(folder.path().join(name)).unwrap();
        }
        let before = bytes_of_files(folder.path());
        assert!(Store::exists(folder.path()));
        assert!(!is_empty_store(folder.path()).unwrap() && !delete_empty_store(folder.path()).unwrap());
        let store = open_in(&folder, StoreOptions::default()).unwrap();
        assert_eq!(
            store.damage().unwrap(),
            format!(
                "the log is missing, including changes 1 to {last}, which no other intact part of the store has; nothing \
                 is left of its notes: restore a backup, or move the folder of the store away to begin with an empty memory"
            )
        );
        assert!(numbers(&store).is_empty());
        drop(store);
        assert!(bytes_of_files(folder.path()) == before);
        let repair = Repair::of(folder.path(), false).unwrap().unwrap();
        assert_eq!((repair.options().unwrap(), repair.lost_end()), (Vec::new(), Some(last)));
    }
    // A damaged index proves nothing.
    let path = folder.path().join("text/snapshot");
    let mut bytes = fs::read(&path).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&path, bytes).unwrap();
    assert_eq!(open_in(&folder, StoreOptions::default()).unwrap().damage(), None);
}

#[test]
fn a_store_of_which_only_the_quarantine_is_left_is_not_an_empty_one() {
    let folder = tempfile::tempdir().unwrap();
    let quarantine = folder.path().join("quarantine");
    fs::create_dir(&quarantine).unwrap();
    assert!(!Store::exists(folder.path()), "an empty quarantine shows nothing");
    fs::write(quarantine.join("x.log-24"), "a piece").unwrap();
    let before = bytes_of_files(folder.path());
    assert!(Store::exists(folder.path()));
    assert!(!is_empty_store(folder.path()).unwrap() && !delete_empty_store(folder.path()).unwrap());
    let store = open_in(&folder, StoreOptions::default()).unwrap();
    assert_eq!(
        store.damage().unwrap(),
        "the log is missing, and only `quarantine/` may have some of its notes: `poc-memory doctor quarantine list` \
         shows what is in it; restore a backup, or move the folder of the store away to begin with an empty memory"
    );
    assert!(numbers(&store).is_empty());
    assert_eq!(store.transact(cause(), |tx| tx.put_node(&node(1))).unwrap_err().code, Code::ReadOnly);
    drop(store);
    assert!(bytes_of_files(folder.path()) == before);
    let repair = Repair::of(folder.path(), false).unwrap().unwrap();
    assert!(repair.damage().contains("only `quarantine/`"), "{}", repair.damage());
    assert_eq!((repair.options().unwrap(), repair.lost_end()), (Vec::new(), None));
    drop(repair);
    fs::remove_file(quarantine.join("x.log-24")).unwrap();
    let store = open_in(&folder, StoreOptions::default()).unwrap();
    assert_eq!((store.damage(), put(&store, 1).seq), (None, 1));
}

/// The index of a table is damaged, so the records as a whole cannot be used, and the log has lost a segment.
#[test]
fn a_repair_is_compared_with_what_can_be_read_and_the_rest_is_restorable() {
    let made = made(COUNT);
    for path in files(&made.folder.path().join("records")) {
        if path.extension().is_some_and(|own| own == "table") {
            let mut bytes = fs::read(&path).unwrap();
            let last_of_filter = bytes.len() - 53;
            bytes[last_of_filter] ^= 1;
            fs::write(&path, bytes).unwrap();
        }
    }
    let lost =
        made.places.iter().filter(|(path, _, _)| *path == segment_files(&made.folder)[1]).count() as u64;
    fs::remove_file(segment_files(&made.folder).remove(1)).unwrap();
    let repair = Repair::of(made.folder.path(), false).unwrap().unwrap();
    assert!(repair.damage().contains("; the records cannot be used: "), "{}", repair.damage());
    let parts = repair.parts();
    assert_eq!(parts.iter().map(|part| part.name).collect::<Vec<_>>(), ["records", "view"]);
    assert!(parts.iter().all(|part| (part.notes, part.last_seq) == (COUNT, COUNT)), "{parts:?}");
    let options = repair.options().unwrap();
    let [sound_log, log] = &options[..] else { panic!("{options:?}") };
    assert_eq!((sound_log.source, &sound_log.missing_notes), (RepairSource::SoundLog, &vec![lost, lost]));
    assert_eq!((log.source, &log.missing_notes), (RepairSource::Log, &vec![COUNT - log.last_seq; 2]));
    let report = repair.run(RepairSource::SoundLog, Timestamp(9), &[]).unwrap();
    assert_eq!(report.restorable, Some((lost, 0)));
    let contents = quarantine_contents(made.folder.path(), &report.replaced).unwrap();
    assert_eq!(contents[&Tenant::default()].notes.len() as u64, COUNT);
}

#[test]
fn a_repair_deletes_what_was_derived_from_the_old_log() {
    let made = made(COUNT);
    fs::remove_file(segment_files(&made.folder).remove(1)).unwrap();
    let index = made.folder.path().join("index");
    let write = || {
        fs::create_dir_all(&index).unwrap();
        fs::write(index.join("snapshot"), "of the old log").unwrap();
    };
    write();
    repaired(&made.folder, RepairSource::SoundLog);
    assert!(!index.exists());
    write();
    undo_repair(made.folder.path(), &["index"]).unwrap();
    assert!(!index.exists());
}
