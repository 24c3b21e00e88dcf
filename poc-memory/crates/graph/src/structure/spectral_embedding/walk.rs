//! One component as a matrix that is never materialised: the normalised adjacency N = D^-1/2 A D^-1/2, and the random
//! walk D^-1 A, which has the same eigenvalues.

use super::super::adjacency::{Adjacency, HalfEdge};
use multiversion::multiversion;
use std::ops::Range;

/// Edge ends from which a step uses two threads. For smaller components, starting a thread would cost as much as it
/// saves.
const MIN_PARALLEL_ENDS: usize = 400_000;

/// The matrix of one component.
#[derive(Clone, Debug)]
pub(super) struct Walk {
    edges: Adjacency,
    degrees: Vec<f64>,
    // 1/d, because a division takes as long as several multiplications.
    inverse_degrees: Vec<f64>,
    root_degrees: Vec<f64>,
    volume: f64,
}

impl Walk {
    /// Creates the matrix from the edges of a component; every node must have an edge.
    pub(super) fn new(edges: Adjacency) -> Walk {
        let rows = edges.rows_in(0..edges.rows() as usize);
        let degrees: Vec<f64> = rows.map(|row| row.iter().map(|end| f64::from(end.strength)).sum()).collect();
        let inverse_degrees = degrees.iter().map(|degree| degree.recip()).collect();
        let root_degrees = degrees.iter().map(|degree| degree.sqrt()).collect();
        let volume = degrees.iter().sum();
        Walk { edges, degrees, inverse_degrees, root_degrees, volume }
    }

    /// The number of nodes.
    pub(super) fn len(&self) -> usize {
        self.degrees.len()
    }

    /// The number of edge ends: the work of one step.
    pub(super) fn work(&self) -> usize {
        self.edges.ends()
    }

    /// The sum of strengths at each node.
    pub(super) fn degrees(&self) -> &[f64] {
        &self.degrees
    }

    /// The sum of all degrees.
    pub(super) fn volume(&self) -> f64 {
        self.volume
    }

    /// The edges of each node.
    pub(super) fn rows(&self) -> impl Iterator<Item = &[HalfEdge]> {
        self.edges.rows_in(0..self.len())
    }

    /// The entry of N for an edge, given one end, the other end and the strength.
    pub(super) fn entry(&self, a: usize, end: HalfEdge) -> f64 {
        let root = |at: usize| self.root_degrees.get(at).copied().unwrap_or(1.0);
        f64::from(end.strength) / (root(a) * root(end.ix as usize))
    }

    /// Converts vectors for N to vectors for the random walk: D^-1/2 `x`.
    pub(super) fn to_walk_space<const B: usize>(&self, x: &mut [[f64; B]]) {
        x.iter_mut().zip(&self.root_degrees).for_each(|(x, root)| x.iter_mut().for_each(|x| *x /= root));
    }

    /// Converts vectors for the random walk back to vectors for N: D^1/2 `x`.
    pub(super) fn out_of_walk_space<const B: usize>(&self, x: &mut [[f64; B]]) {
        x.iter_mut().zip(&self.root_degrees).for_each(|(x, root)| x.iter_mut().for_each(|x| *x *= root));
    }

    /// The unit eigenvector of N with eigenvalue 1: √d, normalised.
    pub(super) fn first_eigenvector(&self) -> Vec<f64> {
        let length = self.volume.sqrt();
        self.root_degrees.iter().map(|root| root / length).collect()
    }

    /// Removes the component along [`Walk::first_eigenvector`] from a vector for N.
    pub(super) fn remove_first_eigenvector(&self, x: &mut [f64]) {
        let along = x.iter().zip(&self.root_degrees).map(|(x, root)| x * root).sum::<f64>() / self.volume;
        x.iter_mut().zip(&self.root_degrees).for_each(|(x, root)| *x -= along * root);
    }

    /// Computes N `x`.
    pub(super) fn multiply<const B: usize>(&self, mut x: Vec<[f64; B]>) -> Vec<[f64; B]> {
        self.to_walk_space(&mut x);
        let mut out = vec![[0.0; B]; x.len()];
        self.step(&x, &mut out, |step, _, _| step);
        self.out_of_walk_space(&mut out);
        out
    }

    /// One step of the random walk for several vectors, stored row by row. Sets every number of `out` to `put`(D^-1 A
    /// `x`, `x`, `out`).
    pub(super) fn step<const B: usize>(
        &self,
        x: &[[f64; B]],
        out: &mut [[f64; B]],
        put: impl Fn(f64, f64, f64) -> f64 + Sync,
    ) {
        let step_range = |nodes: Range<usize>, out: &mut [[f64; B]]| {
            step_rows(&self.edges, &self.inverse_degrees, nodes, x, out, &put);
        };
        if self.work() < MIN_PARALLEL_ENDS {
            return step_range(0..self.len(), out);
        }
        let middle = self.edges.middle();
        let (low, high) = out.split_at_mut(middle);
        std::thread::scope(|scope| {
            scope.spawn(|| step_range(0..middle, low));
            step_range(middle..self.len(), high);
        });
    }
}

/// [`Walk::step`] for a range of nodes, whose rows are `out`. The order of additions is the same on every processor,
/// and so is the result.
#[multiversion(targets("x86_64+avx2"))]
fn step_rows<const B: usize, P: Fn(f64, f64, f64) -> f64>(
    edges: &Adjacency,
    inverse_degrees: &[f64],
    nodes: Range<usize>,
    x: &[[f64; B]],
    out: &mut [[f64; B]],
    put: &P,
) {
    let inverse_degrees = inverse_degrees.get(nodes.clone()).unwrap_or(&[]);
    let own = x.get(nodes.clone()).unwrap_or(&[]);
    for (((row, inverse_degree), own), out) in edges.rows_in(nodes).zip(inverse_degrees).zip(own).zip(out) {
        let mut sums = [0.0; B];
        for end in row {
            let Some(other) = x.get(end.ix as usize) else { continue };
            let strength = f64::from(end.strength);
            sums.iter_mut().zip(other).for_each(|(sum, other)| *sum += strength * other);
        }
        for ((sum, own), out) in sums.iter().zip(own).zip(out) {
            *out = put(sum * inverse_degree, *own, *out);
        }
    }
}
