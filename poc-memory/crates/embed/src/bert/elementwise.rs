//! Elementwise operations of the network on 32-bit floats, compiled for several SIMD instruction sets. Their absolute
//! or relative error is at most 10⁻⁶.

use multiversion::multiversion;

/// The number of independent partial sums, which can be computed in parallel.
const LANES: usize = 16;

/// √½, the factor in the argument of GELU's error function.
const ROOT_HALF: f32 = std::f32::consts::FRAC_1_SQRT_2;

/// √(2/π), a constant of the `tanh` approximation of GELU.
const ROOT_TWO_BY_PI: f32 = 0.797_884_6;

/// `eˣ` with a relative error of at most 3 · 10⁻⁷; 0 for x below −87. It is computed as `2ⁿ · eʳ` with |r| ≤ ½ ln 2,
/// where a series gives `eʳ` and the exponent bits give `2ⁿ`.
#[inline(always)]
fn exp(x: f32) -> f32 {
    let x = x.clamp(-87.3, 88.0);
    // Adding 1.5 · 2²³ rounds a float to an integer, which ends up in its lowest bits.
    const ROUND: f32 = 12_582_912.0;
    let n = x * std::f32::consts::LOG2_E + ROUND;
    let bits = n.to_bits();
    let n = n - ROUND;
    // ln 2 is split into two parts to keep precision.
    let r = x - n * 0.693_359_4 + n * 2.121_944_4e-4;
    let series = 1.0 / 720.0;
    let series = series * r + 1.0 / 120.0;
    let series = series * r + 1.0 / 24.0;
    let series = series * r + 1.0 / 6.0;
    let series = series * r + 0.5;
    let series = series * r * r + r + 1.0;
    // The lowest bits hold the integer n.
    let scale = f32::from_bits(bits.wrapping_sub(ROUND.to_bits()).wrapping_add(127) << 23);
    series * scale
}

/// The error function with an error of at most 10⁻⁶ (Abramowitz and Stegun 1964, 7.1.26).
#[inline(always)]
fn erf(x: f32) -> f32 {
    let a = x.abs();
    let t = 1.0 / (1.0 + 0.327_591_1 * a);
    let sum =
        t * (0.254_829_6 + t * (-0.284_496_74 + t * (1.421_413_7 + t * (-1.453_152 + t * 1.061_405_4))));
    (1.0 - sum * exp(-a * a)).copysign(x)
}

/// Adds `bias` to every row.
#[multiversion(targets("x86_64+avx512f+avx512bw", "x86_64+avx2"))]
pub(super) fn shift(rows: &mut [f32], bias: &[f32]) {
    for row in rows.chunks_exact_mut(bias.len().max(1)) {
        row.iter_mut().zip(bias).for_each(|(value, bias)| *value += bias);
    }
}

/// Adds `bias` to every row, then applies GELU: `½ x (1 + erf(x / √2))` (Hendrycks and Gimpel 2016).
#[multiversion(targets("x86_64+avx512f+avx512bw", "x86_64+avx2"))]
pub(super) fn gelu(rows: &mut [f32], bias: &[f32]) {
    for row in rows.chunks_exact_mut(bias.len().max(1)) {
        for (value, bias) in row.iter_mut().zip(bias) {
            let x = *value + bias;
            *value = 0.5 * x * (1.0 + erf(x * ROOT_HALF));
        }
    }
}

/// Adds `bias` to every row, then applies the `tanh` approximation of GELU: `½ x (1 + tanh(√(2/π) (x + 0.044715 x³)))`.
#[multiversion(targets("x86_64+avx512f+avx512bw", "x86_64+avx2"))]
pub(super) fn gelu_by_tanh(rows: &mut [f32], bias: &[f32]) {
    for row in rows.chunks_exact_mut(bias.len().max(1)) {
        for (value, bias) in row.iter_mut().zip(bias) {
            let x = *value + bias;
            let y = ROOT_TWO_BY_PI * (x + 0.044_715 * x * x * x);
            // ½ (1 + tanh y) equals 1 / (1 + e^−2y).
            *value = x / (1.0 + exp(-2.0 * y));
        }
    }
}

/// Adds `bias` to every row, then applies ReLU.
#[multiversion(targets("x86_64+avx512f+avx512bw", "x86_64+avx2"))]
pub(super) fn relu(rows: &mut [f32], bias: &[f32]) {
    for row in rows.chunks_exact_mut(bias.len().max(1)) {
        row.iter_mut().zip(bias).for_each(|(value, bias)| *value = (*value + bias).max(0.0));
    }
}

/// Applies softmax to each row.
#[multiversion(targets("x86_64+avx512f+avx512bw", "x86_64+avx2"))]
pub(super) fn softmax(rows: &mut [f32], width: usize) {
    for row in rows.chunks_exact_mut(width.max(1)) {
        let greatest = row.iter().fold(f32::NEG_INFINITY, |greatest, &value| greatest.max(value));
        row.iter_mut().for_each(|value| *value = exp(*value - greatest));
        let factor = 1.0 / sum(row, |value| value);
        row.iter_mut().for_each(|value| *value *= factor);
    }
}

/// Adds a row and the residual `before` to every row, then applies layer normalisation (Ba, Kiros and Hinton
/// 2016). `before` may be empty.
#[multiversion(targets("x86_64+avx512f+avx512bw", "x86_64+avx2"))]
pub(super) fn normalize(rows: &mut [f32], before: &[f32], bias: &[f32], norm: &LayerNorm) {
    let width = norm.scale.len().max(1);
    for (at, row) in rows.chunks_exact_mut(width).enumerate() {
        if let Some(before) = before.get(at * width..(at + 1) * width) {
            row.iter_mut().zip(before).for_each(|(value, before)| *value += before);
        }
        row.iter_mut().zip(bias).for_each(|(value, bias)| *value += bias);
        let mean = sum(row, |value| value) / width as f32;
        row.iter_mut().for_each(|value| *value -= mean);
        let variance = sum(row, |value| value * value) / width as f32;
        let factor = 1.0 / (variance + norm.epsilon).sqrt();
        for ((value, scale), shift) in row.iter_mut().zip(&norm.scale).zip(&norm.shift) {
            *value = *value * factor * scale + shift;
        }
    }
}

/// The parameters of a layer normalisation.
pub(super) struct LayerNorm {
    pub(super) scale: Vec<f32>,
    pub(super) shift: Vec<f32>,
    pub(super) epsilon: f32,
}

#[inline(always)]
fn sum(values: &[f32], map: impl Fn(f32) -> f32) -> f32 {
    let mut lanes = [0.0f32; LANES];
    let chunks = values.chunks_exact(LANES);
    let rest: f32 = chunks.remainder().iter().map(|&value| map(value)).sum();
    for chunk in chunks {
        lanes.iter_mut().zip(chunk).for_each(|(lane, &value)| *lane += map(value));
    }
    lanes.iter().sum::<f32>() + rest
}

#[cfg(test)]
mod tests {
    use super::super::tests::erf as exact_erf;
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    #[test]
    fn the_exponential_is_clamped_at_both_ends() {
        assert_eq!(exp(0.0), 1.0);
        assert!(erf(0.0).abs() < 1e-6);
        assert!(exp(-1e30) < 1e-37 && exp(f32::NEG_INFINITY) < 1e-37 && exp(88.0) > 1e38);
        assert!((erf(9.0) - 1.0).abs() < 1e-6 && (erf(-9.0) + 1.0).abs() < 1e-6);
    }

    poc_laws::laws! {
        #[test]
        fn exponential_and_error_function_match_reference_values(x in -80.0f32..80.0, y in -3.5f32..3.5) {
            let expected = f64::from(x).exp();
            prop_assert!((f64::from(exp(x)) / expected - 1.0).abs() < 3e-7, "{}", x);
            prop_assert!((f64::from(erf(y)) - exact_erf(f64::from(y))).abs() < 1e-6, "{}", y);
        }

        #[test]
        fn activations_match_their_formulas(values in vec(-4.0f32..4.0, 1..40), bias in -1.0f32..1.0) {
            let bias = vec![bias; values.len()];
            let applied = |work: &dyn Fn(&mut [f32], &[f32])| { let mut rows = values.clone(); work(&mut rows, &bias); rows };
            let (by_erf, by_tanh, by_relu) = (applied(&|a, b| gelu(a, b)), applied(&|a, b| gelu_by_tanh(a, b)), applied(&|a, b| relu(a, b)));
            let shifted = applied(&|a, b| shift(a, b));
            for (at, value) in values.iter().enumerate() {
                let x = f64::from(*value + bias[at]);
                let exact = 0.5 * x * (1.0 + exact_erf(x / std::f64::consts::SQRT_2));
                prop_assert!((f64::from(by_erf[at]) - exact).abs() < 2e-6);
                let inner = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x.powi(3));
                prop_assert!((f64::from(by_tanh[at]) - 0.5 * x * (1.0 + inner.tanh())).abs() < 2e-6);
                prop_assert_eq!((by_relu[at], shifted[at]), ((*value + bias[at]).max(0.0), *value + bias[at]));
            }
        }

        #[test]
        fn softmax_and_layer_norm_match_their_formulas(values in vec(-9.0f32..9.0, 2..70), rows in 1usize..4) {
            let width = values.len();
            let mut shares = values.repeat(rows);
            softmax(&mut shares, width);
            let total: f64 = values.iter().map(|value| f64::from(*value).exp()).sum();
            for (share, value) in shares.iter().zip(values.iter().cycle()) {
                prop_assert!((f64::from(*share) - f64::from(*value).exp() / total).abs() < 1e-6);
            }
            let norm = LayerNorm { scale: vec![2.0; width], shift: vec![1.0; width], epsilon: 1e-3 };
            let (mut normal, before) = (values.repeat(rows), values.repeat(rows));
            normalize(&mut normal, &before, &vec![0.5; width], &norm);
            let added: Vec<f64> = values.iter().map(|value| 2.0 * f64::from(*value) + 0.5).collect();
            let mean = added.iter().sum::<f64>() / width as f64;
            let variance = added.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / width as f64;
            for (found, value) in normal.iter().zip(added.iter().cycle()) {
                let expected = 2.0 * (value - mean) / (variance + 1e-3).sqrt() + 1.0;
                prop_assert!((f64::from(*found) - expected).abs() < 1e-4);
            }
        }
    }
}
