//! Exploration of a graph of seven notes in a plane, which is small enough to check by hand.

use super::*;
use poc_config::Config;
use poc_embed::HashEmbedder;
use poc_graph::{Delta, Node, testing};
use poc_index::{VectorIndex, testing as indexes};
use std::sync::Arc;

const DIMENSIONS: usize = 64;

/// A unit vector at this angle in degrees from the query.
fn at(degrees: f64) -> Vec<f32> {
    let mut vector = vec![0.0; DIMENSIONS];
    vector[0] = degrees.to_radians().cos() as f32;
    vector[1] = degrees.to_radians().sin() as f32;
    vector
}

struct World {
    view: View,
    vectors: VectorIndex,
    _folder: tempfile::TempDir,
}

/// Notes at angles, with keywords, and edges between them.
fn world(notes: &[(f64, &[&str])], edges: &[(u64, u64, EdgeKind, f64)]) -> World {
    let config = Config::defaults().unwrap();
    let embedder = HashEmbedder::new(DIMENSIONS).unwrap();
    let mut deltas = Vec::new();
    for (number, (degrees, keywords)) in (0..).zip(notes) {
        let keywords = keywords.iter().map(|word| (*word).to_owned()).collect();
        let node = Node { keywords, ..testing::node(number) };
        deltas.push(Delta::Vector(node.id, 0, at(*degrees).into()));
        deltas.push(Delta::Node(Arc::new(node)));
    }
    deltas
        .extend(edges.iter().map(|&(a, b, kind, strength)| Delta::from(testing::edge(a, b, kind, strength))));
    let (folder, _, vectors) = indexes::fed(&config, &embedder, &deltas);
    let mut view = View::new();
    view.apply(1, &deltas);
    World { view, vectors, _folder: folder }
}

impl World {
    fn explore(&self, keywords: &[&str], depth: usize, beam: usize, target_count: usize) -> Exploration {
        let keywords: Vec<String> = keywords.iter().map(|word| (*word).to_owned()).collect();
        let query = ExploreQuery { vector: &at(0.0), keywords: &keywords, depth, beam, target_count };
        let config = Config::defaults().unwrap().explore;
        let visible_filter = |id| self.view.find(id).is_some_and(|ix| self.view.is_live(ix));
        explore(&query, &self.vectors, &self.view, &config, &visible_filter).unwrap()
    }
}

/// The numbers of the notes, in order.
fn numbers(explored: &Exploration) -> Vec<u64> {
    let number = |id: NodeId| (0..20).find(|&number| testing::node(number).id == id).unwrap();
    explored.nodes.iter().map(|node| number(node.id)).collect()
}

fn chain() -> World {
    use EdgeKind::{Keyword, Link, Semantic};
    world(
        &[(0.0, &[]), (60.0, &["pages"]), (90.0, &[]), (80.0, &[]), (179.0, &[])],
        &[(0, 2, Semantic, 0.5), (2, 3, Keyword, 0.8), (1, 3, Link, 1.0), (0, 4, Semantic, 0.9)],
    )
}

#[test]
fn an_exploration_matches_values_computed_by_hand() {
    let explored = chain().explore(&[], 2, 1, 12);
    // Note 0 has the direction of the text: 1. From there, 2 (at a right angle) beats 4 (opposite).
    // The link from 1 is not followed.
    assert_eq!(numbers(&explored), [0, 2, 3]);
    let hop = |hop: f64| hop * 0.85f64.ln();
    let second = 1.0 + 0.5f64.ln() + 0.5 * 0.5f64.ln() + hop(1.0);
    let cosine = 80f64.to_radians().cos();
    let nearest = 10f64.to_radians().cos();
    let third = second + 0.8f64.ln() + 0.5 * ((cosine + 1.0) / 2.0).ln() + hop(2.0) - 0.7 * nearest;
    for (node, (score, hop)) in explored.nodes.iter().zip([(1.0, 0), (second, 1), (third, 2)]) {
        assert!((node.score - score).abs() < 0.02, "{node:?} {score}");
        assert_eq!(node.hop, hop);
    }
    let edges: Vec<_> = explored.edges.iter().map(|edge| (edge.kind, edge.strength as f32)).collect();
    assert_eq!(edges, [(EdgeKind::Semantic, 0.5), (EdgeKind::Keyword, 0.8)]);
}

#[test]
fn depth_and_target_count_end_the_search() {
    assert_eq!(numbers(&chain().explore(&[], 1, 1, 12)), [0, 2]);
    assert_eq!(numbers(&chain().explore(&[], 2, 1, 1)), [0]);
    assert_eq!(numbers(&chain().explore(&[], 2, 1, 2)), [0, 2]);
}

#[test]
fn only_notes_with_a_keyword_are_starts_if_there_are_any() {
    assert_eq!(numbers(&chain().explore(&["pages"], 1, 1, 12)), [1]);
    assert_eq!(numbers(&chain().explore(&["soup"], 1, 1, 12)), [0, 2]);
}

#[test]
fn a_wider_beam_follows_several_paths_without_cycles() {
    let explored = chain().explore(&[], 3, 4, 12);
    let mut all = numbers(&explored);
    all.sort_unstable();
    assert_eq!(all, [0, 1, 2, 3, 4]);
    let shown: Vec<NodeId> = explored.nodes.iter().map(|node| node.id).collect();
    for edge in &explored.edges {
        assert!(shown.contains(&edge.from) && shown.contains(&edge.to), "{edge:?}");
    }
}

#[test]
fn an_empty_memory_has_nothing_to_explore() {
    assert_eq!(world(&[], &[]).explore(&[], 3, 4, 12), Exploration::default());
}
