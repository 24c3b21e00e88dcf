//! Indexes in a temporary directory, for tests.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "only tests use it; the lints exempt tests by `cfg(test)`, which does not reach other crates"
)]

#[cfg(test)]
pub(crate) mod history;

use super::{Index, MentionIndex, TextIndex, VectorIndex};
use poc_config::Config;
use poc_embed::Embedder;
use poc_graph::Delta;
use std::path::Path;
use tempfile::TempDir;

/// The text and vector indexes after one transaction, with their temporary directory.
pub fn fed(config: &Config, embedder: &dyn Embedder, deltas: &[Delta]) -> (TempDir, TextIndex, VectorIndex) {
    let folder = poc_graph::testing::folder();
    let text = TextIndex::open(&folder.path().join("text"), &config.text).unwrap();
    let (name, dimensions) = (embedder.name(), embedder.dimensions());
    let vectors =
        VectorIndex::open(&folder.path().join("vectors"), &config.vectors, name, dimensions).unwrap();
    text.apply(1, deltas).unwrap();
    vectors.apply(1, deltas).unwrap();
    (folder, text, vectors)
}

/// The mention index after one transaction, in memory.
pub fn mentions(deltas: &[Delta]) -> MentionIndex {
    let index = MentionIndex::closed(Path::new("/nonexistent"));
    index.release();
    index.apply(1, deltas).unwrap();
    index
}

/// Damages a file in 200 ways, one after the other, by flipping a bit or truncating it. Calls `check` with the number
/// of each damage, and restores the file at the end.
pub fn for_each_damage(path: &Path, mut check: impl FnMut(usize)) {
    let whole = std::fs::read(path).unwrap();
    for damage in 0..200 {
        let mut bytes = whole.clone();
        let at = damage * whole.len() / 200;
        if damage % 2 == 0 {
            bytes[at] ^= 1 << (damage % 8);
        } else {
            bytes.truncate(at);
        }
        std::fs::write(path, bytes).unwrap();
        check(damage);
    }
    std::fs::write(path, whole).unwrap();
}
