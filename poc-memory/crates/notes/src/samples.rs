//! Which cosines notes and questions meet: what thresholds are set by.
//!
//! Those of an insert are counted in its own transaction. A question writes nothing: what it met waits
//! in memory until the daemon writes a checkpoint, or a process without one is done. What waits when a
//! process is killed is lost; these are statistics.

use super::Memory;
use parking_lot::Mutex;
use poc_graph::error::Result;
use poc_graph::{Tenant, Tuple};
use poc_rank::histogram::Histogram;
use poc_store::Tx;
use rustc_hash::FxHashMap;

/// What met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SampleKind {
    /// A new note and the notes nearest to it.
    Insert = 0,
    /// A question and the notes found for it.
    Query = 1,
}

/// Where it is kept: cosines belong to an embedder.
fn key(kind: SampleKind, embedder: &str) -> Vec<u8> {
    [&[kind as u8], embedder.as_bytes()].concat()
}

/// What questions have met and is not stored yet.
#[derive(Debug, Default)]
pub struct PendingSamples(Mutex<FxHashMap<Tenant, (Tuple, Histogram)>>);

/// Counts what met in a transaction.
pub(super) fn add(tx: &mut Tx<'_>, kind: SampleKind, embedder: &str, cosines: &Histogram) -> Result<()> {
    if cosines.is_empty() {
        return Ok(());
    }
    let key = key(kind, embedder);
    let mut all: Histogram = tx.get(&key)?.unwrap_or_default();
    all.merge(cosines);
    tx.put(&key, &all)
}

/// Remembers what a question has met.
pub fn record_query(memory: &Memory, cosines: &Histogram) {
    if !cosines.is_empty() {
        let mut pending = memory.pending_samples.0.lock();
        let (_, all) = pending
            .entry(memory.store.tenant())
            .or_insert_with(|| (memory.store.tuple().clone(), Histogram::default()));
        all.merge(cosines);
    }
}

/// Everything that has met in this memory so far.
pub fn all(memory: &Memory, kind: SampleKind) -> Result<Histogram> {
    let stored = memory.store.get(&key(kind, memory.embedder.name()))?;
    let mut all: Histogram = stored.unwrap_or_default();
    if kind == SampleKind::Query
        && let Some((_, pending)) = memory.pending_samples.0.lock().get(&memory.store.tenant())
    {
        all.merge(pending);
    }
    Ok(all)
}

/// Whether anything waits to be stored, of any tenant.
pub fn has_pending(memory: &Memory) -> bool {
    !memory.pending_samples.0.lock().is_empty()
}

/// Stores what waits, of every tenant, in one transaction each.
///
/// # Errors
/// Those of the store; what is not stored waits on.
pub fn flush(memory: &Memory) -> Result<()> {
    loop {
        let Some((tuple, cosines)) = ({
            let mut pending = memory.pending_samples.0.lock();
            let tenant = pending.keys().next().copied();
            tenant.and_then(|tenant| pending.remove(&tenant))
        }) else {
            return Ok(());
        };
        let own = memory.of(&tuple);
        let cause = own.cause("poc-memory", "samples");
        let embedder = own.embedder.name();
        if let Err(error) = own.store.transact(cause, |tx| add(tx, SampleKind::Query, embedder, &cosines)) {
            record_query(&own, &cosines);
            return Err(error);
        }
    }
}
