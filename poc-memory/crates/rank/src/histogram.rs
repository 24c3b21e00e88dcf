//! A histogram of cosines with a fixed number of bins.
//!
//! Quantiles are accurate to half a bin, 0.005. They use the nearest-rank method (definition 1 of Hyndman
//! and Fan 1996) and return the middle of the bin that contains the value of that rank. Unlike adaptive
//! sketches, all histograms have the same bins, so merging is exact and independent of the order.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The number of bins from −1 to 1; each is 0.01 wide.
const BINS: u8 = 200;

/// A histogram of cosines. It stores at most 200 numbers, however many cosines were counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Histogram {
    // Empty bins are not stored.
    bins: BTreeMap<u8, u64>,
}

impl Histogram {
    /// Counts a cosine. Values outside −1 to 1 are clamped; NaN is ignored.
    pub fn add(&mut self, cosine: f64) {
        if cosine.is_nan() {
            return;
        }
        let scaled = (cosine.clamp(-1.0, 1.0) + 1.0) / 2.0 * f64::from(BINS);
        let bin = (scaled as u8).min(BINS - 1);
        *self.bins.entry(bin).or_default() += 1;
    }

    /// Adds the counts of another histogram.
    pub fn merge(&mut self, other: &Histogram) {
        for (&bin, count) in &other.bins {
            let own = self.bins.entry(bin).or_default();
            *own = own.saturating_add(*count);
        }
    }

    /// The number of cosines counted.
    pub fn count(&self) -> u64 {
        self.bins.values().fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// Whether no cosine was counted.
    pub fn is_empty(&self) -> bool {
        self.bins.is_empty()
    }

    /// The quantile for a share, 0–1: the cosine that at least this share of all cosines do not exceed. `None` for an
    /// empty histogram.
    pub fn quantile(&self, share: f64) -> Option<f64> {
        let rank = ((share.clamp(0.0, 1.0) * self.count() as f64).ceil() as u64).max(1);
        let mut cumulative = 0u64;
        self.bins.iter().find_map(|(&bin, count)| {
            cumulative = cumulative.saturating_add(*count);
            (cumulative >= rank).then(|| (2.0 * f64::from(bin) + 1.0 - f64::from(BINS)) / f64::from(BINS))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(cosines: &[f64]) -> Histogram {
        let mut histogram = Histogram::default();
        cosines.iter().for_each(|&cosine| histogram.add(cosine));
        histogram
    }

    #[test]
    fn results_match_values_computed_by_hand() {
        let tenths = of(&[0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]);
        let near = |share: f64, expected: f64| {
            let found = tenths.quantile(share).unwrap();
            assert!((found - expected).abs() <= 0.005 + 1e-12, "{share}: {found}");
        };
        near(0.0, 0.1);
        near(0.25, 0.3);
        near(0.5, 0.5);
        near(0.9, 0.9);
        near(0.99, 1.0);
        assert_eq!(of(&[]).quantile(0.5), None);
        assert_eq!((of(&[f64::NAN]).count(), of(&[-7.0, 7.0]).count()), (0, 2));
        assert_eq!((of(&[-7.0]).quantile(0.5), of(&[7.0]).quantile(0.5)), (Some(-0.995), Some(0.995)));
    }

    poc_laws::laws! {
        /// A quantile is within half a bin of the value of that rank, and monotone in the share.
        #[test]
        fn quantiles_agree_with_the_sorted_values(
            mut cosines in proptest::collection::vec(-1.0f64..=1.0, 1..300),
            share in 0.0f64..=1.0,
        ) {
            let histogram = of(&cosines);
            cosines.sort_by(f64::total_cmp);
            let rank = ((share * cosines.len() as f64).ceil() as usize).clamp(1, cosines.len());
            prop_assert!((histogram.quantile(share).unwrap() - cosines[rank - 1]).abs() <= 0.005 + 1e-9);
            prop_assert!(histogram.quantile(share) <= histogram.quantile((share + 0.1).min(1.0)));
        }

        /// Merging the histograms of two parts gives the histogram of all values.
        #[test]
        fn merging_the_histograms_of_parts_gives_that_of_all_values(
            cosines in proptest::collection::vec(-1.0f64..=1.0, 0..100),
            position in any::<proptest::sample::Index>(),
        ) {
            let (left, right) = cosines.split_at(if cosines.is_empty() { 0 } else { position.index(cosines.len()) });
            let mut sum = of(right);
            sum.merge(&of(left));
            prop_assert_eq!(sum, of(&cosines));
        }
    }
}
