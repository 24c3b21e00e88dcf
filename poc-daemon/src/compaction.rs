//! Compacts the memory when its files are three times as large as necessary.
//!
//! While an erasure is unfinished, nothing is compacted: the texts that it still has to remove are only in the log.

use crate::state::DaemonState;
use crate::wall_clock;
use poc_graph::error::Result;
use poc_graph::time::Span;
use poc_notes::compaction;
use poc_notes::erasure::Erasure;
use std::sync::Arc;

/// How often the sizes are checked.
const INTERVAL: Span = Span::HOUR;

/// Share of their size by which the files must grow before the next compaction, because the last one may have
/// found nothing to drop.
const GROWTH: f64 = 0.25;

/// Compacts when it is due, until the daemon stops.
pub(crate) async fn run(state: Arc<DaemonState>) {
    let mut last = 0;
    while wall_clock::wait(&state, INTERVAL).await {
        let work = move |state: &DaemonState| compact(state, last);
        if let Some(size) = state.in_background("the memory was not compacted", work).await {
            last = size;
        }
    }
}

/// Compacts if that is due, and returns the size after the last compaction.
fn compact(state: &DaemonState, last: u64) -> Result<u64> {
    let memory = &state.memory;
    let sizes = memory.store.sizes()?;
    let has_grown = (sizes.log + sizes.records) as f64 > last as f64 * (1.0 + GROWTH);
    if memory.store.read_only().is_some() || !has_grown || !compaction::is_due(memory)? {
        return Ok(last);
    }
    if Erasure::has_unfinished(memory)? {
        tracing::warn!(
            "the memory is not compacted while an erasure is unfinished: `poc-memory doctor` names the command that \
             completes it"
        );
        return Ok(last);
    }
    let done = state.with_compaction_callbacks(|callbacks| {
        compaction::compact(memory, memory.config.history.keep, callbacks)
    })?;
    tracing::info!(
        log_before = done.before.log,
        log = done.after.log,
        records_before = done.before.records,
        records = done.after.records,
        deleted = done.deleted,
        "the memory was compacted"
    );
    Ok(done.after.log + done.after.records)
}
