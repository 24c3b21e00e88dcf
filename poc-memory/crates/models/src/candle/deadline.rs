//! The deadline of a call.

use poc_agent::model::CallError;
use poc_graph::cancellation::{CancellationToken, LONGEST_WAIT};
use poc_graph::time::Span;
use std::time::Instant;

/// When a call has to end, checked between tokens and while a file is read.
pub(super) struct Deadline<'a> {
    end: Option<(Instant, Span, &'a CancellationToken)>,
}

impl<'a> Deadline<'a> {
    /// The deadline of a call that starts now.
    pub(super) fn new(timeout: Span, cancellation: &'a CancellationToken) -> Self {
        Deadline { end: Some((Instant::now() + timeout.std().min(LONGEST_WAIT), timeout, cancellation)) }
    }

    /// No deadline, for short work.
    pub(super) fn never() -> Self {
        Deadline { end: None }
    }

    /// An error if the call was cancelled or the deadline has passed.
    pub(super) fn check(&self) -> Result<(), CallError> {
        match self.end {
            Some((.., cancellation)) if cancellation.is_cancelled() => Err(CallError::Stopped),
            Some((until, timeout, _)) if Instant::now() >= until => Err(CallError::TimedOut(timeout)),
            _ => Ok(()),
        }
    }
}
