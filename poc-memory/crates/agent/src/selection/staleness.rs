//! Which nodes are stale for an agent: those that it should read again.

use crate::Definition;
use poc_graph::time::Timestamp;
use poc_graph::{Ix, View};
use poc_notes::Memory;
use poc_search::query::VisitRule;

/// When a node counts as stale for an agent.
pub(super) struct Staleness<'a> {
    agent: &'a str,
    /// Visits after this instant are fresh; `None` means that all are.
    since: Option<Timestamp>,
    rule: VisitRule,
}

impl<'a> Staleness<'a> {
    pub(super) fn of(memory: &Memory, definition: &'a Definition, now: Timestamp) -> Self {
        Staleness {
            agent: &definition.name,
            since: definition.window().map(|window| now.minus(window)),
            rule: definition.visit_rule(&memory.config),
        }
    }

    pub(super) fn is_stale(&self, view: &View, ix: Ix) -> bool {
        self.why(view, ix).is_some()
    }

    pub(super) fn why(&self, view: &View, ix: Ix) -> Option<StalenessReason> {
        let visit = view.visit(self.agent, ix);
        let Some(visit) = visit.filter(|&visit| self.rule.is_read(visit)) else {
            return Some(StalenessReason::Never);
        };
        if !self.rule.is_current(visit, view.version(ix)) {
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
