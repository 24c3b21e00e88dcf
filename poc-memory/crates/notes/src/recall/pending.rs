//! What recalls taught and is not stored yet.
//!
//! A recall writes nothing by itself. What recalls of a tenant and an actor taught is collected in memory, and becomes one
//! transaction a minute in a daemon, or one at the end of a process without a daemon. Notes and pairs that were recalled
//! several times are then written once. What is pending is lost if the process is killed.

use super::learn::{Learning, Lessons, learn};
use crate::Memory;
use parking_lot::Mutex;
use poc_graph::error::Result;
use poc_graph::{Tenant, Tuple};
use std::collections::BTreeMap;

/// With so many pairs, the lessons are stored at once.
const MAX_PENDING_PAIRS: usize = 50_000;

/// The lessons that are not stored yet, by tenant and by who asked.
#[derive(Debug, Default)]
pub struct PendingLessons(Mutex<BTreeMap<(Tenant, String), (Tuple, Lessons)>>);

/// Adds what a recall of an actor taught.
///
/// # Errors
/// `read_only` when the store takes no writes: nothing is learned then.
pub fn record(memory: &Memory, actor: &str, learning: &Learning) -> Result<()> {
    if let Some(cause) = memory.store.read_only() {
        return Err(cause.error());
    }
    let pairs = put(memory, actor, |lessons| lessons.add(learning));
    if pairs < MAX_PENDING_PAIRS { Ok(()) } else { flush(memory) }
}

/// Adds to the lessons of a tenant and an actor. Returns how many pairs they have then.
fn put(memory: &Memory, actor: &str, add: impl FnOnce(&mut Lessons)) -> usize {
    let mut pending = memory.pending_lessons.0.lock();
    let key = (memory.store.tenant(), actor.to_owned());
    let (_, lessons) =
        pending.entry(key).or_insert_with(|| (memory.store.tuple().clone(), Lessons::default()));
    add(lessons);
    lessons.pair_count()
}

/// Stores the pending lessons of every tenant and actor, in one transaction each.
///
/// # Errors
/// `read_only` when the disk fails a write. Lessons that could not be stored stay pending.
pub fn flush(memory: &Memory) -> Result<()> {
    if memory.store.read_only().is_some() {
        return Ok(());
    }
    loop {
        let Some(((_, actor), (tuple, lessons))) = memory.pending_lessons.0.lock().pop_first() else {
            return Ok(());
        };
        let own = memory.of(&tuple);
        let cause = own.cause(&actor, "recall");
        let now = cause.at;
        let stored = own.store.transact(cause, |tx| learn(tx, &lessons, &own.config, &actor, now));
        if let Err(error) = stored {
            put(&own, &actor, |pending| pending.merge(lessons));
            return Err(error);
        }
    }
}
