//! The gates of `query`: whether the notes found are about what was asked. Each gate is a formula of its own;
//! `[query] gate` chooses one.

pub mod certainty;
pub mod fused;
pub mod title_signals;
pub mod two_path;

pub use certainty::CertaintySignals;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
pub use title_signals::TitleSignals;

/// How certain it is that a note is about what was asked. No gate can tell whether the note contains the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum Verdict {
    /// No note is about this.
    Miss,
    /// A note may be about this; unverified.
    Weak,
    /// A note is about this. It need not contain the answer.
    Strong,
}

impl Verdict {
    /// The name people and JSON use.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Miss => "MISS",
            Verdict::Weak => "WEAK",
            Verdict::Strong => "STRONG",
        }
    }

    /// STRONG from the threshold `strong` on, WEAK from the threshold `weak` on.
    pub fn of_value(value: f64, strong: f64, weak: f64) -> Verdict {
        if value >= strong {
            Verdict::Strong
        } else if value >= weak {
            Verdict::Weak
        } else {
            Verdict::Miss
        }
    }
}

/// The numbers a gate decides by.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Signals {
    /// Those of the gate `certainty`.
    Certainty(CertaintySignals),
    /// Those of the gates `two-path` and `fused`.
    Titles(TitleSignals),
}
