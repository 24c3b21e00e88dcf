//! Whether an agent is due: a pure function over definitions, ledger and time.
//!
//! A slot is due once its time, and the agent's jitter, have passed and no row tells what became
//! of it. Only the latest such slot runs; those before it share a row that says how many they
//! were. Slots are compared by the time they are for, never by the time of a run, so a clock that
//! is set back fires nothing again.

use super::Catalog;
use super::catalog::Entry;
use super::definition::Definition;
use super::ledger::{Reason, Run, Status};
use super::schedule;
use crate::time::{Span, Timestamp};
use chrono_tz::Tz;
use std::collections::BTreeMap;
use std::fmt;

/// Interruptions after which a slot is given up: what ended the process twice may be the run.
const INTERRUPTIONS: u32 = 2;

/// Slots of a stretch that are counted before it is just "more than".
const COUNTED: usize = 1000;

/// The instant to decide for.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// Now.
    pub now: Timestamp,
    /// The zone of agents that name none.
    pub zone: Tz,
    /// How late a slot may be looked at and still count as on time.
    pub tolerance: Span,
}

/// What the ledger tells about one agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Past {
    slots: BTreeMap<Timestamp, Fate>,
    running: bool,
    ended: Option<Timestamp>,
}

/// What became of a slot so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Fate {
    settled: bool,
    interruptions: u32,
}

/// What is to be done about a slot now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Run it.
    Run {
        /// The agent.
        agent: String,
        /// The slot.
        slot: Timestamp,
        /// Whether it is caught up: its time passed while nothing could run it.
        late: bool,
    },
    /// Leave a row and do nothing.
    Skip {
        /// The agent.
        agent: String,
        /// The slots, one row for all of them.
        slots: Stretch,
        /// Whether their time passed while nothing could run them.
        missed: bool,
        /// Why.
        reason: Reason,
    },
}

/// Neighbouring slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// The first.
    pub first: Timestamp,
    /// The last; their row stands under it.
    pub last: Timestamp,
    /// How many, exact up to a thousand.
    pub count: usize,
}

/// What is due. An agent that `past` does not know has no rows.
pub fn due(catalog: &Catalog, past: &BTreeMap<String, Past>, moment: Moment) -> Vec<Decision> {
    let unknown = Past::default();
    let mut decisions = Vec::new();
    for (name, entry) in &catalog.agents {
        if let Some(definition) = &entry.definition {
            let past = past.get(name).unwrap_or(&unknown);
            Agent { name, definition, since: entry.since, past, moment }.decide(&mut decisions);
        }
    }
    decisions
}

/// When an agent is due next, its jitter included; `None` when it never is by itself.
pub fn next(name: &str, definition: &Definition, now: Timestamp, zone: Tz) -> Option<Timestamp> {
    let zone = definition.schedule.timezone.unwrap_or(zone);
    let schedule = &definition.execution.schedule;
    // The latest slot may still be waiting for its jitter.
    let latest = schedule.latest(now, zone).map(|slot| start(name, definition, slot));
    latest
        .filter(|start| *start > now)
        .or_else(|| schedule.next_after(now, zone).map(|slot| start(name, definition, slot)))
}

/// When a slot starts: at its time and the agent's jitter for it.
fn start(name: &str, definition: &Definition, slot: Timestamp) -> Timestamp {
    // Shorter than the period, so that slots start in their order.
    let period = definition.execution.schedule.period().unwrap_or_default();
    let jitter = definition.schedule.jitter.min(Span(period.0 - 1));
    match u64::try_from(jitter.0) {
        Err(_) | Ok(0) => slot,
        Ok(jitter) => {
            let delay = schedule::pick(&[name, "jitter", &slot.0.to_string()], jitter + 1);
            slot.plus(Span(delay as i64))
        }
    }
}

/// One agent at one moment.
struct Agent<'a> {
    name: &'a str,
    definition: &'a Definition,
    since: Timestamp,
    past: &'a Past,
    moment: Moment,
}

impl Agent<'_> {
    fn decide(&self, decisions: &mut Vec<Decision>) {
        let Some(slot) = self.latest().filter(|slot| *slot > self.since) else { return };
        let known = self.past.last_slot(self.moment.now);
        let again = known == Some(slot) && self.past.is_open(slot);
        if !again && known.is_some_and(|known| slot <= known) {
            return;
        }
        let late = again || self.moment.now > self.start(slot).plus(self.moment.tolerance);
        let obstacle = self.obstacle(slot, late);
        if again && obstacle.is_some() {
            // It has its row already: that it was interrupted.
            return;
        }
        if !again {
            self.earlier(known.unwrap_or(self.since).max(self.since), slot, decisions);
        }
        let agent = self.name.to_owned();
        decisions.push(match obstacle {
            None => Decision::Run { agent, slot, late },
            Some((missed, reason)) => {
                let slots = Stretch { first: slot, last: slot, count: 1 };
                Decision::Skip { agent, slots, missed, reason }
            }
        });
    }

    /// Why a slot cannot run now, and whether that is because it is late.
    fn obstacle(&self, slot: Timestamp, late: bool) -> Option<(bool, Reason)> {
        let rules = &self.definition.schedule;
        let now = self.moment.now;
        let resting = |ended: Timestamp| ended <= now && now < ended.plus(rules.cooldown);
        if !self.definition.enabled {
            Some((false, Reason::Disabled))
        } else if late && !rules.catch_up {
            Some((true, Reason::CatchUpOff))
        } else if late && slot < now.minus(rules.catch_up_window) {
            Some((true, Reason::OutsideWindow))
        } else if self.past.running {
            Some((false, Reason::Overlap))
        } else if self.past.ended.is_some_and(resting) {
            Some((false, Reason::Cooldown))
        } else {
            None
        }
    }

    /// Accounts for the slots between the last known one and the one that is decided about.
    fn earlier(&self, known: Timestamp, slot: Timestamp, decisions: &mut Vec<Decision>) {
        let rules = &self.definition.schedule;
        let until = Timestamp(slot.0 - 1);
        let mut missed = |after: Timestamp, until: Timestamp, reason: Reason| {
            if let Some(slots) = self.stretch(after, until) {
                decisions.push(Decision::Skip { agent: self.name.to_owned(), slots, missed: true, reason });
            }
        };
        if !self.definition.enabled {
            missed(known, until, Reason::Disabled);
        } else if !rules.catch_up {
            missed(known, until, Reason::CatchUpOff);
        } else {
            let window = Timestamp(self.moment.now.minus(rules.catch_up_window).0 - 1).min(until);
            missed(known, window, Reason::OutsideWindow);
            missed(known.max(window), until, Reason::CaughtUp);
        }
    }

    /// The slots after one instant and not after another.
    fn stretch(&self, after: Timestamp, until: Timestamp) -> Option<Stretch> {
        let schedule = &self.definition.execution.schedule;
        let last = schedule.latest(until, self.zone()).filter(|last| *last > after)?;
        let mut slots = std::iter::successors(schedule.next_after(after, self.zone()), |slot| {
            schedule.next_after(*slot, self.zone()).filter(|slot| *slot <= last)
        });
        let first = slots.next()?;
        Some(Stretch { first, last, count: 1 + slots.take(COUNTED).count() })
    }

    /// The latest slot that has started.
    fn latest(&self) -> Option<Timestamp> {
        let schedule = &self.definition.execution.schedule;
        let slot = schedule.latest(self.moment.now, self.zone())?;
        if self.start(slot) <= self.moment.now {
            return Some(slot);
        }
        schedule.latest(Timestamp(slot.0 - 1), self.zone())
    }

    fn start(&self, slot: Timestamp) -> Timestamp {
        start(self.name, self.definition, slot)
    }

    fn zone(&self) -> Tz {
        self.definition.schedule.timezone.unwrap_or(self.moment.zone)
    }
}

impl Past {
    /// What the rows of one agent tell.
    pub fn of<'a>(rows: impl IntoIterator<Item = &'a Run>) -> Past {
        let mut past = Past::default();
        for row in rows {
            past.add(row.scheduled_at, row.status, row.finished.unwrap_or(row.started));
        }
        past
    }

    /// Counts a slot as running whose row is yet to be written.
    pub fn claim(&mut self, slot: Timestamp) {
        self.slots.entry(slot).or_default().settled = true;
        self.running = true;
    }

    fn add(&mut self, slot: Option<Timestamp>, status: Status, ended: Timestamp) {
        if let Some(slot) = slot {
            let fate = self.slots.entry(slot).or_default();
            match status {
                Status::Interrupted => fate.interruptions += 1,
                _ => fate.settled = true,
            }
        }
        match status {
            Status::Running => self.running = true,
            Status::Skipped | Status::Missed => {}
            _ => self.ended = self.ended.max(Some(ended)),
        }
    }

    /// The last slot with a row. Slots after now do not count: the clock was ahead when they ran.
    fn last_slot(&self, now: Timestamp) -> Option<Timestamp> {
        self.slots.range(..=now).next_back().map(|(slot, _)| *slot)
    }

    /// Whether a slot was interrupted and may be tried again.
    fn is_open(&self, slot: Timestamp) -> bool {
        self.slots.get(&slot).is_some_and(|fate| !fate.settled && fate.interruptions < INTERRUPTIONS)
    }
}

impl fmt::Display for Stretch {
    /// As a row's message tells it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Stretch { first, last, count } = self;
        match count {
            1 => write!(f, "the slot {last}"),
            count if *count > COUNTED => write!(f, "more than {COUNTED} slots from {first} to {last}"),
            count => write!(f, "{count} slots from {first} to {last}"),
        }
    }
}

#[cfg(test)]
mod tests;
