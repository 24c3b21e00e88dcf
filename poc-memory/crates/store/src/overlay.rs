//! Writes of transactions that are built but not yet in the engine.

use super::Txn;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// A write of a transaction, by its place in it.
type NewestWrite = (Arc<Txn>, usize);

/// The newest built value of every key that the engine may not have yet.
#[derive(Default)]
pub(super) struct Overlay {
    last: BTreeMap<Vec<u8>, NewestWrite>,
    waiting: VecDeque<Arc<Txn>>,
}

impl Overlay {
    /// The value a key will have: `None` when the engine knows, `Some(None)` when it will be gone.
    pub(super) fn get(&self, key: &[u8]) -> Option<Option<&[u8]>> {
        self.last.get(key).map(value)
    }

    /// The keys with a prefix and the values they will have, by key.
    pub(super) fn range(&self, prefix: &[u8]) -> impl Iterator<Item = (&[u8], Option<&[u8]>)> {
        self.last
            .range(prefix.to_vec()..)
            .take_while(move |(key, _)| key.starts_with(prefix))
            .map(|(key, last)| (key.as_slice(), value(last)))
    }

    /// Takes the writes of the transaction built last.
    pub(super) fn add(&mut self, txn: Arc<Txn>) {
        for (at, write) in txn.writes.iter().enumerate() {
            self.last.insert(write.table.engine_key(txn.tenant, &write.key), (txn.clone(), at));
        }
        self.waiting.push_back(txn);
    }

    /// Forgets what the engine has: every transaction up to `seq`.
    pub(super) fn remove_up_to(&mut self, seq: u64) {
        while self.waiting.front().is_some_and(|txn| txn.seq <= seq) {
            let Some(txn) = self.waiting.pop_front() else { return };
            for write in &txn.writes {
                let key = write.table.engine_key(txn.tenant, &write.key);
                if self.last.get(&key).is_some_and(|(last, _)| last.seq <= seq) {
                    self.last.remove(&key);
                }
            }
        }
    }
}

fn value((txn, at): &NewestWrite) -> Option<&[u8]> {
    txn.writes.get(*at).and_then(|write| write.after.as_deref())
}
