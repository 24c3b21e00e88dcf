//! When a call must be over.

use crate::agent::model::CallError;
use crate::agent::model::stop::LONGEST;
use crate::time::Span;
use std::time::{Duration, Instant};

/// The end of a call, however many attempts it takes.
pub(in super::super) struct Deadline {
    at: Instant,
    timeout: Span,
}

impl Deadline {
    /// `timeout` from here on.
    pub(in super::super) fn after(timeout: Span) -> Deadline {
        Deadline { at: Instant::now() + timeout.std().min(LONGEST), timeout }
    }

    /// Time left; zero once it has passed.
    pub(in super::super) fn remaining(&self) -> Duration {
        self.at.saturating_duration_since(Instant::now())
    }

    /// What to answer once it has passed.
    pub(in super::super) fn passed(&self) -> CallError {
        CallError::TimedOut(self.timeout)
    }
}
