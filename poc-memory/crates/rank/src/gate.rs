//! The gates of `query`, which decide whether the notes found are about what was asked. Each gate is a separate
//! formula, chosen by `[query] gate`.

pub mod certainty;
pub mod fused;
pub mod title_signals;
pub mod two_path;

pub use certainty::CertaintySignals;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
pub use title_signals::TitleSignals;

/// How certain it is that the store has a note about the question. No gate can tell whether the note contains the
/// answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum Verdict {
    /// No note is about the question.
    Miss,
    /// A note may be about the question, but this is not certain.
    Weak,
    /// A note is about the question. It need not contain the answer.
    Strong,
}

impl Verdict {
    /// The name used on all surfaces and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Miss => "MISS",
            Verdict::Weak => "WEAK",
            Verdict::Strong => "STRONG",
        }
    }

    /// STRONG if `value` is at least `strong`, else WEAK if it is at least `weak`, else MISS.
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

/// The numbers that a gate decides by.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum GateSignals {
    /// The numbers of the gate `certainty`.
    Certainty(CertaintySignals),
    /// The numbers of the gates `two-path` and `fused`.
    Titles(TitleSignals),
}
