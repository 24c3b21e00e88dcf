//! The vector index: an exact scan if it is small, and HNSW if it is large.

mod cosine_bounds;
mod cosine_scores;
mod dot_product;
mod exact;
mod files;
mod graph_check;
mod graph_vector;
mod hit;
mod hnsw;
mod nearest_among;
mod nearest_notes;
mod note_cosines;
mod quantized;
mod rows;
mod state;
#[cfg(test)]
mod tests;
#[cfg(target_arch = "x86_64")]
mod vnni;
use crate::error::IndexError;
use crate::latch::Latch;
use crate::per_tenant::Index;
pub use cosine_bounds::CosineBounds;
pub use cosine_scores::CosineScores;
use exact::Filter;
#[cfg(any(fuzzing, test))]
pub(crate) use files::saved_again;
use files::{EncodedIndex, Files, SavedVectors};
pub use hit::VectorHit;
use hnsw::Options;
pub use note_cosines::NoteCosines;
use parking_lot::{RwLock, RwLockReadGuard};
use poc_graph::error::Result;
use poc_graph::{Delta, NodeId, cancellation};
use poc_store::NoteDigests;
use quantized::QuantizedVector;
use rustc_hash::FxHashSet;
use state::State;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The vector index of live nodes. Vectors are stored with eight bits per dimension, so cosines deviate from
/// the exact ones by up to about 0.002.
pub struct VectorIndex {
    options: Options,
    // `None` for a fork, which is never saved.
    files: Option<Files>,
    state: RwLock<State>,
    latch: Latch,
    // The value of `State::changes` when the files were saved.
    saved: AtomicU64,
}

impl VectorIndex {
    /// Opens the saved files in a directory if they are valid and match the embedder and the settings. Otherwise the
    /// index starts empty and must be rebuilt.
    ///
    /// # Errors
    /// `invalid_config` if a setting is out of range.
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

    /// Like [`VectorIndex::open`], but nothing is read before [`Index::load`], and readers wait for [`Index::release`].
    ///
    /// # Errors
    /// `invalid_config` if a setting is out of range.
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

    /// Waits until the index is released and locks the state for reading. A thread may call this again while
    /// it holds the guard, even if a writer is waiting.
    fn read(&self) -> RwLockReadGuard<'_, State> {
        self.latch.wait();
        self.state.read_recursive()
    }

    /// An independent copy of the current state. It exists only in memory and is searched exactly.
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

    /// The `k` nearest nodes that `keep` accepts, each with its best passage, best first. Equal cosines are ordered by
    /// id. `keep` is only called for nodes that are near enough, possibly more than once. The zero vector has no
    /// nearest nodes.
    ///
    /// # Errors
    /// `invalid_argument` if the vector has the wrong length or contains values that are not finite.
    pub fn search(&self, vector: &[f32], k: usize, keep: &dyn Fn(NodeId) -> bool) -> Result<Vec<VectorHit>> {
        self.find(vector, k, Filter { titles_only: false, keep })
    }

    /// Like [`VectorIndex::search`], but only over titles (passage 0).
    ///
    /// # Errors
    /// `invalid_argument` if the vector has the wrong length or contains values that are not finite.
    pub fn search_titles(
        &self,
        vector: &[f32],
        k: usize,
        keep: &dyn Fn(NodeId) -> bool,
    ) -> Result<Vec<VectorHit>> {
        self.find(vector, k, Filter { titles_only: true, keep })
    }

    /// The unit vectors of a node in any state, sorted by passage. Passages without content have no vector.
    pub fn of(&self, id: NodeId) -> Vec<(u16, Arc<[f32]>)> {
        let state = self.read();
        let rows = &state.rows;
        let Some(entry) = rows.entry(id) else { return Vec::new() };
        let mut passages: Vec<(u16, Arc<[f32]>)> = rows
            .of(entry)
            .map(|(number, row)| (row.passage, quantized::decode(rows.code(number), row.inverse).into()))
            .collect();
        passages.sort_by_key(|(passage, _)| *passage);
        passages
    }

    /// The similarity of the texts of two nodes in any state: the highest cosine of any pair of their passages, from −1
    /// to 1. The title is only used for a node without text, because short titles can be similar without any related
    /// content. `None` if either node has no vector.
    pub fn similarity(&self, a: NodeId, b: NodeId) -> Option<f64> {
        let state = self.read();
        let rows = &state.rows;
        let (a, b) = (rows.entry(a)?, rows.entry(b)?);
        let pairs = rows.texts_of(a).flat_map(|x| rows.texts_of(b).map(move |y| (x, y)));
        pairs
            .map(|((i, x), (j, y))| {
                quantized::cosine(quantized::product(rows.code(i), rows.code(j)), x.inverse, y.inverse)
            })
            .max_by(f64::total_cmp)
    }

    /// The cosines of a vector with all live notes that have a vector.
    ///
    /// # Errors
    /// `invalid_argument` if the vector has the wrong length or contains values that are not finite.
    pub fn cosine_scores(&self, vector: &[f32]) -> Result<CosineScores<'_>> {
        Ok(CosineScores::of_query(self.code(vector)?, self.read()))
    }

    /// The cosines of a vector with the live notes of a set that have a vector. A small set takes less time than all
    /// notes.
    ///
    /// # Errors
    /// As for [`VectorIndex::cosine_scores`].
    pub fn cosine_scores_of(&self, vector: &[f32], notes: &FxHashSet<NodeId>) -> Result<CosineScores<'_>> {
        Ok(CosineScores::of_notes(self.code(vector)?, self.read(), notes))
    }

    fn find(&self, vector: &[f32], k: usize, filter: Filter) -> Result<Vec<VectorHit>> {
        let Some(query) = self.code(vector)?.filter(|_| k > 0) else { return Ok(Vec::new()) };
        cancellation::check()?;
        let state = self.read();
        let found = state
            .approximate(&query, k, filter)
            .unwrap_or_else(|| exact::search(&state.rows, &query, k, filter));
        Ok(found.into_iter().map(VectorHit::from).collect())
    }

    /// Encodes a query vector; `None` for the zero vector.
    fn code(&self, vector: &[f32]) -> Result<Option<QuantizedVector>> {
        if vector.len() != self.options.dimensions {
            let (found, expected) = (vector.len(), self.options.dimensions);
            return Err(IndexError::Dimensions { found, expected }.into());
        }
        if !vector.iter().all(|value| value.is_finite()) {
            return Err(IndexError::NotFinite.into());
        }
        Ok(QuantizedVector::of(vector))
    }
}

impl VectorIndex {
    /// Whether rows are still missing from the HNSW graph.
    pub fn is_unfinished(&self) -> bool {
        let state = self.state.read_recursive();
        state.hnsw.is_unfinished(&state.rows)
    }

    /// Adds the missing rows to the HNSW graph until none are left or `stop` returns `true`. It works in small steps,
    /// so that searches and changes can run in between. Each row takes about 0.2 ms.
    pub fn finish(&self, stop: &dyn Fn() -> bool) {
        while !stop() && self.advance() {}
    }

    /// Adds a few rows to the HNSW graph. Returns whether more are missing.
    fn advance(&self) -> bool {
        let mut state = self.state.write();
        let state = &mut *state;
        if !state.hnsw.may_advance(&state.rows) {
            return false;
        }
        let more = state.hnsw.advance(&state.rows).unwrap_or_else(|error| {
            tracing::warn!("{error}; vectors are compared one by one");
            false
        });
        state.changes += 1;
        more
    }
}

fn check(config: &poc_config::VectorsConfig) -> Result<()> {
    let min = [
        ("connectivity", config.connectivity, 2),
        ("expansion-add", config.expansion_add, 1),
        ("expansion-search", config.expansion_search, 1),
        ("passage-words", config.passage_words, 1),
        ("passage-stride", config.passage_stride, 1),
    ];
    for (name, value, min) in min {
        if value < min {
            let (problem, hint) = (format!("`{name}` cannot be {value}"), format!("the minimum is {min}"));
            return Err(IndexError::InvalidSetting { field: format!("vectors.{name}"), problem, hint }.into());
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
        let state =
            saved.map(|SavedVectors { rows, hnsw, applied }| State { rows, hnsw, applied, changes: 0 });
        state.map(|state| *self.state.write() = state).is_some()
    }

    fn claimed_seq(&self) -> Option<u64> {
        self.files.as_ref()?.claimed_seq()
    }

    fn is_saved(&self) -> bool {
        self.state.read().changes == self.saved.load(Ordering::Acquire)
    }

    fn bytes(&self) -> u64 {
        let state = self.state.read_recursive();
        (state.rows.bytes() + state.hnsw.bytes()) as u64
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

    /// A vector with the wrong length or values that are not finite is ignored: the passage then has no vector.
    fn apply(&self, seq: u64, deltas: &[Delta]) -> Result<()> {
        let mut state = self.state.write();
        let changed_rows = deltas.iter().map(|delta| state.apply(delta, self.options.dimensions)).sum();
        state.applied = state.applied.max(seq);
        state.changes += 1;
        drop(state);
        // The graph is not extended during a rebuild, which would delay the open; searches scan until the graph is
        // ready.
        if seq > 0 {
            // These steps suffice to keep up with the changes. The rest is done in idle time.
            for _ in 0..hnsw::steps(changed_rows) {
                if !self.advance() {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Only the graph has them. The rows overwrite deleted and replaced vectors.
    fn discard_deleted(&self) {
        let mut state = self.state.write();
        let state = &mut *state;
        if state.hnsw.discard_stale(&state.rows) {
            state.changes += 1;
        }
    }

    fn discard_deleted_in_files(&self) -> Result<()> {
        self.files.as_ref().map_or(Ok(()), Files::remove_graph)
    }

    fn checkpoint(&self) -> Result<()> {
        let Some(files) = &self.files else { return Ok(()) };
        let (encoded, changes) = {
            let state = self.state.read();
            if state.changes == self.saved.load(Ordering::Acquire) {
                return Ok(());
            }
            (EncodedIndex::of(&state.rows, &state.hnsw, state.applied)?, state.changes)
        };
        files.write(&encoded)?;
        self.saved.store(changes, Ordering::Release);
        Ok(())
    }

    fn digests(&self) -> NoteDigests {
        self.read().rows.digests()
    }

    fn damaged_files(&self) -> Vec<PathBuf> {
        let Some(files) = &self.files else { return Vec::new() };
        // The manifest of an index that was loaded or saved exists.
        let is_missing = self.applied() > 0 && self.is_saved() && !files.manifest().exists();
        if is_missing { vec![files.manifest()] } else { files.damaged() }
    }
}
