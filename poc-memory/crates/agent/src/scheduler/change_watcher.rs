//! On-change agents: when to scan for changes, and what the scan finds.
//!
//! Changes are scanned after a quiet period without writes, at the latest some time after the first write.
//! The store records which transactions each agent has handled; the state here only avoids repeated scans.

use super::outcome;
use crate::Catalog;
use crate::Definition;
use crate::due_slots::{self, DueRun, RunHistory, TaskTiming, Tick};
use crate::ledger::{self, Status, StatusReason, TimeRange, Trigger, TriggerKind};
use crate::log_changes::{self, ChangeAuthor, SeqRange};
use crate::schedule::Schedule;
use poc_graph::error::Result;
use poc_graph::time::{Span, Timestamp};
use poc_notes::Memory;
use std::collections::{BTreeMap, BTreeSet};

/// Number of irrelevant transactions after which the progress is stored, so that the next start need not read
/// them again.
const MARK_AFTER: u64 = 10_000;

/// Delay before a run is retried that was over budget or had no available provider.
const RETRY_AFTER: Span = Span::HOUR;

/// State between scans.
#[derive(Default)]
pub(super) struct ChangeWatcher {
    /// The on-change agents.
    agents: BTreeSet<String>,
    /// The last transaction seen.
    seen: u64,
    /// The time of the writes that were not scanned yet.
    unscanned: Option<TimeRange>,
    /// Agents that could not run although there were changes.
    deferred: BTreeSet<String>,
    /// Agents to scan now.
    to_scan: BTreeSet<String>,
    /// For each agent, the transaction up to which nothing concerns it.
    scanned_until: BTreeMap<String, u64>,
}

/// The inputs of a scan for changes that concern one agent.
pub(super) struct ChangeScan<'a> {
    pub(super) memory: &'a Memory,
    pub(super) definition: &'a Definition,
    pub(super) since: Timestamp,
    pub(super) history: &'a RunHistory,
    pub(super) tick: Tick,
    /// Whether another slot of the agent is being run.
    pub(super) busy: bool,
}

/// Why pending changes wait, from the agent's last row.
#[derive(Clone, Copy)]
struct DeferredChange {
    reason: StatusReason,
    since: Timestamp,
}

impl DeferredChange {
    fn of(memory: &Memory, agent: &str) -> Result<Option<DeferredChange>> {
        let last = ledger::rows(memory, Some(agent), 1)?.pop();
        let last = last.filter(|row| row.trigger == TriggerKind::Change && row.status == Status::Skipped);
        Ok(last.and_then(|row| {
            let reason = row.reason.filter(|reason| reason.passes())?;
            Some(DeferredChange { reason, since: row.finished.unwrap_or(row.started) })
        }))
    }

    /// Until when not to retry a run that was over budget or found its provider down.
    fn until(self, now: Timestamp) -> Option<Timestamp> {
        let itself = matches!(self.reason, StatusReason::OverBudget | StatusReason::ProviderDown);
        let until = self.since.plus(RETRY_AFTER);
        (itself && self.since <= now && now < until).then_some(until)
    }
}

/// Result of a scan.
pub(super) enum ChangeScanResult {
    /// Nothing to do.
    Nothing,
    /// Scan again at this time.
    Later(Timestamp),
    /// The agent is to run.
    Due(DueRun),
}

impl ChangeWatcher {
    /// Whether changes are to be scanned now.
    pub(super) fn needs_poll(&mut self, memory: &Memory, now: Timestamp) -> bool {
        if self.agents.is_empty() {
            return false;
        }
        let last = memory.store.published_seq();
        if log_changes::any_note_written(memory, SeqRange { after: self.seen, until: last }) {
            self.note_change(now);
        }
        self.seen = last;
        self.is_quiet(memory, now)
    }

    /// Records that a slot of an agent has ended, so that changes that it did not handle are scanned. A pending scan is
    /// not delayed, because a run that changes no notes writes only visits.
    pub(super) fn slot_ended(&mut self, agent: &str, now: Timestamp) {
        if self.unscanned.is_none() && self.agents.contains(agent) {
            self.note_change(now);
        }
    }

    /// Scans the changes for an agent at its next poll.
    pub(super) fn postpone(&mut self, agent: &str) {
        if self.agents.contains(agent) {
            self.deferred.insert(agent.to_owned());
        }
    }

    /// Records that something changed.
    fn note_change(&mut self, now: Timestamp) {
        let first = self.unscanned.map_or(now, |unscanned| unscanned.first.min(now));
        self.unscanned = (!self.agents.is_empty()).then_some(TimeRange { first, last: now });
    }

    fn is_quiet(&self, memory: &Memory, now: Timestamp) -> bool {
        let settings = &memory.config.agents;
        let over = |since: Timestamp, wait: Span| now >= since.plus(wait);
        self.unscanned.is_some_and(|unscanned| {
            over(unscanned.last, settings.change_quiet) || over(unscanned.first, settings.change_latest)
        })
    }

    /// The agents to scan now. With `all`, on-change agents are scanned after the next quiet period.
    pub(super) fn take_due(
        &mut self,
        memory: &Memory,
        catalog: &Catalog,
        all: bool,
        now: Timestamp,
    ) -> BTreeSet<String> {
        if all {
            let by_changes = |schedule: &Schedule| *schedule == Schedule::OnChange;
            let agents = catalog.agents.iter().filter(|(_, entry)| {
                entry.definition.as_ref().is_some_and(|definition| by_changes(&definition.execution.schedule))
            });
            self.agents = agents.map(|(agent, _)| agent.clone()).collect();
            self.deferred.retain(|agent| self.agents.contains(agent));
            self.scanned_until.clear();
            // A restart of the watch must not delay earlier changes further.
            self.seen = memory.store.published_seq();
            self.note_change(now);
        }
        let quiet = self.is_quiet(memory, now);
        self.to_scan = std::mem::take(&mut self.deferred);
        if quiet {
            self.unscanned = None;
            self.to_scan.extend(self.agents.iter().cloned());
        }
        self.to_scan.clone()
    }

    /// Scans the changes for one agent.
    pub(super) fn scan(&mut self, scan: &ChangeScan<'_>) -> ChangeScanResult {
        self.try_scan(scan).unwrap_or_else(|error| {
            tracing::error!(agent = scan.definition.name, "the changes cannot be read: {error}");
            self.deferred.insert(scan.definition.name.clone());
            ChangeScanResult::Later(scan.tick.now.plus(scan.memory.config.agents.change_quiet))
        })
    }

    fn try_scan(&mut self, scan: &ChangeScan<'_>) -> Result<ChangeScanResult> {
        let ChangeScan { memory, definition, since, history, tick, busy } = *scan;
        let (agent, now) = (&definition.name, tick.now);
        let until = memory.store.published_seq();
        let Some(done) =
            history.state().changes(since).map(|changes| changes.done).filter(|done| *done <= until)
        else {
            ledger::set_change_mark(memory, agent, since, until)?;
            return Ok(ChangeScanResult::Nothing);
        };
        let after = self.scanned_until.get(agent).map_or(done, |scanned| done.max(*scanned));
        if !self.to_scan.contains(agent) || after >= until {
            return Ok(ChangeScanResult::Nothing);
        }
        let trigger = Trigger::Change { after, until, found: now };
        let timing = TaskTiming::of(agent, definition, since);
        let skip_reason = due_slots::skip_reason(timing, history, trigger, false, tick);
        let rested = history.state().last().map_or(now, |last| last.ended.plus(definition.schedule.cooldown));
        let settings = &memory.config.agents;
        let held = DeferredChange::of(memory, agent)?;
        let wait = match skip_reason.map(|skip| skip.reason) {
            // The agent is running.
            Some(StatusReason::Overlap) => Some(now.plus(settings.change_quiet)),
            // The agent is polled again when that slot has ended.
            Some(StatusReason::CaughtUp) => Some(now.plus(settings.change_latest)),
            Some(StatusReason::Cooldown) => Some(rested),
            _ if busy => Some(now.plus(settings.change_latest)),
            // A row with this reason was already written.
            Some(reason) if held.is_some_and(|held| held.reason == reason) => {
                Some(now.plus(settings.change_latest))
            }
            None if !memory.store.is_settled() => Some(now.plus(settings.change_quiet)),
            None => held.and_then(|held| held.until(now)),
            _ => None,
        };
        if let Some(next) = wait {
            self.deferred.insert(agent.clone());
            return Ok(ChangeScanResult::Later(next));
        }
        // If the scan fails, run the agent: the run reports the problem in its row.
        let used_up = held.is_some_and(|held| held.reason == StatusReason::OverBudget);
        let author = if used_up { ChangeAuthor::People } else { ChangeAuthor::Anyone };
        if !log_changes::any_stale_note(memory, definition, SeqRange { after, until }, author).unwrap_or(true)
        {
            self.scanned_until.insert(agent.clone(), until);
            if used_up || until - done >= MARK_AFTER {
                ledger::set_change_mark(memory, agent, since, until)?;
            }
            return Ok(ChangeScanResult::Nothing);
        }
        if let Some(skip_reason) = skip_reason {
            ledger::record_without_run(memory, agent, trigger, outcome(skip_reason, None))?;
            return Ok(ChangeScanResult::Nothing);
        }
        Ok(ChangeScanResult::Due(DueRun { agent: agent.clone(), trigger, late: false }))
    }
}
