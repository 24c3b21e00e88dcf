//! Limits the history of a memory and the size of its files.

use super::Memory;
use poc_config::HistoryRetention;
use poc_graph::error::Result;
use poc_graph::time::{Span, Timestamp};
use poc_store::{Compaction, CompactionCallbacks, StoreSizes};

/// The log or the records are compacted when they are this many times as large as the contents of the
/// records.
const GROWN: u64 = 3;

/// Minimum size in bytes of files that are compacted automatically.
const COMPACTION_MIN_BYTES: u64 = 32 << 20;

/// Size in bytes from which a log may be too large if all history is kept.
const LARGE_LOG_BYTES: u64 = 100 << 20;

/// The time before which the settings delete history; `None` when everything is kept.
pub fn horizon(keep: HistoryRetention, now: Timestamp) -> Option<Timestamp> {
    match keep {
        HistoryRetention::All => None,
        HistoryRetention::For(Span(millis)) => Some(Timestamp(now.0.saturating_sub(millis))),
    }
}

/// Drops history that is older than `keep`, and rewrites the records without unused space.
///
/// # Errors
/// As `Store::compact`.
pub fn compact(
    memory: &Memory,
    keep: HistoryRetention,
    callbacks: &CompactionCallbacks<'_>,
) -> Result<Compaction> {
    memory.store.compact(horizon(keep, memory.now()), callbacks)
}

/// Whether a log of all history is large: at least 100 MiB, and more than three times as large as the records. Such a log
/// is never compacted automatically, because only a person may decide to delete history.
pub fn is_log_large(log: u64, records: u64) -> bool {
    log >= LARGE_LOG_BYTES && log > GROWN * records
}

/// Whether a compaction is worth its cost: the log (if history is bounded) or the files of the records are three times
/// as large as the live records. Reads all records unless the files are small.
pub fn is_due(memory: &Memory) -> Result<bool> {
    let StoreSizes { log, records } = memory.store.sizes()?;
    let log = if memory.config.history.keep == HistoryRetention::All { 0 } else { log };
    let greatest = log.max(records);
    Ok(greatest >= COMPACTION_MIN_BYTES && greatest >= GROWN * memory.store.live_bytes()?)
}
