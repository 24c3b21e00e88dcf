//! Which notes belong to the project of a session.

use super::SessionFilter;
use poc_config::HookScope;
use poc_graph::{Ix, NoteSet, View, is_project};
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
    // The membership of each live note by its own labels, by index in the view.
    labelled: Vec<Membership>,
}

impl<'a> ProjectNotes<'a> {
    pub(super) fn of(view: &'a View, session: SessionFilter<'a>, scope: HookScope) -> ProjectNotes<'a> {
        let is_own = |name: &str| session.project.is_some_and(|project| is_project(name, project));
        let (mut own, mut all) = (Vec::new(), FxHashSet::default());
        for (number, name) in view.projects() {
            all.insert(number);
            if is_own(name) {
                own.push(number);
            }
        }
        let mut labelled = vec![Membership::Unlabelled; view.slots() as usize];
        // The label of the own project comes last, because a note with several labels belongs to it.
        let others = all.iter().map(|&number| (number, Membership::Other));
        for (number, membership) in others.chain(own.iter().map(|&number| (number, Membership::Own))) {
            for ix in view.nodes_with_keyword(number) {
                if let Some(known) = labelled.get_mut(ix as usize) {
                    *known = membership;
                }
            }
        }
        ProjectNotes { view, session, scope, own, all, labelled }
    }

    /// The membership of a note. A derived note without a label belongs to the projects of its sources, and these to
    /// the projects of theirs.
    pub(super) fn membership(&self, ix: Ix) -> Membership {
        match self.labelled(ix) {
            Membership::Unlabelled if self.view.sources(ix).next().is_none() => Membership::Unlabelled,
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
        if self.view.is_live(ix) {
            return self.labelled.get(ix as usize).copied().unwrap_or(Membership::Unlabelled);
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
        let is_in_scope = match self.scope {
            HookScope::All => true,
            HookScope::Person => self.membership(ix) != Membership::Other,
            HookScope::Project => match self.session.project {
                Some(_) => self.membership(ix) == Membership::Own,
                None => self.membership(ix) == Membership::Unlabelled,
            },
        };
        let own_notes = self.session.own_notes;
        is_in_scope && !own_notes.iter().any(|prefix| self.view.key(ix).starts_with(prefix.as_str()))
    }

    /// The live notes that may be added to the session.
    pub(super) fn admitted(&self) -> NoteSet {
        NoteSet::of_live(self.view, &|ix| self.admits(ix))
    }

    /// The live notes of the project of the session that may be added to it. `None` if no note has the label of the
    /// project.
    pub(super) fn own_admitted(&self) -> Option<NoteSet> {
        let is_own = |ix| self.membership(ix) == Membership::Own && self.admits(ix);
        (!self.own.is_empty()).then(|| NoteSet::of_live(self.view, &is_own))
    }
}
