//! The counts of every tenant, which are in memory even if its view is not: its last transaction and its numbers of
//! notes and edges. They are kept up to date from the transactions of the log.

use super::encoding_error::EncodingError;
use super::keys;
use super::logged_transaction::LoggedTransaction;
use super::record_encoding::Record as _;
use super::table::Table;
use poc_graph::error::Result;
use poc_graph::{Node, Tenant, View};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// The numbers of a tenant's notes and edges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TenantCounts {
    /// The number of the tenant's last transaction; 0 if it has none.
    pub seq: u64,
    /// Nodes in any state.
    pub nodes: u64,
    /// Live nodes.
    pub live: u64,
    /// Edges of graph kinds.
    pub edges: u64,
}

/// The counts of every tenant that has ever written anything, except the default one, whose view is always in memory.
pub(super) type TenantTable = FxHashMap<Tenant, TenantCounts>;

impl TenantCounts {
    /// The counts of a view.
    pub(super) fn of(view: &View) -> TenantCounts {
        TenantCounts {
            seq: view.seq,
            nodes: view.node_count() as u64,
            live: view.live_count() as u64,
            edges: view.edge_count() as u64,
        }
    }

    /// Adds the changes of a transaction of the tenant.
    pub(super) fn apply(&mut self, txn: &LoggedTransaction) -> Result<()> {
        let is_live = |node: &Option<Vec<u8>>| -> Result<bool> {
            node.as_deref().map_or(Ok(false), |node| Ok(Node::decode(node)?.state.is_live()))
        };
        self.seq = txn.seq;
        for write in &txn.writes {
            let (was, is) = (write.before.is_some(), write.after.is_some());
            match write.table {
                Table::Nodes => {
                    change(&mut self.nodes, was, is);
                    change(&mut self.live, is_live(&write.before)?, is_live(&write.after)?);
                }
                Table::Edges => {
                    let edge = keys::read_edge(&write.key)?;
                    // The others are not in the adjacency of a view.
                    if edge.kind.is_graph() && edge.src != edge.dst {
                        change(&mut self.edges, was, is);
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }
}

fn change(count: &mut u64, was: bool, is: bool) {
    *count = (*count + u64::from(is)).saturating_sub(u64::from(was));
}

/// Encodes a table, sorted by tenant.
pub(super) fn encode(table: &TenantTable) -> Result<Vec<u8>> {
    let mut rows: Vec<(&Tenant, &TenantCounts)> = table.iter().collect();
    rows.sort_unstable_by_key(|(tenant, _)| **tenant);
    let encoded = postcard::to_allocvec(&rows);
    Ok(encoded.map_err(|error| EncodingError::new("the counts of the tenants", error))?)
}

/// Decodes a table at the start of `bytes`, and returns the bytes after it; `None` if it is invalid.
pub(super) fn decode(bytes: &[u8]) -> Option<(TenantTable, &[u8])> {
    let (rows, rest) = postcard::take_from_bytes::<Vec<(Tenant, TenantCounts)>>(bytes).ok()?;
    Some((rows.into_iter().collect(), rest))
}
