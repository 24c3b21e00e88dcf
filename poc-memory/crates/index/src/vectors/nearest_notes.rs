//! The notes nearest to a new note, selected while all rows are compared.

use poc_graph::NodeId;
use poc_rank::top_k::Ranked;
use rustc_hash::FxHashSet;

/// The number of cosines that are collected beyond twice the limit before they are reduced.
const MIN_EXTRA: usize = 16;

/// Keeps the nearest `limit` of the notes offered. A note may be offered several times, once for each pair of passages;
/// its highest cosine counts.
pub(super) struct NearestNotes {
    limit: usize,
    /// The notes offered since the last reduction, and those that it kept. A note may be in it several times.
    kept: Vec<Ranked<()>>,
    /// The last of the nearest `limit` notes when they were sorted; `None` until that many notes are known.
    last: Option<Ranked<()>>,
    /// Empty between two calls. It is kept for its memory.
    seen: FxHashSet<NodeId>,
}

impl NearestNotes {
    /// A selection of the nearest `limit` notes; with 0 it keeps none.
    pub(super) fn new(limit: usize) -> Self {
        NearestNotes { limit, kept: Vec::new(), last: None, seen: FxHashSet::default() }
    }

    /// The least cosine that a note needs, from −1 to 1; −∞ while every note is accepted.
    pub(super) fn floor(&self) -> f64 {
        self.last.map_or(f64::NEG_INFINITY, |last| last.score)
    }

    /// Whether a note with this cosine may be among the nearest; `true` may be wrong.
    pub(super) fn may_accept(&self, cosine: f64) -> bool {
        cosine >= self.floor()
    }

    /// Offers a cosine of a note.
    pub(super) fn offer(&mut self, id: NodeId, cosine: f64) {
        let found = Ranked { score: cosine, id, payload: () };
        // Many notes may have the same cosine as the last one. Of those, only the ones with a lower id come before it.
        if self.last.is_some_and(|last| found <= last) {
            return;
        }
        self.kept.push(found);
        if self.kept.len() > self.limit.saturating_mul(2).saturating_add(MIN_EXTRA) {
            self.sort();
        }
    }

    /// Drops all but the nearest notes and sorts them, nearest first; equal cosines are ordered by id.
    pub(super) fn sort(&mut self) {
        self.kept.sort_unstable_by(|a, b| b.cmp(a));
        // The highest cosine of a note comes first.
        let NearestNotes { limit, kept, seen, .. } = self;
        kept.retain(|found| seen.len() < *limit && seen.insert(found.id));
        seen.clear();
        if !self.is_complete() {
            self.last = self.kept.last().copied();
        }
    }

    /// Whether all notes with a vector are among the nearest. Only valid after [`NearestNotes::sort`].
    pub(super) fn is_complete(&self) -> bool {
        self.kept.len() < self.limit
    }

    /// The nearest notes, nearest first. Only valid after [`NearestNotes::sort`].
    pub(super) fn ids(&self) -> impl Iterator<Item = NodeId> {
        self.kept.iter().map(|found| found.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use poc_graph::testing;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    poc_laws::laws! {
        /// Few notes and few different cosines, so that notes are offered several times and cosines are equal.
        #[test]
        fn it_is_the_head_of_the_sorted_notes(
            offered in proptest::collection::vec((0u64..40, -4i8..=4), 0..300),
            limit in 0usize..12,
        ) {
            let mut nearest = NearestNotes::new(limit);
            let mut best: BTreeMap<NodeId, f64> = BTreeMap::new();
            for (number, cosine) in offered {
                let (id, cosine) = (testing::node(number).id, f64::from(cosine) / 4.0);
                nearest.offer(id, cosine);
                let highest = best.entry(id).or_insert(cosine);
                *highest = highest.max(cosine);
            }
            nearest.sort();
            let mut expected: Vec<(NodeId, f64)> = best.into_iter().collect();
            expected.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            prop_assert_eq!(nearest.is_complete(), expected.len() < limit);
            expected.truncate(limit);
            prop_assert_eq!(nearest.ids().collect::<Vec<_>>(), expected.iter().map(|(id, _)| *id).collect::<Vec<_>>());
        }
    }
}
