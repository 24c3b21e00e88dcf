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

impl Rejection {
    const ALL: [Rejection; 11] = [
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
