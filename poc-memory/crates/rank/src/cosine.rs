//! Cosine similarity of vectors (Salton, Wong and Yang 1975).

use multiversion::multiversion;

/// The number of independent partial sums, which can be computed in parallel.
const LANES: usize = 16;

/// The cosine similarity `a·b / (|a|·|b|)`, −1 to 1. It is 0 if a vector has no direction (all zeros, or not finite).
/// The shorter vector is padded with zeros.
pub fn cosine(a: &[f32], b: &[f32]) -> f64 {
    MeasuredVector::of(a).cosine(&MeasuredVector::of(b))
}

/// A vector with its precomputed length, for comparing it with many others.
#[derive(Clone, Copy, Debug)]
pub struct MeasuredVector<'a> {
    values: &'a [f32],
    length: f64,
}

impl<'a> MeasuredVector<'a> {
    /// Computes the length of a vector.
    pub fn of(values: &'a [f32]) -> MeasuredVector<'a> {
        MeasuredVector { values, length: dot(values, values).sqrt() }
    }

    /// The values.
    pub fn values(&self) -> &'a [f32] {
        self.values
    }

    /// Whether all values are 0.
    pub fn is_zero(&self) -> bool {
        self.values.iter().all(|&value| value == 0.0)
    }

    /// The [`cosine`] similarity of both vectors.
    pub fn cosine(&self, other: &MeasuredVector<'_>) -> f64 {
        let cosine = dot(self.values, other.values) / (self.length * other.length);
        if cosine.is_finite() { cosine.clamp(-1.0, 1.0) } else { 0.0 }
    }
}

/// The dot product over the common length. The number of SIMD lanes determines the rounding of the sum, so it is fixed
/// for all processors.
#[multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
fn dot(a: &[f32], b: &[f32]) -> f64 {
    let common = a.len().min(b.len());
    let (a, b) = (a.get(..common).unwrap_or_default(), b.get(..common).unwrap_or_default());
    let (a, b) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let rest = a.remainder().iter().zip(b.remainder());
    let mut sums = [0.0; LANES];
    for (x, y) in a.zip(b) {
        for (sum, (&x, &y)) in sums.iter_mut().zip(x.iter().zip(y)) {
            *sum += f64::from(x) * f64::from(y);
        }
    }
    for (sum, (&x, &y)) in sums.iter_mut().zip(rest) {
        *sum += f64::from(x) * f64::from(y);
    }
    sums.iter().sum()
}

/// Scales a vector to length 1. A zero vector is left unchanged.
pub fn normalize(vector: &mut [f32]) {
    let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
    if length > 0.0 {
        vector.iter_mut().for_each(|value| *value /= length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    poc_laws::laws! {
        #[test]
        fn the_cosine_is_bounded_symmetric_and_independent_of_length(
            a in vec(-10.0f32..10.0, 8),
            b in vec(-10.0f32..10.0, 8),
            scale in 0.1f32..10.0,
        ) {
            let found = cosine(&a, &b);
            prop_assert!((-1.0..=1.0).contains(&found));
            prop_assert_eq!(found, cosine(&b, &a));
            let longer: Vec<f32> = a.iter().map(|x| x * scale).collect();
            prop_assert!((cosine(&longer, &b) - found).abs() < 1e-5);
        }

        /// The result agrees with the definition for vectors of any length.
        #[test]
        fn the_cosine_agrees_with_the_definition(a in vec(-10.0f32..10.0, 1..50), b in vec(-10.0f32..10.0, 1..50)) {
            let dot: f64 = a.iter().zip(&b).map(|(&x, &y)| f64::from(x) * f64::from(y)).sum();
            let norm = |v: &[f32]| v.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>().sqrt();
            prop_assume!(norm(&a) * norm(&b) > 0.0);
            prop_assert!((cosine(&a, &b) - dot / (norm(&a) * norm(&b))).abs() < 1e-9);
        }

        #[test]
        fn the_cosine_of_a_vector_with_itself_is_one(a in vec(0.1f32..10.0, 1..20)) {
            prop_assert!((cosine(&a, &a) - 1.0).abs() < 1e-9);
        }
    }

    #[test]
    fn a_vector_without_direction_has_cosine_zero() {
        assert_eq!(cosine(&[0.0, 0.0], &[1.0, 0.0]), 0.0);
        assert_eq!(cosine(&[f32::NAN, 0.0], &[1.0, 0.0]), 0.0);
        assert_eq!(cosine(&[f32::MAX; 2], &[f32::INFINITY; 2]), 0.0);
        assert_eq!(cosine(&[], &[]), 0.0);
    }
}
