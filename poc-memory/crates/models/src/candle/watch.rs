//! When a call has to end.

use poc_agent::model::{CallError, CancellationToken, LONGEST_WAIT};
use poc_graph::time::Span;
use std::time::Instant;

/// The end of a call, looked at between tokens.
pub(super) struct Watch<'a> {
    end: Option<(Instant, Span, &'a CancellationToken)>,
}

impl<'a> Watch<'a> {
    /// A call that begins now.
    pub(super) fn new(timeout: Span, cancellation: &'a CancellationToken) -> Self {
        Watch { end: Some((Instant::now() + timeout.std().min(LONGEST_WAIT), timeout, cancellation)) }
    }

    /// Something short that nobody ends.
    pub(super) fn never() -> Self {
        Watch { end: None }
    }

    /// Whether it may go on.
    pub(super) fn look(&self) -> Result<(), CallError> {
        match self.end {
            Some((.., cancellation)) if cancellation.is_cancelled() => Err(CallError::Stopped),
            Some((until, timeout, _)) if Instant::now() >= until => Err(CallError::TimedOut(timeout)),
            _ => Ok(()),
        }
    }
}
