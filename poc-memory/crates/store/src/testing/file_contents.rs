//! Searches files for texts that are compressed in them. It knows no layout: whatever a file is for, everything in it that
//! can be decompressed is searched.

use crate::compression::{ZSTD_MAGIC, decompress};
use zstd::zstd_safe;

/// The most that one part of a file may have uncompressed, in bytes.
const MAX_BYTES: usize = 65 << 20;

/// The shortest LZ4 block that is searched, in bytes uncompressed.
const MIN_BYTES: usize = 16;

/// Zeros are skipped in parts of this length: the reserve of a store has 4 MiB of them.
const ZEROS: [u8; 4096] = [0; 4096];

/// Whether the bytes of a file satisfy a condition, as they are or as the contents of a Zstandard frame or an LZ4 block
/// that begins anywhere in them: a transaction of the log, or a block of records in a table or in sled.
pub fn any_content(file: &[u8], satisfies: impl Fn(&[u8]) -> bool) -> bool {
    if satisfies(file) {
        return true;
    }
    let mut at = 0;
    while at < file.len() {
        let rest = &file[at..];
        if at.is_multiple_of(ZEROS.len()) && rest.starts_with(&ZEROS) {
            // The length of a block may begin with up to three zeros.
            at += ZEROS.len() - 3;
            continue;
        }
        let content = if rest.starts_with(&ZSTD_MAGIC) { zstd_frame(rest) } else { lz4_block(rest) };
        if content.is_some_and(|content| satisfies(&content)) {
            return true;
        }
        at += 1;
    }
    false
}

fn zstd_frame(bytes: &[u8]) -> Option<Vec<u8>> {
    let length = zstd_safe::find_frame_compressed_size(bytes).ok()?;
    decompress(bytes.get(..length)?, MAX_BYTES).ok()
}

/// What begins as an LZ4 block with its length in front of it, which is all that shows where it ends.
fn lz4_block(bytes: &[u8]) -> Option<Vec<u8>> {
    let (size, mut rest) = bytes.split_first_chunk::<4>()?;
    let size = u32::from_le_bytes(*size) as usize;
    if !(MIN_BYTES..=MAX_BYTES).contains(&size) {
        return None;
    }
    let mut content = Vec::new();
    loop {
        let (token, after) = rest.split_first()?;
        rest = after;
        let literals = length(token >> 4, &mut rest)?;
        let (copied, after) = rest.split_at_checked(literals)?;
        content.extend_from_slice(copied);
        rest = after;
        if content.len() >= size {
            return (content.len() == size).then_some(content);
        }
        let (offset, after) = rest.split_first_chunk::<2>()?;
        rest = after;
        let offset = usize::from(u16::from_le_bytes(*offset));
        let start = content.len().checked_sub(offset).filter(|_| offset > 0)?;
        let matched = 4 + length(token & 15, &mut rest)?;
        if content.len() + matched > size {
            return None;
        }
        // It may overlap what it appends.
        for from in start..start + matched {
            content.push(content[from]);
        }
    }
}

/// A length of LZ4: four bits, and if all are set, the bytes after them up to one that is not 255.
fn length(nibble: u8, rest: &mut &[u8]) -> Option<usize> {
    let mut length = usize::from(nibble);
    let mut is_last = nibble < 15;
    while !is_last {
        let (byte, after) = rest.split_first()?;
        *rest = after;
        length += usize::from(*byte);
        is_last = *byte < 255;
    }
    Some(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compressed_text_is_found_wherever_it_begins() {
        let mut text = "The guard of the gate opens it at noon. ".repeat(40);
        text.insert_str(1000, "The word of the gate is Zanzibarquetzal. ");
        // The compressed bytes are shorter than the text.
        let is_text = |bytes: &[u8]| bytes == text.as_bytes();
        let frame = zstd::bulk::compress(text.as_bytes(), 1).unwrap();
        let block = lz4_flex::block::compress_prepend_size(text.as_bytes());
        for compressed in [frame, block] {
            let file = [b"header".as_slice(), &compressed, b"The guard of the gate"].concat();
            assert!(any_content(&file, is_text));
            assert!(!any_content(&file[..6 + compressed.len() / 2], is_text));
            let behind_zeros = [vec![0_u8; 3 * ZEROS.len()], compressed].concat();
            assert!(any_content(&behind_zeros, is_text));
        }
        // The length of this block begins with zeros, which end a part that is skipped.
        let zeros = vec![0_u8; 1 << 16];
        let block = lz4_flex::block::compress_prepend_size(&zeros);
        let file = [vec![0_u8; ZEROS.len() - 2], block].concat();
        assert!(any_content(&file, |bytes| bytes == zeros));
        assert!(any_content(text.as_bytes(), is_text) && !any_content(b"The guard", is_text));
    }
}
