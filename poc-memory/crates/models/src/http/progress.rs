//! How far a call has come.

use poc_agent::model::{CallError, LONGEST_WAIT};
use poc_graph::time::Span;
use std::cell::Cell;
use std::time::{Duration, Instant};

/// The end of a call, however many attempts it takes, and what was lost on the way.
pub(in super::super) struct Progress {
    until: Instant,
    timeout: Span,
    lost: Cell<u32>,
}

impl Progress {
    /// A call that begins now.
    pub(in super::super) fn begun(timeout: Span) -> Progress {
        Progress { until: Instant::now() + timeout.std().min(LONGEST_WAIT), timeout, lost: Cell::new(0) }
    }

    /// Time left; zero once it has passed.
    pub(in super::super) fn remaining(&self) -> Duration {
        self.until.saturating_duration_since(Instant::now())
    }

    /// What to answer once it has passed.
    pub(in super::super) fn passed(&self) -> CallError {
        CallError::TimedOut(self.timeout)
    }

    /// Counts a request that went out and whose answer never came in whole.
    pub(super) fn lose(&self) {
        self.lost.set(self.lost.get().saturating_add(1));
    }

    /// Requests that the provider may charge although nobody has read its answer.
    pub(in super::super) fn lost(&self) -> u32 {
        self.lost.get()
    }
}
