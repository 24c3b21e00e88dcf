//! The state of the writers.

use super::commit::outcome::Outcome;
use super::overlay::Overlay;
use super::views::Views;
use parking_lot::ReentrantMutex;
use std::cell::RefCell;
use std::sync::Arc;

/// The state of the writers, which the committer takes back to what is durable when the disk fails.
pub(super) type Writer = Arc<ReentrantMutex<RefCell<WriterState>>>;

/// The state as of the last transaction that was built, durable or not.
pub(super) struct WriterState {
    pub(super) seq: u64,
    pub(super) views: Views,
    pub(super) overlay: Overlay,
    /// The outcome of that transaction; `None` when it is durable.
    pub(super) last: Option<Arc<Outcome>>,
}

impl WriterState {
    /// The state after transaction `seq`, which is durable, to be shared.
    pub(super) fn shared(seq: u64, views: Views) -> Writer {
        let state = WriterState { seq, views, overlay: Overlay::default(), last: None };
        Arc::new(ReentrantMutex::new(RefCell::new(state)))
    }
}
