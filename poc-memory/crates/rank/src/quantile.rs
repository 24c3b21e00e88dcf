//! Quantiles by the nearest-rank method (definition 1 of Hyndman and Fan 1996): the smallest value that at least a
//! given share of all values do not exceed.

/// The quantile for a share, 0–1; `None` without values. Sorts the values.
pub fn quantile(values: &mut [f64], share: f64) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let rank = (share.clamp(0.0, 1.0) * values.len() as f64).ceil() as usize;
    values.get(rank.max(1) - 1).copied()
}

/// The quantile of several groups of values. Every group has the same total weight, however many values it has. `None`
/// without values.
pub fn of_groups<'a>(groups: impl Iterator<Item = &'a [f64]>, share: f64) -> Option<f64> {
    let weighted = |group: &'a [f64]| group.iter().map(move |&value| (value, 1.0 / group.len() as f64));
    let mut values: Vec<(f64, f64)> = groups.flat_map(weighted).collect();
    values.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    let all: f64 = values.iter().map(|(_, weight)| weight).sum();
    let mut cumulative = 0.0;
    let reached = values.iter().find(|(_, weight)| {
        cumulative += weight;
        // Rounding may make sums of fractions slightly too small.
        cumulative >= share.clamp(0.0, 1.0) * all - 1e-9
    });
    reached.or(values.last()).map(|(value, _)| *value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn results_match_values_computed_by_hand() {
        let mut values = [4.0, 1.0, 3.0, 2.0];
        assert_eq!(quantile(&mut values, 0.5), Some(2.0));
        assert_eq!(quantile(&mut values, 0.51), Some(3.0));
        assert_eq!((quantile(&mut values, 0.0), quantile(&mut values, 1.0)), (Some(1.0), Some(4.0)));
        assert_eq!(quantile(&mut [], 0.5), None);
        let groups = [&[1.0, 2.0, 3.0, 4.0][..], &[10.0], &[]];
        for (share, expected) in [(0.0, 1.0), (0.125, 1.0), (0.13, 2.0), (0.5, 4.0), (0.51, 10.0)] {
            assert_eq!(of_groups(groups.into_iter(), share), Some(expected), "{share}");
        }
        assert_eq!(of_groups([&[][..]].into_iter(), 0.5), None);
    }

    poc_laws::laws! {
        /// At least the remaining share of the values reaches the quantile.
        #[test]
        fn a_quantile_splits_the_values_by_its_share(mut values in proptest::collection::vec(-9.0f64..9.0, 1..40), share in 0.0f64..=1.0) {
            let at = quantile(&mut values, share).unwrap();
            prop_assert!(values.contains(&at));
            let rank = share * values.len() as f64;
            if (rank - rank.round()).abs() > 1e-6 {
                prop_assert_eq!(of_groups([&values[..]].into_iter(), share), Some(at));
            }
            let reach = values.iter().filter(|value| **value >= at).count() as f64 / values.len() as f64;
            prop_assert!(reach >= 1.0 - share - 1e-9);
        }
    }
}
