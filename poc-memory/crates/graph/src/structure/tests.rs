//! Derived structure: when it is computed, reused, saved and restored.

use super::*;
use crate::Delta;
use crate::EdgeKind;
use crate::Node;
use crate::State;
use crate::testing;
use std::sync::atomic::{AtomicUsize, Ordering};

const EXACT: StructureOptions = StructureOptions { dimensions: 16, exact_below: 1000, max_drift: 0.5 };
const LARGE: StructureOptions = StructureOptions { exact_below: 0, ..EXACT };

fn ring() -> View {
    testing::view(8, &(0..8).map(|a| (a, (a + 1) % 8, 0.5)).collect::<Vec<_>>())
}

fn link(view: &mut View, a: u64, b: u64) {
    view.apply(view.seq + 1, &[Delta::from(testing::edge(a, b, EdgeKind::Link, 0.5))]);
}

fn is_computed(source: StructureSource) -> bool {
    matches!(source, StructureSource::Computed(_))
}

#[test]
fn a_small_graph_is_answered_exactly() {
    let mut view = ring();
    assert!(is_computed(view.embedding(&EXACT).1));
    assert_eq!(view.embedding(&EXACT).1, StructureSource::Fresh);
    assert_eq!(view.clone().embedding(&EXACT).1, StructureSource::Fresh);
    let before = view.clone();
    link(&mut view, 0, 4);
    assert!(is_computed(view.embedding(&EXACT).1));
    // The old view still has its own results.
    assert_eq!(before.embedding(&EXACT).1, StructureSource::Fresh);
    assert_eq!(view.embedding(&EXACT).1, StructureSource::Fresh);
    let distance = |view: &View| view.embedding(&EXACT).0.distance(0, 4).unwrap();
    assert!(distance(&view) < distance(&before));
}

#[test]
fn a_large_graph_reuses_results_until_it_has_drifted() {
    let mut view = ring();
    // Scores and figures are not computed on request in a large graph.
    assert!(view.outliers(&LARGE).is_none() && view.graph_metrics(&LARGE).is_none());
    assert!(is_computed(view.communities(&LARGE).1));
    assert_eq!(view.drift(), None);
    view.refresh(&LARGE);
    assert_eq!(view.drift(), Some(0));
    assert_eq!(view.outliers(&LARGE).unwrap().1, StructureSource::Fresh);
    link(&mut view, 0, 4);
    assert_eq!(view.communities(&LARGE).1, StructureSource::Reused(1));
    assert_eq!(view.outliers(&LARGE).unwrap().1, StructureSource::Reused(1));
    assert_eq!(view.graph_metrics(&LARGE).unwrap().1.to_string(), "reused, 1 change old");
    for b in [3, 5, 6] {
        link(&mut view, 1, b);
    }
    assert_eq!((view.edge_count(), view.drift()), (12, Some(4)));
    for b in [4, 5, 6] {
        link(&mut view, 2, b);
    }
    assert_eq!(view.embedding(&LARGE).1.to_string(), "reused, 7 changes old");
    link(&mut view, 2, 7);
    // Eight changes, sixteen edges.
    assert_eq!(view.embedding(&LARGE).1, StructureSource::Reused(8));
    link(&mut view, 3, 7);
    assert!(is_computed(view.embedding(&LARGE).1));
    assert!(view.outliers(&LARGE).is_none());
}

#[test]
fn changes_outside_the_graph_do_not_invalidate_results() {
    let mut view = ring();
    view.refresh(&EXACT);
    let mut node = testing::node(3);
    node.title = "Another title".into();
    view.apply(2, &[Delta::Node(Arc::new(node.clone()))]);
    assert_eq!((view.drift(), view.embedding(&EXACT).1), (Some(0), StructureSource::Fresh));
    node.state = State::Superseded;
    view.apply(3, &[Delta::Node(Arc::new(node))]);
    assert_ne!(view.drift(), Some(0));
}

#[test]
fn concurrent_requests_share_one_computation() {
    let view = ring();
    let sources: Vec<StructureSource> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(|| view.communities(&EXACT).1)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(sources.into_iter().filter(|source| is_computed(*source)).count(), 1);
}

/// A result for an older view does not replace that of a newer one.
#[test]
fn the_latest_result_is_reused() {
    let mut view = ring();
    let old = view.clone();
    link(&mut view, 0, 4);
    view.refresh(&LARGE);
    old.refresh(&LARGE);
    assert_eq!(old.drift(), Some(0));
    link(&mut view, 0, 3);
    assert_eq!(view.drift(), Some(1));
}

#[test]
fn a_fork_has_its_own_results() {
    let mut view = ring();
    view.refresh(&LARGE);
    let mut other = view.fork();
    assert_eq!(other.embedding(&LARGE).1, StructureSource::Fresh);
    for b in [3, 4, 5, 6] {
        link(&mut other, 0, b);
    }
    assert_eq!(other.embedding(&LARGE).1, StructureSource::Reused(4));
    other.refresh(&LARGE);
    link(&mut view, 0, 2);
    assert_eq!(view.embedding(&LARGE).1, StructureSource::Reused(1));
    view.refresh(&LARGE);
    assert_eq!((view.drift(), other.drift()), (Some(0), Some(0)));
    let distance = |view: &View| view.embedding(&LARGE).0.distance(0, 4).unwrap();
    assert_ne!(distance(&view), distance(&other));
}

/// A view of the same store as after reopening: different indexes and an empty cell.
fn reopened(edges: &[(u64, u64)]) -> View {
    let mut view = View::new();
    let nodes = (0..8).rev().map(|number| Delta::Node(Arc::new(testing::node(number))));
    let edges = edges.iter().map(|&(a, b)| Delta::from(testing::edge(a, b, EdgeKind::Link, 0.5)));
    view.apply(1, &nodes.chain(edges).collect::<Vec<_>>());
    view
}

fn saved() -> SavedStructure {
    let view = ring();
    assert!(SavedStructure::of(&view, &LARGE).is_none(), "nothing was computed yet");
    view.refresh(&LARGE);
    SavedStructure::of(&view, &LARGE).unwrap()
}

#[test]
fn saved_structure_is_restored() {
    let (old, view) = (ring(), reopened(&ring_edges()));
    let saved = saved();
    view.set_structure_loader(move || Some(saved.clone()));
    let (embedding, source) = view.embedding(&LARGE);
    assert_eq!((source, view.drift()), (StructureSource::Fresh, Some(0)));
    let (before, _) = old.embedding(&LARGE);
    let (scores, _) = view.outliers(&LARGE).unwrap();
    old.refresh(&LARGE);
    for a in 0..8 {
        for b in 0..8 {
            assert_eq!(embedding.distance(7 - a, 7 - b), before.distance(a, b));
        }
        assert_eq!(scores.of(7 - a), old.outliers(&LARGE).unwrap().0.of(a));
        assert_eq!(view.communities(&LARGE).0.of(7 - a), old.communities(&LARGE).0.of(a));
    }
    assert_eq!(view.graph_metrics(&LARGE).unwrap().0, old.graph_metrics(&LARGE).unwrap().0);
    assert_eq!(embedding.members(0), [0, 1, 2, 3, 4, 5, 6, 7]);
}

/// Edges of the ring.
fn ring_edges() -> Vec<(u64, u64)> {
    (0..8).map(|a| (a, (a + 1) % 8)).collect()
}

/// How the structure saved for the ring is used in a store with these edges.
fn restored(edges: &[(u64, u64)]) -> StructureSource {
    let (view, saved) = (reopened(edges), saved());
    view.set_structure_loader(move || Some(saved.clone()));
    view.embedding(&LARGE).1
}

#[test]
fn the_age_of_restored_structure_is_the_number_of_changes_since() {
    let ring = ring_edges();
    assert_eq!(restored(&ring), StructureSource::Fresh);
    assert_eq!(restored(&[ring.as_slice(), &[(0, 4), (1, 4)]].concat()), StructureSource::Reused(2));
    // This simulates a log that has lost its last transaction.
    assert_eq!(restored(&ring[1..]), StructureSource::Reused(1));
    // One edge was replaced by another.
    assert_eq!(restored(&[&ring[1..], &[(0, 4)]].concat()), StructureSource::Reused(1));
    // With most of its edges missing, the saved structure is not reused.
    assert!(is_computed(restored(&ring[..3])));
    // A changed strength counts as a change, and so do a deleted note and a new one.
    let saved = saved();
    let after = |delta| {
        let (mut view, saved) = (reopened(&ring_edges()), saved.clone());
        view.apply(2, &[delta]);
        view.set_structure_loader(move || Some(saved.clone()));
        view.embedding(&LARGE).1
    };
    assert_eq!(after(Delta::from(testing::edge(0, 1, EdgeKind::Link, 0.25))), StructureSource::Reused(1));
    assert_eq!(after(Delta::Node(Arc::new(testing::node(8)))), StructureSource::Reused(1));
    let superseded = Node { state: State::Superseded, ..testing::node(3) };
    assert_eq!(after(Delta::Node(Arc::new(superseded))), StructureSource::Reused(3));
}

#[test]
fn structure_saved_for_another_store_is_not_reused() {
    let saved = saved();
    let numbers: Vec<(u64, u64, f64)> = ring_edges().iter().map(|&(a, b)| (a + 8, b + 8, 0.5)).collect();
    let mut view = testing::view(16, &numbers);
    for number in 0..8 {
        let superseded = Node { state: State::Superseded, ..testing::node(number) };
        view.apply(2, &[Delta::Node(Arc::new(superseded))]);
    }
    view.set_structure_loader(move || Some(saved.clone()));
    assert!(view.outliers(&LARGE).is_none());
    assert!(is_computed(view.embedding(&LARGE).1));
}

#[test]
fn saved_structure_is_loaded_once_and_only_for_large_graphs() {
    let view = reopened(&ring_edges());
    view.set_structure_loader(|| panic!("the structure of a small graph is not loaded"));
    assert!(is_computed(view.embedding(&EXACT).1), "a small graph loads nothing");
    let view = reopened(&ring_edges());
    let loads = Arc::new(AtomicUsize::new(0));
    let counter = loads.clone();
    view.set_structure_loader(move || {
        counter.fetch_add(1, Ordering::Relaxed);
        None
    });
    assert!(view.graph_metrics(&LARGE).is_none() && view.outliers(&LARGE).is_none());
    assert!(is_computed(view.communities(&LARGE).1));
    assert_eq!(loads.load(Ordering::Relaxed), 1);
}

/// Enough nodes that every computation takes many steps.
#[test]
fn an_interrupted_computation_ends_early_and_is_not_kept() {
    use crate::cancellation::{self, CancellationToken};
    let edges: Vec<(u64, u64, f64)> = (0..4000)
        .flat_map(|a| [(a, (a + 1) % 4000, 0.5), (a, (a * 7 + 3) % 4000, 0.3)])
        .filter(|e| e.0 != e.1)
        .collect();
    let view = testing::view(4000, &edges);
    let token = CancellationToken::default();
    token.cancel();
    let (communities, layout) = cancellation::scope(&token, || {
        let nodes: Vec<u32> = (0..view.slots()).collect();
        assert_eq!(view.embedding(&LARGE).0.component_count(), 0);
        (view.communities(&LARGE).0.count(), view.layout(&nodes))
    });
    assert!(view.ages().iter().all(|(_, age)| age.is_none()), "{:?}", view.ages());
    // Later computations are complete.
    let whole = view.fork();
    assert_eq!(view.embedding(&LARGE).0.component_count(), 1);
    assert_eq!(view.communities(&LARGE).0.count(), whole.communities(&LARGE).0.count());
    assert_ne!(view.communities(&LARGE).0.count(), communities);
    drop(layout);
}
