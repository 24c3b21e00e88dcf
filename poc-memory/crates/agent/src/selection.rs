//! The nodes of one run, with the handles that the prompt gives them.

mod empty_selection;
mod excerpt;
mod handles;
mod known_facts;
mod link_candidates;
mod neighborhood;
mod next_due;
mod pair_groups;
mod protection;
mod select;
mod staleness;

pub(super) use excerpt::Excerpt;
pub(super) use neighborhood::{MAX_LISTED, hubs, siblings};
pub(super) use protection::{may_be_read, protected};
pub(super) use select::stale_among;
pub use select::{
    FreshnessCounts, Scope, SelectionOutcome, backlog, backlog_of_scan, count_freshness, select,
};
pub(crate) use select::{outlook, require_readable};

use super::definition::Targets;
use poc_graph::{Ix, Node, NodeId, Trust, View};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// A node the reply may name.
#[derive(Clone, Debug)]
pub struct Handle {
    /// `N1`, `N2`, …
    pub name: String,
    /// The node as it was read.
    pub node: Arc<Node>,
    /// Its index in the selection's view.
    pub ix: Ix,
    /// The narrowest targets that include it; `Results` are the nodes selected by the pipeline.
    pub reach: Targets,
    /// How much of it the prompt shows.
    pub shown: PromptExtent,
    /// Whether it is protected, as of selection: it may be linked and re-weighted, but not superseded.
    pub protected: bool,
    /// Its weight at selection.
    pub weight: f64,
    /// Nodes without an edge to it that it may be linked with, best first.
    pub candidates: Vec<LinkCandidate>,
    /// Whether it is in the prompt because it was derived from selected nodes, or from others that they resemble.
    pub is_derived: bool,
}

/// A node that another may be linked with.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkCandidate {
    /// Its handle.
    pub handle: String,
    /// The similarity of the texts, −1 to 1.
    pub cosine: f64,
    /// Rare names that both contain, in lower case without accents, the rarest first.
    pub shared_names: Vec<String>,
}

/// How much of a node a prompt shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PromptExtent {
    /// All of its text.
    Whole,
    /// The start of its text.
    Cut,
    /// Only its key.
    Named,
}

impl Handle {
    /// Whether the pipeline selected it.
    pub fn is_selected(&self) -> bool {
        self.reach == Targets::Results
    }

    /// Whether it may be superseded: not when the prompt cuts it or it is protected.
    pub fn is_replaceable(&self) -> bool {
        self.shown == PromptExtent::Whole && !self.protected
    }

    /// Whether its text is in the section of nodes. Derived nodes have a section of their own.
    pub fn in_text(&self) -> bool {
        self.shown != PromptExtent::Named && !self.is_derived
    }
}

/// Two similar selected nodes.
#[derive(Clone, Debug)]
pub struct HandlePair {
    /// Handle of the first node.
    pub a: String,
    /// Handle of the second node.
    pub b: String,
    /// Similarity of the two nodes, 0 to 1.
    pub similarity: f64,
}

/// The nodes that a run processes.
#[derive(Clone, Debug)]
pub struct Selection {
    /// The graph as it was read.
    pub view: Arc<View>,
    /// Selected nodes in the pipeline's order, then candidates, then nodes shown only by key.
    pub handles: Vec<Handle>,
    /// Pairs, from `interference-pairs`.
    pub pairs: Vec<HandlePair>,
    /// For each stale node, the visited nodes beside which it must be shown before it counts as read.
    pub partners: HashMap<Ix, Vec<Ix>>,
    /// The stale nodes that earlier runs have shown beside each of their partners.
    pub shown_beside_partners: HashSet<Ix>,
    /// The session of each selected node that is part of one, as a number from 1 in the order of the nodes.
    pub sessions: HashMap<Ix, usize>,
    /// Notes that the prompt shows without a handle, with their trust.
    pub read: Vec<(NodeId, Trust)>,
}

impl Selection {
    /// The node of a handle.
    pub fn get(&self, name: &str) -> Option<&Handle> {
        self.handles.iter().find(|handle| handle.name == name)
    }

    /// The handle of the node at an index.
    pub fn by_index(&self, ix: Ix) -> Option<&Handle> {
        self.handles.iter().find(|handle| handle.ix == ix)
    }

    /// The handle of a node.
    pub fn by_id(&self, id: NodeId) -> Option<&Handle> {
        self.handles.iter().find(|handle| handle.node.id == id)
    }

    /// The nodes selected by the pipeline.
    pub fn selected(&self) -> impl Iterator<Item = &Handle> {
        self.handles.iter().filter(|handle| handle.is_selected())
    }

    /// Whether earlier runs have shown a node beside all of its `partners`, or the prompt does.
    pub fn is_shown_beside_partners(&self, ix: Ix) -> bool {
        // A partner that is only a candidate for links of the node was not compared with it.
        let is_read = |handle: &Handle| handle.is_selected() && handle.shown != PromptExtent::Named;
        let is_shown = |&ix: &Ix| self.by_index(ix).is_some_and(is_read);
        self.shown_beside_partners.contains(&ix)
            || self.partners.get(&ix).is_none_or(|partners| partners.iter().all(is_shown))
    }

    /// Whether the first two selected nodes are a stale node and one of its visited partners. A prompt without the
    /// second one would be of no use.
    pub(super) fn starts_with_pair(&self) -> bool {
        let mut selected = self.selected();
        let partners = selected.next().and_then(|first| self.partners.get(&first.ix));
        selected.next().is_some_and(|second| partners.is_some_and(|all| all.contains(&second.ix)))
    }

    /// The lowest trust of the notes in the prompt, as read and as of now.
    pub fn trust(&self, now: &View) -> Trust {
        let handles = self.handles.iter().map(|handle| (handle.node.id, handle.node.trust));
        let read = handles.chain(self.read.iter().copied());
        let min = |(id, then): (NodeId, Trust)| {
            now.find(id).filter(|&ix| now.is_live(ix)).map_or(then, |ix| then.min(now.trust(ix)))
        };
        read.map(min).fold(Trust::User, std::cmp::min)
    }

    /// The derived nodes without a source among the selected nodes.
    pub(super) fn known_facts(&self) -> HashSet<Ix> {
        let selected: HashSet<Ix> = self.selected().map(|handle| handle.ix).collect();
        let derived = self.handles.iter().filter(|handle| handle.is_derived).map(|handle| handle.ix);
        derived.filter(|&ix| self.view.sources(ix).all(|source| !selected.contains(&source))).collect()
    }

    /// Whether the prompt shows candidates.
    pub(super) fn has_candidates(&self) -> bool {
        self.handles.iter().any(|handle| !handle.candidates.is_empty())
    }

    /// Removes the nodes that are shown only because they are similar: candidates and known facts. Returns whether
    /// there were any.
    pub fn drop_candidates(&mut self) -> bool {
        let before = self.handles.len();
        self.handles.iter_mut().for_each(|handle| handle.candidates.clear());
        let known = self.known_facts();
        self.handles.retain(|handle| !known.contains(&handle.ix));
        self.truncate(before);
        self.handles.len() < before
    }

    /// Lowers the number of characters that the prompt shows of a selected or derived node.
    pub fn cut(&mut self, chars: usize) {
        for handle in self.handles.iter_mut().filter(|handle| handle.is_selected() || handle.is_derived) {
            if handle.shown != PromptExtent::Named {
                handle.shown = Excerpt::of(&handle.node, chars).shown;
            }
        }
    }

    /// Removes selected nodes beyond the first `count`, and the nodes shown only because of them.
    pub fn truncate(&mut self, count: usize) {
        let known = self.known_facts();
        let mut remaining = count;
        self.handles.retain(|handle| {
            let is_kept = !handle.is_selected() || remaining > 0;
            remaining -= usize::from(handle.is_selected() && remaining > 0);
            is_kept
        });
        let selected: HashSet<String> = self.selected().map(|handle| handle.name.clone()).collect();
        self.pairs.retain(|pair| selected.contains(&pair.a) || selected.contains(&pair.b));
        let mut wanted: HashSet<String> = self
            .selected()
            .flat_map(|handle| handle.candidates.iter().map(|candidate| candidate.handle.clone()))
            .collect();
        wanted.extend(self.pairs.iter().flat_map(|pair| [pair.a.clone(), pair.b.clone()]));
        let siblings: HashSet<Ix> = self
            .selected()
            .flat_map(|handle| neighborhood::siblings(&self.view, handle.ix))
            .map(|edge| edge.ix)
            .collect();
        let derived: HashSet<Ix> =
            self.selected().flat_map(|handle| self.view.derived_notes(handle.ix)).collect();
        self.handles.retain(|handle| {
            handle.is_selected()
                || wanted.contains(&handle.name)
                || handle.reach == Targets::Any
                || (handle.is_derived && (derived.contains(&handle.ix) || known.contains(&handle.ix)))
                || (!handle.in_text() && !handle.is_derived && siblings.contains(&handle.ix))
        });
        let names: HashSet<String> = self.handles.iter().map(|handle| handle.name.clone()).collect();
        for handle in &mut self.handles {
            handle.candidates.retain(|candidate| names.contains(&candidate.handle));
        }
        self.pairs.retain(|pair| names.contains(&pair.a) && names.contains(&pair.b));
    }
}
