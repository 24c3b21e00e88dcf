//! The cosines of all notes with some new notes, each of which has several vectors.

use super::VectorIndex;
use super::exact::{self, Filter};
use super::hit::VectorHit;
use super::nearest_notes::NearestNotes;
use super::quantized::{self, QuantizedVector};
use super::rows::{Rows, VectorRow};
use super::state::State;
use parking_lot::RwLockReadGuard;
use poc_graph::NodeId;
use poc_graph::error::Result;
use poc_rank::top_k::{Ranked, TopK};
use rustc_hash::FxHashMap;
use std::cell::OnceCell;

/// The number of rows that are compared with all queries before the next rows are read. The codes of that many rows fit
/// into a processor's first-level cache.
const BLOCK: usize = 64;

/// The maximum number of passages that are compared with a block at once, so that their products fit into the cache.
const MAX_QUERIES: usize = 64;

/// The number of nearest notes that are selected in addition to those wanted, because some may not be accepted.
const SPARE_NOTES: usize = 4;

/// The cosines of live notes with some new notes. The cosine of two notes is that of their nearest passages. It holds a
/// read lock on the index, so keep it only briefly.
///
/// The cosine of a single note is computed on demand and is exact. Below the threshold for HNSW, the results of
/// [`NoteCosines::best`] are exact as well; above it, they are searched in the graph.
pub struct NoteCosines<'a> {
    state: RwLockReadGuard<'a, State>,
    notes: Vec<NewNote>,
}

struct NewNote {
    passages: Vec<QuantizedVector>,
    /// The nearest notes; `None` if the graph is used.
    nearest: Option<NearestNotes>,
    /// The cosines of all notes, by slot of the node, −∞ for nodes that have no vector or are not live. They are only
    /// computed if too few of the nearest notes are accepted.
    all: OnceCell<Vec<f64>>,
}

impl VectorIndex {
    /// Prepares the cosines with new notes, given the vectors of each, and selects the `k` notes nearest to each of
    /// them. Zero vectors are ignored.
    ///
    /// # Errors
    /// `invalid_argument` if a vector has the wrong length or contains values that are not finite.
    pub fn note_cosines(&self, notes: &[&[Vec<f32>]], k: usize) -> Result<NoteCosines<'_>> {
        let codes = |passages: &&[Vec<f32>]| {
            passages.iter().filter_map(|passage| self.code(passage).transpose()).collect()
        };
        let passages: Vec<Vec<QuantizedVector>> = notes.iter().map(codes).collect::<Result<_>>()?;
        let state = self.read();
        let is_exact = !state.hnsw.is_ready(&state.rows);
        let mut nearest = is_exact.then(|| select_nearest(&state.rows, &passages, k).into_iter());
        let new_note = |passages| {
            let nearest = nearest.as_mut().and_then(Iterator::next);
            NewNote { passages, nearest, all: OnceCell::new() }
        };
        let notes = passages.into_iter().map(new_note).collect();
        Ok(NoteCosines { state, notes })
    }
}

/// Selects the `k` notes nearest to each of the new ones, given the passages of each. Each row is read once.
fn select_nearest(rows: &Rows, notes: &[Vec<QuantizedVector>], k: usize) -> Vec<NearestNotes> {
    let limit = if k > 0 { k.saturating_add(SPARE_NOTES) } else { 0 };
    let mut nearest: Vec<NearestNotes> = notes.iter().map(|_| NearestNotes::new(limit)).collect();
    if k == 0 {
        return nearest;
    }
    // Each passage with the number of its note.
    let numbered = notes.iter().enumerate();
    let passages: Vec<(usize, &QuantizedVector)> =
        numbered.flat_map(|(note, passages)| passages.iter().map(move |passage| (note, passage))).collect();
    let queries: Vec<&[i8]> = passages.iter().map(|(_, passage)| passage.values.as_slice()).collect();
    let dimensions = rows.code(0).len().max(1);
    let mut dots = Vec::with_capacity(BLOCK * queries.len().min(MAX_QUERIES));
    let mut inverses = Vec::with_capacity(BLOCK);
    for (block, codes) in rows.all().chunks(BLOCK).zip(rows.codes().chunks(BLOCK * dimensions)) {
        inverses.clear();
        inverses.extend(block.iter().map(|row| row.inverse));
        for (passages, queries) in passages.chunks(MAX_QUERIES).zip(queries.chunks(MAX_QUERIES)) {
            dots.clear();
            quantized::dots_of_queries(queries, codes, &mut dots);
            for (&(note, passage), dots) in passages.iter().zip(dots.chunks(block.len())) {
                if let Some(nearest) = nearest.get_mut(note) {
                    offer(rows, block, passage, dots, &inverses, nearest);
                }
            }
        }
    }
    nearest.iter_mut().for_each(NearestNotes::sort);
    nearest
}

/// Offers the notes of a block of rows whose products with a passage are given.
fn offer(
    rows: &Rows,
    block: &[VectorRow],
    passage: &QuantizedVector,
    dots: &[i32],
    inverses: &[f32],
    nearest: &mut NearestNotes,
) {
    // Nearly all blocks have no row that is near enough.
    if !quantized::any_reaches(dots, inverses, nearest.floor() / f64::from(passage.inverse)) {
        return;
    }
    for (row, &dot) in block.iter().zip(dots) {
        let cosine = quantized::cosine(dot, passage.inverse, row.inverse);
        if nearest.may_accept(cosine)
            && let Some(Some(entry)) = rows.slots().get(row.slot as usize)
            && entry.live
        {
            nearest.offer(entry.id, cosine);
        }
    }
}

/// The cosines of all live notes with a new one, by slot.
fn compute_all(rows: &Rows, passages: &[QuantizedVector]) -> Vec<f64> {
    let mut all = vec![f64::NEG_INFINITY; rows.slots().len()];
    let mut dots = Vec::with_capacity(rows.end() as usize);
    for passage in passages {
        dots.clear();
        quantized::dots(&passage.values, rows.codes(), &mut dots);
        for (row, &dot) in rows.all().iter().zip(&dots) {
            if let Some(best) = all.get_mut(row.slot as usize) {
                *best = best.max(quantized::cosine(dot, passage.inverse, row.inverse));
            }
        }
    }
    for (cosine, _) in
        all.iter_mut().zip(rows.slots()).filter(|(_, entry)| !entry.is_some_and(|entry| entry.live))
    {
        *cosine = f64::NEG_INFINITY;
    }
    all
}

impl NoteCosines<'_> {
    /// Whether all results are exact. If not, the graph is used.
    pub fn is_exact(&self) -> bool {
        !self.state.hnsw.is_ready(&self.state.rows)
    }

    /// The unit vector of a passage of a note in any state.
    pub fn vector(&self, id: NodeId, passage: u16) -> Option<Vec<f32>> {
        let rows = &self.state.rows;
        let (number, row) = rows.of(rows.entry(id)?).find(|(_, row)| row.passage == passage)?;
        Some(quantized::decode(rows.code(number), row.inverse))
    }

    /// The cosine of a live note with new note number `new`; `None` if either has no vector.
    pub fn of(&self, new: usize, id: NodeId) -> Option<f64> {
        self.nearest_passage(self.notes.get(new)?, id).map(|hit| hit.score)
    }

    /// The `k` notes nearest to new note number `new` that `keep` accepts, each with its nearest passage, best first.
    /// Equal cosines are ordered by id. `keep` is only called for notes that are near enough, possibly more than once.
    /// If it accepts most notes and `k` is at most that of [`VectorIndex::note_cosines`], no cosine is computed again.
    pub fn best(&self, new: usize, k: usize, keep: &dyn Fn(NodeId) -> bool) -> Vec<VectorHit> {
        let Some(new) = self.notes.get(new).filter(|_| k > 0) else { return Vec::new() };
        let Some(nearest) = &new.nearest else { return self.best_by_graph(new, k, keep) };
        let mut ids: Vec<NodeId> = nearest.ids().filter(|&id| keep(id)).take(k).collect();
        if ids.len() < k && !nearest.is_complete() {
            let rows = &self.state.rows;
            let all = new.all.get_or_init(|| compute_all(rows, &new.passages));
            ids = exact::best_scored(rows, all, k, keep).into_iter().map(|found| found.id).collect();
        }
        ids.into_iter().filter_map(|id| self.nearest_passage(new, id)).map(VectorHit::from).collect()
    }

    fn best_by_graph(&self, new: &NewNote, k: usize, keep: &dyn Fn(NodeId) -> bool) -> Vec<VectorHit> {
        let filter = Filter { titles_only: false, keep };
        let mut best: FxHashMap<NodeId, Ranked<u16>> = FxHashMap::default();
        for passage in &new.passages {
            let found = self.state.approximate(passage, k, filter);
            for found in found.unwrap_or_else(|| exact::search(&self.state.rows, passage, k, filter)) {
                let known = best.entry(found.id).or_insert(found);
                if found.score > known.score {
                    *known = found;
                }
            }
        }
        let mut top = TopK::new(k);
        best.into_values().for_each(|found| top.offer(found));
        top.into_sorted().into_iter().map(VectorHit::from).collect()
    }

    /// The passage of a live note that is nearest to any passage of a new note. Of equally near passages, the first one
    /// is returned.
    fn nearest_passage(&self, new: &NewNote, id: NodeId) -> Option<Ranked<u16>> {
        let rows = &self.state.rows;
        let entry = rows.entry(id).filter(|entry| entry.live)?;
        let mut best: Option<Ranked<u16>> = None;
        for passage in &new.passages {
            let nearest = exact::nearest_passage(rows, entry, passage);
            if let Some(nearest) = nearest.filter(|it| best.is_none_or(|best| it.score > best.score)) {
                best = Some(nearest);
            }
        }
        best
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::per_tenant::Index;
    use poc_config::Config;
    use poc_graph::rng::{Rng, SeededRng};
    use poc_graph::{Delta, Node, State as NodeState, testing};
    use proptest::prelude::*;
    use std::sync::Arc;

    poc_laws::laws! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        /// The results equal searches for each passage, with and without the graph.
        #[test]
        fn it_equals_searches_for_each_passage(
            shapes in proptest::collection::vec((0u16..4, 0u8..6), 0..150),
            new in proptest::collection::vec(0usize..4, 0..4),
            exact_below in prop::sample::select(&[0usize, 1000][..]),
            (k, selected, seed) in (0usize..12, 0usize..6, any::<u64>()),
        ) {
            let rng = SeededRng::new(seed);
            // Few values, so that there are equal cosines and zero vectors.
            let random = || -> Vec<f32> { (0..4).map(|_| (rng.next_u64() % 3) as f32 - 1.0).collect() };
            let config = poc_config::VectorsConfig { exact_below, ..Config::defaults().unwrap().vectors };
            let index = VectorIndex::open(std::path::Path::new("/nonexistent"), &config, "t", 4).unwrap();
            let mut deltas = Vec::new();
            for (number, &(passages, state)) in (0..).zip(&shapes) {
                let state = if state == 0 { NodeState::Superseded } else { NodeState::Active };
                let node = Node { state, ..testing::node(number) };
                deltas.extend((0..passages).map(|passage| Delta::Vector(node.id, passage, random().into())));
                deltas.push(Delta::Node(Arc::new(node)));
            }
            index.apply(1, &deltas).unwrap();
            index.finish(&|| false);
            let new: Vec<Vec<Vec<f32>>> = new.iter().map(|&passages| (0..passages).map(|_| random()).collect()).collect();
            let passages: Vec<&[Vec<f32>]> = new.iter().map(Vec::as_slice).collect();
            let cosines = index.note_cosines(&passages, selected).unwrap();
            let keep = |id: NodeId| id.as_bytes()[15] % 3 != 1;
            for (at, passages) in new.iter().enumerate() {
                let mut expected: Vec<VectorHit> = Vec::new();
                for hit in passages.iter().flat_map(|passage| index.search(passage, shapes.len(), &|_| true).unwrap()) {
                    match expected.iter_mut().find(|other| other.id == hit.id) {
                        Some(other) if other.cosine >= hit.cosine => {}
                        Some(other) => *other = hit,
                        None => expected.push(hit),
                    }
                }
                for number in 0..shapes.len() as u64 + 1 {
                    let id = testing::node(number).id;
                    let known = expected.iter().find(|hit| hit.id == id);
                    prop_assert_eq!(cosines.of(at, id), known.map(|hit| hit.cosine));
                }
                expected.retain(|hit| keep(hit.id));
                expected.sort_by(|a, b| b.cosine.total_cmp(&a.cosine).then(a.id.cmp(&b.id)));
                expected.truncate(k);
                prop_assert_eq!(cosines.best(at, k, &keep), expected);
            }
        }
    }

    #[test]
    fn vectors_of_another_length_are_an_error() {
        let config = Config::defaults().unwrap().vectors;
        let index = VectorIndex::open(std::path::Path::new("/nonexistent"), &config, "t", 4).unwrap();
        assert!(index.note_cosines(&[&[vec![1.0]]], 1).is_err());
    }
}
