//! The state of an agent. It outlives the rows of the agent, because only the newest rows are stored.

use super::Run;
use super::change_progress::{ChangeProgress, INTERRUPTIONS};
use super::key::prefix;
use super::recent_spending::{RecentSpending, Spending};
use super::settled_slots::SettledSlots;
use super::status::{Status, StatusReason};
use super::totals::Totals;
use super::trigger::{Trigger, TriggerKind};
use poc_graph::RunId;
use poc_graph::error::Result;
use poc_graph::time::Timestamp;
use poc_notes::Memory;
use poc_store::{Record, Table, Transaction};
use serde::{Deserialize, Serialize};

/// State record of one agent, written in every transaction that writes one of its rows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AgentState {
    settled: SettledSlots,
    interrupted: Option<InterruptedSlot>,
    running: Option<RunId>,
    last: Option<LastRun>,
    failures: u32,
    spent: RecentSpending,
    pause: Option<Pause>,
    rerun: Option<PendingRerun>,
    changes: Option<ChangeProgress>,
    totals: Totals,
    /// The last slot that was counted as a run.
    counted: Option<Timestamp>,
}

/// A pause set by a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pause {
    /// Start.
    pub since: Timestamp,
    /// End; `None` means until the agent is resumed.
    pub until: Option<Timestamp>,
    /// Reason given by the person.
    pub note: String,
}

impl Pause {
    /// Whether the pause is in force at `now`. Setting the clock back ends no pause.
    pub fn is_active(&self, now: Timestamp) -> bool {
        self.until.is_none_or(|until| now < until)
    }
}

/// The last interrupted slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct InterruptedSlot {
    slot: Timestamp,
    times: u32,
}

/// The run that ended last. Skipped and missed slots do not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastRun {
    /// Its row, if still stored.
    pub run: RunId,
    /// When it ended.
    pub ended: Timestamp,
    /// Its status.
    pub status: Status,
    /// Why it failed, if that has a stable code.
    pub reason: Option<StatusReason>,
}

/// A failed automatic run that is to be repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingRerun {
    /// Its row, if still stored.
    pub run: RunId,
    /// When it ended.
    pub ended: Timestamp,
    /// Number of reruns so far.
    pub times: u32,
    /// Whether the rerun has started.
    started: bool,
}

impl Record for AgentState {
    const TABLE: Table = Table::AgentStates;
    const VERSION: u8 = 6;

    /// Version 1 had no pauses, version 2 no reruns, version 3 no changes, version 4 no totals, version 5 no
    /// counted slot: `None` is a zero byte at the end.
    fn earlier(version: u8, body: &[u8]) -> Option<postcard::Result<AgentState>> {
        type First =
            (SettledSlots, Option<InterruptedSlot>, Option<RunId>, Option<LastRun>, u32, RecentSpending);
        let read = |(first, pause, rerun, changes): (First, _, _, _)| {
            let (settled, interrupted, running, last, failures, spent) = first;
            let totals = Totals::default();
            AgentState {
                settled,
                interrupted,
                running,
                last,
                failures,
                spent,
                pause,
                rerun,
                changes,
                totals,
                counted: None,
            }
        };
        match version {
            1 => Some(postcard::from_bytes(body).map(|first: First| read((first, None, None, None)))),
            2 => Some(postcard::from_bytes(body).map(|(first, pause)| read((first, pause, None, None)))),
            3 => Some(
                postcard::from_bytes(body).map(|(first, pause, rerun)| read((first, pause, rerun, None))),
            ),
            4 => Some(postcard::from_bytes(body).map(read)),
            5 => Some(postcard::from_bytes(&[body, &[0]].concat())),
            _ => None,
        }
    }
}

/// The state of an agent.
pub fn state(memory: &Memory, agent: &str) -> Result<AgentState> {
    match memory.store.get::<AgentState>(agent.as_bytes())? {
        Some(state) => Ok(state),
        None => Ok(AgentState::of(memory.store.scan::<Run>(&prefix(agent))?.iter().map(|(_, row)| row))),
    }
}

/// Like [`state`], in a transaction.
pub(super) fn get(tx: &Transaction<'_>, agent: &str) -> Result<AgentState> {
    match tx.get::<AgentState>(agent.as_bytes())? {
        Some(state) => Ok(state),
        None => Ok(AgentState::of(tx.scan::<Run>(&prefix(agent))?.iter().map(|(_, row)| row))),
    }
}

pub(super) fn put(tx: &mut Transaction<'_>, agent: &str, state: &AgentState) -> Result<()> {
    tx.put(agent.as_bytes(), state)
}

impl AgentState {
    /// The state that follows from rows, oldest first; for agents of releases without state records.
    pub fn of<'a>(rows: impl IntoIterator<Item = &'a Run>) -> AgentState {
        let mut state = AgentState::default();
        rows.into_iter().for_each(|row| state.record(row));
        state
    }

    /// Updates the state for a row that is written.
    pub fn record(&mut self, row: &Run) {
        if let Some(slot) = row.slot() {
            self.settled.add(slot, slot);
        }
        self.rerun = self.rerun_after(row);
        if row.trigger == TriggerKind::Change {
            self.changes = self.changes.map(|changes| changes.record(row));
        }
        if row.status == Status::Running {
            self.running = Some(row.id);
            return;
        }
        self.running = self.running.filter(|running| *running != row.id);
        self.totals.add(row);
        if row.status != Status::Interrupted {
            // A skipped slot is not retried either.
            self.interrupted = self.interrupted.filter(|open| Some(open.slot) != row.slot());
        }
        match row.status {
            Status::Skipped | Status::Missed | Status::Running => return,
            Status::Interrupted => {
                self.interrupted = row.slot().map(|slot| self.interrupt(slot)).or(self.interrupted);
            }
            // A run that is over budget does not count as a failure, because it needs no attention.
            Status::Failed if row.reason == Some(StatusReason::OverBudget) => {}
            Status::Failed | Status::TimedOut => self.failures = self.failures.saturating_add(1),
            // The run did not fail, and nothing shows that the cause of earlier failures is gone.
            Status::Partial if row.is_all_refused() => {}
            Status::Ok
            | Status::Noop
            | Status::Partial
            | Status::Proposed
            | Status::Rejected
            | Status::Reverted => {
                self.failures = 0;
            }
        }
        let ended = row.finished.unwrap_or(row.started);
        self.last = Some(LastRun { run: row.id, ended, status: row.status, reason: row.reason });
        // The batches of a slot count as one run.
        let runs = u32::from(!self.is_of_counted_slot(row));
        if matches!(row.trigger, TriggerKind::Slot | TriggerKind::Rerun | TriggerKind::Batch) {
            self.counted = row.scheduled_at;
        }
        self.spent.book(row.started, runs, row.cost.unwrap_or(0.0));
    }

    /// Whether a row is a batch of a slot that was counted as a run. A slot whose first run was skipped is counted with
    /// its first batch that is not.
    pub(super) fn is_of_counted_slot(&self, row: &Run) -> bool {
        row.trigger == TriggerKind::Batch && self.counted == row.scheduled_at
    }

    /// Whether no run that began in the same quarter of an hour is booked.
    pub(super) fn is_unbooked(&self, at: Timestamp) -> bool {
        self.spent.is_unbooked(at)
    }

    /// Updates the last run's status after a review.
    pub(super) fn record_review(&mut self, row: &Run) {
        self.last = self.last.map(|last| match last.run == row.id {
            true => LastRun { status: row.status, ..last },
            false => last,
        });
    }

    /// Marks the slots in a range as settled.
    pub fn settle(&mut self, first: Timestamp, last: Timestamp) {
        self.settled.add(first, last);
    }

    /// The last settled slot at or before `now`; `now` itself when nothing up to it is open. Later slots are
    /// ignored: they were settled by a clock that was ahead.
    pub fn last_slot(&self, now: Timestamp) -> Option<Timestamp> {
        self.settled.last(now)
    }

    /// Whether a slot is settled.
    pub fn is_settled(&self, slot: Timestamp) -> bool {
        self.settled.last(slot) == Some(slot)
    }

    /// Whether a slot was interrupted and may be retried.
    pub fn can_retry(&self, slot: Timestamp) -> bool {
        self.interrupted.is_some_and(|open| open.slot == slot && open.times < INTERRUPTIONS)
    }

    /// Whether a slot or changes whose run was interrupted, or a failed run, are to be repeated.
    pub(super) fn must_repeat(&self) -> bool {
        self.interrupted.is_some_and(|open| open.times < INTERRUPTIONS)
            || self.changes.is_some_and(ChangeProgress::is_interrupted)
            || self.pending_rerun().is_some()
    }

    /// Its progress with changes, if that belongs to the agent first seen at `since`.
    pub fn changes(&self, since: Timestamp) -> Option<ChangeProgress> {
        self.changes.filter(|changes| changes.since == since)
    }

    /// Marks all changes up to a transaction as handled.
    pub(super) fn set_change_mark(&mut self, since: Timestamp, done: u64) {
        self.changes = Some(ChangeProgress::from(since, done));
    }

    /// Whether the changes of a change trigger already have a row; `false` for other triggers.
    pub(super) fn is_claimed(&self, trigger: Trigger) -> bool {
        let Trigger::Change { until, .. } = trigger else { return false };
        self.changes.is_some_and(|changes| changes.is_claimed(until))
    }

    /// Claims the changes of a change trigger. Returns whether they were free; `true` for other triggers.
    pub(super) fn claim_changes(&mut self, trigger: Trigger) -> bool {
        let Trigger::Change { after, until, .. } = trigger else { return true };
        let claimed = self.changes.and_then(|changes| changes.claim(after, until));
        self.changes = claimed.or(self.changes);
        claimed.is_some()
    }

    /// Whether the slot or rerun of a row already has an outcome.
    pub fn has_outcome(&self, row: &Run) -> bool {
        match row.rerun_of {
            Some(run) => self.pending_rerun().is_none_or(|rerun| rerun.run != run),
            None => row.slot().is_some_and(|slot| self.is_settled(slot)),
        }
    }

    /// The failed run to repeat, if its rerun has not started.
    pub fn pending_rerun(&self) -> Option<PendingRerun> {
        self.rerun.filter(|rerun| !rerun.started)
    }

    /// The running run.
    pub fn running(&self) -> Option<RunId> {
        self.running
    }

    /// The run that ended last.
    pub fn last(&self) -> Option<LastRun> {
        self.last
    }

    /// Number of consecutive runs up to now that failed or timed out. Runs that were over budget or whose actions were all
    /// refused do not count, and do not end the sequence.
    pub fn failures(&self) -> u32 {
        self.failures
    }

    /// The last pause set by a person; it may be over.
    pub fn pause(&self) -> Option<&Pause> {
        self.pause.as_ref()
    }

    /// Pauses the agent.
    pub fn set_pause(&mut self, pause: Pause) {
        self.pause = Some(pause);
    }

    /// Resumes the agent: clears the pause and the failure count.
    pub fn resume(&mut self) {
        (self.pause, self.failures) = (None, 0);
    }

    /// The spending of the runs that began in `from..until`. The bounds must be quarters
    /// of an hour, such as the bounds of a day in some time zone. Only recent spending is stored.
    pub fn spending_between(&self, from: Timestamp, until: Timestamp) -> Spending {
        self.spent.within(from, until)
    }

    /// Totals of its rows by status, and of their cost. Rows of releases without totals are not included.
    pub fn totals(&self) -> &Totals {
        &self.totals
    }

    /// The pending rerun after a row is written; `None` when a new slot came or the run succeeded.
    fn rerun_after(&self, row: &Run) -> Option<PendingRerun> {
        let ended = row.finished.unwrap_or(row.started);
        let first = PendingRerun { run: row.id, ended, times: 0, started: false };
        // The failed run that this row repeats.
        let repeated = self.rerun.filter(|rerun| Some(rerun.run) == row.rerun_of);
        let again = || repeated.map(|before| PendingRerun { times: before.times.saturating_add(1), ..first });
        match (row.status, row.trigger) {
            (Status::Running, TriggerKind::Rerun) => {
                repeated.map(|rerun| PendingRerun { started: true, ..rerun })
            }
            (Status::Running | Status::Skipped | Status::Missed, TriggerKind::Manual) => self.rerun,
            // A slot that was merged into the pending rerun does not cancel it.
            (Status::Missed, _) if row.reason == Some(StatusReason::CaughtUp) => self.rerun,
            (Status::Running, _) => None,
            // A rerun would not help: a used-up budget is not available again after a short delay.
            (
                Status::Failed,
                TriggerKind::Rerun | TriggerKind::Slot | TriggerKind::Change | TriggerKind::Batch,
            ) if row.reason == Some(StatusReason::OverBudget) => None,
            (Status::Failed | Status::TimedOut | Status::Interrupted, TriggerKind::Manual) => self.rerun,
            (
                Status::Failed | Status::TimedOut,
                TriggerKind::Slot | TriggerKind::Change | TriggerKind::Batch,
            ) => Some(first),
            (Status::Failed | Status::TimedOut | Status::Interrupted, TriggerKind::Rerun) => again(),
            (Status::Skipped, TriggerKind::Rerun) if row.reason == Some(StatusReason::ProviderDown) => {
                again()
            }
            _ => None,
        }
    }

    fn interrupt(&self, slot: Timestamp) -> InterruptedSlot {
        let before = self.interrupted.filter(|open| open.slot == slot).map_or(0, |open| open.times);
        InterruptedSlot { slot, times: before.saturating_add(1) }
    }

    /// Adds the cost of a run that is not counted as a run.
    pub fn add_cost(&mut self, row: &Run) {
        self.totals.add_cost(row);
        self.spent.book(row.started, 0, row.cost.unwrap_or(0.0));
    }
}

#[cfg(test)]
mod tests;
