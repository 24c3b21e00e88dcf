//! Decides which agents are due, and whether consolidation is: a pure function of definitions, run histories and time.
//!
//! A slot is due when its time plus the agent's jitter has passed and the agent's state has no outcome for
//! it. Only the latest such slot runs; the earlier ones share one row, which records their number. Slots are
//! compared by their scheduled time, never by the time of a run, so that setting the clock back does not run
//! a slot twice.
//!
//! On-change agents have no slots: `scheduler/change_watcher.rs` uses [`skip_reason`] to learn what blocks them.
//!
//! A failed run is due again after its rerun delay, unless its next slot is due first.

mod timing;

use super::Catalog;
use super::definition::Definition;
use super::ledger::{AgentState, Pause, StatusReason, Trigger};
use super::pause_reason::PauseReason;
use super::schedule::{self, Schedule};
use chrono_tz::Tz;
use poc_graph::time::{Span, Timestamp};
use poc_notes::Memory;
use std::collections::BTreeMap;
use std::fmt;
pub(crate) use timing::TaskTiming;

/// Maximum number of slots counted; beyond it the message says "more than".
const MAX_COUNTED: usize = 1000;

/// Maximum delay with which a polled slot counts as on time; a slow heartbeat increases it.
const TOLERANCE: Span = Span::MINUTE;

/// The time to plan for.
#[derive(Clone, Copy, Debug)]
pub struct Tick {
    /// The current time.
    pub now: Timestamp,
    /// Time zone of agents without one.
    pub zone: Tz,
    /// How late a slot may be polled and still count as on time.
    pub tolerance: Span,
}

impl Tick {
    /// The current time, with the tolerance that follows from the daemon's heartbeat.
    pub fn now(memory: &Memory, zone: Tz) -> Tick {
        let heartbeat = memory.config.daemon.heartbeat.0;
        let tolerance = TOLERANCE.max(Span(heartbeat.saturating_mul(2)));
        Tick { now: memory.now(), zone, tolerance }
    }
}

/// Run history of one agent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunHistory {
    state: AgentState,
    /// Whether a slot was handed out that has no row yet; later slots are merged into it.
    pending: bool,
}

/// Decision about a slot or a rerun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Run it.
    Run(DueRun),
    /// Do not run it; write a row.
    Skip(SkippedSlots),
}

/// A slot, rerun or set of changes that is to be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DueRun {
    /// The agent.
    pub agent: String,
    /// The trigger of the run.
    pub trigger: Trigger,
    /// Whether the slot is caught up, because its time passed while no process could run it.
    pub late: bool,
}

/// Slots, or a rerun, that are not run and share one row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedSlots {
    /// The agent.
    pub agent: String,
    /// The slots.
    pub slots: SlotRange,
    /// The trigger; for several slots that of the last.
    pub trigger: Trigger,
    /// Whether the slots count as missed, because their time passed while no process could run them.
    pub missed: bool,
    /// The reason.
    pub reason: StatusReason,
}

/// A range of consecutive slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotRange {
    /// The first.
    pub first: Timestamp,
    /// The last, which has the row.
    pub last: Timestamp,
    /// Number of slots, exact up to 1,000.
    pub count: usize,
}

/// The decisions about all due slots and reruns. An agent without an entry in `history` never ran.
pub fn plan(catalog: &Catalog, history: &BTreeMap<String, RunHistory>, tick: Tick) -> Vec<Decision> {
    let unknown = RunHistory::default();
    let mut decisions = Vec::new();
    for agent in timings(catalog) {
        let history = history.get(agent.name).unwrap_or(&unknown);
        SlotCheck { agent, history, tick }.plan(&mut decisions);
    }
    decisions
}

/// When the agents with a definition run, and consolidation.
fn timings(catalog: &Catalog) -> impl Iterator<Item = TaskTiming<'_>> {
    let agents = catalog
        .agents
        .iter()
        .filter_map(|(name, entry)| Some(TaskTiming::of(name, entry.definition.as_deref()?, entry.since)));
    agents.chain(catalog.consolidation.as_ref().map(TaskTiming::of_consolidation))
}

/// When an agent with a definition, or consolidation, runs.
pub(crate) fn timing<'a>(catalog: &'a Catalog, name: &str) -> Option<TaskTiming<'a>> {
    timings(catalog).find(|task| task.name == name)
}

/// Why a slot or a rerun of an agent is not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SkipReason {
    /// The reason, as a stable code.
    pub reason: StatusReason,
    /// Whether the slot counts as missed: its time passed while no process could run it.
    pub missed: bool,
}

impl SkipReason {
    fn skipped(reason: StatusReason) -> Option<SkipReason> {
        Some(SkipReason { reason, missed: false })
    }

    fn missed(reason: StatusReason) -> Option<SkipReason> {
        Some(SkipReason { reason, missed: true })
    }
}

/// Why a due trigger cannot run now; `None` when it can. Called when a slot is due, and again before it
/// starts.
pub(crate) fn skip_reason(
    agent: TaskTiming<'_>,
    history: &RunHistory,
    trigger: Trigger,
    late: bool,
    tick: Tick,
) -> Option<SkipReason> {
    let due = trigger.due_at()?;
    let start = if let Trigger::Slot(slot) = trigger { agent.start(slot) } else { due };
    SlotCheck { agent, history, tick }.skip_reason(due, start, late)
}

/// End of the agent's cooldown, if it is in one.
pub fn cooldown_until(definition: &Definition, state: &AgentState, now: Timestamp) -> Option<Timestamp> {
    TaskTiming::of(&definition.name, definition, now).cooldown_until(state, now)
}

/// Delay of the agent's catch-up runs, so that agents do not all start together: derived from its name, at
/// most `spread` and at most its own period.
pub(crate) fn catch_up_delay(agent: TaskTiming<'_>, spread: Span) -> Span {
    let longest = agent.schedule.period().map_or(spread, |period| period.min(spread));
    Span(schedule::pick(&[agent.name, "catch-up"], longest.0.max(0) as u64 + 1) as i64)
}

/// When a failed run of an agent is repeated, if one is pending.
pub fn rerun_at(
    name: &str,
    definition: &Definition,
    since: Timestamp,
    state: &AgentState,
) -> Option<Timestamp> {
    TaskTiming::of(name, definition, since).rerun(state).map(|(_, at)| at)
}

/// When an agent is due next, including jitter; `None` for agents without slots.
pub(crate) fn next_start(agent: TaskTiming<'_>, now: Timestamp, zone: Tz) -> Option<Timestamp> {
    agent.next(now, zone)
}

/// Planning for one agent at one time.
struct SlotCheck<'a> {
    agent: TaskTiming<'a>,
    history: &'a RunHistory,
    tick: Tick,
}

impl SlotCheck<'_> {
    fn plan(&self, decisions: &mut Vec<Decision>) {
        if !self.plan_slot(decisions) {
            self.plan_rerun(decisions);
        }
    }

    /// Decides about the latest slot. Returns whether one has come.
    fn plan_slot(&self, decisions: &mut Vec<Decision>) -> bool {
        let Tick { now, zone, tolerance } = self.tick;
        let since = self.agent.since;
        let Some(slot) = self.agent.latest(now, zone).filter(|slot| *slot > since) else { return false };
        let known = self.history.state.last_slot(now);
        let again = known == Some(slot) && self.history.state.can_retry(slot);
        if !again && known.is_some_and(|known| slot <= known) {
            return false;
        }
        let start = self.agent.start(slot);
        let late = again || now > start.plus(tolerance);
        let skip_reason = self.skip_reason(slot, start, late);
        if again && skip_reason.is_some() {
            // The slot already has a row with the status `interrupted`.
            return false;
        }
        if !again {
            self.plan_missed(known.unwrap_or(since).max(since), slot, decisions);
        }
        let (agent, trigger) = (self.agent.name.to_owned(), Trigger::Slot(slot));
        match (skip_reason, decisions.last_mut()) {
            (None, _) => decisions.push(Decision::Run(DueRun { agent, trigger, late })),
            (
                Some(SkipReason { reason: why, missed: true }),
                Some(Decision::Skip(SkippedSlots {
                    slots,
                    missed: true,
                    reason,
                    agent: before,
                    trigger: last,
                })),
            ) if why == *reason && agent == *before => {
                (slots.last, slots.count, *last) = (slot, slots.count + 1, trigger);
            }
            (Some(SkipReason { reason, missed }), _) => {
                let slots = SlotRange { first: slot, last: slot, count: 1 };
                decisions.push(Decision::Skip(SkippedSlots { agent, slots, trigger, missed, reason }));
            }
        }
        true
    }

    /// Decides about a rerun that is due.
    fn plan_rerun(&self, decisions: &mut Vec<Decision>) {
        let SlotCheck { agent, history, tick: Tick { now, tolerance, .. } } = self;
        let due = agent.rerun(&history.state).filter(|(_, at)| at <= now && !history.pending);
        let Some((run, due)) = due else { return };
        let (late, trigger) = (*now > due.plus(*tolerance), Trigger::Rerun { run, due });
        let agent = agent.name.to_owned();
        decisions.push(match self.skip_reason(due, due, late) {
            None => Decision::Run(DueRun { agent, trigger, late }),
            Some(SkipReason { reason, missed }) => {
                let slots = SlotRange { first: due, last: due, count: 1 };
                Decision::Skip(SkippedSlots { agent, slots, trigger, missed, reason })
            }
        });
    }

    /// Why a slot with this start cannot run now.
    fn skip_reason(&self, slot: Timestamp, start: Timestamp, late: bool) -> Option<SkipReason> {
        let rules = self.agent.rules;
        let Tick { now, tolerance, .. } = self.tick;
        let earliest = now.minus(rules.catch_up_window);
        // A slot that was polled on time may have waited for the limit on concurrent runs.
        let waited = now > start.plus(tolerance) && start < earliest;
        // Later slots that passed while this one waited are settled as caught up by it: the age of the latest counts.
        let settled = self.history.state.last_slot(now).filter(|_| rules.catch_up);
        let replaces_recent = settled.is_some_and(|settled| settled > slot && settled >= earliest);
        // No later slot would handle the changes that an on-change agent has not handled yet.
        let expires = *self.agent.schedule != Schedule::OnChange && !replaces_recent;
        if !self.agent.enabled {
            SkipReason::skipped(StatusReason::Disabled)
        } else if self.paused_since(start).is_some() {
            SkipReason::skipped(StatusReason::Paused)
        } else if expires && late && !rules.catch_up {
            SkipReason::missed(StatusReason::CatchUpOff)
        } else if expires && (waited || late && slot < earliest) {
            SkipReason::missed(StatusReason::OutsideWindow)
        } else if self.history.state.running().is_some() {
            SkipReason::skipped(StatusReason::Overlap)
        } else if self.history.pending {
            SkipReason::missed(StatusReason::CaughtUp)
        } else if self.agent.cooldown_until(&self.history.state, now).is_some() {
            SkipReason::skipped(StatusReason::Cooldown)
        } else {
            None
        }
    }

    /// Since when the agent is paused, if it is now or was when the slot started.
    fn paused_since(&self, start: Timestamp) -> Option<Timestamp> {
        let covers_start = |pause: &&Pause| pause.since <= start && pause.is_active(start);
        let SlotCheck { agent, history: RunHistory { state, .. }, tick } = self;
        let now = || PauseReason::of(agent.pause_after, state, tick.now).map(|paused| paused.since());
        state.pause().filter(covers_start).map(|pause| pause.since).or_else(now)
    }

    /// Decides about the slots between the last settled one and the current one.
    fn plan_missed(&self, known: Timestamp, slot: Timestamp, decisions: &mut Vec<Decision>) {
        let rules = self.agent.rules;
        let until = Timestamp(slot.0 - 1);
        let earliest = Timestamp(self.tick.now.minus(rules.catch_up_window).0 - 1);
        let mut missed = |after: Timestamp, until: Timestamp, reason: StatusReason| {
            if let Some(slots) = self.slot_range(after, until) {
                decisions.push(Decision::Skip(SkippedSlots {
                    agent: self.agent.name.to_owned(),
                    slots,
                    trigger: Trigger::Slot(slots.last),
                    missed: true,
                    reason,
                }));
            }
        };
        if !self.agent.enabled {
            missed(known, until, StatusReason::Disabled);
        } else if let Some(since) = self.paused_since(self.agent.start(slot)) {
            // The rules for catching up apply to the slots before the pause.
            let (passed, reason) = match rules.catch_up {
                true => (earliest, StatusReason::OutsideWindow),
                false => (until, StatusReason::CatchUpOff),
            };
            let passed = passed.min(Timestamp(since.0 - 1)).min(until);
            missed(known, passed, reason);
            missed(known.max(passed), until, StatusReason::Paused);
        } else if !rules.catch_up {
            missed(known, until, StatusReason::CatchUpOff);
        } else {
            let window = earliest.min(until);
            missed(known, window, StatusReason::OutsideWindow);
            missed(known.max(window), until, StatusReason::CaughtUp);
        }
    }

    /// The slots after one instant and not after another.
    fn slot_range(&self, after: Timestamp, until: Timestamp) -> Option<SlotRange> {
        let (schedule, zone) = (self.agent.schedule, self.agent.zone(self.tick.zone));
        let last = schedule.latest(until, zone).filter(|last| *last > after)?;
        let mut slots = std::iter::successors(schedule.next_after(after, zone), |slot| {
            schedule.next_after(*slot, zone).filter(|slot| *slot <= last)
        });
        let first = slots.next()?;
        Some(SlotRange { first, last, count: 1 + slots.take(MAX_COUNTED).count() })
    }
}

impl RunHistory {
    /// Marks a slot that was handed out but has no row yet as settled.
    pub fn add_pending(&mut self, trigger: Trigger) {
        if let Trigger::Slot(slot) = trigger {
            self.state.settle(slot, slot);
        }
        self.pending = true;
    }

    /// Marks slots that are skipped but have no row yet as settled.
    pub fn settle(&mut self, slots: SlotRange) {
        self.state.settle(slots.first, slots.last);
    }

    /// The stored state.
    pub fn state(&self) -> &AgentState {
        &self.state
    }
}

impl From<AgentState> for RunHistory {
    /// A history without pending slots.
    fn from(state: AgentState) -> RunHistory {
        RunHistory { state, pending: false }
    }
}

impl fmt::Display for SlotRange {
    /// The wording of messages.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SlotRange { first, last, count } = self;
        match count {
            1 => write!(f, "the slot {last}"),
            count if *count > MAX_COUNTED => {
                write!(f, "more than {MAX_COUNTED} slots from {first} to {last}")
            }
            count => write!(f, "{count} slots from {first} to {last}"),
        }
    }
}

#[cfg(test)]
mod tests;
