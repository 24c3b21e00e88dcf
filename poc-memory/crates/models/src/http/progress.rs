//! The deadline and the lost attempts of a call.

use poc_agent::model::CallError;
use poc_graph::cancellation::LONGEST_WAIT;
use poc_graph::time::Span;
use std::cell::Cell;
use std::time::{Duration, Instant};

/// The deadline of a call over all its attempts, and how many attempts were lost.
pub(in super::super) struct CallProgress {
    deadline: Instant,
    timeout: Span,
    lost: Cell<u32>,
}

impl CallProgress {
    /// A call that starts now.
    pub(in super::super) fn start(timeout: Span) -> CallProgress {
        CallProgress {
            deadline: Instant::now() + timeout.std().min(LONGEST_WAIT),
            timeout,
            lost: Cell::new(0),
        }
    }

    /// The time left; zero after the deadline.
    pub(in super::super) fn remaining(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    /// The error of a call whose deadline has passed.
    pub(in super::super) fn timeout_error(&self) -> CallError {
        CallError::TimedOut(self.timeout)
    }

    /// Counts a request that was sent and whose response did not arrive completely.
    pub(super) fn count_lost(&self) {
        self.lost.set(self.lost.get().saturating_add(1));
    }

    /// Requests that the provider may charge although their responses were not read.
    pub(in super::super) fn lost(&self) -> u32 {
        self.lost.get()
    }
}
