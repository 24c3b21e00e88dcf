//! When the slots, reruns and cooldown of an agent, and the slots of consolidation, begin and end.

use crate::consolidation::{self, ScheduledConsolidation};
use crate::definition::{Definition, ScheduleRules};
use crate::ledger::AgentState;
use crate::schedule::{self, Schedule};
use chrono_tz::Tz;
use poc_graph::RunId;
use poc_graph::time::{Span, Timestamp};

/// The timing rules of one agent, or of consolidation.
#[derive(Clone, Copy)]
pub(crate) struct TaskTiming<'a> {
    pub(crate) name: &'a str,
    pub(super) enabled: bool,
    pub(super) schedule: &'a Schedule,
    pub(super) rules: &'a ScheduleRules,
    pub(super) pause_after: u32,
    pub(super) reruns: &'a [Span],
    pub(super) since: Timestamp,
}

impl<'a> TaskTiming<'a> {
    /// The rules of an agent that was first seen at `since`.
    pub(crate) fn of(name: &'a str, definition: &'a Definition, since: Timestamp) -> TaskTiming<'a> {
        let Definition { enabled, execution, schedule: rules, failure, retry, .. } = definition;
        let (enabled, schedule, pause_after) = (*enabled, &execution.schedule, failure.pause_after);
        TaskTiming { name, enabled, schedule, rules, pause_after, reruns: &retry.rerun, since }
    }

    /// The rules of consolidation, which is not repeated after a failure and not paused by failures.
    pub(crate) fn of_consolidation(task: &'a ScheduledConsolidation) -> TaskTiming<'a> {
        let ScheduledConsolidation { schedule, rules, since } = task;
        let (name, since) = (consolidation::NAME, *since);
        TaskTiming { name, enabled: true, schedule, rules, pause_after: 0, reruns: &[], since }
    }

    pub(super) fn zone(&self, otherwise: Tz) -> Tz {
        self.rules.timezone.unwrap_or(otherwise)
    }

    pub(super) fn next(&self, now: Timestamp, zone: Tz) -> Option<Timestamp> {
        let zone = self.zone(zone);
        // The latest slot may not have started because of its jitter.
        let latest = self.schedule.latest(now, zone).map(|slot| self.start(slot));
        latest
            .filter(|start| *start > now)
            .or_else(|| self.schedule.next_after(now, zone).map(|slot| self.start(slot)))
    }

    pub(super) fn cooldown_until(&self, state: &AgentState, now: Timestamp) -> Option<Timestamp> {
        let ended = state.last().map(|last| last.ended).filter(|ended| *ended <= now)?;
        Some(ended.plus(self.rules.cooldown)).filter(|until| now < *until)
    }

    /// The failed run to repeat, and when: not before the cooldown is over.
    pub(super) fn rerun(&self, state: &AgentState) -> Option<(RunId, Timestamp)> {
        let repeat = state.pending_rerun().filter(|repeat| repeat.ended >= self.since)?;
        let wait = self.reruns.get(usize::try_from(repeat.times).ok()?)?;
        let after_cooldown = state.last().map_or(repeat.ended, |last| last.ended).plus(self.rules.cooldown);
        Some((repeat.run, repeat.ended.plus(*wait).max(after_cooldown)))
    }

    /// The latest slot that has started.
    pub(super) fn latest(&self, now: Timestamp, zone: Tz) -> Option<Timestamp> {
        let zone = self.zone(zone);
        let slot = self.schedule.latest(now, zone)?;
        if self.start(slot) <= now { Some(slot) } else { self.schedule.latest(Timestamp(slot.0 - 1), zone) }
    }

    /// Start of a slot: its time plus the agent's jitter for it.
    pub(super) fn start(&self, slot: Timestamp) -> Timestamp {
        if self.rules.jitter <= Span(0) {
            return slot;
        }
        // Jitter must be shorter than the period, so that slots start in order.
        let period = self.schedule.period().unwrap_or_default();
        let longest = self.rules.jitter.min(Span(period.0 - 1)).0.max(0);
        let delay = schedule::pick(&[self.name, "jitter", &slot.0.to_string()], longest as u64 + 1);
        slot.plus(Span(delay as i64))
    }
}
