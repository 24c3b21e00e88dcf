//! Quantiles of a few values: the smallest of them that a share of all does not exceed (the nearest rank,
//! definition 1 of Hyndman and Fan 1996).

/// The quantile for a share, 0–1; `None` of no values. Values are put in order on the way.
pub fn quantile(values: &mut [f64], share: f64) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let rank = (share.clamp(0.0, 1.0) * values.len() as f64).ceil() as usize;
    values.get(rank.max(1) - 1).copied()
}

/// The share of the values, 0–1, that reach a threshold; 0 of no values.
pub fn reaching(values: &[f64], threshold: f64) -> f64 {
    let reach = values.iter().filter(|value| **value >= threshold).count();
    reach as f64 / values.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn by_hand() {
        let mut values = [4.0, 1.0, 3.0, 2.0];
        assert_eq!(quantile(&mut values, 0.5), Some(2.0));
        assert_eq!(quantile(&mut values, 0.51), Some(3.0));
        assert_eq!((quantile(&mut values, 0.0), quantile(&mut values, 1.0)), (Some(1.0), Some(4.0)));
        assert_eq!(quantile(&mut [], 0.5), None);
        assert_eq!((reaching(&values, 3.0), reaching(&[], 3.0)), (0.5, 0.0));
    }

    proptest! {
        /// What reaches the quantile of a share is at least the rest of all.
        #[test]
        fn a_quantile_divides(mut values in proptest::collection::vec(-9.0f64..9.0, 1..40), share in 0.0f64..=1.0) {
            let at = quantile(&mut values, share).unwrap();
            prop_assert!(values.contains(&at));
            prop_assert!(reaching(&values, at) >= 1.0 - share - 1e-9);
        }
    }
}
