//! Status of runs and occurrences, and reasons why they were not run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

// Variants are stored by index: add new ones at the end and never remove any.

/// Status of a run or an occurrence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// In progress.
    Running,
    /// Actions were applied.
    Ok,
    /// The reply requested no action.
    Noop,
    /// Some or all actions were refused.
    Partial,
    /// It failed.
    Failed,
    /// The model did not reply in time.
    TimedOut,
    /// The process died during the run.
    Interrupted,
    /// Not run, for the reason given.
    Skipped,
    /// Its time passed while no process could run it.
    Missed,
    /// Its actions wait for approval.
    Proposed,
    /// A person rejected all of its actions.
    Rejected,
    /// Its actions were undone because search answered confirmed questions worse afterwards.
    Reverted,
}

/// Why an occurrence was skipped or missed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs, reason = "`Reason::meaning` documents them, also in REFERENCE.md")]
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
    /// It was merged into another slot.
    CaughtUp,
    Paused,
    OverBudget,
    /// No reply of the model was valid.
    Unparseable,
    /// The settings of this daemon do not include the agent.
    Elsewhere,
}

impl Reason {
    /// Whether the obstacle is temporary, so that pending changes are handled after it.
    pub fn passes(self) -> bool {
        match self {
            Reason::Overlap
            | Reason::Cooldown
            | Reason::Disabled
            | Reason::Elsewhere
            | Reason::ProviderDown
            | Reason::CaughtUp
            | Reason::Paused
            | Reason::OverBudget => true,
            Reason::NotStale
            | Reason::TooFewResults
            | Reason::CatchUpOff
            | Reason::OutsideWindow
            | Reason::InvalidConfig
            | Reason::Unparseable => false,
        }
    }

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
            Reason::Paused => "paused",
            Reason::OverBudget => "over-budget",
            Reason::Unparseable => "unparseable",
            Reason::Elsewhere => "elsewhere",
        }
    }
}

impl Reason {
    /// All reasons.
    pub const ALL: [Reason; 14] = [
        Reason::NotStale,
        Reason::TooFewResults,
        Reason::Overlap,
        Reason::Cooldown,
        Reason::Disabled,
        Reason::CatchUpOff,
        Reason::OutsideWindow,
        Reason::InvalidConfig,
        Reason::ProviderDown,
        Reason::CaughtUp,
        Reason::Paused,
        Reason::OverBudget,
        Reason::Unparseable,
        Reason::Elsewhere,
    ];

    /// The meaning as text.
    pub fn meaning(self) -> &'static str {
        match self {
            Reason::NotStale => "every note of the pipeline was visited recently and has not changed since",
            Reason::TooFewResults => "the pipeline returns fewer notes than `query.min-results`",
            Reason::Overlap => "the agent was already running",
            Reason::Cooldown => "its last run ended less than `schedule.cooldown` ago",
            Reason::Disabled => "`enabled = false`",
            Reason::CatchUpOff => {
                "its time passed while no daemon was running, and `schedule.catch-up` is \"skip\""
            }
            Reason::OutsideWindow => "its time passed longer ago than `schedule.catch-up-window` allows",
            Reason::InvalidConfig => "the agent file, the model or its API key is not usable as configured",
            Reason::ProviderDown => "the provider did not answer, or calls to it are suspended for a while",
            Reason::CaughtUp => "one run covers several slots that had passed",
            Reason::Paused => "the agent was paused by a person, or after too many consecutive failures",
            Reason::OverBudget => "the budget of the day or of the run is used up",
            Reason::Unparseable => "no reply of the model was valid",
            Reason::Elsewhere => "`runs-agents` of this daemon does not include the agent",
        }
    }
}

impl Status {
    /// All statuses.
    pub const ALL: [Status; 12] = [
        Status::Running,
        Status::Ok,
        Status::Noop,
        Status::Partial,
        Status::Failed,
        Status::TimedOut,
        Status::Interrupted,
        Status::Skipped,
        Status::Missed,
        Status::Proposed,
        Status::Rejected,
        Status::Reverted,
    ];

    /// The status with a name.
    pub fn parse(name: &str) -> Option<Status> {
        Status::ALL.into_iter().find(|status| status.name() == name)
    }

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
            Status::Proposed => "proposed",
            Status::Rejected => "rejected",
            Status::Reverted => "reverted",
        }
    }
}
