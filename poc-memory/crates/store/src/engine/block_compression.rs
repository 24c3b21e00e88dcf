//! The compression of blocks.
//!
//! Blocks of sorted tables, which are written once, are Zstandard frames with their length (RFC 8878), a third shorter
//! than LZ4. Blocks of sled, which are written again and again, and indexes of tables, of which a damaged one is read up
//! to the damage, are LZ4 blocks preceded by their length. Tables of earlier versions have blocks of LZ4, too.

use std::cell::RefCell;
use std::fmt::Display;
use std::io;
use zstd::bulk::{Compressor, Decompressor};
use zstd::zstd_safe;

/// How a block is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum Compression {
    Lz4,
    Zstd,
}

/// Maximum size of a block, in bytes: one record of a transaction, which has at most 64 MiB, and its neighbours. The
/// length before a block of LZ4 is therefore smaller than [`ZSTD_MAGIC`].
pub(in crate::engine) const MAX_BYTES: usize = 65 << 20;

/// The shortest copy that LZ4 encodes, in bytes.
const MIN_MATCH: usize = 4;

/// The fastest of the levels that are not made for speed alone.
const ZSTD_LEVEL: i32 = 1;

/// The first bytes of a Zstandard frame.
const ZSTD_MAGIC: [u8; 4] = 0xFD2F_B528_u32.to_le_bytes();

thread_local! {
    // Their tables are larger than a block, so they are used again.
    static COMPRESSOR: RefCell<Option<Compressor<'static>>> = const { RefCell::new(None) };
    static DECOMPRESSOR: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
}

/// Compresses a block.
pub(in crate::engine) fn compress(bytes: &[u8], compression: Compression) -> Vec<u8> {
    let frame = (compression == Compression::Zstd).then(|| zstd_frame(bytes).ok()).flatten();
    // Zstandard fails only if memory is short.
    frame.unwrap_or_else(|| lz4_flex::block::compress_prepend_size(bytes))
}

fn zstd_frame(bytes: &[u8]) -> io::Result<Vec<u8>> {
    COMPRESSOR.with_borrow_mut(|compressor| match compressor {
        Some(compressor) => compressor.compress(bytes),
        none => none.insert(Compressor::new(ZSTD_LEVEL)?).compress(bytes),
    })
}

/// Decompresses a block of at most `max` bytes.
///
/// # Errors
/// Says what is wrong with a damaged block.
pub(in crate::engine) fn decompress(bytes: &[u8], max: usize) -> Result<Vec<u8>, String> {
    let checked = |length: usize| {
        if length > max { Err(format!("a block would have {length} bytes")) } else { Ok(length) }
    };
    if bytes.starts_with(&ZSTD_MAGIC) {
        let length = zstd_safe::get_frame_content_size(bytes).ok().flatten();
        let length = checked(length.ok_or("the length of a block is missing")? as usize)?;
        return decompress_frame(bytes, length).map_err(damaged);
    }
    let (length, packed) = lz4_flex::block::uncompressed_size(bytes).map_err(damaged)?;
    lz4_flex::block::decompress(packed, checked(length)?).map_err(damaged)
}

fn decompress_frame(bytes: &[u8], length: usize) -> io::Result<Vec<u8>> {
    DECOMPRESSOR.with_borrow_mut(|decompressor| match decompressor {
        Some(decompressor) => decompressor.decompress(bytes, length),
        none => none.insert(Decompressor::new()?).decompress(bytes, length),
    })
}

fn damaged(why: impl Display) -> String {
    why.to_string()
}

/// The length of the compressed block that begins `bytes`; `None` if none begins there. Only the structure of the
/// block is read.
pub(in crate::engine) fn compressed_length(bytes: &[u8]) -> Option<usize> {
    match bytes.starts_with(&ZSTD_MAGIC) {
        true => zstd_safe::find_frame_compressed_size(bytes).ok(),
        false => lz4_block_length(bytes),
    }
}

/// The length of an LZ4 block, which has no end mark (see the LZ4 block format description): it ends with literals, when
/// the uncompressed size is reached.
fn lz4_block_length(bytes: &[u8]) -> Option<usize> {
    let (size, packed) = bytes.split_first_chunk::<4>()?;
    let size = Some(u32::from_le_bytes(*size) as usize).filter(|size| (1..=MAX_BYTES).contains(size))?;
    let (mut rest, mut written) = (packed, 0);
    loop {
        let (token, after) = rest.split_first()?;
        rest = after;
        let literals = lz4_length(token >> 4, &mut rest)?;
        rest = rest.get(literals..)?;
        written += literals;
        if written >= size {
            return (written == size).then_some(bytes.len() - rest.len());
        }
        let (offset, after) = rest.split_first_chunk()?;
        rest = after;
        let offset = usize::from(u16::from_le_bytes(*offset));
        if offset == 0 || offset > written {
            return None;
        }
        written += MIN_MATCH + lz4_length(token & 15, &mut rest)?;
    }
}

/// The bytes of an LZ4 block that may be damaged, up to where it cannot be decompressed. From the damage on, they may be
/// wrong.
pub(in crate::engine) fn decompress_part(bytes: &[u8]) -> Vec<u8> {
    let mut part = Vec::new();
    let mut rest = bytes.get(4..).unwrap_or_default();
    while part.len() < MAX_BYTES && copy_sequence(&mut rest, &mut part).is_some() {}
    part
}

/// Appends what a sequence of LZ4 encodes: literals, and a copy of earlier bytes. `None` if it is invalid or the
/// last one, which has only literals.
fn copy_sequence(rest: &mut &[u8], output: &mut Vec<u8>) -> Option<()> {
    let (token, after) = rest.split_first()?;
    *rest = after;
    let literals = lz4_length(token >> 4, rest)?;
    let (literals, after) = rest.split_at_checked(literals)?;
    output.extend_from_slice(literals);
    let (offset, after) = after.split_first_chunk()?;
    *rest = after;
    let start = output.len().checked_sub(usize::from(u16::from_le_bytes(*offset)))?;
    let length = MIN_MATCH + lz4_length(token & 15, rest)?;
    // The copy may overlap what it appends.
    for at in start..start + length {
        output.push(*output.get(at)?);
    }
    Some(())
}

/// A length of LZ4: four bits, and if all of them are set, further bytes to be added, up to one that is not 255.
fn lz4_length(nibble: u8, rest: &mut &[u8]) -> Option<usize> {
    let mut length = usize::from(nibble);
    let mut is_continued = nibble == 15;
    while is_continued {
        let (byte, after) = rest.split_first()?;
        *rest = after;
        length += usize::from(*byte);
        is_continued = *byte == 255;
    }
    // A longer one cannot belong to a block, and could overflow a sum.
    (length <= MAX_BYTES).then_some(length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    proptest! {
        /// With the bytes of anything after it, as in a table.
        #[test]
        fn the_end_of_a_compressed_block_is_found(
            bytes in vec(any::<u8>(), 1..600), runs in 1usize..40, after: Vec<u8>,
        ) {
            // Long runs need lengths of several bytes.
            let bytes: Vec<u8> = bytes.into_iter().flat_map(|byte| vec![byte; runs]).collect();
            for compression in [Compression::Lz4, Compression::Zstd] {
                let block = compress(&bytes, compression);
                let length = block.len();
                prop_assert_eq!(block.starts_with(&ZSTD_MAGIC), compression == Compression::Zstd);
                prop_assert_eq!(compressed_length(&[block.clone(), after.clone()].concat()), Some(length));
                prop_assert_eq!(compressed_length(&block[..length - 1]), None);
                prop_assert_eq!(decompress(&block, bytes.len()).unwrap(), bytes.as_slice());
                prop_assert!(decompress(&block, bytes.len() - 1).is_err());
            }
            let block = compress(&bytes, Compression::Lz4);
            prop_assert_eq!(decompress_part(&block), bytes);
        }

        #[test]
        fn garbage_is_an_error_and_not_a_panic(bytes: Vec<u8>) {
            for bytes in [bytes.clone(), [ZSTD_MAGIC.as_slice(), &bytes].concat()] {
                let _ = compressed_length(&bytes);
                let _ = decompress_part(&bytes);
                let _ = decompress(&bytes, 1 << 20);
            }
        }
    }
}
