//! What the index of changes knows of a transaction that created a node.

use super::logged_transaction::Cause;
use super::record_encoding::Record;
use super::table::Table;
use poc_graph::Node;
use poc_graph::error::Result;
use serde::{Deserialize, Serialize};

/// The creation of a node. An import creates hundreds of nodes in one transaction, which need not be read from the
/// log for the history of one of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Creation {
    /// Why.
    pub(super) cause: Cause,
    /// The version of the node.
    pub(super) version: u32,
}

impl Creation {
    /// The creation of a node whose record is given.
    pub(super) fn new(cause: Cause, node: &[u8]) -> Result<Creation> {
        Ok(Creation { cause, version: Node::decode(node)?.version })
    }
}

impl Record for Creation {
    const TABLE: Table = Table::Changes;
}
