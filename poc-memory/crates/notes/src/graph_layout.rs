//! The layout of the graph for drawing: which notes and edges are shown, and where.

use super::{Memory, ReadSnapshot};
use poc_graph::cancellation;
use poc_graph::error::Result;
use poc_graph::{EdgeKind, Ix, Layout, Neighbor, NodeId, StructureSource, View};
use poc_rank::activation::{SpreadOptions, spread};
use poc_search::query::Pipeline;
use std::cmp::Reverse;
use std::collections::HashSet;

/// Which notes a layout shows.
#[derive(Clone, Copy, Debug)]
pub enum LayoutNotes<'a> {
    /// All visible notes, by degree, highest first.
    All,
    /// The results of a pipeline, in its order.
    Of(&'a Pipeline),
    /// A note and the visible notes around it, the nearest first.
    Around(Ix),
}

/// How activation spreads from a note to those around it. Edges of strength 0.004 and above reach a neighbour.
const AROUND: SpreadOptions = SpreadOptions { max_hops: 2, edge_decay: 0.3, min_activation: 0.001 };

/// The maximum size of a layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LayoutLimits {
    /// Maximum number of notes.
    pub notes: usize,
    /// Maximum number of edges.
    pub edges: usize,
    /// Whether positions in three dimensions are left out.
    pub plane: bool,
}

/// A layout of the graph.
#[derive(Clone, Debug, Default)]
pub struct GraphLayout {
    /// The notes shown.
    pub nodes: Vec<Ix>,
    /// Their positions, in the same order.
    pub layout: Layout,
    /// Their communities, in the same order; `None` while they are not computed.
    pub communities: Vec<Option<u32>>,
    /// The edges among them that are shown.
    pub edges: Vec<LayoutEdge>,
    /// Number of notes that matched, before the limit.
    pub matched: usize,
    /// Number of edges among the notes shown, before the limit.
    pub edge_count: usize,
    /// Reasons why the layout is incomplete or outdated.
    pub degraded: Vec<String>,
}

/// An edge that is shown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LayoutEdge {
    /// Its source.
    pub from: NodeId,
    /// Its target.
    pub to: NodeId,
    /// Its kind.
    pub kind: EdgeKind,
    /// 0 to 1, as the graph stages of pipelines use it.
    pub strength: f32,
}

/// Lays out notes.
pub fn lay_out(
    memory: &Memory,
    snapshot: &ReadSnapshot<'_>,
    notes: LayoutNotes<'_>,
    bounds: LayoutLimits,
) -> Result<GraphLayout> {
    let view = snapshot.view();
    let (mut nodes, mut degraded) = match notes {
        LayoutNotes::Of(pipeline) => {
            let (set, explanation) = pipeline.run(&snapshot.sources())?;
            (set.items.iter().map(|item| item.ix).collect(), explanation.reused)
        }
        LayoutNotes::All => (by_degree(view, snapshot), Vec::new()),
        LayoutNotes::Around(center) => (around(view, snapshot, center), Vec::new()),
    };
    let matched = nodes.len();
    nodes.truncate(bounds.notes);
    let (edges, edge_count) = edges_among(view, &nodes, bounds.edges);
    let communities = match view.cached_communities(&memory.config.structure.options()) {
        Some((communities, source)) => {
            if let StructureSource::Reused(_) = source {
                degraded.push(format!("communities: {source}"));
            }
            nodes.iter().map(|&ix| communities.of(ix)).collect()
        }
        None => {
            degraded.push("communities: not computed yet".into());
            vec![None; nodes.len()]
        }
    };
    let layout = if bounds.plane { view.plane_layout(&nodes) } else { view.layout(&nodes) };
    // An interrupted layout is not finished.
    cancellation::check()?;
    Ok(GraphLayout { layout, nodes, communities, edges, matched, edge_count, degraded })
}

/// The visible notes by degree, highest first, then by id.
fn by_degree(view: &View, snapshot: &ReadSnapshot<'_>) -> Vec<Ix> {
    let mut nodes: Vec<Ix> =
        (0..view.slots()).filter(|&ix| view.is_visible(ix, snapshot.visibility())).collect();
    nodes.sort_unstable_by_key(|&ix| (Reverse(view.degree(ix)), view.id(ix)));
    nodes
}

/// The notes around a note, in this order: the note itself; the notes that it has an edge of any kind to, the
/// strongest first; and the notes that spreading activation reaches from these. The second group includes
/// notes at edges that the graph stages do not follow, such as the sources of a fact.
fn around(view: &View, snapshot: &ReadSnapshot<'_>, center: Ix) -> Vec<Ix> {
    let visible = |ix| view.is_visible(ix, snapshot.visibility());
    let mut edges: Vec<&Neighbor> = view.edges(center).iter().chain(view.other_edges(center)).collect();
    edges.sort_by(|a, b| b.strength.total_cmp(&a.strength).then(a.target().cmp(&b.target())));
    let mut nodes = vec![center];
    nodes.extend(edges.iter().map(|edge| edge.target()).filter(|&ix| visible(ix)));
    let others = view.other_edges(center).iter().map(|edge| edge.target());
    let sources: Vec<(Ix, f64)> = std::iter::once(center).chain(others).map(|ix| (ix, 1.0)).collect();
    let mut reached = spread(view, &sources, AROUND, visible);
    reached.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    nodes.extend(reached.iter().map(|(ix, _)| *ix));
    let mut seen = HashSet::new();
    nodes.retain(|ix| seen.insert(*ix));
    nodes
}

/// The edges of every kind among some nodes, and their number. If there are more than `max`, the strongest
/// edge of each node is kept first, so that connected nodes are not shown isolated as long as there is room,
/// and then the strongest of the rest.
fn edges_among(view: &View, nodes: &[Ix], max: usize) -> (Vec<LayoutEdge>, usize) {
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
    if edge_count > max {
        let mut met: HashSet<NodeId> = HashSet::new();
        let (mut kept, rest): (Vec<LayoutEdge>, Vec<LayoutEdge>) =
            edges.into_iter().partition(|edge| met.insert(edge.from) | met.insert(edge.to));
        kept.extend(rest);
        kept.truncate(max);
        edges = kept;
    }
    (edges, edge_count)
}
