//! What is due, slot by slot: when each agent has to be looked at next, so that looking costs nothing
//! in between, and what is to be done when a slot has its turn. Time is an argument; threads and
//! waiting are the daemon's.

use super::due::{self, Decision, Moment, Obstacle, Past};
use super::ledger::{self, AgentState, Reason, RowOutcome, Run, Status, Trigger};
use super::run::{self, Options};
use super::schedule::Schedule;
use super::{Catalog, Entry};
use chrono_tz::Tz;
use poc_graph::error::{Code, Result};
use poc_graph::time::{Span, Timestamp};
use poc_notes::Memory;
use std::collections::BTreeMap;
use std::sync::Arc;

mod changing;

use changing::{ChangeScan, Changing, Found};

/// When an agent is looked at again that nothing could be told of.
const AGAIN: Span = Span(10 * Span::SECOND.0);

/// A slot, or the repetition of a failed run, that is to be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slot {
    /// The agent.
    pub agent: String,
    /// What makes it run.
    pub trigger: Trigger,
    /// Whether it is caught up.
    pub late: bool,
}

/// The next instant of every agent that runs by itself, as of the last look.
#[derive(Default)]
pub struct Agenda {
    catalog: Option<Arc<Catalog>>,
    looked: Timestamp,
    next: BTreeMap<String, Timestamp>,
    changes: Changing,
    /// What is caught up, until it is handed out.
    held: BTreeMap<String, (Timestamp, Slot)>,
}

impl Agenda {
    /// Whether anything can be due: an instant has come, notes or agents changed or the clock went back.
    pub fn asks(&mut self, memory: &Memory, catalog: &Arc<Catalog>) -> bool {
        let now = memory.now();
        let changed = self.changes.asks(memory, now);
        let held = self.held.values().any(|(until, _)| *until <= now);
        changed || held || self.is_stale(catalog, now) || self.next.values().any(|next| *next <= now)
    }

    /// Looks at the agents whose instant has come: writes the rows of what is not run and returns
    /// what is. `pending` are slots that were handed out and may have no row yet.
    pub fn look(
        &mut self,
        memory: &Memory,
        catalog: Arc<Catalog>,
        moment: Moment,
        pending: &BTreeMap<String, Slot>,
    ) -> Vec<Slot> {
        if moment.now < self.looked {
            // They were held until an hour that is far away now.
            self.held.clear();
        }
        let spread = memory.config.agents.catch_up_spread;
        let definitions = catalog.clone();
        let mut asked = self.take(memory, catalog, &moment);
        let past: BTreeMap<String, Past> = asked
            .agents
            .keys()
            .filter_map(|agent| Some((agent.clone(), past(memory, agent, self.pending(agent, pending))?)))
            .collect();
        asked.agents.retain(|agent, _| {
            let known = past.contains_key(agent);
            if !known {
                // Its slots are found again by then.
                self.next.insert(agent.clone(), moment.now.plus(AGAIN));
            }
            known
        });
        for (agent, entry) in &asked.agents {
            // A slot comes first: it makes a repetition needless.
            let rerun = past.get(agent).zip(entry.definition.as_ref()).and_then(|(past, definition)| {
                due::rerun(agent, definition, entry.since, past.state()).filter(|rerun| *rerun > moment.now)
            });
            if let Some(rerun) = rerun {
                let next = self.next.entry(agent.clone()).or_insert(rerun);
                *next = rerun.min(*next);
            }
        }
        let decisions = due::due(&asked, &past, moment);
        let mut slots: Vec<Slot> =
            decisions.into_iter().filter_map(|decision| settle(memory, decision)).collect();
        for (agent, entry) in &asked.agents {
            let (Some(past), Some(definition)) = (past.get(agent), &entry.definition) else { continue };
            if definition.execution.schedule != Schedule::OnChange {
                continue;
            }
            let busy = slots.iter().any(|slot| slot.agent == *agent);
            let look = ChangeScan { memory, definition, since: entry.since, past, moment, busy };
            match self.changes.look(&look) {
                Found::Nothing => {}
                Found::Later(next) => _ = self.next.insert(agent.clone(), next),
                Found::Due(slot) => slots.push(slot),
            }
        }
        let definition = |agent: &str| definitions.agents.get(agent)?.definition.as_deref();
        slots.retain(|slot| {
            let wait = definition(&slot.agent).filter(|_| slot.late);
            let wait = wait.map_or(Span(0), |definition| due::stagger(definition, spread));
            if wait > Span(0) {
                self.held.insert(slot.agent.clone(), (moment.now.plus(wait), slot.clone()));
            }
            wait <= Span(0)
        });
        let come = |_: &String, held: &mut (Timestamp, Slot)| held.0 <= moment.now;
        slots.extend(self.held.extract_if(.., come).map(|(_, (_, slot))| slot));
        slots
    }

    /// What was handed out for an agent, or is held back.
    fn pending<'a>(&'a self, agent: &str, pending: &'a BTreeMap<String, Slot>) -> Option<&'a Slot> {
        pending.get(agent).or_else(|| self.held.get(agent).map(|(_, slot)| slot))
    }

    /// A look whose slots have their turn there and then, one after the other: a scheduler without
    /// threads. What became of each comes back.
    pub fn tick(
        &mut self,
        memory: &Memory,
        catalog: &Arc<Catalog>,
        moment: Moment,
        options: &Options,
    ) -> Vec<Result<Option<Run>>> {
        if !self.asks(memory, catalog) {
            return Vec::new();
        }
        let slots = self.look(memory, catalog.clone(), moment, &BTreeMap::new());
        let outcomes = slots.iter().map(|slot| {
            let outcome = carry_out(memory, catalog, slot, moment, options);
            self.ended(&slot.agent);
            outcome
        });
        outcomes.collect()
    }

    /// That a slot has ended: what follows from it is looked at.
    pub fn ended(&mut self, agent: &str) {
        self.next.insert(agent.to_owned(), self.looked);
        self.changes.stir(self.looked);
    }

    /// The agents whose instant has come, with the instants after it noted.
    fn take(&mut self, memory: &Memory, catalog: Arc<Catalog>, moment: &Moment) -> Catalog {
        let all = self.is_stale(&catalog, moment.now);
        let quiet = self.changes.take(memory, &catalog, (all, moment.now));
        let come = |agent: &String| {
            all || quiet.contains(agent) || self.next.get(agent).is_some_and(|next| *next <= moment.now)
        };
        let agents: BTreeMap<String, Entry> = catalog
            .agents
            .iter()
            .filter(|(agent, _)| come(agent))
            .map(|(agent, entry)| (agent.clone(), entry.clone()))
            .collect();
        // Also those of agents that are gone.
        self.next.retain(|_, next| !all && *next > moment.now);
        for (agent, entry) in &agents {
            let definition = entry.definition.as_ref();
            match definition.and_then(|definition| due::next(agent, definition, moment.now, moment.zone)) {
                Some(next) => self.next.insert(agent.clone(), next),
                None => self.next.remove(agent),
            };
        }
        (self.looked, self.catalog) = (moment.now, Some(catalog));
        Catalog { agents, ..Catalog::default() }
    }

    fn is_stale(&self, catalog: &Arc<Catalog>, now: Timestamp) -> bool {
        now < self.looked || self.catalog.as_ref().is_none_or(|known| !Arc::ptr_eq(known, catalog))
    }
}

/// When an agent runs next by itself, which it does not while it is switched off or paused.
pub fn next(name: &str, entry: &Entry, state: &AgentState, now: Timestamp, zone: Tz) -> Option<Timestamp> {
    let definition = entry.definition.as_ref().filter(|definition| definition.enabled)?;
    let from = match entry.paused(state, now) {
        None => now,
        // A slot at the very end of a pause runs.
        Some(paused) => Timestamp(paused.until()?.0 - 1),
    };
    let rerun = due::rerun(name, definition, entry.since, state).map(|rerun| rerun.max(from));
    due::next(name, definition, from, zone).into_iter().chain(rerun).min()
}

/// The agent that runs next, and when.
pub fn upcoming(memory: &Memory, catalog: &Catalog, zone: Tz) -> Result<Option<(String, Timestamp)>> {
    let mut first: Option<(String, Timestamp)> = None;
    for (name, entry) in &catalog.agents {
        let next = next(name, entry, &ledger::state(memory, name)?, memory.now(), zone);
        if let Some(next) = next.filter(|next| first.as_ref().is_none_or(|(_, first)| next < first)) {
            first = Some((name.clone(), next));
        }
    }
    Ok(first)
}

/// Runs a slot whose turn has come, with the agent as it stands now. What stands in its way by now
/// leaves its row instead; so does what fails before a run has one. `None` when the slot has a row
/// already, or waits.
///
/// # Errors
/// Those of [`run::run`], and whatever the store reports.
pub fn carry_out(
    memory: &Memory,
    catalog: &Catalog,
    slot: &Slot,
    moment: Moment,
    options: &Options,
) -> Result<Option<Run>> {
    let (agent, trigger) = (&slot.agent, slot.trigger);
    let by_changes = matches!(trigger, Trigger::Change { .. });
    let Some(definition) = catalog.agents.get(agent).and_then(|entry| entry.definition.as_ref()) else {
        let (reason, message) = (Some(Reason::InvalidConfig), Some("its file is gone".to_owned()));
        return ledger::leave(
            memory,
            agent,
            trigger,
            RowOutcome { status: Status::Skipped, reason, message },
        );
    };
    let past = Past::from(ledger::state(memory, agent)?);
    if let Some(obstacle) = due::obstacle(definition, &past, trigger, slot.late, moment) {
        let waits = matches!(obstacle.reason, Reason::Overlap | Reason::Cooldown);
        if waits && by_changes {
            // What has changed is still there afterwards.
            return Ok(None);
        }
        return ledger::leave(memory, agent, trigger, outcome(obstacle, None));
    }
    let options = Options { zone: options.zone.or(Some(moment.zone)), ..options.clone() };
    match run::run(memory, definition, trigger, &options) {
        Ok(row) => Ok(Some(row)),
        // Somebody else was first. What has changed is still there afterwards.
        Err(error) if error.code == Code::Conflict && by_changes => {
            tracing::info!(agent, "not run: {error}");
            Ok(None)
        }
        Err(error) => {
            // A run that got as far as its claim has ended its row itself.
            let message = Some(error.line());
            let failed = RowOutcome { status: Status::Failed, reason: None, message };
            ledger::leave(memory, agent, trigger, failed)?;
            Err(error)
        }
    }
}

/// The outcome of what is not run.
fn outcome(obstacle: Obstacle, message: Option<String>) -> RowOutcome {
    let status = if obstacle.missed { Status::Missed } else { Status::Skipped };
    RowOutcome { status, reason: Some(obstacle.reason), message }
}

/// What is known of an agent; `None` when the ledger cannot be read, which leaves its slots for
/// another look.
fn past(memory: &Memory, agent: &str, pending: Option<&Slot>) -> Option<Past> {
    match ledger::state(memory, agent) {
        Ok(state) => {
            let mut past = Past::from(state);
            pending.into_iter().for_each(|slot| past.wait(slot.trigger));
            Some(past)
        }
        Err(error) => {
            tracing::error!(agent, "the ledger cannot be read: {error}");
            None
        }
    }
}

/// Leaves the row of what is not run; returns what is.
fn settle(memory: &Memory, decision: Decision) -> Option<Slot> {
    match decision {
        Decision::Run { agent, trigger, late } => Some(Slot { agent, trigger, late }),
        Decision::Skip { agent, slots, trigger, missed, reason } => {
            let message = (slots.count > 1).then(|| slots.to_string());
            let outcome = outcome(Obstacle { reason, missed }, message);
            let status = outcome.status;
            match ledger::leave_all(memory, &agent, slots.first, trigger, outcome) {
                Ok(_) => tracing::info!(agent, "{}: {}, {slots}", status.name(), reason.name()),
                Err(error) => tracing::error!(agent, "{slots} left no row: {error}"),
            }
            None
        }
    }
}

#[cfg(test)]
mod tests;
