//! Standard scores: how many standard deviations a value is above the mean. They make scores of different kinds
//! comparable and, unlike ranks or a rescaling to 0–1, preserve how far the best values stand out.

/// Added to the deviation to avoid a division by zero when all values are equal.
const EPSILON: f64 = 1e-9;

/// The number of units in 1. Values are summed as integers, in units of 2⁻⁴⁰.
const UNIT: f64 = (1u64 << 40) as f64;

/// The first two moments of a set of values: their sum and the sum of their squares. Both are integers in units of
/// 2⁻⁴⁰, so the result does not depend on the order of the values, not even in the last digit. An index rebuilt for a
/// past state therefore reproduces the scores of that time. Values may be at most 8 million.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moments {
    sum: i128,
    squares: i128,
}

fn units(value: f64) -> i128 {
    // The conversion through i64 is faster, because processors convert to it in one instruction.
    i128::from((value * UNIT) as i64)
}

/// The square of a value in units.
fn square(units: i128) -> i128 {
    (units * units) >> 40
}

impl Moments {
    /// Adds a value. Zeros need not be added.
    #[inline]
    pub fn add(&mut self, value: f64) {
        let units = units(value);
        self.sum += units;
        self.squares += square(units);
    }

    /// Removes a value that was added before.
    pub fn subtract(&mut self, value: f64) {
        let units = units(value);
        self.sum -= units;
        self.squares -= square(units);
    }

    /// The moments of the same values, each repeated `factor` times.
    #[must_use]
    pub fn times(self, factor: usize) -> Moments {
        let factor = factor as i128;
        Moments { sum: self.sum * factor, squares: self.squares * factor }
    }

    /// The mean and deviation of `count` values in total. Values that were not added count as 0.
    pub fn scale(self, count: usize) -> Scale {
        let count = count.max(1) as f64;
        let mean = self.sum as f64 / UNIT / count;
        // Rounding may give a negative variance.
        let variance = (self.squares as f64 / UNIT / count - mean * mean).max(0.0);
        Scale { mean, deviation: variance.sqrt() }
    }
}

/// The mean and the population standard deviation of values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    mean: f64,
    deviation: f64,
}

impl Scale {
    /// The standard score of a value, `(x − mean) / (deviation + 10⁻⁹)`.
    #[inline]
    pub fn standard(self, value: f64) -> f64 {
        (value - self.mean) / (self.deviation + EPSILON)
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
    fn results_match_values_computed_by_hand() {
        let known = scale(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]);
        assert_eq!(known, Scale { mean: 5.0, deviation: 2.0 });
        assert!((known.standard(9.0) - 2.0).abs() < 1e-8);
        assert_eq!(scale(&[3.0; 5]).standard(3.0), 0.0);
        assert_eq!(Moments::default().scale(0).standard(0.0), 0.0);
        // A single non-zero value among n has the score √(n − 1), however large it is.
        for value in [1.0, 5_290.0, 7e6] {
            let alone = scale(&[&[value][..], &[0.0; 49]].concat());
            assert!((alone.standard(value) - 7.0).abs() < 1e-6, "{value}");
        }
        assert!((scale(&[3200.0, 3300.0, 3500.0, 9000.0]).deviation - 2_456.115).abs() < 1e-2);
    }

    poc_laws::laws! {
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

        /// Zeros may be left out, removing a value undoes adding it, and `times` repeats the values.
        #[test]
        fn moments_add_up(values in proptest::collection::vec(0.0f64..10.0, 1..30), zeros in 0usize..30, removed in 0.0f64..10.0) {
            let mut sums = Moments::default();
            values.iter().for_each(|&value| sums.add(value));
            let all: Vec<f64> = values.iter().copied().chain(std::iter::repeat_n(0.0, zeros)).collect();
            let (a, b) = (sums.scale(all.len()), scale(&all));
            prop_assert_eq!(a, b);
            let backwards: Vec<f64> = all.iter().rev().copied().collect();
            prop_assert_eq!(scale(&backwards), b);
            let (twice, mut less) = (sums.times(2).scale(2 * all.len()), sums);
            prop_assert!((twice.mean - a.mean).abs() < 1e-9 && (twice.deviation - a.deviation).abs() < 1e-6);
            less.add(removed);
            less.subtract(removed);
            prop_assert!((less.scale(all.len()).mean - a.mean).abs() < 1e-9);
        }
    }
}
