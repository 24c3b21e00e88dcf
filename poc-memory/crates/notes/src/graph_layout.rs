//! The graph as it is drawn: which notes and edges are shown, and where.

use super::{Memory, ReadSnapshot};
use poc_graph::error::Result;
use poc_graph::{EdgeKind, Ix, Layout, NodeId, Source, View};
use poc_search::query::Pipeline;
use std::cmp::Reverse;
use std::collections::HashSet;

/// What is shown at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LayoutLimits {
    /// Notes.
    pub notes: usize,
    /// Edges.
    pub edges: usize,
}

/// A drawing of a graph.
#[derive(Clone, Debug, Default)]
pub struct GraphLayout {
    /// The notes shown; with a pipeline in its order, else those with most ties first.
    pub nodes: Vec<Ix>,
    /// Their places, in the same order.
    pub layout: Layout,
    /// Their communities, in the same order; none while there are none to be had at once.
    pub communities: Vec<Option<u32>>,
    /// The edges among them that are shown.
    pub edges: Vec<LayoutEdge>,
    /// How many notes were chosen.
    pub matched: usize,
    /// How many edges there are among those shown.
    pub edge_count: usize,
    /// What makes the drawing poorer than it should be.
    pub degraded: Vec<String>,
}

/// An edge.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LayoutEdge {
    /// Where it starts.
    pub from: NodeId,
    /// Where it ends.
    pub to: NodeId,
    /// What it means.
    pub kind: EdgeKind,
    /// 0 to 1, as the graph stages see it.
    pub strength: f32,
}

/// Draws the notes a pipeline finds, or all that searches see.
pub fn lay_out(
    memory: &Memory,
    reading: &ReadSnapshot<'_>,
    pipeline: Option<&Pipeline>,
    bounds: LayoutLimits,
) -> Result<GraphLayout> {
    let view = reading.view();
    let (mut nodes, mut degraded) = match pipeline {
        Some(pipeline) => {
            let (set, explanation) = pipeline.run(&reading.sources())?;
            (set.items.iter().map(|item| item.ix).collect(), explanation.reused)
        }
        None => (by_degree(view, reading), Vec::new()),
    };
    let matched = nodes.len();
    nodes.truncate(bounds.notes);
    let (edges, edge_count) = edges_among(view, &nodes, bounds.edges);
    let communities = match view.communities_at_hand(&memory.config.structure.options()) {
        Some((communities, source)) => {
            if let Source::Reused(_) = source {
                degraded.push(format!("communities: {source}"));
            }
            nodes.iter().map(|&ix| communities.of(ix)).collect()
        }
        None => {
            degraded.push("communities: not computed yet".into());
            vec![None; nodes.len()]
        }
    };
    Ok(GraphLayout { layout: view.layout(&nodes), nodes, communities, edges, matched, edge_count, degraded })
}

/// The notes that searches see, those with most ties first, then by id.
fn by_degree(view: &View, reading: &ReadSnapshot<'_>) -> Vec<Ix> {
    let mut nodes: Vec<Ix> =
        (0..view.slots()).filter(|&ix| view.is_found_at(ix, reading.visibility())).collect();
    nodes.sort_unstable_by_key(|&ix| (Reverse(view.degree(ix)), view.id(ix)));
    nodes
}

/// The edges of every kind among some nodes, and how many there are. Where there are more than `most`,
/// the strongest at each node come first, so that no node that is tied stands alone while there is room,
/// and then the strongest of the rest.
fn edges_among(view: &View, nodes: &[Ix], most: usize) -> (Vec<LayoutEdge>, usize) {
    let shown: HashSet<Ix> = nodes.iter().copied().collect();
    let mut edges = Vec::new();
    for &ix in nodes {
        let starting = view.edges(ix).iter().chain(view.other_edges(ix)).filter(|edge| !edge.is_incoming());
        for edge in starting.filter(|edge| shown.contains(&edge.target())) {
            let (Some(from), Some(to)) = (view.id(ix), view.id(edge.target())) else { continue };
            edges.push(LayoutEdge { from, to, kind: edge.kind(), strength: edge.strength });
        }
    }
    let edge_count = edges.len();
    edges.sort_unstable_by(|a, b| {
        let ends = |edge: &LayoutEdge| (edge.from, edge.to, edge.kind);
        b.strength.total_cmp(&a.strength).then_with(|| ends(a).cmp(&ends(b)))
    });
    if edge_count > most {
        let mut met: HashSet<NodeId> = HashSet::new();
        let (mut kept, rest): (Vec<LayoutEdge>, Vec<LayoutEdge>) =
            edges.into_iter().partition(|edge| met.insert(edge.from) | met.insert(edge.to));
        kept.extend(rest);
        kept.truncate(most);
        edges = kept;
    }
    (edges, edge_count)
}
