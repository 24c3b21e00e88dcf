//! The simplest engine there can be: what the others are compared with.

use super::{Engine, Mark, Put};
use crate::error::Result;
use parking_lot::RwLock;
use std::collections::BTreeMap;

/// A sorted map that is gone when it is dropped.
#[derive(Default)]
pub(in crate::store) struct MemoryEngine(RwLock<(BTreeMap<Vec<u8>, Vec<u8>>, Mark)>);

impl Engine for MemoryEngine {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        Ok(self.0.read().0.get(key).cloned())
    }

    fn scan(&self, prefix: &[u8], each: &mut dyn FnMut(&[u8], &[u8]) -> Result<()>) -> Result<()> {
        let map = self.0.read();
        let range = map.0.range(prefix.to_vec()..).take_while(|(key, _)| key.starts_with(prefix));
        for (key, value) in range {
            each(key, value)?;
        }
        Ok(())
    }

    fn apply(&self, batch: Vec<Put>, mark: Option<Mark>) -> Result<()> {
        let mut state = self.0.write();
        for (key, value) in batch {
            match value {
                Some(value) => state.0.insert(key, value),
                None => state.0.remove(&key),
            };
        }
        state.1 = mark.unwrap_or(state.1);
        Ok(())
    }

    fn mark(&self) -> Result<Mark> {
        Ok(self.0.read().1)
    }

    fn size(&self) -> Result<u64> {
        Ok(self.0.read().0.iter().map(|(key, value)| (key.len() + value.len()) as u64).sum())
    }

    fn flush(&self) -> Result<()> {
        Ok(())
    }
}
