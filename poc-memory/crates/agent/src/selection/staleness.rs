//! Which nodes are stale for an agent: those that it should read again.

use crate::Definition;
use poc_graph::time::Timestamp;
use poc_graph::{Ix, View};
use poc_notes::Memory;

/// When a node counts as stale for an agent.
pub(super) struct Staleness<'a> {
    definition: &'a Definition,
    /// Visits after this instant are fresh; `None` means that all are.
    since: Option<Timestamp>,
    /// Whether only visits with a language model count.
    has_language_model: bool,
}

impl<'a> Staleness<'a> {
    pub(super) fn of(memory: &Memory, definition: &'a Definition, now: Timestamp) -> Self {
        Staleness {
            definition,
            since: definition.window().map(|window| now.minus(window)),
            has_language_model: definition.has_language_model(&memory.config),
        }
    }

    pub(super) fn is_stale(&self, view: &View, ix: Ix) -> bool {
        self.why(view, ix).is_some()
    }

    pub(super) fn why(&self, view: &View, ix: Ix) -> Option<StalenessReason> {
        let visit = view.visit(&self.definition.name, ix);
        let Some(visit) = visit.filter(|visit| visit.is_read() || !self.has_language_model) else {
            return Some(StalenessReason::Never);
        };
        if self.definition.freshness.revisit_on_change && view.version(ix) > visit.version {
            return Some(StalenessReason::Changed);
        }
        self.since.is_some_and(|since| visit.at <= since).then_some(StalenessReason::Old)
    }
}

/// Why a node is stale.
pub(super) enum StalenessReason {
    Never,
    Changed,
    Old,
}
