//! Candidates for links: notes that a link could connect with a note.
//!
//! Notes that share a rare name come first, because search does not always find them together. Similar notes
//! follow: search finds them together even without a link, but one may continue or contradict the other.

use super::protection::may_be_read;
use poc_graph::error::Result;
use poc_graph::{Ix, NodeId, View};
use poc_notes::Memory;
use std::collections::BTreeMap;

/// Passages of a note used to find similar notes: the title and the first ones of the text.
pub(super) const PASSAGES: usize = 4;

/// Maximum shared names of a candidate.
const MAX_NAMES: usize = 12;

/// A candidate of a note.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RankedCandidate {
    pub(super) ix: Ix,
    /// Cosine of its nearest passage, −1 to 1; 0 if one of the notes has no vector.
    pub(super) cosine: f64,
    /// Rare names that both contain, folded, the rarest first.
    pub(super) shared_names: Vec<String>,
}

/// The candidates of a note that it has no edge to: those that share the rarest names, then the most similar,
/// at most `max` together. At least one of them is chosen by similarity.
pub(super) fn find(memory: &Memory, view: &View, ix: Ix, max: usize) -> Result<Vec<RankedCandidate>> {
    let Some(id) = view.id(ix) else { return Ok(Vec::new()) };
    let fits = |other: Ix| other != ix && may_be_read(view, other) && !view.are_adjacent(ix, other);
    let similar = similar(memory, view, id, max, &|id| view.find(id).is_some_and(fits))?;
    let retriever = memory.retriever(view);
    let sharing = retriever.notes_sharing_names(id).into_iter().filter_map(|id| view.find(id));
    let room = max.saturating_sub(usize::from(!similar.is_empty()));
    let mut found: Vec<RankedCandidate> = sharing
        .filter(|&other| fits(other))
        .take(room)
        .map(|other| {
            let known = similar.iter().find(|(near, _)| *near == other).map(|(_, cosine)| *cosine);
            let cosine = || memory.vectors.similarity(id, view.id(other)?);
            RankedCandidate {
                ix: other,
                cosine: known.or_else(cosine).unwrap_or(0.0),
                shared_names: Vec::new(),
            }
        })
        .collect();
    for (other, cosine) in similar {
        if found.len() < max && found.iter().all(|candidate| candidate.ix != other) {
            found.push(RankedCandidate { ix: other, cosine, shared_names: Vec::new() });
        }
    }
    for candidate in &mut found {
        if let Some(other) = view.id(candidate.ix) {
            candidate.shared_names = retriever.names_in_common(id, other, "");
            candidate.shared_names.truncate(MAX_NAMES);
        }
    }
    Ok(found)
}

/// The most similar notes with at least the cosine of a candidate, best first.
fn similar(
    memory: &Memory,
    view: &View,
    id: NodeId,
    max: usize,
    fits: &dyn Fn(NodeId) -> bool,
) -> Result<Vec<(Ix, f64)>> {
    let min = memory.config.cosines()?.candidate;
    let mut best: BTreeMap<Ix, f64> = BTreeMap::new();
    for (_, vector) in memory.vectors.of(id).into_iter().take(PASSAGES) {
        for hit in memory.vectors.search(&vector, max, fits)? {
            if let Some(other) = view.find(hit.id).filter(|_| hit.cosine >= min) {
                let cosine = best.entry(other).or_insert(hit.cosine);
                *cosine = cosine.max(hit.cosine);
            }
        }
    }
    let mut near: Vec<(Ix, f64)> = best.into_iter().collect();
    near.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    near.truncate(max);
    Ok(near)
}
