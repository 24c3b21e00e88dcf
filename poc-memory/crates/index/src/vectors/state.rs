//! The state of the vector index.

use super::exact::Filter;
use super::hnsw::{Hnsw, Options};
use super::quantized::QuantizedVector;
use super::rows::Rows;
use poc_graph::{Delta, NodeId};
use poc_rank::top_k::{Ranked, TopK};
use rustc_hash::FxHashMap;

/// The rows, the HNSW graph over them, and their position in the log.
pub(super) struct State {
    pub(super) rows: Rows,
    pub(super) hnsw: Hnsw,
    // The last transaction that was applied.
    pub(super) applied: u64,
    // The number of changes since the index was opened.
    pub(super) changes: u64,
}

impl State {
    /// A state without rows.
    pub(super) fn empty(options: Options) -> Self {
        State { rows: Rows::new(options.dimensions), hnsw: Hnsw::new(options), applied: 0, changes: 0 }
    }

    /// The `k` nearest nodes that the filter accepts, found with the HNSW graph. `None` if the graph is not ready, or
    /// if the filter rejects so many nodes that the exact scan is faster.
    pub(super) fn approximate(
        &self,
        query: &QuantizedVector,
        k: usize,
        filter: Filter,
    ) -> Option<Vec<Ranked<u16>>> {
        if !self.hnsw.is_ready(&self.rows) {
            return None;
        }
        let mut count = k.saturating_mul(2).max(32);
        // Searching the graph for a large share of the rows costs more than the exact scan.
        while count <= self.rows.searchable() / 16 {
            let near = self.hnsw.search(query, count)?;
            let mut best: FxHashMap<NodeId, Ranked<u16>> = FxHashMap::default();
            for number in near.into_iter().chain(self.hnsw.pending()) {
                let Some((row, entry)) = self.rows.row(number) else { continue };
                if !entry.live || !filter.includes(&row) {
                    continue;
                }
                let score = self.rows.cosine(number, &row, query);
                let found = Ranked { score, id: entry.id, payload: row.passage };
                let known = best.entry(entry.id).or_insert(found);
                if score > known.score || score == known.score && row.passage < known.payload {
                    *known = found;
                }
            }
            let mut top = TopK::new(k);
            let accepted = best.into_values().filter(|found| (filter.keep)(found.id));
            accepted.for_each(|found| top.offer(found));
            let sorted = top.into_sorted();
            if sorted.len() == k {
                return Some(sorted);
            }
            count = count.saturating_mul(4);
        }
        None
    }

    /// Applies a change. Returns the number of affected rows.
    pub(super) fn apply(&mut self, delta: &Delta, dimensions: usize) -> usize {
        match delta {
            Delta::Vector(id, passage, vector) => {
                let code = Some(vector)
                    .filter(|vector| vector.len() == dimensions)
                    .and_then(|v| QuantizedVector::of(v));
                match code {
                    Some(code) => self.put(*id, *passage, &code),
                    None => self.remove(*id, *passage),
                }
            }
            Delta::VectorDeleted(id, passage) => self.remove(*id, *passage),
            Delta::Node(node) => {
                let live = node.state.is_live();
                let rows = self.rows.set_live(node.id, live);
                for &row in &rows {
                    if live { self.hnsw.enqueue(row) } else { self.hnsw.remove(row) }
                }
                rows.len()
            }
            Delta::NodeDeleted(id) => {
                let rows = self.rows.remove_node(*id);
                rows.iter().for_each(|&row| self.hnsw.remove(row));
                rows.len()
            }
            _ => 0,
        }
    }

    fn put(&mut self, id: NodeId, passage: u16, code: &QuantizedVector) -> usize {
        let Some(row) = self.rows.put(id, passage, code) else { return 0 };
        if self.rows.entry(id).is_some_and(|entry| entry.live) {
            self.hnsw.enqueue(row);
        }
        1
    }

    fn remove(&mut self, id: NodeId, passage: u16) -> usize {
        let row = self.rows.remove(id, passage);
        row.into_iter().map(|row| self.hnsw.remove(row)).count()
    }
}
