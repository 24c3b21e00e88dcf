//! Linear fading of a mark: the longer before the mark a note was written, the less it receives.

/// The share, 0–1, of a mark that a note receives if it was written `age` seconds before, for a mark that reaches back
/// `reach` seconds: `1 − age / reach`, and 0 beyond.
pub fn fade(age: f64, reach: f64) -> f64 {
    if reach > 0.0 { (1.0 - age.max(0.0) / reach).max(0.0) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn results_match_values_computed_by_hand() {
        assert_eq!(fade(0.0, 3600.0), 1.0);
        assert_eq!(fade(900.0, 3600.0), 0.75);
        assert_eq!(fade(3600.0, 3600.0), 0.0);
        assert_eq!(fade(7200.0, 3600.0), 0.0);
        assert_eq!(fade(0.0, 0.0), 0.0);
    }

    poc_laws::laws! {
        #[test]
        fn the_factor_falls_linearly(a in 0.0f64..1e6, b in 0.0f64..1e6) {
            let reach = 1e6;
            prop_assert!((fade(a, reach) - fade(b, reach) - (b - a) / reach).abs() < 1e-12);
        }
    }
}
