//! Pseudo-random values derived from node ids, so that results depend only on the graph.

use crate::NodeId;
use std::hash::{Hash, Hasher};

/// A pseudo-random number that depends only on the two ids.
pub(super) fn hash_ids(node: Option<NodeId>, other: Option<NodeId>) -> u64 {
    let mut hasher = rustc_hash::FxHasher::default();
    (node, other).hash(&mut hasher);
    // The hash of similar ids differs mostly in its high bits: fold them down and mix once more.
    let hash = hasher.finish();
    (hash ^ (hash >> 32)).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(23)
}

/// A pseudo-random number in −1 to 1 that depends only on the id and the turn.
pub(super) fn signed(node: Option<NodeId>, turn: u64) -> f64 {
    let bits = mixed(hash_ids(node, None) ^ turn.wrapping_mul(0xBF58_476D_1CE4_E5B9));
    // The 53 bits that fit a double.
    (bits >> 11) as f64 / (1u64 << 52) as f64 - 1.0
}

/// Mixes bits so that similar inputs give unrelated outputs: the finalizer of SplitMix64 (Steele, Lea and Flood
/// 2014).
pub(super) fn mixed(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}
