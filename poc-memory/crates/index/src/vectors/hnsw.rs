//! The HNSW graph over the rows (Malkov and Yashunin 2018), by usearch.
//!
//! The graph may lag behind the rows. Rows that are not in it yet are pending and are compared one by one. Rows in it
//! that have changed since are stale and are ignored. Nothing is ever removed from the graph; it is rebuilt when too
//! much of it is stale, and when deleted content must not stay in it.

use super::graph_check;
use super::graph_vector;
use super::quantized::QuantizedVector;
use super::rows::{NONE, Rows};
use crate::error::IndexError;
use poc_graph::error::{Error, Result};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use usearch::{Index, IndexOptions, MetricKind, ScalarKind};

/// The number of rows added in one step, which takes a few milliseconds.
const STEP: usize = 16;

/// After a change that affected `n` rows, `2 · min(n, MAX_AFFECTED) + EXTRA_ROWS` rows are added. The graph then
/// catches up without delaying the writer for long.
const EXTRA_ROWS: usize = 64;
const MAX_AFFECTED: usize = 512;

/// The number of steps after a change that affected this many rows.
pub(super) fn steps(changed_rows: usize) -> usize {
    (changed_rows.min(MAX_AFFECTED) * 2 + EXTRA_ROWS).div_ceil(STEP)
}

/// If more than one in this many rows is pending, the exact scan is faster: a pending row compared on its own
/// costs several times as much as a row in a scan.
const PENDING_SHARE: usize = 16;

/// The minimum capacity to reserve, in rows. A graph with at most this many stale rows is not rebuilt.
const MIN_CAPACITY: usize = 1024;

/// The HNSW graph, and the mapping between its keys and the rows.
pub(super) struct Hnsw {
    options: Options,
    graph: Option<Index>,
    /// The row of each key of the graph; [`NONE`] if it is stale.
    members: Vec<u32>,
    /// The key of each row in the graph that is not stale.
    keys: FxHashMap<u32, u32>,
    /// The rows that are not in the graph yet.
    pending: BTreeSet<u32>,
}

/// The settings of the graph.
#[derive(Clone, Copy, Debug)]
pub(super) struct Options {
    pub(super) dimensions: usize,
    /// Maximum number of neighbours of a row in each layer (M in the paper).
    pub(super) connectivity: usize,
    /// Number of candidates when a row is added (efConstruction).
    pub(super) expansion_add: usize,
    /// Number of candidates of a search (ef).
    pub(super) expansion_search: usize,
    /// The number of searchable rows from which the graph is used.
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

    /// Creates an empty graph.
    fn graph(&self) -> Result<Index> {
        let mut graph = self.graph_without_distance()?;
        self.set_distance(&mut graph)?;
        Ok(graph)
    }

    fn graph_without_distance(&self) -> Result<Index> {
        Index::new(&IndexOptions {
            dimensions: graph_vector::width(self.dimensions),
            metric: MetricKind::Cos,
            // The graph uses the codes directly: half floats would take twice the memory, and usearch's own
            // quantisation to bytes would lose precision.
            quantization: ScalarKind::I8,
            connectivity: self.connectivity,
            expansion_add: self.expansion_add,
            expansion_search: self.expansion_search,
            multi: false,
        })
        .map_err(|error| failed("created", &error))
    }

    fn set_distance(&self, graph: &mut Index) -> Result<()> {
        graph_vector::set_distance(graph, self.dimensions).map_err(|error| failed("created", &error))
    }
}

fn failed(action: &'static str, problem: &dyn std::fmt::Display) -> Error {
    IndexError::VectorGraph { action, problem: problem.to_string() }.into()
}

impl Hnsw {
    pub(super) fn new(options: Options) -> Self {
        Hnsw {
            options,
            graph: None,
            members: Vec::new(),
            keys: FxHashMap::default(),
            pending: BTreeSet::new(),
        }
    }

    /// The approximate size in memory in bytes.
    pub(super) fn bytes(&self) -> usize {
        // The graph has its own copy of each vector.
        let row = self.options.dimensions + self.options.connectivity * 16;
        self.members.len() * row + self.pending.len() * size_of::<u32>()
    }

    /// Schedules a row whose vector is new or has changed.
    pub(super) fn enqueue(&mut self, row: u32) {
        self.remove(row);
        self.pending.insert(row);
    }

    /// Removes a row from the results of searches.
    pub(super) fn remove(&mut self, row: u32) {
        self.pending.remove(&row);
        if let Some(key) = self.keys.remove(&row)
            && let Some(member) = self.members.get_mut(key as usize)
        {
            *member = NONE;
        }
    }

    /// Whether a search of the graph is faster than the exact scan.
    pub(super) fn is_ready(&self, rows: &Rows) -> bool {
        self.graph.is_some()
            && rows.searchable() >= self.options.min_rows
            && self.pending.len() < rows.searchable() / PENDING_SHARE
    }

    /// Below this number of rows, the exact scan is faster.
    pub(super) fn min_rows(&self) -> usize {
        self.options.min_rows
    }

    /// Whether rows are missing from the graph.
    pub(super) fn is_unfinished(&self, rows: &Rows) -> bool {
        rows.searchable() >= self.options.min_rows && !self.pending.is_empty()
    }

    /// Whether [`Hnsw::advance`] may change anything.
    pub(super) fn may_advance(&self, rows: &Rows) -> bool {
        self.graph.is_some() || self.is_unfinished(rows)
    }

    /// The rows that are not in the graph yet.
    pub(super) fn pending(&self) -> impl Iterator<Item = u32> {
        self.pending.iter().copied()
    }

    /// Adds some pending rows. Returns whether more are left.
    pub(super) fn advance(&mut self, rows: &Rows) -> Result<bool> {
        if rows.searchable() < self.options.min_rows {
            // Far below the threshold, the graph is not worth its memory.
            if rows.searchable() < self.options.min_rows / 2 {
                self.clear(rows);
            }
            return Ok(false);
        }
        if self.stale() > MIN_CAPACITY && self.stale() > self.keys.len() / 2 {
            self.clear(rows);
        }
        for _ in 0..STEP {
            let Some(row) = self.pending.pop_first() else { return Ok(false) };
            if let Err(error) = self.add(rows, row) {
                self.pending.insert(row);
                return Err(error);
            }
        }
        Ok(!self.pending.is_empty())
    }

    /// Drops the graph if it has vectors of stale rows, and returns whether it does. The graph is then built again.
    pub(super) fn discard_stale(&mut self, rows: &Rows) -> bool {
        let is_stale = self.stale() > 0;
        if is_stale {
            self.clear(rows);
        }
        is_stale
    }

    /// The number of stale members of the graph.
    pub(super) fn stale(&self) -> usize {
        self.members.len() - self.keys.len()
    }

    /// Drops the graph. All searchable rows become pending.
    fn clear(&mut self, rows: &Rows) {
        if self.graph.take().is_some() {
            let live = (0..rows.end()).filter(|&row| rows.row(row).is_some_and(|(_, entry)| entry.live));
            self.pending = live.collect();
            self.members.clear();
            self.keys.clear();
        }
    }

    /// Adds a row to the graph, which is created if there is none.
    fn add(&mut self, rows: &Rows, row: u32) -> Result<()> {
        let Some((found, _)) = rows.row(row) else { return Ok(()) };
        let graph = match &self.graph {
            Some(graph) => graph,
            None => self.graph.insert(self.options.graph()?),
        };
        if self.members.len() >= graph.capacity() {
            reserve(graph, self.members.len() * 2)?;
        }
        let key = self.members.len() as u32;
        let vector = graph_vector::encode(rows.code(row), found.inverse);
        graph.add(u64::from(key), &vector).map_err(|error| failed("extended", &error))?;
        self.members.push(row);
        self.keys.insert(row, key);
        Ok(())
    }

    /// About `count` rows near a code; `None` if the search fails.
    pub(super) fn search(&self, code: &QuantizedVector, count: usize) -> Option<Vec<u32>> {
        let matches = self.graph.as_ref()?.search(&code.graph_vector(), count).ok()?;
        let row =
            |key: &u64| self.members.get(usize::try_from(*key).ok()?).copied().filter(|&row| row != NONE);
        Some(matches.keys.iter().filter_map(row).collect())
    }

    /// The row of each key, and the encoded graph; `None` if there is no graph.
    pub(super) fn encode(&self) -> Result<Option<(Vec<u32>, Vec<u8>)>> {
        let Some(graph) = &self.graph else { return Ok(None) };
        Ok(Some((self.members.clone(), encode(graph)?)))
    }

    /// Restores a saved graph; all other searchable rows become pending. `None` if it is damaged, or does not match the
    /// rows or the settings.
    pub(super) fn restore(options: Options, rows: &Rows, saved: Option<(Vec<u32>, Vec<u8>)>) -> Option<Hnsw> {
        let mut hnsw = Hnsw::new(options);
        if let Some((members, bytes)) = saved {
            if !graph_check::is_valid(&bytes, &encode(&options.graph().ok()?).ok()?) {
                return None;
            }
            let mut graph = options.graph_without_distance().ok()?;
            graph.load_from_buffer(&bytes).ok()?;
            if graph.dimensions() != graph_vector::width(options.dimensions) || graph.size() != members.len()
            {
                return None;
            }
            // Loading a graph resets the distance function to usearch's own.
            options.set_distance(&mut graph).ok()?;
            graph.change_expansion_add(options.expansion_add);
            graph.change_expansion_search(options.expansion_search);
            // A loaded graph has no capacity and no threads until they are reserved.
            reserve(&graph, members.len()).ok()?;
            hnsw.keys = (0u32..)
                .zip(&members)
                .filter(|(_, row)| **row != NONE)
                .map(|(key, &row)| (row, key))
                .collect();
            hnsw.members = members;
            hnsw.graph = Some(graph);
        }
        hnsw.pending = (0..rows.end())
            .filter(|row| !hnsw.keys.contains_key(row) && rows.row(*row).is_some_and(|(_, entry)| entry.live))
            .collect();
        Some(hnsw)
    }
}

/// The saved form of a graph.
fn encode(graph: &Index) -> Result<Vec<u8>> {
    let mut bytes = vec![0; graph.serialized_length()];
    graph.save_to_buffer(&mut bytes).map_err(|error| failed("saved", &error))?;
    Ok(bytes)
}

/// Reserves capacity, and contexts for as many concurrent searches as can be expected. A search without a free
/// context fails, and the exact scan is used instead.
fn reserve(graph: &Index, rows: usize) -> Result<()> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).max(8) * 2;
    graph
        .reserve_capacity_and_threads(rows.max(MIN_CAPACITY), threads)
        .map_err(|error| failed("extended", &error))
}
