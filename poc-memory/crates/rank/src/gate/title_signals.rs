//! The signals of the gates `two-path` and `fused`: how well a question matches the title of a note.
//!
//! [`TitleSignals::order_value`] orders candidates. Its weights come from the GRAFT memory, like the gates: 2 for
//! STRONG, 1 for WEAK, 0.45 for the cross-encoder, 0.25 for trigrams, 0.20 for words, 0.10 for the cosine. The signals
//! add up to at most 1, so they never outweigh a verdict.

use super::Verdict;
use crate::jaccard;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How well a question matches a title. Each value is 0–1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TitleSignals {
    /// The cosine of their vectors; negative cosines count as 0.
    #[serde(rename = "vec")]
    pub cosine: f64,
    /// The Jaccard similarity of their character trigrams.
    #[serde(rename = "lex")]
    pub trigrams: f64,
    /// The Jaccard similarity of their words.
    #[serde(rename = "jaccard")]
    pub words: f64,
    /// The likelihood that the note answers the question; `None` if no cross-encoder has scored it.
    #[serde(rename = "ce", default, skip_serializing_if = "Option::is_none")]
    pub likelihood: Option<f64>,
    /// The weighted mean of the signals; `None` unless the gate is `fused`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fused: Option<f64>,
}

impl TitleSignals {
    /// Computes the signals from a question and a title, the cosine of their vectors, and the likelihood of a
    /// cross-encoder.
    pub fn of(question: &str, title: &str, cosine: f64, likelihood: Option<f64>) -> TitleSignals {
        TitleSignals {
            cosine: cosine.clamp(0.0, 1.0),
            trigrams: jaccard::trigrams(question, title),
            words: jaccard::words(question, title),
            likelihood,
            fused: None,
        }
    }

    /// The value by which candidates are ordered, 0–3: first by verdict, then by signals.
    pub fn order_value(&self, verdict: Verdict) -> f64 {
        let passed = match verdict {
            Verdict::Strong => 2.0,
            Verdict::Weak => 1.0,
            Verdict::Miss => 0.0,
        };
        let likelihood = self.likelihood.unwrap_or(0.0);
        passed + 0.45 * likelihood + 0.25 * self.trigrams + 0.20 * self.words + 0.10 * self.cosine
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn results_match_values_computed_by_hand() {
        let same = TitleSignals::of("B-tree", "b-TREE", 1.2, None);
        assert_eq!((same.cosine, same.trigrams, same.words), (1.0, 1.0, 1.0));
        assert_eq!(TitleSignals::of("a", "b", -0.5, Some(0.3)).cosine, 0.0);
        let signals = TitleSignals { cosine: 0.5, trigrams: 0.4, ..TitleSignals::default() };
        assert_eq!(signals.order_value(Verdict::Miss), 0.25 * 0.4 + 0.10 * 0.5);
    }

    poc_laws::laws! {
        #[test]
        fn no_signal_outweighs_a_verdict(
            a in [0.0f64..1.0, 0.0..1.0, 0.0..1.0, 0.0..1.0], b in [0.0f64..1.0, 0.0..1.0, 0.0..1.0, 0.0..1.0],
        ) {
            let signals = |[cosine, trigrams, words, likelihood]: [f64; 4]| {
                TitleSignals { cosine, trigrams, words, likelihood: Some(likelihood), fused: None }
            };
            prop_assert!(signals(a).order_value(Verdict::Miss) < signals(b).order_value(Verdict::Weak));
            prop_assert!(signals(a).order_value(Verdict::Weak) < signals(b).order_value(Verdict::Strong));
        }
    }
}
