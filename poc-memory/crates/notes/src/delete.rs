//! Deletes nodes for good.

use super::resolve;
use poc_graph::error::Result;
use poc_graph::{Node, NodeId};
use poc_store::Tx;

/// The result of a deletion.
#[derive(Clone, Debug)]
pub struct DeleteReport {
    /// The deleted node.
    pub node: Node,
    /// Number of its edges, which were deleted, too.
    pub edges: usize,
}

/// Deletes a node with its edges, vectors, keywords, visits and activity.
pub fn apply(tx: &mut Tx<'_>, id: NodeId) -> Result<DeleteReport> {
    let node = resolve::expect(tx, id)?;
    let edges = tx.edges(id)?.len();
    tx.delete_node(id)?;
    Ok(DeleteReport { node, edges })
}
