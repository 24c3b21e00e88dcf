//! Neighbours of the selected nodes, and hubs of the graph.

use super::protection::may_be_read;
use poc_graph::{Ix, MergedEdge, View};
use std::cmp::Reverse;

/// Maximum hubs, communities and neighbours listed in a prompt.
pub(crate) const MAX_LISTED: usize = 10;

/// The neighbours of a node, strongest first, at most [`MAX_LISTED`].
pub(crate) fn siblings(view: &View, ix: Ix) -> Vec<MergedEdge> {
    let mut edges: Vec<MergedEdge> =
        view.merged_edges(ix).filter(|edge| may_be_read(view, edge.ix)).collect();
    edges.sort_by(|a, b| b.strength.total_cmp(&a.strength).then(a.ix.cmp(&b.ix)));
    edges.truncate(MAX_LISTED);
    edges
}

/// The most linked nodes, at most [`MAX_LISTED`].
pub(crate) fn hubs(view: &View) -> Vec<Ix> {
    let mut hubs: Vec<Ix> =
        (0..view.slots()).filter(|&ix| may_be_read(view, ix) && view.degree(ix) > 0).collect();
    hubs.sort_by_key(|&ix| (Reverse(view.degree(ix)), view.id(ix)));
    hubs.truncate(MAX_LISTED);
    hubs
}
