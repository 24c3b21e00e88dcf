//! A small component solved whole.
//!
//! A matrix is written out only where all its eigenvalues are wanted, or where the basis of a partial
//! solver would have as many numbers as the matrix: components up to 64 nodes, at the default number
//! of dimensions.

use super::spectrum::Pair;
use super::walk::Walk;
use faer::{Mat, Side};

/// All eigenvalues of the normalised Laplacian but the zero, ascending, with their vectors; none
/// when the computation does not come to an end.
pub(super) fn all(walk: &Walk) -> Vec<Pair> {
    let size = walk.len();
    let mut laplacian = Mat::<f64>::identity(size, size);
    for (a, row) in walk.rows().enumerate() {
        for end in row {
            laplacian[(a, end.ix as usize)] = -walk.entry(a, *end);
        }
    }
    let Ok(found) = laplacian.self_adjoint_eigen(Side::Lower) else { return Vec::new() };
    let values = found.S().column_vector().iter().copied();
    let vectors = found.U().col_iter().map(|vector| vector.iter().copied().collect());
    // The first is the zero.
    values.zip(vectors).skip(1).map(|(value, vector)| Pair { value, residual: 0.0, vector }).collect()
}
