//! A change of a node, as recorded in the log.

use super::Cause;
use poc_graph::Node;

/// A change of one node.
#[derive(Clone, Debug, PartialEq)]
pub struct LoggedChange {
    /// The sequence number of the transaction.
    pub seq: u64,
    /// The cause of the transaction.
    pub cause: Cause,
    /// What happened to the node.
    pub kind: LoggedChangeKind,
}

/// What a transaction did to a node.
#[derive(Clone, Debug, PartialEq)]
pub enum LoggedChangeKind {
    /// Created the node with this version number.
    Created(u32),
    /// Changed the node.
    Changed {
        /// The node before the change.
        before: Box<Node>,
        /// The node after the change.
        after: Box<Node>,
    },
    /// Deleted the node, whose last state this was.
    Deleted(Box<Node>),
}
