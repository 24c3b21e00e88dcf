//! From physical writes to what they mean for the view and the indexes.

use super::{Record, Table, Txn, Write, keys, vector};
use crate::error::Result;
use crate::graph::{Activity, Delta, Edge, Node, Visit};
use std::sync::Arc;

/// What a transaction did, in the order of its writes. Vectors of other embedders than the one in
/// use are left out.
pub(super) fn deltas(txn: &Txn, embedder: &str) -> Result<Vec<Delta>> {
    let mut deltas = Vec::new();
    for write in &txn.writes {
        deltas.extend(delta(write, embedder)?);
    }
    Ok(deltas)
}

fn delta(write: &Write, embedder: &str) -> Result<Option<Delta>> {
    let key = write.key.as_slice();
    let after = write.after.as_deref();
    Ok(match write.table {
        Table::Nodes => Some(match after {
            Some(bytes) => Delta::Node(Arc::new(Node::decode(bytes)?)),
            None => Delta::NodeGone(keys::read_id(key)?),
        }),
        // Activity goes only together with its node.
        Table::Activity => match after {
            Some(bytes) => Some(Delta::Activity(keys::read_id(key)?, Activity::decode(bytes)?)),
            None => None,
        },
        Table::Edges => Some(match after {
            Some(bytes) => Delta::Edge(Edge::decode(bytes)?),
            None => {
                let (src, kind, dst) = keys::read_edge(key)?;
                Delta::EdgeGone(src, kind, dst)
            }
        }),
        Table::Visits => {
            let (id, agent) = keys::read_visit(key)?;
            Some(match after {
                Some(bytes) => Delta::Visit(agent.into(), id, Visit::decode(bytes)?),
                None => Delta::VisitGone(agent.into(), id),
            })
        }
        Table::Vectors => {
            let (id, part, of) = keys::read_vector(key)?;
            match after {
                _ if of != embedder.as_bytes() => None,
                Some(bytes) => Some(Delta::Vector(id, part, vector::decode(bytes)?)),
                None => Some(Delta::VectorGone(id, part)),
            }
        }
        Table::EdgesIn
        | Table::Keys
        | Table::Hashes
        | Table::Keywords
        | Table::Runs
        | Table::Occurrences
        | Table::Agents
        | Table::Meta
        | Table::Changes => None,
    })
}
