//! Marks responses that only wait for events.

/// An extension of a response: it has no end, and no work is done for it, so its connection counts as idle.
#[derive(Clone, Copy)]
pub(super) struct EventStream;
