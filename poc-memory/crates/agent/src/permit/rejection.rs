//! Why an action was not done.

/// The stable reasons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// The agent may not do this at all.
    NotPermitted,
    /// It names a node the prompt does not.
    UnknownHandle,
    /// It changes a node that is not among the agent's targets, or supersedes one that was not read whole.
    OutOfScope,
    /// It re-weights or supersedes a protected node.
    Protected,
    /// It is one too many, or too big.
    OverLimit,
    /// It ties a node to itself.
    SelfLink,
    /// A node it names is no longer what was read.
    ChangedSinceRead,
    /// A value is out of range.
    InvalidValue,
    /// It is so already; no failure.
    AlreadyPresent,
    /// It was left for a person to do, in rows of before proposals were kept; no failure.
    Proposed,
    /// The agent only observes; no failure.
    Observed,
}

/// A rejection with what it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The stable reason.
    pub rejection: Rejection,
    /// In words.
    pub detail: String,
}

impl Refusal {
    /// Why a part is not done, of the whole it goes with.
    pub(crate) fn of_whole(self, whole: &str) -> Refusal {
        let detail = format!("it goes with \"{whole}\", which is not done: {}", self.detail);
        Refusal { detail, ..self }
    }
}

impl Rejection {
    /// All of them.
    pub const ALL: [Rejection; 11] = [
        Rejection::NotPermitted,
        Rejection::UnknownHandle,
        Rejection::OutOfScope,
        Rejection::Protected,
        Rejection::OverLimit,
        Rejection::SelfLink,
        Rejection::ChangedSinceRead,
        Rejection::InvalidValue,
        Rejection::AlreadyPresent,
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
            Rejection::AlreadyPresent => "already-present",
            Rejection::Proposed => "proposed",
            Rejection::Observed => "observed",
        }
    }

    /// What it says, in words.
    pub fn meaning(self) -> &'static str {
        match self {
            Rejection::NotPermitted => "the agent is not permitted to do this",
            Rejection::UnknownHandle => "it names a note that is not in the prompt",
            Rejection::OutOfScope => {
                "it changes a note outside `limits.targets`, or replaces a note that the prompt did not show in full"
            }
            Rejection::Protected => "it re-weights or replaces a note that `limits.protect` protects",
            Rejection::OverLimit => "it exceeds a limit on the number or the size of actions",
            Rejection::SelfLink => "it links a note to itself",
            Rejection::ChangedSinceRead => {
                "a note it names was edited, superseded or deleted in the meantime"
            }
            Rejection::InvalidValue => "a value is out of range, or contradicts another",
            Rejection::AlreadyPresent => "it is already done, or already waits for a decision; not a failure",
            Rejection::Proposed => {
                "left for a person, in runs of releases before proposals were stored; not a failure"
            }
            Rejection::Observed => "the agent only observes; not a failure",
        }
    }

    /// Whether the reply asked for something it should not have.
    pub fn is_failure(self) -> bool {
        !matches!(self, Rejection::AlreadyPresent | Rejection::Proposed | Rejection::Observed)
    }

    /// The rejection with a code.
    pub fn parse(code: &str) -> Option<Rejection> {
        Rejection::ALL.into_iter().find(|rejection| rejection.code() == code)
    }

    pub(crate) fn because(self, detail: impl Into<String>) -> Refusal {
        Refusal { rejection: self, detail: detail.into() }
    }
}
