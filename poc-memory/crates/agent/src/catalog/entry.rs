//! One agent file of the catalog: its definition and its state.

use crate::Definition;
use crate::ledger::AgentState;
use crate::model::ModelRegistry;
use crate::pause_reason::PauseReason;
use crate::schedule::Schedule;
use poc_config::Config;
use poc_graph::diagnostic::FileDiagnostic;
use poc_graph::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// State of an agent file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryState {
    /// The file is valid.
    Ok,
    /// The file is invalid; its last valid version is used.
    LastGood,
    /// The file is invalid, and no valid version is known.
    Invalid,
}

/// Status of an agent, from its file, its schedule, its pause and its models.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AgentStatus {
    /// It runs by its schedule.
    Ok,
    /// The file is broken, and its last valid version is used.
    LastGood,
    /// The file is broken, and no valid version is known.
    Invalid,
    /// The file has `enabled = false`.
    Disabled,
    /// A person paused it, or it failed too often.
    Paused,
    /// None of its models can be called: a key is missing, or the provider is suspended.
    Blocked,
    /// It has no schedule.
    OnDemand,
}

impl AgentStatus {
    /// The stable name.
    pub fn name(self) -> &'static str {
        match self {
            AgentStatus::Ok => "ok",
            AgentStatus::LastGood => "last-good",
            AgentStatus::Invalid => "invalid",
            AgentStatus::Disabled => "disabled",
            AgentStatus::Paused => "paused",
            AgentStatus::Blocked => "blocked",
            AgentStatus::OnDemand => "on-demand",
        }
    }
}

/// One agent file.
#[derive(Clone, Debug)]
pub struct CatalogEntry {
    /// The definition to run: that of the file, or the last valid version.
    pub definition: Option<Arc<Definition>>,
    /// State of the file.
    pub state: EntryState,
    /// The diagnostics of the file.
    pub errors: Vec<FileDiagnostic>,
    /// When the agent was first seen with its current schedule; earlier slots do not count. An agent whose
    /// file was deleted and restored counts as new.
    pub since: Timestamp,
}

impl CatalogEntry {
    /// Whether two entries are equivalent.
    pub(super) fn is_same(&self, other: &CatalogEntry) -> bool {
        let definition = |entry: &CatalogEntry| entry.definition.as_ref().map(|it| it.fingerprint.clone());
        self.state == other.state
            && self.errors == other.errors
            && self.since == other.since
            && definition(self) == definition(other)
    }

    /// The definition of the file, if the file is valid.
    pub fn valid_definition(&self) -> Option<&Definition> {
        self.definition.as_deref().filter(|_| self.errors.is_empty())
    }

    /// Why the agent is paused at `now`; `None` when it is not.
    pub fn paused(&self, state: &AgentState, now: Timestamp) -> Option<PauseReason> {
        let after = self.definition.as_ref().map_or(0, |definition| definition.failure.pause_after);
        PauseReason::of(after, state, now)
    }

    /// Why none of its models can be called, in one line: what each lacks, such as a key, or that its provider is
    /// suspended; `None` if one can. Manual runs try a suspended provider, so a suspension does not block an agent
    /// without a schedule. Sends no request.
    pub fn obstacle(&self, config: &Config, models: &ModelRegistry, now: Timestamp) -> Option<String> {
        let execution = &self.definition.as_deref()?.execution;
        let why = |name| {
            models.missing(config, name).or_else(|| {
                models.suspension_of(config, name, now).filter(|_| execution.schedule != Schedule::OnDemand)
            })
        };
        let mut why = execution.models().map(why).collect::<Option<Vec<String>>>()?;
        // Models of one provider lack the same thing, so each message is listed once.
        why.dedup();
        Some(why.join("; "))
    }

    /// Status of the agent, with the reason why it is paused and the one why none of its models can be called.
    pub fn status(&self, paused: Option<&PauseReason>, obstacle: Option<&str>) -> AgentStatus {
        match self.file_status() {
            status @ (AgentStatus::Invalid | AgentStatus::Disabled) => status,
            _ if paused.is_some() => AgentStatus::Paused,
            _ if obstacle.is_some() => AgentStatus::Blocked,
            status => status,
        }
    }

    /// Status of the agent, unless it is paused or none of its models can be called.
    fn file_status(&self) -> AgentStatus {
        match (self.state, &self.definition) {
            (EntryState::Invalid, _) | (_, None) => AgentStatus::Invalid,
            (EntryState::LastGood, _) => AgentStatus::LastGood,
            (EntryState::Ok, Some(definition)) if !definition.enabled => AgentStatus::Disabled,
            (EntryState::Ok, Some(definition)) if definition.execution.schedule == Schedule::OnDemand => {
                AgentStatus::OnDemand
            }
            (EntryState::Ok, Some(_)) => AgentStatus::Ok,
        }
    }
}

/// A change of an agent since the last scan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CatalogChange {
    /// The agent is new.
    Added(String),
    /// The definition changed.
    Changed(String),
    /// The file was invalid and has its previous content again.
    Valid(String),
    /// The agent was removed.
    Retired(String),
}
