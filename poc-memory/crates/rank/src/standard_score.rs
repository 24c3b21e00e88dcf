//! Standard scores: by how many standard deviations a value lies above the mean of its kind. They make
//! scores of different kinds comparable and, unlike ranks or a rescaling to 0–1, keep how far the best
//! stands out.

/// What keeps a kind in which all values are alike from being divided by nothing.
const LEAST: f64 = 1e-9;

/// What values are counted in: 2⁻⁴⁰.
const UNIT: f64 = (1u64 << 40) as f64;

/// Moments over values, from which their mean and spread follow. They are sums of whole numbers, of 2⁻⁴⁰ each:
/// the order in which values come plays no part, not even in the last digit, so that an index of the past
/// gives the scores of then. A value may be up to 8 million.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moments {
    sum: i128,
    squares: i128,
}

fn units(value: f64) -> i128 {
    // By way of 64 bits, which is what processors do at once.
    i128::from((value * UNIT) as i64)
}

/// The square of a value in units.
fn square(units: i128) -> i128 {
    (units * units) >> 40
}

impl Moments {
    /// Counts a value in. Zeros need not be.
    #[inline]
    pub fn add(&mut self, value: f64) {
        let units = units(value);
        self.sum += units;
        self.squares += square(units);
    }

    /// Takes a value out that was counted in.
    pub fn subtract(&mut self, value: f64) {
        let units = units(value);
        self.sum -= units;
        self.squares -= square(units);
    }

    /// What the sums would be over `factor` times as many values alike.
    #[must_use]
    pub fn times(self, factor: usize) -> Moments {
        let factor = factor as i128;
        Moments { sum: self.sum * factor, squares: self.squares * factor }
    }

    /// The scale of `count` values in all, of which those that were not counted in are 0.
    pub fn scale(self, count: usize) -> Scale {
        let count = count.max(1) as f64;
        let mean = self.sum as f64 / UNIT / count;
        // Rounding may leave less than nothing.
        let variance = (self.squares as f64 / UNIT / count - mean * mean).max(0.0);
        Scale { mean, deviation: variance.sqrt() }
    }
}

/// Where the values of a kind lie: their mean and their standard deviation, as of a whole population.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    mean: f64,
    deviation: f64,
}

impl Scale {
    /// The standard score of a value, `(x − mean) / (deviation + 10⁻⁹)`.
    #[inline]
    pub fn standard(self, value: f64) -> f64 {
        (value - self.mean) / (self.deviation + LEAST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn scale(values: &[f64]) -> Scale {
        let mut sums = Moments::default();
        values.iter().for_each(|&value| sums.add(value));
        sums.scale(values.len())
    }

    #[test]
    fn by_hand() {
        let known = scale(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]);
        assert_eq!(known, Scale { mean: 5.0, deviation: 2.0 });
        assert!((known.standard(9.0) - 2.0).abs() < 1e-8);
        assert_eq!(scale(&[3.0; 5]).standard(3.0), 0.0);
        assert_eq!(Moments::default().scale(0).standard(0.0), 0.0);
        // What stands alone among n values does by √(n − 1), however great it is.
        for value in [1.0, 5_290.0, 7e6] {
            let alone = scale(&[&[value][..], &[0.0; 49]].concat());
            assert!((alone.standard(value) - 7.0).abs() < 1e-6, "{value}");
        }
        assert!((scale(&[3200.0, 3300.0, 3500.0, 9000.0]).deviation - 2_456.115).abs() < 1e-2);
    }

    proptest! {
        /// Standard scores have mean 0 and deviation 1, and do not change with the unit.
        #[test]
        fn standard_scores_have_no_unit(
            values in proptest::collection::vec(-10.0f64..10.0, 2..60), factor in 0.1f64..10.0, shift in -5.0f64..5.0,
        ) {
            let known = scale(&values);
            prop_assume!(known.deviation > 1e-3);
            let standard: Vec<f64> = values.iter().map(|&value| known.standard(value)).collect();
            let again = scale(&standard);
            prop_assert!(again.mean.abs() < 1e-6 && (again.deviation - 1.0).abs() < 1e-4);
            let other: Vec<f64> = values.iter().map(|value| value * factor + shift).collect();
            let moved = scale(&other);
            for (value, one) in other.iter().zip(&standard) {
                prop_assert!((moved.standard(*value) - one).abs() < 1e-4);
            }
        }

        /// Zeros may be left out, what is taken out was never there, and a sample scales up.
        #[test]
        fn sums_add_up(values in proptest::collection::vec(0.0f64..10.0, 1..30), zeros in 0usize..30, gone in 0.0f64..10.0) {
            let mut sums = Moments::default();
            values.iter().for_each(|&value| sums.add(value));
            let all: Vec<f64> = values.iter().copied().chain(std::iter::repeat_n(0.0, zeros)).collect();
            let (a, b) = (sums.scale(all.len()), scale(&all));
            prop_assert_eq!(a, b);
            let backwards: Vec<f64> = all.iter().rev().copied().collect();
            prop_assert_eq!(scale(&backwards), b);
            let (twice, mut less) = (sums.times(2).scale(2 * all.len()), sums);
            prop_assert!((twice.mean - a.mean).abs() < 1e-9 && (twice.deviation - a.deviation).abs() < 1e-6);
            less.add(gone);
            less.subtract(gone);
            prop_assert!((less.scale(all.len()).mean - a.mean).abs() < 1e-9);
        }
    }
}
