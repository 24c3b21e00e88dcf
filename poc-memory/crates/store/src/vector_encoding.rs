//! The encoding of vectors: a version byte, followed by the components in half precision,
//! little-endian.

use half::f16;
use poc_graph::error::{Error, Result};
use std::sync::Arc;

const VERSION: u8 = 1;

/// Why a vector cannot be stored or read.
#[derive(Debug, thiserror::Error)]
enum VectorError {
    #[error("the embedder returned a vector with a NaN or infinite value")]
    NotFinite,
    #[error("a stored vector is damaged")]
    Damaged,
}

impl From<VectorError> for Error {
    fn from(error: VectorError) -> Error {
        match error {
            VectorError::NotFinite => Error::internal(error.to_string()),
            VectorError::Damaged => Error::damaged(error.to_string()),
        }
    }
}

/// Encodes a vector after scaling it to unit length. A zero vector is left unchanged.
pub(super) fn encode(vector: &[f32]) -> Result<Vec<u8>> {
    let length = vector.iter().map(|&x| f64::from(x) * f64::from(x)).sum::<f64>().sqrt();
    if !length.is_finite() {
        return Err(VectorError::NotFinite.into());
    }
    let scale = if length > 0.0 { 1.0 / length } else { 0.0 };
    let mut bytes = Vec::with_capacity(1 + 2 * vector.len());
    bytes.push(VERSION);
    for &component in vector {
        bytes.extend_from_slice(&f16::from_f64(f64::from(component) * scale).to_le_bytes());
    }
    Ok(bytes)
}

/// Decodes a vector and restores its unit length, which rounding had changed.
pub(super) fn decode(bytes: &[u8]) -> Result<Arc<[f32]>> {
    let Some((&VERSION, halves)) = bytes.split_first().filter(|(_, halves)| halves.len() % 2 == 0) else {
        return Err(VectorError::Damaged.into());
    };
    let mut vector: Vec<f32> =
        halves.as_chunks().0.iter().map(|half| f16::from_le_bytes(*half).to_f32()).collect();
    let length = vector.iter().map(|&x| f64::from(x) * f64::from(x)).sum::<f64>().sqrt();
    if length > 0.0 {
        vector.iter_mut().for_each(|component| *component = (f64::from(*component) / length) as f32);
    }
    Ok(vector.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn direction_survives_half_precision(vector in proptest::collection::vec(-100f32..100.0, 1..300)) {
            let back = decode(&encode(&vector).unwrap()).unwrap();
            let dot: f64 = vector.iter().zip(back.iter()).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum();
            let length = vector.iter().map(|&a| f64::from(a) * f64::from(a)).sum::<f64>().sqrt();
            prop_assume!(length > 0.1);
            prop_assert!((dot / length - 1.0).abs() < 1e-5, "cosine {}", dot / length);
        }
    }

    #[test]
    fn invalid_vectors_are_errors() {
        assert!(encode(&[f32::NAN]).is_err() && encode(&[f32::INFINITY, 1.0]).is_err());
        assert!(decode(&[]).is_err() && decode(&[1, 0]).is_err() && decode(&[2, 0, 0]).is_err());
        assert_eq!(&*decode(&encode(&[0.0, 0.0]).unwrap()).unwrap(), &[0.0, 0.0]);
    }
}
