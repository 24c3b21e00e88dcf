use super::*;
use crate::graph::{Delta, EdgeKind, State, testing};

const EXACT: Rules = Rules { dimensions: 16, exact_below: 1000, max_drift: 0.5 };
const LARGE: Rules = Rules { exact_below: 0, ..EXACT };

fn ring() -> View {
    testing::view(8, &(0..8).map(|a| (a, (a + 1) % 8, 0.5)).collect::<Vec<_>>())
}

fn tie(view: &mut View, a: u64, b: u64) {
    view.apply(view.seq + 1, &[Delta::Edge(testing::edge(a, b, EdgeKind::Link, 0.5))]);
}

fn computed(source: Source) -> bool {
    matches!(source, Source::Computed(_))
}

#[test]
fn a_small_graph_is_answered_exactly() {
    let mut view = ring();
    assert!(computed(view.embedding(&EXACT).1));
    assert_eq!(view.embedding(&EXACT).1, Source::Fresh);
    assert_eq!(view.clone().embedding(&EXACT).1, Source::Fresh);
    let before = view.clone();
    tie(&mut view, 0, 4);
    assert!(computed(view.embedding(&EXACT).1));
    // The old view keeps what holds for it.
    assert_eq!(before.embedding(&EXACT).1, Source::Fresh);
    assert_eq!(view.embedding(&EXACT).1, Source::Fresh);
    let far = |view: &View| view.embedding(&EXACT).0.distance(0, 4).unwrap();
    assert!(far(&view) < far(&before));
}

#[test]
fn a_large_graph_is_answered_from_before_until_it_has_drifted() {
    let mut view = ring();
    // Nobody waits for scores and figures.
    assert!(view.outliers(&LARGE).is_none() && view.health(&LARGE).is_none());
    assert!(computed(view.communities(&LARGE).1));
    assert_eq!(view.drift(), None);
    view.refresh(&LARGE);
    assert_eq!(view.drift(), Some(0));
    assert_eq!(view.outliers(&LARGE).unwrap().1, Source::Fresh);
    tie(&mut view, 0, 4);
    assert_eq!(view.communities(&LARGE).1, Source::Reused(1));
    assert_eq!(view.outliers(&LARGE).unwrap().1, Source::Reused(1));
    assert_eq!(view.health(&LARGE).unwrap().1.to_string(), "reused, 1 change old");
    for b in [3, 5, 6] {
        tie(&mut view, 1, b);
    }
    assert_eq!((view.edge_count(), view.drift()), (12, Some(4)));
    for b in [4, 5, 6] {
        tie(&mut view, 2, b);
    }
    assert_eq!(view.embedding(&LARGE).1.to_string(), "reused, 7 changes old");
    tie(&mut view, 2, 7);
    // Eight changes, sixteen edges.
    assert_eq!(view.embedding(&LARGE).1, Source::Reused(8));
    tie(&mut view, 3, 7);
    assert!(computed(view.embedding(&LARGE).1));
    assert!(view.outliers(&LARGE).is_none());
}

#[test]
fn what_does_not_touch_the_graph_changes_nothing() {
    let mut view = ring();
    view.refresh(&EXACT);
    let mut node = testing::node(3);
    node.title = "Another title".into();
    view.apply(2, &[Delta::Node(Arc::new(node.clone()))]);
    assert_eq!((view.drift(), view.embedding(&EXACT).1), (Some(0), Source::Fresh));
    node.state = State::Superseded;
    view.apply(3, &[Delta::Node(Arc::new(node))]);
    assert_ne!(view.drift(), Some(0));
}

#[test]
fn however_many_ask_it_is_computed_once() {
    let view = ring();
    let sources: Vec<Source> = std::thread::scope(|scope| {
        let asking: Vec<_> = (0..8).map(|_| scope.spawn(|| view.communities(&EXACT).1)).collect();
        asking.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(sources.into_iter().filter(|source| computed(*source)).count(), 1);
}

/// A view that was left behind does not take the place of a later one.
#[test]
fn the_latest_counts() {
    let mut view = ring();
    let old = view.clone();
    tie(&mut view, 0, 4);
    view.refresh(&LARGE);
    old.refresh(&LARGE);
    assert_eq!(old.drift(), Some(0));
    tie(&mut view, 0, 3);
    assert_eq!(view.drift(), Some(1));
}

#[test]
fn another_way_is_kept_apart() {
    let mut view = ring();
    view.refresh(&LARGE);
    let mut other = view.branch();
    assert_eq!(other.embedding(&LARGE).1, Source::Fresh);
    for b in [3, 4, 5, 6] {
        tie(&mut other, 0, b);
    }
    assert_eq!(other.embedding(&LARGE).1, Source::Reused(4));
    other.refresh(&LARGE);
    tie(&mut view, 0, 2);
    assert_eq!(view.embedding(&LARGE).1, Source::Reused(1));
    view.refresh(&LARGE);
    assert_eq!((view.drift(), other.drift()), (Some(0), Some(0)));
    let far = |view: &View| view.embedding(&LARGE).0.distance(0, 4).unwrap();
    assert_ne!(far(&view), far(&other));
}
