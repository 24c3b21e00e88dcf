//! The encoding of vectors: a version byte, followed by one signed byte per component (see [`quantize`]). All vectors
//! have unit length, so the scale of the components is not stored. Earlier versions of the program stored components in
//! half precision.

use half::f16;
use poc_graph::error::{Error, Result};
use poc_rank::quantization::quantize;
use std::sync::Arc;

const VERSION: u8 = 2;

/// The version with components in half precision, little-endian.
const HALF_PRECISION: u8 = 1;

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

/// Encodes the direction of a vector. A zero vector is read back as zero.
pub(super) fn encode(vector: &[f32]) -> Result<Vec<u8>> {
    let codes = match quantize(vector) {
        Some(codes) => codes,
        None if vector.iter().all(|&component| component == 0.0) => vec![0; vector.len()],
        None => return Err(VectorError::NotFinite.into()),
    };
    Ok([VERSION].into_iter().chain(codes.into_iter().map(i8::cast_unsigned)).collect())
}

/// Decodes a vector of unit length, or of zeros.
pub(super) fn decode(bytes: &[u8]) -> Result<Arc<[f32]>> {
    let mut vector: Vec<f32> = match bytes.split_first() {
        Some((&VERSION, codes)) => codes.iter().map(|code| f32::from(code.cast_signed())).collect(),
        Some((&HALF_PRECISION, halves)) if halves.len() % 2 == 0 => {
            halves.as_chunks().0.iter().map(|half| f16::from_le_bytes(*half).to_f32()).collect()
        }
        _ => return Err(VectorError::Damaged.into()),
    };
    let length = vector.iter().map(|&x| f64::from(x) * f64::from(x)).sum::<f64>().sqrt();
    if length > 0.0 {
        vector.iter_mut().for_each(|component| *component = (f64::from(*component) / length) as f32);
    }
    Ok(vector.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use poc_rank::cosine::cosine;
    use proptest::prelude::*;

    fn in_half_precision(vector: &[f32]) -> Vec<u8> {
        let halves = vector.iter().flat_map(|&component| f16::from_f32(component).to_le_bytes());
        [HALF_PRECISION].into_iter().chain(halves).collect()
    }

    poc_laws::laws! {
        #[test]
        fn a_stored_vector_keeps_its_direction(vector in proptest::collection::vec(-100f32..100.0, 1..300)) {
            prop_assume!(vector.iter().any(|component| component.abs() > 0.1));
            for bytes in [encode(&vector).unwrap(), in_half_precision(&vector)] {
                let back = decode(&bytes).unwrap();
                prop_assert!(cosine(&vector, &back) > 0.9999, "cosine {}", cosine(&vector, &back));
                let length = back.iter().map(|&x| f64::from(x) * f64::from(x)).sum::<f64>();
                prop_assert!((length - 1.0).abs() < 1e-6, "length {length}");
            }
        }

        /// A vector that is read and stored again, as by an undo, stays the same.
        #[test]
        fn a_stored_vector_has_the_same_encoding(vector in proptest::collection::vec(-1f32..1.0, 1..300)) {
            let bytes = encode(&vector).unwrap();
            prop_assert_eq!(encode(&decode(&bytes).unwrap()).unwrap(), bytes);
        }
    }

    #[test]
    fn invalid_vectors_are_errors() {
        assert!(encode(&[f32::NAN]).is_err() && encode(&[f32::INFINITY, 1.0]).is_err());
        assert!(decode(&[]).is_err() && decode(&[1, 0]).is_err() && decode(&[3, 0, 0]).is_err());
        assert_eq!(&*decode(&encode(&[0.0, 0.0]).unwrap()).unwrap(), &[0.0, 0.0]);
        assert_eq!(&*decode(&encode(&[-3.0, 0.0]).unwrap()).unwrap(), &[-1.0, 0.0]);
    }
}
