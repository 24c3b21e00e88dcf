//! The tables of the store and their keys.

use serde::{Deserialize, Serialize};

/// A keyspace of the store. The number is part of the on-disk format: never reuse one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[repr(u8)]
pub enum Table {
    /// Node id → [`Node`](crate::graph::Node).
    Nodes = 1,
    /// Source, kind, target → [`Edge`](crate::graph::Edge).
    Edges = 2,
    /// Target, kind, source → nothing: the mirror of `Edges`.
    EdgesIn = 3,
    /// Node id, part (big-endian u16), embedder name → the vector in half precision.
    Vectors = 4,
    /// Tenant, key → node id.
    Keys = 5,
    /// Tenant, content hash → node id, for live nodes.
    Hashes = 6,
    /// Tenant, keyword, NUL, node id → nothing, for live nodes.
    Keywords = 7,
    /// Node id, agent → [`Visit`](crate::graph::Visit).
    Visits = 8,
    /// Node id → [`Activity`](crate::graph::Activity).
    Activity = 9,
    /// Agent, NUL, run id → the run's row.
    Runs = 10,
    /// Agent, NUL, scheduled time (big-endian i64) → the occurrence's row.
    Occurrences = 11,
    /// Agent → the last good definition and its state.
    Agents = 12,
    /// Name → value: the embedder in use and the like.
    Meta = 13,
}
