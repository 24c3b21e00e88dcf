//! Agents that run when notes change: when to look what has changed, and what is found.
//!
//! Changes are looked at once no note was touched for a while, at the latest some time after the first. What an
//! agent has dealt with is in the store, as a number of the log; what is kept here spares looking twice.

use super::{Slot, outcome};
use crate::Catalog;
use crate::Definition;
use crate::ledger::{self, Reason, Status, Trigger, TriggerKind};
use crate::log_changes::{self, ChangeAuthor};
use crate::schedule::Schedule;
use crate::slot_planner::{self, RunHistory, Tick};
use poc_graph::error::Result;
use poc_graph::time::{Span, Timestamp};
use poc_notes::Memory;
use std::collections::{BTreeMap, BTreeSet};

/// Transactions without anything for an agent after which that is remembered, so that the next start need
/// not read them again.
const MARK_AFTER: u64 = 10_000;

/// How long a run is not tried again that had no money, or nobody to ask.
const RETRY_AFTER: Span = Span::HOUR;

/// What is known of changes from one look to the next.
#[derive(Default)]
pub(super) struct ChangeWatcher {
    /// The agents that go by changes.
    agents: BTreeSet<String>,
    /// The last transaction seen.
    seen: u64,
    /// When the first and the last note was touched that nobody has looked at.
    unscanned: Option<(Timestamp, Timestamp)>,
    /// Those that could not run when there was something to do.
    deferred: BTreeSet<String>,
    /// To be looked at now.
    to_scan: BTreeSet<String>,
    /// The last transaction each agent was found to have nothing left of.
    scanned_until: BTreeMap<String, u64>,
}

/// What a scan for changes that concern one agent needs.
pub(super) struct ChangeScan<'a> {
    pub(super) memory: &'a Memory,
    pub(super) definition: &'a Definition,
    pub(super) since: Timestamp,
    pub(super) history: &'a RunHistory,
    pub(super) tick: Tick,
    /// Whether it was handed out for another reason just now.
    pub(super) busy: bool,
}

/// What a row says that changes wait for: it is the agent's last one.
#[derive(Clone, Copy)]
struct DeferredChange {
    reason: Reason,
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

    /// Until when a run need not be tried that found out itself what stands in its way.
    fn until(self, now: Timestamp) -> Option<Timestamp> {
        let itself = matches!(self.reason, Reason::OverBudget | Reason::ProviderDown);
        let until = self.since.plus(RETRY_AFTER);
        (itself && self.since <= now && now < until).then_some(until)
    }
}

/// What a look has found.
pub(super) enum ScanResult {
    /// Nothing to do.
    Nothing,
    /// It has to wait until then.
    Later(Timestamp),
    /// It runs.
    Due(Slot),
}

impl ChangeWatcher {
    /// Whether what has changed is to be looked at.
    pub(super) fn needs_poll(&mut self, memory: &Memory, now: Timestamp) -> bool {
        if self.agents.is_empty() {
            return false;
        }
        let last = memory.store.view().seq;
        if log_changes::any_note_written(memory, (self.seen, last)) {
            self.note_change(now);
        }
        self.seen = last;
        self.is_quiet(memory, now)
    }

    /// Something has changed.
    pub(super) fn note_change(&mut self, now: Timestamp) {
        let first = self.unscanned.map_or(now, |(first, _)| first.min(now));
        self.unscanned = (!self.agents.is_empty()).then_some((first, now));
    }

    fn is_quiet(&self, memory: &Memory, now: Timestamp) -> bool {
        let settings = &memory.config.agents;
        let over = |since: Timestamp, wait: Span| now >= since.plus(wait);
        self.unscanned.is_some_and(|(first, last)| {
            over(last, settings.change_quiet) || over(first, settings.change_latest)
        })
    }

    /// The agents to look at now. When all agents are looked at anew, for whatever reason, these are once it
    /// has been quiet.
    pub(super) fn take_due(
        &mut self,
        memory: &Memory,
        catalog: &Catalog,
        (all, now): (bool, Timestamp),
    ) -> BTreeSet<String> {
        if all {
            let by_changes = |schedule: &Schedule| *schedule == Schedule::OnChange;
            let agents = catalog.agents.iter().filter(|(_, entry)| {
                entry.definition.as_ref().is_some_and(|definition| by_changes(&definition.execution.schedule))
            });
            self.agents = agents.map(|(agent, _)| agent.clone()).collect();
            self.deferred.retain(|agent| self.agents.contains(agent));
            self.scanned_until.clear();
            // What waits since before waits no longer for that.
            self.seen = memory.store.view().seq;
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

    /// What there is for one agent to do.
    pub(super) fn scan(&mut self, scan: &ChangeScan<'_>) -> ScanResult {
        self.try_scan(scan).unwrap_or_else(|error| {
            tracing::error!(agent = scan.definition.name, "what has changed cannot be told: {error}");
            self.deferred.insert(scan.definition.name.clone());
            ScanResult::Later(scan.tick.now.plus(scan.memory.config.agents.change_quiet))
        })
    }

    fn try_scan(&mut self, scan: &ChangeScan<'_>) -> Result<ScanResult> {
        let ChangeScan { memory, definition, since, history, tick, busy } = *scan;
        let (agent, now) = (&definition.name, tick.now);
        let until = memory.store.view().seq;
        let Some(done) =
            history.state().changes(since).map(|changes| changes.done).filter(|done| *done <= until)
        else {
            ledger::set_change_mark(memory, agent, since, until)?;
            return Ok(ScanResult::Nothing);
        };
        let after = self.scanned_until.get(agent).map_or(done, |scanned| done.max(*scanned));
        if !self.to_scan.contains(agent) || after >= until {
            return Ok(ScanResult::Nothing);
        }
        let trigger = Trigger::Change { after, until, found: now };
        let obstacle = slot_planner::obstacle(definition, history, trigger, false, tick);
        let rested = history.state().last().map_or(now, |last| last.ended.plus(definition.schedule.cooldown));
        let settings = &memory.config.agents;
        let held = DeferredChange::of(memory, agent)?;
        let wait = match obstacle.map(|obstacle| obstacle.reason) {
            // Somebody runs it.
            Some(Reason::Overlap) => Some(now.plus(settings.change_quiet)),
            // When that has ended there is another look.
            Some(Reason::CaughtUp) => Some(now.plus(settings.change_latest)),
            Some(Reason::Cooldown) => Some(rested),
            _ if busy => Some(now.plus(settings.change_latest)),
            // There is a row that says so.
            Some(reason) if held.is_some_and(|held| held.reason == reason) => {
                Some(now.plus(settings.change_latest))
            }
            None if !memory.store.is_settled() => Some(now.plus(settings.change_quiet)),
            None => held.and_then(|held| held.until(now)),
            _ => None,
        };
        if let Some(next) = wait {
            self.deferred.insert(agent.clone());
            return Ok(ScanResult::Later(next));
        }
        // What cannot be told the run itself tells, in its row.
        let used_up = held.is_some_and(|held| held.reason == Reason::OverBudget);
        let author = if used_up { ChangeAuthor::People } else { ChangeAuthor::Anyone };
        if !log_changes::any_stale_note(memory, definition, (after, until), author).unwrap_or(true) {
            self.scanned_until.insert(agent.clone(), until);
            if used_up || until - done >= MARK_AFTER {
                ledger::set_change_mark(memory, agent, since, until)?;
            }
            return Ok(ScanResult::Nothing);
        }
        if let Some(obstacle) = obstacle {
            ledger::record_unrun(memory, agent, trigger, outcome(obstacle, None))?;
            return Ok(ScanResult::Nothing);
        }
        Ok(ScanResult::Due(Slot { agent: agent.clone(), trigger, late: false }))
    }
}
