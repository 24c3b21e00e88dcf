//! What a question sees.

use super::{Ix, View};
use crate::id::NodeId;
use crate::node::Trust;
use crate::time::Timestamp;

/// What a question sees: the instant it is asked at, and whether that takes in what is quarantined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Visibility {
    /// Now. A node past its date has expired, even before that is written down.
    pub now: Timestamp,
    /// Whether nodes are seen that nobody has vouched for.
    pub quarantined: bool,
}

impl Visibility {
    /// Of a person: everything.
    pub fn of_person(now: Timestamp) -> Visibility {
        Visibility { now, quarantined: true }
    }

    /// Of a model that has not asked for more.
    pub fn of_model(now: Timestamp) -> Visibility {
        Visibility { now, quarantined: false }
    }

    /// Whether it takes in so little trust.
    #[inline]
    pub fn admits(self, trust: Trust) -> bool {
        self.quarantined || trust > Trust::Quarantined
    }
}

impl View {
    /// Whether searches see the node.
    pub fn is_visible(&self, ix: Ix, visibility: Visibility) -> bool {
        let in_use = || self.expires(ix).is_none_or(|at| at > visibility.now);
        self.is_live(ix) && (!self.hides_any() || in_use() && visibility.admits(self.trust(ix)))
    }

    /// The live nodes that searches do not see, by index.
    pub fn hidden_nodes(&self, visibility: Visibility) -> Vec<Ix> {
        if !self.hides_any() {
            return Vec::new();
        }
        (0..self.slots()).filter(|&ix| self.is_live(ix) && !self.is_visible(ix, visibility)).collect()
    }

    /// The nodes by id that searches see.
    pub fn visible_filter(&self, visibility: Visibility) -> impl Fn(NodeId) -> bool {
        move |id| self.find(id).is_some_and(|ix| self.is_visible(ix, visibility))
    }
}
