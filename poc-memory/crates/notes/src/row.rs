//! Notes that follow each other: the chunks of a message, the turns of a session.
//!
//! Each is tied to the next by `structural` edges both ways; that is how the graph knows that they stand
//! beside each other ([`poc_graph::View::beside`]). A `structural` edge one way alone says less: that
//! something was written not long after.

use poc_graph::time::Timestamp;
use poc_graph::{Edge, EdgeKind, NodeId};

/// The edges between neighbours of a row, both ways. A note that follows itself is not tied to itself.
pub(super) fn edges(row: &[NodeId], strength: f64, at: Timestamp, provenance: &str) -> Vec<Edge> {
    let mut edges = Vec::new();
    for pair in row.windows(2) {
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
