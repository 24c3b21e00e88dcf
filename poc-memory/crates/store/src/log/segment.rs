//! A file of the log: a header, followed by records. All numbers are little-endian.
//!
//! Header, 24 bytes, the same in every version of the format: magic (8), format version (u32), first sequence number
//! (u64), CRC32C of these twenty bytes (u32).
//!
//! Record: length of the payload (u32), CRC32C of length, sequence number and payload (u32), sequence number (u64),
//! payload (MessagePack of a `LoggedTransaction`).

use crate::disk::is_unreadable;
use crate::file_integrity::FileIntegrity;
use crate::logged_transaction::{LoggedTransaction, MAX_RECORD};
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

const MAGIC: [u8; 8] = *b"poc-log\n";
/// The version of an ordinary segment.
const PLAIN: u32 = 1;
/// The version of a compacted segment.
pub(super) const COMPACTED: u32 = 2;
/// The newest version that this release can read.
pub(super) const FORMAT: u32 = COMPACTED;
/// The size of a header, in bytes.
pub(super) const HEADER: usize = 24;
/// The size of a record without its payload, in bytes.
pub(crate) const FRAME: usize = 16;

/// The header of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    /// The version of the format.
    pub(super) format: u32,
    /// The first sequence number.
    pub(super) first: u64,
}

impl Header {
    /// The header of a new segment.
    pub(super) fn new(first: u64) -> Self {
        Header { format: PLAIN, first }
    }

    /// The header of a new compacted segment.
    pub(super) fn compacted(first: u64) -> Self {
        Header { format: COMPACTED, first }
    }

    pub(super) fn encode(self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&self.format.to_le_bytes());
        bytes.extend_from_slice(&self.first.to_le_bytes());
        bytes.extend_from_slice(&crc32c::crc32c(&bytes).to_le_bytes());
        bytes
    }

    /// Decodes a header; `None` if the bytes are not a valid one.
    pub(super) fn decode(bytes: &[u8; HEADER]) -> Option<Self> {
        let (fields, rest) = bytes.split_first_chunk::<20>()?;
        let (magic, numbers) = fields.split_first_chunk::<8>()?;
        let (format, first) = numbers.split_first_chunk::<4>()?;
        let is_valid = *magic == MAGIC && crc32c::crc32c(fields) == u32::from_le_bytes(rest.try_into().ok()?);
        let first = u64::from_le_bytes(first.try_into().ok()?);
        is_valid.then_some(Header { format: u32::from_le_bytes(*format), first })
    }

    /// Reads the header of a file; `None` if it is missing or damaged.
    pub(super) fn read(path: &Path) -> io::Result<Option<Self>> {
        let mut bytes = [0; HEADER];
        match File::open(path)?.read_exact(&mut bytes) {
            Ok(()) => Ok(Header::decode(&bytes)),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof || is_unreadable(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// The bytes of a record, and its checksum. The payload must not be empty or longer than [`MAX_RECORD`].
pub(crate) fn frame(seq: u64, payload: &[u8]) -> (Vec<u8>, u32) {
    let length = (payload.len() as u32).to_le_bytes();
    let seq = seq.to_le_bytes();
    let checksum = checksum(length, seq, payload);
    ([&length, &checksum.to_le_bytes(), seq.as_slice(), payload].concat(), checksum)
}

/// The CRC32C of length, sequence number and payload.
fn checksum(length: [u8; 4], seq: [u8; 8], payload: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c_append(crc32c::crc32c(&length), &seq), payload)
}

/// The part of a record before its payload.
struct Frame {
    length: [u8; 4],
    checksum: u32,
    seq: [u8; 8],
}

impl Frame {
    /// Splits the frame from the bytes after it; `None` if there are too few bytes.
    fn split(bytes: &[u8]) -> Option<(Frame, &[u8])> {
        let (length, rest) = bytes.split_first_chunk()?;
        let (checksum, rest) = rest.split_first_chunk()?;
        let (seq, rest) = rest.split_first_chunk()?;
        Some((Frame { length: *length, checksum: u32::from_le_bytes(*checksum), seq: *seq }, rest))
    }

    /// The length of the payload in bytes.
    fn length(&self) -> usize {
        u32::from_le_bytes(self.length) as usize
    }

    /// Whether a record of this length fits the `rest` bytes that follow the frame. An empty record is not valid, so a
    /// file that was extended with zeros has no records.
    fn is_plausible(&self, rest: u64) -> bool {
        (1..=MAX_RECORD).contains(&self.length()) && self.length() as u64 <= rest
    }
}

/// The result of reading the next record of a segment.
pub(super) enum NextRecord {
    /// A record. If it was read without its payload, it is not checked and `payload` is empty.
    Record { seq: u64, checksum: u32, payload: Vec<u8> },
    /// The end of the file.
    End,
    /// Bytes that are not a valid record.
    Damaged,
}

/// Reads records one by one and keeps only one in memory.
pub(super) struct SegmentReader<F = File> {
    file: BufReader<F>,
    offset: u64,
    length: u64,
}

impl SegmentReader {
    /// Opens a reader that starts at byte `offset`.
    pub(super) fn open(path: &Path, offset: u64) -> io::Result<Self> {
        let mut file = BufReader::with_capacity(1 << 16, File::open(path)?);
        let length = file.get_ref().metadata()?.len();
        file.seek(SeekFrom::Start(offset))?;
        Ok(SegmentReader { file, offset, length })
    }
}

impl<F: Read + Seek> SegmentReader<F> {
    /// The byte offset of the next record.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// Reads and checks the next record. Without `payload`, only its sequence number is read and nothing is checked.
    /// Parts that the disk cannot read count as damaged.
    pub(super) fn next(&mut self, payload: bool) -> io::Result<NextRecord> {
        match self.read_next(payload) {
            Err(error) if is_unreadable(&error) => Ok(NextRecord::Damaged),
            read => read,
        }
    }

    fn read_next(&mut self, payload: bool) -> io::Result<NextRecord> {
        let left = self.length.saturating_sub(self.offset);
        if left == 0 {
            return Ok(NextRecord::End);
        }
        if left < FRAME as u64 {
            return Ok(NextRecord::Damaged);
        }
        let mut bytes = [0; FRAME];
        self.file.read_exact(&mut bytes)?;
        let Some((frame, _)) =
            Frame::split(&bytes).filter(|(frame, _)| frame.is_plausible(left - FRAME as u64))
        else {
            return Ok(NextRecord::Damaged);
        };
        let mut read = Vec::new();
        if payload {
            read.resize(frame.length(), 0);
            self.file.read_exact(&mut read)?;
            if checksum(frame.length, frame.seq, &read) != frame.checksum {
                return Ok(NextRecord::Damaged);
            }
        } else {
            self.file.seek_relative(frame.length() as i64)?;
        }
        self.offset += (FRAME + frame.length()) as u64;
        Ok(NextRecord::Record { seq: u64::from_le_bytes(frame.seq), checksum: frame.checksum, payload: read })
    }
}

/// The number of intact records anywhere in damaged bytes.
pub(super) fn count_records(bytes: &[u8]) -> usize {
    intact_records(bytes, 0).len()
}

/// An intact record within damaged bytes.
pub(crate) struct IntactRecord<'a> {
    pub(super) seq: u64,
    /// The offset of its first byte.
    pub(super) offset: u64,
    /// The size of the whole record, in bytes.
    pub(super) length: u64,
    pub(crate) payload: &'a [u8],
}

/// The intact records anywhere in damaged bytes whose sequence numbers are greater than `after`.
pub(crate) fn intact_records(bytes: &[u8], after: u64) -> Vec<IntactRecord<'_>> {
    /// No log has this many records. The bound avoids checksums of most random bytes.
    const MAX_RECORDS: u64 = 1 << 40;
    let mut found = Vec::new();
    let mut offset = 0;
    while let Some((frame, rest)) = bytes.get(offset..).and_then(Frame::split) {
        let seq = u64::from_le_bytes(frame.seq);
        let payload = rest.get(..frame.length()).filter(|payload| {
            frame.is_plausible(rest.len() as u64)
                && seq > after
                && seq - after < MAX_RECORDS
                && payload.first().is_some_and(|&first| LoggedTransaction::may_begin_with(first))
                && checksum(frame.length, frame.seq, payload) == frame.checksum
        });
        let length = payload.map_or(1, |payload| FRAME + payload.len());
        found.extend(payload.map(|payload| IntactRecord {
            seq,
            offset: offset as u64,
            length: length as u64,
            payload,
        }));
        offset += length;
    }
    found
}

/// Which bytes of a segment, or of a piece of one, are intact: the header, if there is one, and the transactions.
pub(crate) fn integrity(bytes: &[u8]) -> FileIntegrity {
    let header = bytes.first_chunk().and_then(Header::decode).map(|_| (0..HEADER as u64, 0));
    let records = intact_records(bytes, 0).into_iter();
    let transactions = records.filter(|record| LoggedTransaction::decode(record.payload).is_ok());
    let transactions = transactions.map(|record| (record.offset..record.offset + record.length, 1));
    FileIntegrity::new(bytes.len() as u64, header.into_iter().chain(transactions))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_header_is_read_back_and_every_flipped_bit_is_detected() {
        let header = Header { format: 3, first: 77 };
        let bytes: [u8; HEADER] = header.encode().try_into().unwrap();
        assert_eq!(Header::decode(&bytes), Some(header));
        for bit in 0..HEADER * 8 {
            let mut flipped = bytes;
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Header::decode(&flipped), None, "bit {bit}");
        }
    }

    /// A file that the disk cannot read from a byte on.
    struct BadSector(io::Cursor<Vec<u8>>, u64);

    impl Read for BadSector {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let readable = self.1.saturating_sub(self.0.position()).min(into.len() as u64) as usize;
            if readable == 0 { Err(rustix::io::Errno::IO.into()) } else { self.0.read(&mut into[..readable]) }
        }
    }

    impl Seek for BadSector {
        fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
            self.0.seek(to)
        }
    }

    #[test]
    fn data_that_the_disk_cannot_read_counts_as_damaged() {
        let bytes = (1..=3u64).flat_map(|seq| frame(seq, &[0x83; 40]).0).collect::<Vec<u8>>();
        let length = bytes.len() as u64;
        let record = length / 3;
        for readable in 0..=length {
            let file = BufReader::new(BadSector(io::Cursor::new(bytes.clone()), readable));
            let mut reader = SegmentReader { file, offset: 0, length };
            for seq in 1..=readable / record {
                assert!(matches!(reader.next(true), Ok(NextRecord::Record { seq: read, .. }) if read == seq));
            }
            let next = reader.next(true).unwrap();
            assert_eq!(matches!(next, NextRecord::End), readable == length);
            assert_eq!(matches!(next, NextRecord::Damaged), readable < length);
        }
    }

    poc_laws::laws! {
        #[test]
        fn records_are_found_among_garbage(
            before in proptest::collection::vec(any::<u8>(), 0..40),
            payloads in proptest::collection::vec(
                (prop_oneof![Just(0x83), Just(0x84), Just(0xC1)], proptest::collection::vec(any::<u8>(), 0..40)),
                1..4,
            ),
        ) {
            let mut bytes = before;
            let mut offsets = Vec::new();
            for (seq, (first, payload)) in payloads.iter().enumerate() {
                let payload = [&[*first], payload.as_slice()].concat();
                offsets.push(bytes.len() as u64);
                bytes.extend(frame(seq as u64 + 1, &payload).0);
            }
            prop_assert_eq!(count_records(&bytes), payloads.len());
            let found = intact_records(&bytes, 0);
            prop_assert_eq!(found.iter().map(|record| record.offset).collect::<Vec<_>>(), offsets);
            prop_assert_eq!(intact_records(&bytes, 1).len(), payloads.len() - 1);
        }
    }
}
