//! The tables of the store and their keys.

use serde::{Deserialize, Serialize};

/// A keyspace of the store. The number is part of the on-disk format: never reuse one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "u8", try_from = "u8")]
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
    /// Tenant, content hash, node id → nothing, for live nodes.
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
    /// Node id, sequence number (big-endian u64) → nothing: the transactions that changed a node.
    /// Derived from the log; no transaction writes it.
    Changes = 14,
}

impl Table {
    /// Every table, by number.
    pub const ALL: [Table; 14] = [
        Table::Nodes,
        Table::Edges,
        Table::EdgesIn,
        Table::Vectors,
        Table::Keys,
        Table::Hashes,
        Table::Keywords,
        Table::Visits,
        Table::Activity,
        Table::Runs,
        Table::Occurrences,
        Table::Agents,
        Table::Meta,
        Table::Changes,
    ];

    /// The table and the key of a full key.
    pub(super) fn split(full: &[u8]) -> Option<(Table, &[u8])> {
        let (&number, key) = full.split_first()?;
        Some((Table::try_from(number).ok()?, key))
    }

    /// The record engine has one keyspace: a table is the first byte of its keys.
    pub(super) fn prefix(self, key: &[u8]) -> Vec<u8> {
        let mut full = Vec::with_capacity(1 + key.len());
        full.push(self as u8);
        full.extend_from_slice(key);
        full
    }
}

impl From<Table> for u8 {
    fn from(table: Table) -> u8 {
        table as u8
    }
}

impl TryFrom<u8> for Table {
    type Error = String;

    fn try_from(number: u8) -> Result<Table, String> {
        Table::ALL
            .into_iter()
            .find(|table| *table as u8 == number)
            .ok_or_else(|| format!("there is no table {number}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_names_its_table() {
        for number in 0..=u8::MAX {
            let table = Table::try_from(number);
            assert_eq!(table.is_ok(), (1..=14).contains(&number));
            assert!(table.is_err() || table.is_ok_and(|table| u8::from(table) == number));
        }
    }
}
