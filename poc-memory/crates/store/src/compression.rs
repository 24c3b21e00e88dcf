//! Decompresses records of the log and blocks of records: a Zstandard frame with its length (RFC 8878), or an LZ4 block
//! preceded by its length (four bytes, little-endian).

use std::cell::RefCell;
use std::fmt::Display;
use std::io;
use zstd::bulk::Decompressor;
use zstd::zstd_safe;

/// The level at which Zstandard compresses. Higher ones take at least twice the time for 5 % less space.
pub(super) const ZSTD_LEVEL: i32 = 1;

/// The first bytes of a Zstandard frame. As the length of an LZ4 block, they would be 4 GB, which nothing here has.
pub(super) const ZSTD_MAGIC: [u8; 4] = 0xFD2F_B528_u32.to_le_bytes();

thread_local! {
    // It takes about 100 KiB, which are more than a block, so a thread uses it again.
    static DECOMPRESSOR: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
}

/// Decompresses bytes that have at most `max` bytes uncompressed.
///
/// # Errors
/// What is wrong with the compressed bytes.
pub(super) fn decompress(bytes: &[u8], max: usize) -> Result<Vec<u8>, String> {
    // The memory for the result is taken at once, so an invalid length must not reach the decoders.
    let checked = |length: usize| {
        if length > max { Err(format!("it would have {length} bytes")) } else { Ok(length) }
    };
    if bytes.starts_with(&ZSTD_MAGIC) {
        let length =
            zstd_safe::get_frame_content_size(bytes).ok().flatten().ok_or("its length is missing")?;
        let length = checked(usize::try_from(length).unwrap_or(usize::MAX))?;
        return decompress_frame(bytes, length).map_err(reason);
    }
    let (length, block) = lz4_flex::block::uncompressed_size(bytes).map_err(reason)?;
    lz4_flex::block::decompress(block, checked(length)?).map_err(reason)
}

fn decompress_frame(bytes: &[u8], length: usize) -> io::Result<Vec<u8>> {
    DECOMPRESSOR.with_borrow_mut(|decompressor| match decompressor {
        Some(decompressor) => decompressor.decompress(bytes, length),
        none => none.insert(Decompressor::new()?).decompress(bytes, length),
    })
}

fn reason(error: impl Display) -> String {
    error.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    poc_laws::laws! {
        #[test]
        fn both_formats_are_read_back_up_to_a_limit(bytes in vec(any::<u8>(), 1..600), runs in 1usize..40) {
            let bytes: Vec<u8> = bytes.into_iter().flat_map(|byte| vec![byte; runs]).collect();
            let frame = zstd::bulk::compress(&bytes, ZSTD_LEVEL).unwrap();
            prop_assert!(frame.starts_with(&ZSTD_MAGIC));
            for compressed in [frame, lz4_flex::block::compress_prepend_size(&bytes)] {
                prop_assert_eq!(decompress(&compressed, bytes.len()).unwrap(), bytes.as_slice());
                prop_assert!(decompress(&compressed, bytes.len() - 1).is_err());
                prop_assert!(decompress(&compressed[..compressed.len() - 1], bytes.len()).is_err());
            }
        }
    }

    /// A frame without content can have any length in its header (RFC 8878, 3.1.1.1).
    #[test]
    fn a_length_beyond_the_limit_takes_no_memory() {
        // A single segment, whose length has eight bytes; then an empty last block.
        let frame =
            |length: u64| [ZSTD_MAGIC.as_slice(), &[0b1110_0000], &length.to_le_bytes(), &[1, 0, 0]].concat();
        assert_eq!(decompress(&frame(0), 10).unwrap(), Vec::<u8>::new());
        assert_eq!(decompress(&frame(11), 10).unwrap_err(), "it would have 11 bytes");
        let longest = u64::MAX - 2;
        assert_eq!(decompress(&frame(longest), 10).unwrap_err(), format!("it would have {longest} bytes"));
        assert!(decompress(&frame(10), 10).is_err());
        // Without a single segment, the first byte after the descriptor is that of the window, and no length follows.
        let without_length = [ZSTD_MAGIC.as_slice(), &[0, 0x10], &[1, 0, 0]].concat();
        assert_eq!(decompress(&without_length, 10).unwrap_err(), "its length is missing");
    }
}
