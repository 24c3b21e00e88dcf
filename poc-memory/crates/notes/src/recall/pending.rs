//! Updates by recalls that are not stored yet.
//!
//! A recall writes nothing by itself. The updates of a tenant and an actor are collected in memory, and
//! become one transaction every few minutes in a daemon, or one at the end of a process without a daemon. Notes
//! and pairs that were recalled several times are then written once. What is pending is lost if the process is
//! killed.

use super::learn::{RecallUpdate, RecallUpdateBatch, learn};
use crate::Memory;
use parking_lot::Mutex;
use poc_graph::error::Result;
use poc_graph::{Tenant, Tuple};
use std::collections::BTreeMap;

/// Number of pairs at which the updates are stored at once.
const MAX_PENDING_PAIRS: usize = 50_000;

/// The updates that are not stored yet, by tenant and actor.
#[derive(Debug, Default)]
pub struct PendingUpdates {
    by_actor: Mutex<BTreeMap<(Tenant, String), (Tuple, RecallUpdateBatch)>>,
    /// Held while updates are stored, so that all updates are stored when a concurrent flush returns.
    flushing: Mutex<()>,
}

/// Adds the update of a recall by an actor.
///
/// # Errors
/// `read_only` when the store takes no writes; nothing is learned then.
pub fn record(memory: &Memory, actor: &str, update: &RecallUpdate) -> Result<()> {
    if let Some(cause) = memory.store.read_only() {
        return Err(cause.error());
    }
    let pairs = put(memory, actor, |updates| updates.add(update));
    if pairs < MAX_PENDING_PAIRS { Ok(()) } else { flush(memory) }
}

/// The number of recalls whose updates are not stored yet.
pub fn pending_recalls(memory: &Memory) -> usize {
    memory.pending_updates.by_actor.lock().values().map(|(_, updates)| updates.recall_count()).sum()
}

/// Adds to the updates of a tenant and an actor. Returns how many pairs they have then.
fn put(memory: &Memory, actor: &str, add: impl FnOnce(&mut RecallUpdateBatch)) -> usize {
    let mut pending = memory.pending_updates.by_actor.lock();
    let key = (memory.store.tenant(), actor.to_owned());
    let (_, updates) =
        pending.entry(key).or_insert_with(|| (memory.store.tuple().clone(), RecallUpdateBatch::default()));
    add(updates);
    updates.pair_count()
}

/// Stores the pending updates of every tenant and actor, in one transaction each. Waits for another flush to end.
///
/// # Errors
/// `read_only` when the disk fails a write. Updates that could not be stored stay pending, and the others are stored.
pub fn flush(memory: &Memory) -> Result<()> {
    let _flushing = memory.pending_updates.flushing.lock();
    if memory.store.read_only().is_some() {
        return Ok(());
    }
    let pending = std::mem::take(&mut *memory.pending_updates.by_actor.lock());
    let mut result = Ok(());
    for ((_, actor), (tuple, updates)) in pending {
        let own = memory.of(&tuple);
        let cause = own.cause(&actor, "recall");
        let now = cause.at;
        let stored = own.store.transact(cause, |tx| learn(tx, &updates, &own.config, &actor, now));
        if let Err(error) = stored {
            put(&own, &actor, |pending| pending.merge(updates));
            result = result.and(Err(error));
        }
    }
    result
}
