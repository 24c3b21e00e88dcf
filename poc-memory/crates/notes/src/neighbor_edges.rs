//! The edges of a node, seen from that node.

use poc_graph::error::Result;
use poc_graph::time::Timestamp;
use poc_graph::{EdgeKind, Node, NodeId, NodeType, Visibility};
use poc_store::Records;
use rustc_hash::FxHashMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::collections::hash_map::Entry;

/// The direction of an edge, seen from a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// It starts at the node.
    Out,
    /// It ends at the node.
    In,
}

/// An edge of a node, with the node at its other end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NeighborEdge {
    /// Whether it starts or ends at the node.
    pub direction: Direction,
    /// The other node.
    pub id: NodeId,
    /// Key of the other node.
    pub key: String,
    /// Title of the other node.
    pub title: String,
    /// Type of the other node.
    #[serde(rename = "type")]
    pub node_type: NodeType,
    /// Strength, 0 to 1; of an associative edge its weight, 0.05 to 100 with the default settings.
    pub strength: f64,
    /// When it was made.
    pub created: Timestamp,
    /// Who made it.
    pub provenance: String,
    /// The reason; for a keyword edge the shared keywords.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

/// The edges of a node to visible nodes, by kind; the strongest first, then by key.
pub fn of<R: Records + ?Sized>(
    records: &R,
    id: NodeId,
    visibility: Visibility,
) -> Result<BTreeMap<EdgeKind, Vec<NeighborEdge>>> {
    let mut edges: BTreeMap<EdgeKind, Vec<NeighborEdge>> = BTreeMap::new();
    // Many notes have several edges to the same one, and reading a node costs more than all else here.
    let mut nodes: FxHashMap<NodeId, Option<Node>> = FxHashMap::default();
    for edge in records.edges(id)? {
        let (direction, other) =
            if edge.src == id { (Direction::Out, edge.dst) } else { (Direction::In, edge.src) };
        let node = match nodes.entry(other) {
            Entry::Occupied(known) => known.into_mut(),
            // The node may have been deleted since the edges were read.
            Entry::Vacant(unknown) => unknown.insert(records.node(other)?),
        };
        let Some(node) = node.as_ref().filter(|node| visibility.admits(node.trust)) else { continue };
        edges.entry(edge.kind).or_default().push(NeighborEdge {
            direction,
            id: other,
            key: node.key.clone(),
            title: node.title.clone(),
            node_type: node.node_type.clone(),
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
