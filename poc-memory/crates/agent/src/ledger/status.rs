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

/// Why an occurrence was skipped or missed, or why a run failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs, reason = "`StatusReason::meaning` documents them, also in REFERENCE.md")]
pub enum StatusReason {
    NotStale,
    TooFewResults,
    Overlap,
    Cooldown,
    Disabled,
    CatchUpOff,
    OutsideWindow,
    InvalidConfig,
    ProviderDown,
    // It was merged into another slot.
    CaughtUp,
    Paused,
    OverBudget,
    // No reply of the model was valid.
    Unparseable,
    // The settings of this daemon do not include the agent.
    Elsewhere,
    // No run gets it any more, but stored rows may have it.
    #[schemars(skip)]
    NoLanguageModel,
}

impl StatusReason {
    /// Whether the reason is temporary, so that pending changes are handled after it.
    pub fn passes(self) -> bool {
        match self {
            StatusReason::Overlap
            | StatusReason::Cooldown
            | StatusReason::Disabled
            | StatusReason::Elsewhere
            | StatusReason::ProviderDown
            | StatusReason::CaughtUp
            | StatusReason::Paused
            | StatusReason::OverBudget => true,
            StatusReason::NotStale
            | StatusReason::TooFewResults
            | StatusReason::CatchUpOff
            | StatusReason::OutsideWindow
            | StatusReason::InvalidConfig
            | StatusReason::NoLanguageModel
            | StatusReason::Unparseable => false,
        }
    }

    /// Whether all slots are skipped for this reason until a person changes that or a time comes.
    pub(crate) fn lasts(self) -> bool {
        matches!(self, StatusReason::Paused | StatusReason::Disabled)
    }

    /// The stable code.
    pub fn name(self) -> &'static str {
        match self {
            StatusReason::NotStale => "not-stale",
            StatusReason::TooFewResults => "too-few-results",
            StatusReason::Overlap => "overlap",
            StatusReason::Cooldown => "cooldown",
            StatusReason::Disabled => "disabled",
            StatusReason::CatchUpOff => "catch-up-off",
            StatusReason::OutsideWindow => "outside-window",
            StatusReason::InvalidConfig => "invalid-config",
            StatusReason::ProviderDown => "provider-down",
            StatusReason::CaughtUp => "caught-up",
            StatusReason::Paused => "paused",
            StatusReason::OverBudget => "over-budget",
            StatusReason::Unparseable => "unparseable",
            StatusReason::Elsewhere => "elsewhere",
            StatusReason::NoLanguageModel => "no-language-model",
        }
    }
}

impl StatusReason {
    /// All reasons that runs get.
    pub const ALL: [StatusReason; 14] = [
        StatusReason::NotStale,
        StatusReason::TooFewResults,
        StatusReason::Overlap,
        StatusReason::Cooldown,
        StatusReason::Disabled,
        StatusReason::CatchUpOff,
        StatusReason::OutsideWindow,
        StatusReason::InvalidConfig,
        StatusReason::ProviderDown,
        StatusReason::CaughtUp,
        StatusReason::Paused,
        StatusReason::OverBudget,
        StatusReason::Unparseable,
        StatusReason::Elsewhere,
    ];

    /// The meaning as text.
    pub fn meaning(self) -> &'static str {
        match self {
            StatusReason::NotStale => {
                "every note of the pipeline was visited recently and has not changed since"
            }
            StatusReason::TooFewResults => "the pipeline returns fewer notes than `query.min-results`",
            StatusReason::Overlap => "the agent was already running",
            StatusReason::Cooldown => "its last run ended less than `schedule.cooldown` ago",
            StatusReason::Disabled => "`enabled = false`",
            StatusReason::CatchUpOff => {
                "its time passed while no daemon was running, and `schedule.catch-up` is \"skip\""
            }
            StatusReason::OutsideWindow => {
                "its time passed longer ago than `schedule.catch-up-window` allows"
            }
            StatusReason::InvalidConfig => {
                "the agent file, the model or its API key is not usable as configured"
            }
            StatusReason::ProviderDown => {
                "the provider did not answer, or calls to it are suspended for a while"
            }
            StatusReason::CaughtUp => "one run covers several slots that had passed",
            StatusReason::Paused => {
                "the agent was paused by a person, or after too many consecutive failures"
            }
            StatusReason::OverBudget => "the budget of the day, of the run or of the tenant is used up",
            StatusReason::Unparseable => "no reply of the model was valid",
            StatusReason::Elsewhere => "`runs-agents` of this daemon does not include the agent",
            StatusReason::NoLanguageModel => "the agent had no language model",
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
