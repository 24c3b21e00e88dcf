//! Deleting a node for good.

use super::resolve;
use poc_graph::error::Result;
use poc_graph::{Node, NodeId};
use poc_store::Tx;

/// What was deleted.
#[derive(Clone, Debug)]
pub struct DeleteReport {
    /// The node as it was.
    pub node: Node,
    /// Edges that went with it.
    pub edges: usize,
}

/// Deletes a node with everything that hangs on it: edges, vectors, keywords, visits, activity.
pub fn apply(tx: &mut Tx<'_>, id: NodeId) -> Result<DeleteReport> {
    let node = resolve::expect(tx, id)?;
    let edges = tx.edges(id)?.len();
    tx.delete_node(id)?;
    Ok(DeleteReport { node, edges })
}
