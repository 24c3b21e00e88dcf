//! Blocks of records, which sled and sorted tables store instead of single records.
//!
//! A block holds consecutive records. For each it has the number of bytes that its key shares with the previous key,
//! the lengths of the rest of the key and of the value (LEB128), the rest of the key, and the value. The whole is
//! compressed (see [`block_compression`](super::block_compression)).

use super::block_compression::{self, Compression, MAX_BYTES};
use crate::compression;
use crate::engine::{EngineError, Put, put_length};
use std::borrow::Borrow;
use std::ops::Range;

/// Size of the records, in bytes, from which a block is split. sled keeps up to 16 blocks in a page and writes pages
/// beyond 128 KiB into separate files.
const SPLIT_BYTES: usize = 4096;

/// The first key of a block, and the compressed block.
pub(in crate::engine) type EncodedBlock = (Vec<u8>, Vec<u8>);

/// The uncompressed records of a block.
pub(in crate::engine) struct Block(Vec<u8>);

impl Block {
    /// Decompresses a block.
    pub(in crate::engine) fn decode(bytes: &[u8]) -> Result<Block, EngineError> {
        Block::decode_up_to(MAX_BYTES, bytes)
    }

    /// Decompresses a block of at most `max` bytes.
    pub(in crate::engine) fn decode_up_to(max: usize, bytes: &[u8]) -> Result<Block, EngineError> {
        let records = compression::decompress(bytes, max);
        Ok(Block(records.map_err(|why| damaged(format!("a block cannot be decompressed: {why}")))?))
    }

    /// The uncompressed size, in bytes.
    pub(in crate::engine) fn len(&self) -> usize {
        self.0.len()
    }

    /// A reader of the records in order.
    pub(in crate::engine) fn records(&self) -> BlockReader<&Block> {
        BlockReader::new(self)
    }

    /// The number of records up to the first one that cannot be read.
    pub(in crate::engine) fn number_of_records(&self) -> u64 {
        let mut records = self.records();
        let mut number = 0;
        while records.advance().is_ok_and(|is_record| is_record) {
            number += 1;
        }
        number
    }

    /// Whether the block has a record whose key is `key` or greater.
    pub(in crate::engine) fn reaches(&self, key: &[u8]) -> Result<bool, EngineError> {
        let mut records = self.records();
        while records.advance()? {
            if records.key() >= key {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The value of a key.
    pub(in crate::engine) fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, EngineError> {
        let mut records = self.records();
        while records.advance()? {
            if records.key() >= key {
                return Ok((records.key() == key).then(|| records.value().to_vec()));
            }
        }
        Ok(None)
    }
}

/// Reads the records of a block.
pub(in crate::engine) struct BlockReader<B> {
    block: B,
    /// The position of the next record.
    next: usize,
    key: Vec<u8>,
    value: Range<usize>,
    length: usize,
}

impl<B: Borrow<Block>> BlockReader<B> {
    /// A reader that is before the first record.
    pub(in crate::engine) fn new(block: B) -> BlockReader<B> {
        BlockReader { block, next: 0, key: Vec::new(), value: 0..0, length: 0 }
    }

    /// The block.
    pub(in crate::engine) fn block(&self) -> &Block {
        self.block.borrow()
    }

    /// The key of the current record.
    pub(in crate::engine) fn key(&self) -> &[u8] {
        &self.key
    }

    /// The value of the current record.
    pub(in crate::engine) fn value(&self) -> &[u8] {
        self.block.borrow().0.get(self.value.clone()).unwrap_or_default()
    }

    /// Whether the current record is the first one of the block.
    pub(in crate::engine) fn is_first(&self) -> bool {
        self.next > 0 && self.next == self.length
    }

    /// The number of bytes that the current record takes in the block.
    fn length(&self) -> usize {
        self.length
    }

    /// Advances to the next record; `false` if there is none.
    pub(in crate::engine) fn advance(&mut self) -> Result<bool, EngineError> {
        let bytes = self.block.borrow().0.as_slice();
        let mut rest = bytes.get(self.next..).unwrap_or_default();
        if rest.is_empty() {
            return Ok(false);
        }
        let (shared, own, length) =
            (take_number(&mut rest)?, take_number(&mut rest)?, take_number(&mut rest)?);
        if shared > self.key.len() {
            return Err(damaged("a key shares more bytes than the previous key has"));
        }
        self.key.truncate(shared);
        self.key.extend_from_slice(take(&mut rest, own)?);
        let start = bytes.len() - rest.len();
        take(&mut rest, length)?;
        self.value = start..start + length;
        self.length = self.value.end - self.next;
        self.next = self.value.end;
        Ok(true)
    }
}

fn take_number(rest: &mut &[u8]) -> Result<usize, EngineError> {
    // Nearly all numbers have one byte.
    if let Some((&number @ 0..0x80, after)) = rest.split_first() {
        *rest = after;
        return Ok(number.into());
    }
    let (number, after) = postcard::take_from_bytes(rest).map_err(damaged)?;
    *rest = after;
    Ok(number)
}

fn take<'a>(rest: &mut &'a [u8], length: usize) -> Result<&'a [u8], EngineError> {
    let (taken, after) =
        rest.split_at_checked(length).ok_or_else(|| damaged("a record extends beyond its block"))?;
    *rest = after;
    Ok(taken)
}

/// Builds a block from records.
#[derive(Default)]
pub(in crate::engine) struct BlockWriter {
    bytes: Vec<u8>,
    /// The first key; `None` while the block is empty.
    first: Option<Vec<u8>>,
    last: Vec<u8>,
}

impl BlockWriter {
    /// The uncompressed size so far, in bytes.
    pub(in crate::engine) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Adds a record. Its key must be greater than the previous one.
    pub(in crate::engine) fn push(&mut self, key: &[u8], value: &[u8]) {
        let shared = common_prefix_length(&self.last, key);
        let own = key.get(shared..).unwrap_or_default();
        for number in [shared, own.len(), value.len()] {
            push_number(&mut self.bytes, number);
        }
        self.bytes.extend_from_slice(own);
        self.bytes.extend_from_slice(value);
        self.first.get_or_insert_with(|| key.to_vec());
        self.last.clear();
        self.last.extend_from_slice(key);
    }

    /// Returns the block and starts a new one; `None` if the block is empty.
    pub(in crate::engine) fn finish(&mut self, compression: Compression) -> Option<EncodedBlock> {
        let first = self.first.take()?;
        let block = block_compression::compress(&self.bytes, compression);
        // The memory is reused for the next block.
        self.bytes.clear();
        self.last.clear();
        Some((first, block))
    }
}

/// The number of bytes in the common prefix of two keys. Whole words are compared first, which is faster.
fn common_prefix_length(a: &[u8], b: &[u8]) -> usize {
    let words = a.as_chunks::<8>().0.iter().zip(b.as_chunks::<8>().0);
    let shared = 8 * words.take_while(|(a, b)| a == b).count();
    let (a, b) = (a.get(shared..).unwrap_or_default(), b.get(shared..).unwrap_or_default());
    shared + a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// Appends a number in LEB128, as postcard does.
fn push_number(bytes: &mut Vec<u8>, mut number: usize) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// The blocks that replace a block after changes, each with its first key. `changes` must be sorted, have no duplicate
/// keys, and belong to this block. Records of the block whose key is `upper` or greater are dropped.
pub(in crate::engine) fn merge(
    old: Option<&Block>,
    changes: &[Put],
    upper: Option<&[u8]>,
) -> Result<Vec<EncodedBlock>, EngineError> {
    let length = old.map_or(0, Block::len) + changes.iter().map(put_length).sum::<usize>();
    let mut splitter = Splitter::new(length);
    let empty = Block(Vec::new());
    let mut old = old.unwrap_or(&empty).records();
    let mut is_record = old.advance()?;
    for change in changes {
        let (key, value) = change;
        while is_record && old.key() < key.as_slice() {
            splitter.push(old.key(), old.value(), old.length());
            is_record = old.advance()?;
        }
        if is_record && old.key() == key {
            splitter.skip(old.length());
            is_record = old.advance()?;
        }
        match value {
            Some(value) => splitter.push(key, value, put_length(change)),
            None => splitter.skip(put_length(change)),
        }
    }
    while is_record && upper.is_none_or(|upper| old.key() < upper) {
        splitter.push(old.key(), old.value(), old.length());
        is_record = old.advance()?;
    }
    Ok(splitter.finish())
}

/// Distributes records over blocks of similar size.
struct Splitter {
    blocks: Vec<EncodedBlock>,
    writer: BlockWriter,
    /// The number of announced bytes still to come.
    left: usize,
    /// The number of bytes until the current block is complete.
    left_in_block: usize,
}

impl Splitter {
    /// Creates a splitter for records of at most `length` bytes in total.
    fn new(length: usize) -> Splitter {
        let (blocks, writer) = (Vec::new(), BlockWriter::default());
        Splitter { blocks, writer, left: length, left_in_block: target(length) }
    }

    /// Adds a record that accounts for `length` of the announced bytes.
    fn push(&mut self, key: &[u8], value: &[u8], length: usize) {
        self.writer.push(key, value);
        self.skip(length);
        self.left_in_block = self.left_in_block.saturating_sub(length);
        if self.left_in_block == 0 {
            self.blocks.extend(self.writer.finish(Compression::Lz4));
            self.left_in_block = target(self.left);
        }
    }

    /// Subtracts announced bytes that will not come.
    fn skip(&mut self, length: usize) {
        self.left = self.left.saturating_sub(length);
    }

    fn finish(mut self) -> Vec<EncodedBlock> {
        self.blocks.extend(self.writer.finish(Compression::Lz4));
        self.blocks
    }
}

/// The size of the next block if `left` bytes are still to come. The last two blocks share the rest equally, so that
/// both have space for later records.
fn target(left: usize) -> usize {
    match left {
        0..=SPLIT_BYTES => SPLIT_BYTES,
        _ if left < 2 * SPLIT_BYTES => left.div_ceil(2),
        _ => SPLIT_BYTES,
    }
}

fn damaged(why: impl std::fmt::Display) -> EngineError {
    EngineError::Damaged(why.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn changes() -> impl Strategy<Value = BTreeMap<Vec<u8>, Option<Vec<u8>>>> {
        let key = proptest::collection::vec(0u8..4, 0..8);
        let value = proptest::option::weighted(0.8, proptest::collection::vec(any::<u8>(), 0..600));
        proptest::collection::btree_map(key, value, 0..60)
    }

    fn records(block: &Block) -> Vec<(Vec<u8>, Vec<u8>)> {
        let (mut all, mut reader) = (Vec::new(), block.records());
        while reader.advance().unwrap() {
            all.push((reader.key().to_vec(), reader.value().to_vec()));
        }
        all
    }

    poc_laws::laws! {
        #[test]
        fn merged_blocks_hold_the_records_of_a_sorted_map(rounds in proptest::collection::vec(changes(), 1..4)) {
            let mut expected: BTreeMap<Vec<u8>, Vec<u8>> = BTreeMap::new();
            let mut old: Option<Block> = None;
            for round in rounds {
                let changes: Vec<Put> = round.into_iter().collect();
                let merged = merge(old.as_ref(), &changes, None).unwrap();
                for (key, value) in changes {
                    match value {
                        Some(value) => drop(expected.insert(key, value)),
                        None => drop(expected.remove(&key)),
                    }
                }
                let blocks: Vec<Block> = merged.iter().map(|(_, bytes)| Block::decode(bytes).unwrap()).collect();
                for ((first, _), block) in merged.iter().zip(&blocks) {
                    prop_assert_eq!(first, &records(block)[0].0);
                    prop_assert!(records(block).len() == 1 || block.len() < SPLIT_BYTES + 700);
                }
                let bytes: usize = blocks.iter().map(Block::len).sum();
                prop_assert!(blocks.len() <= 2 + 3 * bytes / SPLIT_BYTES, "{} blocks of {bytes} bytes", blocks.len());
                let all: Vec<_> = blocks.iter().flat_map(records).collect();
                prop_assert_eq!(&all, &expected.clone().into_iter().collect::<Vec<_>>());
                for (key, value) in &expected {
                    let found = blocks.iter().find_map(|block| block.get(key).unwrap());
                    prop_assert_eq!(found.as_ref(), Some(value));
                }
                let puts: Vec<Put> = expected.iter().map(|(key, value)| (key.clone(), Some(value.clone()))).collect();
                let mut writer = BlockWriter::default();
                puts.iter().for_each(|(key, value)| writer.push(key, value.as_deref().unwrap()));
                old = writer.finish(Compression::Zstd).map(|(_, bytes)| Block::decode(&bytes).unwrap());
            }
        }

        #[test]
        fn the_common_prefix_of_two_keys_is_found(
            start in proptest::collection::vec(any::<u8>(), 0..40), a in proptest::collection::vec(0u8..2, 0..20), b in proptest::collection::vec(0u8..2, 0..20),
        ) {
            let expected = start.len() + a.iter().zip(&b).take_while(|(a, b)| a == b).count();
            let (a, b) = ([start.as_slice(), &a].concat(), [start.as_slice(), &b].concat());
            prop_assert_eq!(common_prefix_length(&a, &b), expected);
        }

        #[test]
        fn garbage_is_an_error_and_not_a_panic(bytes in any::<Vec<u8>>()) {
            if let Ok(block) = Block::decode(&bytes) {
                let mut records = block.records();
                while records.advance().is_ok_and(|is_record| is_record) {}
            }
            let block = Block(bytes);
            let mut records = block.records();
            while records.advance().is_ok_and(|is_record| is_record) {}
        }
    }
}
