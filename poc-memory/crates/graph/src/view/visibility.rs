//! Which nodes a request may see.

use super::{Ix, View};
use crate::id::NodeId;
use crate::node::Trust;
use crate::time::Timestamp;

/// Which nodes a request may see. This depends on the time of the request and on whether it includes quarantined nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Visibility {
    /// The time of the request. Nodes past `expires` are hidden, even before their state is updated.
    pub now: Timestamp,
    /// Whether quarantined nodes are visible.
    pub quarantined: bool,
}

impl Visibility {
    /// The visibility for a person: includes quarantined nodes.
    pub fn of_person(now: Timestamp) -> Visibility {
        Visibility { now, quarantined: true }
    }

    /// The default visibility for a model: excludes quarantined nodes.
    pub fn of_model(now: Timestamp) -> Visibility {
        Visibility { now, quarantined: false }
    }

    /// Whether nodes with this trust are visible.
    #[inline]
    pub fn admits(self, trust: Trust) -> bool {
        self.quarantined || trust > Trust::Quarantined
    }
}

impl View {
    /// Whether the node is live and visible.
    pub fn is_visible(&self, ix: Ix, visibility: Visibility) -> bool {
        let unexpired = || self.expires(ix).is_none_or(|at| at > visibility.now);
        self.is_live(ix) && (!self.hides_any() || unexpired() && visibility.admits(self.trust(ix)))
    }

    /// The live nodes that are not visible, by index.
    pub fn hidden_nodes(&self, visibility: Visibility) -> Vec<Ix> {
        if !self.hides_any() {
            return Vec::new();
        }
        (0..self.slots()).filter(|&ix| self.is_live(ix) && !self.is_visible(ix, visibility)).collect()
    }

    /// A filter that accepts the ids of visible nodes.
    pub fn visible_filter(&self, visibility: Visibility) -> impl Fn(NodeId) -> bool {
        move |id| self.find(id).is_some_and(|ix| self.is_visible(ix, visibility))
    }
}
