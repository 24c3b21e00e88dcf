//! Why an action was refused.

/// The reasons, each with a stable code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejection {
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
    /// Most links or new notes of the reply are not supported by the notes that they name.
    Unsupported,
    /// It is already done; not a failure.
    AlreadyPresent,
    /// A person rejected the same proposal, and its notes have not changed since; not a failure.
    RejectedBefore,
    /// It was left to a person, in rows of releases before proposals were stored; not a failure.
    Proposed,
    /// The agent only observes; not a failure.
    Observed,
}

/// A rejection with details.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The stable reason.
    pub rejection: Rejection,
    /// Details.
    pub detail: String,
}

impl Refusal {
    /// The refusal of the other actions in the group of the refused one.
    pub(crate) fn of_whole(self, whole: &str) -> Refusal {
        let detail = format!("it belongs to \"{whole}\", which was refused: {}", self.detail);
        Refusal { detail, ..self }
    }
}

impl Rejection {
    /// All of them.
    pub const ALL: [Rejection; 13] = [
        Rejection::NotPermitted,
        Rejection::UnknownHandle,
        Rejection::OutOfScope,
        Rejection::Protected,
        Rejection::OverLimit,
        Rejection::SelfLink,
        Rejection::ChangedSinceRead,
        Rejection::InvalidValue,
        Rejection::Unsupported,
        Rejection::AlreadyPresent,
        Rejection::RejectedBefore,
        Rejection::Proposed,
        Rejection::Observed,
    ];

    /// The code in ledgers and answers.
    pub fn code(self) -> &'static str {
        match self {
            Rejection::NotPermitted => "not-permitted",
            Rejection::UnknownHandle => "unknown-handle",
            Rejection::OutOfScope => "out-of-scope",
            Rejection::Protected => "protected",
            Rejection::OverLimit => "over-limit",
            Rejection::SelfLink => "self-link",
            Rejection::ChangedSinceRead => "changed-since-read",
            Rejection::InvalidValue => "invalid-value",
            Rejection::Unsupported => "unsupported",
            Rejection::AlreadyPresent => "already-present",
            Rejection::RejectedBefore => "rejected-before",
            Rejection::Proposed => "proposed",
            Rejection::Observed => "observed",
        }
    }

    /// Its meaning.
    pub fn meaning(self) -> &'static str {
        match self {
            Rejection::NotPermitted => "the agent is not permitted to do this",
            Rejection::UnknownHandle => "it names a note that is not in the prompt",
            Rejection::OutOfScope => {
                "it changes a note outside `limits.targets`, or replaces a note that the prompt did not show in full"
            }
            Rejection::Protected => "it replaces a note that `limits.protect` protects",
            Rejection::OverLimit => "it exceeds a limit on the number or the size of actions",
            Rejection::SelfLink => "it links a note to itself",
            Rejection::ChangedSinceRead => {
                "a note it names was edited, superseded or deleted in the meantime"
            }
            Rejection::InvalidValue => "a value is out of range, or contradicts another",
            Rejection::Unsupported => {
                "most links or new notes of the reply are not supported by the notes that they name"
            }
            Rejection::AlreadyPresent => "it is already done or already proposed; not a failure",
            Rejection::RejectedBefore => {
                "you rejected the same proposal, and its notes have not changed since; not a failure"
            }
            Rejection::Proposed => {
                "left for a person, in runs of releases before proposals were stored; not a failure"
            }
            Rejection::Observed => "the agent only observes; not a failure",
        }
    }

    /// Whether the model made a mistake, rather than the action being unnecessary or waiting.
    pub fn is_failure(self) -> bool {
        !matches!(
            self,
            Rejection::AlreadyPresent | Rejection::RejectedBefore | Rejection::Proposed | Rejection::Observed
        )
    }

    /// The rejection with a code.
    pub fn parse(code: &str) -> Option<Rejection> {
        Rejection::ALL.into_iter().find(|rejection| rejection.code() == code)
    }

    pub(crate) fn because(self, detail: impl Into<String>) -> Refusal {
        Refusal { rejection: self, detail: detail.into() }
    }
}
