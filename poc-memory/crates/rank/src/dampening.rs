//! Dampened gains, which become smaller as a weight approaches its cap.

/// The dampened change of a weight. A gain is multiplied by `max(0, 1 − weight / cap)`, so that repeated gains approach
/// the cap but never exceed it. A loss is not dampened.
pub fn dampened(delta: f64, weight: f64, cap: f64) -> f64 {
    if delta > 0.0 { delta * (1.0 - weight / cap).max(0.0) } else { delta }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn results_match_values_computed_by_hand() {
        assert_eq!(dampened(1.0, 0.0, 100.0), 1.0);
        assert_eq!(dampened(1.0, 25.0, 100.0), 0.75);
        assert_eq!(dampened(2.0, 50.0, 100.0), 1.0);
        assert_eq!(dampened(1.0, 100.0, 100.0), 0.0);
        assert_eq!(dampened(1.0, 150.0, 100.0), 0.0);
        assert_eq!(dampened(-1.0, 99.0, 100.0), -1.0);
    }

    poc_laws::laws! {
        #[test]
        fn gains_of_at_most_the_cap_never_exceed_it(weight in 0.0f64..=100.0, deltas in proptest::collection::vec(0.0f64..=100.0, 0..50)) {
            let mut weight = weight;
            for delta in deltas {
                let after = weight + dampened(delta, weight, 100.0);
                prop_assert!(after >= weight && after <= 100.0 + 1e-9);
                weight = after.min(100.0);
            }
        }
    }
}
