//! Cosine similarity of vectors (Salton, Wong and Yang 1975).

/// `a·b / (|a|·|b|)`, −1 to 1; 0 when either has no direction (all zeros, or not finite). Of
/// vectors of different lengths the missing values count as 0.
pub fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let dot: f64 = a.iter().zip(b).map(|(&x, &y)| f64::from(x) * f64::from(y)).sum();
    let norm = |v: &[f32]| v.iter().map(|&x| f64::from(x) * f64::from(x)).sum::<f64>().sqrt();
    let cosine = dot / (norm(a) * norm(b));
    if cosine.is_finite() { cosine.clamp(-1.0, 1.0) } else { 0.0 }
}

/// Brings a vector to length 1; the zero vector stays what it is.
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

    proptest! {
        #[test]
        fn it_is_bounded_symmetric_and_blind_to_length(
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

        #[test]
        fn a_vector_is_like_itself(a in vec(0.1f32..10.0, 1..20)) {
            prop_assert!((cosine(&a, &a) - 1.0).abs() < 1e-9);
        }
    }

    #[test]
    fn without_direction_nothing_is_alike() {
        assert_eq!(cosine(&[0.0, 0.0], &[1.0, 0.0]), 0.0);
        assert_eq!(cosine(&[f32::NAN, 0.0], &[1.0, 0.0]), 0.0);
        assert_eq!(cosine(&[f32::MAX; 2], &[f32::INFINITY; 2]), 0.0);
        assert_eq!(cosine(&[], &[]), 0.0);
    }
}
