//! Keeps the HNSW graph up to date with the rows.
//!
//! The graph may lag behind the rows. Rows that are not in it yet are pending and compared one by one; rows
//! in it that are empty or not live are stale and ignored. Nothing is ever removed from the graph; when too
//! much of it is stale, it is rebuilt.

use super::code::Code;
use super::graph::Graph;
use super::rows::Rows;
use std::collections::BTreeSet;

/// The number of rows added in one step, which takes a few milliseconds.
const STEP: usize = 16;

/// After a change, twice as many rows as it affected are added, plus `MORE`. At most `MOST` affected rows count.
/// The graph catches up without delaying the writer for long.
const MORE: usize = 64;
const MOST: usize = 512;

/// The number of steps after a change that affected this many rows.
pub(super) fn steps(changed_rows: usize) -> usize {
    (changed_rows.min(MOST) * 2 + MORE).div_ceil(STEP)
}

/// If more than one in this many rows is pending, the exact scan is faster: a pending row compared on its own
/// costs several times as much as a row in a scan.
const PENDING_SHARE: usize = 16;

/// A graph is rebuilt only if more rows than this are stale.
const FEW: usize = 1024;

/// The HNSW graph and the rows that are missing in it.
pub(super) struct Hnsw {
    options: Options,
    graph: Graph,
    pending: BTreeSet<u32>,
}

/// The settings of the graph.
#[derive(Clone, Copy, Debug)]
pub(super) struct Options {
    pub(super) dimensions: usize,
    pub(super) connectivity: usize,
    pub(super) expansion_add: usize,
    pub(super) expansion_search: usize,
    /// The number of searchable rows from which on the graph is used.
    pub(super) min_rows: usize,
}

impl Options {
    pub(super) fn new(config: &poc_config::VectorsConfig, dimensions: usize) -> Self {
        Options {
            dimensions,
            connectivity: config.connectivity,
            expansion_add: config.expansion_add,
            expansion_search: config.expansion_search,
            min_rows: config.exact_below,
        }
    }
}

impl Hnsw {
    pub(super) fn new(options: Options) -> Self {
        Hnsw { options, graph: Graph::new(options.connectivity), pending: BTreeSet::new() }
    }

    /// Schedules a row of a live node, unless it is in the graph.
    pub(super) fn enqueue(&mut self, row: u32) {
        if !self.graph.contains(row) {
            self.pending.insert(row);
        }
    }

    /// Removes a row that is empty or not live any more. If it is in the graph, it stays there.
    pub(super) fn remove(&mut self, row: u32) {
        self.pending.remove(&row);
    }

    /// Whether a row is in the graph and must keep its code.
    pub(super) fn contains(&self, row: u32) -> bool {
        self.graph.contains(row)
    }

    /// Whether a search of the graph is faster than the exact scan.
    pub(super) fn is_ready(&self, rows: &Rows) -> bool {
        self.graph.len() > 0
            && rows.searchable() >= self.options.min_rows
            && self.pending.len() < rows.searchable() / PENDING_SHARE
    }

    /// Whether rows are missing from the graph.
    pub(super) fn is_unfinished(&self, rows: &Rows) -> bool {
        rows.searchable() >= self.options.min_rows && !self.pending.is_empty()
    }

    /// The rows that are not in the graph yet.
    pub(super) fn pending(&self) -> impl Iterator<Item = u32> {
        self.pending.iter().copied()
    }

    /// Adds some pending rows. Returns whether more are left.
    pub(super) fn advance(&mut self, rows: &mut Rows) -> bool {
        if rows.searchable() < self.options.min_rows {
            // Well below the threshold the graph is not worth its memory.
            if rows.searchable() < self.options.min_rows / 2 {
                self.clear(rows);
            }
            return false;
        }
        if self.stale(rows) > FEW && self.stale(rows) > self.graph.len() / 3 {
            self.clear(rows);
        }
        for _ in 0..STEP {
            let Some(row) = self.pending.pop_first() else { return false };
            self.graph.add(rows, row, self.options.expansion_add);
        }
        !self.pending.is_empty()
    }

    /// The number of rows of the graph that are empty or not live.
    pub(super) fn stale(&self, rows: &Rows) -> usize {
        (self.graph.len() + self.pending.len()).saturating_sub(rows.searchable())
    }

    fn clear(&mut self, rows: &mut Rows) {
        if self.graph.len() > 0 {
            self.graph = Graph::new(self.options.connectivity);
            self.pending = live(rows).collect();
            rows.reuse_all(|_| false);
        }
    }

    /// The `count` rows nearest to the code.
    pub(super) fn search(&self, rows: &Rows, code: &Code, count: usize) -> Vec<u32> {
        let mut found = self.graph.search(rows, code, self.options.expansion_search.max(count));
        found.truncate(count);
        found
    }

    /// The encoded graph; `None` if there is none.
    pub(super) fn encode(&self) -> Option<Vec<u32>> {
        (self.graph.len() > 0).then(|| self.graph.encode())
    }

    /// Restores a graph from [`Hnsw::encode`]; all other searchable rows become pending, and the empty ones are
    /// reused. `None` if it does not match the rows or the settings.
    pub(super) fn restore(options: Options, rows: &mut Rows, saved: Option<&[u32]>) -> Option<Hnsw> {
        let mut hnsw = Hnsw::new(options);
        if let Some(numbers) = saved {
            hnsw.graph = Graph::decode(options.connectivity, numbers, rows.end())?;
        }
        hnsw.pending = live(rows).filter(|&row| !hnsw.contains(row)).collect();
        rows.reuse_all(|row| hnsw.contains(row));
        Some(hnsw)
    }
}

/// The rows of live nodes.
fn live(rows: &Rows) -> impl Iterator<Item = u32> {
    (0..rows.end()).filter(|&row| rows.row(row).is_some_and(|(_, owner)| owner.live))
}
