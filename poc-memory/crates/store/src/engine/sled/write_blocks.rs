//! Writes changes of records as blocks, each with a single write to sled.
//!
//! Readers may look up a record at any time, and a crash may end the writes after any of them. A record that moves to
//! another block is therefore written there first and removed from its old block afterwards. Until then, or permanently
//! after a crash, the old block ends with records that belong to the new one. They are beyond its upper bound, where no
//! reader looks.

use super::{SledEngine, UNFINISHED_KEY, WATERMARK_KEY, block_key, encode_watermark};
use crate::engine::block::{self, EncodedBlock};
use crate::engine::{Put, Watermark, sorted};
use poc_graph::error::Result;
use std::ops::Bound;

type Write<'a> = &'a mut dyn FnMut(Put) -> Result<()>;

impl SledEngine {
    /// Writes changes. [`UNFINISHED_KEY`] marks them as incomplete from the first write to the last.
    pub(super) fn write_changes(
        &self,
        changes: &[Put],
        watermark: Watermark,
        write: Write<'_>,
    ) -> Result<()> {
        let sorted = sorted(changes);
        let mut left: &[Put] = &sorted;
        write((UNFINISHED_KEY.to_vec(), Some(encode_watermark(watermark))))?;
        while let Some((first, _)) = left.first() {
            let found = self.stored_block(first)?;
            let (lower, upper) = match &found {
                Some(found) => (found.lower.clone(), found.upper.clone()),
                None => (Vec::new(), self.lower_bound_after(block_key(first))?),
            };
            let belongs = |key: &[u8]| upper.as_deref().is_none_or(|upper| key < upper);
            let (own, later) = left.split_at(left.partition_point(|(key, _)| belongs(key)));
            left = later;
            let old = found.as_ref().map(|found| found.block.as_ref());
            let merged = self.record_damage(block::merge(old, own, upper.as_deref()))?;
            self.replace_block(&lower, merged, write)?;
        }
        write((WATERMARK_KEY.to_vec(), Some(encode_watermark(watermark))))?;
        write((UNFINISHED_KEY.to_vec(), None))
    }

    /// Writes the blocks that replace the block with this smallest key.
    fn replace_block(&self, lower: &[u8], blocks: Vec<EncodedBlock>, write: Write<'_>) -> Result<()> {
        if blocks.is_empty() {
            return self.remove_block(lower, write);
        }
        // The first block overwrites the old one, so it is written last.
        for (at, (first, block)) in blocks.into_iter().enumerate().rev() {
            write((block_key(if at == 0 { lower } else { &first }), Some(block)))?;
        }
        Ok(())
    }

    /// Removes an empty block. Its keys then belong to the previous block, which must not end with records that an
    /// interrupted write has left.
    fn remove_block(&self, lower: &[u8], write: Write<'_>) -> Result<()> {
        let key = block_key(lower);
        // The first block has the empty key.
        let before = match lower.is_empty() {
            true => None,
            false => self.last_block(Bound::Excluded(key.as_slice()))?,
        };
        if let Some((before, block)) = before
            && self.record_damage(block.reaches(lower))?
        {
            let kept = self.record_damage(block::merge(Some(&block), &[], Some(lower)))?;
            self.replace_block(&before, kept, write)?;
        }
        write((key, None))
    }
}
