//! Parsers for the fuzz targets, with the properties that must hold for any input; see `fuzz/` at the root of the
//! repository.

#![allow(clippy::unwrap_used, reason = "a violated property is a panic, which the fuzzer reports")]

use super::{mentions, text, vectors};

/// Decodes a saved index. The first byte selects its kind: text, mentions, or the rows of vectors. The graph of vectors
/// is excluded, because usearch decodes it. An index that can be decoded must encode to the same bytes.
pub fn index_snapshot(bytes: &[u8]) {
    let Some((kind, bytes)) = bytes.split_first() else { return };
    let saved_again = match kind {
        0 => text::saved_again,
        1 => mentions::saved_again,
        _ => vectors::saved_again,
    };
    let Some(saved) = saved_again(bytes) else { return };
    assert_eq!(saved_again(&saved).unwrap(), saved);
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_properties_hold_for_the_corpus() {
        poc_graph::testing::corpus("index_snapshot").iter().for_each(|bytes| super::index_snapshot(bytes));
    }
}
