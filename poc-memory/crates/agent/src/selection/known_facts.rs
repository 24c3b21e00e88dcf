//! Notes that an agent derived earlier from other notes than the selected ones, and that resemble these. A prompt shows
//! them, so that the agent does not state a known fact again, and replaces one that is no longer true.

use super::link_candidates::PASSAGES;
use super::protection::may_be_read;
use crate::Definition;
use poc_graph::error::Result;
use poc_graph::{Ix, NodeId, View, cancellation};
use poc_notes::Memory;
use std::collections::BTreeMap;

/// Maximum number of these notes in a prompt, for each similar note that a prompt may show of a note: a model with a
/// short context gets fewer, so that they do not take the place of the selected notes.
const MAX: usize = 4;

/// How many of them are searched for each selected note.
const PER_NOTE: usize = 3;

/// The notes of the agent that are derived from others and resemble a note of `selected`, the most similar first,
/// without those in `listed` and without quotations, of which there are about as many as messages. `similar` is the
/// number of similar notes that the prompt may show of each note.
///
/// # Errors
/// Those of the vector index.
pub(super) fn find(
    memory: &Memory,
    definition: &Definition,
    view: &View,
    selected: &[Ix],
    listed: &[Ix],
    similar: usize,
) -> Result<Vec<Ix>> {
    let own = definition.provenance();
    let is_known = |ix: &Ix| {
        may_be_read(view, *ix)
            && view.provenance_name(*ix) == own
            && view.sources(*ix).next().is_some()
            && !listed.contains(ix)
    };
    let known: Vec<(Ix, NodeId)> =
        (0..view.slots()).filter(is_known).filter_map(|ix| Some((ix, view.id(ix)?))).collect();
    if known.is_empty() || similar == 0 {
        return Ok(Vec::new());
    }
    let min = memory.config.cosines()?.candidate;
    let mut best: BTreeMap<Ix, f64> = BTreeMap::new();
    for id in selected.iter().filter_map(|&ix| view.id(ix)) {
        cancellation::check()?;
        let mut near = cosines(memory, id, &known)?;
        near.retain(|(_, cosine)| *cosine >= min);
        sort(&mut near);
        near.truncate(PER_NOTE.min(similar));
        for (ix, cosine) in near {
            let nearest = best.entry(ix).or_insert(cosine);
            *nearest = nearest.max(cosine);
        }
    }
    let mut found: Vec<(Ix, f64)> = best.into_iter().collect();
    sort(&mut found);
    found.truncate(MAX * similar);
    Ok(found.into_iter().map(|(ix, _)| ix).collect())
}

/// The cosines of the first passages of a note with each of the known notes, without notes that have no vector. The
/// known notes are compared one by one: they are a small part of a large index, so that a search for the nearest of
/// them would look at most of the others.
fn cosines(memory: &Memory, id: NodeId, known: &[(Ix, NodeId)]) -> Result<Vec<(Ix, f64)>> {
    let passages: Vec<Vec<f32>> =
        memory.vectors.of(id).into_iter().take(PASSAGES).map(|(_, vector)| vector.to_vec()).collect();
    let cosines = memory.vectors.note_cosines(&[passages.as_slice()], 0)?;
    Ok(known.iter().filter_map(|&(ix, id)| Some((ix, cosines.of(0, id)?))).collect())
}

/// Sorts notes by their cosine, the nearest first.
fn sort(notes: &mut [(Ix, f64)]) {
    notes.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Catalog;
    use crate::model::Request;
    use crate::testing::world::{FnModel, World};
    use poc_notes::Draft;
    use serde_json::json;

    /// Finds the same notes as a search for each passage of each note.
    #[test]
    fn the_facts_nearest_to_each_note_are_found() {
        let mut world = World::new();
        world.candidates_from(0.1);
        let definition = (**Catalog::load(&world.memory).unwrap().get("facts").unwrap()).clone();
        let add = |key: &str, body: &str| {
            let draft = crate::testing::world::draft(key, body);
            world.draft(Draft { node_type: Some("episodic".into()), title: None, ..draft })
        };
        for town in ["Porto", "Lisbon", "Faro", "Braga", "Evora", "Coimbra"] {
            add(town, &format!("Ann: we like it in {town}, as always."));
        }
        let model = FnModel(|request: &Request<'_>| {
            let fact = |handle: &crate::selection::Handle| {
                let title = format!("Ann has friends near the bridge of {}.", handle.node.key);
                json!({"reason": "", "key": "", "title": title, "body": "", "keywords": [], "sources": [handle.name]})
            };
            json!({"notes": "", "insert": request.selection.selected().map(fact).collect::<Vec<_>>()})
        });
        assert_eq!(world.run(&definition, &model).applied_actions().count(), 6);
        let long = "Ann: the bridge of Faro is closed, and so is that of Braga. ".repeat(200);
        let selected =
            [add("long", &long), add("soup", "Soup."), add("trip", "We go to Porto, to the bridge.")];
        let memory = &world.memory;
        let view = memory.store.view();
        let is_known =
            |id: NodeId| view.find(id).is_some_and(|ix| view.provenance_name(ix) == definition.provenance());
        for similar in [1, 2, 5] {
            let mut best: BTreeMap<Ix, f64> = BTreeMap::new();
            for &id in &selected {
                let mut near: BTreeMap<Ix, f64> = BTreeMap::new();
                for (_, vector) in memory.vectors.of(id).into_iter().take(PASSAGES) {
                    for hit in memory.vectors.search(&vector, 9, &is_known).unwrap() {
                        let nearest = near.entry(view.find(hit.id).unwrap()).or_insert(hit.cosine);
                        *nearest = nearest.max(hit.cosine);
                    }
                }
                let mut near: Vec<(Ix, f64)> = near.into_iter().filter(|near| near.1 >= 0.1).collect();
                sort(&mut near);
                for (ix, cosine) in near.into_iter().take(PER_NOTE.min(similar)) {
                    let nearest = best.entry(ix).or_insert(cosine);
                    *nearest = nearest.max(cosine);
                }
            }
            let mut expected: Vec<(Ix, f64)> = best.into_iter().collect();
            sort(&mut expected);
            let expected: Vec<Ix> = expected.into_iter().map(|(ix, _)| ix).take(MAX * similar).collect();
            assert!(!expected.is_empty());
            let selected: Vec<Ix> = selected.iter().map(|&id| view.find(id).unwrap()).collect();
            assert_eq!(find(memory, &definition, &view, &selected, &[], similar).unwrap(), expected);
        }
    }
}
