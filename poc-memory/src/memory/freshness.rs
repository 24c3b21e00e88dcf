//! How far what was read is behind what was written.

use super::Memory;
use crate::graph::View;
use crate::store::Follower;
use crate::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which state of the store an answer shows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AsOf {
    /// Sequence number of the last transaction in it.
    pub seq: u64,
    /// When it was read.
    pub at: Timestamp,
}

/// How complete an answer is.
#[derive(Clone, Debug, PartialEq)]
pub struct Freshness {
    /// Which state it shows.
    pub as_of: AsOf,
    /// How many transactions the slowest index is behind that.
    pub lag: u64,
    /// What makes the answer poorer than it should be, one line each.
    pub degraded: Vec<String>,
}

/// The freshness of an answer that `view` and the indexes give now.
pub fn of(memory: &Memory, view: &View) -> Freshness {
    let indexed = memory.text.applied().min(memory.vectors.applied());
    let degraded =
        memory.store.behind().into_iter().map(|(name, error)| format!("{name}: {error}")).collect();
    Freshness {
        as_of: AsOf { seq: view.seq, at: memory.now() },
        lag: view.seq.saturating_sub(indexed),
        degraded,
    }
}
