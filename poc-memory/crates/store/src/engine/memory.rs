//! The simplest engine. It is the reference for tests of the others, and the last resort if no folder can be written
//! to.

use super::{Engine, Put, Visitor, Watermark};
use parking_lot::RwLock;
use poc_graph::error::Result;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// A sorted map in memory. Its contents are lost when it is dropped.
#[derive(Default)]
pub(crate) struct InMemoryEngine(RwLock<SortedRecords>);

#[derive(Default)]
struct SortedRecords {
    records: BTreeMap<Vec<u8>, Vec<u8>>,
    watermark: Watermark,
}

impl Engine for InMemoryEngine {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        Ok(self.0.read().records.get(key).cloned())
    }

    fn scan(&self, prefix: &[u8], each: &mut Visitor) -> Result<()> {
        // As in sled, a batch does not have to wait for scans.
        let found: Vec<_> = {
            let records = &self.0.read().records;
            let range = records.range(prefix.to_vec()..).take_while(|(key, _)| key.starts_with(prefix));
            range.map(|(key, value)| (key.clone(), value.clone())).collect()
        };
        found.iter().try_for_each(|(key, value)| each(key, value))
    }

    fn first_key(&self, prefix: &[u8], from: &[u8]) -> Result<Option<Vec<u8>>> {
        let records = &self.0.read().records;
        let first = records.range(from.to_vec()..).next().map(|(key, _)| key);
        Ok(first.filter(|key| key.starts_with(prefix)).cloned())
    }

    fn apply(&self, changes: Cow<'_, [Put]>, watermark: Watermark) -> Result<()> {
        let mut state = self.0.write();
        for (key, value) in changes.into_owned() {
            match value {
                Some(value) => state.records.insert(key, value),
                None => state.records.remove(&key),
            };
        }
        state.watermark = watermark;
        Ok(())
    }

    fn watermark(&self) -> Result<Watermark> {
        Ok(self.0.read().watermark)
    }

    fn size(&self) -> Result<u64> {
        Ok(self.0.read().records.iter().map(|(key, value)| (key.len() + value.len()) as u64).sum())
    }

    fn flush(&self) -> Result<()> {
        Ok(())
    }
}
