//! The cosines of all notes with a vector.

use super::exact::{self, Filter};
use super::hit::VectorHit;
use super::quantized::{self, QuantizedVector};
use super::rows::{NodeEntry, Rows};
use super::state::State;
use parking_lot::RwLockReadGuard;
use poc_graph::{NodeId, NoteSet};
use poc_rank::standard_score::Moments;
use poc_rank::top_k::Ranked;
use rustc_hash::FxHashSet;

/// The number of notes sampled to estimate the moments of all cosines when the HNSW graph is used. The standard errors
/// of the estimated mean and deviation are then a few hundredths of a deviation.
const SAMPLE: usize = 2048;

/// The cosine of a vector with the nearest passage of every live note, or of every live note of a set. It holds a read
/// lock on the index, so keep it only briefly.
///
/// Below the threshold for HNSW, all cosines are computed and all results are exact. Above it, the cosine of a single
/// note is computed on demand and is exact as well; [`CosineScores::best`] searches the graph, and
/// [`CosineScores::moments`] are estimated from 2,048 notes at equal intervals in the index. The threshold counts the
/// vectors of the set.
pub struct CosineScores<'a> {
    pub(super) state: RwLockReadGuard<'a, State>,
    // `None` for the zero vector, which is not similar to anything.
    pub(super) query: Option<QuantizedVector>,
    // `None` if the HNSW graph is used.
    all: Option<AllCosines>,
}

/// The cosines of all live notes, or of those of a set.
struct AllCosines {
    // By slot of the node; −∞ for nodes that have no vector, are not live or are not in the set.
    cosines: Vec<f64>,
    sums: Moments,
}

impl AllCosines {
    fn of(rows: &Rows, query: &QuantizedVector) -> AllCosines {
        let mut dots = Vec::with_capacity(rows.end() as usize);
        quantized::dots(&query.values, rows.codes(), &mut dots);
        let mut cosines = vec![f64::NEG_INFINITY; rows.slots().len()];
        for (row, &dot) in rows.all().iter().zip(&dots) {
            if let Some(best) = cosines.get_mut(row.slot as usize) {
                *best = best.max(quantized::scaled(dot, row.inverse));
            }
        }
        let mut sums = Moments::default();
        for (cosine, entry) in cosines.iter_mut().zip(rows.slots()) {
            if !entry.is_some_and(|entry| entry.live) {
                *cosine = f64::NEG_INFINITY;
            } else if cosine.is_finite() {
                *cosine = quantized::of_scaled(*cosine, query.inverse);
                sums.add(*cosine);
            }
        }
        AllCosines { cosines, sums }
    }

    /// The cosines of the notes of a set. Only their vectors are compared.
    fn of_notes(rows: &Rows, query: &QuantizedVector, notes: &FxHashSet<NodeId>) -> AllCosines {
        let mut cosines = vec![f64::NEG_INFINITY; rows.slots().len()];
        let mut sums = Moments::default();
        for slot in notes.iter().filter_map(|&id| rows.slot_of(id)) {
            let Some(Some(entry)) = rows.slots().get(slot as usize) else { continue };
            let Some(cosine) = cosines.get_mut(slot as usize).filter(|_| entry.live) else { continue };
            for (number, row) in rows.of(entry) {
                let dot = quantized::product(&query.values, rows.code(number));
                *cosine = cosine.max(quantized::scaled(dot, row.inverse));
            }
            if cosine.is_finite() {
                *cosine = quantized::of_scaled(*cosine, query.inverse);
                sums.add(*cosine);
            }
        }
        AllCosines { cosines, sums }
    }
}

impl<'a> CosineScores<'a> {
    /// Computes the cosines with an encoded vector.
    pub(super) fn of_query(query: Option<QuantizedVector>, state: RwLockReadGuard<'a, State>) -> Self {
        let all = query.as_ref().filter(|_| !state.hnsw.is_ready(&state.rows));
        let all = all.map(|query| AllCosines::of(&state.rows, query));
        CosineScores { state, query, all }
    }

    /// Computes the cosines of the notes of a set with an encoded vector.
    pub(super) fn of_notes(
        query: Option<QuantizedVector>,
        state: RwLockReadGuard<'a, State>,
        notes: &FxHashSet<NodeId>,
    ) -> Self {
        let rows = &state.rows;
        // The number of vectors, if the notes of the set have as many as others.
        let expected = notes.len() * rows.end() as usize / rows.slots().len().max(1);
        let is_exact = expected < state.hnsw.min_rows() || !state.hnsw.is_ready(rows);
        let all = query.as_ref().filter(|_| is_exact).map(|query| AllCosines::of_notes(rows, query, notes));
        CosineScores { state, query, all }
    }

    /// Whether the cosines of all notes, or of all notes of the set, are known.
    pub fn is_exact(&self) -> bool {
        self.all.is_some() || self.query.is_none()
    }

    /// The cosine of a live note's nearest passage, −1 to 1; `None` if the note has no vector. The note must be in the
    /// set, if there is one.
    pub fn of(&self, id: NodeId) -> Option<f64> {
        let Some(all) = &self.all else { return self.nearest_passage(id).map(|hit| hit.cosine) };
        let slot = self.state.rows.slot_of(id)?;
        all.cosines.get(slot as usize).copied().filter(|cosine| cosine.is_finite())
    }

    /// The nearest passage of a live note; `None` if the note has no vector.
    pub fn nearest_passage(&self, id: NodeId) -> Option<VectorHit> {
        let entry = self.state.rows.entry(id).filter(|entry| entry.live)?;
        self.nearest_passage_of(entry).map(VectorHit::from)
    }

    fn nearest_passage_of(&self, entry: &NodeEntry) -> Option<Ranked<u16>> {
        exact::nearest_passage(&self.state.rows, entry, self.query.as_ref()?)
    }

    /// The moments of the cosines of the notes in a set. If the cosines were computed for a set, it must be a part of that
    /// one. A note without a vector counts as 0.
    pub fn moments(&self, notes: &NoteSet) -> Moments {
        let mut sums = Moments::default();
        if let Some(all) = &self.all {
            match notes {
                NoteSet::Only(notes) => {
                    notes.iter().filter_map(|&id| self.of(id)).for_each(|cosine| sums.add(cosine));
                }
                NoteSet::AllBut(hidden) => {
                    sums = all.sums;
                    hidden.iter().filter_map(|&id| self.of(id)).for_each(|cosine| sums.subtract(cosine));
                }
            }
            return sums;
        }
        if self.query.is_none() {
            return sums;
        }
        let rows = &self.state.rows;
        // Each sampled note represents `step` notes.
        let step = (rows.slots().len() / SAMPLE).max(1);
        let sampled = rows.slots().iter().step_by(step).flatten();
        for entry in sampled.filter(|entry| entry.live && notes.contains(entry.id)) {
            if let Some(passage) = self.nearest_passage_of(entry) {
                sums.add(passage.score);
            }
        }
        sums.times(step)
    }

    /// The `k` nearest notes that `keep` accepts, with their cosines, best first. Equal cosines are ordered by id. `keep`
    /// must accept only notes of the set, if there is one.
    pub fn best(&self, k: usize, keep: &dyn Fn(NodeId) -> bool) -> Vec<(NodeId, f64)> {
        let Some(query) = self.query.as_ref().filter(|_| k > 0) else { return Vec::new() };
        let rows = &self.state.rows;
        let Some(AllCosines { cosines, .. }) = &self.all else {
            let filter = Filter { titles_only: false, keep };
            let found = self.state.approximate(query, k, filter);
            let found = found.unwrap_or_else(|| exact::search(rows, query, k, filter));
            return found.into_iter().map(|found| (found.id, found.score)).collect();
        };
        exact::best_scored(rows, cosines, k, keep).into_iter().map(|found| (found.id, found.score)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::per_tenant::Index;
    use crate::vectors::VectorIndex;
    use poc_config::Config;
    use poc_graph::rng::{Rng, SeededRng};
    use poc_graph::{Delta, Node, State as NodeState, testing};
    use std::sync::Arc;

    const DIMENSIONS: usize = 16;

    fn random(rng: &SeededRng) -> Vec<f32> {
        (0..DIMENSIONS).map(|_| (rng.next_u64() % 20_001) as f32 / 10_000.0 - 0.7).collect()
    }

    /// Notes with a title and two passages each. Every seventh is superseded, every fifth has no vector.
    fn filled(notes: u64, exact_below: usize) -> VectorIndex {
        let config = poc_config::VectorsConfig { exact_below, ..Config::defaults().unwrap().vectors };
        let index =
            VectorIndex::open(std::path::Path::new("/nonexistent"), &config, "t", DIMENSIONS).unwrap();
        let rng = SeededRng::new(1);
        let mut deltas = Vec::new();
        for number in 0..notes {
            let state = if number % 7 == 0 { NodeState::Superseded } else { NodeState::Active };
            let node = Node { state, ..testing::node(number) };
            let passages = if number % 5 == 0 { 0..0 } else { 0..3u16 };
            deltas.extend(passages.map(|passage| Delta::Vector(node.id, passage, random(&rng).into())));
            deltas.push(Delta::Node(Arc::new(node)));
        }
        index.apply(1, &deltas).unwrap();
        index.finish(&|| false);
        index
    }

    #[test]
    fn a_small_index_agrees_with_a_search_for_all_notes() {
        let index = filled(200, 1_000_000);
        let query = random(&SeededRng::new(9));
        let near = index.cosine_scores(&query).unwrap();
        assert!(near.is_exact());
        let searched = index.search(&query, 1000, &|_| true).unwrap();
        let known: Vec<(NodeId, f64)> = searched.iter().map(|hit| (hit.id, hit.cosine)).collect();
        assert_eq!(near.best(1000, &|_| true), known);
        assert_eq!(near.best(7, &|id| id != searched[0].id), known[1..8]);
        let mut sums = Moments::default();
        for hit in &searched {
            assert_eq!((near.of(hit.id), near.nearest_passage(hit.id)), (Some(hit.cosine), Some(*hit)));
            sums.add(hit.cosine);
        }
        let everything = NoteSet::AllBut(FxHashSet::default());
        let (a, b) = (near.moments(&everything).scale(200), sums.scale(200));
        assert!((a.standard(0.5) - b.standard(0.5)).abs() < 1e-9);
        for unknown in [0, 5, 7, 999] {
            assert_eq!(
                (near.of(testing::node(unknown).id), near.nearest_passage(testing::node(unknown).id)),
                (None, None)
            );
        }
        // Hidden notes do not count.
        let (first, rest) = searched.split_first().unwrap();
        let mut sums = Moments::default();
        rest.iter().for_each(|hit| sums.add(hit.cosine));
        let hidden = FxHashSet::from_iter([first.id, testing::node(5).id]);
        let less = near.moments(&NoteSet::AllBut(hidden)).scale(199);
        assert!((less.standard(0.5) - sums.scale(199).standard(0.5)).abs() < 1e-9);
    }

    #[test]
    fn a_large_index_estimates_the_moments_closely() {
        let (index, exact) = (filled(9000, 100), filled(9000, 1_000_000));
        let query = random(&SeededRng::new(9));
        let (near, all) = (index.cosine_scores(&query).unwrap(), exact.cosine_scores(&query).unwrap());
        assert!(!near.is_exact());
        let everything = NoteSet::AllBut(FxHashSet::default());
        let (estimated, known) =
            (near.moments(&everything).scale(7714), all.moments(&everything).scale(7714));
        for cosine in [0.0, 0.3, 0.6] {
            let (a, b) = (estimated.standard(cosine), known.standard(cosine));
            assert!((a - b).abs() < 0.15, "{a} {b}");
        }
        let (found, expected) = (near.best(50, &|_| true), all.best(50, &|_| true));
        assert!(found.iter().filter(|hit| expected.contains(hit)).count() >= 47);
        assert!(found.iter().all(|(id, _)| near.of(*id) == all.of(*id)));
    }

    /// The cosines of a set are those that are computed for all notes, also in a large index as long as the set is small.
    #[test]
    fn cosines_of_a_set_equal_those_of_all_notes() {
        let (small, large) = (filled(2000, 1_000_000), filled(2000, 1000));
        let query = random(&SeededRng::new(9));
        let all = small.cosine_scores(&query).unwrap();
        // Every third note, also superseded ones, ones without a vector and one that does not exist.
        let set: FxHashSet<NodeId> =
            (0..300).map(|number| testing::node(number * 3).id).chain([testing::node(9999).id]).collect();
        let is_in = |id: NodeId| set.contains(&id);
        let others: FxHashSet<NodeId> =
            (0..2000).map(|number| testing::node(number).id).filter(|id| !is_in(*id)).collect();
        for index in [&small, &large] {
            let some = index.cosine_scores_of(&query, &set).unwrap();
            assert!(some.is_exact());
            assert_eq!(some.best(1000, &is_in), all.best(1000, &is_in));
            assert!(set.iter().all(|&id| some.of(id) == all.of(id)));
            let moments = some.moments(&NoteSet::Only(set.clone()));
            assert_eq!(moments, all.moments(&NoteSet::Only(set.clone())));
            assert_eq!(moments, all.moments(&NoteSet::AllBut(others.clone())));
        }
        // The vectors of a large set are not compared one by one.
        let live: FxHashSet<NodeId> = (0..2000).map(|number| testing::node(number).id).collect();
        assert!(!large.cosine_scores_of(&query, &live).unwrap().is_exact());
    }

    #[test]
    fn nothing_is_near_the_zero_vector() {
        let index = filled(20, 1_000_000);
        let near = index.cosine_scores(&[0.0; DIMENSIONS]).unwrap();
        assert_eq!((near.best(9, &|_| true), near.of(testing::node(1).id)), (vec![], None));
        assert_eq!(near.moments(&NoteSet::AllBut(FxHashSet::default())), Moments::default());
        assert!(index.cosine_scores(&[1.0]).is_err());
    }
}
