//! Samples of the cosines of inserts and queries, from which thresholds are chosen.
//!
//! The samples of an insert are counted in its transaction. A query writes nothing: its samples stay in memory
//! until the daemon writes a checkpoint, or until a process without a daemon ends. They are lost if the process
//! is killed, which is acceptable for statistics.

use super::Memory;
use parking_lot::Mutex;
use poc_graph::error::Result;
use poc_graph::{Tenant, Tuple};
use poc_rank::histogram::Histogram;
use poc_store::Transaction;
use rustc_hash::FxHashMap;

/// The kind of operation that a sample comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SampleKind {
    /// A new note and the notes nearest to it.
    Insert = 0,
    /// A query and the notes found for it.
    Query = 1,
}

/// The key of a histogram. It contains the embedder, because cosines of two embedders are not comparable.
fn key(kind: SampleKind, embedder: &str) -> Vec<u8> {
    [&[kind as u8], embedder.as_bytes()].concat()
}

/// The samples of queries that are not stored yet, by tenant.
#[derive(Debug, Default)]
pub struct PendingSamples(Mutex<FxHashMap<Tenant, (Tuple, Histogram)>>);

/// Adds samples in a transaction.
fn add(tx: &mut Transaction<'_>, kind: SampleKind, embedder: &str, cosines: &Histogram) -> Result<()> {
    if cosines.is_empty() {
        return Ok(());
    }
    let key = key(kind, embedder);
    let mut all: Histogram = tx.get(&key)?.unwrap_or_default();
    all.merge(cosines);
    tx.put(&key, &all)
}

/// The samples of the inserts of one transaction. Most are stored together, because the histogram is decoded and
/// encoded each time.
#[derive(Default)]
pub(super) struct InsertSamples {
    /// Whether the histogram has its place among the writes of the transaction, which it gets when it is first stored.
    is_stored: bool,
    rest: Histogram,
}

impl InsertSamples {
    /// Adds the samples of an insert.
    pub(super) fn add(
        &mut self,
        tx: &mut Transaction<'_>,
        embedder: &str,
        cosines: &Histogram,
    ) -> Result<()> {
        if self.is_stored {
            self.rest.merge(cosines);
            return Ok(());
        }
        self.is_stored = !cosines.is_empty();
        add(tx, SampleKind::Insert, embedder, cosines)
    }

    /// Stores the samples that are not stored yet.
    pub(super) fn store(self, tx: &mut Transaction<'_>, embedder: &str) -> Result<()> {
        add(tx, SampleKind::Insert, embedder, &self.rest)
    }
}

/// Records the samples of a query in memory.
pub fn record_query(memory: &Memory, cosines: &Histogram) {
    if !cosines.is_empty() {
        let mut pending = memory.pending_samples.0.lock();
        let (_, all) = pending
            .entry(memory.store.tenant())
            .or_insert_with(|| (memory.store.tuple().clone(), Histogram::default()));
        all.merge(cosines);
    }
}

/// All samples of this memory so far.
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

/// Stores the pending samples of every tenant, in one transaction each.
///
/// # Errors
/// `read_only` when the disk fails a write. Samples that could not be stored stay pending.
pub fn flush(memory: &Memory) -> Result<()> {
    if memory.store.read_only().is_some() {
        return Ok(());
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TestMemory;

    /// Also of those after inserts without samples, and beside samples of earlier transactions.
    #[test]
    fn all_samples_of_a_transaction_are_stored() {
        let memory = TestMemory::new();
        let mut expected = Histogram::default();
        let transactions: [&[&[f64]]; 3] =
            [&[&[], &[0.9, 0.1], &[], &[0.9], &[-0.5]], &[&[], &[]], &[&[0.3], &[0.9, 0.2]]];
        for inserts in transactions {
            let histograms: Vec<Histogram> = inserts
                .iter()
                .map(|cosines| {
                    let mut histogram = Histogram::default();
                    cosines.iter().for_each(|&cosine| histogram.add(cosine));
                    histogram
                })
                .collect();
            let embedder = memory.embedder.name();
            let cause = memory.cause("manual", "import");
            let stored = memory.store.transact(cause, |tx| {
                let mut samples = InsertSamples::default();
                histograms.iter().try_for_each(|cosines| samples.add(tx, embedder, cosines))?;
                samples.store(tx, embedder)
            });
            stored.unwrap();
            histograms.iter().for_each(|cosines| expected.merge(cosines));
            assert_eq!(all(&memory, SampleKind::Insert).unwrap(), expected);
        }
    }
}
