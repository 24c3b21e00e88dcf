//! The tables of the store and their keys.

use poc_graph::Tenant;
use serde::{Deserialize, Serialize};

/// The first byte of the keys of all tenants except the default one. It is followed by the tenant, the number of the
/// table and the key. No table has this number.
pub(super) const TENANT_PREFIX: u8 = 0xF0;

/// A table of the store. The numbers are part of the format on disk and must never be reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "u8", try_from = "u8")]
#[repr(u8)]
pub enum Table {
    /// Node id → [`Node`](poc_graph::Node).
    Nodes = 1,
    /// Source, kind, target → [`Edge`](poc_graph::Edge).
    Edges = 2,
    /// Target, kind, source → nothing. This is the index of incoming edges.
    EdgesIn = 3,
    /// Node id, part (big-endian u16), embedder name → the vector in eight bits per dimension.
    Vectors = 4,
    /// Sixteen zero bytes, key or alias → node id.
    Keys = 5,
    /// Sixteen zero bytes, content hash, node id → nothing, for live nodes.
    Hashes = 6,
    /// Sixteen zero bytes, keyword, NUL, node id → nothing, for live nodes.
    Keywords = 7,
    /// Node id, agent → [`Visit`](poc_graph::Visit).
    Visits = 8,
    /// Node id → [`Activity`](poc_graph::Activity).
    Activity = 9,
    /// Agent, NUL, run id → the record of the run.
    Runs = 10,
    /// Agent, NUL, scheduled time (big-endian i64) → the record of the occurrence.
    Occurrences = 11,
    /// Agent → its last valid definition, and its state.
    Agents = 12,
    /// Name → a value specific to that name: bindings to remote stores, and how far each has been synchronised. The
    /// embedder is recorded in `embedder.json` instead.
    Meta = 13,
    /// Node id, sequence number (big-endian u64) of a transaction that changed the node → the cause and the version if
    /// the transaction created the node, otherwise nothing. Derived from the log; no transaction writes it.
    Changes = 14,
    /// Tenant → its tuple.
    Tenants = 15,
    /// Message id → [`Message`](poc_graph::Message).
    Messages = 16,
    /// Kind of comparison (0 insert, 1 question), embedder name → a histogram of the cosines.
    Samples = 17,
    /// Agent → its state, which is kept longer than the records of its runs.
    AgentStates = 18,
    /// Run id, position (big-endian u16) → an action that awaits or got a person's decision.
    Proposals = 19,
    /// Agent, NUL, run id → the budget reserved for the call that the run is making.
    Reservations = 20,
    /// Node id, path of a file → the text around the node's text in the Markdown file that it came from.
    Frames = 21,
    /// Number of a vault (big-endian u32) → its binding. Number of a vault, path of a file → what the note of that file
    /// was made from.
    Vaults = 22,
    /// Agent, NUL, tenant → runs and cost of the agent's recent runs for the tenant.
    TenantSpending = 23,
}

impl Table {
    /// All tables, sorted by number.
    pub const ALL: [Table; 23] = [
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
        Table::Tenants,
        Table::Messages,
        Table::Samples,
        Table::AgentStates,
        Table::Proposals,
        Table::Reservations,
        Table::Frames,
        Table::Vaults,
        Table::TenantSpending,
    ];

    /// Whether all tenants share the table. Each tenant has its own copy of the other tables.
    pub(super) fn is_shared(self) -> bool {
        matches!(
            self,
            Table::Runs
                | Table::Occurrences
                | Table::Agents
                | Table::Meta
                | Table::Tenants
                | Table::AgentStates
                | Table::Proposals
                | Table::Reservations
                | Table::TenantSpending
        )
    }

    /// The engine's key for a key of the table. The engine has a single keyspace, so the key is prefixed with the
    /// number of the table and, except for the default tenant, before that with the tenant.
    pub(super) fn engine_key(self, tenant: Tenant, key: &[u8]) -> Vec<u8> {
        let mut full = Vec::with_capacity(18 + key.len());
        if !tenant.is_default() && !self.is_shared() {
            full.push(TENANT_PREFIX);
            full.extend_from_slice(&tenant.0);
        }
        full.push(self as u8);
        full.extend_from_slice(key);
        full
    }

    /// The inverse of [`Table::engine_key`].
    pub(super) fn split_engine_key(full: &[u8]) -> Option<(Tenant, Table, &[u8])> {
        let (tenant, rest) = match full.split_first()? {
            (&TENANT_PREFIX, _) => split_tenant(full)?,
            _ => (Tenant::default(), full),
        };
        let (&number, key) = rest.split_first()?;
        Some((tenant, Table::try_from(number).ok()?, key))
    }
}

/// The start of the engine's keys of a tenant, which is not the default one.
pub(super) fn tenant_prefix(tenant: Tenant) -> Vec<u8> {
    [[TENANT_PREFIX].as_slice(), &tenant.0].concat()
}

/// The tenant in a key of the engine, and the rest of the key; `None` if the key belongs to the default tenant.
pub(super) fn split_tenant(full: &[u8]) -> Option<(Tenant, &[u8])> {
    let (tenant, rest) = full.strip_prefix(&[TENANT_PREFIX])?.split_first_chunk()?;
    Some((Tenant(*tenant), rest))
}

impl From<Table> for u8 {
    fn from(table: Table) -> u8 {
        table as u8
    }
}

/// A number that no table has.
#[derive(Debug, thiserror::Error)]
#[error("there is no table {0}")]
pub struct UnknownTable(u8);

impl TryFrom<u8> for Table {
    type Error = UnknownTable;

    fn try_from(number: u8) -> Result<Table, UnknownTable> {
        Table::ALL.into_iter().find(|table| *table as u8 == number).ok_or(UnknownTable(number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_key_contains_tenant_and_table() {
        let tenant = Tenant([7; 16]);
        for table in Table::ALL {
            let owner = if table.is_shared() { Tenant::default() } else { tenant };
            assert_eq!(
                Table::split_engine_key(&table.engine_key(tenant, b"key")),
                Some((owner, table, b"key".as_slice()))
            );
            let of_default = table.engine_key(Tenant::default(), b"key");
            assert_eq!(of_default, [&[table as u8], b"key".as_slice()].concat());
            assert_ne!(table as u8, TENANT_PREFIX);
        }
    }

    #[test]
    fn every_number_names_its_table() {
        for number in 0..=u8::MAX {
            let table = Table::try_from(number);
            assert_eq!(table.is_ok(), (1..=23).contains(&number));
            assert!(table.is_err() || table.is_ok_and(|table| u8::from(table) == number));
        }
    }
}
