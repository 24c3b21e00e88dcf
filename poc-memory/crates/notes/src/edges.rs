//! The edges of a node as seen from it.

use poc_graph::error::Result;
use poc_graph::time::Timestamp;
use poc_graph::{EdgeKind, NodeId, Visibility};
use poc_store::Records;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Whether an edge starts or ends at the node it is seen from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// It starts here.
    Out,
    /// It ends here.
    In,
}

/// An edge with the node at its other end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NeighborEdge {
    /// Whether it starts or ends here.
    pub direction: Direction,
    /// The other node.
    pub id: NodeId,
    /// Its key.
    pub key: String,
    /// Its title.
    pub title: String,
    /// 0 to 1, or the weight of an associative edge.
    pub strength: f64,
    /// When it was made.
    pub created: Timestamp,
    /// Who made it.
    pub provenance: String,
    /// Why; of a keyword edge the shared keywords.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

/// The edges of a node by kind to what is seen; the strongest first, then by key.
pub fn of<R: Records + ?Sized>(
    records: &R,
    id: NodeId,
    visibility: Visibility,
) -> Result<BTreeMap<EdgeKind, Vec<NeighborEdge>>> {
    let mut edges: BTreeMap<EdgeKind, Vec<NeighborEdge>> = BTreeMap::new();
    for edge in records.edges(id)? {
        let (direction, other) =
            if edge.src == id { (Direction::Out, edge.dst) } else { (Direction::In, edge.src) };
        // Gone since the edges were read.
        let Some(node) = records.node(other)?.filter(|node| visibility.admits(node.trust)) else { continue };
        edges.entry(edge.kind).or_default().push(NeighborEdge {
            direction,
            id: other,
            key: node.key,
            title: node.title,
            strength: edge.strength,
            created: edge.created,
            provenance: edge.provenance,
            reason: edge.reason,
        });
    }
    for ends in edges.values_mut() {
        ends.sort_by(|a, b| b.strength.total_cmp(&a.strength).then_with(|| a.key.cmp(&b.key)));
    }
    Ok(edges)
}
