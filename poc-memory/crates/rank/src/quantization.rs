//! Quantisation of vectors to eight bits per dimension: uniform, symmetric around 0, with a scale of its own for each
//! vector, so that no component is cut off ("scalar quantization" of Faiss, with one range per vector).

/// The greatest absolute value of a code.
const MAX: f32 = 127.0;

/// The direction of a vector in eight bits per dimension: the component with the greatest absolute value becomes 127 or
/// −127. `None` if the vector has no direction (all zeros, or values that are not finite).
///
/// The direction of the codes has the same codes.
pub fn quantize(vector: &[f32]) -> Option<Vec<i8>> {
    let greatest = vector.iter().fold(0.0f32, |greatest, value| greatest.max(value.abs()));
    if !vector.iter().all(|value| value.is_finite()) || greatest == 0.0 {
        return None;
    }
    // The division comes first, because 127 / greatest may overflow.
    Some(vector.iter().map(|value| round_to_i8(value / greatest * MAX)).collect())
}

/// The integer nearest to a value between −127 and 127, as [`f32::round`] gives it. `round` would be a function call
/// for every value.
fn round_to_i8(value: f32) -> i8 {
    let whole = value as i32;
    let rest = value - whole as f32;
    (whole + i32::from(rest >= 0.5) - i32::from(rest <= -0.5)) as i8
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cosine::cosine;
    use proptest::collection::vec;
    use proptest::prelude::*;

    #[test]
    fn values_are_rounded_to_the_nearest_integer() {
        let below = |value: f32| f32::from_bits(value.to_bits() - 1);
        for half in (1..=254).map(|half| half as f32 / 2.0) {
            for value in [half, below(half), f32::from_bits(half.to_bits() + 1).min(MAX), half - 0.2] {
                assert_eq!(
                    (round_to_i8(value), round_to_i8(-value)),
                    (value.round() as i8, (-value).round() as i8)
                );
            }
        }
        assert_eq!((round_to_i8(0.0), round_to_i8(-0.0), round_to_i8(f32::MIN_POSITIVE)), (0, 0, 0));
    }

    poc_laws::laws! {
        #[test]
        fn the_direction_hardly_changes(vector in vec(-100f32..100.0, 1..300)) {
            let Some(codes) = quantize(&vector) else { return Ok(()) };
            let codes: Vec<f32> = codes.into_iter().map(f32::from).collect();
            prop_assert!(cosine(&vector, &codes) > 0.9999, "{}", cosine(&vector, &codes));
        }

        #[test]
        fn codes_have_the_codes_of_their_unit_vector(vector in vec(-1f32..1.0, 1..300)) {
            let Some(codes) = quantize(&vector) else { return Ok(()) };
            let length = codes.iter().map(|&code| f64::from(code).powi(2)).sum::<f64>().sqrt();
            let unit: Vec<f32> = codes.iter().map(|&code| (f64::from(code) / length) as f32).collect();
            prop_assert_eq!(quantize(&unit), Some(codes));
        }
    }

    #[test]
    fn a_vector_without_direction_has_no_code() {
        assert_eq!(quantize(&[0.0; 4]), None);
        assert_eq!(quantize(&[f32::NAN, 1.0]), None);
        assert_eq!(quantize(&[f32::INFINITY, 1.0]), None);
        assert_eq!(quantize(&[f32::MIN_POSITIVE / 2.0, 0.0]), Some(vec![127, 0]));
        assert_eq!(quantize(&[-2.0, 0.0]), Some(vec![-127, 0]));
    }
}
