//! The percentile bootstrap (Efron 1979): a confidence interval for a mean without assumptions
//! about the distribution of the values.

use poc_graph::rng::{Rng, SeededRng};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Number of bootstrap samples.
const SAMPLES: usize = 2_000;

/// A fixed seed, so that the same values always give the same interval.
const SEED: u64 = 95;

/// A mean with its 95 % confidence interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConfidenceInterval {
    /// The mean.
    pub mean: f64,
    /// The 2.5th percentile of the sample means.
    pub low: f64,
    /// The 97.5th percentile of the sample means.
    pub high: f64,
}

/// The mean of values with its confidence interval; all zeros without values. For paired samples,
/// pass the differences.
pub fn of_mean(values: &[f64]) -> ConfidenceInterval {
    let rng = SeededRng::new(SEED);
    interval(mean(values), || mean_of_sample(values, &rng))
}

/// The difference `mean(after) − mean(before)` of two independent samples, with its confidence
/// interval.
pub fn of_difference(before: &[f64], after: &[f64]) -> ConfidenceInterval {
    let rng = SeededRng::new(SEED);
    interval(mean(after) - mean(before), || mean_of_sample(after, &rng) - mean_of_sample(before, &rng))
}

fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}

/// The mean of a bootstrap sample: `values.len()` values drawn with replacement.
fn mean_of_sample(values: &[f64], rng: &dyn Rng) -> f64 {
    let count = values.len();
    let index = || ((u128::from(rng.next_u64()) * count as u128) >> 64) as usize;
    let sum: f64 = (0..count).filter_map(|_| values.get(index())).sum();
    sum / count.max(1) as f64
}

fn interval(mean: f64, sample: impl Fn() -> f64) -> ConfidenceInterval {
    let mut means: Vec<f64> = (0..SAMPLES).map(|_| sample()).collect();
    means.sort_by(f64::total_cmp);
    let tail = SAMPLES / 40;
    let at = |index: usize| means.get(index).copied().unwrap_or(mean);
    ConfidenceInterval { mean, low: at(tail), high: at(SAMPLES - 1 - tail) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    #[test]
    fn the_interval_of_equal_values_has_no_width() {
        assert_eq!(of_mean(&[0.25; 9]), ConfidenceInterval { mean: 0.25, low: 0.25, high: 0.25 });
        assert_eq!(of_mean(&[]), ConfidenceInterval::default());
        let one = of_difference(&[0.25; 3], &[0.75; 5]);
        assert_eq!(one, ConfidenceInterval { mean: 0.5, low: 0.5, high: 0.5 });
    }

    /// For many values, the interval approaches the normal approximation: 1.96 standard errors on
    /// either side.
    #[test]
    fn the_width_follows_the_standard_error() {
        let values: Vec<f64> = (0..1000).map(|number| f64::from(number % 2)).collect();
        let ConfidenceInterval { mean, low, high } = of_mean(&values);
        let expected = 1.96 * 0.5 / 1000f64.sqrt();
        assert_eq!(mean, 0.5);
        assert!((high - mean - expected).abs() < 0.004 && (mean - low - expected).abs() < 0.004);
        let apart = of_difference(&values, &values);
        assert!((apart.high - expected * 2f64.sqrt()).abs() < 0.006, "{apart:?}");
    }

    poc_laws::laws! {
        #![proptest_config(ProptestConfig::with_cases(16))]

        #[test]
        fn an_interval_lies_within_the_values_and_is_reproducible(values in vec(0.0f64..1.0, 1..40)) {
            let found = of_mean(&values);
            let (min, max) = values.iter().fold((1.0f64, 0.0f64), |(low, high), &v| (low.min(v), high.max(v)));
            prop_assert!(min - 1e-9 <= found.low && found.low <= found.high && found.high <= max + 1e-9);
            prop_assert_eq!(of_mean(&values), found);
        }
    }
}
