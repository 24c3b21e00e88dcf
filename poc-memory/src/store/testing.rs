//! A follower that stands still when it is told to.

use super::Follower;
use crate::error::{Error, Result};
use crate::graph::{Delta, NodeId};
use parking_lot::{Condvar, Mutex};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Where a [`Slow`] follower stands still.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// Before it has read back what it saved.
    Load,
    /// While it is fed.
    Feed,
}

/// Knows which nodes there are, in memory alone.
#[derive(Debug, Default)]
pub(crate) struct Slow {
    stop: Mutex<Option<Stop>>,
    moved: Condvar,
    state: Mutex<(u64, BTreeSet<NodeId>)>,
}

impl Slow {
    /// Stands still at a place until [`Slow::go`].
    pub(crate) fn at(stop: Stop) -> Slow {
        Slow { stop: Mutex::new(Some(stop)), ..Slow::default() }
    }

    /// Lets it go on.
    pub(crate) fn go(&self) {
        *self.stop.lock() = None;
        self.moved.notify_all();
    }

    /// How many nodes it knows.
    pub(crate) fn known(&self) -> usize {
        self.state.lock().1.len()
    }

    fn pass(&self, place: Stop) {
        self.moved.wait_while(&mut self.stop.lock(), |stop| *stop == Some(place));
    }
}

impl Follower for Slow {
    fn name(&self) -> &'static str {
        "slow"
    }

    fn load(&self) -> Result<()> {
        self.pass(Stop::Load);
        Ok(())
    }

    fn applied(&self) -> u64 {
        self.state.lock().0
    }

    fn reset(&self) -> Result<()> {
        Err(Error::internal("it has nothing saved"))
    }

    fn apply(&self, seq: u64, deltas: &[Delta]) -> Result<()> {
        self.pass(Stop::Feed);
        let (applied, nodes) = &mut *self.state.lock();
        for delta in deltas {
            match delta {
                Delta::Node(node) => drop(nodes.insert(node.id)),
                Delta::NodeGone(id) => drop(nodes.remove(id)),
                _ => {}
            }
        }
        *applied = (*applied).max(seq);
        Ok(())
    }

    fn checkpoint(&self) -> Result<()> {
        Ok(())
    }
}

/// Lets a follower go on when a test ends, also one that fails: its store waits for it.
pub(crate) struct Release(pub(crate) Arc<Slow>);

impl Drop for Release {
    fn drop(&mut self) {
        self.0.go();
    }
}
