//! Property tests of consolidation: it makes the expected changes and no others.

use super::*;
use crate::testing::TestMemory;
use poc_graph::{Category, EdgeKind, Node, testing};
use poc_store::{Record, Records};
use proptest::prelude::*;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A note: when it expires in days from now, whether it is superseded, which keyword it has.
type Note = (Option<i64>, bool, u8);
/// An edge: its ends, its kind, its age in days.
type TestEdge = (u64, u64, EdgeKind, i64);

fn notes() -> impl Strategy<Value = Vec<Note>> {
    let expires = proptest::option::of(proptest::sample::select(vec![-100, -31, -29, -1, 1, 50]));
    proptest::collection::vec((expires, proptest::bool::weighted(0.2), 0u8..5), 1..25)
}

fn test_edges() -> impl Strategy<Value = Vec<TestEdge>> {
    let kind = proptest::sample::select(EdgeKind::ALL.to_vec());
    proptest::collection::vec((0u64..25, 0u64..25, kind, 0i64..900), 0..60)
}

/// A memory of these notes; only the records of those in `missing` are deleted.
fn filled(notes: &[Note], test_edges: &[TestEdge], missing: &[u64]) -> TestMemory {
    let memory = TestMemory::new();
    let now = memory.now();
    let days = |count: i64| Span(count * Span::DAY.0);
    let put = |tx: &mut Transaction<'_>| {
        for (number, (expires, superseded, word)) in (0..).zip(notes) {
            tx.put_node(&Node {
                expires: expires.map(|count| now.plus(days(count))),
                state: if *superseded { State::Superseded } else { State::Active },
                keywords: vec![format!("w{word}"), "all".into()],
                category: Category::General,
                ..testing::node(number)
            })?;
        }
        for &(a, b, kind, age) in test_edges.iter().filter(|(a, b, ..)| (*a).max(*b) < notes.len() as u64) {
            let touched = now.minus(days(age));
            tx.put_edge(&Edge { touched, created: touched, ..testing::edge(a, b, kind, 0.3) })?;
        }
        Ok(())
    };
    memory.store.transact(memory.cause("manual", "test"), put).unwrap();
    let delete_records = |tx: &mut Transaction<'_>| {
        missing
            .iter()
            .try_for_each(|&number| tx.put_raw(Table::Nodes, testing::node(number).id.as_bytes(), None))
    };
    memory.store.transact(memory.cause("manual", "test"), delete_records).unwrap();
    memory
}

fn run(memory: &TestMemory) -> ConsolidationReport {
    consolidate(memory, &memory.cause("manual", "consolidate"), false, &|_, _, _| {}).unwrap().report
}

/// Every record, by table and key.
fn records(memory: &TestMemory) -> BTreeMap<(Table, Vec<u8>), Vec<u8>> {
    let tables = [Table::Nodes, Table::Edges, Table::EdgesIn, Table::Keywords, Table::Keys, Table::Activity];
    let of = |table: Table| {
        let found = memory.store.raw_range(table, &[]).unwrap();
        found.into_iter().map(move |(key, value)| ((table, key), value))
    };
    tables.into_iter().flat_map(of).collect()
}

fn nodes(records: &BTreeMap<(Table, Vec<u8>), Vec<u8>>) -> BTreeMap<NodeId, Node> {
    let nodes = records.iter().filter(|((table, _), _)| *table == Table::Nodes);
    nodes.map(|(_, bytes)| Node::decode(bytes).unwrap()).map(|node| (node.id, node)).collect()
}

fn edges(records: &BTreeMap<(Table, Vec<u8>), Vec<u8>>) -> Vec<Edge> {
    let edges = records.iter().filter(|((table, _), _)| *table == Table::Edges);
    edges.map(|(_, bytes)| Edge::decode(bytes).unwrap()).collect()
}

poc_laws::laws! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// The report matches the changes and the dry run, a second run does nothing, and live notes stay the
    /// same, except that notes derived from a removed note become stale.
    #[test]
    fn live_notes_are_kept_and_expired_notes_are_deleted(
        notes in notes(),
        test_edges in test_edges(),
        missing in proptest::collection::btree_set(0u64..25, 0..3),
    ) {
        let missing: Vec<u64> = missing.into_iter().filter(|number| *number < notes.len() as u64).collect();
        let memory = filled(&notes, &test_edges, &missing);
        let (now, before, seq) = (memory.now(), records(&memory), memory.store.view().seq);
        let cause = memory.cause("manual", "consolidate");
        let planned = consolidate(&memory, &cause, true, &|_, _, _| {}).unwrap().report;
        prop_assert_eq!((memory.store.view().seq, &records(&memory)), (seq, &before), "a dry run writes");
        let report = run(&memory);
        prop_assert_eq!(report, planned);
        let after = records(&memory);

        let (old, new) = (nodes(&before), nodes(&after));
        let keep = memory.config.consolidate.keep_expired;
        let (mut pruned, mut deleted) = (0, 0);
        for (id, node) in &old {
            match node.expires {
                Some(at) if at.plus(keep) <= now => {
                    prop_assert!(!new.contains_key(id));
                    deleted += 1;
                }
                Some(at) if at <= now && node.state.is_live() => {
                    let expired = new.get(id).unwrap();
                    // It may have become stale before, if it was derived from a note that expired, too.
                    let expected = Node { state: State::Expired, version: expired.version, modified: now, ..node.clone() };
                    prop_assert_eq!(expired, &expected);
                    prop_assert!((1..=2).contains(&(expired.version - node.version)));
                    pruned += 1;
                }
                _ if new.get(id).is_some_and(|new| new.state == State::Stale) => {
                    let expected = Node { state: State::Stale, version: node.version + 1, modified: now, ..node.clone() };
                    prop_assert_eq!(new.get(id), Some(&expected));
                    let is_source_gone = |edge: &Edge| {
                        edge.kind == EdgeKind::DerivedFrom
                            && edge.src == *id
                            && new.get(&edge.dst).is_none_or(|source| !source.state.is_live())
                    };
                    prop_assert!(edges(&before).iter().any(is_source_gone));
                }
                _ => prop_assert_eq!(new.get(id), Some(node)),
            }
        }
        prop_assert_eq!((report.pruned_nodes, report.deleted_nodes), (pruned, deleted));
        let config = &memory.config.edges;
        let stays = |edge: &Edge| {
            let lambda = match edge.kind {
                EdgeKind::Structural => config.decay.structural,
                EdgeKind::CoRetrieval => config.decay.co_retrieval,
                EdgeKind::CoTraversal => config.decay.co_traversal,
                _ => 0.0,
            };
            let weight = edge.strength * (-lambda * now.seconds_since(edge.touched)).exp();
            new.contains_key(&edge.src) && new.contains_key(&edge.dst) && (lambda == 0.0 || weight >= config.floor)
        };
        let (had, has) = (edges(&before), edges(&after));
        let expected: Vec<&Edge> = had.iter().filter(|edge| stays(edge)).collect();
        prop_assert_eq!(has.iter().collect::<Vec<_>>(), expected);
        prop_assert_eq!(report.removed_edges as usize, had.len() - has.len());
        let ends = |table: Table| after.keys().filter(|(other, _)| *other == table).count();
        prop_assert_eq!(ends(Table::EdgesIn), has.len(), "each edge has its mirror, and there are no other mirrors");
        let live = || new.values().filter(|node| node.state.is_live());
        prop_assert_eq!(ends(Table::Keywords), live().map(|node| node.keywords.len()).sum::<usize>());

        let seq = memory.store.view().seq;
        prop_assert_eq!(run(&memory), ConsolidationReport::default());
        prop_assert_eq!(memory.store.view().seq, seq, "there is nothing to write");

        let at = |at: Timestamp| {
            consolidate(&memory, &Cause::new(at, "manual", "consolidate"), true, &|_, _, _| {}).unwrap()
        };
        let century = now.plus(Span(36_500 * Span::DAY.0));
        let until = at(now).due.map_or(century, |due| Timestamp(due.0 - 1));
        prop_assert_eq!(at(until).report, ConsolidationReport::default(), "something is due before `due`");
        // An edge may be due a second later than announced.
        let changes = at(until.plus(Span(2 * Span::SECOND.0))).report != ConsolidationReport::default();
        prop_assert_eq!(changes, until < century);
    }

    /// A run that is interrupted after any transaction is completed by the next.
    #[test]
    fn an_interrupted_run_is_completed_by_the_next(notes in notes(), test_edges in test_edges(), after in 1usize..4) {
        let (whole, broken) = (filled(&notes, &test_edges, &[0]), filled(&notes, &test_edges, &[0]));
        run(&whole);
        let left = Cell::new(after);
        let stop = |_: ConsolidationPhase, _: u64, _: u64| {
            left.set(left.get().saturating_sub(1));
            assert!(left.get() > 0, "the run is interrupted here");
        };
        let cause = broken.cause("manual", "consolidate");
        // The run may have finished before.
        let _ = catch_unwind(AssertUnwindSafe(|| consolidate(&broken, &cause, false, &stop)));
        run(&broken);
        prop_assert!(records(&whole) == records(&broken));
    }
}

#[test]
fn transactions_are_small_for_a_note_with_many_edges() {
    let notes: Vec<Note> = (0..600).map(|number| ((number % 3 == 0).then_some(-40), false, 0)).collect();
    let test_edges: Vec<TestEdge> = (1..600).map(|number| (0, number, EdgeKind::Link, 0)).collect();
    let memory = filled(&notes, &test_edges, &[]);
    let seq = memory.store.view().seq;
    let reported = std::cell::RefCell::new(Vec::new());
    let progress = |part: ConsolidationPhase, done, total| reported.borrow_mut().push((part, done, total));
    let report =
        consolidate(&memory, &memory.cause("manual", "consolidate"), false, &progress).unwrap().report;
    assert_eq!((report.deleted_nodes, report.removed_edges), (200, 599));
    let transactions = seq + 1..=memory.store.view().seq;
    assert_eq!(reported.borrow().len() as u64, memory.store.view().seq - seq);
    for seq in transactions {
        let writes = memory.store.transaction(seq).unwrap().unwrap().writes.len();
        assert!(writes < RECORDS_PER_TXN + 10, "{writes}");
    }
    assert!(
        reported.borrow().contains(&(ConsolidationPhase::Edges, 599, 599))
            && reported.borrow().contains(&(ConsolidationPhase::Notes, 200, 200))
    );
}

#[test]
fn a_keyword_is_reported_when_its_last_live_note_expires() {
    let memory = filled(&[(Some(-1), false, 1), (Some(-1), false, 2), (None, false, 2)], &[], &[]);
    assert_eq!(
        run(&memory),
        ConsolidationReport { pruned_nodes: 2, removed_keywords: 1, ..ConsolidationReport::default() }
    );
}
