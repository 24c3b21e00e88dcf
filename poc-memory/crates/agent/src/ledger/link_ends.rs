//! The two nodes of a link that an action adds.

use poc_graph::NodeId;
use serde::{Deserialize, Serialize};

/// The two nodes of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct LinkEnds {
    /// Source node.
    pub from: NodeId,
    /// Destination node.
    pub to: NodeId,
}

impl LinkEnds {
    /// The same nodes in an order that does not depend on the direction of the link.
    #[must_use]
    pub fn undirected(self) -> LinkEnds {
        LinkEnds { from: self.from.min(self.to), to: self.from.max(self.to) }
    }
}
