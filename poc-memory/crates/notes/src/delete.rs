//! Permanently deletes nodes.

use super::{derivation, resolve};
use poc_graph::error::Result;
use poc_graph::time::Timestamp;
use poc_graph::{Node, NodeId};
use poc_store::Transaction;

/// The result of a deletion.
#[derive(Clone, Debug)]
pub struct DeleteReport {
    /// The deleted node.
    pub node: Node,
    /// Number of its edges, which were deleted with it.
    pub edges: usize,
    /// The notes that agents had derived from it alone; they were deleted as well.
    pub derived: Vec<Node>,
}

/// Deletes a node with its edges, vectors, keywords, visits and activity, and the notes that agents derived from it
/// alone.
pub fn apply(tx: &mut Transaction<'_>, id: NodeId, now: Timestamp) -> Result<DeleteReport> {
    let node = resolve::expect(tx, id)?;
    let edges = tx.edges(id)?.len();
    let derived = derivation::source_deleted(tx, id, now)?;
    tx.delete_node(id)?;
    Ok(DeleteReport { node, edges, derived })
}
