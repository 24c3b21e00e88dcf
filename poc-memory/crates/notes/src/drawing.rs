//! The graph as it is drawn: which notes and edges are shown, and where.

use super::{Memory, Reading};
use poc_graph::error::Result;
use poc_graph::{EdgeKind, Ix, Layout, NodeId, Source, View};
use poc_search::query::Pipeline;
use std::cmp::Reverse;
use std::collections::HashSet;

/// What is shown at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Notes.
    pub notes: usize,
    /// Edges.
    pub edges: usize,
}

/// A drawing of a graph.
#[derive(Clone, Debug, Default)]
pub struct Drawing {
    /// The notes shown; with a pipeline in its order, else those with most ties first.
    pub nodes: Vec<Ix>,
    /// Their places, in the same order.
    pub layout: Layout,
    /// Their communities, in the same order; none while there are none to be had at once.
    pub communities: Vec<Option<u32>>,
    /// The edges among them that are shown.
    pub edges: Vec<Drawn>,
    /// How many notes were chosen.
    pub chosen: usize,
    /// How many edges there are among those shown.
    pub joining: usize,
    /// What makes the drawing poorer than it should be.
    pub degraded: Vec<String>,
}

/// An edge.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drawn {
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
pub fn draw(
    memory: &Memory,
    reading: &Reading<'_>,
    pipeline: Option<&Pipeline>,
    bounds: Bounds,
) -> Result<Drawing> {
    let view = reading.view();
    let (mut nodes, mut degraded) = match pipeline {
        Some(pipeline) => {
            let (set, explanation) = pipeline.run(&reading.sources())?;
            (set.items.iter().map(|item| item.ix).collect(), explanation.reused)
        }
        None => (best_tied(view, reading), Vec::new()),
    };
    let chosen = nodes.len();
    nodes.truncate(bounds.notes);
    let (edges, joining) = edges_among(view, &nodes, bounds.edges);
    let communities = match view.communities_at_hand(&memory.config.structure.rules()) {
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
    Ok(Drawing { layout: view.layout(&nodes), nodes, communities, edges, chosen, joining, degraded })
}

/// The notes that searches see, those with most ties first, then by id.
fn best_tied(view: &View, reading: &Reading<'_>) -> Vec<Ix> {
    let mut nodes: Vec<Ix> = (0..view.slots()).filter(|&ix| view.is_found_at(ix, reading.sight())).collect();
    nodes.sort_unstable_by_key(|&ix| (Reverse(view.degree(ix)), view.id(ix)));
    nodes
}

/// The edges of every kind among some nodes, and how many there are. Where there are more than `most`,
/// the strongest at each node come first, so that no node that is tied stands alone while there is room,
/// and then the strongest of the rest.
fn edges_among(view: &View, nodes: &[Ix], most: usize) -> (Vec<Drawn>, usize) {
    let shown: HashSet<Ix> = nodes.iter().copied().collect();
    let mut edges = Vec::new();
    for &ix in nodes {
        let starting = view.edges(ix).iter().chain(view.other_edges(ix)).filter(|edge| !edge.is_incoming());
        for edge in starting.filter(|edge| shown.contains(&edge.target())) {
            let (Some(from), Some(to)) = (view.id(ix), view.id(edge.target())) else { continue };
            edges.push(Drawn { from, to, kind: edge.kind(), strength: edge.strength });
        }
    }
    let joining = edges.len();
    edges.sort_unstable_by(|a, b| {
        let ends = |edge: &Drawn| (edge.from, edge.to, edge.kind);
        b.strength.total_cmp(&a.strength).then_with(|| ends(a).cmp(&ends(b)))
    });
    if joining > most {
        let mut met: HashSet<NodeId> = HashSet::new();
        let (mut kept, rest): (Vec<Drawn>, Vec<Drawn>) =
            edges.into_iter().partition(|edge| met.insert(edge.from) | met.insert(edge.to));
        kept.extend(rest);
        kept.truncate(most);
        edges = kept;
    }
    (edges, joining)
}
