//! Compression of blocks, and what salvage reads of compressed blocks.
//!
//! Blocks of sorted tables are written once. They are Zstandard frames, which are a third shorter than LZ4 blocks.
//! Blocks of sled are LZ4 blocks, because they are compressed again whenever one of their records changes. The index of
//! a table is an LZ4 block, too, because LZ4 can be decompressed up to a damaged byte. In tables of earlier versions,
//! everything is LZ4.

use crate::compression::{ZSTD_LEVEL, ZSTD_MAGIC};
use std::cell::RefCell;
use std::io;
use zstd::bulk::Compressor;
use zstd::zstd_safe;

/// How a block is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum Compression {
    Lz4,
    Zstd,
}

/// Maximum size of a block, in bytes: one record of a transaction, which has at most 64 MiB, and its neighbours.
pub(in crate::engine) const MAX_BYTES: usize = 65 << 20;

/// The shortest copy that LZ4 encodes, in bytes.
const MIN_MATCH: usize = 4;

thread_local! {
    // Its tables are larger than a block, so a thread that writes a table uses it again.
    static COMPRESSOR: RefCell<Option<Compressor<'static>>> = const { RefCell::new(None) };
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

/// The length of the compressed block that begins `bytes`; `None` if none begins there. Only the structure of the
/// block is read.
pub(in crate::engine) fn compressed_length(bytes: &[u8]) -> Option<usize> {
    match bytes.starts_with(&ZSTD_MAGIC) {
        true => zstd_safe::find_frame_compressed_size(bytes).ok(),
        false => lz4_block_length(bytes),
    }
}

/// The length of an LZ4 block with the length in front of it. The block has no end mark (see the LZ4 block format
/// description): it ends with literals, when the uncompressed size is reached.
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

/// Decompresses an LZ4 block that may be damaged, up to where that fails. From the damage on, the bytes may be wrong.
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
    use crate::compression::decompress;
    use proptest::collection::vec;
    use proptest::prelude::*;

    poc_laws::laws! {
        /// With the bytes of anything after it, as in a table.
        #[test]
        fn the_end_of_a_compressed_block_is_found(
            bytes in vec(any::<u8>(), 1..600), runs in 1usize..40, after in any::<Vec<u8>>(),
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
            }
            let block = compress(&bytes, Compression::Lz4);
            prop_assert_eq!(decompress_part(&block), bytes);
        }

        #[test]
        fn garbage_is_an_error_and_not_a_panic(bytes in any::<Vec<u8>>()) {
            for bytes in [bytes.clone(), [ZSTD_MAGIC.as_slice(), &bytes].concat()] {
                let _ = compressed_length(&bytes);
                let _ = decompress_part(&bytes);
                let _ = decompress(&bytes, 1 << 20);
            }
        }
    }
}
