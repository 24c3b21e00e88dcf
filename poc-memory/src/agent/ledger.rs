//! Rows of runs and occurrences: as the store keeps them, and how they are read and written.

use crate::error::{Error, Result};
use crate::graph::{NodeId, RunId};
use crate::memory::Memory;
use crate::store::{Cause, Record, Table, Tx};
use crate::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a run or an occurrence ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// In progress.
    Running,
    /// Actions were applied.
    Ok,
    /// The reply asked for nothing.
    Noop,
    /// Some actions were applied, some rejected.
    Partial,
    /// It failed.
    Failed,
    /// No answer in time.
    TimedOut,
    /// The process ended in the middle.
    Interrupted,
    /// Not run, for the reason given.
    Skipped,
    /// Its time passed while nothing could run it.
    Missed,
}

/// Why an occurrence was skipped or missed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs, reason = "the names are the documentation: stable codes of ARCHITECTURE.md")]
pub enum Reason {
    NotStale,
    TooFewResults,
    Overlap,
    Cooldown,
    Disabled,
    CatchUpOff,
    OutsideWindow,
    InvalidConfig,
    ProviderDown,
    /// A later slot stands for it.
    CaughtUp,
}

/// One action of a run and what became of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ActionRow {
    /// The action as the reply spelled it, as JSON text.
    pub action: String,
    /// In words, with keys in place of handles.
    pub summary: String,
    /// Why, in the model's words.
    pub why: String,
    /// `None` when applied, else the stable reason it was rejected for.
    pub rejected: Option<String>,
    /// What the rejection is about, in words.
    pub detail: Option<String>,
    /// The writes of the run's transaction that are this action's, as a range of positions.
    pub writes: (u32, u32),
    /// Whether it was undone.
    pub undone: bool,
}

impl ActionRow {
    /// Whether it changed the graph.
    pub fn applied(&self) -> bool {
        self.rejected.is_none()
    }
}

/// One run, or one occurrence that was not run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Its id.
    pub id: RunId,
    /// The agent.
    pub agent: String,
    /// The slot it is for; `None` when asked for by a person.
    pub scheduled_at: Option<Timestamp>,
    /// The boot of the process that runs it.
    pub boot: String,
    /// When it was claimed.
    pub started: Timestamp,
    /// When it ended.
    pub finished: Option<Timestamp>,
    /// How it ended.
    pub status: Status,
    /// Why it was skipped, or what it failed for when that has a stable name.
    pub reason: Option<Reason>,
    /// What went wrong, in words.
    pub message: Option<String>,
    /// Sequence number of the transaction that applied its actions.
    pub seq: Option<u64>,
    /// Fingerprint of the definition it ran.
    pub fingerprint: String,
    /// The model's name in the settings.
    pub model: String,
    /// The nodes it read and their versions.
    pub selected: Vec<(NodeId, u32)>,
    /// Nodes whose visit it recorded.
    pub visited: Vec<NodeId>,
    /// What the model said about its reply as a whole.
    pub notes: String,
    /// Its actions.
    pub actions: Vec<ActionRow>,
    /// The writes of its transaction that moved nodes along the replay ladder, as a range of
    /// positions.
    pub replays: (u32, u32),
    /// Tokens read.
    pub tokens_in: Option<u64>,
    /// Tokens written.
    pub tokens_out: Option<u64>,
    /// US dollars.
    pub cost: Option<f64>,
}

impl Record for Run {
    const TABLE: Table = Table::Runs;
}

/// One slot of one agent: its key in the store is what makes a slot run once.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Occurrence {
    /// The row with the outcome.
    pub run: RunId,
}

impl Record for Occurrence {
    const TABLE: Table = Table::Occurrences;
}

impl Run {
    /// A row in progress, claimed now by this process.
    pub fn claimed(memory: &Memory, agent: &str, scheduled_at: Option<Timestamp>) -> Run {
        Run {
            id: memory.new_run_id(),
            agent: agent.to_owned(),
            scheduled_at,
            boot: memory.boot.clone(),
            started: memory.now(),
            finished: None,
            status: Status::Running,
            reason: None,
            message: None,
            seq: None,
            fingerprint: String::new(),
            model: String::new(),
            selected: Vec::new(),
            visited: Vec::new(),
            notes: String::new(),
            actions: Vec::new(),
            replays: (0, 0),
            tokens_in: None,
            tokens_out: None,
            cost: None,
        }
    }

    /// The row's key: agent, NUL, id, so that the rows of an agent stand together, oldest first.
    pub fn key(&self) -> Vec<u8> {
        run_key(&self.agent, self.id)
    }

    /// Actions that changed the graph.
    pub fn applied(&self) -> impl Iterator<Item = &ActionRow> {
        self.actions.iter().filter(|action| action.applied())
    }

    /// Ends it.
    pub fn finish(&mut self, memory: &Memory, status: Status, reason: Option<Reason>) {
        (self.status, self.reason, self.finished) = (status, reason, Some(memory.now()));
    }
}

impl Reason {
    /// The stable code.
    pub fn name(self) -> &'static str {
        match self {
            Reason::NotStale => "not-stale",
            Reason::TooFewResults => "too-few-results",
            Reason::Overlap => "overlap",
            Reason::Cooldown => "cooldown",
            Reason::Disabled => "disabled",
            Reason::CatchUpOff => "catch-up-off",
            Reason::OutsideWindow => "outside-window",
            Reason::InvalidConfig => "invalid-config",
            Reason::ProviderDown => "provider-down",
            Reason::CaughtUp => "caught-up",
        }
    }
}

impl Status {
    /// The stable name.
    pub fn name(self) -> &'static str {
        match self {
            Status::Running => "running",
            Status::Ok => "ok",
            Status::Noop => "noop",
            Status::Partial => "partial",
            Status::Failed => "failed",
            Status::TimedOut => "timed-out",
            Status::Interrupted => "interrupted",
            Status::Skipped => "skipped",
            Status::Missed => "missed",
        }
    }
}

fn prefix(agent: &str) -> Vec<u8> {
    [agent.as_bytes(), b"\0"].concat()
}

fn run_key(agent: &str, id: RunId) -> Vec<u8> {
    [prefix(agent).as_slice(), id.as_bytes()].concat()
}

fn occurrence_key(agent: &str, slot: Timestamp) -> Vec<u8> {
    [prefix(agent).as_slice(), &slot.0.to_be_bytes()].concat()
}

fn cause(memory: &Memory, agent: &str, run: Option<RunId>) -> Cause {
    Cause { run, ..memory.cause(&format!("agent:{agent}"), "agent run") }
}

/// Rows, newest first: of one agent or of all, at most `limit` of each agent.
pub fn rows(memory: &Memory, agent: Option<&str>, limit: usize) -> Result<Vec<Run>> {
    let prefix = agent.map(prefix).unwrap_or_default();
    let mut all: Vec<Run> = memory.store.scan::<Run>(&prefix)?.into_iter().map(|(_, run)| run).collect();
    all.sort_by(|a, b| (&a.agent, b.id).cmp(&(&b.agent, a.id)));
    let mut rows: Vec<Run> =
        all.chunk_by(|a, b| a.agent == b.agent).flat_map(|group| group.iter().take(limit).cloned()).collect();
    rows.sort_by_key(|run| std::cmp::Reverse(run.id));
    Ok(rows)
}

/// The row with an id or with the only id that starts so.
pub fn find(memory: &Memory, id: &str) -> Result<Run> {
    let wanted = id.to_ascii_lowercase();
    let mut found = rows(memory, None, usize::MAX)?;
    found.retain(|run| !wanted.is_empty() && run.id.to_string().starts_with(&wanted));
    match (found.pop(), found.len()) {
        (Some(run), 0) => Ok(run),
        (Some(_), more) => Err(Error::invalid(format!("`{id}` is the start of {} run ids", more + 1))
            .hint("give more digits of the id")
            .field("run")),
        (None, _) => Err(Error::not_found(format!("there is no run `{id}`"))
            .hint("`poc-memory agent history` lists the runs")
            .field("run")),
    }
}

/// Claims a run of an agent: its row, and its slot when it has one. When the agent runs already
/// the row that comes back is a skipped one. A slot that was claimed before is a conflict.
pub fn claim(memory: &Memory, mut row: Run) -> Result<Run> {
    let committed = memory.store.transact(cause(memory, &row.agent, Some(row.id)), |tx| {
        let overlaps = settle_running(memory, tx, &row.agent)?;
        if overlaps {
            row.finish(memory, Status::Skipped, Some(Reason::Overlap));
        }
        put_slot(tx, &row)?;
        tx.put(&row.key(), &row)
    });
    committed.map(|_| row)
}

/// Leaves the row of a slot that was not run, with a message when there is more to say. `None` when
/// the slot was claimed before.
pub fn leave(
    memory: &Memory,
    agent: &str,
    slot: Timestamp,
    (status, reason): (Status, Option<Reason>),
    message: Option<String>,
) -> Result<Option<Run>> {
    let mut row = Run::claimed(memory, agent, Some(slot));
    row.message = message;
    row.finish(memory, status, reason);
    let committed = memory.store.transact(cause(memory, agent, Some(row.id)), |tx| {
        if tx.get::<Occurrence>(&occurrence_key(agent, slot))?.is_some() {
            return Ok(false);
        }
        put_slot(tx, &row)?;
        tx.put(&row.key(), &row)?;
        prune(memory, tx, agent)?;
        Ok(true)
    })?;
    Ok(committed.value.then_some(row))
}

/// Writes the ended row of a claimed run that changed nothing else. A row that somebody else has
/// ended is a conflict.
pub fn close(memory: &Memory, row: &Run) -> Result<()> {
    memory
        .store
        .transact(cause(memory, &row.agent, Some(row.id)), |tx| {
            expect_running(tx, row)?;
            tx.put(&row.key(), row)?;
            prune(memory, tx, &row.agent)
        })
        .map(|_| ())
}

/// Marks the rows that other processes left running as interrupted: this process holds the store,
/// so they are gone. Returns those rows.
pub fn interrupt_others(memory: &Memory) -> Result<Vec<Run>> {
    let message = "the process that ran it ended in the middle";
    end_running(memory, |run| run.boot != memory.boot, Status::Interrupted, message)
}

/// Ends rows of this process that still run with what became of them. Returns those rows.
pub fn abandon(
    memory: &Memory,
    which: impl Fn(&Run) -> bool,
    status: Status,
    message: &str,
) -> Result<Vec<Run>> {
    end_running(memory, |run| run.boot == memory.boot && which(run), status, message)
}

fn end_running(
    memory: &Memory,
    which: impl Fn(&Run) -> bool,
    status: Status,
    message: &str,
) -> Result<Vec<Run>> {
    let left = |run: &Run| run.status == Status::Running && which(run);
    if !rows(memory, None, usize::MAX)?.iter().any(left) {
        return Ok(Vec::new());
    }
    let committed = memory.store.transact(memory.cause("daemon", "recover"), |tx| {
        let mut ended = Vec::new();
        for (key, mut run) in tx.scan::<Run>(&[])? {
            if left(&run) {
                run.finish(memory, status, None);
                run.message = Some(message.to_owned());
                tx.put(&key, &run)?;
                ended.push(run);
            }
        }
        Ok(ended)
    })?;
    Ok(committed.value)
}

/// Deletes the rows of an agent beyond the number kept, with their slots.
pub(super) fn prune(memory: &Memory, tx: &mut Tx<'_>, agent: &str) -> Result<()> {
    let rows = tx.scan::<Run>(&prefix(agent))?;
    let surplus = rows.len().saturating_sub(memory.config.agents.keep_rows);
    for (key, run) in rows.into_iter().take(surplus) {
        tx.delete::<Run>(&key)?;
        if let Some(slot) = run.scheduled_at {
            tx.delete::<Occurrence>(&occurrence_key(agent, slot))?;
        }
    }
    Ok(())
}

/// Whether the agent runs in this process; rows of processes that are gone become interrupted.
fn settle_running(memory: &Memory, tx: &mut Tx<'_>, agent: &str) -> Result<bool> {
    let mut runs = false;
    for (key, mut run) in tx.scan::<Run>(&prefix(agent))? {
        if run.status != Status::Running {
            continue;
        }
        if run.boot == memory.boot {
            runs = true;
        } else {
            run.finish(memory, Status::Interrupted, None);
            tx.put(&key, &run)?;
        }
    }
    Ok(runs)
}

/// The row of a run as it is now.
pub(super) fn get(tx: &Tx<'_>, run: &Run) -> Result<Run> {
    tx.get::<Run>(&run.key())?
        .ok_or_else(|| Error::not_found(format!("the row of the run `{}` is no longer kept", run.id)))
}

/// That nobody has ended a run in the meantime.
pub(super) fn expect_running(tx: &Tx<'_>, run: &Run) -> Result<()> {
    let status = get(tx, run)?.status;
    if status == Status::Running {
        return Ok(());
    }
    Err(Error::conflict(format!("the run `{}` was ended as {} in the meantime", run.id, status.name())))
}

/// Takes a slot for a row. A slot whose run was interrupted may be taken again.
fn put_slot(tx: &mut Tx<'_>, row: &Run) -> Result<()> {
    let Some(slot) = row.scheduled_at else { return Ok(()) };
    let key = occurrence_key(&row.agent, slot);
    if let Some(taken) = tx.get::<Occurrence>(&key)? {
        let before = tx.get::<Run>(&run_key(&row.agent, taken.run))?;
        if before.is_none_or(|before| before.status != Status::Interrupted) {
            return Err(Error::conflict(format!("the slot {slot} of `{}` was claimed before", row.agent)));
        }
    }
    tx.put(&key, &Occurrence { run: row.id })
}
