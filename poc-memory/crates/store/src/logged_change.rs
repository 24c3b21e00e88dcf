//! A change of a node, as the log has it.

use super::Cause;
use poc_graph::Node;

/// One change of one node.
#[derive(Clone, Debug, PartialEq)]
pub struct LoggedChange {
    /// Sequence number of the transaction.
    pub seq: u64,
    /// What caused it.
    pub cause: Cause,
    /// What happened to the node.
    pub kind: LoggedChangeKind,
}

/// What a transaction did to a node.
#[derive(Clone, Debug, PartialEq)]
pub enum LoggedChangeKind {
    /// It created the node, in a version.
    Created(u32),
    /// It changed the node.
    Changed {
        /// The node before.
        before: Box<Node>,
        /// The node after.
        after: Box<Node>,
    },
    /// It deleted the node, which was as given.
    Deleted(Box<Node>),
}
