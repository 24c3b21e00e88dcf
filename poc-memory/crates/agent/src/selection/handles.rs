//! The handles of the nodes in a prompt: of the selected ones, and of those shown around them.

use super::excerpt::Excerpt;
use super::known_facts;
use super::link_candidates::{self, RankedCandidate};
use super::protection::{self, may_be_known};
use super::{Handle, HandlePair, LinkCandidate, PromptExtent, Selection, neighborhood};
use crate::Definition;
use crate::definition::{ActionKind, Targets};
use poc_graph::error::Result;
use poc_graph::time::Timestamp;
use poc_graph::{Ix, View};
use poc_notes::Memory;
use poc_rank::decay;
use poc_search::query::InterferencePair;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The handles of a prompt under construction.
struct Handles<'a> {
    memory: &'a Memory,
    definition: &'a Definition,
    view: &'a View,
    now: Timestamp,
    /// The number of similar notes to show for each selected node.
    similar: usize,
    given: Vec<Handle>,
    names: HashMap<Ix, String>,
}

impl Handles<'_> {
    /// Adds a handle for a node that has none. The prompt shows at most `chars` characters of its text; `None`
    /// shows only its name.
    fn add(&mut self, ix: Ix, reach: Targets, chars: Option<usize>) -> Result<()> {
        if self.names.contains_key(&ix) {
            return Ok(());
        }
        let stored = self.view.id(ix).map(|id| self.memory.store.node(id)).transpose()?.flatten();
        // Deleted since the view was taken.
        let Some(node) = stored else { return Ok(()) };
        let name = format!("N{}", self.given.len() + 1);
        let shown = match chars.filter(|_| self.definition.prompt.shows_nodes()) {
            None => PromptExtent::Named,
            Some(max) => Excerpt::of(&node, max).shown,
        };
        let weight = decay::weight_at(self.view, ix, &self.memory.config.weight, self.now);
        self.names.insert(ix, name.clone());
        let (node, candidates) = (Arc::new(node), Vec::new());
        let (protected, is_derived) = (false, false);
        self.given.push(Handle { name, node, ix, reach, shown, protected, weight, candidates, is_derived });
        Ok(())
    }

    /// Adds handles for the nodes derived from the selected ones and for known facts that resemble these, if the prompt
    /// shows them.
    fn add_derived(&mut self, selected: &[Ix]) -> Result<()> {
        if !self.definition.prompt.shows("DERIVED") {
            return Ok(());
        }
        let view = self.view;
        let mut derived: Vec<Ix> = selected.iter().flat_map(|&ix| view.derived_notes(ix)).collect();
        let lists_quotations = self.definition.limits.insert_only_quotations;
        derived.retain(|&ix| may_be_known(view, ix, lists_quotations));
        let known = known_facts::find(self.memory, self.definition, view, selected, &derived, self.similar)?;
        derived.extend(known);
        for ix in derived {
            let before = self.given.len();
            self.add(ix, Targets::Neighborhood, None)?;
            if let Some(handle) = self.given.get_mut(before) {
                handle.is_derived = true;
                handle.shown = Excerpt::of(&handle.node, self.definition.prompt.max_node_chars).shown;
            }
        }
        Ok(())
    }

    /// Adds handles for nodes that the prompt shows only by key, if the agent may change them.
    fn add_named(&mut self, selected: &[Ix]) -> Result<()> {
        let (view, shows) = (self.view, |name: &str| self.definition.prompt.shows(name));
        let (siblings, hubs) = (shows("SIBLINGS"), shows("HUBS") || shows("TOPOLOGY"));
        let targets = self.definition.limits.targets;
        if siblings && targets >= Targets::Neighborhood {
            for edge in selected.iter().flat_map(|&ix| neighborhood::siblings(view, ix)) {
                self.add(edge.ix, Targets::Neighborhood, None)?;
            }
        }
        for ix in hubs.then(|| neighborhood::hubs(view)).into_iter().flatten() {
            let is_neighbor = selected.iter().any(|&one| view.are_adjacent(one, ix));
            let reach = if is_neighbor { Targets::Neighborhood } else { Targets::Any };
            if targets >= reach && targets > Targets::Results {
                self.add(ix, reach, None)?;
            }
        }
        Ok(())
    }
}

/// The selection of the `selected` nodes, with the `pairs` that the pipeline found and the given number of link
/// candidates for each note, which also bounds the number of known facts.
pub(super) fn build(
    memory: &Memory,
    definition: &Definition,
    view: Arc<View>,
    selected: &[Ix],
    pairs: &[InterferencePair],
    candidates: usize,
    now: Timestamp,
) -> Result<Selection> {
    let (given, names) = (Vec::new(), HashMap::new());
    let mut handles = Handles { memory, definition, view: &view, now, similar: candidates, given, names };
    for &ix in selected {
        handles.add(ix, Targets::Results, Some(definition.prompt.max_node_chars))?;
    }
    handles.add_derived(selected)?;
    // Candidates take much space in the prompt and only help agents that may link or merge notes.
    let uses = |kind| definition.execution.actions.contains(&kind);
    let found: Vec<Vec<RankedCandidate>> = if uses(ActionKind::LinkAdd) {
        let selected = handles.given.iter().filter(|handle| handle.is_selected());
        selected
            .map(|handle| link_candidates::find(memory, &view, handle.ix, candidates))
            .collect::<Result<_>>()?
    } else {
        Vec::new()
    };
    let max_chars = Some(memory.config.agents.candidate_chars);
    for candidate in found.iter().flatten() {
        handles.add(candidate.ix, Targets::Neighborhood, max_chars)?;
    }
    handles.add_named(selected)?;
    let Handles { given: mut handles, names, .. } = handles;
    let all: Vec<Ix> = handles.iter().map(|handle| handle.ix).collect();
    let protected = protection::protected(memory, definition, &view, &all)?;
    handles.iter_mut().for_each(|handle| handle.protected = protected.contains(&handle.ix));
    for (handle, found) in handles.iter_mut().zip(found) {
        let named = found.into_iter().filter_map(|RankedCandidate { ix, cosine, shared_names }| {
            Some(LinkCandidate { handle: names.get(&ix)?.clone(), cosine, shared_names })
        });
        handle.candidates = named.collect();
    }
    let pairs = pairs
        .iter()
        .filter_map(|pair| {
            let (a, b) = (names.get(&pair.a)?.clone(), names.get(&pair.b)?.clone());
            Some(HandlePair { a, b, similarity: pair.similarity })
        })
        .collect();
    let sessions = sessions(&view, &handles);
    let (partners, shown_beside_partners, read) = (HashMap::new(), HashSet::new(), Vec::new());
    Ok(Selection { view, handles, pairs, partners, shown_beside_partners, sessions, read })
}

/// The number of the session of each selected node that has neighbours in one. Every session is walked once.
fn sessions(view: &View, handles: &[Handle]) -> HashMap<Ix, usize> {
    let (mut numbers, mut next) = (HashMap::new(), 1);
    for handle in handles.iter().filter(|handle| handle.is_selected()) {
        if numbers.contains_key(&handle.ix) || view.sequence_neighbors(handle.ix).next().is_none() {
            continue;
        }
        let session = view.session_nodes(handle.ix);
        let selected = handles.iter().filter(|other| other.is_selected() && session.contains(&other.ix));
        numbers.extend(selected.map(|other| (other.ix, next)));
        next += 1;
    }
    numbers
}
