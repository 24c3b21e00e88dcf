//! Rows of runs and occurrences, as the store keeps them.

use crate::graph::{NodeId, RunId};
use crate::store::{Record, Table};
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
}

/// One action of a run and what became of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ActionRow {
    /// The action as the reply spelled it, as JSON text.
    pub action: String,
    /// In words, with keys in place of handles.
    pub summary: String,
    /// `None` when applied, else the stable reason it was rejected for.
    pub rejected: Option<String>,
    /// The writes of the run's transaction that are this action's, as a range of positions.
    pub writes: (u32, u32),
    /// Whether it was undone.
    pub undone: bool,
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
    /// Why it was skipped.
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
    /// Its actions.
    pub actions: Vec<ActionRow>,
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
