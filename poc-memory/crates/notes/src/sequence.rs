//! Sequences of notes: the chunks of a message, the notes of a session.
//!
//! `structural` edges in both directions connect each note to the next; the graph recognises neighbours by them
//! ([`poc_graph::View::beside`]). A `structural` edge in one direction only means that a note was written
//! shortly after another.

use poc_graph::time::Timestamp;
use poc_graph::{Edge, EdgeKind, NodeId};

/// The edges between neighbours of a sequence, in both directions. A note that follows itself gets no edge to
/// itself.
pub(super) fn edges(ids: &[NodeId], strength: f64, at: Timestamp, provenance: &str) -> Vec<Edge> {
    let mut edges = Vec::new();
    for pair in ids.windows(2) {
        if let [before, after] = *pair
            && before != after
        {
            edges.push(edge(before, after, strength, at, provenance));
            edges.push(edge(after, before, strength, at, provenance));
        }
    }
    edges
}

/// One `structural` edge.
pub(super) fn edge(src: NodeId, dst: NodeId, strength: f64, at: Timestamp, provenance: &str) -> Edge {
    Edge {
        src,
        dst,
        kind: EdgeKind::Structural,
        strength,
        created: at,
        touched: at,
        provenance: provenance.to_owned(),
        reason: String::new(),
    }
}
