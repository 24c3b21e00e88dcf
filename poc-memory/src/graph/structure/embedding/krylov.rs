//! The search for the largest eigenvalues of N in a large component: the Lanczos process over the
//! filtered matrix with full orthogonalisation and thick restarts (Wu and Simon 2000).

use super::basis::Basis;
use super::filter::{Filter, dot, multiply, normalise};
use super::spectrum::Pair;
use super::walk::Walk;
use faer::{Mat, MatRef, Side};
use std::cell::Cell;

/// Norm of N v − μ v, for v of unit length, at which an eigenvector counts as found.
const TOLERANCE: f64 = 1e-6;

/// The same in the filtered matrix, where it is larger, as the Lanczos process estimates it: from
/// here on the vectors are looked at.
const PROMISING: f64 = 1e-4;

/// Vectors that are kept beside those wanted before a restart.
const ROOM: usize = 31;

/// Vectors between two looks at how far the search is.
const STRIDE: usize = 4;

/// When so little of a vector lies outside the basis, the basis holds all there is to find.
const CLOSED: f64 = 1e-12;

/// Ends of ties a probe may go over.
const PROBE_WORK: usize = 200_000_000;

/// The filtered matrix at right angles to the ground and to what was found.
pub(super) struct Search<'a> {
    walk: &'a Walk,
    filter: Filter,
    found: &'a [Pair],
    applied: Cell<usize>,
}

impl<'a> Search<'a> {
    pub(super) fn new(walk: &'a Walk, filter: Filter, found: &'a [Pair]) -> Self {
        Search { walk, filter, found, applied: Cell::new(0) }
    }

    /// Ends of ties gone over so far.
    pub(super) fn work(&self) -> usize {
        self.applied.get() * self.round()
    }

    /// Ends of ties the filter goes over once.
    fn round(&self) -> usize {
        self.filter.degree() * self.walk.work()
    }

    /// Finds so many eigenvalues, from the largest of N, as eigenvalues of the Laplacian; fewer
    /// when that many restarts do not suffice.
    pub(super) fn run(&self, start: &[f64], wanted: usize, restarts: usize) -> Vec<Pair> {
        let most = wanted + ROOM;
        let mut promising = PROMISING;
        let mut basis = Basis::new(self.walk.len(), most + 1);
        let mut next = start.to_vec();
        self.leave_known(&mut next);
        // The filtered matrix as the basis sees it; one half of it, the other is the same.
        let mut seen = Mat::<f64>::zeros(most, most);
        let mut left = restarts;
        while normalise(&mut next) > 0.0 {
            basis.push(&next);
            next = self.filtered(&next);
            let size = basis.len();
            for (row, along) in basis.leave(&mut next).into_iter().enumerate() {
                seen[(size - 1, row)] = along;
            }
            let beyond = dot(&next, &next).sqrt();
            let closed = beyond < CLOSED;
            let full = size == most;
            if !closed && !full && (size < wanted || !size.is_multiple_of(STRIDE)) {
                continue;
            }
            let Ok(ritz) = seen.submatrix(0, 0, size, size).self_adjoint_eigen(Side::Lower) else { break };
            let estimate = |at: usize| if closed { 0.0 } else { beyond * ritz.U()[(size - 1, at)].abs() };
            // The largest come last.
            let top: Vec<usize> = (0..size).rev().take(wanted).collect();
            let last = closed || (full && left == 0);
            if last || (top.len() == wanted && top.iter().all(|&at| estimate(at) <= promising)) {
                let vectors = basis.turned(columns(ritz.U(), &top).as_ref());
                let mut found: Vec<Pair> = vectors.into_iter().map(|vector| self.pair(vector)).collect();
                found.retain(|pair| pair.residual <= TOLERANCE);
                if last || found.len() == wanted {
                    return found;
                }
                promising /= 4.0;
            }
            if full {
                left -= 1;
                let kept: Vec<usize> = (0..size).rev().take(wanted + ROOM / 2).collect();
                basis.turn(columns(ritz.U(), &kept).as_ref());
                seen.fill(0.0);
                for (at, &from) in kept.iter().enumerate() {
                    seen[(at, at)] = ritz.S()[from];
                }
            }
        }
        Vec::new()
    }

    fn filtered(&self, x: &[f64]) -> Vec<f64> {
        self.applied.set(self.applied.get() + 1);
        let mut image = self.filter.apply(self.walk, x);
        self.leave_known(&mut image);
        image
    }

    /// A vector with its Rayleigh quotient.
    fn pair(&self, vector: Vec<f64>) -> Pair {
        let mut image = vec![0.0; vector.len()];
        multiply(self.walk, &vector, &mut image);
        let value = dot(&vector, &image);
        image.iter_mut().zip(&vector).for_each(|(image, own)| *image -= value * own);
        Pair { value: 1.0 - value, residual: dot(&image, &image).sqrt(), vector }
    }

    /// A vector near those that were not found yet, by the power method; its value is not below
    /// the smallest of theirs.
    pub(super) fn probe(&self, chance: Vec<f64>) -> Pair {
        let mut at = chance;
        self.leave_known(&mut at);
        for _ in 0..(PROBE_WORK / self.round().max(1)).clamp(6, 60) {
            at = self.filtered(&at);
            normalise(&mut at);
        }
        self.pair(at)
    }

    fn leave_known(&self, x: &mut [f64]) {
        self.walk.leave_ground(x);
        for Pair { vector, .. } in self.found {
            let along = dot(vector, x);
            x.iter_mut().zip(vector).for_each(|(x, known)| *x -= along * known);
        }
    }
}

/// Some of the columns.
fn columns(from: MatRef<'_, f64>, which: &[usize]) -> Mat<f64> {
    let at = |row, column: usize| which.get(column).map_or(0.0, |&column| from[(row, column)]);
    Mat::from_fn(from.nrows(), which.len(), at)
}
