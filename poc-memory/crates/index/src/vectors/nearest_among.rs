//! The nearest notes within a given set of notes.

use super::cosine_scores::CosineScores;
use super::quantized;
use super::rows::{NodeEntry, VectorRow};
use poc_graph::NodeId;
use poc_rank::top_k::{Ranked, TopK};

impl CosineScores<'_> {
    /// For each note of `to`, the `k` nearest other notes of `from` with a cosine above `min`: their positions in
    /// `from` with the cosines, best first. Equal cosines are ordered by id. A note of `from` is represented by its
    /// passage that is nearest to the query, and compared with all passages of the note of `to`. A note without text is
    /// represented by its title.
    ///
    /// The cost is proportional to the number of notes in `from` times the number of passages in `to`.
    pub fn nearest_among(
        &self,
        to: &[NodeId],
        from: &[NodeId],
        k: usize,
        min: f64,
    ) -> Vec<Vec<(usize, f64)>> {
        let rows = &self.state.rows;
        let (mut codes, mut entries) = (Vec::new(), Vec::new());
        for (position, &id) in to.iter().enumerate() {
            let passages = rows.entry(id).into_iter().flat_map(|entry| rows.texts_of(entry));
            for (number, row) in passages {
                codes.extend_from_slice(rows.code(number));
                entries.push((position, row.inverse));
            }
        }
        let mut nearest: Vec<TopK<Ranked<usize>>> = to.iter().map(|_| TopK::new(k)).collect();
        let (mut dots, mut cosines) = (Vec::new(), Vec::new());
        for (position, &id) in from.iter().enumerate() {
            let Some((number, row)) = rows.entry(id).and_then(|entry| self.nearest_text_row(entry)) else {
                continue;
            };
            dots.clear();
            quantized::dots(rows.code(number), &codes, &mut dots);
            cosines.clear();
            cosines.resize(to.len(), f64::NEG_INFINITY);
            for (&(other, inverse), &dot) in entries.iter().zip(&dots) {
                if let Some(best) = cosines.get_mut(other) {
                    *best = quantized::cosine(dot, row.inverse, inverse).max(*best);
                }
            }
            for ((&other, &cosine), top) in to.iter().zip(&cosines).zip(&mut nearest) {
                if cosine > min && other != id {
                    top.offer(Ranked { score: cosine, id, payload: position });
                }
            }
        }
        let sorted = nearest.into_iter().map(TopK::into_sorted);
        sorted.map(|found| found.into_iter().map(|near| (near.payload, near.score)).collect()).collect()
    }

    fn nearest_text_row(&self, entry: &NodeEntry) -> Option<(u32, VectorRow)> {
        let (rows, query) = (&self.state.rows, self.query.as_ref()?);
        let passages =
            rows.texts_of(entry).map(|(number, row)| (rows.cosine(number, &row, query), number, row));
        // Ties go to the first passage.
        let best = passages.max_by(|(a, _, x), (b, _, y)| a.total_cmp(b).then(y.passage.cmp(&x.passage)));
        best.map(|(_, number, row)| (number, row))
    }
}

#[cfg(test)]
mod tests {
    use crate::VectorIndex;
    use crate::per_tenant::Index;
    use poc_config::Config;
    use poc_graph::rng::{Rng, SeededRng};
    use poc_graph::{Delta, NodeId, testing};
    use poc_rank::cosine::cosine;
    use proptest::prelude::*;
    use std::path::Path;
    use std::sync::Arc;

    poc_laws::laws! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        /// Agrees with a comparison of all passages. Notes have a title and up to three passages, or no vector.
        #[test]
        fn nearest_among_agrees_with_its_definition(
            shapes in proptest::collection::vec(0u16..6, 1..14), seed in any::<u64>(), k in 1usize..4, min in -0.5f64..0.6,
        ) {
            let rng = SeededRng::new(seed);
            let random = || -> Vec<f32> { (0..8).map(|_| (rng.next_u64() % 2001) as f32 / 1000.0 - 0.8).collect() };
            let config = Config::defaults().unwrap().vectors;
            let index = VectorIndex::open(Path::new("/nonexistent"), &config, "t", 8).unwrap();
            let mut deltas = Vec::new();
            for (number, &passages) in (0u64..).zip(&shapes) {
                let node = testing::node(number);
                deltas.extend((0..passages.min(4)).map(|passage| Delta::Vector(node.id, passage, random().into())));
                deltas.push(Delta::Node(Arc::new(node)));
            }
            index.apply(1, &deltas).unwrap();
            let query = random();
            let ids: Vec<NodeId> = (0..shapes.len() as u64).map(|number| testing::node(number).id).collect();
            let from: Vec<NodeId> = ids.iter().copied().step_by(2).collect();
            let texts = |id| {
                let mut passages = index.of(id);
                if passages.len() > 1 {
                    passages.remove(0);
                }
                passages.into_iter().map(|(_, vector)| vector).collect::<Vec<_>>()
            };
            for &id in &from {
                let mut near: Vec<f64> = texts(id).iter().map(|one| cosine(one, &query)).collect();
                near.sort_by(|a, b| b.total_cmp(a));
                // If two passages are equally near, rounding decides which one represents the note.
                prop_assume!(near.len() < 2 || near[0] - near[1] > 0.02);
            }
            let found = index.cosine_scores(&query).unwrap().nearest_among(&ids, &from, k, min);
            prop_assert_eq!(found.len(), ids.len());
            for (&to, found) in ids.iter().zip(found) {
                let mut expected: Vec<(usize, f64)> = Vec::new();
                for (position, &id) in from.iter().enumerate().filter(|(_, id)| **id != to) {
                    let representative = texts(id).into_iter().max_by(|a, b| cosine(a, &query).total_cmp(&cosine(b, &query)));
                    let best = representative.and_then(|one| {
                        texts(to).iter().map(|other| cosine(&one, other)).max_by(f64::total_cmp)
                    });
                    expected.extend(best.filter(|best| *best > min).map(|best| (position, best)));
                }
                expected.sort_by(|a, b| b.1.total_cmp(&a.1));
                expected.truncate(k);
                prop_assert_eq!(found.len(), expected.len());
                for (one, other) in found.iter().zip(&expected) {
                    prop_assert!((one.1 - other.1).abs() < 1e-4, "{:?} {:?}", found, expected);
                }
            }
        }
    }
}
