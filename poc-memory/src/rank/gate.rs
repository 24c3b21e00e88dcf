//! Whether what was found is what was asked for: the gate of `query`.

use crate::config;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How sure an answer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum Verdict {
    /// It is not known.
    Miss,
    /// Something like it is known; unverified.
    Weak,
    /// It is known.
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

/// How a question and a title agree, each 0–1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Signals {
    /// Cosine of their vectors, negative ones as 0.
    pub vec: f64,
    /// Jaccard of their character trigrams.
    pub lex: f64,
    /// Jaccard of their words.
    pub jaccard: f64,
    /// What a cross-encoder says of them, where one is in use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ce: Option<f64>,
}

impl Signals {
    /// The verdict of the two-way gate: by text when spelling and meaning agree, by meaning when the
    /// meaning alone is near enough. Without any likeness of spelling nothing passes.
    pub fn judge(&self, gate: &config::Gate) -> Verdict {
        let by_text = self.lex >= gate.strong_text_lex && self.vec >= gate.strong_text_vec;
        let by_meaning =
            self.vec >= gate.strong_meaning_vec && self.lex >= gate.least_lex + gate.meaning_margin;
        let confirmed = self.ce.is_none_or(|ce| ce >= gate.strong_ce);
        if (by_text || by_meaning) && confirmed {
            Verdict::Strong
        } else if self.vec >= gate.weak_vec && self.lex >= gate.least_lex {
            Verdict::Weak
        } else {
            Verdict::Miss
        }
    }

    /// The verdict by one number: the weighted mean of the signals that are there.
    pub fn judge_fused(&self, gate: &config::FusedGate) -> Verdict {
        let fused = self.fused(gate);
        if fused >= gate.strong {
            Verdict::Strong
        } else if fused >= gate.weak {
            Verdict::Weak
        } else {
            Verdict::Miss
        }
    }

    /// The weighted mean of the signals that are there, 0–1: an absent one leaves both sums.
    pub fn fused(&self, gate: &config::FusedGate) -> f64 {
        let signals =
            [(gate.vec_weight, Some(self.vec)), (gate.lex_weight, Some(self.lex)), (gate.ce_weight, self.ce)];
        let there = signals.into_iter().filter_map(|(weight, signal)| Some((weight, signal?)));
        let (sum, weights) = there
            .fold((0.0, 0.0), |(sum, weights), (weight, signal)| (sum + weight * signal, weights + weight));
        if weights > 0.0 { sum / weights } else { 0.0 }
    }

    /// What puts candidates in order: the verdict first, then the signals.
    pub fn merit(&self, verdict: Verdict) -> f64 {
        let passed = match verdict {
            Verdict::Strong => 2.0,
            Verdict::Weak => 1.0,
            Verdict::Miss => 0.0,
        };
        passed + 0.45 * self.ce.unwrap_or(0.0) + 0.25 * self.lex + 0.20 * self.jaccard + 0.10 * self.vec
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, Query};
    use proptest::prelude::*;

    fn shipped() -> Query {
        Config::defaults().unwrap().query
    }

    fn signals(vec: f64, lex: f64) -> Signals {
        Signals { vec, lex, jaccard: 0.0, ce: None }
    }

    #[test]
    fn the_two_ways_in_and_their_thresholds() {
        let config = shipped();
        let gate = config.gate("hash").unwrap();
        let check = |vec, lex, expected| assert_eq!(signals(vec, lex).judge(gate), expected, "{vec} {lex}");
        // By text.
        check(0.70, 0.15, Verdict::Strong);
        check(0.69, 0.15, Verdict::Miss);
        check(0.70, 0.149, Verdict::Miss);
        // By meaning: nearer, and a margin above the least likeness of spelling.
        check(0.75, 0.065, Verdict::Strong);
        check(0.75, 0.064, Verdict::Miss);
        check(0.749, 0.065, Verdict::Miss);
        check(0.85, 0.064, Verdict::Weak);
        check(0.85, 0.05, Verdict::Weak);
        check(0.849, 0.05, Verdict::Miss);
        check(1.0, 0.049, Verdict::Miss);
        // A cross-encoder that does not agree.
        let doubted = Signals { ce: Some(0.59), ..signals(0.86, 0.5) };
        assert_eq!(doubted.judge(gate), Verdict::Weak);
        assert_eq!(Signals { ce: Some(0.60), ..doubted }.judge(gate), Verdict::Strong);
    }

    #[test]
    fn the_fused_gate_by_hand() {
        let config = shipped().fused;
        let check = |signals: Signals, fused: f64, verdict| {
            assert!((signals.fused(&config) - fused).abs() < 5e-4, "{}", signals.fused(&config));
            assert_eq!(signals.judge_fused(&config), verdict);
        };
        check(signals(0.80, 0.40), 0.618, Verdict::Weak);
        check(signals(0.95, 0.85), 0.905, Verdict::Strong);
        // (0.30 · 0.80 + 0.25 · 0.40 + 0.45 · 1.0) / 1.0
        check(Signals { ce: Some(1.0), ..signals(0.80, 0.40) }, 0.79, Verdict::Strong);
        check(signals(0.0, 0.0), 0.0, Verdict::Miss);
    }

    #[test]
    fn a_verdict_outweighs_all_signals() {
        let all = Signals { vec: 1.0, lex: 1.0, jaccard: 1.0, ce: Some(1.0) };
        let none = Signals { vec: 0.0, lex: 0.0, jaccard: 0.0, ce: None };
        assert!((all.merit(Verdict::Miss) - none.merit(Verdict::Weak)).abs() < 1e-12);
        assert_eq!(none.merit(Verdict::Strong), 2.0);
        assert_eq!(signals(0.5, 0.4).merit(Verdict::Miss), 0.25 * 0.4 + 0.10 * 0.5);
    }

    proptest! {
        #[test]
        fn more_agreement_never_lowers_a_verdict(
            vec in 0.0f64..1.0, lex in 0.0f64..1.0, ce in proptest::option::of(0.0f64..1.0), more in 0.0f64..1.0,
        ) {
            let config = shipped();
            let gate = config.gate("hash").unwrap();
            let less = Signals { ce, ..signals(vec, lex) };
            let grown = |value: f64| (value + more).min(1.0);
            for better in [
                Signals { vec: grown(vec), ..less },
                Signals { lex: grown(lex), ..less },
                Signals { ce: ce.map(grown), ..less },
            ] {
                prop_assert!(better.judge(gate) >= less.judge(gate));
                prop_assert!(better.judge_fused(&config.fused) >= less.judge_fused(&config.fused));
            }
        }
    }
}
