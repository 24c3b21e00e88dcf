//! Agents that run when notes change: when to look what has changed, and what is found.
//!
//! Changes are looked at once no note was touched for a while, at the latest some time after the first. What an
//! agent has dealt with is in the store, as a number of the log; what is kept here spares looking twice.

use super::{Slot, outcome};
use crate::Catalog;
use crate::Definition;
use crate::change::{self, Whose};
use crate::due::{self, Moment, Past};
use crate::ledger::{self, Reason, Status, Trigger, TriggerKind};
use crate::schedule::Schedule;
use poc_graph::error::Result;
use poc_graph::time::{Span, Timestamp};
use poc_notes::Memory;
use std::collections::{BTreeMap, BTreeSet};

/// Transactions without anything for an agent after which that is remembered, so that the next start need
/// not read them again.
const WORTH_A_MARK: u64 = 10_000;

/// How long a run is not tried again that had no money, or nobody to ask.
const TRIED_AGAIN: Span = Span::HOUR;

/// What is known of changes from one look to the next.
#[derive(Default)]
pub(super) struct Changing {
    /// The agents that go by changes.
    agents: BTreeSet<String>,
    /// The last transaction seen.
    seen: u64,
    /// When the first and the last note was touched that nobody has looked at.
    touched: Option<(Timestamp, Timestamp)>,
    /// Those that could not run when there was something to do.
    owed: BTreeSet<String>,
    /// To be looked at now.
    asked: BTreeSet<String>,
    /// The last transaction each agent was found to have nothing left of.
    clear: BTreeMap<String, u64>,
}

/// What a scan for changes that concern one agent needs.
pub(super) struct ChangeScan<'a> {
    pub(super) memory: &'a Memory,
    pub(super) definition: &'a Definition,
    pub(super) since: Timestamp,
    pub(super) past: &'a Past,
    pub(super) moment: Moment,
    /// Whether it was handed out for another reason just now.
    pub(super) busy: bool,
}

/// What a row says that changes wait for: it is the agent's last one.
#[derive(Clone, Copy)]
struct Held {
    reason: Reason,
    since: Timestamp,
}

impl Held {
    fn of(memory: &Memory, agent: &str) -> Result<Option<Held>> {
        let last = ledger::rows(memory, Some(agent), 1)?.pop();
        let last = last.filter(|row| row.trigger == TriggerKind::Change && row.status == Status::Skipped);
        Ok(last.and_then(|row| {
            let reason = row.reason.filter(|reason| reason.passes())?;
            Some(Held { reason, since: row.finished.unwrap_or(row.started) })
        }))
    }

    /// Until when a run need not be tried that found out itself what stands in its way.
    fn until(self, now: Timestamp) -> Option<Timestamp> {
        let itself = matches!(self.reason, Reason::OverBudget | Reason::ProviderDown);
        let until = self.since.plus(TRIED_AGAIN);
        (itself && self.since <= now && now < until).then_some(until)
    }
}

/// What a look has found.
pub(super) enum Found {
    /// Nothing to do.
    Nothing,
    /// It has to wait until then.
    Later(Timestamp),
    /// It runs.
    Due(Slot),
}

impl Changing {
    /// Whether what has changed is to be looked at.
    pub(super) fn asks(&mut self, memory: &Memory, now: Timestamp) -> bool {
        if self.agents.is_empty() {
            return false;
        }
        let last = memory.store.view().seq;
        if change::touches(memory, (self.seen, last)) {
            self.stir(now);
        }
        self.seen = last;
        self.is_quiet(memory, now)
    }

    /// Something has changed.
    pub(super) fn stir(&mut self, now: Timestamp) {
        let first = self.touched.map_or(now, |(first, _)| first.min(now));
        self.touched = (!self.agents.is_empty()).then_some((first, now));
    }

    fn is_quiet(&self, memory: &Memory, now: Timestamp) -> bool {
        let settings = &memory.config.agents;
        let over = |since: Timestamp, wait: Span| now >= since.plus(wait);
        self.touched.is_some_and(|(first, last)| {
            over(last, settings.change_quiet) || over(first, settings.change_latest)
        })
    }

    /// The agents to look at now. When all agents are looked at anew, for whatever reason, these are once it
    /// has been quiet.
    pub(super) fn take(
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
            self.owed.retain(|agent| self.agents.contains(agent));
            self.clear.clear();
            // What waits since before waits no longer for that.
            self.seen = memory.store.view().seq;
            self.stir(now);
        }
        let quiet = self.is_quiet(memory, now);
        self.asked = std::mem::take(&mut self.owed);
        if quiet {
            self.touched = None;
            self.asked.extend(self.agents.iter().cloned());
        }
        self.asked.clone()
    }

    /// What there is for one agent to do.
    pub(super) fn look(&mut self, look: &ChangeScan<'_>) -> Found {
        self.try_look(look).unwrap_or_else(|error| {
            tracing::error!(agent = look.definition.name, "what has changed cannot be told: {error}");
            self.owed.insert(look.definition.name.clone());
            Found::Later(look.moment.now.plus(look.memory.config.agents.change_quiet))
        })
    }

    fn try_look(&mut self, look: &ChangeScan<'_>) -> Result<Found> {
        let ChangeScan { memory, definition, since, past, moment, busy } = *look;
        let (agent, now) = (&definition.name, moment.now);
        let until = memory.store.view().seq;
        let Some(done) =
            past.state().changes(since).map(|changes| changes.done).filter(|done| *done <= until)
        else {
            ledger::mark(memory, agent, since, until)?;
            return Ok(Found::Nothing);
        };
        let after = self.clear.get(agent).map_or(done, |clear| done.max(*clear));
        if !self.asked.contains(agent) || after >= until {
            return Ok(Found::Nothing);
        }
        let trigger = Trigger::Change { after, until, found: now };
        let obstacle = due::obstacle(definition, past, trigger, false, moment);
        let rested = past.state().last().map_or(now, |last| last.ended.plus(definition.schedule.cooldown));
        let settings = &memory.config.agents;
        let held = Held::of(memory, agent)?;
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
            self.owed.insert(agent.clone());
            return Ok(Found::Later(next));
        }
        // What cannot be told the run itself tells, in its row.
        let used_up = held.is_some_and(|held| held.reason == Reason::OverBudget);
        let whose = if used_up { Whose::People } else { Whose::Everyone };
        if !change::concerns(memory, definition, (after, until), whose).unwrap_or(true) {
            self.clear.insert(agent.clone(), until);
            if used_up || until - done >= WORTH_A_MARK {
                ledger::mark(memory, agent, since, until)?;
            }
            return Ok(Found::Nothing);
        }
        if let Some(obstacle) = obstacle {
            ledger::leave(memory, agent, trigger, outcome(obstacle, None))?;
            return Ok(Found::Nothing);
        }
        Ok(Found::Due(Slot { agent: agent.clone(), trigger, late: false }))
    }
}
