//! Which notes belong to the project of a session.

use super::SessionFilter;
use poc_config::HookScope;
use poc_graph::{Ix, NodeId, View, is_project};
use rustc_hash::FxHashSet;

/// The project that a note belongs to, relative to the project of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Membership {
    /// The project of the session.
    Own,
    /// No project: the note has no label.
    Unlabelled,
    /// Another project.
    Other,
}

/// Sorts notes by project.
pub(super) struct ProjectNotes<'a> {
    view: &'a View,
    session: SessionFilter<'a>,
    scope: HookScope,
    own: Vec<u32>,
    all: FxHashSet<u32>,
}

impl<'a> ProjectNotes<'a> {
    pub(super) fn of(view: &'a View, session: SessionFilter<'a>, scope: HookScope) -> ProjectNotes<'a> {
        let is_own = |name: &str| session.project.is_some_and(|project| is_project(name, project));
        ProjectNotes {
            view,
            session,
            scope,
            own: view.projects().filter(|(_, name)| is_own(name)).map(|(number, _)| number).collect(),
            all: view.projects().map(|(number, _)| number).collect(),
        }
    }

    /// The membership of a note. A derived note without a label belongs to the projects of its sources, and these to
    /// the projects of theirs.
    pub(super) fn membership(&self, ix: Ix) -> Membership {
        match self.labelled(ix) {
            Membership::Unlabelled => {
                let is_unlabelled = |source| self.labelled(source) == Membership::Unlabelled;
                let ancestors = self.view.ancestors(ix, &is_unlabelled);
                let unlabelled = || std::iter::once(ix).chain(ancestors.iter().map(|(note, _)| *note));
                let sources = || unlabelled().flat_map(|note| self.view.sources(note));
                let any = |wanted| sources().any(|source| self.labelled(source) == wanted);
                match (any(Membership::Own), any(Membership::Other)) {
                    (true, _) => Membership::Own,
                    (_, true) => Membership::Other,
                    _ => Membership::Unlabelled,
                }
            }
            membership => membership,
        }
    }

    fn labelled(&self, ix: Ix) -> Membership {
        if self.all.is_empty() {
            return Membership::Unlabelled;
        }
        let labels = || self.view.keywords(ix).iter().filter(|number| self.all.contains(number));
        if labels().any(|number| self.own.contains(number)) {
            Membership::Own
        } else if labels().next().is_some() {
            Membership::Other
        } else {
            Membership::Unlabelled
        }
    }

    /// Whether a note may be added to the session.
    pub(super) fn admits(&self, ix: Ix) -> bool {
        if self.session.own_notes.iter().any(|prefix| self.view.key(ix).starts_with(prefix.as_str())) {
            return false;
        }
        match self.scope {
            HookScope::All => true,
            HookScope::Person => self.membership(ix) != Membership::Other,
            HookScope::Project => match self.session.project {
                Some(_) => self.membership(ix) == Membership::Own,
                None => self.membership(ix) == Membership::Unlabelled,
            },
        }
    }

    /// The live notes that must not be added to the session.
    pub(super) fn hidden(&self) -> FxHashSet<NodeId> {
        self.live(|ix| !self.admits(ix))
    }

    /// The live notes that are not of the project of the session, or must not be added to it. `None` if no note has the
    /// label of the project.
    pub(super) fn all_but_own(&self) -> Option<FxHashSet<NodeId>> {
        let is_other = |ix| self.membership(ix) != Membership::Own || !self.admits(ix);
        (!self.own.is_empty()).then(|| self.live(is_other))
    }

    fn live(&self, is_wanted: impl Fn(Ix) -> bool) -> FxHashSet<NodeId> {
        let slots = (0..self.view.slots()).filter(|ix| self.view.is_live(*ix) && is_wanted(*ix));
        slots.filter_map(|ix| self.view.id(ix)).collect()
    }
}
