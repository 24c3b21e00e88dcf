//! Vectors quantised to eight bits per dimension, and the dot products of the exact scan.

use super::dot_product;
use multiversion::{multiversion, target::match_target};
use poc_rank::quantization::quantize;

/// The direction of a vector, quantised to eight bits per dimension.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct QuantizedVector {
    pub(super) values: Vec<i8>,
    /// The reciprocal of the Euclidean length of `values`.
    pub(super) inverse: f32,
}

impl QuantizedVector {
    /// Quantises a vector; `None` if it has no direction (all zeros, or values that are not finite).
    pub(super) fn of(vector: &[f32]) -> Option<QuantizedVector> {
        let values = quantize(vector)?;
        let inverse = inverse_length(&values);
        Some(QuantizedVector { values, inverse })
    }
}

/// The reciprocal of the Euclidean length. At least one value must not be 0.
pub(super) fn inverse_length(values: &[i8]) -> f32 {
    let square: i32 = values.iter().map(|&value| i32::from(value) * i32::from(value)).sum();
    1.0 / (square.max(1) as f32).sqrt()
}

/// The unit vector of a code.
pub(super) fn decode(values: &[i8], inverse: f32) -> Vec<f32> {
    values.iter().map(|&value| f32::from(value) * inverse).collect()
}

/// The cosine, from a dot product and the two inverse lengths.
pub(super) fn cosine(dot: i32, a: f32, b: f32) -> f64 {
    of_scaled(scaled(dot, b), a)
}

/// The dot product divided by the length of one side. For a fixed query it orders rows as the cosine does.
#[inline]
pub(super) fn scaled(dot: i32, inverse: f32) -> f64 {
    f64::from(dot) * f64::from(inverse)
}

/// The cosine, from the result of [`scaled`] and the inverse length of the other side.
#[inline]
pub(super) fn of_scaled(scaled: f64, inverse: f32) -> f64 {
    (scaled * f64::from(inverse)).clamp(-1.0, 1.0)
}

/// How far a product in single precision may be from the exact one, relative to it.
const SINGLE_PRECISION_ERROR: f64 = 1e-6;

/// Whether one of the dot products, divided by the length of its row, may be at least `bound` (see [`scaled`]). `false`
/// means that certainly none is. It takes a small part of the time of the dot products.
#[multiversion(targets("x86_64+avx512f+avx512bw", "x86_64+avx2"))]
pub(super) fn any_reaches(dots: &[i32], inverses: &[f32], bound: f64) -> bool {
    let bound = (bound - bound.abs() * SINGLE_PRECISION_ERROR) as f32;
    // Without a branch for each product, the compiler uses SIMD instructions.
    dots.iter().zip(inverses).fold(false, |any, (&dot, &inverse)| any | (dot as f32 * inverse >= bound))
}

/// Appends to `dots` the dot product of `query` with each of the `rows`, which are contiguous.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512vnni", "x86_64+avx512f+avx512bw", "x86_64+avx2"))]
pub(super) fn dots(query: &[i8], rows: &[i8], dots: &mut Vec<i32>) {
    match_target! {
        "x86_64+avx512f+avx512vnni" => super::vnni::dots(query, rows, dots),
        _ => {
            dot_product::dots(query, rows, dots);
        }
    }
}

/// Appends to `dots` the dot products of the first query with each of the `rows`, then those of the next query. All
/// queries have the same length.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512vnni", "x86_64+avx512f+avx512bw", "x86_64+avx2"))]
pub(super) fn dots_of_queries(queries: &[&[i8]], rows: &[i8], dots: &mut Vec<i32>) {
    match_target! {
        "x86_64+avx512f+avx512vnni" => super::vnni::dots_of_queries(queries, rows, dots),
        _ => {
            for query in queries {
                self::dots(query, rows, dots);
            }
        }
    }
}

/// The dot product of two codes. For many rows, [`dots`] is faster.
#[multiversion(targets("x86_64+avx512f+avx512bw", "x86_64+avx2"))]
pub(super) fn product(a: &[i8], b: &[i8]) -> i32 {
    dot_product::dot(a, b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    /// With the longest vectors that the settings allow, the greatest products do not overflow in any of the ways in
    /// which they are computed.
    #[test]
    fn the_greatest_products_are_exact() {
        let dimensions = *poc_config::bounds::of("embedder.dimensions").end();
        let least = vec![i8::MIN; dimensions];
        for other in [i8::MIN, i8::MAX] {
            let row = vec![other; dimensions];
            let mut found = Vec::new();
            dots(&least, &row.repeat(5), &mut found);
            dots_of_queries(&[least.as_slice(); 5], &row, &mut found);
            dot_product::dots(&least, &row, &mut found);
            found.push(product(&least, &row));
            let exact = dimensions as i64 * i64::from(i8::MIN) * i64::from(other);
            assert!(found.iter().all(|&found| i64::from(found) == exact), "{found:?} instead of {exact}");
            assert_eq!(found.len(), 12);
        }
    }

    poc_laws::laws! {
        #[test]
        fn quantization_changes_cosines_little(a in vec(-1.0f32..1.0, 64), b in vec(-1.0f32..1.0, 64)) {
            let (Some(x), Some(y)) = (QuantizedVector::of(&a), QuantizedVector::of(&b)) else { return Ok(()) };
            let found = cosine(product(&x.values, &y.values), x.inverse, y.inverse);
            prop_assert!((found - poc_rank::cosine::cosine(&a, &b)).abs() < 0.01);
            let back = decode(&x.values, x.inverse);
            prop_assert!((poc_rank::cosine::cosine(&a, &back)) > 0.999);
        }

        #[test]
        fn no_product_that_reaches_a_bound_is_missed(
            products in vec((-4_000_000i32..4_000_000, 1e-4f32..1.0), 0..70),
            at in any::<prop::sample::Index>(),
        ) {
            let (dots, inverses): (Vec<i32>, Vec<f32>) = products.iter().copied().unzip();
            let exact: Vec<f64> = products.iter().map(|&(dot, inverse)| scaled(dot, inverse)).collect();
            let greatest = exact.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            if !exact.is_empty() {
                prop_assert!(any_reaches(&dots, &inverses, *at.get(&exact)));
                prop_assert!(!any_reaches(&dots, &inverses, greatest + greatest.abs() * 0.01 + 0.01));
            }
            prop_assert_eq!(any_reaches(&dots, &inverses, f64::NEG_INFINITY), !exact.is_empty());
        }

        #[test]
        fn batched_dot_products_equal_single_ones(query in vec(any::<i8>(), 1..300), rows in 0usize..11) {
            let all: Vec<i8> = (0..rows * query.len()).map(|at| (at * 37 % 255) as u8 as i8).collect();
            let mut found = Vec::new();
            dots(&query, &all, &mut found);
            let naive = |row: &[i8]| query.iter().zip(row).map(|(&a, &b)| i32::from(a) * i32::from(b)).sum();
            let expected: Vec<i32> = all.chunks(query.len()).map(naive).collect();
            prop_assert_eq!(&found, &expected);
            // `dots` uses this one only on processors without VNNI.
            let mut without_vnni = Vec::new();
            dot_product::dots(&query, &all, &mut without_vnni);
            prop_assert_eq!(&without_vnni, &expected);
            let single: Vec<i32> = all.chunks(query.len()).map(|row| product(&query, row)).collect();
            prop_assert_eq!(single, expected);
        }

        #[test]
        fn dot_products_of_several_queries_equal_those_of_each(
            length in 1usize..200, queries in 0usize..10, rows in 0usize..6, seed in any::<u8>(),
        ) {
            let code = |count: usize, step: usize| -> Vec<i8> {
                (0..count * length).map(|at| ((at * step + usize::from(seed)) % 256) as u8 as i8).collect()
            };
            let (of_queries, of_rows) = (code(queries, 37), code(rows, 101));
            let queries: Vec<&[i8]> = of_queries.chunks(length).collect();
            let mut found = Vec::new();
            dots_of_queries(&queries, &of_rows, &mut found);
            let mut expected = Vec::new();
            queries.iter().for_each(|query| dots(query, &of_rows, &mut expected));
            prop_assert_eq!(found, expected);
        }
    }
}
