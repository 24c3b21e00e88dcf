//! A log that has lost transactions is repaired so that notes, links, records and view agree.

use super::*;
use crate::testing::{count_by_scan, counts_of_view};
use crate::tests::verify::QUIET;

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
    let folder = poc_graph::testing::folder();
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
    let folder = poc_graph::testing::folder();
    {
        let store = open_in(&folder, StoreOptions::default()).unwrap();
        let mut ends = RecordEnds::default();
        (1..=3).for_each(|number| ends.transact(&store, |tx| tx.put_node(&node(number))));
        ends.transact(&store, |tx| {
            tx.put_edge(&edge(1, 2, EdgeKind::Link, 0.5))?;
            tx.put_edge(&edge(2, 3, EdgeKind::Semantic, 0.5))?;
            // It is a link like the others, although it is not in the adjacency of a view.
            tx.put_edge(&edge(3, 1, EdgeKind::Supersedes, 0.5))?;
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
        assert_eq!((option.notes, option.links, option.last_seq), (2, 2, 5));
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
    let folder = poc_graph::testing::folder();
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
        let folder = poc_graph::testing::folder();
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
    let folder = poc_graph::testing::folder();
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
        let folder = poc_graph::testing::folder();
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

/// The notes of a lost segment are so large that the repair needs more transactions than were lost.
#[test]
fn a_gap_of_large_notes_is_repaired() {
    let folder = poc_graph::testing::folder();
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
