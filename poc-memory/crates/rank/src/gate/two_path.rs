//! The gate `two-path`: a title is STRONG by its spelling or by its meaning. It is the default gate of the GRAFT
//! memory.
//!
//! - Spelling path: `trigrams ≥ lex-strong-min-lex` and `cosine ≥ lex-strong-min-vec`.
//! - Meaning path: `cosine ≥ sem-strong-min-vec` and `trigrams ≥ weak-min-lex + sem-margin`.
//! - With a cross-encoder, STRONG also requires `likelihood ≥ strong-min-ce`.
//! - WEAK: not STRONG, but `cosine ≥ weak-min-vec` and `trigrams ≥ weak-min-lex`.

use super::{TitleSignals, Verdict};
use poc_config::TwoPathConfig;

/// A path of the gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GatePath {
    /// Similar spelling, confirmed by the meaning.
    Spelling,
    /// Similar meaning, confirmed by the spelling.
    Meaning,
}

impl TitleSignals {
    /// The verdict of the gate `two-path`.
    pub fn judge_two_path(&self, gate: &TwoPathConfig) -> Verdict {
        let is_confirmed = self.likelihood.is_none_or(|likelihood| likelihood >= gate.strong_min_ce);
        if self.path(gate).is_some() && is_confirmed {
            Verdict::Strong
        } else if self.cosine >= gate.weak_min_vec && self.trigrams >= gate.weak_min_lex {
            Verdict::Weak
        } else {
            Verdict::Miss
        }
    }

    /// The first path that leads to STRONG, ignoring the cross-encoder.
    pub fn path(&self, gate: &TwoPathConfig) -> Option<GatePath> {
        if self.trigrams >= gate.lex_strong_min_lex && self.cosine >= gate.lex_strong_min_vec {
            Some(GatePath::Spelling)
        } else if self.cosine >= gate.sem_strong_min_vec
            && self.trigrams >= gate.weak_min_lex + gate.sem_margin
        {
            Some(GatePath::Meaning)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use poc_config::Config;
    use proptest::prelude::*;

    fn defaults() -> TwoPathConfig {
        Config::defaults().unwrap().query.two_path
    }

    fn signals(cosine: f64, trigrams: f64) -> TitleSignals {
        TitleSignals { cosine, trigrams, ..TitleSignals::default() }
    }

    #[test]
    fn results_match_values_computed_by_hand() {
        let gate = defaults();
        let check = |cosine, trigrams, path, verdict| {
            let signals = signals(cosine, trigrams);
            let judged = (signals.path(&gate), signals.judge_two_path(&gate));
            assert_eq!(judged, (path, verdict), "{cosine} {trigrams}");
        };
        check(0.70, 0.15, Some(GatePath::Spelling), Verdict::Strong);
        check(0.69, 0.15, None, Verdict::Miss);
        check(0.70, 0.149, None, Verdict::Miss);
        // The meaning is closer, and the spelling is above its minimum by the margin.
        check(0.75, 0.065, Some(GatePath::Meaning), Verdict::Strong);
        check(0.75, 0.064, None, Verdict::Miss);
        check(0.749, 0.065, None, Verdict::Miss);
        check(0.85, 0.064, None, Verdict::Weak);
        check(0.85, 0.05, None, Verdict::Weak);
        check(0.849, 0.05, None, Verdict::Miss);
        check(1.0, 0.049, None, Verdict::Miss);
        // The cross-encoder disagrees.
        let doubted = TitleSignals { likelihood: Some(0.59), ..signals(0.86, 0.5) };
        assert_eq!(doubted.judge_two_path(&gate), Verdict::Weak);
        assert_eq!(TitleSignals { likelihood: Some(0.60), ..doubted }.judge_two_path(&gate), Verdict::Strong);
    }

    poc_laws::laws! {
        #[test]
        fn more_agreement_never_lowers_a_verdict(
            cosine in 0.0f64..1.0,
            trigrams in 0.0f64..1.0,
            likelihood in proptest::option::of(0.0f64..1.0),
            more in 0.0f64..1.0,
        ) {
            let gate = defaults();
            let less = TitleSignals { likelihood, ..signals(cosine, trigrams) };
            let grown = |value: f64| (value + more).min(1.0);
            for better in [
                TitleSignals { cosine: grown(cosine), ..less },
                TitleSignals { trigrams: grown(trigrams), ..less },
                TitleSignals { likelihood: likelihood.map(grown), ..less },
            ] {
                prop_assert!(better.judge_two_path(&gate) >= less.judge_two_path(&gate));
            }
        }
    }
}
