//! Tests of the keys and names of nodes, and of incrementally updated counts.

use super::*;
use crate::State;
use crate::testing;
use crate::{EdgeId, EdgeKind};
use proptest::prelude::*;
use std::collections::BTreeSet;

#[derive(Clone, Debug)]
enum Step {
    Edge(u8, u8, bool),
    DeleteEdge(u8, u8, bool),
    State(u8, bool),
    Delete(u8),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0u8..9, 0u8..9, any::<bool>()).prop_map(|(a, b, k)| Step::Edge(a, b, k)),
        2 => (0u8..9, 0u8..9, any::<bool>()).prop_map(|(a, b, k)| Step::DeleteEdge(a, b, k)),
        1 => (0u8..9, any::<bool>()).prop_map(|(a, live)| Step::State(a, live)),
        1 => (0u8..9).prop_map(Step::Delete),
    ]
}

#[test]
fn two_nodes_may_swap_their_keys() {
    let with_key =
        |number, key: &str| Delta::Node(Arc::new(Node { key: key.into(), ..testing::node(number) }));
    for [one, other] in [["a", "b"], ["émile", "Émile"]] {
        let mut view = View::new();
        view.apply(1, &[with_key(1, one), with_key(2, other)]);
        view.apply(2, &[with_key(1, other), with_key(2, one)]);
        let found = |key| view.find_key(key).and_then(|ix| view.id(ix));
        assert_eq!((found(one), found(other)), (Some(testing::node(2).id), Some(testing::node(1).id)));
    }
}

#[test]
fn keys_are_found_ignoring_case() {
    let with_key =
        |number, key: &str| Delta::Node(Arc::new(Node { key: key.into(), ..testing::node(number) }));
    let mut view = View::new();
    view.apply(1, &[with_key(1, "Émile"), with_key(2, "émile"), with_key(3, "emile")]);
    let found = |view: &View| {
        let found = view.find_keys_any_case("ÉMILE").into_iter();
        found.map(|ix| view.key(ix).to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(found(&view), ["Émile", "émile"]);
    view.apply(2, &[with_key(1, "zola")]);
    assert_eq!(found(&view), ["émile"]);
    view.apply(3, &[Delta::NodeDeleted(testing::node(2).id)]);
    assert!(found(&view).is_empty());
}

/// A node with a key and aliases.
fn named(number: u64, key: &str, aliases: &[&str]) -> Delta {
    let aliases = aliases.iter().map(|alias| (*alias).to_owned()).collect();
    Delta::Node(Arc::new(Node { key: key.into(), aliases, ..testing::node(number) }))
}

#[test]
fn another_name_finds_every_node_that_has_it() {
    let named = |number: u64, names: &[&str]| {
        let other_names = names.iter().map(|name| (*name).to_owned()).collect();
        Delta::Node(Arc::new(Node { other_names, ..testing::node(number) }))
    };
    let find = |view: &View, name: &str| -> Vec<String> {
        let found = view.find_other_names_any_case(name).into_iter();
        found.map(|ix| view.key(ix).to_owned()).collect()
    };
    let mut view = View::new();
    view.apply(1, &[named(1, &["Zebra Plan", "Zoo"]), named(2, &["zebra plan"]), named(3, &["Zebra Plan"])]);
    assert_eq!(find(&view, "ZEBRA PLAN"), ["n1", "n2", "n3"]);
    assert_eq!(view.find_key("Zebra Plan"), None, "it is not a key");
    let before = view.clone();
    view.apply(2, &[named(1, &["Zoo"]), Delta::NodeDeleted(testing::node(2).id)]);
    assert_eq!((find(&view, "zebra plan"), find(&view, "zoo")), (vec!["n3".into()], vec!["n1".into()]));
    view.apply(3, &[named(4, &["Zebra Plan"]), named(1, &["Zebra Plan"])]);
    assert_eq!(find(&view, "zebra plan"), ["n1", "n3", "n4"]);
    assert!(find(&view, "zoo").is_empty());
    assert_eq!(find(&before, "zebra plan"), ["n1", "n2", "n3"], "a clone keeps what it had");
}

#[test]
fn a_former_key_finds_its_node_until_it_is_released() {
    let mut view = View::new();
    let find = |view: &View, name: &str| view.find_key(name).map(|ix| view.key(ix).to_owned());
    let any_case = |view: &View, name: &str| {
        let found = view.find_keys_any_case(name).into_iter();
        found.map(|ix| view.key(ix).to_owned()).collect::<Vec<_>>()
    };
    view.apply(1, &[named(1, "soup", &[]), named(2, "SOUP", &[])]);
    view.apply(2, &[named(1, "lentils", &["soup"])]);
    assert_eq!(find(&view, "soup").as_deref(), Some("lentils"));
    assert_eq!(find(&view, "SOUP").as_deref(), Some("SOUP"));
    assert_eq!(any_case(&view, "Soup"), ["lentils", "SOUP"]);
    let before = view.clone();
    // The former key becomes the key again and is no longer an alias.
    view.apply(3, &[named(1, "soup", &["lentils"])]);
    assert_eq!(
        (find(&view, "soup").as_deref(), find(&view, "lentils").as_deref()),
        (Some("soup"), Some("soup"))
    );
    // Another node takes over a name in the same transaction, in either order.
    for deltas in [
        [named(1, "pot", &[]), named(2, "SOUP", &["soup", "lentils"])],
        [named(2, "SOUP", &["soup", "lentils"]), named(1, "pot", &[])],
    ] {
        let mut view = view.clone();
        view.apply(4, &deltas);
        for (name, key) in [("soup", "SOUP"), ("lentils", "SOUP"), ("pot", "pot")] {
            assert_eq!(find(&view, name).as_deref(), Some(key), "{name}");
        }
    }
    view.apply(5, &[Delta::NodeDeleted(testing::node(1).id)]);
    assert_eq!((find(&view, "soup"), find(&view, "lentils")), (None, None));
    assert_eq!(any_case(&view, "soup"), ["SOUP"]);
    assert_eq!(find(&before, "soup").as_deref(), Some("lentils"));
}

#[test]
fn one_of_two_edges_between_two_nodes_can_be_deleted() {
    let mut view = View::new();
    let forward = testing::edge(1, 2, EdgeKind::Link, 0.8);
    let reverse = testing::edge(2, 1, EdgeKind::Link, 0.3);
    view.apply(1, &[1, 2].map(|number| Delta::Node(Arc::new(testing::node(number)))));
    view.apply(2, &[Delta::from(forward.clone()), Delta::from(reverse.clone())]);
    assert_eq!((view.edge_count(), view.degree(0), view.merged_edges(0).count()), (2, 1, 1));
    view.apply(3, &[Delta::EdgeDeleted(forward.id())]);
    assert_eq!((view.edge_count(), view.degree(0)), (1, 1));
    assert_eq!(view.merged_edges(0).next().map(|edge| edge.strength), Some(f64::from(0.3f32)));
    view.apply(4, &[Delta::EdgeDeleted(reverse.id())]);
    assert_eq!((view.edge_count(), view.degree(0), view.merged_edges(1).count()), (0, 0, 0));
}

poc_laws::laws! {
    /// Incrementally updated degrees and triangles equal a brute-force count, including those of nodes that are not
    /// live. A view that is built at once has the same.
    #[test]
    fn degrees_and_triangles_equal_brute_force(steps in proptest::collection::vec(step(), 0..60)) {
        let mut view = View::new();
        for number in 0..9 {
            view.apply(1, &[Delta::Node(Arc::new(testing::node(number)))]);
        }
        let mut edges = BTreeSet::new();
        for (seq, step) in steps.into_iter().enumerate() {
            let kind = |link| if link { EdgeKind::Link } else { EdgeKind::Semantic };
            let id = |number| testing::node(u64::from(number)).id;
            match step {
                Step::Edge(a, b, link) if a != b && view.find(id(a)).and(view.find(id(b))).is_some() => {
                    edges.insert((a, b, link));
                }
                Step::DeleteEdge(a, b, link) => {
                    edges.remove(&(a, b, link));
                }
                Step::Delete(deleted) => edges.retain(|(a, b, _)| *a != deleted && *b != deleted),
                _ => {}
            }
            let delta = match step {
                Step::Edge(a, b, link) => Delta::from(testing::edge(u64::from(a), u64::from(b), kind(link), 0.5)),
                Step::DeleteEdge(a, b, link) => Delta::EdgeDeleted(EdgeId { src: id(a), kind: kind(link), dst: id(b) }),
                Step::State(a, live) => {
                    let mut node = testing::node(u64::from(a));
                    node.state = if live { State::Active } else { State::Superseded };
                    Delta::Node(Arc::new(node))
                }
                Step::Delete(a) => Delta::NodeDeleted(id(a)),
            };
            view.apply(seq as u64 + 2, &[delta]);
        }
        let live: Vec<Ix> = (0..view.slots()).filter(|&ix| view.is_live(ix)).collect();
        prop_assert_eq!(view.live_count(), live.len());
        prop_assert_eq!(view.edge_count(), edges.len());
        let mut recounted = view.clone();
        recounted.count_degrees_and_triangles();
        for ix in 0..view.slots() {
            if view.state(ix).is_none() {
                prop_assert_eq!((view.degree(ix), view.triangles(ix)), (0, 0));
                continue;
            }
            let neighbors: Vec<Ix> = view.merged_edges(ix).map(|edge| edge.ix).collect();
            prop_assert_eq!(view.degree(ix) as usize, neighbors.len());
            let triangles = neighbors.iter().enumerate()
                .flat_map(|(i, &a)| neighbors.iter().skip(i + 1).map(move |&b| (a, b)))
                .filter(|&(a, b)| view.are_adjacent(a, b))
                .count();
            prop_assert_eq!(view.triangles(ix) as usize, triangles);
            let again = (recounted.degree(ix), recounted.triangles(ix));
            prop_assert_eq!((view.degree(ix), view.triangles(ix)), again);
        }
    }
}
