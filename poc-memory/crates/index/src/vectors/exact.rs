//! The exact scan, which compares every vector with the query.

use super::quantized::{self, QuantizedVector};
use super::rows::{NodeEntry, Rows, VectorRow};
use poc_graph::NodeId;
use poc_rank::top_k::{Ranked, TopK};

/// The vectors that a search may return.
#[derive(Clone, Copy)]
pub(super) struct Filter<'a> {
    /// Whether only titles (passage 0) are returned.
    pub(super) titles_only: bool,
    /// Whether a node may be returned.
    pub(super) keep: &'a dyn Fn(NodeId) -> bool,
}

impl Filter<'_> {
    pub(super) fn includes(&self, row: &VectorRow) -> bool {
        !self.titles_only || row.passage == 0
    }
}

/// The `k` nodes with the highest of the given scores, one score per slot. Equal scores are ordered by id. Scores that
/// are not finite are skipped. `keep` is only called for nodes with a sufficient score.
pub(super) fn best_scored(
    rows: &Rows,
    scores: &[f64],
    k: usize,
    keep: &dyn Fn(NodeId) -> bool,
) -> Vec<Ranked<()>> {
    let mut top: TopK<Ranked<()>> = TopK::new(k);
    for (entry, &score) in rows.slots().iter().zip(scores) {
        // This comparison rejects most notes cheaply.
        if !score.is_finite() || top.floor().is_some_and(|floor| score < floor.score) {
            continue;
        }
        let Some(NodeEntry { id, .. }) = *entry else { continue };
        let found = Ranked { score, id, payload: () };
        if top.may_accept(&found) && keep(id) {
            top.offer(found);
        }
    }
    top.into_sorted()
}

/// The `k` nearest nodes by their best passage. Of equally near passages, the first one counts.
pub(super) fn search(rows: &Rows, query: &QuantizedVector, k: usize, filter: Filter) -> Vec<Ranked<u16>> {
    let mut dots = Vec::with_capacity(rows.end() as usize);
    quantized::dots(&query.values, rows.codes(), &mut dots);
    let mut top = TopK::new(k);
    for entry in rows.entries().filter(|entry| entry.live) {
        let passages = rows.of(entry).filter(|(_, row)| filter.includes(row));
        let best = best(entry.id, passages, |number, row| {
            quantized::cosine(dots.get(number as usize).copied().unwrap_or(0), query.inverse, row.inverse)
        });
        // The filter is called last because it may cost more than the comparison.
        if let Some(found) = best
            && top.may_accept(&found)
            && (filter.keep)(entry.id)
        {
            top.offer(found);
        }
    }
    top.into_sorted()
}

/// The nearest passage of a node. Of equally near passages, the first one counts.
pub(super) fn nearest_passage(
    rows: &Rows,
    entry: &NodeEntry,
    query: &QuantizedVector,
) -> Option<Ranked<u16>> {
    best(entry.id, rows.of(entry), |number, row| rows.cosine(number, row, query))
}

fn best(
    id: NodeId,
    passages: impl Iterator<Item = (u32, VectorRow)>,
    cosine: impl Fn(u32, &VectorRow) -> f64,
) -> Option<Ranked<u16>> {
    let mut best: Option<Ranked<u16>> = None;
    for (number, row) in passages {
        let score = cosine(number, &row);
        if best.is_none_or(|best| score > best.score || score == best.score && row.passage < best.payload) {
            best = Some(Ranked { score, id, payload: row.passage });
        }
    }
    best
}
