//! When a call has to end.

use crate::agent::model::stop::LONGEST;
use crate::agent::model::{CallError, Stop};
use crate::time::Span;
use std::time::Instant;

/// The end of a call, looked at between tokens.
pub(super) struct Watch<'a> {
    end: Option<(Instant, Span, &'a Stop)>,
}

impl<'a> Watch<'a> {
    /// A call that begins now.
    pub(super) fn new(timeout: Span, stop: &'a Stop) -> Self {
        Watch { end: Some((Instant::now() + timeout.std().min(LONGEST), timeout, stop)) }
    }

    /// Something short that nobody ends.
    pub(super) fn never() -> Self {
        Watch { end: None }
    }

    /// Whether it may go on.
    pub(super) fn look(&self) -> Result<(), CallError> {
        match self.end {
            Some((.., stop)) if stop.is_stopped() => Err(CallError::Stopped),
            Some((until, timeout, _)) if Instant::now() >= until => Err(CallError::TimedOut(timeout)),
            _ => Ok(()),
        }
    }
}
