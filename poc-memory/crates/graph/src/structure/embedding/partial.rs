//! The largest eigenvalues of N in a large component: faer's partial solver, which is the Lanczos
//! process with full orthogonalisation, over the filtered matrix.

use super::eigenpair::Eigenpair;
use super::filter::{Filter, dot, multiply};
use super::walk::Walk;
use faer::dyn_stack::{MemBuffer, MemStack, StackReq};
use faer::matrix_free::LinOp;
use faer::matrix_free::eigen::{
    PartialEigenParams, partial_self_adjoint_eigen, partial_self_adjoint_eigen_scratch,
};
use faer::{ColRef, Mat, MatMut, MatRef, Par};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Norm of N v − μ v, for v of unit length, at which an eigenvector counts as found.
pub(super) const TOLERANCE: f64 = 1e-8;

/// The tolerance of a search in the filtered matrix, whose eigenvalues lie further apart.
const SEARCH: f64 = 2.5e-9;

/// The tolerance of a probe in the filtered matrix.
const PROBE: f64 = 1e-4;

/// The least number of vectors in the solver's basis.
const LEAST_BASIS: usize = 64;

/// One basis and no restarts: after a restart in which a larger eigenvalue was not found yet and a
/// smaller one was, the solver of faer 0.24 gives a vector twice or never ends. What one basis does
/// not show is searched for again without what was found.
const BASES: usize = 1;

/// A small perturbation added to every image. The solver never ends when an image lies entirely in its basis;
/// with the perturbation it continues as from another start.
const STIR: f64 = 1e-13;

/// The least number of basis vectors for `wanted` eigenvalues; a component must have more nodes.
pub(super) fn least_basis(wanted: usize) -> usize {
    LEAST_BASIS.max(2 * wanted)
}

/// The filtered matrix, restricted to the complement of the first eigenvector and of the pairs already found.
#[derive(Debug)]
pub(super) struct FilteredSolver<'a> {
    walk: &'a Walk,
    filter: Filter,
    found: &'a [Eigenpair],
    start: &'a [f64],
    basis: usize,
    applied: AtomicUsize,
}

impl<'a> FilteredSolver<'a> {
    /// From a random start vector, with a basis of `basis` vectors.
    pub(super) fn new(
        walk: &'a Walk,
        filter: Filter,
        found: &'a [Eigenpair],
        start: &'a [f64],
        basis: usize,
    ) -> Self {
        FilteredSolver { walk, filter, found, start, basis, applied: AtomicUsize::new(0) }
    }

    /// Edge ends visited so far.
    pub(super) fn work(&self) -> usize {
        self.applied.load(Ordering::Relaxed) * self.filter.degree() * self.walk.work()
    }

    /// Finds the `wanted` largest eigenvalues of N, as eigenvalues of the Laplacian; fewer when the filter is too
    /// weak.
    pub(super) fn run(&self, wanted: usize) -> Vec<Eigenpair> {
        let mut found = self.solve(wanted, SEARCH);
        found.retain(|pair| pair.residual <= TOLERANCE);
        found
    }

    /// An upper estimate of the smallest remaining eigenvalue of the Laplacian; `None` when the filter is too
    /// weak.
    pub(super) fn probe(&self) -> Option<f64> {
        self.solve(1, PROBE).first().map(|pair| pair.value)
    }

    fn solve(&self, wanted: usize, tolerance: f64) -> Vec<Eigenpair> {
        let mut start = self.start.to_vec();
        self.remove_known(&mut start);
        let params =
            PartialEigenParams { max_dim: self.basis, max_restarts: BASES, ..PartialEigenParams::default() };
        let room = partial_self_adjoint_eigen_scratch(self, wanted, Par::Seq, params);
        let mut vectors = Mat::<f64>::zeros(self.walk.len(), wanted);
        let found = partial_self_adjoint_eigen(
            vectors.as_mut(),
            &mut vec![0.0; wanted],
            self,
            ColRef::from_slice(&start),
            tolerance,
            Par::Seq,
            MemStack::new(&mut MemBuffer::new(room)),
            params,
        );
        let vectors = vectors.col_iter().take(found.n_converged_eigen);
        vectors.map(|vector| self.pair(vector.iter().copied().collect())).collect()
    }

    /// A vector with its Rayleigh quotient.
    fn pair(&self, vector: Vec<f64>) -> Eigenpair {
        let mut image = vec![0.0; vector.len()];
        multiply(self.walk, &vector, &mut image);
        let value = dot(&vector, &image);
        image.iter_mut().zip(&vector).for_each(|(image, own)| *image -= value * own);
        Eigenpair { value: 1.0 - value, residual: dot(&image, &image).sqrt(), vector }
    }

    fn remove_known(&self, x: &mut [f64]) {
        self.walk.remove_ground_state(x);
        for Eigenpair { vector, .. } in self.found {
            let along = dot(vector, x);
            x.iter_mut().zip(vector).for_each(|(x, known)| *x -= along * known);
        }
    }

    fn image(&self, x: impl Iterator<Item = f64>) -> Vec<f64> {
        let turn = self.applied.fetch_add(1, Ordering::Relaxed);
        let mut x: Vec<f64> = x.collect();
        self.remove_known(&mut x);
        let mut image = self.filter.apply(self.walk, x);
        // Rotated each time; otherwise the perturbation would soon lie in the basis itself.
        let (head, tail) = self.start.split_at(turn % self.start.len().max(1));
        image.iter_mut().zip(tail.iter().chain(head)).for_each(|(image, random)| *image += STIR * random);
        self.remove_known(&mut image);
        image
    }
}

impl LinOp<f64> for FilteredSolver<'_> {
    fn apply_scratch(&self, _: usize, _: Par) -> StackReq {
        StackReq::EMPTY
    }

    fn nrows(&self) -> usize {
        self.walk.len()
    }

    fn ncols(&self) -> usize {
        self.walk.len()
    }

    fn apply(&self, out: MatMut<'_, f64>, x: MatRef<'_, f64>, _: Par, _: &mut MemStack) {
        for (out, x) in out.col_iter_mut().zip(x.col_iter()) {
            let image = self.image(x.iter().copied());
            out.iter_mut().zip(image).for_each(|(out, image)| *out = image);
        }
    }

    fn conj_apply(&self, out: MatMut<'_, f64>, x: MatRef<'_, f64>, par: Par, stack: &mut MemStack) {
        self.apply(out, x, par, stack);
    }
}
