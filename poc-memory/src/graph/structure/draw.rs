//! Chance that depends on the graph alone.

use crate::graph::NodeId;
use std::hash::{Hash, Hasher};

/// A draw that depends on the two ids alone.
pub(super) fn draw(node: Option<NodeId>, other: Option<NodeId>) -> u64 {
    let mut hasher = rustc_hash::FxHasher::default();
    (node, other).hash(&mut hasher);
    // The hash of similar ids differs mostly in its high bits: fold them down and mix once more.
    let hash = hasher.finish();
    (hash ^ (hash >> 32)).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(23)
}

/// The same as a number in −1 to 1.
pub(super) fn signed(node: Option<NodeId>) -> f64 {
    // The 53 bits that fit a double.
    (draw(node, None) >> 11) as f64 / (1u64 << 52) as f64 - 1.0
}
