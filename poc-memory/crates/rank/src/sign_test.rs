//! The sign test (Dixon and Mood 1946): whether paired values decreased more often than chance explains.

/// The p-value, 0–1: the probability that at least `worse` of `worse + better` changed values decrease if decrease and
/// increase are equally likely: `Σ C(n, k) / 2ⁿ` for `k` from `worse` to `n`. It is 1 if no value decreased.
pub fn p_of_fall(worse: u32, better: u32) -> f64 {
    let n = worse + better;
    if worse == 0 {
        return 1.0;
    }
    // Uses ln C(n, k) and ln 2ⁿ, because the numbers themselves overflow.
    let ln_factorial = |k: u32| (1..=k).map(|i| f64::from(i).ln()).sum::<f64>();
    let ln_choose = |k: u32| ln_factorial(n) - ln_factorial(k) - ln_factorial(n - k);
    let half = f64::from(n) * std::f64::consts::LN_2;
    (worse..=n).map(|k| (ln_choose(k) - half).exp()).sum::<f64>().min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn results_match_values_computed_by_hand() {
        assert!((p_of_fall(5, 0) - 1.0 / 32.0).abs() < 1e-12);
        assert!((p_of_fall(4, 1) - 6.0 / 32.0).abs() < 1e-12);
        assert_eq!(p_of_fall(0, 7), 1.0);
        assert!(p_of_fall(300, 100) < 1e-20);
    }

    poc_laws::laws! {
        /// The p-values of decreases and of increases add up to 1 plus the probability of the observed split, which
        /// both count.
        #[test]
        fn the_p_value_is_a_probability_and_symmetric(worse in 1u32..60, better in 1u32..60) {
            let n = worse + better;
            let rest = p_of_fall(better + 1, worse - 1);
            prop_assert!((p_of_fall(worse, better) + rest - 1.0).abs() < 1e-9, "{n}");
            // Near 1, the difference is smaller than the rounding of a sum.
            let (more, before) = (p_of_fall(worse + 1, better), p_of_fall(worse, better));
            prop_assert!(more < before || before > 1.0 - 1e-9 && more < before + 1e-9, "{more} {before}");
        }
    }
}
