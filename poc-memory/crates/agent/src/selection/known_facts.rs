//! Notes that an agent derived earlier from other notes than the selected ones, and that resemble these. A prompt shows
//! them, so that the agent does not state a known fact again, and replaces one that is no longer true.

use super::link_candidates;
use super::protection::may_be_read;
use crate::Definition;
use poc_graph::error::Result;
use poc_graph::{Ix, NodeId, View};
use poc_notes::Memory;
use std::collections::{BTreeMap, HashSet};

/// Maximum number of these notes in a prompt, for each similar note that a prompt may show of a note: a model with a
/// short context gets fewer, so that they do not take the place of the selected notes.
const MAX: usize = 4;

/// How many of them are searched for each selected note.
const PER_NOTE: usize = 3;

/// The notes of the agent that are derived from others and resemble a note of `chosen`, the most similar first, without
/// those in `listed`. `similar` is the number of similar notes that the prompt may show of each note.
///
/// # Errors
/// Those of the vector index.
pub(super) fn find(
    memory: &Memory,
    definition: &Definition,
    view: &View,
    (chosen, listed): (&[Ix], &[Ix]),
    similar: usize,
) -> Result<Vec<Ix>> {
    let own = definition.provenance();
    let is_known = |ix: &Ix| {
        may_be_read(view, *ix)
            && view.provenance_name(*ix) == own
            && view.sources(*ix).next().is_some()
            && !listed.contains(ix)
    };
    let known: HashSet<NodeId> = (0..view.slots()).filter(is_known).filter_map(|ix| view.id(ix)).collect();
    if known.is_empty() || similar == 0 {
        return Ok(Vec::new());
    }
    let max = PER_NOTE.min(similar);
    let mut best: BTreeMap<Ix, f64> = BTreeMap::new();
    for id in chosen.iter().filter_map(|&ix| view.id(ix)) {
        for (ix, cosine) in link_candidates::similar(memory, view, id, max, &|id| known.contains(&id))? {
            let nearest = best.entry(ix).or_insert(cosine);
            *nearest = nearest.max(cosine);
        }
    }
    let mut found: Vec<(Ix, f64)> = best.into_iter().collect();
    found.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    found.truncate(MAX * similar);
    Ok(found.into_iter().map(|(ix, _)| ix).collect())
}
