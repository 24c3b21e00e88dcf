//! The vector index: exact while small, HNSW above.

mod code;
mod cosine_scores;
mod exact;
mod files;
mod hit;
mod hnsw;
mod nearest_among;
mod rows;
mod state;
#[cfg(test)]
mod tests;
use crate::latch::Latch;
use crate::tenants::Index;
use code::Code;
pub use cosine_scores::CosineScores;
use exact::Filter;
use files::{Files, Image};
pub use hit::VectorHit;
use hnsw::Options;
use parking_lot::{RwLock, RwLockReadGuard};
use poc_graph::error::{Error, Result};
use poc_graph::{Delta, NodeId};
use state::State;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The vector index of live nodes. Vectors are kept in eight bits a dimension, so cosines are
/// within about 0.002 of the exact ones.
pub struct VectorIndex {
    options: Options,
    // A fork has none: it is never saved.
    files: Option<Files>,
    state: RwLock<State>,
    latch: Latch,
    // `State::changes` as of the saved files.
    saved: AtomicU64,
}

impl VectorIndex {
    /// Opens the saved files in a directory when they are whole and fit embedder and settings;
    /// else starts empty and waits to be fed. Settings out of range are refused.
    pub fn open(
        directory: &Path,
        config: &poc_config::VectorsConfig,
        embedder: &str,
        dimensions: usize,
    ) -> Result<VectorIndex> {
        let index = VectorIndex::closed(directory, config, embedder, dimensions)?;
        index.load();
        index.release();
        Ok(index)
    }

    /// As [`VectorIndex::open`], but nothing is read before [`Index::load`], and whoever asks
    /// waits for [`Index::release`].
    pub fn closed(
        directory: &Path,
        config: &poc_config::VectorsConfig,
        embedder: &str,
        dimensions: usize,
    ) -> Result<VectorIndex> {
        check(config)?;
        let options = Options::new(config, dimensions);
        let files = Files::new(directory, embedder, &options);
        let state = RwLock::new(State::empty(options));
        let files = Some(files);
        Ok(VectorIndex { options, files, state, latch: Latch::default(), saved: AtomicU64::new(0) })
    }

    /// The state, once readers may see it. They may ask again while they hold it and a writer waits.
    fn read(&self) -> RwLockReadGuard<'_, State> {
        self.latch.wait();
        self.state.read_recursive()
    }

    /// A copy in memory alone, as it is now, which goes its own way and is searched exactly.
    pub fn fork(&self) -> VectorIndex {
        let state = {
            let state = self.read();
            State { rows: state.rows.clone(), applied: state.applied, ..State::empty(self.options) }
        };
        let latch = Latch::default();
        latch.open();
        VectorIndex {
            options: self.options,
            files: None,
            state: RwLock::new(state),
            latch,
            saved: AtomicU64::new(0),
        }
    }

    /// The `k` nearest nodes that `keep` lets through, best part each, best first, ties by id.
    /// `keep` is asked only about nodes near enough to be among them, perhaps more than once.
    /// A vector of the wrong length or with values that are not finite is an error; the zero
    /// vector is near nothing.
    pub fn search(&self, vector: &[f32], k: usize, keep: &dyn Fn(NodeId) -> bool) -> Result<Vec<VectorHit>> {
        self.find(vector, k, Filter { titles: false, keep })
    }

    /// As [`VectorIndex::search`] over titles (part 0) only.
    pub fn search_titles(
        &self,
        vector: &[f32],
        k: usize,
        keep: &dyn Fn(NodeId) -> bool,
    ) -> Result<Vec<VectorHit>> {
        self.find(vector, k, Filter { titles: true, keep })
    }

    /// The unit vectors of a node in any state, by part; parts without any content have none.
    pub fn of(&self, id: NodeId) -> Vec<(u16, Arc<[f32]>)> {
        let state = self.read();
        let rows = &state.rows;
        let Some(owner) = rows.owner(id) else { return Vec::new() };
        let mut parts: Vec<(u16, Arc<[f32]>)> = rows
            .of(owner)
            .map(|(number, row)| (row.part, code::decode(rows.code(number), row.inverse).into()))
            .collect();
        parts.sort_by_key(|(part, _)| *part);
        parts
    }

    /// How alike the texts of two nodes in any state are: the cosine of the best pair of their
    /// passages. The title stands for a node without passages, and only for such a one: short titles
    /// are alike without meaning much. `None` when either has no vector.
    pub fn similarity(&self, a: NodeId, b: NodeId) -> Option<f64> {
        let state = self.read();
        let rows = &state.rows;
        let (a, b) = (rows.owner(a)?, rows.owner(b)?);
        let pairs = rows.texts_of(a).flat_map(|x| rows.texts_of(b).map(move |y| (x, y)));
        pairs
            .map(|((i, x), (j, y))| code::cosine(code::dot(rows.code(i), rows.code(j)), x.inverse, y.inverse))
            .max_by(f64::total_cmp)
    }

    /// How near every live note is to a vector.
    ///
    /// # Errors
    /// As [`VectorIndex::search`].
    pub fn cosine_scores(&self, vector: &[f32]) -> Result<CosineScores<'_>> {
        Ok(CosineScores::of_query(self.code(vector)?, self.read()))
    }

    fn find(&self, vector: &[f32], k: usize, filter: Filter) -> Result<Vec<VectorHit>> {
        let Some(query) = self.code(vector)?.filter(|_| k > 0) else { return Ok(Vec::new()) };
        let state = self.read();
        let found = state
            .approximate(&query, k, filter)
            .unwrap_or_else(|| exact::search(&state.rows, &query, k, filter));
        Ok(found.into_iter().map(VectorHit::from).collect())
    }

    /// The code of a query; `None` of the zero vector.
    fn code(&self, vector: &[f32]) -> Result<Option<Code>> {
        if vector.len() != self.options.dimensions {
            return Err(Error::invalid(format!(
                "a vector of {} dimensions cannot be compared",
                vector.len()
            ))
            .hint(format!("the vectors of this store have {}", self.options.dimensions)));
        }
        if !vector.iter().all(|value| value.is_finite()) {
            return Err(Error::invalid("a vector with values that are not finite cannot be compared"));
        }
        Ok(Code::of(vector))
    }
}

impl VectorIndex {
    /// Whether the graph still lacks rows that it is to have.
    pub fn is_unfinished(&self) -> bool {
        let state = self.state.read_recursive();
        state.hnsw.is_unfinished(&state.rows)
    }

    /// Brings rows into the graph until it lacks none or `stop` says so, in steps that searches and
    /// changes get in between. A row takes about a fifth of a millisecond.
    pub fn finish(&self, stop: &dyn Fn() -> bool) {
        while !stop() && self.advance() {}
    }

    /// Brings a few rows into the graph; whether more are left.
    fn advance(&self) -> bool {
        let mut state = self.state.write();
        let state = &mut *state;
        let more = state.hnsw.advance(&state.rows).unwrap_or_else(|error| {
            tracing::warn!("{error}; vectors are compared one by one");
            false
        });
        state.changes += 1;
        more
    }
}

fn check(config: &poc_config::VectorsConfig) -> Result<()> {
    let least = [
        ("connectivity", config.connectivity, 2),
        ("expansion-add", config.expansion_add, 1),
        ("expansion-search", config.expansion_search, 1),
        ("passage-words", config.passage_words, 1),
        ("passage-stride", config.passage_stride, 1),
    ];
    for (name, value, least) in least {
        if value < least {
            return Err(Error::config(format!("`{name}` cannot be {value}"))
                .hint(format!("{least} is the least"))
                .field(format!("vectors.{name}")));
        }
    }
    Ok(())
}

impl Index for VectorIndex {
    const NAME: &'static str = "vectors";

    fn empty_in(&self, directory: &Path) -> VectorIndex {
        VectorIndex {
            options: self.options,
            files: self.files.as_ref().map(|files| files.in_directory(directory)),
            state: RwLock::new(State::empty(self.options)),
            latch: Latch::default(),
            saved: AtomicU64::new(0),
        }
    }

    fn load(&self) -> bool {
        let saved = self.files.as_ref().and_then(|files| files.read(self.options));
        let state = saved.map(|(rows, hnsw, applied)| State { rows, hnsw, applied, changes: 0 });
        state.map(|state| *self.state.write() = state).is_some()
    }

    fn release(&self) {
        self.latch.open();
    }

    fn applied(&self) -> u64 {
        self.state.read().applied
    }

    fn reset(&self) -> Result<()> {
        self.files.as_ref().map_or(Ok(()), Files::remove)?;
        let mut state = self.state.write();
        *state = State { changes: state.changes + 1, ..State::empty(self.options) };
        Ok(())
    }

    /// Vectors of another length, and those that are not finite, belong to no search: the part
    /// counts as having no vector.
    fn apply(&self, seq: u64, deltas: &[Delta]) -> Result<()> {
        let mut state = self.state.write();
        let brought = deltas.iter().map(|delta| state.apply(delta, self.options.dimensions)).sum();
        state.applied = state.applied.max(seq);
        state.changes += 1;
        drop(state);
        // Not while it is fed everything: that would hold up the open, and the scan serves.
        if seq > 0 {
            // So that it keeps up with what comes in; the rest is for quiet times.
            for _ in 0..hnsw::steps(brought) {
                if !self.advance() {
                    break;
                }
            }
        }
        Ok(())
    }

    fn checkpoint(&self) -> Result<()> {
        let Some(files) = &self.files else { return Ok(()) };
        let (image, changes) = {
            let state = self.state.read();
            if state.changes == self.saved.load(Ordering::Acquire) {
                return Ok(());
            }
            (Image::of(&state.rows, &state.hnsw, state.applied)?, state.changes)
        };
        files.write(&image)?;
        self.saved.store(changes, Ordering::Release);
        Ok(())
    }
}
