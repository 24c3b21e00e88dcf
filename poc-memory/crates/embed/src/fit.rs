//! Fits the rows of a table to the vectors that the model gives whole texts.
//!
//! The sum of the rows of a text should have the direction of the model's vector of that text. With eᵗ the rows sought,
//! bᵗ the rows given, nₛₜ how often token t occurs in text s, lₛ the length of Σₜ nₛₜ bᵗ and yₛ the vector of the model,
//! this minimises
//!
//! > Σₛ ‖Σₜ (nₛₜ / lₛ) eᵗ − yₛ‖² + λ Σₜ ‖eᵗ − g bᵗ‖²
//!
//! where g is the factor that fits the given rows best. This is ridge regression (Hoerl and Kennard 1970) towards the
//! given rows instead of zero. The rarer a token is, the less its row moves, and the row of a token without texts stays.
//! Each dimension is a system of linear equations, which conjugate gradients with the diagonal as preconditioner solve
//! (Saad 2003, algorithm 9.1).
//!
//! The result is the mean of the given and the fitted rows, both with the same sum of squares. The fitted rows alone
//! find texts about the same topic best, the given ones single words with the same meaning. No row becomes
//! shorter than the given one: the fit alone shortens rare words, which are often names, and facts about names are then
//! found less often.

use rayon::prelude::*;

/// λ, in units of the weight that a token has in a text of median length. With 5, the results were the same; with 30,
/// fewer definitions of words and turns of conversations were found.
const RIDGE: f64 = 10.0;

/// The share of the fitted rows in the result. With more, fewer synonyms are found; with less, fewer definitions of
/// words and turns of conversations.
const FITTED_SHARE: f32 = 0.5;

/// The residual, relative to that of the given rows, at which the equations count as solved.
const TOLERANCE: f64 = 0.01;

/// Maximum number of steps; more than a dozen are rarely needed.
const MAX_STEPS: usize = 50;

/// Which tokens a text has, and the vector that the model gives it.
pub(super) struct FitText {
    /// The token ids in the order of the text.
    pub(super) tokens: Vec<u32>,
    /// The vector of the model, in the same axes as the rows.
    pub(super) vector: Vec<f32>,
}

/// A matrix of few values other than 0.
struct SparseMatrix {
    // The columns and values of each row.
    rows: Vec<Vec<(u32, f32)>>,
    width: usize,
}

impl SparseMatrix {
    fn transposed(&self) -> SparseMatrix {
        let mut rows = vec![Vec::new(); self.width];
        for (at, row) in (0u32..).zip(&self.rows) {
            for &(column, value) in row {
                if let Some(row) = rows.get_mut(column as usize) {
                    row.push((at, value));
                }
            }
        }
        SparseMatrix { rows, width: self.rows.len() }
    }

    /// The product with a matrix of `dimensions` columns. Each row is summed in order, so that the result does not
    /// depend on the number of threads.
    fn times(&self, dense: &[Vec<f32>], dimensions: usize) -> Vec<Vec<f32>> {
        let product = |row: &Vec<(u32, f32)>| {
            let mut sum = vec![0.0; dimensions];
            for &(column, value) in row {
                if let Some(dense) = dense.get(column as usize) {
                    add(&mut sum, dense, value);
                }
            }
            sum
        };
        self.rows.par_iter().map(product).collect()
    }
}

/// The given rows, fitted to texts. Without texts that have a row other than 0, they are returned as they are.
pub(super) fn fit(given: Vec<Vec<f32>>, texts: &[FitText]) -> Vec<Vec<f32>> {
    let dimensions = given.first().map_or(0, Vec::len);
    let counts =
        SparseMatrix { rows: texts.iter().map(|text| counts(&text.tokens)).collect(), width: given.len() };
    let lengths: Vec<f64> = counts.times(&given, dimensions).iter().map(|sum| squares(sum).sqrt()).collect();
    let mut sorted: Vec<f64> = lengths.iter().copied().filter(|length| *length > 0.0).collect();
    sorted.sort_by(f64::total_cmp);
    let Some(median) = sorted.get(sorted.len() / 2) else {
        return given;
    };
    let ridge = (RIDGE / (median * median)) as f32;
    let scaled = |(row, length): (Vec<(u32, f32)>, &f64)| -> Vec<(u32, f32)> {
        match *length > 0.0 {
            true => row.into_iter().map(|(token, count)| (token, count / *length as f32)).collect(),
            false => Vec::new(),
        }
    };
    let shares = SparseMatrix {
        rows: counts.rows.into_iter().zip(&lengths).map(scaled).collect(),
        width: given.len(),
    };
    let mut residuals = shares.times(&given, dimensions);
    let (mut product, mut square) = (0.0, 0.0);
    for (sum, text) in residuals.iter().zip(texts) {
        product += dot(sum, &text.vector);
        square += squares(sum);
    }
    // Every row of `shares` that is not empty has a sum of length 1, so `square` is not 0.
    let factor = (product / square) as f32;
    for ((sum, text), row) in residuals.iter_mut().zip(texts).zip(&shares.rows) {
        // A text without known tokens has no row and nothing to fit.
        let wanted = if row.is_empty() { 0.0 } else { 1.0 };
        sum.iter_mut().zip(&text.vector).for_each(|(sum, value)| *sum = wanted * value - factor * *sum);
    }
    let changes = solve(&shares, ridge, &residuals, dimensions);
    let mut fitted = given.clone();
    for (row, change) in fitted.iter_mut().zip(&changes) {
        row.iter_mut().zip(change).for_each(|(value, change)| *value = *value * factor + change);
    }
    mean(given, &fitted)
}

/// The solution D of (XᵀX + ridge) D = Xᵀ R by conjugate gradients. Each column is a system of its own.
fn solve(x: &SparseMatrix, ridge: f32, residuals: &[Vec<f32>], dimensions: usize) -> Vec<Vec<f32>> {
    let transposed = x.transposed();
    let diagonal = |row: &Vec<(u32, f32)>| row.iter().map(|(_, value)| value * value).sum::<f32>() + ridge;
    let diagonal: Vec<f32> = transposed.rows.iter().map(diagonal).collect();
    let preconditioned = |rest: &[Vec<f32>]| -> Vec<Vec<f32>> {
        let divided =
            |(row, by): (&Vec<f32>, &f32)| -> Vec<f32> { row.iter().map(|value| value / by).collect() };
        rest.iter().zip(&diagonal).map(divided).collect()
    };
    let mut solution = vec![vec![0.0; dimensions]; x.width];
    let mut rest = transposed.times(residuals, dimensions);
    let mut scaled = preconditioned(&rest);
    let mut direction = scaled.clone();
    let mut energy = column_products(&rest, &scaled, dimensions);
    let first: f64 = energy.iter().sum();
    for _ in 0..MAX_STEPS {
        let mut image = transposed.times(&x.times(&direction, dimensions), dimensions);
        image.iter_mut().zip(&direction).for_each(|(image, row)| add(image, row, ridge));
        let step = quotients(&energy, &column_products(&direction, &image, dimensions));
        for (((solution, rest), direction), image) in
            solution.iter_mut().zip(&mut rest).zip(&direction).zip(&image)
        {
            add_scaled_by_column(solution, direction, &step, 1.0);
            add_scaled_by_column(rest, image, &step, -1.0);
        }
        scaled = preconditioned(&rest);
        let remaining = column_products(&rest, &scaled, dimensions);
        if remaining.iter().sum::<f64>() <= first * TOLERANCE * TOLERANCE {
            break;
        }
        let keep = quotients(&remaining, &energy);
        for (direction, scaled) in direction.iter_mut().zip(&scaled) {
            for ((value, scaled), keep) in direction.iter_mut().zip(scaled).zip(&keep) {
                *value = scaled + keep * *value;
            }
        }
        energy = remaining;
    }
    solution
}

/// The mean of two tables after the second was scaled to the sum of squares of the first. Rows that would become
/// shorter than the given ones get their length.
fn mean(mut given: Vec<Vec<f32>>, fitted: &[Vec<f32>]) -> Vec<Vec<f32>> {
    let total = |rows: &[Vec<f32>]| rows.iter().map(|row| squares(row)).sum::<f64>().sqrt();
    let (of_given, of_fitted) = (total(&given), total(fitted));
    if of_fitted > 0.0 {
        let scale = (of_given / of_fitted) as f32;
        for (row, fitted) in given.iter_mut().zip(fitted) {
            let before = squares(row);
            row.iter_mut().for_each(|value| *value *= 1.0 - FITTED_SHARE);
            add(row, fitted, FITTED_SHARE * scale);
            let after = squares(row);
            if after > 0.0 && after < before {
                let factor = (before / after).sqrt() as f32;
                row.iter_mut().for_each(|value| *value *= factor);
            }
        }
    }
    given
}

/// How often each token occurs, by token.
fn counts(tokens: &[u32]) -> Vec<(u32, f32)> {
    let mut sorted = tokens.to_vec();
    sorted.sort_unstable();
    let groups = sorted.chunk_by(|a, b| a == b);
    groups.filter_map(|group| Some((*group.first()?, group.len() as f32))).collect()
}

fn add(sum: &mut [f32], row: &[f32], factor: f32) {
    sum.iter_mut().zip(row).for_each(|(sum, value)| *sum += factor * value);
}

fn add_scaled_by_column(sum: &mut [f32], row: &[f32], factors: &[f32], sign: f32) {
    for ((sum, value), factor) in sum.iter_mut().zip(row).zip(factors) {
        *sum += sign * factor * value;
    }
}

fn dot(a: &[f32], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
}

fn squares(row: &[f32]) -> f64 {
    dot(row, row)
}

/// The dot product of each pair of columns.
fn column_products(a: &[Vec<f32>], b: &[Vec<f32>], dimensions: usize) -> Vec<f64> {
    let mut sums = vec![0.0; dimensions];
    for (a, b) in a.iter().zip(b) {
        for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
            *sum += f64::from(*a) * f64::from(*b);
        }
    }
    sums
}

/// The quotients of two lists; 0 where the divisor is 0, which happens when a column is solved.
fn quotients(dividends: &[f64], divisors: &[f64]) -> Vec<f32> {
    let quotient =
        |(dividend, divisor): (&f64, &f64)| if *divisor > 0.0 { (dividend / divisor) as f32 } else { 0.0 };
    dividends.iter().zip(divisors).map(quotient).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    /// Σₛ ‖Σₜ xₛₜ eᵗ − yₛ‖² + λ Σₜ ‖eᵗ − g bᵗ‖² for the matrix x of the texts and a change e − g b.
    fn objective(x: &SparseMatrix, ridge: f32, wanted: &[Vec<f32>], change: &[Vec<f32>]) -> f64 {
        let sums = x.times(change, 3);
        let distances = sums
            .iter()
            .zip(wanted)
            .map(|(sum, wanted)| sum.iter().zip(wanted).map(|(a, b)| f64::from(a - b).powi(2)).sum::<f64>());
        distances.sum::<f64>() + f64::from(ridge) * change.iter().map(|row| squares(row)).sum::<f64>()
    }

    /// The mean cosine of the sums of rows with the vectors wanted.
    fn agreement(rows: &[Vec<f32>], texts: &[FitText]) -> f64 {
        let cosines = texts.iter().map(|text| {
            let mut sum = vec![0.0; 3];
            text.tokens.iter().for_each(|token| add(&mut sum, &rows[*token as usize], 1.0));
            poc_rank::cosine::cosine(&sum, &text.vector)
        });
        cosines.sum::<f64>() / texts.len() as f64
    }

    #[test]
    fn tokens_without_texts_keep_their_direction() {
        let given = vec![vec![1.0, 0.0, 0.0], vec![0.0, 2.0, 0.0], vec![0.0, 0.5, 0.5]];
        let texts = [FitText { tokens: vec![0, 0], vector: vec![0.0, 0.0, 1.0] }];
        let fitted = fit(given.clone(), &texts);
        assert!(fitted[0][2] > 0.0, "{fitted:?}");
        for at in [1, 2] {
            assert!((poc_rank::cosine::cosine(&fitted[at], &given[at]) - 1.0).abs() < 1e-6, "{fitted:?}");
        }
    }

    #[test]
    fn nothing_to_fit_changes_nothing() {
        let given = vec![vec![1.0, 0.0, 0.0], vec![0.0; 3]];
        assert_eq!(fit(given.clone(), &[]), given);
        let texts = [vec![], vec![1], vec![9]].map(|tokens| FitText { tokens, vector: vec![1.0, 0.0, 0.0] });
        assert_eq!(fit(given.clone(), &texts), given);
        assert!(fit(Vec::new(), &texts).is_empty());
    }

    #[test]
    fn fitting_brings_sums_closer_to_the_vectors_wanted() {
        let given = vec![vec![1.0, 0.1, 0.0], vec![0.1, 1.0, 0.0], vec![0.0, 0.1, 1.0], vec![0.5, 0.5, 0.5]];
        let wanted =
            [(vec![0, 1], [0.0, 0.6, 0.8]), (vec![1, 2, 2], [1.0, 0.0, 0.0]), (vec![3], [0.0, 1.0, 0.0])];
        let texts: Vec<FitText> = wanted
            .iter()
            .cycle()
            .take(60)
            .map(|(tokens, vector)| FitText { tokens: tokens.clone(), vector: vector.to_vec() })
            .collect();
        let before = agreement(&given, &texts);
        let fitted = fit(given, &texts);
        assert!(agreement(&fitted, &texts) > before + 0.1, "{before} {fitted:?}");
    }

    poc_laws::laws! {
        #[test]
        fn no_other_change_fits_better(
            texts in vec((vec(0u32..6, 1..5), vec(-1.0f32..1.0, 3)), 1..12),
            other in vec(vec(-0.3f32..0.3, 3), 6),
            ridge in 0.1f32..3.0,
        ) {
            let x = SparseMatrix { rows: texts.iter().map(|(tokens, _)| counts(tokens)).collect(), width: 6 };
            let wanted: Vec<Vec<f32>> = texts.iter().map(|(_, wanted)| wanted.clone()).collect();
            let solved = solve(&x, ridge, &wanted, 3);
            let least = objective(&x, ridge, &wanted, &solved);
            let moved: Vec<Vec<f32>> = solved
                .iter()
                .zip(&other)
                .map(|(row, other)| row.iter().zip(other).map(|(a, b)| a + b).collect())
                .collect();
            let zero = vec![vec![0.0; 3]; 6];
            prop_assert!(least <= objective(&x, ridge, &wanted, &zero) + 1e-4);
            // The equations are solved up to a tolerance.
            prop_assert!(least <= objective(&x, ridge, &wanted, &moved) * 1.02 + 0.05);
        }
    }
}
