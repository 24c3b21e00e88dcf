//! Immutable files of records sorted by key (an SSTable of Chang et al. 2006, "Bigtable").
//!
//! Layout: the blocks (see [`block`](super::block)), one after another; the index, which is a block with the first key
//! of each block and its [`BlockPosition`]; the Bloom filter of all keys; the [`Footer`].
//!
//! A file is complete and synced before it gets its name. Checksums of the index, the filter and each block detect
//! later damage.

use super::block::{Block, BlockReader, BlockWriter};
use super::block_cache::{BlockCache, CachedBlock};
use super::block_compression::Compression;
use super::bloom_filter::BloomFilter;
use super::{EngineError, Watermark};
use crate::compression::ZSTD_MAGIC;
use crate::file_integrity::FileIntegrity;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const MAGIC: &[u8; 8] = b"poctabl1";

/// Size of the records, in bytes, from which a block is complete. Longer blocks compress better but take longer to
/// search.
const BLOCK_BYTES: usize = 8192;

/// Size of the records, in bytes, from which a block is copied to another table as it is. The block before a copied one
/// may be short, so shorter ones are built again.
const MIN_COPIED_BYTES: usize = BLOCK_BYTES / 2;

/// The size of each table's cache of uncompressed blocks, in bytes.
const CACHE_BYTES: usize = 2 << 20;

/// The number of bytes written to the file at once.
const WRITE_BYTES: usize = 1 << 18;

/// A key and its stored value.
pub(super) type StoredRecord = (Vec<u8>, Vec<u8>);

/// An open table.
pub(super) struct SortedTable {
    file: File,
    path: PathBuf,
    length: u64,
    footer: Footer,
    /// The blocks, sorted by first key.
    blocks: Vec<(Vec<u8>, BlockPosition)>,
    filter: BloomFilter,
    cache: BlockCache,
}

/// The position of a block in the file.
#[derive(Clone, Copy)]
struct BlockPosition {
    offset: u64,
    length: u32,
    /// CRC32C of the compressed block.
    checksum: u32,
}

impl BlockPosition {
    const BYTES: usize = 16;

    fn encode(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        let (offset, rest) = bytes.split_at_mut(8);
        let (length, checksum) = rest.split_at_mut(4);
        offset.copy_from_slice(&self.offset.to_le_bytes());
        length.copy_from_slice(&self.length.to_le_bytes());
        checksum.copy_from_slice(&self.checksum.to_le_bytes());
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<BlockPosition> {
        let (offset, rest) = bytes.split_first_chunk()?;
        let (length, rest) = rest.split_first_chunk()?;
        let (checksum, []) = rest.split_first_chunk()? else { return None };
        let (length, checksum) = (u32::from_le_bytes(*length), u32::from_le_bytes(*checksum));
        Some(BlockPosition { offset: u64::from_le_bytes(*offset), length, checksum })
    }
}

/// The end of the file. All numbers are little endian. The footer is followed by its CRC32C and the magic number.
#[derive(Clone, Copy)]
struct Footer {
    index_length: u64,
    filter_length: u64,
    records: u64,
    watermark: Watermark,
    /// CRC32C of the index and the filter.
    checksum: u32,
}

impl Footer {
    const FIELDS: usize = 40;
    const BYTES: usize = Self::FIELDS + 4 + MAGIC.len();

    fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(Self::BYTES);
        for number in [self.index_length, self.filter_length, self.records, self.watermark.seq] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        for number in [self.watermark.checksum, self.checksum] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        bytes.extend_from_slice(&crc32c::crc32c(&bytes).to_le_bytes());
        bytes.extend_from_slice(MAGIC);
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Footer> {
        let (fields, rest) = bytes.split_at_checked(Self::FIELDS)?;
        let (own, magic) = rest.split_first_chunk()?;
        if magic != MAGIC || u32::from_le_bytes(*own) != crc32c::crc32c(fields) {
            return None;
        }
        let (numbers, rest) = fields.as_chunks::<8>().0.split_first_chunk::<4>()?;
        let [index_length, filter_length, records, seq] = numbers.map(u64::from_le_bytes);
        let [checksums] = rest else { return None };
        let (of_watermark, own) = checksums.split_first_chunk()?;
        let watermark = Watermark { seq, checksum: u32::from_le_bytes(*of_watermark) };
        Some(Footer {
            index_length,
            filter_length,
            records,
            watermark,
            checksum: u32::from_le_bytes(own.try_into().ok()?),
        })
    }
}

impl SortedTable {
    /// Opens a file and reads its index and filter.
    ///
    /// # Errors
    /// [`EngineError::Damaged`] if they do not match their checksum.
    pub(super) fn open(path: &Path) -> Result<SortedTable, EngineError> {
        let file = File::open(path).map_err(EngineError::io("opened", path))?;
        SortedTable::of_file(file, path)
    }

    fn of_file(file: File, path: &Path) -> Result<SortedTable, EngineError> {
        let length = file.metadata().map_err(EngineError::io("read", path))?.len();
        let damaged = || damaged(path, "its index cannot be read");
        let footer_at = length.checked_sub(Footer::BYTES as u64).ok_or_else(damaged)?;
        let footer = Footer::decode(&read(&file, footer_at, Footer::BYTES as u64)?).ok_or_else(damaged)?;
        let length_of_both = footer.index_length.checked_add(footer.filter_length).ok_or_else(damaged)?;
        let index_at = footer_at.checked_sub(length_of_both).ok_or_else(damaged)?;
        let bytes = read(&file, index_at, length_of_both)?;
        if crc32c::crc32c(&bytes) != footer.checksum {
            return Err(damaged());
        }
        let (index, filter) = bytes.split_at_checked(footer.index_length as usize).ok_or_else(damaged)?;
        let mut blocks = Vec::new();
        if !index.is_empty() {
            // The index has a checksum, so its length can be trusted. The length in front of an LZ4 block has 32 bits.
            let index = Block::decode_up_to(u32::MAX as usize, index)?;
            let mut entries = index.records();
            while entries.advance()? {
                let position = BlockPosition::decode(entries.value()).ok_or_else(damaged)?;
                let end = position.offset.checked_add(position.length.into());
                if end.is_none_or(|end| end > index_at) {
                    return Err(damaged());
                }
                blocks.push((entries.key().to_vec(), position));
            }
        }
        let filter = BloomFilter::decode(filter).ok_or_else(damaged)?;
        let cache = BlockCache::new(CACHE_BYTES);
        Ok(SortedTable { file, path: path.to_owned(), length, footer, blocks, filter, cache })
    }

    /// The last transaction whose changes are contained in this table and all older ones.
    pub(super) fn watermark(&self) -> Watermark {
        self.footer.watermark
    }

    /// The number of records.
    pub(super) fn records(&self) -> u64 {
        self.footer.records
    }

    /// The size on disk, in bytes.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// The path of the file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The stored value of a key.
    pub(super) fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, EngineError> {
        if !self.filter.may_contain(key) {
            return Ok(None);
        }
        self.block_of(key)?.map_or(Ok(None), |block| block.get(key))
    }

    /// The block that a key belongs to; `None` if all keys are greater. It is cached.
    fn block_of(&self, key: &[u8]) -> Result<Option<Arc<Block>>, EngineError> {
        let changes = match self.cache.block(key) {
            Ok(block) => return Ok(Some(block)),
            Err(changes) => changes,
        };
        let Some(at) = self.number_of_blocks_up_to(key).checked_sub(1) else { return Ok(None) };
        let Some((lower, block)) = self.block(at)? else { return Ok(None) };
        let upper = self.blocks.get(at + 1).map(|(first, _)| first.clone());
        let found = CachedBlock { lower: lower.to_vec(), upper, block: Arc::new(block) };
        self.cache.put(changes, &found);
        Ok(Some(found.block))
    }

    /// The number of blocks whose first key is not greater than a key.
    fn number_of_blocks_up_to(&self, key: &[u8]) -> usize {
        self.blocks.partition_point(|(first, _)| first.as_slice() <= key)
    }

    /// A cursor over the records in order, starting at a key.
    pub(super) fn cursor_from(self: &Arc<Self>, key: &[u8]) -> TableCursor {
        TableCursor {
            table: self.clone(),
            next: self.number_of_blocks_up_to(key),
            from: key.to_vec(),
            records: None,
            has_started: false,
        }
    }

    /// The block at an index, and its first key; `None` after the last block.
    fn block(&self, at: usize) -> Result<Option<(&[u8], Block)>, EngineError> {
        let Some((first, position)) = self.blocks.get(at) else { return Ok(None) };
        Ok(Some((first, Block::decode(&self.encoded_block(*position)?)?)))
    }

    /// The compressed block at a position.
    fn encoded_block(&self, position: BlockPosition) -> Result<Vec<u8>, EngineError> {
        let bytes = read(&self.file, position.offset, position.length.into())?;
        if crc32c::crc32c(&bytes) != position.checksum {
            return Err(damaged(&self.path, &format!("the block at byte {} differs", position.offset)));
        }
        Ok(bytes)
    }
}

/// The end of a table's blocks and its watermark, from the footer; `None` if the footer is damaged.
pub(super) fn read_footer(file: &[u8]) -> Option<(usize, Watermark)> {
    let (rest, footer) = file.split_at_checked(file.len().checked_sub(Footer::BYTES)?)?;
    let footer = Footer::decode(footer)?;
    let length_of_both = footer.index_length.checked_add(footer.filter_length)?;
    Some((rest.len().checked_sub(usize::try_from(length_of_both).ok()?)?, footer.watermark))
}

/// The watermark in the footer of a table, of which nothing else is read; `None` if the footer is damaged or
/// unreadable.
pub(super) fn read_watermark(path: &Path) -> Option<Watermark> {
    let file = File::open(path).ok()?;
    let footer_at = file.metadata().ok()?.len().checked_sub(Footer::BYTES as u64)?;
    let footer = Footer::decode(&read(&file, footer_at, Footer::BYTES as u64).ok()?)?;
    Some(footer.watermark)
}

impl SortedTable {
    /// Calls `each` with the records of all undamaged blocks.
    pub(super) fn each_intact_record(&self, each: &mut dyn FnMut(&[u8], &[u8])) {
        for at in 0..self.blocks.len() {
            let Ok(Some((_, block))) = self.block(at) else { continue };
            let mut records = block.records();
            while records.advance().is_ok_and(|is_record| is_record) {
                each(records.key(), records.value());
            }
        }
    }

    /// Checks every block. What follows the blocks was checked when the table was opened.
    pub(super) fn integrity(&self) -> FileIntegrity {
        let end = |position: BlockPosition| position.offset + u64::from(position.length);
        let mut intact = Vec::new();
        for (at, (_, position)) in self.blocks.iter().enumerate() {
            let Ok(Some((_, block))) = self.block(at) else { continue };
            intact.push((position.offset..end(*position), block.number_of_records()));
        }
        let after = self.blocks.last().map_or(0, |(_, position)| end(*position));
        intact.push((after..self.length, 0));
        FileIntegrity::new(self.length, intact)
    }
}

/// Reads the records of a table in order.
pub(super) struct TableCursor {
    table: Arc<SortedTable>,
    /// The index of the next block, after the one that may contain `from`.
    next: usize,
    /// Records with smaller keys are skipped. It is empty after the first record.
    from: Vec<u8>,
    /// The current block, at its current record; `None` before the first record and after the last.
    records: Option<BlockReader<Arc<Block>>>,
    has_started: bool,
}

impl TableCursor {
    /// Advances to the next record; `false` if there is none.
    pub(super) fn advance(&mut self) -> Result<bool, EngineError> {
        if !self.has_started {
            // Most scans read a few records. The blocks after the first one are not cached, because a full scan would
            // evict others.
            self.records = self.table.block_of(&self.from)?.map(BlockReader::new);
            self.has_started = true;
        }
        loop {
            if let Some(records) = &mut self.records {
                while records.advance()? {
                    if self.from.is_empty() || records.key() >= self.from.as_slice() {
                        // All later keys are greater.
                        self.from.clear();
                        return Ok(true);
                    }
                }
            }
            self.records = None;
            let Some((_, block)) = self.table.block(self.next)? else { return Ok(false) };
            self.next += 1;
            self.records = Some(BlockReader::new(Arc::new(block)));
        }
    }

    /// The key and the stored value of the current record; `None` before the first record and after the last.
    pub(super) fn record(&self) -> Option<(&[u8], &[u8])> {
        self.records.as_ref().map(|records| (records.key(), records.value()))
    }

    /// The first key of the next block, if the current record is the first one of its block. `None` in the last block.
    pub(super) fn end_of_new_block(&self) -> Option<&[u8]> {
        self.records.as_ref().filter(|records| records.is_first())?;
        self.table.blocks.get(self.next).map(|(first, _)| first.as_slice())
    }

    /// Advances to the first record of the next block; `false` if there is none.
    pub(super) fn skip_block(&mut self) -> Result<bool, EngineError> {
        self.records = None;
        self.advance()
    }
}

impl Iterator for TableCursor {
    type Item = Result<StoredRecord, EngineError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.advance() {
            Ok(_) => self.record().map(|(key, value)| Ok((key.to_vec(), value.to_vec()))),
            Err(error) => Some(Err(error)),
        }
    }
}

/// Writes a table.
pub(super) struct TableWriter {
    file: BufWriter<File>,
    partial: PathBuf,
    path: PathBuf,
    offset: u64,
    records: u64,
    block: BlockWriter,
    /// How the blocks, but not the index, are compressed.
    compression: Compression,
    index: BlockWriter,
    filter: BloomFilter,
    state: FileState,
}

/// The file to delete if the table is not completed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FileState {
    Partial,
    Named,
    Complete,
}

impl TableWriter {
    /// Starts a table of at most `max_records` records, in a file with a temporary name.
    pub(super) fn create(path: &Path, max_records: u64) -> Result<TableWriter, EngineError> {
        let partial = path.with_extension("partial");
        let file = File::options().read(true).write(true).create(true).truncate(true).open(&partial);
        let file = file.map_err(EngineError::io("created", &partial))?;
        Ok(TableWriter {
            file: BufWriter::with_capacity(WRITE_BYTES, file),
            path: path.to_owned(),
            partial,
            offset: 0,
            records: 0,
            block: BlockWriter::default(),
            compression: Compression::Zstd,
            index: BlockWriter::default(),
            filter: BloomFilter::new(max_records),
            state: FileState::Partial,
        })
    }

    /// Compresses the blocks like earlier versions.
    #[cfg(test)]
    pub(super) fn use_lz4(&mut self) {
        self.compression = Compression::Lz4;
    }

    /// Adds a record. Its key must be greater than the previous one.
    pub(super) fn push(&mut self, key: &[u8], value: &[u8]) -> Result<(), EngineError> {
        self.block.push(key, value);
        self.filter.insert(key);
        self.records += 1;
        if self.block.len() >= BLOCK_BYTES { self.end_block() } else { Ok(()) }
    }

    /// Adds the current block of another table as it is stored there, which takes a fraction of the time that its
    /// records take one by one. Returns the number of records; 0 if nothing was added, because the block has to be built
    /// again: it is short, has tombstones although `keep_tombstones` is `false`, or is one of an earlier version.
    pub(super) fn push_block(
        &mut self,
        cursor: &TableCursor,
        keep_tombstones: bool,
    ) -> Result<u64, EngineError> {
        let block = cursor.records.as_ref().map(BlockReader::block);
        let stored = cursor.next.checked_sub(1).and_then(|at| cursor.table.blocks.get(at));
        let (Some(block), Some((first, position))) = (block, stored) else { return Ok(0) };
        if block.len() < MIN_COPIED_BYTES {
            return Ok(0);
        }
        let bytes = cursor.table.encoded_block(*position)?;
        if !bytes.starts_with(&ZSTD_MAGIC) {
            return Ok(0);
        }
        let (mut records, mut number) = (block.records(), 0);
        while records.advance()? {
            if !keep_tombstones && records.value().is_empty() {
                // The keys that the filter already has are added to the table one by one.
                return Ok(0);
            }
            self.filter.insert(records.key());
            number += 1;
        }
        self.end_block()?;
        self.write_block(first, &bytes)?;
        self.records += number;
        Ok(number)
    }

    fn end_block(&mut self) -> Result<(), EngineError> {
        match self.block.finish(self.compression) {
            Some((first, bytes)) => self.write_block(&first, &bytes),
            None => Ok(()),
        }
    }

    fn write_block(&mut self, first: &[u8], bytes: &[u8]) -> Result<(), EngineError> {
        // The length fits, because a record has at most 64 MiB.
        let length = bytes.len() as u32;
        let position = BlockPosition { offset: self.offset, length, checksum: crc32c::crc32c(bytes) };
        self.index.push(first, &position.encode());
        self.offset += u64::from(length);
        self.file.write_all(bytes).map_err(EngineError::io("written", &self.partial))
    }

    /// Writes the rest of the table, syncs it, gives the file its final name and opens it.
    pub(super) fn finish(mut self, watermark: Watermark) -> Result<SortedTable, EngineError> {
        self.end_block()?;
        let index = self.index.finish(Compression::Lz4).map_or_else(Vec::new, |(_, bytes)| bytes);
        let filter = self.filter.encode();
        let footer = Footer {
            index_length: index.len() as u64,
            filter_length: filter.len() as u64,
            records: self.records,
            watermark,
            checksum: crc32c::crc32c_append(crc32c::crc32c(&index), &filter),
        };
        let mut finish = || {
            for part in [&index, &filter, &footer.encode()] {
                self.file.write_all(part)?;
            }
            self.file.flush()?;
            self.file.get_ref().sync_all()?;
            fs::rename(&self.partial, &self.path)?;
            self.state = FileState::Named;
            File::open(self.path.parent().unwrap_or(Path::new(".")))?.sync_all()?;
            self.file.get_ref().try_clone()
        };
        let file = finish().map_err(EngineError::io("written", &self.path))?;
        let table = SortedTable::of_file(file, &self.path)?;
        self.state = FileState::Complete;
        Ok(table)
    }
}

impl Drop for TableWriter {
    fn drop(&mut self) {
        // A leftover would take the space that the next attempt needs, or the next open would read it.
        let _ = match self.state {
            FileState::Partial => fs::remove_file(&self.partial),
            FileState::Named => fs::remove_file(&self.path),
            FileState::Complete => Ok(()),
        };
    }
}

/// Writes a table with arbitrary bytes as index and filter, but with valid checksums, and reads all of it. Every read
/// must give a record or an error.
#[cfg(any(fuzzing, test))]
pub(crate) fn read_any_table(records: &[u8], filter: &[u8], path: &Path) {
    for compression in [Compression::Lz4, Compression::Zstd] {
        read_table_with_index(&super::block_compression::compress(records, compression), filter, path);
    }
}

#[cfg(any(fuzzing, test))]
fn read_table_with_index(index: &[u8], filter: &[u8], path: &Path) {
    let positions = [index, filter].concat();
    let footer = Footer {
        index_length: index.len() as u64,
        filter_length: filter.len() as u64,
        records: 1,
        watermark: Watermark::default(),
        checksum: crc32c::crc32c(&positions),
    };
    // The first block is the index itself, so that its checksum is known.
    let written = fs::write(path, [index, &positions, &footer.encode()].concat());
    let Some(table) = written.ok().and_then(|()| SortedTable::open(path).ok()).map(Arc::new) else { return };
    table.each_intact_record(&mut |_, _| {});
    for record in table.cursor_from(b"") {
        // The iterator repeats an error.
        let Ok((key, _)) = record else { return };
        let _ = table.get(&key);
        let _ = table.cursor_from(&key).next();
    }
}

fn read(file: &File, offset: u64, length: u64) -> Result<Vec<u8>, EngineError> {
    let mut bytes = vec![0; length as usize];
    match file.read_exact_at(&mut bytes, offset) {
        Ok(()) => Ok(bytes),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            Err(EngineError::Damaged("a table of records ends too early".to_owned()))
        }
        Err(error) => Err(EngineError::Unreadable(error)),
    }
}

fn damaged(path: &Path, why: &str) -> EngineError {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    EngineError::Damaged(format!("the table `{name}`: {why}"))
}
