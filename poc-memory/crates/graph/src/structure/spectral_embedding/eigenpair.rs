//! An eigenvalue with its eigenvector.

/// An eigenvalue of the normalised Laplacian with its eigenvector, of unit length.
#[derive(Clone, Debug)]
pub(super) struct Eigenpair {
    pub(super) value: f64,
    /// Norm of N v − μ v.
    pub(super) residual: f64,
    pub(super) vector: Vec<f64>,
}
