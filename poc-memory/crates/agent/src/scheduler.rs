//! The scheduler: keeps the next due time of each agent and of consolidation, so that polling costs nothing
//! in between, and runs slots when they are due. [`due_slots::plan`] decides what is due. The time is an argument;
//! threads and waiting are left to the daemon.

use super::batches::SlotBatches;
use super::consolidation::{self, ScheduledConsolidation};
use super::due_slots::{self, Decision, DueRun, RunHistory, SkipReason, SkippedSlots, TaskTiming, Tick};
use super::ledger::{self, AgentState, RowOutcome, Run, Status, StatusReason, Trigger};
use super::run::{self, RunOptions};
use super::schedule::Schedule;
use super::tenant_rotation::{self, FirstTurn};
use super::{Catalog, CatalogEntry, Definition, GRACE};
use chrono_tz::Tz;
use poc_graph::error::{Code, Result};
use poc_graph::time::{Span, Timestamp};
use poc_notes::Memory;
use std::collections::BTreeMap;
use std::sync::Arc;

mod change_watcher;
mod consolidation_run;
mod unwritten_slots;

use change_watcher::{ChangeScan, ChangeScanResult, ChangeWatcher};
use unwritten_slots::UnwrittenSlots;

/// Delay before the next poll of an agent whose ledger could not be read.
const RETRY_DELAY: Span = Span(10 * Span::SECOND.0);

/// The next due time of every scheduled agent, as of the last poll.
#[derive(Default)]
pub struct Scheduler {
    catalog: Option<Arc<Catalog>>,
    last_poll: Timestamp,
    next: BTreeMap<String, Timestamp>,
    changes: ChangeWatcher,
    /// Delayed catch-up runs, with the time at which each may start.
    delayed: BTreeMap<String, (Timestamp, DueRun)>,
    unwritten: UnwrittenSlots,
}

impl Scheduler {
    /// Whether a poll can find anything: a due time has come, notes or agents changed, or the clock went
    /// back.
    pub fn needs_poll(&mut self, memory: &Memory, catalog: &Arc<Catalog>) -> bool {
        let now = memory.now();
        let changed = self.changes.needs_poll(memory, now);
        let delayed = self.delayed.values().any(|(until, _)| *until <= now);
        changed
            || delayed
            || self.unwritten.are_due(now)
            || self.must_recompute_slots(catalog, now)
            || self.next.values().any(|next| *next <= now)
    }

    /// Polls the agents whose due time has come. Writes the rows of slots that are not run, those of a paused or
    /// disabled agent within minutes, and returns the runs to start. `pending` are runs that were returned before and
    /// may have no row yet.
    pub fn poll(
        &mut self,
        memory: &Memory,
        catalog: Arc<Catalog>,
        tick: Tick,
        pending: &BTreeMap<String, DueRun>,
    ) -> Vec<DueRun> {
        if tick.now < self.last_poll {
            // The clock went back, so the delays refer to times that are now far ahead.
            self.delayed.clear();
            self.unwritten.write_all(memory);
        }
        self.unwritten.write_due(memory, tick.now);
        let spread = memory.config.agents.catch_up_spread;
        let definitions = catalog.clone();
        let mut due = self.take_due(memory, catalog, &tick);
        due.agents.retain(|agent, _| {
            let has_file = !definitions.lacks_file(memory, agent);
            if !has_file {
                // An editor may be replacing the file. Otherwise, a scan of the files will soon find that it was deleted.
                self.postpone(agent, tick.now.plus(GRACE));
            }
            has_file
        });
        let history: BTreeMap<String, RunHistory> = due
            .names()
            .filter_map(|name| {
                let mut history = load_history(memory, name, self.pending(name, pending))?;
                self.unwritten.of(name).into_iter().for_each(|slots| history.settle(slots));
                Some((name.to_owned(), history))
            })
            .collect();
        let mut is_known = |name: &str| {
            let known = history.contains_key(name);
            if !known {
                self.postpone(name, tick.now.plus(RETRY_DELAY));
            }
            known
        };
        due.agents.retain(|agent, _| is_known(agent));
        due.consolidation = due.consolidation.take().filter(|_| is_known(consolidation::NAME));
        self.schedule_reruns(&due, &history, tick.now);
        let decisions = due_slots::plan(&due, &history, tick);
        let mut runs: Vec<DueRun> = Vec::new();
        for decision in decisions {
            match decision {
                Decision::Run(due) => {
                    self.unwritten.write(memory, &due.agent);
                    runs.push(due);
                }
                Decision::Skip(skipped) => {
                    let known = history.get(&skipped.agent);
                    let settled = known.and_then(|history| history.state().last_slot(tick.now));
                    self.unwritten.add(memory, skipped, settled, tick.now);
                }
            }
        }
        for (agent, entry) in &due.agents {
            let (Some(history), Some(definition)) = (history.get(agent), &entry.definition) else { continue };
            if definition.execution.schedule != Schedule::OnChange {
                continue;
            }
            let busy = runs.iter().any(|run| run.agent == *agent);
            let scan = ChangeScan { memory, definition, since: entry.since, history, tick, busy };
            match self.changes.scan(&scan) {
                ChangeScanResult::Nothing => {}
                ChangeScanResult::Later(next) => _ = self.next.insert(agent.clone(), next),
                ChangeScanResult::Due(run) => runs.push(run),
            }
        }
        self.delay_late_runs(&mut runs, &definitions, spread, tick.now);
        runs
    }

    /// Polls an agent that was due again at a time. Its slots and changes are found again then.
    fn postpone(&mut self, agent: &str, until: Timestamp) {
        self.next.insert(agent.to_owned(), until);
        self.changes.postpone(agent);
    }

    /// Stores the times of future reruns, unless a slot comes first: it makes a rerun unnecessary.
    fn schedule_reruns(&mut self, due: &Catalog, history: &BTreeMap<String, RunHistory>, now: Timestamp) {
        for (agent, entry) in &due.agents {
            let known = history.get(agent).zip(entry.definition.as_ref());
            let rerun = known.and_then(|(history, definition)| {
                due_slots::rerun_at(agent, definition, entry.since, history.state())
                    .filter(|rerun| *rerun > now)
            });
            if let Some(rerun) = rerun {
                let next = self.next.entry(agent.clone()).or_insert(rerun);
                *next = rerun.min(*next);
            }
        }
    }

    /// Moves catch-up runs that must wait to the delayed runs, and adds the delayed runs that may start now.
    fn delay_late_runs(
        &mut self,
        runs: &mut Vec<DueRun>,
        definitions: &Catalog,
        spread: Span,
        now: Timestamp,
    ) {
        runs.retain(|run| {
            let delay = due_slots::timing(definitions, &run.agent).filter(|_| run.late);
            let delay = delay.map_or(Span(0), |agent| due_slots::catch_up_delay(agent, spread));
            if delay > Span(0) {
                self.delayed.insert(run.agent.clone(), (now.plus(delay), run.clone()));
            }
            delay <= Span(0)
        });
        let is_due = |_: &String, delayed: &mut (Timestamp, DueRun)| delayed.0 <= now;
        runs.extend(self.delayed.extract_if(.., is_due).map(|(_, (_, run))| run));
    }

    /// The run that was returned for an agent, or is delayed.
    fn pending<'a>(&'a self, agent: &str, pending: &'a BTreeMap<String, DueRun>) -> Option<&'a DueRun> {
        pending.get(agent).or_else(|| self.delayed.get(agent).map(|(_, run)| run))
    }

    /// Polls and starts the due runs one after the other: a scheduler without threads. Returns their outcomes.
    pub fn tick(
        &mut self,
        memory: &Memory,
        catalog: &Arc<Catalog>,
        tick: Tick,
        options: &RunOptions,
    ) -> Vec<Result<Option<Run>>> {
        if !self.needs_poll(memory, catalog) {
            return Vec::new();
        }
        let runs = self.poll(memory, catalog.clone(), tick, &BTreeMap::new());
        let mut outcomes = Vec::new();
        for due in runs {
            let mut outcome = run_due(memory, catalog, &due, tick, options);
            let first = outcome.as_ref().ok().and_then(Option::as_ref);
            let mut batches = first.and_then(SlotBatches::after);
            while let (Some(batches), Ok(Some(row))) = (&mut batches, &outcome) {
                let next = batches.run_next(memory, catalog, row, options);
                outcomes.push(std::mem::replace(&mut outcome, next));
            }
            if batches.is_none() || outcome.is_err() {
                outcomes.push(outcome);
            }
            self.slot_ended(&due.agent);
        }
        outcomes
    }

    /// Writes the rows of skipped slots that are not written yet. Called before the process ends.
    pub fn write_skipped_slots(&mut self, memory: &Memory) {
        self.unwritten.write_all(memory);
    }

    /// Records that a slot has ended, so that the agent is polled again.
    pub fn slot_ended(&mut self, agent: &str) {
        self.next.insert(agent.to_owned(), self.last_poll);
        self.changes.slot_ended(agent, self.last_poll);
    }

    /// Takes the agents that are due and stores their next due times.
    fn take_due(&mut self, memory: &Memory, catalog: Arc<Catalog>, tick: &Tick) -> Catalog {
        let all = self.must_recompute_slots(&catalog, tick.now);
        let quiet = self.changes.take_due(memory, &catalog, all, tick.now);
        let is_due = |agent: &String| {
            let has_come = self.next.get(agent).is_some_and(|next| *next <= tick.now);
            (all || quiet.contains(agent) || has_come) && memory.config.daemon.runs_agents.includes(agent)
        };
        let agents: BTreeMap<String, CatalogEntry> = catalog
            .agents
            .iter()
            .filter(|(agent, _)| is_due(agent))
            .map(|(agent, entry)| (agent.clone(), entry.clone()))
            .collect();
        let consolidation = catalog.consolidation.clone().filter(|_| is_due(&consolidation::NAME.to_owned()));
        // Also drops the entries of removed agents.
        self.next.retain(|_, next| !all && *next > tick.now);
        let due = Catalog { agents, consolidation, ..Catalog::default() };
        for name in due.names() {
            let next = due_slots::timing(&due, name)
                .and_then(|task| due_slots::next_start(task, tick.now, tick.zone));
            match next {
                Some(next) => self.next.insert(name.to_owned(), next),
                None => self.next.remove(name),
            };
        }
        (self.last_poll, self.catalog) = (tick.now, Some(catalog));
        due
    }

    /// Whether the stored due times are invalid, because the clock went back or the catalog changed.
    fn must_recompute_slots(&self, catalog: &Arc<Catalog>, now: Timestamp) -> bool {
        now < self.last_poll || self.catalog.as_ref().is_none_or(|known| !Arc::ptr_eq(known, catalog))
    }
}

/// When this daemon runs an agent next by its schedule; `None` if it does not run it, or while the agent is disabled or
/// paused without an end.
pub fn next(
    memory: &Memory,
    name: &str,
    entry: &CatalogEntry,
    state: &AgentState,
    zone: Tz,
) -> Option<Timestamp> {
    let now = memory.now();
    let runs =
        |definition: &&Arc<Definition>| definition.enabled && memory.config.daemon.runs_agents.includes(name);
    let definition = entry.definition.as_ref().filter(runs)?;
    let from = match entry.paused(state, now) {
        None => now,
        // A slot exactly at the end of a pause runs.
        Some(paused) => Timestamp(paused.until()?.0 - 1),
    };
    let rerun = due_slots::rerun_at(name, definition, entry.since, state).map(|rerun| rerun.max(from));
    let slot = due_slots::next_start(TaskTiming::of(name, definition, entry.since), from, zone);
    slot.into_iter().chain(rerun).min()
}

/// When this daemon runs consolidation next; `None` if it does not, or while it is on demand.
pub fn next_consolidation(memory: &Memory, task: &ScheduledConsolidation, zone: Tz) -> Option<Timestamp> {
    let runs = memory.config.daemon.runs_agents.includes(consolidation::NAME);
    due_slots::next_start(TaskTiming::of_consolidation(task), memory.now(), zone).filter(|_| runs)
}

/// The agent that this daemon runs next, or consolidation, and the time.
pub fn next_run(memory: &Memory, catalog: &Catalog, zone: Tz) -> Result<Option<(String, Timestamp)>> {
    let mut first: Option<(String, Timestamp)> = None;
    for (name, entry) in &catalog.agents {
        let next = next(memory, name, entry, &ledger::state(memory, name)?, zone);
        if let Some(next) = next.filter(|next| first.as_ref().is_none_or(|(_, first)| next < first)) {
            first = Some((name.clone(), next));
        }
    }
    let consolidation = catalog.consolidation.as_ref();
    let next = consolidation.and_then(|task| next_consolidation(memory, task, zone));
    if let Some(next) = next.filter(|next| first.as_ref().is_none_or(|(_, first)| next < first)) {
        first = Some((consolidation::NAME.to_owned(), next));
    }
    Ok(first)
}

/// Starts a due run with the current definition of its agent, for the tenant whose turn it is. If something blocks
/// it by now, or it fails before the run has a row, a row is written instead. `None` when the slot already
/// has a row or has to wait, for example because the file of the agent is missing, which an editor may be replacing.
///
/// # Errors
/// Those of [`run::run`] and of the store.
pub fn run_due(
    memory: &Memory,
    catalog: &Catalog,
    due: &DueRun,
    tick: Tick,
    options: &RunOptions,
) -> Result<Option<Run>> {
    let (agent, trigger) = (&due.agent, due.trigger);
    let by_changes = matches!(trigger, Trigger::Change { .. });
    let Some(timing) = due_slots::timing(catalog, agent) else {
        let (reason, message) = (Some(StatusReason::InvalidConfig), Some("its file was deleted".to_owned()));
        return ledger::record_without_run(
            memory,
            agent,
            trigger,
            RowOutcome { status: Status::Skipped, reason, message },
        );
    };
    if catalog.lacks_file(memory, agent) {
        return Ok(None);
    }
    let history = RunHistory::from(ledger::state(memory, agent)?);
    if let Some(skip_reason) = due_slots::skip_reason(timing, &history, trigger, due.late, tick) {
        let waits = matches!(skip_reason.reason, StatusReason::Overlap | StatusReason::Cooldown);
        if waits && by_changes {
            // The changes can be handled afterwards.
            return Ok(None);
        }
        return ledger::record_without_run(memory, agent, trigger, outcome(skip_reason, None));
    }
    let options = RunOptions { zone: options.zone.or(Some(tick.zone)), ..options.clone() };
    let ran = match catalog.agents.get(agent).and_then(|entry| entry.definition.as_ref()) {
        Some(definition) => match tenant_rotation::first(memory, definition, &options) {
            Ok(FirstTurn::Of(memory)) => run::run(&memory, definition, trigger, &options),
            Ok(FirstTurn::Nobody(outcome)) => {
                return ledger::record_without_run(memory, agent, trigger, outcome);
            }
            Err(error) => Err(error),
        },
        None => consolidation_run::run(memory, trigger, &options.idle_tenants),
    };
    match ran {
        Ok(row) => Ok(Some(row)),
        // Another claim came first. The changes can be handled after that run, or another daemon with the
        // same log runs the slot.
        Err(error) if error.code == Code::Conflict && (by_changes || memory.store.shared_log().is_some()) => {
            tracing::info!(agent, "not run, or its result was discarded: {error}");
            Ok(None)
        }
        // Nothing can be recorded, so the slot or the changes stay due.
        Err(error) if error.code == Code::Unavailable && memory.store.shared_log().is_some() => Err(error),
        Err(error) => {
            // A run that was claimed has already ended its own row.
            let message = Some(error.line());
            let failed = RowOutcome { status: Status::Failed, reason: None, message };
            ledger::record_without_run(memory, agent, trigger, failed)?;
            Err(error)
        }
    }
}

/// The row outcome of slots that are not run.
fn outcome(skip_reason: SkipReason, message: Option<String>) -> RowOutcome {
    let status = if skip_reason.missed { Status::Missed } else { Status::Skipped };
    RowOutcome { status, reason: Some(skip_reason.reason), message }
}

/// The run history of an agent; `None` when the ledger cannot be read, which leaves its slots for the next
/// poll.
fn load_history(memory: &Memory, agent: &str, pending: Option<&DueRun>) -> Option<RunHistory> {
    match ledger::state(memory, agent) {
        Ok(state) => {
            let mut history = RunHistory::from(state);
            pending.into_iter().for_each(|run| history.add_pending(run.trigger));
            Some(history)
        }
        Err(error) => {
            tracing::error!(agent, "the ledger cannot be read: {error}");
            None
        }
    }
}

/// Writes the row of slots that are not run. Returns whether that worked; errors are logged.
fn record_skipped_slots(memory: &Memory, skipped: &SkippedSlots) -> bool {
    let SkippedSlots { agent, slots, trigger, missed, reason } = skipped;
    let message = (slots.count > 1).then(|| slots.to_string());
    let outcome = outcome(SkipReason { reason: *reason, missed: *missed }, message);
    let status = outcome.status;
    let recorded = ledger::record_slots_without_run(memory, agent, slots.first, *trigger, outcome);
    match &recorded {
        Ok(_) => tracing::info!(agent, "{}: {}, {slots}", status.name(), reason.name()),
        Err(error) => tracing::error!(agent, "no row could be written for {slots}: {error}"),
    }
    recorded.is_ok()
}

#[cfg(test)]
mod tests;
