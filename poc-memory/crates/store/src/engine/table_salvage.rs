//! Reads the blocks of a table whose index or footer is damaged.
//!
//! The blocks follow one another from the beginning of the file, and the structure of a compressed block shows where it
//! ends. The lengths and checksums of the blocks are in the index, which is decompressed up to the damage. After the
//! damage, the compressed bytes contain most lengths and checksums unchanged, because these cannot be compressed. A
//! block counts as intact if its length and its checksum are found together. A checksum without the length counts only
//! near the previous one, because a long index may contain any four bytes by chance.

use super::Watermark;
use super::block::Block;
use super::block_compression::{compressed_length, decompress_part};
use super::sorted_table::read_footer;
use crate::file_integrity::FileIntegrity;
use std::fs;
use std::io;
use std::ops::Range;
use std::path::Path;

/// The maximum distance in bytes between the checksums of two blocks if the length of the second is not found. An
/// entry of the index takes about half of that.
const MAX_CHECKSUM_DISTANCE: usize = 64;

/// A callback that receives the watermark of a table, and the key and the stored value of a record.
type SalvagedRecordVisitor<'a> = dyn FnMut(Watermark, &[u8], &[u8]) + 'a;

/// Calls `each` with the watermark of a table, and with the keys and values of all intact blocks. The watermark is that
/// of transaction 0 if the footer is damaged.
///
/// # Errors
/// Fails if the file cannot be read.
pub(super) fn each_intact_record(path: &Path, each: &mut SalvagedRecordVisitor<'_>) -> io::Result<()> {
    each_intact_block(&fs::read(path)?, &mut |watermark, _, block| {
        let mut records = block.records();
        while records.advance().is_ok_and(|is_record| is_record) {
            each(watermark, records.key(), records.value());
        }
    });
    Ok(())
}

/// Which bytes of a table are in intact blocks. Its index and its filter count as damaged.
///
/// # Errors
/// Fails if the file cannot be read.
pub(super) fn integrity(path: &Path) -> io::Result<FileIntegrity> {
    let file = fs::read(path)?;
    let mut intact = Vec::new();
    each_intact_block(&file, &mut |_, bytes, block| {
        intact.push((bytes.start as u64..bytes.end as u64, block.number_of_records()));
    });
    Ok(FileIntegrity::new(file.len() as u64, intact))
}

/// Calls `each` with the watermark of a table, and with the bytes and the contents of each intact block.
fn each_intact_block(file: &[u8], each: &mut dyn FnMut(Watermark, Range<usize>, &Block)) {
    let (end, watermark) = read_footer(file).unwrap_or_else(|| (end_of_blocks(file), Watermark::default()));
    let (blocks, index) = file.split_at_checked(end).unwrap_or((file, &[]));
    let mut checksums = Checksums { index: [decompress_part(index).as_slice(), index].concat(), next: 0 };
    let mut rest = blocks;
    while !rest.is_empty() {
        let block = compressed_length(rest)
            .and_then(|length| rest.split_at_checked(length))
            .filter(|(block, _)| checksums.find(block));
        let Some((block, after)) = block else {
            // The end of a damaged block is unknown: the next intact one begins anywhere.
            rest = rest.get(1..).unwrap_or_default();
            continue;
        };
        let start = blocks.len() - rest.len();
        rest = after;
        let Ok(decoded) = Block::decode(block) else { continue };
        each(watermark, start..start + block.len(), &decoded);
    }
}

/// The end of the blocks of records, whose keys ascend. The index follows, and begins with the smallest key again.
fn end_of_blocks(file: &[u8]) -> usize {
    let (mut end, mut last) = (0, Vec::new());
    while let Some((block, _)) =
        file.get(end..).and_then(|rest| rest.split_at_checked(compressed_length(rest)?))
    {
        let Ok(decoded) = Block::decode(block) else { break };
        let mut records = decoded.records();
        let mut keys: Vec<Vec<u8>> = Vec::new();
        while records.advance().is_ok_and(|is_record| is_record) {
            keys.push(records.key().to_vec());
        }
        if end > 0 && keys.first().is_none_or(|first| *first <= last) {
            break;
        }
        last = keys.pop().unwrap_or_default();
        end += block.len();
    }
    end
}

/// Finds the checksums of blocks in the remains of an index.
struct Checksums {
    index: Vec<u8>,
    /// The position after the last one that was found. The checksums have the order of the blocks.
    next: usize,
}

impl Checksums {
    /// Whether the index has the checksum of a block.
    fn find(&mut self, block: &[u8]) -> bool {
        let checksum = crc32c::crc32c(block).to_le_bytes();
        let entry = [(block.len() as u32).to_le_bytes(), checksum].concat();
        let near = self.next.saturating_add(MAX_CHECKSUM_DISTANCE).min(self.index.len());
        let found = self
            .end_of(&entry, self.next..self.index.len())
            .or_else(|| self.end_of(&entry, 0..self.index.len()))
            .or_else(|| self.end_of(&checksum, self.next..near));
        let Some(end) = found else { return false };
        self.next = end;
        true
    }

    /// The position after some bytes in a range of the index.
    fn end_of(&self, bytes: &[u8], range: Range<usize>) -> Option<usize> {
        let start = range.start;
        let mut windows = self.index.get(range)?.windows(bytes.len());
        windows.position(|window| window == bytes).map(|at| start + at + bytes.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::sorted_table::{SortedTable, StoredRecord, TableWriter};
    use std::sync::Arc;

    const WATERMARK: Watermark = Watermark { seq: 7, checksum: 8 };

    /// A table of 900 records of varied sizes, which takes about 40 blocks. In earlier versions, these were LZ4 blocks.
    fn table(path: &Path, is_lz4: bool) -> Vec<StoredRecord> {
        let mut state = 1u64;
        let record = |number: u32| {
            let value = (0..number % 700).map(|_| {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                // Half of the values are easy to compress.
                if number.is_multiple_of(2) { b'a' } else { (state >> 56) as u8 }
            });
            (number.to_be_bytes().to_vec(), value.collect())
        };
        let records: Vec<StoredRecord> = (0..900).map(record).collect();
        let mut writer = TableWriter::create(path, 900).unwrap();
        if is_lz4 {
            writer.use_lz4();
        }
        records.iter().for_each(|(key, value)| writer.push(key, value).unwrap());
        writer.finish(WATERMARK).unwrap();
        records
    }

    fn salvaged(path: &Path) -> (Vec<Watermark>, Vec<StoredRecord>) {
        let (mut watermarks, mut found) = (Vec::new(), Vec::new());
        each_intact_record(path, &mut |watermark, key, value| {
            watermarks.push(watermark);
            found.push((key.to_vec(), value.to_vec()));
        })
        .unwrap();
        watermarks.dedup();
        (watermarks, found)
    }

    #[test]
    fn damage_after_the_blocks_costs_few_of_them() {
        let folder = poc_graph::testing::folder();
        let path = folder.path().join("00000001-00000001.table");
        for is_lz4 in [false, true] {
            let records = table(&path, is_lz4);
            let opened = Arc::new(SortedTable::open(&path).unwrap());
            assert!(opened.cursor_from(b"").map(Result::unwrap).eq(records.iter().cloned()));
            assert!(salvaged(&path) == (vec![WATERMARK], records.clone()));
            let original = fs::read(&path).unwrap();
            let (end, _) = read_footer(&original).unwrap();
            for at in (end..original.len()).step_by(3) {
                let mut flipped = original.clone();
                flipped[at] ^= 0x21;
                fs::write(&path, &flipped).unwrap();
                assert!(SortedTable::open(&path).is_err(), "byte {at}");
                let (_, found) = salvaged(&path);
                assert!(found.len() * 10 >= records.len() * 6, "byte {at}: {} records", found.len());
                assert!(found.iter().all(|record| records.binary_search(record).is_ok()), "byte {at}");
            }
        }
    }

    #[test]
    fn damage_in_a_block_and_in_the_index_costs_the_block() {
        let folder = poc_graph::testing::folder();
        let path = folder.path().join("00000001-00000001.table");
        for is_lz4 in [false, true] {
            let records = table(&path, is_lz4);
            let original = fs::read(&path).unwrap();
            let (end, _) = read_footer(&original).unwrap();
            for at in (0..end).step_by(997) {
                let mut flipped = original.clone();
                flipped[at] ^= 0x21;
                flipped[end] ^= 0x21;
                fs::write(&path, &flipped).unwrap();
                assert!(SortedTable::open(&path).is_err());
                let (_, found) = salvaged(&path);
                let expected = records.len() * 4 / 10..records.len();
                assert!(expected.contains(&found.len()), "byte {at}: {} records", found.len());
                assert!(found.iter().all(|record| records.binary_search(record).is_ok()), "byte {at}");
            }
            // The file ends after the blocks. Without an index, no block can be checked.
            fs::write(&path, &original[..end]).unwrap();
            assert_eq!(salvaged(&path).1.len(), 0);
        }
    }
}
