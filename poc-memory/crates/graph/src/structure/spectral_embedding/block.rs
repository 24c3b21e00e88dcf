//! The largest eigenvalues of N in a large component: block Krylov search (Golub and Underwood 1977) with full
//! orthogonalisation in the filtered matrix.
//!
//! Multiplying the matrix with a few vectors at once costs little more than with one, because most of the time goes
//! into reading edges and finding the rows they lead to. A block also finds multiple eigenvalues, up to a multiplicity
//! of [`BLOCK`].

use super::eigenpair::Eigenpair;
use super::filter::ChebyshevFilter;
use super::walk::Walk;
use crate::cancellation;
use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatRef, Par, Side};

/// Vectors per block. With four, a row of the block fits into half a cache line.
pub(super) const BLOCK: usize = 4;

/// An eigenvector v of unit length has converged when the norm of N v − μ v is at most this.
pub(super) const TOLERANCE: f64 = 1e-8;

/// The same tolerance for a probe, which only needs the eigenvalue: the error of the value is about the square of this.
const PROBE_TOLERANCE: f64 = 1e-4;

/// A vector counts as linearly dependent on the basis if orthogonalisation leaves less than this share of its length.
const MIN_INDEPENDENT_SHARE: f64 = 1e-12;

/// The minimum number of vectors in the basis.
const MIN_BASIS: usize = 64;

/// The minimum number of basis vectors for `wanted` eigenvalues; a component must have more nodes.
pub(super) fn min_basis(wanted: usize) -> usize {
    MIN_BASIS.max(2 * wanted)
}

/// A search that excludes the first eigenvector and the pairs already found.
#[derive(Debug)]
pub(super) struct BlockSearch<'a> {
    walk: &'a Walk,
    filter: ChebyshevFilter,
    // What every vector is orthogonal to: the first eigenvector and those already found.
    known: Mat<f64>,
    // Start vectors. They also replace vectors that depend on the basis.
    random: [Vec<f64>; BLOCK],
    blocks: usize,
}

impl<'a> BlockSearch<'a> {
    /// Starts a search from a block of random vectors.
    pub(super) fn new(
        walk: &'a Walk,
        filter: ChebyshevFilter,
        found: &[Eigenpair],
        random: [Vec<f64>; BLOCK],
    ) -> BlockSearch<'a> {
        let first_eigenvector = walk.first_eigenvector();
        let column = |column: usize| match column.checked_sub(1) {
            None => first_eigenvector.as_slice(),
            Some(pair) => found.get(pair).map_or(&[][..], |pair| &pair.vector),
        };
        let known = Mat::from_fn(walk.len(), found.len() + 1, |row, at| entry(column(at), row));
        BlockSearch { walk, filter, known, random, blocks: 0 }
    }

    /// The edge ends visited so far, counted once per vector.
    pub(super) fn work(&self) -> usize {
        self.blocks * BLOCK * self.filter.degree() * self.walk.work()
    }

    /// Finds the `wanted` largest eigenvalues of N, returned as eigenvalues of the Laplacian, with a basis of at most
    /// `max` vectors. Returns fewer if the filter is too weak.
    pub(super) fn run(&mut self, wanted: usize, max: usize) -> Vec<Eigenpair> {
        let mut found = self.solve(wanted, max, TOLERANCE);
        found.retain(|pair| pair.residual <= TOLERANCE);
        found
    }

    /// An upper estimate of the smallest remaining eigenvalue of the Laplacian; `None` if the filter is too weak.
    pub(super) fn probe(&mut self, max: usize) -> Option<f64> {
        let found = self.solve(1, max, PROBE_TOLERANCE);
        found.first().filter(|pair| pair.residual <= PROBE_TOLERANCE).map(|pair| pair.value)
    }

    /// The best approximations in a basis that grows until they reach `tolerance` or it has `max` vectors.
    fn solve(&mut self, wanted: usize, max: usize, tolerance: f64) -> Vec<Eigenpair> {
        let nodes = self.walk.len();
        let max = max.min(nodes.saturating_sub(self.known.ncols())) / BLOCK * BLOCK;
        let mut basis = Mat::<f64>::zeros(nodes, max);
        let mut projected = Mat::<f64>::zeros(max, max);
        let mut block = Mat::from_fn(nodes, BLOCK, |row, at| {
            self.random.get(at).map_or(0.0, |vector| entry(vector, row))
        });
        self.orthonormalize(basis.as_ref().subcols(0, 0), &mut block, 0);
        let mut size = 0;
        while size < max && !cancellation::is_requested() {
            basis.as_mut().subcols_mut(size, BLOCK).copy_from(&block);
            size += BLOCK;
            block = self.image(&block);
            let (inner, coupling) = self.orthonormalize(basis.as_ref().subcols(0, size), &mut block, size);
            projected.as_mut().submatrix_mut(0, size - BLOCK, size, BLOCK).copy_from(&inner);
            let is_due = size >= wanted + BLOCK && size.is_multiple_of(2 * BLOCK) || size == max;
            if !is_due {
                continue;
            }
            let Ok(ritz) = projected.as_ref().submatrix(0, 0, size, size).self_adjoint_eigen(Side::Upper)
            else {
                break;
            };
            let best = ritz.U().subcols(size - wanted.min(size), wanted.min(size));
            let residuals = &coupling * best.subrows(size - BLOCK, BLOCK);
            let has_converged = residuals.col_iter().all(|column| column.norm_l2() <= tolerance);
            if has_converged || size == max {
                let mut vectors = Mat::<f64>::zeros(nodes, best.ncols());
                matmul(&mut vectors, Accum::Replace, basis.as_ref().subcols(0, size), best, 1.0, Par::Seq);
                return self.pairs(vectors.as_ref());
            }
        }
        Vec::new()
    }

    /// T(N) of a block.
    fn image(&mut self, block: &Mat<f64>) -> Mat<f64> {
        self.blocks += 1;
        from_rows(&self.filter.apply(self.walk, to_rows(block.as_ref())))
    }

    /// Orthonormalises a block against the known vectors, the basis and itself. Returns the components along the basis,
    /// and those among the vectors of the block.
    fn orthonormalize(
        &self,
        basis: MatRef<'_, f64>,
        block: &mut Mat<f64>,
        turn: usize,
    ) -> (Mat<f64>, Mat<f64>) {
        let norms: Vec<f64> = block.col_iter().map(|column| column.norm_l2()).collect();
        let mut coupling = Mat::<f64>::zeros(BLOCK, BLOCK);
        // Except for rounding errors, an image lies in the span of the last two blocks and the next one. The errors are
        // removed afterwards, along the whole basis.
        let recent = basis.ncols().saturating_sub(2 * BLOCK);
        let along = remove(basis.subcols(recent, basis.ncols() - recent), block);
        remove(self.known.as_ref(), block);
        let mut inner = remove(basis, block);
        let mut last = inner.as_mut().subrows_mut(recent, along.nrows());
        last += &along;
        for at in 0..BLOCK {
            let mut vector = block.col(at).to_owned();
            let before = norms.get(at).copied().unwrap_or(0.0);
            for _ in 0..2 {
                for other in 0..at {
                    let along = block.col(other).transpose() * &vector;
                    coupling[(other, at)] += along;
                    vector -= block.col(other) * faer::Scale(along);
                }
            }
            let mut length = vector.norm_l2();
            coupling[(at, at)] = length;
            if length <= MIN_INDEPENDENT_SHARE * before {
                coupling[(at, at)] = 0.0;
                vector = self.replacement(basis, block.as_ref().subcols(0, at), at, turn);
                length = vector.norm_l2();
            }
            if length > 0.0 {
                vector *= faer::Scale(length.recip());
            }
            block.as_mut().col_mut(at).copy_from(&vector);
        }
        (inner, coupling)
    }

    /// A vector orthogonal to the basis that replaces a dependent one: a random vector, rotated differently each time.
    fn replacement(
        &self,
        basis: MatRef<'_, f64>,
        before: MatRef<'_, f64>,
        at: usize,
        turn: usize,
    ) -> faer::Col<f64> {
        let random = self.random.get(at).map_or(&[][..], Vec::as_slice);
        let nodes = self.walk.len();
        let mut block = Mat::from_fn(nodes, 1, |row, _| entry(random, (row + turn + 1) % nodes));
        for _ in 0..2 {
            for others in [self.known.as_ref(), basis, before] {
                remove(others, &mut block);
            }
        }
        block.col(0).to_owned()
    }

    /// Vectors of unit length with their Rayleigh quotients, the smallest eigenvalue of the Laplacian first.
    fn pairs(&self, vectors: MatRef<'_, f64>) -> Vec<Eigenpair> {
        let mut pairs = Vec::with_capacity(vectors.ncols());
        for first in (0..vectors.ncols()).step_by(BLOCK) {
            let rows = to_rows(vectors.subcols(first, BLOCK.min(vectors.ncols() - first)));
            let images = self.walk.multiply(rows.clone());
            for at in 0..BLOCK.min(vectors.ncols() - first) {
                let both = || {
                    rows.iter().zip(&images).filter_map(|(own, image)| Some((own.get(at)?, image.get(at)?)))
                };
                let value: f64 = both().map(|(own, image)| own * image).sum();
                let residual = both().map(|(own, image)| (image - value * own).powi(2)).sum::<f64>().sqrt();
                let vector = both().map(|(own, _)| *own).collect();
                pairs.push(Eigenpair { value: 1.0 - value, residual, vector });
            }
        }
        pairs.sort_by(|a, b| a.value.total_cmp(&b.value));
        pairs
    }
}

/// Subtracts the components of a block along other, mutually orthogonal vectors, and returns these components.
fn remove(others: MatRef<'_, f64>, block: &mut Mat<f64>) -> Mat<f64> {
    let mut along = Mat::<f64>::zeros(others.ncols(), block.ncols());
    matmul(&mut along, Accum::Replace, others.transpose(), &*block, 1.0, Par::Seq);
    matmul(&mut *block, Accum::Add, others, &along, -1.0, Par::Seq);
    along
}

fn entry(column: &[f64], row: usize) -> f64 {
    column.get(row).copied().unwrap_or(0.0)
}

/// The rows of at most [`BLOCK`] vectors; missing ones are zero.
fn to_rows(block: MatRef<'_, f64>) -> Vec<[f64; BLOCK]> {
    let mut rows = vec![[0.0; BLOCK]; block.nrows()];
    for (at, column) in block.col_iter().enumerate() {
        for (row, value) in rows.iter_mut().zip(column.iter()) {
            if let Some(slot) = row.get_mut(at) {
                *slot = *value;
            }
        }
    }
    rows
}

fn from_rows(rows: &[[f64; BLOCK]]) -> Mat<f64> {
    Mat::from_fn(rows.len(), BLOCK, |row, at| rows.get(row).map_or(0.0, |row| entry(row, at)))
}
