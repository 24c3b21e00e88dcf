//! A cache of recently read blocks.

use super::block::Block;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

/// The block that a key belongs to.
#[derive(Clone)]
pub(in crate::engine) struct CachedBlock {
    /// The smallest key that belongs to the block.
    pub(in crate::engine) lower: Vec<u8>,
    /// The smallest key of the next block; `None` for the last block.
    pub(in crate::engine) upper: Option<Vec<u8>>,
    pub(in crate::engine) block: Arc<Block>,
}

/// A cache of blocks with a maximum size in bytes. It approximates least recently used: a block that is used moves to
/// the newer generation, and the older generation is dropped when the newer one is full.
pub(in crate::engine) struct BlockCache {
    generations: Mutex<Generations>,
    /// The maximum size of a generation, in bytes.
    max_generation: usize,
}

#[derive(Default)]
struct Generations {
    newer: BTreeMap<Vec<u8>, CachedBlock>,
    older: BTreeMap<Vec<u8>, CachedBlock>,
    /// The size of the newer generation, in bytes.
    bytes: usize,
    /// How often blocks on the disk have changed. A block that was read before a change must not be added after it.
    changes: u64,
}

impl BlockCache {
    /// Creates an empty cache of at most `bytes` bytes.
    pub(in crate::engine) fn new(bytes: usize) -> BlockCache {
        BlockCache { generations: Mutex::default(), max_generation: bytes / 2 }
    }

    /// The block of a key. If it is not cached, the error is the number of changes so far, to be passed to
    /// [`BlockCache::put`].
    pub(in crate::engine) fn get(&self, key: &[u8]) -> Result<CachedBlock, u64> {
        let mut generations = self.generations.lock();
        if let Some(found) = find(&generations.newer, key) {
            return Ok(found.clone());
        }
        self.renew(&mut generations, key)
    }

    /// Like [`BlockCache::get`], without copies of the bounds of the block.
    pub(in crate::engine) fn block(&self, key: &[u8]) -> Result<Arc<Block>, u64> {
        let mut generations = self.generations.lock();
        if let Some(found) = find(&generations.newer, key) {
            return Ok(found.block.clone());
        }
        self.renew(&mut generations, key).map(|found| found.block)
    }

    /// Moves the block of a key from the older generation to the newer one, and returns it.
    fn renew(&self, generations: &mut Generations, key: &[u8]) -> Result<CachedBlock, u64> {
        let found = find(&generations.older, key).cloned().ok_or(generations.changes)?;
        generations.older.remove(&found.lower);
        self.insert(generations, found.clone());
        Ok(found)
    }

    /// Adds a block that was read when there had been `changes` changes, unless there were more since.
    pub(in crate::engine) fn put(&self, changes: u64, found: &CachedBlock) {
        let mut generations = self.generations.lock();
        if generations.changes == changes {
            self.insert(&mut generations, found.clone());
        }
    }

    /// Removes all blocks. It is called before and after blocks change.
    pub(in crate::engine) fn clear(&self) {
        let mut generations = self.generations.lock();
        *generations = Generations { changes: generations.changes + 1, ..Generations::default() };
    }

    fn insert(&self, generations: &mut Generations, found: CachedBlock) {
        let bytes = found.block.len();
        if bytes > self.max_generation {
            return;
        }
        if generations.bytes + bytes > self.max_generation {
            generations.older = std::mem::take(&mut generations.newer);
            generations.bytes = 0;
        }
        generations.bytes += bytes;
        generations.newer.insert(found.lower.clone(), found);
    }
}

fn find<'a>(generation: &'a BTreeMap<Vec<u8>, CachedBlock>, key: &[u8]) -> Option<&'a CachedBlock> {
    let (_, found) = generation.range::<[u8], _>((Bound::Unbounded, Bound::Included(key))).next_back()?;
    found.upper.as_deref().is_none_or(|upper| key < upper).then_some(found)
}
