//! Writes of transactions that were built but are not yet in the engine.

use super::logged_transaction::LoggedTransaction;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// A write, given as a transaction and an index in its writes.
type NewestWrite = (Arc<LoggedTransaction>, usize);

/// The newest value of every key whose write may not be in the engine yet.
#[derive(Default)]
pub(super) struct Overlay {
    last: BTreeMap<Vec<u8>, NewestWrite>,
    waiting: VecDeque<Arc<LoggedTransaction>>,
    // The number of the first transactions that are in `last`. A transaction that reaches the engine before it becomes
    // readable is never added.
    readable: usize,
}

impl Overlay {
    /// The pending value of a key: `None` if the engine has the current value, and `Some(None)` if the record is
    /// deleted.
    pub(super) fn get(&self, key: &[u8]) -> Option<Option<&[u8]>> {
        self.last.get(key).map(value)
    }

    /// The keys with a prefix and their pending values, sorted by key.
    pub(super) fn range(&self, prefix: &[u8]) -> impl Iterator<Item = (&[u8], Option<&[u8]>)> {
        self.last
            .range(prefix.to_vec()..)
            .take_while(move |(key, _)| key.starts_with(prefix))
            .map(|(key, last)| (key.as_slice(), value(last)))
    }

    /// Adds the most recently built transaction.
    pub(super) fn add(&mut self, txn: Arc<LoggedTransaction>) {
        self.waiting.push_back(txn);
    }

    /// Removes every transaction up to `seq`, which the engine now contains, and makes the writes of the others
    /// readable.
    pub(super) fn advance(&mut self, seq: u64) {
        if self.waiting.back().is_none_or(|txn| txn.seq <= seq) {
            // In the usual case there is nothing to compare.
            *self = Overlay::default();
        }
        while self.waiting.front().is_some_and(|txn| txn.seq <= seq) {
            let Some(txn) = self.waiting.pop_front() else { return };
            if self.readable == 0 {
                continue;
            }
            self.readable -= 1;
            for write in &txn.writes {
                let key = write.table.engine_key(txn.tenant, &write.key);
                if self.last.get(&key).is_some_and(|(last, _)| last.seq <= seq) {
                    self.last.remove(&key);
                }
            }
        }
        for txn in self.waiting.iter().skip(self.readable) {
            for (at, write) in txn.writes.iter().enumerate() {
                self.last.insert(write.table.engine_key(txn.tenant, &write.key), (txn.clone(), at));
            }
        }
        self.readable = self.waiting.len();
    }
}

fn value((txn, at): &NewestWrite) -> Option<&[u8]> {
    txn.writes.get(*at).and_then(|write| write.after.as_deref())
}
