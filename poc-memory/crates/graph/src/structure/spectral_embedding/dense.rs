//! Solves a small component as a dense matrix.
//!
//! The dense solution is used where it costs no more than a search, or where a search fails. Up to
//! 64 nodes, all eigenvalues are kept and the basis of a search would be as large as the matrix. Up
//! to 320 nodes (0.8 MB), it is used when one eigenvalue alone fills all dimensions, so that all
//! its vectors are kept, or when the eigenvalues are so close to zero that a search cannot
//! distinguish them.

use super::eigenpair::Eigenpair;
use super::walk::Walk;
use faer::{Mat, Side};

/// All eigenvalues of the normalised Laplacian except zero, ascending, with their eigenvectors;
/// empty if the computation does not converge.
pub(super) fn all(walk: &Walk) -> Vec<Eigenpair> {
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
    // The first eigenvalue is zero.
    values.zip(vectors).skip(1).map(|(value, vector)| Eigenpair { value, residual: 0.0, vector }).collect()
}
