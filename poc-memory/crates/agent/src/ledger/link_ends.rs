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
    /// The ends of the link in the other direction.
    #[must_use]
    pub fn reversed(self) -> LinkEnds {
        LinkEnds { from: self.to, to: self.from }
    }
}
