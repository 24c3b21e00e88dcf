//! The entry in the index of changes for a transaction that created a node.

use super::logged_transaction::Cause;
use super::record_encoding::Record;
use super::table::Table;
use poc_graph::error::Result;
use poc_graph::time::Timestamp;
use poc_graph::{Node, RunId};
use serde::{Deserialize, Serialize};

/// The creation of a node. An import creates hundreds of nodes in one transaction. With this entry, the history of one
/// of them can be shown without reading that transaction from the log. Only the parts of the cause that a history shows
/// are stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Creation {
    at: Timestamp,
    actor: String,
    run: Option<RunId>,
    op: String,
    /// The version of the node.
    pub(super) version: u32,
}

impl Creation {
    /// Creates the entry from the cause and the encoded node.
    pub(super) fn new(cause: &Cause, node: &[u8]) -> Result<Creation> {
        let Cause { at, actor, run, op, began: _, undoes: _ } = cause.clone();
        Ok(Creation { at, actor, run, op, version: Node::decode(node)?.version })
    }

    /// Why the node was created.
    pub(super) fn cause(&self) -> Cause {
        Cause { run: self.run, ..Cause::new(self.at, &*self.actor, &*self.op) }
    }
}

impl Record for Creation {
    const TABLE: Table = Table::Changes;
}
