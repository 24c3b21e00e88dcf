//! When a call must be over.

use super::super::CallError;
use crate::time::Span;
use std::time::{Duration, Instant};

/// The end of a call, however many attempts it takes.
pub(in super::super) struct Deadline {
    at: Option<Instant>,
    timeout: Span,
}

impl Deadline {
    /// `timeout` from here on.
    pub(in super::super) fn after(timeout: Span) -> Deadline {
        Deadline { at: Instant::now().checked_add(timeout.std()), timeout }
    }

    /// Time left; zero once it has passed.
    pub(in super::super) fn remaining(&self) -> Duration {
        self.at.map_or(Duration::MAX, |at| at.saturating_duration_since(Instant::now()))
    }

    /// What to answer once it has passed.
    pub(in super::super) fn passed(&self) -> CallError {
        CallError::TimedOut(self.timeout)
    }
}
