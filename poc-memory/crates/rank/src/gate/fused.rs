//! The gate `fused`, which decides by the weighted mean of the signals of a title. It comes from the GRAFT memory
//! (`use_fused_gate`).
//!
//! `fused = Σ weightᵢ · signalᵢ / Σ weightᵢ` over `cosine`, `trigrams` and `likelihood`. A signal without a value is
//! left out of both sums.

use super::{TitleSignals, Verdict};
use poc_config::FusedConfig;

impl TitleSignals {
    /// The weighted mean of the signals, 0–1; 0 if all weights are 0.
    pub fn weighted_mean(&self, gate: &FusedConfig) -> f64 {
        let signals = [
            (gate.vec_weight, Some(self.cosine)),
            (gate.lex_weight, Some(self.trigrams)),
            (gate.ce_weight, self.likelihood),
        ];
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

    fn signals(cosine: f64, trigrams: f64) -> TitleSignals {
        TitleSignals { cosine, trigrams, ..TitleSignals::default() }
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
        check(TitleSignals { likelihood: Some(1.0), ..signals(0.80, 0.40) }, 0.79, Verdict::Strong);
        check(signals(0.0, 0.0), 0.0, Verdict::Miss);
    }

    poc_laws::laws! {
        #[test]
        fn the_mean_is_between_its_signals_and_grows_with_each(
            cosine in 0.0f64..1.0,
            trigrams in 0.0f64..1.0,
            likelihood in proptest::option::of(0.0f64..1.0),
            more in 0.0f64..1.0,
        ) {
            let gate = defaults();
            let less = TitleSignals { likelihood, ..signals(cosine, trigrams) };
            let mean = less.weighted_mean(&gate);
            let all = [Some(cosine), Some(trigrams), likelihood];
            prop_assert!(all.into_iter().flatten().any(|signal| signal <= mean + 1e-12));
            prop_assert!(all.into_iter().flatten().any(|signal| signal >= mean - 1e-12));
            let grown = |value: f64| (value + more).min(1.0);
            for better in [
                TitleSignals { cosine: grown(cosine), ..less },
                TitleSignals { trigrams: grown(trigrams), ..less },
                TitleSignals { likelihood: likelihood.map(grown), ..less },
            ] {
                prop_assert!(better.weighted_mean(&gate) >= mean);
                prop_assert!(better.judge_fused(&gate) >= less.judge_fused(&gate));
            }
        }
    }
}
