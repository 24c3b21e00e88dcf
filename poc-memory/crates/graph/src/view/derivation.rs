//! Derived notes: what they were derived from, and which notes represent them among the hits of a search.

#[cfg(test)]
mod tests;

use super::{Ix, Neighbor, View};
use crate::{EdgeKind, Node, NodeType, provenance};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cell::RefCell;

/// The number of `derived-from` edges that are followed from a derived note towards the notes that represent it.
const MAX_STEPS: usize = 8;

/// The number of edges that are followed from one note after its own, so that a search of a store in which everything
/// was derived from everything takes no longer.
const MAX_FURTHER_EDGES: usize = 1_024;

impl View {
    /// The notes that a note was derived from, in any state.
    pub fn sources(&self, ix: Ix) -> impl Iterator<Item = Ix> {
        self.derivations(ix).filter(|edge| edge.is_outgoing()).map(Neighbor::target)
    }

    /// The notes derived from a note, in any state.
    pub fn derived_notes(&self, ix: Ix) -> impl Iterator<Item = Ix> {
        self.derivations(ix).filter(|edge| edge.is_incoming()).map(Neighbor::target)
    }

    /// Whether one of two notes was derived from the other.
    pub fn are_derived(&self, a: Ix, b: Ix) -> bool {
        self.derivations(a).any(|edge| edge.target() == b)
    }

    /// Whether a note is a question that a user confirmed as answered by other notes. Such a question only points to
    /// its answers: search, recall and agents do not treat it as a note. If damage has lost its answers, its key still
    /// shows what it is.
    pub fn is_confirmed_question(&self, ix: Ix) -> bool {
        self.type_name(ix) == NodeType::QUESTION
            && (self.sources(ix).next().is_some() || Node::is_question_key(self.key(ix)))
    }

    /// Whether a note repeats text of its sources and nothing else ([`quotation_key`](crate::quotation_key)). Its key
    /// tells, because the view has no texts. A note whose text a person has changed is not a quotation.
    pub fn is_quotation(&self, ix: Ix) -> bool {
        provenance::is_agent(self.provenance_name(ix))
            && Node::is_quotation_key(self.key(ix))
            && self.sources(ix).next().is_some()
    }

    /// Whether a note only leads a search to other notes: a confirmed question or a quotation. It is never a hit
    /// itself, lists do not show it, and agents do not select it.
    pub fn is_pointer(&self, ix: Ix) -> bool {
        self.is_confirmed_question(ix) || self.is_quotation(ix)
    }

    /// Whether a search lists the sources of a note in its place: only if an agent wrote it, or if it is a confirmed
    /// question. No link may hide a note that a person or an assistant wrote.
    fn may_be_represented(&self, ix: Ix) -> bool {
        provenance::is_agent(self.provenance_name(ix)) || self.is_confirmed_question(ix)
    }

    fn derivations(&self, ix: Ix) -> impl Iterator<Item = Neighbor> {
        let edges = self.other_edges(ix).iter().copied();
        edges.filter(move |edge| edge.kind() == EdgeKind::DerivedFrom && edge.target() != ix)
    }

    /// The visible notes that a note was derived from, directly or through other visible notes, nearest first. Each is
    /// listed once, with the number of steps to it (from 1). The note itself is not listed, even if it is part of a
    /// cycle. At most eight steps are followed, and a bounded number of edges after those of the note itself.
    pub fn ancestors(&self, ix: Ix, is_visible: &dyn Fn(Ix) -> bool) -> Vec<(Ix, usize)> {
        let mut found: Vec<(Ix, usize)> =
            self.sources(ix).filter(|&source| is_visible(source)).map(|source| (source, 1)).collect();
        if found.is_empty() {
            return found;
        }
        let mut known: FxHashSet<Ix> = found.iter().map(|(source, _)| *source).collect();
        known.insert(ix);
        let (mut at, mut edges) = (0, 0);
        while let Some(&(note, steps)) = found.get(at).filter(|(_, steps)| *steps < MAX_STEPS) {
            at += 1;
            for source in self.sources(note) {
                edges += 1;
                if edges > MAX_FURTHER_EDGES {
                    return found;
                }
                if is_visible(source) && known.insert(source) {
                    found.push((source, steps + 1));
                }
            }
        }
        found
    }

    /// The notes that represent a derived note among the hits of a search: those of [`View::ancestors`] that no agent
    /// derived from visible notes. Empty if nothing represents the note.
    pub fn representatives(&self, ix: Ix, is_visible: &dyn Fn(Ix) -> bool) -> Vec<Ix> {
        if !self.may_be_represented(ix) {
            return Vec::new();
        }
        let ancestors = self.ancestors(ix, is_visible).into_iter().map(|(ancestor, _)| ancestor);
        ancestors.filter(|&ancestor| self.is_root(ancestor, is_visible)).collect()
    }

    /// Whether a note can represent those derived from it: it is a hit itself, and none of its sources takes its place.
    fn is_root(&self, ix: Ix, is_visible: &dyn Fn(Ix) -> bool) -> bool {
        let is_replaced = self.may_be_represented(ix) && self.sources(ix).any(is_visible);
        !self.is_pointer(ix) && !is_replaced
    }
}

/// Which derived notes are represented by others among the hits of one search.
///
/// Only notes of agents and confirmed questions are represented. Such a note is if at most eight steps along
/// `derived-from` edges, all of them to visible notes, lead to a note of somebody else or to one that has no visible
/// source itself. Notes of agents that were derived from each other in a cycle are therefore not represented, unless one
/// of them was also derived from a note outside of it.
#[derive(Debug, Default)]
pub struct Representation {
    // Whether at most this number of steps lead from a note to one that represents it. Without this, a note that many
    // others were derived from would be examined once for each of them.
    known: RefCell<FxHashMap<(Ix, usize), bool>>,
}

impl Representation {
    /// Whether a note is represented by others. `is_visible` must be the same in all calls.
    pub fn is_represented(&self, view: &View, ix: Ix, is_visible: &dyn Fn(Ix) -> bool) -> bool {
        view.may_be_represented(ix)
            && view.sources(ix).any(|source| {
                is_visible(source) && self.is_near_root(view, source, MAX_STEPS - 1, is_visible)
            })
    }

    fn is_near_root(&self, view: &View, ix: Ix, steps: usize, is_visible: &dyn Fn(Ix) -> bool) -> bool {
        let known = self.known.borrow().get(&(ix, steps)).copied();
        if let Some(known) = known {
            return known;
        }
        let mut sources = view.sources(ix).filter(|&source| is_visible(source));
        let is_near = view.is_root(ix, is_visible)
            || steps > 0 && sources.any(|source| self.is_near_root(view, source, steps - 1, is_visible));
        self.known.borrow_mut().insert((ix, steps), is_near);
        is_near
    }
}
