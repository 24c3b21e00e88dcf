//! Runs the agents that are due.

use crate::shared::Shared;
use std::sync::Arc;

/// Starts what is due until the daemon is to stop; returns when the last run it started has ended.
pub(crate) async fn run(shared: Arc<Shared>) {
    shared.stopped().await;
}
