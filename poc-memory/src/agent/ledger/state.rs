//! What is known of an agent whatever becomes of its rows, of which only the newest are kept.

use super::{Changes, Ground, Occasion, Reason, Run, Status, book};
use crate::error::Result;
use crate::graph::RunId;
use crate::memory::Memory;
use crate::store::{Record, Table, Tx};
use crate::time::{Span, Timestamp};
use serde::{Deserialize, Serialize};

/// Interruptions after which a slot is given up: what ended the process twice may be the run.
const INTERRUPTIONS: u32 = 2;

/// Stretches of settled slots that are kept apart.
const STRETCHES: usize = 32;

/// The step that spending is booked in: the day of every zone begins at one.
const QUARTER: Span = Span(15 * Span::MINUTE.0);

/// Steps that spending is kept for: more than the longest day has.
const QUARTERS: i64 = 26 * 4;

/// One agent's own record. It is written in every transaction that writes one of its rows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AgentState {
    settled: Settled,
    interrupted: Option<Interrupted>,
    running: Option<RunId>,
    last: Option<Last>,
    failures: u32,
    spent: Vec<Spent>,
    pause: Option<Pause>,
    repeat: Option<Repeat>,
    changes: Option<Changes>,
}

/// That a person has told an agent to rest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pause {
    /// From when.
    pub since: Timestamp,
    /// Until when; `None` until it is told to go on.
    pub until: Option<Timestamp>,
    /// Why, in the person's words.
    pub note: String,
}

impl Pause {
    /// Whether it is in force at an instant. A clock that is set back ends none.
    pub fn holds(&self, now: Timestamp) -> bool {
        self.until.is_none_or(|until| now < until)
    }
}

/// The slots of which something became, as stretches from a slot to a slot in their order.
///
/// Slots are counted by the time they are for, so that a clock that is set back fires none again.
/// Where there would be more stretches than are kept, the two closest become one, with what lies
/// between them: a slot there stays undone rather than being done twice.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Settled(Vec<(Timestamp, Timestamp)>);

/// The slot that was interrupted last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Interrupted {
    slot: Timestamp,
    times: u32,
}

/// The run that ended last. What was skipped or missed is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Last {
    /// Its row, as long as that is kept.
    pub run: RunId,
    /// When it ended.
    pub ended: Timestamp,
    /// How.
    pub status: Status,
    /// What it failed for, when that has a stable name.
    pub reason: Option<Reason>,
}

/// A run that nobody had asked for and that failed: it is to be repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repeat {
    /// Its row, as long as that is kept.
    pub run: RunId,
    /// When it ended.
    pub ended: Timestamp,
    /// How often it repeats an earlier one already.
    pub times: u32,
    /// Whether that is under way.
    taken: bool,
}

/// What the runs begun within a quarter of an hour took.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Spent {
    /// Quarters of an hour since 1970.
    quarter: i64,
    runs: u32,
    cost: f64,
}

impl Record for AgentState {
    const TABLE: Table = Table::AgentStates;
    const VERSION: u8 = 4;

    /// The first version knew of no pauses, the second repeated nothing, the third knew of no changes.
    fn earlier(version: u8, body: &[u8]) -> Option<postcard::Result<AgentState>> {
        type First = (Settled, Option<Interrupted>, Option<RunId>, Option<Last>, u32, Vec<Spent>);
        let read =
            |((settled, interrupted, running, last, failures, spent), pause, repeat): (First, _, _)| {
                let changes = None;
                AgentState { settled, interrupted, running, last, failures, spent, pause, repeat, changes }
            };
        match version {
            1 => Some(postcard::from_bytes(body).map(|first: First| read((first, None, None)))),
            2 => Some(postcard::from_bytes(body).map(|(first, pause)| read((first, pause, None)))),
            3 => Some(postcard::from_bytes(body).map(read)),
            _ => None,
        }
    }
}

/// What is known of an agent.
pub fn state(memory: &Memory, agent: &str) -> Result<AgentState> {
    match memory.store.get::<AgentState>(agent.as_bytes())? {
        Some(state) => Ok(state),
        None => {
            Ok(AgentState::of(memory.store.scan::<Run>(&book::prefix(agent))?.iter().map(|(_, row)| row)))
        }
    }
}

/// As [`state`], within a transaction.
pub(super) fn get(tx: &Tx<'_>, agent: &str) -> Result<AgentState> {
    match tx.get::<AgentState>(agent.as_bytes())? {
        Some(state) => Ok(state),
        None => Ok(AgentState::of(tx.scan::<Run>(&book::prefix(agent))?.iter().map(|(_, row)| row))),
    }
}

pub(super) fn put(tx: &mut Tx<'_>, agent: &str, state: &AgentState) -> Result<()> {
    tx.put(agent.as_bytes(), state)
}

impl AgentState {
    /// What rows tell, oldest first: of an agent that ran before there was a record of its own.
    pub fn of<'a>(rows: impl IntoIterator<Item = &'a Run>) -> AgentState {
        let mut state = AgentState::default();
        rows.into_iter().for_each(|row| state.note(row));
        state
    }

    /// Takes in a row as it is written.
    pub fn note(&mut self, row: &Run) {
        if let Some(slot) = row.slot() {
            self.settled.add(slot, slot);
        }
        self.repeat = self.repeat_after(row);
        if row.occasion == Occasion::Change {
            self.changes = self.changes.map(|changes| changes.note(row));
        }
        if row.status == Status::Running {
            self.running = Some(row.id);
            return;
        }
        self.running = self.running.filter(|running| *running != row.id);
        if row.status != Status::Interrupted {
            // Also when it was left out: no more is made of it.
            self.interrupted = self.interrupted.filter(|open| Some(open.slot) != row.slot());
        }
        match row.status {
            Status::Skipped | Status::Missed | Status::Running => return,
            Status::Interrupted => {
                self.interrupted = row.slot().map(|slot| self.interrupt(slot)).or(self.interrupted);
            }
            // Money that ran out is nothing a person has to look after.
            Status::Failed if row.reason == Some(Reason::OverBudget) => {}
            Status::Failed | Status::TimedOut => self.failures = self.failures.saturating_add(1),
            Status::Ok | Status::Noop | Status::Partial | Status::Proposed => self.failures = 0,
        }
        let ended = row.finished.unwrap_or(row.started);
        self.last = Some(Last { run: row.id, ended, status: row.status, reason: row.reason });
        self.book(row.started, 1, row.cost.unwrap_or(0.0));
    }

    /// Counts slots, from one to another, as dealt with.
    pub fn settle(&mut self, first: Timestamp, last: Timestamp) {
        self.settled.add(first, last);
    }

    /// The last slot, not after an instant, of which something became. It is the instant itself when
    /// nothing up to it is open. Slots after it do not count: the clock was ahead when they came.
    pub fn last_slot(&self, now: Timestamp) -> Option<Timestamp> {
        self.settled.last(now)
    }

    /// Whether something became of a slot.
    pub fn is_settled(&self, slot: Timestamp) -> bool {
        self.settled.last(slot) == Some(slot)
    }

    /// Whether a slot was interrupted and may be tried again.
    pub fn is_open(&self, slot: Timestamp) -> bool {
        self.interrupted.is_some_and(|open| open.slot == slot && open.times < INTERRUPTIONS)
    }

    /// How far it has come with changes, as long as it is the agent that is there since an instant.
    pub fn changes(&self, since: Timestamp) -> Option<Changes> {
        self.changes.filter(|changes| changes.since == since)
    }

    /// Has it begin with the changes after a transaction.
    pub(super) fn mark(&mut self, since: Timestamp, done: u64) {
        self.changes = Some(Changes::from(since, done));
    }

    /// Claims the changes that make it run, if it is those; whether they were free.
    pub(super) fn reach(&mut self, ground: Ground) -> bool {
        let Ground::Change { after, until } = ground else { return true };
        let claimed = self.changes.and_then(|changes| changes.claim((after, until)));
        self.changes = claimed.or(self.changes);
        claimed.is_some()
    }

    /// Whether something became of what a row is for.
    pub fn is_known(&self, row: &Run) -> bool {
        match row.rerun_of {
            Some(run) => self.repeat().is_none_or(|repeat| repeat.run != run),
            None => row.slot().is_some_and(|slot| self.is_settled(slot)),
        }
    }

    /// The failed run that is to be repeated.
    pub fn repeat(&self) -> Option<Repeat> {
        self.repeat.filter(|repeat| !repeat.taken)
    }

    /// The run that has a row and no end yet.
    pub fn running(&self) -> Option<RunId> {
        self.running
    }

    /// The run that ended last.
    pub fn last(&self) -> Option<Last> {
        self.last
    }

    /// Runs that failed or timed out one after the other, up to now.
    pub fn failures(&self) -> u32 {
        self.failures
    }

    /// The pause a person has set last; it may be over.
    pub fn pause(&self) -> Option<&Pause> {
        self.pause.as_ref()
    }

    /// Has an agent rest.
    pub fn set_pause(&mut self, pause: Pause) {
        self.pause = Some(pause);
    }

    /// Has an agent go on: no pause holds, and runs that failed before count no more.
    pub fn go_on(&mut self) {
        (self.pause, self.failures) = (None, 0);
    }

    /// Runs begun from an instant on and before another, and US dollars they took. The instants are
    /// those of a day in some zone, or other quarters of an hour; what is longer ago than the longest
    /// day is forgotten.
    pub fn spent(&self, from: Timestamp, until: Timestamp) -> (u32, f64) {
        let (from, until) = (quarter(from), quarter(until));
        let within = self.spent.iter().filter(|spent| (from..until).contains(&spent.quarter));
        within.fold((0, 0.0), |(runs, cost), spent| (runs + spent.runs, cost + spent.cost))
    }

    /// What is to be repeated once a row is written: nothing more when a slot has come or a run went well.
    fn repeat_after(&self, row: &Run) -> Option<Repeat> {
        let ended = row.finished.unwrap_or(row.started);
        let first = Repeat { run: row.id, ended, times: 0, taken: false };
        // The one whose repetition this row is.
        let repeated = self.repeat.filter(|repeat| Some(repeat.run) == row.rerun_of);
        let again = || repeated.map(|before| Repeat { times: before.times.saturating_add(1), ..first });
        match (row.status, row.occasion) {
            (Status::Running, Occasion::Rerun) => repeated.map(|repeat| Repeat { taken: true, ..repeat }),
            (Status::Running | Status::Skipped | Status::Missed, Occasion::Asked) => self.repeat,
            // What the repetition stands for, as it waits for its turn.
            (Status::Missed, _) if row.reason == Some(Reason::CaughtUp) => self.repeat,
            (Status::Running, _) => None,
            // Money that ran out is not there a quarter of an hour later.
            (Status::Failed, Occasion::Rerun | Occasion::Schedule)
                if row.reason == Some(Reason::OverBudget) =>
            {
                None
            }
            (Status::Failed | Status::TimedOut | Status::Interrupted, Occasion::Asked) => self.repeat,
            (Status::Failed | Status::TimedOut, Occasion::Schedule | Occasion::Change) => Some(first),
            (Status::Failed | Status::TimedOut | Status::Interrupted, Occasion::Rerun) => again(),
            (Status::Skipped, Occasion::Rerun) if row.reason == Some(Reason::ProviderDown) => again(),
            _ => None,
        }
    }

    fn interrupt(&self, slot: Timestamp) -> Interrupted {
        let before = self.interrupted.filter(|open| open.slot == slot).map_or(0, |open| open.times);
        Interrupted { slot, times: before.saturating_add(1) }
    }

    /// Counts what a run took that is none of those counted.
    pub fn pay(&mut self, started: Timestamp, cost: f64) {
        self.book(started, 0, cost);
    }

    fn book(&mut self, started: Timestamp, runs: u32, cost: f64) {
        let quarter = quarter(started);
        self.spent.retain(|spent| (spent.quarter - quarter).abs() <= QUARTERS);
        match self.spent.iter_mut().find(|spent| spent.quarter == quarter) {
            Some(spent) => (spent.runs, spent.cost) = (spent.runs + runs, spent.cost + cost),
            None => self.spent.push(Spent { quarter, runs, cost }),
        }
    }
}

fn quarter(at: Timestamp) -> i64 {
    at.0.div_euclid(QUARTER.0)
}

impl Settled {
    fn add(&mut self, first: Timestamp, last: Timestamp) {
        let (stretches, mut added) = (&mut self.0, (first.min(last), last));
        stretches.retain(|(first, last)| {
            let apart = *last < added.0 || *first > added.1;
            if !apart {
                added = (added.0.min(*first), added.1.max(*last));
            }
            apart
        });
        let at = stretches.partition_point(|(_, last)| *last < added.0);
        stretches.insert(at, added);
        if stretches.len() <= STRETCHES {
            return;
        }
        let gaps = stretches.windows(2).enumerate().filter_map(|(index, pair)| match pair {
            [(_, end), (start, _)] => Some((start.0.saturating_sub(end.0), index)),
            _ => None,
        });
        let Some((_, closest)) = gaps.min() else { return };
        let (_, last) = stretches.remove(closest + 1);
        if let Some(stretch) = stretches.get_mut(closest) {
            stretch.1 = last;
        }
    }

    fn last(&self, now: Timestamp) -> Option<Timestamp> {
        let at = self.0.partition_point(|(first, _)| *first <= now);
        let (_, last) = self.0.get(at.checked_sub(1)?)?;
        Some(now.min(*last))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn row(id: u8, slot: Option<i64>, status: Status, started: i64, cost: Option<f64>) -> Run {
        let mut row =
            Run::new(RunId::from_bytes([id; 16]), "linker", slot.map(Timestamp), Timestamp(started));
        (row.status, row.cost) = (status, cost);
        row.finished = (status != Status::Running).then_some(Timestamp(started + 10));
        row
    }

    #[test]
    fn runs_are_told_from_what_was_skipped() {
        let mut state = AgentState::default();
        state.note(&row(1, Some(5), Status::Running, 5, None));
        assert_eq!((state.running(), state.last()), (Some(RunId::from_bytes([1; 16])), None));
        // One that was asked for meanwhile.
        state.note(&row(2, None, Status::Skipped, 6, None));
        assert!(state.running().is_some());
        state.note(&row(1, Some(5), Status::TimedOut, 5, Some(0.5)));
        state.note(&row(3, None, Status::Failed, 20, Some(0.25)));
        state.note(&row(4, Some(30), Status::Skipped, 30, None));
        assert_eq!((state.running(), state.failures()), (None, 2));
        assert_eq!(state.last().map(|last| (last.ended, last.status)), Some((Timestamp(30), Status::Failed)));
        assert_eq!(state.spent(Timestamp(0), Timestamp(QUARTER.0)), (2, 0.75));
        state.note(&row(5, None, Status::Noop, QUARTER.0, None));
        assert_eq!(state.failures(), 0);
        assert_eq!(state.spent(Timestamp(0), Timestamp(QUARTER.0)), (2, 0.75));
        assert_eq!(state.spent(Timestamp(QUARTER.0), Timestamp(2 * QUARTER.0)), (1, 0.0));
        state.note(&row(6, None, Status::Ok, Span::DAY.0 * 3, Some(1.0)));
        assert_eq!(state.spent(Timestamp(0), Timestamp(Span::DAY.0 * 4)), (1, 1.0));
    }

    #[test]
    fn a_slot_is_open_until_it_was_interrupted_twice() {
        let mut state = AgentState::default();
        state.note(&row(1, Some(5), Status::Interrupted, 5, None));
        assert!(state.is_open(Timestamp(5)) && !state.is_open(Timestamp(4)));
        state.note(&row(2, Some(5), Status::Running, 6, None));
        let mut ended = state.clone();
        ended.note(&row(2, Some(5), Status::Noop, 6, None));
        assert!(!ended.is_open(Timestamp(5)));
        state.note(&row(2, Some(5), Status::Interrupted, 6, None));
        assert!(!state.is_open(Timestamp(5)));
    }

    proptest! {
        /// However many they were and in whatever order: what is settled stays so, and no more than
        /// so many stretches are kept.
        #[test]
        fn what_is_settled_stays_settled(slots in proptest::collection::vec(0..100_000i64, 1..200)) {
            let mut state = AgentState::default();
            for (count, slot) in slots.iter().enumerate() {
                state.settle(Timestamp(*slot), Timestamp(*slot));
                prop_assert!(slots.iter().take(count + 1).all(|slot| state.is_settled(Timestamp(*slot))));
            }
            prop_assert!(state.settled.0.len() <= STRETCHES);
            prop_assert!(state.settled.0.is_sorted());
            let least = slots.iter().min().copied().unwrap_or_default();
            prop_assert_eq!(state.last_slot(Timestamp(least - 1)), None);
        }

        /// Of neighbouring slots none that is open is lost, however many came: a clock that was ahead
        /// leaves them their time.
        #[test]
        fn what_lies_far_ahead_settles_nothing_before_it(count in 1..200i64, ahead in 1_000..100_000i64) {
            let mut state = AgentState::default();
            state.settle(Timestamp(count + ahead), Timestamp(count + ahead));
            (0..count).for_each(|slot| state.settle(Timestamp(slot), Timestamp(slot)));
            prop_assert_eq!(state.last_slot(Timestamp(count + ahead - 1)), Some(Timestamp(count - 1)));
        }
    }
}
