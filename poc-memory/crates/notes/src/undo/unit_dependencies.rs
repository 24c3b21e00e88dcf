//! Which units of a transaction may be possible to undo only after another one.

use poc_graph::error::Result;
use poc_graph::{Node, NodeId};
use poc_store::{Record, Table, Transaction, Write};
use std::collections::HashMap;

/// The units by what their undo may wait for.
pub(super) struct UnitDependencies {
    /// By the notes at the other ends of their edges, which the undo may delete or restore.
    by_note: HashMap<NodeId, Vec<usize>>,
    /// By the hashes of the texts that their notes get back, which another live note may have until it is undone.
    by_text: HashMap<[u8; 32], Vec<usize>>,
}

impl UnitDependencies {
    pub(super) fn of(tx: &Transaction<'_>, units: &[Vec<Write>]) -> Result<UnitDependencies> {
        let mut by_note: HashMap<NodeId, Vec<usize>> = HashMap::new();
        let mut by_text: HashMap<[u8; 32], Vec<usize>> = HashMap::new();
        for (unit, writes) in units.iter().enumerate() {
            let mut ends: Vec<NodeId> = Vec::new();
            for write in writes {
                match (write.table, write.before.as_deref(), write.node_id()) {
                    (Table::Edges, ..) => {
                        ends.extend(write.edge_id().into_iter().flat_map(|edge| [edge.src, edge.dst]));
                    }
                    (Table::Nodes, Some(before), _) => {
                        by_text.entry(Node::decode(before)?.content_hash).or_default().push(unit);
                    }
                    // Edges that were added to a new note since may prevent its deletion.
                    (Table::Nodes, None, Some(created)) => {
                        let edges = tx.edges(created)?;
                        ends.extend(edges.iter().flat_map(|edge| [edge.src, edge.dst]));
                    }
                    _ => {}
                }
            }
            ends.sort_unstable();
            ends.dedup();
            for end in ends {
                by_note.entry(end).or_default().push(unit);
            }
        }
        Ok(UnitDependencies { by_note, by_text })
    }

    /// The units that may have waited for the undo of one with these writes.
    pub(super) fn waiting_for(&self, writes: &[Write]) -> Result<Vec<usize>> {
        let mut waiting = Vec::new();
        for write in writes.iter().filter(|write| write.table == Table::Nodes) {
            waiting.extend(write.node_id().and_then(|note| self.by_note.get(&note)).into_iter().flatten());
            if let Some(after) = write.after.as_deref() {
                waiting.extend(self.by_text.get(&Node::decode(after)?.content_hash).into_iter().flatten());
            }
        }
        Ok(waiting)
    }
}
