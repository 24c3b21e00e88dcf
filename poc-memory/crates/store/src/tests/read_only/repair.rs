//! A repair keeps what it announces, is completed after an interruption, and can be undone byte for byte.

use super::*;
use crate::testing::{count_by_scan, counts_of_view};
use crate::tests::changes::op;
use crate::tests::verify::QUIET;

/// The bytes of the log, the records and the view, by their paths within the store.
fn saved_bytes(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let all = bytes_of_files(folder).into_iter();
    let all = all.map(|(path, bytes)| (path.strip_prefix(folder).unwrap().to_owned(), bytes));
    all.filter(|(path, _)| ["log", "records", "view"].iter().any(|part| path.starts_with(part))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_repair_keeps_what_it_announces_and_is_undone_byte_for_byte(
        checkpoint in 0..=COUNT, damages in proptest::collection::vec(damage(), 1..5),
    ) {
        let made = closed_store(checkpoint);
        let mut intact = IntactParts::of(&made);
        for damage in &damages {
            apply(damage, &made, &mut intact);
        }
        let shown = {
            let store = open_in(&made.folder, StoreOptions::default()).unwrap();
            if store.damage().is_none() {
                return Ok(());
            }
            let has_text = |number: &u64| store.node(node(*number).id).unwrap().is_some();
            (1..=COUNT).filter(has_text).collect::<Vec<_>>()
        };
        let before = saved_bytes(made.folder.path());
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
            prop_assert!(saved_bytes(copy.path()) == before, "{:?}: {:?}", option, damages);
            prop_assert_eq!(undo_repair(copy.path(), &["index"]).unwrap_err().code, Code::NotFound);
        }
    }

    /// Notes of three tenants, one for each transaction, and a damaged byte in any of the transactions but the last
    /// one. The first transaction of a tenant has the record of its name.
    #[test]
    fn every_intact_note_of_a_tenant_is_shown_and_kept(
        writers in proptest::collection::vec(0usize..3, 2..16), at in any::<prop::sample::Index>(),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let of = |store: &Store, writer: usize| match writer {
            0 => store.clone(),
            _ => store.for_tenant(&poc_graph::Tuple::new([("who", format!("w{writer}"))]).unwrap()),
        };
        let put = |store: &Store, writer: usize, number: u64| {
            let own = of(store, writer);
            let node = Node { tenant: own.tenant(), ..node(number) };
            own.transact(cause(), |tx| tx.put_node(&node)).unwrap();
        };
        let mut ends = Vec::new();
        {
            let store = open_in(&folder, StoreOptions::default()).unwrap();
            for (number, writer) in (1..).zip(&writers) {
                put(&store, *writer, number);
                ends.push(store.sizes().unwrap().log as usize);
            }
        }
        let path = segment_files(&folder).remove(0);
        let mut log = fs::read(&path).unwrap();
        let at = 24 + at.index(ends[ends.len() - 2] - 24);
        let lost = ends.iter().position(|end| at < *end).unwrap() as u64 + 1;
        log[at] ^= 0x10;
        fs::write(&path, log).unwrap();
        let shown = |store: &Store| (0..3).map(|writer| numbers(&of(store, writer))).collect::<Vec<_>>();
        let mut expected = vec![Vec::new(); 3];
        for (number, writer) in (1..).zip(&writers).filter(|(number, _)| *number != lost) {
            expected[*writer].push(number);
        }
        let store = open_in(&folder, StoreOptions::default()).unwrap();
        prop_assert!(store.damage().is_some());
        prop_assert_eq!(shown(&store), expected.clone());
        drop(store);
        let options = Repair::of(folder.path(), false).unwrap().unwrap().options().unwrap();
        let option = options.iter().find(|option| option.source == RepairSource::IntactLog).unwrap();
        prop_assert_eq!(option.notes, writers.len() as u64 - 1);
        repaired(&folder, RepairSource::IntactLog);
        {
            let store = open_in(&folder, StoreOptions::default()).unwrap();
            prop_assert_eq!(store.damage(), None);
            prop_assert_eq!(shown(&store), expected.clone());
            for (writer, expected) in expected.iter_mut().enumerate() {
                put(&store, writer, 100);
                expected.push(100);
            }
            prop_assert_eq!((store.tenants().unwrap().len(), store.unnamed_tenants().unwrap().len()), (3, 0));
            store.checkpoint().unwrap();
        }
        let store = open_in(&folder, StoreOptions::default()).unwrap();
        prop_assert_eq!(shown(&store), expected);
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
            (contents_without_changes(store), contents_without_changes(&tenant), view(store), view(&tenant))
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

/// The ends of the records in a log of one segment, in bytes.
#[derive(Default)]
struct RecordEnds(Vec<usize>);

impl RecordEnds {
    /// Runs a transaction and adds the end of its record.
    fn transact(&mut self, store: &Store, build: impl Fn(&mut Transaction<'_>) -> Result<()>) {
        store.transact(cause(), build).unwrap();
        self.0.push(store.sizes().unwrap().log as usize);
    }

    /// Flips a bit in the last byte of some records, which are given by their numbers.
    fn damage(&self, folder: &TempDir, numbers: &[usize]) {
        let path = segment_files(folder).remove(0);
        let mut log = fs::read(&path).unwrap();
        for number in numbers {
            log[self.0[number - 1] - 1] ^= 0x10;
        }
        fs::write(path, log).unwrap();
    }
}

/// The transactions that created the nodes and the edge are lost, and later ones that changed them are not.
#[test]
fn a_note_whose_creation_is_lost_is_complete_if_a_later_transaction_changed_it() {
    let folder = tempfile::tempdir().unwrap();
    let with_keyword = |number: u64| Node { keywords: vec!["anchor".into()], ..node(number) };
    let renamed = |number: u64| Node { key: format!("renamed-{number}"), ..with_keyword(number) };
    let link = |strength: f64| edge(2, 3, EdgeKind::Link, strength);
    let before = {
        let store = open_in(&folder, StoreOptions::default()).unwrap();
        let mut ends = RecordEnds::default();
        ends.transact(&store, |tx| tx.put_node(&with_keyword(1)));
        ends.transact(&store, |tx| tx.put_node(&with_keyword(2)));
        ends.transact(&store, |tx| tx.put_node(&with_keyword(3)));
        ends.transact(&store, |tx| tx.put_edge(&link(0.2)));
        ends.transact(&store, |tx| tx.put_node(&renamed(1)));
        ends.transact(&store, |tx| tx.put_node(&Node { body: "Changed".into(), ..with_keyword(2) }));
        ends.transact(&store, |tx| tx.put_node(&Node { body: "Changed".into(), ..renamed(1) }));
        ends.transact(&store, |tx| tx.put_node(&Node { body: "Changed".into(), ..with_keyword(3) }));
        ends.transact(&store, |tx| tx.put_edge(&link(0.4)));
        let before = contents_without_changes(&store);
        drop(store);
        ends.damage(&folder, &[2, 3, 4, 5]);
        before
    };
    let check = |store: &Store| {
        assert!(contents_without_changes(store) == before, "{:?}", store.damage());
        for (number, key) in [(1, "renamed-1"), (2, "n2"), (3, "n3")] {
            assert_eq!(store.find_key(key).unwrap(), Some(node(number).id));
        }
        assert_eq!(store.find_key("n1").unwrap(), None);
        assert_eq!(Records::edges(store, node(3).id).unwrap(), [link(0.4)]);
    };
    let store = open_in(&folder, StoreOptions::default()).unwrap();
    assert!(store.damage().is_some());
    check(&store);
    drop(store);
    repaired(&folder, RepairSource::IntactLog);
    let store = open_in(&folder, StoreOptions::default()).unwrap();
    assert_eq!(store.damage(), None);
    check(&store);
    // The former key is free, and a node is deleted with its edges.
    put(&store, 1000);
    store.transact(cause(), |tx| tx.put_node(&Node { key: "n1".into(), ..node(1000) })).unwrap();
    store.transact(cause(), |tx| tx.delete_node(node(3).id)).unwrap();
    assert!(Records::edges(&store, node(2).id).unwrap().is_empty());
}

/// The transaction that created a note is lost. Later ones have linked, visited, weighed and embedded it.
#[test]
fn records_that_intact_changes_added_to_a_lost_note_are_deleted() {
    let folder = tempfile::tempdir().unwrap();
    {
        let store = open_in(&folder, StoreOptions::default()).unwrap();
        let mut ends = RecordEnds::default();
        (1..=3).for_each(|number| ends.transact(&store, |tx| tx.put_node(&node(number))));
        ends.transact(&store, |tx| {
            tx.put_edge(&edge(1, 2, EdgeKind::Link, 0.5))?;
            tx.put_edge(&edge(2, 3, EdgeKind::Semantic, 0.5))?;
            tx.put_edge(&edge(3, 1, EdgeKind::Link, 0.5))
        });
        ends.transact(&store, |tx| {
            let visit = Visit { at: Timestamp(4), outcome: VisitOutcome::Processed, version: 1 };
            tx.put_visit("linker", node(2).id, &visit)?;
            tx.put_activity(node(2).id, &Activity::new(Timestamp(5), 3.0))?;
            tx.put_vectors(node(2).id, EMBEDDER, &[vec![1.0, 1.0]])
        });
        drop(store);
        ends.damage(&folder, &[2]);
    }
    let without_derived_data = |folder: &TempDir| {
        fs::remove_dir_all(folder.path().join("records")).unwrap();
        fs::remove_file(folder.path().join("view")).ok();
        open_in(folder, StoreOptions::default()).unwrap()
    };
    let check = |store: &Store| {
        assert_eq!((store.damage(), store.view().edge_count()), (None, 1));
        let found = store.verify(&QUIET).unwrap();
        assert!(found.is_empty(), "{found:?}");
    };
    for is_copy in [false, true] {
        let folder = copied(folder.path());
        let repair = Repair::of(folder.path(), is_copy).unwrap().unwrap();
        let options = repair.options().unwrap();
        let option = options.iter().find(|option| option.source == RepairSource::IntactLog).unwrap();
        assert_eq!((option.notes, option.links, option.last_seq), (2, 1, 5));
        repair.run(RepairSource::IntactLog, Timestamp(9), &[]).unwrap();
        let store = open_in(&folder, StoreOptions::default()).unwrap();
        check(&store);
        // A shared log will have another transaction with the next number.
        assert_eq!(store.last_seq(), if is_copy { 5 } else { 6 });
        let of_lost = |store: &Store| {
            let is_of_lost = |key: &[u8]| key.windows(16).any(|part| part == node(2).id.as_bytes());
            contents_without_changes(store).into_keys().filter(|key| is_of_lost(key)).count()
        };
        assert_eq!(of_lost(&store) > 0, is_copy);
        // The note is created again.
        let create = |tx: &mut Transaction<'_>| {
            if is_copy {
                tx.delete_orphans(node(2).id)?;
            }
            tx.put_node(&node(2))
        };
        store.transact(cause(), create).unwrap();
        check(&store);
        drop(store);
        let store = without_derived_data(&folder);
        check(&store);
        assert_eq!(count_by_scan(&store), counts_of_view(&store.view()));
        assert!(Records::edges(&store, node(2).id).unwrap().is_empty());
        assert!(store.visits(node(2).id).unwrap().is_empty());
    }
}

/// The deletion of a note is lost. A later change creates the note again, without its link.
#[test]
fn a_link_of_a_note_whose_deletion_is_lost_is_in_the_records_and_in_the_view() {
    let folder = tempfile::tempdir().unwrap();
    {
        let store = open_in(&folder, StoreOptions::default()).unwrap();
        let mut ends = RecordEnds::default();
        (1..=2).for_each(|number| ends.transact(&store, |tx| tx.put_node(&node(number))));
        ends.transact(&store, |tx| tx.put_edge(&edge(1, 2, EdgeKind::Link, 0.5)));
        ends.transact(&store, |tx| tx.delete_node(node(2).id));
        ends.transact(&store, |tx| tx.put_node(&node(2)));
        drop(store);
        ends.damage(&folder, &[4]);
    }
    repaired(&folder, RepairSource::IntactLog);
    for _ in 0..2 {
        let store = open_in(&folder, StoreOptions::default()).unwrap();
        assert_eq!((store.damage(), store.view().edge_count()), (None, 1));
        let found = store.verify(&QUIET).unwrap();
        assert!(found.is_empty(), "{found:?}");
        store.checkpoint().unwrap();
        drop(store);
        fs::remove_dir_all(folder.path().join("records")).unwrap();
        fs::remove_file(folder.path().join("view")).ok();
    }
}

/// Each of two gaps has a single lost transaction, and their changes are of different tenants.
#[test]
fn lost_transactions_of_several_tenants_are_repaired_from_the_records() {
    let of = |store: &Store, writer: usize| match writer {
        0 => store.clone(),
        _ => store.for_tenant(&poc_graph::Tuple::new([("who", format!("w{writer}"))]).unwrap()),
    };
    let writers = [0, 1, 2, 2, 0, 1, 1, 2, 0];
    for lost in [[2, 4], [3, 6], [4, 7]] {
        let folder = tempfile::tempdir().unwrap();
        let state = |store: &Store| {
            (0..3)
                .map(|writer| (contents_without_changes(&of(store, writer)), numbers(&of(store, writer))))
                .collect::<Vec<_>>()
        };
        let (before, ends) = {
            let store = open_in(&folder, StoreOptions::default()).unwrap();
            let mut ends = RecordEnds::default();
            for (number, writer) in (1..).zip(writers) {
                let own = of(&store, writer);
                let node = Node { tenant: own.tenant(), ..node(number) };
                ends.transact(&own, |tx| tx.put_node(&node));
            }
            store.checkpoint().unwrap();
            put(&store, 50);
            (state(&store), ends)
        };
        ends.damage(&folder, &lost);
        repaired(&folder, RepairSource::Records);
        let store = open_in(&folder, StoreOptions::default()).unwrap();
        assert_eq!(store.damage(), None);
        assert!(state(&store) == before, "{lost:?}");
    }
}

/// A lost note of an early gap, to which a later intact transaction links, and another gap after that.
#[test]
fn a_lost_note_is_in_the_repaired_log_before_the_links_to_it() {
    let folder = tempfile::tempdir().unwrap();
    let (before, ends) = {
        let store = open_in(&folder, StoreOptions::default()).unwrap();
        let mut ends = RecordEnds::default();
        for number in 1..=6 {
            ends.transact(&store, |tx| tx.put_node(&node(number)));
            if number == 3 {
                ends.transact(&store, |tx| tx.put_edge(&edge(3, 2, EdgeKind::Link, 0.5)));
            }
        }
        store.checkpoint().unwrap();
        put(&store, 7);
        (contents_without_changes(&store), ends)
    };
    // The creations of the second and of the fifth note.
    ends.damage(&folder, &[2, 6]);
    repaired(&folder, RepairSource::Records);
    let store = open_in(&folder, StoreOptions::default()).unwrap();
    assert_eq!((store.damage(), store.view().edge_count()), (None, 1));
    assert!(contents_without_changes(&store) == before);
    let found = store.verify(&QUIET).unwrap();
    assert!(found.is_empty(), "{found:?}");
}

/// The first gap has deleted a link of a note to which a later transaction links, and the second gap has a single
/// transaction, of another tenant.
#[test]
fn a_deletion_in_a_gap_of_one_tenant_does_not_wait_for_a_gap_of_another_tenant() {
    let other = |store: &Store| store.for_tenant(&poc_graph::Tuple::new([("who", "other")]).unwrap());
    for deletes_last in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let state =
            |store: &Store| (contents_without_changes(store), contents_without_changes(&other(store)));
        let (before, ends) = {
            let store = open_in(&folder, StoreOptions::default()).unwrap();
            let other = other(&store);
            let mut ends = RecordEnds::default();
            let of_other = |number: u64| Node { tenant: other.tenant(), ..node(number) };
            let create = |tx: &mut Transaction<'_>| tx.put_node(&of_other(11));
            let delete = |tx: &mut Transaction<'_>| {
                tx.delete_edge(node(1).id, EdgeKind::Link, node(2).id)?;
                tx.put_node(&Node { body: "Changed".into(), ..node(2) })
            };
            (1..=3).for_each(|number| ends.transact(&store, |tx| tx.put_node(&node(number))));
            ends.transact(&other, |tx| tx.put_node(&of_other(10)));
            ends.transact(&store, |tx| tx.put_edge(&edge(1, 2, EdgeKind::Link, 0.5)));
            match deletes_last {
                false => ends.transact(&store, delete),
                true => ends.transact(&other, create),
            }
            ends.transact(&store, |tx| tx.put_edge(&edge(1, 3, EdgeKind::Link, 0.5)));
            match deletes_last {
                false => ends.transact(&other, create),
                true => ends.transact(&store, delete),
            }
            store.checkpoint().unwrap();
            put(&store, 50);
            (state(&store), ends)
        };
        ends.damage(&folder, &[6, 8]);
        repaired(&folder, RepairSource::Records);
        let store = open_in(&folder, StoreOptions::default()).unwrap();
        assert_eq!((store.damage(), store.view().edge_count()), (None, 1));
        assert!(state(&store) == before, "{deletes_last}");
        let found = store.verify(&QUIET).unwrap();
        assert!(found.is_empty(), "{found:?}");
    }
}

#[test]
fn an_interrupted_repair_is_completed_by_the_next_open() {
    let made = closed_store(COUNT);
    fs::remove_file(segment_files(&made.folder).remove(1)).unwrap();
    let before = bytes_of_files(made.folder.path());
    repaired(&made.folder, RepairSource::Records);
    let after = saved_bytes(made.folder.path());
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

/// A repair replaces earlier transactions and keeps the last one, by which a derived file is recognised.
#[test]
fn a_repair_deletes_derived_files() {
    let made = closed_store(0);
    let fingerprint = crate::atomic_file::Fingerprint::of("found 1");
    let open = || open_in(&made.folder, StoreOptions::default()).unwrap();
    assert!(open().save_derived("found", fingerprint, b"1").unwrap());
    assert!(open().load_derived("found", fingerprint).unwrap().is_some());
    let (path, begin, _) = &made.locations[4];
    let mut log = fs::read(path).unwrap();
    log[*begin as usize + 20] ^= 0x10;
    fs::write(path, log).unwrap();
    assert!(open().damage().is_some());
    repaired(&made.folder, RepairSource::IntactLog);
    assert_eq!(open().damage(), None);
    assert_eq!(open().load_derived("found", fingerprint).unwrap(), None);
}

#[test]
fn an_intact_store_is_not_repaired() {
    let made = closed_store(3);
    assert!(Repair::of(made.folder.path(), false).unwrap().is_none());
    let store = open_in(&made.folder, StoreOptions::default()).unwrap();
    assert_eq!(Repair::of(made.folder.path(), false).err().unwrap().code, Code::Locked);
    drop(store);
    assert_eq!(undo_repair(made.folder.path(), &["index"]).unwrap_err().code, Code::NotFound);
    let nothing = tempfile::tempdir().unwrap();
    assert_eq!(Repair::of(nothing.path(), false).err().unwrap().code, Code::NotFound);
}

/// The notes of a lost segment are so large that the repair needs more transactions than were lost.
#[test]
fn a_gap_of_large_notes_is_repaired() {
    let folder = tempfile::tempdir().unwrap();
    let limits = LogLimits { segment: 1 << 20, ..LogLimits::default() };
    let store = open_in(&folder, StoreOptions { limits, ..StoreOptions::default() }).unwrap();
    put(&store, 1);
    for txn in 0..2 {
        let cause = Cause::new(Timestamp(2), "manual", "test");
        let large = |number: u64| {
            // Random text, which cannot be compressed.
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

/// The index of a table is damaged, so the records as a whole cannot be used, and the log has lost a segment.
#[test]
fn a_repair_is_compared_with_all_readable_parts_and_the_replaced_ones_can_be_restored() {
    let made = closed_store(COUNT);
    for path in files(&made.folder.path().join("records")) {
        if path.extension().is_some_and(|own| own == "table") {
            let mut bytes = fs::read(&path).unwrap();
            let last_of_filter = bytes.len() - 53;
            bytes[last_of_filter] ^= 1;
            fs::write(&path, bytes).unwrap();
        }
    }
    let lost =
        made.locations.iter().filter(|(path, _, _)| *path == segment_files(&made.folder)[1]).count() as u64;
    fs::remove_file(segment_files(&made.folder).remove(1)).unwrap();
    let repair = Repair::of(made.folder.path(), false).unwrap().unwrap();
    let problem = "; only the intact blocks of the records can be used: ";
    assert!(repair.damage().contains(problem), "{}", repair.damage());
    let parts = repair.parts();
    assert_eq!(parts.iter().map(|part| part.name).collect::<Vec<_>>(), ["records", "view"]);
    assert!(parts.iter().all(|part| (part.notes, part.last_seq) == (COUNT, COUNT)), "{parts:?}");
    let options = repair.options().unwrap();
    let [records, intact_log, log] = &options[..] else { panic!("{options:?}") };
    assert_eq!((records.source, records.notes), (RepairSource::Records, COUNT));
    assert_eq!(records.missing_notes, [0, 0]);
    assert!(records.is_partial && !intact_log.is_partial && !records.lost.is_empty(), "{records:?}");
    assert_eq!((intact_log.source, &intact_log.missing_notes), (RepairSource::IntactLog, &vec![lost, lost]));
    assert_eq!((log.source, &log.missing_notes), (RepairSource::Log, &vec![COUNT - log.last_seq; 2]));
    let report = repair.run(RepairSource::IntactLog, Timestamp(9), &[]).unwrap();
    assert_eq!(report.restorable, Some(RestorableRecords { notes: lost, ..RestorableRecords::default() }));
    let contents = quarantine_contents(made.folder.path(), &report.replaced).unwrap();
    assert_eq!(contents[&Tenant::default()].notes.len() as u64, COUNT);
}

/// Notes in intact blocks of a damaged table are shown and kept. Each note has the state after its last change that any
/// intact part contains.
#[test]
fn the_intact_blocks_of_damaged_records_are_used() {
    let folder = tempfile::tempdir().unwrap();
    let limits = LogLimits { segment: SEGMENT, ..LogLimits::default() };
    let options = StoreOptions { limits, buffer: 4000, engine: with_small_tables, ..StoreOptions::default() };
    let store = open_in(&folder, options).unwrap();
    let body = |number: u64| format!("Note {number} {}", "lies at anchor ".repeat(200));
    let edit = |number: u64, body: String| {
        let edited = Node { body, ..node(number) };
        store.transact(cause(), |tx| tx.put_node(&edited)).unwrap();
    };
    // The records have the edit of the first note, the log that of the second.
    edit(1, body(1));
    edit(1, "Zanzibarquetzal".to_owned());
    (2..=COUNT).for_each(|number| edit(number, body(number)));
    store.checkpoint().unwrap();
    edit(2, "In the log".to_owned());
    drop(store);
    let is_edit = |bytes: &[u8]| bytes.windows(15).any(|found| found == b"Zanzibarquetzal");
    let segments = segment_files(&folder);
    // The log loses the edit that the records have.
    assert!(segments.len() > 1);
    fs::remove_file(&segments[0]).unwrap();
    let records = folder.path().join("records");
    let has_edit = || {
        let mut found = false;
        for file in lsm::record_files(&records) {
            let mut each = |_, _: &[u8], value: Option<&[u8]>| found |= value.is_some_and(is_edit);
            lsm::each_intact_record(&file, watchdog::HEARTBEAT_TIMEOUT, &mut each).unwrap();
        }
        found
    };
    assert!(has_edit());
    let tables = files(&records).into_iter().filter(|path| lsm::is_table(path));
    let longest = tables.max_by_key(|path| fs::metadata(path).unwrap().len()).unwrap();
    let whole = fs::read(&longest).unwrap();
    // A block without the edit is damaged.
    let is_damaged = (20..whole.len()).step_by(300).any(|at| {
        let mut flipped = whole.clone();
        flipped[at] ^= 1;
        fs::write(&longest, flipped).unwrap();
        has_edit()
    });
    assert!(is_damaged);
    let state = |store: &Store| {
        let bodies: BTreeMap<u64, String> = (1..=COUNT)
            .filter_map(|number| Some((number, store.node(node(number).id).unwrap()?.body)))
            .collect();
        bodies
    };
    let before = bytes_of_files(folder.path());
    let shown = {
        let store = open_in(&folder, StoreOptions::default()).unwrap();
        assert!(
            store.damage().unwrap().contains("; only the intact blocks of the records can be used: "),
            "{:?}",
            store.damage()
        );
        state(&store)
    };
    assert!(bytes_of_files(folder.path()) == before);
    assert_eq!((shown[&1].as_str(), shown[&2].as_str()), ("Zanzibarquetzal", "In the log"));
    assert!(shown.len() as u64 > COUNT / 2, "{:?}", shown.keys());
    assert!(shown.iter().all(|(number, shown)| *number <= 2 || *shown == body(*number)));
    let repair = Repair::of(folder.path(), false).unwrap().unwrap();
    let options = repair.options().unwrap();
    assert!(options[0].is_partial && options[0].notes == shown.len() as u64, "{options:?}");
    repair.run(RepairSource::Records, Timestamp(9), &[]).unwrap();
    let store = open_in(&folder, StoreOptions::default()).unwrap();
    // The entries may have been in damaged blocks.
    for number in shown.keys() {
        let kept = store.node(node(*number).id).unwrap().unwrap();
        assert_eq!(store.find_key(&kept.key).unwrap(), Some(kept.id));
        assert_eq!(store.find_hash(&kept.content_hash).unwrap(), Some(kept.id));
    }
    assert_eq!((store.damage(), state(&store)), (None, shown));
}

/// The log, the view and a block of the records with a few notes are lost. The index entries of these notes are in
/// other blocks.
#[test]
fn lost_notes_that_still_have_index_entries_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let options = StoreOptions { engine: with_small_tables, ..StoreOptions::default() };
    let store = open_in(&folder, options).unwrap();
    for number in 1..=COUNT {
        let part = |part: u64| blake3::hash(format!("{number} {part}").as_bytes()).to_hex().to_string();
        let body: String = (0..60).map(part).collect();
        let long = Node { body, ..node(number) };
        store.transact(cause(), |tx| tx.put_node(&long)).unwrap();
    }
    store.checkpoint().unwrap();
    drop(store);
    fs::remove_dir_all(folder.path().join("log")).unwrap();
    fs::remove_file(folder.path().join("view")).unwrap();
    let tables = files(&folder.path().join("records")).into_iter().filter(|path| lsm::is_table(path));
    let longest = tables.max_by_key(|path| fs::metadata(path).unwrap().len()).unwrap();
    let mut bytes = fs::read(&longest).unwrap();
    // The bodies take most of the table.
    let quarter = bytes.len() / 4;
    bytes[quarter] ^= 1;
    fs::write(&longest, bytes).unwrap();
    let (shown, damage) = {
        let store = open_in(&folder, StoreOptions::default()).unwrap();
        (numbers(&store), store.damage().unwrap().to_owned())
    };
    let lost: Vec<u64> = (1..=COUNT).filter(|number| !shown.contains(number)).collect();
    assert!(!lost.is_empty() && lost.len() < 10, "{lost:?}");
    assert!(damage.ends_with("lost, which `poc-memory repair` names"), "{damage}");
    let repair = Repair::of(folder.path(), false).unwrap().unwrap();
    let of = |number: &u64| LostNote {
        tenant: Tenant::default(),
        id: node(*number).id,
        name: Some(node(*number).key),
    };
    let named: Vec<LostNote> = lost.iter().map(of).collect();
    assert_eq!(repair.lost_notes(), named);
    // A file in place of an index cannot be deleted as a folder. Erasures do not search what a failed repair leaves.
    fs::write(folder.path().join("index"), "").unwrap();
    repair.run(RepairSource::Records, Timestamp(9), &["index"]).unwrap_err();
    assert!(prepared_by_repair().iter().all(|name| !folder.path().join(name).exists()));
    fs::remove_file(folder.path().join("index")).unwrap();
    let repair = Repair::of(folder.path(), false).unwrap().unwrap();
    let replaced = repair.run(RepairSource::Records, Timestamp(9), &[]).unwrap().replaced;
    let store = open_in(&folder, StoreOptions::default()).unwrap();
    assert_eq!((store.damage(), numbers(&store)), (None, shown));
    // A name of a lost note can be used again.
    assert_eq!(store.find_key(&node(lost[0]).key).unwrap(), None);
    drop(store);
    // The quarantine names them until the files are deleted or the repair is undone.
    let names_of = |folder: &TempDir| quarantine_lost_notes(folder.path(), &replaced).unwrap();
    assert_eq!(names_of(&folder), named);
    let deleted = copied(folder.path());
    delete_quarantine_part(deleted.path(), &replaced).unwrap();
    assert_eq!(names_of(&deleted), []);
    undo_repair(folder.path(), &[]).unwrap();
    assert_eq!(names_of(&folder), []);
    assert!(!quarantine_names(folder.path()).unwrap().contains(&replaced));
    let repair = Repair::of(folder.path(), false).unwrap().unwrap();
    assert_eq!(repair.lost_notes(), named);
}

/// A repair without the records names a note whose insertion is lost by the id that its links and weights have.
#[test]
fn lost_notes_are_named_by_what_later_changes_added_to_them() {
    let folder = tempfile::tempdir().unwrap();
    let store = open_in(&folder, StoreOptions::default()).unwrap();
    let mut ends = Vec::new();
    for number in 1..=4 {
        put(&store, number);
        ends.push(store.sizes().unwrap().log as usize);
    }
    store
        .transact(cause(), |tx| {
            tx.put_edge(&edge(2, 3, EdgeKind::Link, 0.5))?;
            tx.put_activity(node(2).id, &Activity::new(Timestamp(1), 2.0))?;
            tx.put_activity(node(4).id, &Activity::new(Timestamp(1), 2.0))
        })
        .unwrap();
    store.checkpoint().unwrap();
    drop(store);
    fs::remove_dir_all(folder.path().join("records")).unwrap();
    let view = fs::read(folder.path().join("view")).unwrap();
    fs::remove_file(folder.path().join("view")).unwrap();
    let path = segment_files(&folder).remove(0);
    let mut log = fs::read(&path).unwrap();
    log[(ends[0] + ends[1]) / 2] ^= 0x10;
    fs::write(&path, log).unwrap();
    let lost = [LostNote { tenant: Tenant::default(), id: node(2).id, name: None }];
    let damage = open_in(&folder, StoreOptions::default()).unwrap().damage().unwrap().to_owned();
    assert!(damage.ends_with("; 1 note is lost, which `poc-memory repair` names"), "{damage}");
    // A view that was saved before the damage knows the name.
    let with_view = copied(folder.path());
    fs::write(with_view.path().join("view"), view).unwrap();
    let repair = Repair::of(with_view.path(), false).unwrap().unwrap();
    assert_eq!(repair.lost_notes(), [LostNote { name: Some(node(2).key), ..lost[0].clone() }]);
    let repair = Repair::of(folder.path(), false).unwrap().unwrap();
    assert_eq!(repair.lost_notes(), lost);
    let replaced = repair.run(RepairSource::IntactLog, Timestamp(9), &[]).unwrap().replaced;
    assert_eq!(quarantine_lost_notes(folder.path(), &replaced).unwrap(), lost);
    assert_eq!(numbers(&open_in(&folder, StoreOptions::default()).unwrap()), [1, 3, 4]);
}

/// What a repair writes into the folder of the store before it moves files.
fn prepared_by_repair() -> [&'static str; 2] {
    ["log.repaired", "lost-notes.json"]
}

#[test]
fn an_open_deletes_what_a_killed_repair_has_prepared() {
    let made = closed_store(COUNT);
    let [log, notes] = prepared_by_repair().map(|name| made.folder.path().join(name));
    fs::create_dir(&log).unwrap();
    fs::write(log.join("1.log"), "text").unwrap();
    fs::write(&notes, "[]").unwrap();
    assert_eq!(open_in(&made.folder, StoreOptions::default()).unwrap().damage(), None);
    assert!(!log.exists() && !notes.exists());
}

#[test]
fn a_repair_deletes_indexes_of_the_old_log() {
    let made = closed_store(COUNT);
    fs::remove_file(segment_files(&made.folder).remove(1)).unwrap();
    let index = made.folder.path().join("index");
    let write = || {
        fs::create_dir_all(&index).unwrap();
        fs::write(index.join("snapshot"), "of the old log").unwrap();
    };
    write();
    repaired(&made.folder, RepairSource::IntactLog);
    assert!(!index.exists());
    write();
    undo_repair(made.folder.path(), &["index"]).unwrap();
    assert!(!index.exists());
}
