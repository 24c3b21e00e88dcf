//! The edges of a node, seen from that node.

use poc_graph::error::Result;
use poc_graph::time::Timestamp;
use poc_graph::{EdgeKind, Neighbor, Node, NodeId, NodeType, View, Visibility};
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

/// The edges of a node to visible nodes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NeighborEdges {
    /// The edges by kind; the strongest first, then by key.
    pub edges: BTreeMap<EdgeKind, Vec<NeighborEdge>>,
    /// The number of edges that are left out, by kind. Kinds of which all edges are included are omitted.
    pub left_out: BTreeMap<EdgeKind, usize>,
}

/// The edges of a node to visible nodes: all that are made on purpose ([`EdgeKind::is_deliberate`]), and of each other
/// kind at most `max`, the strongest ones. Edges with equal strengths in `view`, where these are rounded, are chosen by
/// key.
///
/// # Errors
/// Those of `records`, which must have the state of `view` or a later one.
pub fn of<R: Records + ?Sized>(
    records: &R,
    view: &View,
    id: NodeId,
    visibility: Visibility,
    max: usize,
) -> Result<NeighborEdges> {
    let mut found = NeighborEdges::default();
    // Many notes have several edges to the same one, and reading a node costs more than all else here.
    let mut nodes: FxHashMap<NodeId, Option<Node>> = FxHashMap::default();
    for (kind, mut edges) in visible_edges(view, id, visibility) {
        if !kind.is_deliberate() && edges.len() > max {
            found.left_out.insert(kind, edges.len() - max);
            let key = |edge: &Neighbor| view.key(edge.target());
            edges.sort_by(|a, b| b.strength.total_cmp(&a.strength).then_with(|| key(a).cmp(key(b))));
            edges.truncate(max);
        }
        let mut ends = Vec::with_capacity(edges.len());
        for edge in edges {
            let Some(other) = view.id(edge.target()) else { continue };
            let (direction, src, dst) = match edge.is_outgoing() {
                true => (Direction::Out, id, other),
                false => (Direction::In, other, id),
            };
            // The edge and the node may have been deleted or changed since the view was published.
            let Some(edge) = records.edge(src, kind, dst)? else { continue };
            let node = match nodes.entry(other) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(unknown) => unknown.insert(records.node(other)?),
            };
            let Some(node) = node.as_ref().filter(|node| visibility.admits(node.trust)) else { continue };
            ends.push(NeighborEdge {
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
        if !ends.is_empty() {
            ends.sort_by(|a, b| b.strength.total_cmp(&a.strength).then_with(|| a.key.cmp(&b.key)));
            found.edges.insert(kind, ends);
        }
    }
    Ok(found)
}

/// The edges in a view of a node to visible nodes, by kind; sorted by neighbour, the outgoing one first.
fn visible_edges(view: &View, id: NodeId, visibility: Visibility) -> BTreeMap<EdgeKind, Vec<Neighbor>> {
    let mut edges: BTreeMap<EdgeKind, Vec<Neighbor>> = BTreeMap::new();
    let Some(ix) = view.find(id) else { return edges };
    let is_visible = |edge: &&Neighbor| visibility.admits(view.trust(edge.target()));
    for edge in view.edges(ix).iter().chain(view.other_edges(ix)).filter(is_visible) {
        edges.entry(edge.kind()).or_default().push(*edge);
    }
    edges
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TestMemory;
    use poc_graph::testing::{edge, node};
    use poc_graph::{State, Trust};
    use proptest::prelude::*;

    const NODES: u64 = 6;

    /// Their differences survive the rounding in a view, also as associative weights.
    const STRENGTHS: [f64; 4] = [0.1, 0.5, 0.9, 4.0];

    /// All edges of a node to visible nodes, from the records only.
    fn of_records(
        memory: &TestMemory,
        id: NodeId,
        visibility: Visibility,
    ) -> BTreeMap<EdgeKind, Vec<NeighborEdge>> {
        let mut all: BTreeMap<EdgeKind, Vec<NeighborEdge>> = BTreeMap::new();
        for edge in memory.store.edges(id).unwrap() {
            let (direction, other) =
                if edge.src == id { (Direction::Out, edge.dst) } else { (Direction::In, edge.src) };
            let node = memory.store.node(other).unwrap().unwrap();
            if visibility.admits(node.trust) {
                all.entry(edge.kind).or_default().push(NeighborEdge {
                    direction,
                    id: other,
                    key: node.key,
                    title: node.title,
                    node_type: node.node_type,
                    strength: edge.strength,
                    created: edge.created,
                    provenance: edge.provenance,
                    reason: edge.reason,
                });
            }
        }
        for edges in all.values_mut() {
            edges.sort_by(|a, b| b.strength.total_cmp(&a.strength).then_with(|| a.key.cmp(&b.key)));
        }
        all
    }

    poc_laws::laws! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        /// Node 2 is quarantined, node 3 is superseded, and node 4 is deleted.
        #[test]
        fn the_edges_are_the_first_of_each_kind_and_the_others_are_counted(
            edges in proptest::collection::vec(
                (1..=NODES, 1..=NODES, 0..EdgeKind::ALL.len(), 0..STRENGTHS.len()), 0..60,
            ),
            max in 0usize..4,
            quarantined in any::<bool>(),
        ) {
            let memory = TestMemory::new();
            let cause = || memory.cause("manual", "test");
            memory.store.transact(cause(), |tx| {
                for number in 1..=NODES {
                    let trust = if number == 2 { Trust::Quarantined } else { Trust::User };
                    let state = if number == 3 { State::Superseded } else { State::Active };
                    tx.put_node(&Node { trust, state, ..node(number) })?;
                }
                edges.iter().try_for_each(|&(src, dst, kind, strength)| {
                    tx.put_edge(&edge(src, dst, EdgeKind::ALL[kind], STRENGTHS[strength]))
                })
            }).unwrap();
            memory.store.transact(cause(), |tx| tx.delete_node(node(4).id)).unwrap();
            let visibility = Visibility { now: memory.now(), quarantined };
            for number in 1..=NODES {
                let id = node(number).id;
                let read = |max| of(&memory.store, &memory.store.view(), id, visibility, max).unwrap();
                let all = of_records(&memory, id, visibility);
                let mut expected = NeighborEdges { edges: all.clone(), left_out: BTreeMap::new() };
                prop_assert_eq!(&read(usize::MAX), &expected);
                for (kind, edges) in expected.edges.iter_mut().filter(|(kind, _)| !kind.is_deliberate()) {
                    let more = edges.len().saturating_sub(max);
                    if more > 0 {
                        expected.left_out.insert(*kind, more);
                    }
                    edges.truncate(max);
                }
                expected.edges.retain(|_, edges| !edges.is_empty());
                prop_assert_eq!(read(max), expected);
            }
        }
    }
}
