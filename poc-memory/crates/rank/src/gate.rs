//! The gate of `query`: whether the notes found answer the question.
//!
//! One number decides. It combines the coverage of the question by the notes found with the cosine of the
//! nearest note. Neither is enough alone: a note may contain every word of a question and be about something
//! else, and a cosine cannot see a name that the store does not know. When a cross-encoder has scored the
//! notes, its likelihood decides alone.
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How certain an answer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum Verdict {
    /// The store does not know the answer.
    Miss,
    /// The store knows something similar; unverified.
    Weak,
    /// The store knows the answer.
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
}

/// How well a question and the notes found agree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Signals {
    /// The greatest share of the question, 0–1, that one of the notes found covers, by the weight of its words.
    /// Words that no note has lower it.
    pub coverage: f64,
    /// The greatest cosine of the question with any note, −1 to 1.
    pub cosine: f64,
    /// The greatest likelihood, 0–1, that a note answers the question, if a cross-encoder has scored the notes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub likelihood: Option<f64>,
    /// Coverage plus the weighted cosine; the likelihood instead, if there is one.
    pub certainty: f64,
}

impl Signals {
    /// Combines both: `certainty = coverage + weight · cosine`.
    pub fn of(coverage: f64, cosine: f64, weight: f64) -> Signals {
        Signals { coverage, cosine, likelihood: None, certainty: coverage + weight * cosine }
    }

    /// The same with the likelihood of a cross-encoder, which then is the certainty.
    #[must_use]
    pub fn judged(self, likelihood: Option<f64>) -> Signals {
        Signals { likelihood, certainty: likelihood.unwrap_or(self.certainty), ..self }
    }

    /// Compares the certainty with the thresholds of a gate.
    pub fn judge(&self, gate: &poc_config::GateConfig) -> Verdict {
        if self.certainty >= gate.strong {
            Verdict::Strong
        } else if self.certainty >= gate.weak {
            Verdict::Weak
        } else {
            Verdict::Miss
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const GATE: poc_config::GateConfig = poc_config::GateConfig { strong: 1.5, weak: 1.0 };

    #[test]
    fn by_hand() {
        let check = |coverage, cosine, verdict| {
            assert_eq!(Signals::of(coverage, cosine, 2.0).judge(&GATE), verdict, "{coverage} {cosine}");
        };
        check(1.0, 0.25, Verdict::Strong);
        check(0.5, 0.5, Verdict::Strong);
        check(0.5, 0.49, Verdict::Weak);
        check(0.0, 0.5, Verdict::Weak);
        check(0.9, 0.04, Verdict::Miss);
        check(0.0, -1.0, Verdict::Miss);
        let sure = Signals::of(1.0, 1.0, 2.0);
        assert_eq!(sure.judged(None), sure);
        assert_eq!(sure.judged(Some(0.2)).judge(&GATE), Verdict::Miss);
    }

    proptest! {
        #[test]
        fn more_agreement_never_lowers_a_verdict(
            coverage in 0.0f64..1.0, cosine in -1.0f64..1.0, more in 0.0f64..1.0, weight in 0.0f64..4.0,
        ) {
            let less = Signals::of(coverage, cosine, weight).judge(&GATE);
            prop_assert!(Signals::of((coverage + more).min(1.0), cosine, weight).judge(&GATE) >= less);
            prop_assert!(Signals::of(coverage, (cosine + more).min(1.0), weight).judge(&GATE) >= less);
        }
    }
}
