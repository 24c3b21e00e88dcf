//! Translates writes of records into changes of the view and the indexes.

use super::logged_transaction::Write;
use super::record_encoding::Record;
use super::records::Records;
use super::table::Table;
use super::{keys, vector_encoding};
use poc_graph::error::Result;
use poc_graph::time::Timestamp;
use poc_graph::{Activity, Delta, Edge, EdgeId, EdgeKind, Node, NodeId, Visit};
use std::sync::Arc;

/// The changes that writes made, in order. Vectors of embedders other than `embedder` are left out.
///
/// `records` must have the state after the writes. It supplies the vectors of a node that became live again: an index
/// of live nodes has dropped them, and no write contains them.
pub(super) fn deltas<R: Records + ?Sized>(
    writes: &[Write],
    embedder: &str,
    records: &R,
) -> Result<Vec<Delta>> {
    let mut deltas = Vec::new();
    for write in writes {
        let delta = delta(write, embedder)?;
        let revived = match &delta {
            Some(Delta::Node(node)) if node.state.is_live() => was_not_live(write)?.then_some(node.id),
            _ => None,
        };
        deltas.extend(delta);
        if let Some(id) = revived {
            for (key, bytes) in records.raw_range(Table::Vectors, id.as_bytes())? {
                deltas.extend(vector_delta(&key, Some(&bytes), embedder)?);
            }
        }
    }
    Ok(deltas)
}

/// Whether the written node already existed and was not live.
fn was_not_live(write: &Write) -> Result<bool> {
    let before = write.before.as_deref().map(Node::decode).transpose()?;
    Ok(before.is_some_and(|node| !node.state.is_live()))
}

fn delta(write: &Write, embedder: &str) -> Result<Option<Delta>> {
    let key = write.key.as_slice();
    let after = write.after.as_deref();
    Ok(match write.table {
        Table::Nodes => Some(match after {
            Some(bytes) => Delta::Node(Arc::new(Node::decode(bytes)?)),
            None => Delta::NodeDeleted(keys::read_id(key)?),
        }),
        Table::Activity => Some(match after {
            Some(bytes) => Delta::Activity(keys::read_id(key)?, Activity::decode(bytes)?),
            None => Delta::ActivityDeleted(keys::read_id(key)?),
        }),
        Table::Edges => Some(match after {
            Some(bytes) => edge_delta(bytes)?,
            None => Delta::EdgeDeleted(keys::read_edge(key)?),
        }),
        Table::Visits => {
            let (id, agent) = keys::read_visit(key)?;
            Some(match after {
                Some(bytes) => Delta::Visit(agent.into(), id, Visit::decode(bytes)?),
                None => Delta::VisitDeleted(agent.into(), id),
            })
        }
        Table::Vectors => vector_delta(key, after, embedder)?,
        Table::EdgesIn
        | Table::Keys
        | Table::Hashes
        | Table::Keywords
        | Table::Runs
        | Table::Occurrences
        | Table::Agents
        | Table::Meta
        | Table::Changes
        | Table::Tenants
        | Table::Messages
        | Table::Samples
        | Table::AgentStates
        | Table::Frames
        | Table::Vaults
        | Table::Proposals
        | Table::Reservations
        | Table::TenantSpending => None,
    })
}

/// The fields of an encoded edge, whose texts are not copied.
type EdgeFields<'a> = (NodeId, NodeId, EdgeKind, f64, Timestamp, Timestamp, &'a str, &'a str);

fn edge_delta(bytes: &[u8]) -> Result<Delta> {
    // The graph needs none of the texts, and an import writes hundreds of thousands of edges.
    if let Some((version, body)) = bytes.split_first()
        && *version == Edge::VERSION
        && let Ok((src, dst, kind, strength, ..)) = postcard::from_bytes::<EdgeFields<'_>>(body)
    {
        return Ok(Delta::Edge(EdgeId { src, kind, dst }, kind.graph_strength(strength)));
    }
    Ok(Edge::decode(bytes)?.into())
}

fn vector_delta(key: &[u8], after: Option<&[u8]>, embedder: &str) -> Result<Option<Delta>> {
    let (id, passage, vector_embedder) = keys::read_vector(key)?;
    Ok(match after {
        _ if vector_embedder != embedder.as_bytes() => None,
        Some(bytes) => Some(Delta::Vector(id, passage, vector_encoding::decode(bytes)?)),
        None => Some(Delta::VectorDeleted(id, passage)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use poc_graph::testing;
    use proptest::prelude::*;

    poc_laws::laws! {
        /// The change to the graph is that of the whole record, and a cut record is an error.
        #[test]
        fn an_edge_is_read_without_its_texts(
            kind in 0..EdgeKind::ALL.len(),
            strength in 0.0f64..100.0,
            provenance in any::<String>(),
            reason in any::<String>(),
            cut in any::<prop::sample::Index>(),
        ) {
            let edge = testing::edge(1, 2, EdgeKind::ALL[kind], strength);
            let edge = Edge { touched: Timestamp(-3), provenance, reason, ..edge };
            let bytes = edge.encode().unwrap();
            prop_assert_eq!(edge_delta(&bytes).unwrap(), Delta::from(edge));
            prop_assert!(edge_delta(&bytes[..cut.index(bytes.len())]).is_err());
        }
    }
}
