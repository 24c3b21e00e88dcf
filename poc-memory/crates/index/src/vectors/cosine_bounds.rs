//! Upper bounds of the cosines between the notes of a batch.

use super::quantized::{self, QuantizedVector};
use poc_rank::cosine::cosine;

/// More than the rounding errors of a bound: those of the single-precision lengths and values of codes, below 1e-6, and
/// that of an angle near 0, which is the square root of twice the error of its cosine. The angles are a thousand times
/// greater.
const ROUNDING: f64 = 1e-5;

/// The vectors of the notes of a batch with eight bits per dimension. An upper bound of a cosine takes a small part of
/// the time of the cosine, and rules out most notes.
pub struct CosineBounds {
    dimensions: usize,
    /// The codes of all vectors, one after another.
    codes: Vec<i8>,
    rows: Vec<BatchRow>,
    /// For each note, the number of the row after its last one.
    ends: Vec<usize>,
}

/// The metadata of a code.
#[derive(Clone, Copy)]
struct BatchRow {
    /// The reciprocal of the length of the code.
    inverse: f32,
    /// The angle between the vector and its code in radians.
    angle: f64,
}

impl CosineBounds {
    /// Prepares the bounds for notes with these vectors, each of the given length. Vectors without a direction are
    /// ignored.
    pub fn new<'a>(
        notes: impl Iterator<Item = impl Iterator<Item = &'a [f32]>>,
        dimensions: usize,
    ) -> CosineBounds {
        let mut bounds = CosineBounds { dimensions, codes: Vec::new(), rows: Vec::new(), ends: Vec::new() };
        for vectors in notes {
            for vector in vectors.filter(|vector| vector.len() == dimensions) {
                let Some(QuantizedVector { values, inverse }) = QuantizedVector::of(vector) else { continue };
                let angle = cosine(vector, &quantized::decode(&values, inverse)).acos();
                bounds.codes.extend(values);
                bounds.rows.push(BatchRow { inverse, angle });
            }
            bounds.ends.push(bounds.rows.len());
        }
        bounds
    }

    /// For each note before note number `at`, a number that is not below the highest cosine of their vectors; −∞ if
    /// either has no vector.
    pub fn before(&self, at: usize) -> Vec<f64> {
        let mut bounds = vec![f64::NEG_INFINITY; at];
        let start = at.checked_sub(1).map_or(0, |before| self.end(before));
        let earlier = self.codes.get(..start * self.dimensions).unwrap_or_default();
        let mut dots = Vec::with_capacity(start);
        for (number, own) in self.rows.iter().enumerate().take(self.end(at)).skip(start) {
            let code = number * self.dimensions;
            dots.clear();
            quantized::dots(
                self.codes.get(code..code + self.dimensions).unwrap_or_default(),
                earlier,
                &mut dots,
            );
            let mut rows = dots.iter().zip(&self.rows).enumerate().peekable();
            for (bound, &end) in bounds.iter_mut().zip(&self.ends) {
                while let Some((_, (&dot, row))) = rows.next_if(|(number, _)| *number < end) {
                    // The angle between two vectors differs from that between their codes by at most the angles
                    // between them and their codes.
                    let cosine = quantized::cosine(dot, own.inverse, row.inverse);
                    *bound = bound.max(highest_cosine(cosine, own.angle + row.angle) + ROUNDING);
                }
            }
        }
        bounds
    }

    fn end(&self, note: usize) -> usize {
        self.ends.get(note).copied().unwrap_or(self.rows.len())
    }
}

/// At least the cosine of an angle that is smaller by `less` radians than one with this cosine, or of 0.
fn highest_cosine(cosine: f64, less: f64) -> f64 {
    // cos(a − d) = cos a · cos d + sin a · sin d, where cos d is at least 1 − d²/2 and sin d at most d. Similar vectors
    // have a small sine, so their bound is close.
    let sine = (1.0 - cosine * cosine).max(0.0).sqrt();
    cosine + sine * less + less * less / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    poc_laws::laws! {
        #[test]
        fn no_smaller_angle_has_a_higher_cosine(angle in 0.0..std::f64::consts::PI, less in 0.0f64..0.3) {
            let found = highest_cosine(angle.cos(), less);
            prop_assert!((angle - less).max(0.0).cos() <= found + 1e-12);
            prop_assert!(found <= angle.cos() + angle.sin() * less + less * less);
        }

        /// Vectors of few values, so that some have no direction and some are equal.
        #[test]
        fn no_cosine_is_above_its_bound_and_bounds_are_close(
            notes in vec(vec(vec(-3i8..4, 70), 0..3), 0..12),
            scale in 0.1f32..10.0,
        ) {
            let scaled =
                |vector: &Vec<i8>| vector.iter().map(|&value| f32::from(value) * scale).collect::<Vec<f32>>();
            let vectors: Vec<Vec<Vec<f32>>> =
                notes.iter().map(|note| note.iter().map(scaled).collect()).collect();
            let slices = vectors.iter().map(|note| note.iter().map(Vec::as_slice));
            let bounds = CosineBounds::new(slices, 70);
            for (at, note) in vectors.iter().enumerate() {
                let found = bounds.before(at);
                prop_assert_eq!(found.len(), at);
                for (bound, other) in found.iter().zip(&vectors) {
                    let has_direction = |vector: &&Vec<f32>| vector.iter().any(|&value| value != 0.0);
                    let pairs = note.iter().filter(has_direction).flat_map(|own| {
                        other.iter().filter(has_direction).map(move |vector| cosine(own, vector))
                    });
                    let highest = pairs.fold(f64::NEG_INFINITY, f64::max);
                    prop_assert!(highest <= *bound, "{} {}", highest, bound);
                    prop_assert!(*bound <= highest + 0.1 || highest == f64::NEG_INFINITY && *bound == highest);
                }
            }
        }
    }
}
