//! The gate `fused`, which decides by the weighted mean of the signals of a title. It comes from the GRAFT memory
//! (`use_fused_gate`).
//!
//! `fused = Σ weightᵢ · signalᵢ / Σ weightᵢ` over `vec`, `lex` and `ce`. A signal without a value is left out of both
//! sums.

use super::{TitleSignals, Verdict};
use poc_config::FusedConfig;

impl TitleSignals {
    /// The weighted mean of the signals, 0–1; 0 if all weights are 0.
    pub fn weighted_mean(&self, gate: &FusedConfig) -> f64 {
        let signals =
            [(gate.vec_weight, Some(self.vec)), (gate.lex_weight, Some(self.lex)), (gate.ce_weight, self.ce)];
        let (sum, weights) = signals
            .into_iter()
            .filter_map(|(weight, signal)| Some((weight, signal?)))
            .fold((0.0, 0.0), |(sum, weights), (weight, signal)| (sum + weight * signal, weights + weight));
        if weights > 0.0 { sum / weights } else { 0.0 }
    }

    /// The verdict of the gate `fused`.
    pub fn judge_fused(&self, gate: &FusedConfig) -> Verdict {
        Verdict::of_value(self.weighted_mean(gate), gate.strong_min_fused, gate.weak_min_fused)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use poc_config::Config;
    use proptest::prelude::*;

    fn defaults() -> FusedConfig {
        Config::defaults().unwrap().query.fused
    }

    fn signals(vec: f64, lex: f64) -> TitleSignals {
        TitleSignals { vec, lex, ..TitleSignals::default() }
    }

    #[test]
    fn results_match_values_computed_by_hand() {
        let gate = defaults();
        let check = |signals: TitleSignals, mean: f64, verdict| {
            assert!((signals.weighted_mean(&gate) - mean).abs() < 5e-4, "{}", signals.weighted_mean(&gate));
            assert_eq!(signals.judge_fused(&gate), verdict);
        };
        check(signals(0.80, 0.40), 0.618, Verdict::Weak);
        check(signals(0.95, 0.85), 0.905, Verdict::Strong);
        // (0.30 · 0.80 + 0.25 · 0.40 + 0.45 · 1.0) / 1.0
        check(TitleSignals { ce: Some(1.0), ..signals(0.80, 0.40) }, 0.79, Verdict::Strong);
        check(signals(0.0, 0.0), 0.0, Verdict::Miss);
    }

    proptest! {
        #[test]
        fn it_is_between_its_signals_and_grows_with_each(
            vec in 0.0f64..1.0, lex in 0.0f64..1.0, ce in proptest::option::of(0.0f64..1.0), more in 0.0f64..1.0,
        ) {
            let gate = defaults();
            let less = TitleSignals { ce, ..signals(vec, lex) };
            let mean = less.weighted_mean(&gate);
            let all = [Some(vec), Some(lex), ce];
            prop_assert!(all.into_iter().flatten().any(|signal| signal <= mean + 1e-12));
            prop_assert!(all.into_iter().flatten().any(|signal| signal >= mean - 1e-12));
            let grown = |value: f64| (value + more).min(1.0);
            for better in [
                TitleSignals { vec: grown(vec), ..less },
                TitleSignals { lex: grown(lex), ..less },
                TitleSignals { ce: ce.map(grown), ..less },
            ] {
                prop_assert!(better.weighted_mean(&gate) >= mean);
                prop_assert!(better.judge_fused(&gate) >= less.judge_fused(&gate));
            }
        }
    }
}
