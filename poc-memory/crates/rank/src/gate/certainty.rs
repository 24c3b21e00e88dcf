//! The gate `certainty`, which decides by one number: the coverage of the question by a note found, plus the weighted
//! cosine of the nearest note.
//!
//! Neither of them suffices alone. A note may contain every word of a question and be about something else, and a
//! cosine does not reveal that the store lacks a name. If a cross-encoder has scored the notes, only its likelihood
//! counts.

use super::Verdict;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How well the notes found match a question.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CertaintySignals {
    /// The highest share of the question, 0–1, that one of the notes found covers. Words are weighted by rarity; words
    /// that no note contains lower the share.
    pub coverage: f64,
    /// The highest cosine of the question with any note, −1 to 1.
    pub cosine: f64,
    /// The highest likelihood, 0–1, that a note answers the question; `None` if no cross-encoder has scored the notes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub likelihood: Option<f64>,
    /// The value that is compared with the thresholds: the likelihood if there is one, otherwise the coverage plus the
    /// weighted cosine.
    pub certainty: f64,
}

impl CertaintySignals {
    /// Combines coverage and cosine: `certainty = coverage + weight · cosine`.
    pub fn of(coverage: f64, cosine: f64, weight: f64) -> CertaintySignals {
        CertaintySignals { coverage, cosine, likelihood: None, certainty: coverage + weight * cosine }
    }

    /// Replaces the certainty with the likelihood of a cross-encoder, if there is one.
    #[must_use]
    pub fn judged(self, likelihood: Option<f64>) -> CertaintySignals {
        CertaintySignals { likelihood, certainty: likelihood.unwrap_or(self.certainty), ..self }
    }

    /// Compares the certainty with the thresholds of a gate.
    pub fn judge(&self, gate: &poc_config::GateConfig) -> Verdict {
        Verdict::of_value(self.certainty, gate.strong, gate.weak)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const GATE: poc_config::GateConfig = poc_config::GateConfig { strong: 1.5, weak: 1.0 };

    #[test]
    fn results_match_values_computed_by_hand() {
        let check = |coverage, cosine, verdict| {
            let signals = CertaintySignals::of(coverage, cosine, 2.0);
            assert_eq!(signals.judge(&GATE), verdict, "{coverage} {cosine}");
        };
        check(1.0, 0.25, Verdict::Strong);
        check(0.5, 0.5, Verdict::Strong);
        check(0.5, 0.49, Verdict::Weak);
        check(0.0, 0.5, Verdict::Weak);
        check(0.9, 0.04, Verdict::Miss);
        check(0.0, -1.0, Verdict::Miss);
        let sure = CertaintySignals::of(1.0, 1.0, 2.0);
        assert_eq!(sure.judged(None), sure);
        assert_eq!(sure.judged(Some(0.2)).judge(&GATE), Verdict::Miss);
    }

    poc_laws::laws! {
        #[test]
        fn more_agreement_never_lowers_a_verdict(
            coverage in 0.0f64..1.0, cosine in -1.0f64..1.0, more in 0.0f64..1.0, weight in 0.0f64..4.0,
        ) {
            let judge = |coverage, cosine| CertaintySignals::of(coverage, cosine, weight).judge(&GATE);
            let less = judge(coverage, cosine);
            prop_assert!(judge((coverage + more).min(1.0), cosine) >= less);
            prop_assert!(judge(coverage, (cosine + more).min(1.0)) >= less);
        }
    }
}
