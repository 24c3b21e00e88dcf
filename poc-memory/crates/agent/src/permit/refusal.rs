//! Why an action was refused.

/// The reasons, each with a stable code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusalReason {
    /// The agent has no permission for this kind of action.
    NotPermitted,
    /// It names a node that is not in the prompt.
    UnknownHandle,
    /// It changes a node outside the agent's targets, or supersedes a node that the prompt did not show in full.
    OutOfScope,
    /// It supersedes a protected node.
    Protected,
    /// It exceeds a limit on number or size.
    OverLimit,
    /// It links a node to itself.
    SelfLink,
    /// A node it names has changed since it was read.
    ChangedSinceRead,
    /// A value is out of range.
    InvalidValue,
    /// Most links or new notes of the reply are not supported by the notes that they name, or it links nearly all
    /// candidates of the prompt.
    Unsupported,
    /// It already has the requested effect; not a failure.
    AlreadyPresent,
    /// A person rejected the same proposal, or rejected or undid the same link of any agent, and the notes have not
    /// changed since; not a failure.
    RejectedBefore,
    /// It was left to a person; only in rows of releases that did not store proposals. Not a failure.
    Proposed,
    /// The agent only observes; not a failure.
    Observed,
}

/// Why an action was refused, with details.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The reason.
    pub reason: RefusalReason,
    /// Details.
    pub detail: String,
}

impl Refusal {
    /// The refusal of the other actions in the group of a refused one.
    pub(crate) fn of_whole(self, whole: &str) -> Refusal {
        let detail = format!("it belongs to \"{whole}\", which was refused: {}", self.detail);
        Refusal { detail, ..self }
    }
}

impl RefusalReason {
    /// All reasons.
    pub const ALL: [RefusalReason; 13] = [
        RefusalReason::NotPermitted,
        RefusalReason::UnknownHandle,
        RefusalReason::OutOfScope,
        RefusalReason::Protected,
        RefusalReason::OverLimit,
        RefusalReason::SelfLink,
        RefusalReason::ChangedSinceRead,
        RefusalReason::InvalidValue,
        RefusalReason::Unsupported,
        RefusalReason::AlreadyPresent,
        RefusalReason::RejectedBefore,
        RefusalReason::Proposed,
        RefusalReason::Observed,
    ];

    /// The code in ledgers and answers.
    pub fn code(self) -> &'static str {
        match self {
            RefusalReason::NotPermitted => "not-permitted",
            RefusalReason::UnknownHandle => "unknown-handle",
            RefusalReason::OutOfScope => "out-of-scope",
            RefusalReason::Protected => "protected",
            RefusalReason::OverLimit => "over-limit",
            RefusalReason::SelfLink => "self-link",
            RefusalReason::ChangedSinceRead => "changed-since-read",
            RefusalReason::InvalidValue => "invalid-value",
            RefusalReason::Unsupported => "unsupported",
            RefusalReason::AlreadyPresent => "already-present",
            RefusalReason::RejectedBefore => "rejected-before",
            RefusalReason::Proposed => "proposed",
            RefusalReason::Observed => "observed",
        }
    }

    /// Its meaning.
    pub fn meaning(self) -> &'static str {
        match self {
            RefusalReason::NotPermitted => "the agent is not permitted to do this",
            RefusalReason::UnknownHandle => "it names a note that is not in the prompt",
            RefusalReason::OutOfScope => {
                "it changes a note outside `limits.targets`, or replaces a note that the prompt did not show in full"
            }
            RefusalReason::Protected => "it replaces a note that `limits.protect` protects",
            RefusalReason::OverLimit => "it exceeds a limit on the number or the size of actions",
            RefusalReason::SelfLink => "it links a note to itself",
            RefusalReason::ChangedSinceRead => {
                "a note it names was edited, superseded or deleted in the meantime"
            }
            RefusalReason::InvalidValue => "a value is out of range, or contradicts another",
            RefusalReason::Unsupported => {
                "most links or new notes of the reply are not supported by the notes that they name, or it links nearly all candidates"
            }
            RefusalReason::AlreadyPresent => "it is already done or already proposed; not a failure",
            RefusalReason::RejectedBefore => {
                "you rejected the same proposal, or rejected or undid the same link of any agent, and the notes have not \
                 changed since; not a failure"
            }
            RefusalReason::Proposed => {
                "left for a person to decide, in runs of releases that stored no proposals; not a failure"
            }
            RefusalReason::Observed => "the agent only observes; not a failure",
        }
    }

    /// Whether the model made a mistake, rather than the action being unnecessary or waiting.
    pub fn is_failure(self) -> bool {
        !matches!(
            self,
            RefusalReason::AlreadyPresent
                | RefusalReason::RejectedBefore
                | RefusalReason::Proposed
                | RefusalReason::Observed
        )
    }

    /// The reason with a code.
    pub fn parse(code: &str) -> Option<RefusalReason> {
        RefusalReason::ALL.into_iter().find(|reason| reason.code() == code)
    }

    pub(crate) fn because(self, detail: impl Into<String>) -> Refusal {
        Refusal { reason: self, detail: detail.into() }
    }
}
