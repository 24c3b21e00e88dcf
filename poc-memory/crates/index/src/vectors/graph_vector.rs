//! The vectors of the HNSW graph, and the distance between two of them.
//!
//! Such a vector is a code followed by the four bytes of its inverse length. The distance then takes one dot product;
//! usearch's own cosine takes three.

use super::dot_product::dot;
use super::quantized::QuantizedVector;
use multiversion::multiversion;
use std::fmt::Display;
use usearch::{Index, VectorType};

/// The number of values after the code: the bytes of an `f32`.
const LENGTH_BYTES: usize = size_of::<f32>();

/// The number of values of a graph vector.
pub(super) fn width(dimensions: usize) -> usize {
    dimensions + LENGTH_BYTES
}

/// The graph vector of a code.
pub(super) fn encode(values: &[i8], inverse: f32) -> Vec<i8> {
    let length = inverse.to_ne_bytes().map(u8::cast_signed);
    [values, &length].concat()
}

impl QuantizedVector {
    /// The graph vector of this code.
    pub(super) fn graph_vector(&self) -> Vec<i8> {
        encode(&self.values, self.inverse)
    }
}

/// The distance of two graph vectors: 1 − cosine, 0–2.
#[multiversion(targets("x86_64+avx512f+avx512bw", "x86_64+avx2"))]
fn distance(a: &[i8], b: &[i8]) -> f32 {
    let (Some((a, a_length)), Some((b, b_length))) = (a.split_last_chunk(), b.split_last_chunk()) else {
        return 2.0;
    };
    1.0 - dot(a, b) as f32 * inverse(a_length) * inverse(b_length)
}

#[inline(always)]
fn inverse(bytes: &[i8; LENGTH_BYTES]) -> f32 {
    f32::from_ne_bytes(bytes.map(i8::cast_unsigned))
}

/// Makes [`distance`] the distance function of a graph over vectors of this many dimensions. Otherwise usearch would
/// compare without SIMD instructions, because its own SIMD kernels, which take a tenth of a clean build, are disabled.
///
/// # Errors
/// The error of usearch if it rejects the function.
#[allow(unsafe_code, reason = "usearch passes the vectors that it compares as pointers")]
pub(super) fn set_distance(graph: &mut Index, dimensions: usize) -> Result<(), impl Display> {
    let width = width(dimensions);
    i8::change_metric(
        graph,
        Box::new(move |a: *const i8, b: *const i8| {
            // SAFETY: the graph was created for vectors of `width` values. It checks the width of every vector that is
            // added or searched for, and keeps both alive and unchanged while it compares them.
            let (a, b) =
                unsafe { (std::slice::from_raw_parts(a, width), std::slice::from_raw_parts(b, width)) };
            distance(a, b)
        }),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors::quantized;
    use proptest::collection::vec;
    use proptest::prelude::*;

    poc_laws::laws! {
        #[test]
        fn the_distance_is_one_minus_the_cosine(a in vec(-1.0f32..1.0, 1..300), b in vec(-1.0f32..1.0, 300)) {
            let (Some(x), Some(y)) = (QuantizedVector::of(&a), QuantizedVector::of(b.get(..a.len()).unwrap_or(&[]))) else { return Ok(()) };
            let cosine = quantized::cosine(quantized::product(&x.values, &y.values), x.inverse, y.inverse);
            let found = f64::from(distance(&x.graph_vector(), &y.graph_vector()));
            prop_assert!((found - (1.0 - cosine)).abs() < 1e-5, "{found} instead of {}", 1.0 - cosine);
        }
    }

    #[test]
    fn a_graph_finds_by_this_distance() {
        let options = usearch::IndexOptions {
            dimensions: width(2),
            metric: usearch::MetricKind::Cos,
            quantization: usearch::ScalarKind::I8,
            ..Default::default()
        };
        let mut graph = Index::new(&options).unwrap();
        set_distance(&mut graph, 2).map_err(|error| error.to_string()).unwrap();
        graph.reserve(3).unwrap();
        for (key, vector) in [(1, [1.0, 0.0]), (2, [1.0, 1.0]), (3, [-1.0, 0.0])] {
            graph.add(key, &QuantizedVector::of(&vector).unwrap().graph_vector()).unwrap();
        }
        let found = graph.search(&QuantizedVector::of(&[0.9, 0.1]).unwrap().graph_vector(), 3).unwrap();
        assert_eq!(found.keys, [1, 2, 3]);
        assert!(
            found.distances.last().is_some_and(|distance| (1.9..2.0).contains(distance)),
            "{:?}",
            found.distances
        );
    }
}
