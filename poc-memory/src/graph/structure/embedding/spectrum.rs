//! The smallest eigenvalues of a component's normalised Laplacian above zero, and their vectors.
//!
//! A component of up to [`DENSE`] nodes is written out as a matrix and solved whole. A larger one
//! is solved by the Krylov–Schur method (Stewart 2002; thick-restart Lanczos for a symmetric
//! matrix, Wu and Simon 2000) of `faer` over [`Walk::step`], for the largest eigenvalues of
//! (I + N)/2, which are 1 − λ/2, without the known vector of λ = 0. One start vector finds an
//! eigenvalue once however often it occurs, so the search is repeated at right angles to what was
//! found until it finds nothing that belongs among the smallest.

use super::walk::Walk;
use faer::dyn_stack::{MemBuffer, MemStack, StackReq};
use faer::matrix_free::LinOp;
use faer::matrix_free::eigen::{
    PartialEigenParams, partial_self_adjoint_eigen, partial_self_adjoint_eigen_scratch,
};
use faer::{Mat, MatMut, MatRef, Par, Side};

/// Components up to here keep all their eigenvectors.
pub(super) const WHOLE: usize = 64;

/// Components up to here are solved as dense matrices.
pub(super) const DENSE: usize = 512;

/// Norm of N v − μ v, for v of unit length, at which an eigenvector counts as found.
const TOLERANCE: f64 = 1e-6;

/// Eigenvalues that differ by less than this share are one.
const SAME: f64 = 1e-6;

/// Searches for eigenvalues that occur several times.
const SEARCHES: usize = 2;

/// An eigenvalue of the normalised Laplacian with its eigenvector, of unit length.
#[derive(Clone, Debug)]
pub(super) struct Pair {
    pub(super) value: f64,
    pub(super) vector: Vec<f64>,
}

/// What was found.
#[derive(Clone, Debug)]
pub(super) struct Spectrum {
    /// By eigenvalue, ascending.
    pub(super) pairs: Vec<Pair>,
    /// Whether that is all that was asked for.
    pub(super) converged: bool,
}

/// The smallest eigenvalues above zero: all of them up to [`WHOLE`] nodes, else about
/// `dimensions`. `chance` holds a number for every node and starts the search.
pub(super) fn smallest(walk: &Walk, chance: &[f64], dimensions: usize) -> Spectrum {
    if walk.len() <= DENSE {
        let mut pairs = dense(walk);
        let converged = pairs.len() + 1 == walk.len();
        if walk.len() > WHOLE {
            pairs.truncate(keep(&pairs, dimensions, pairs.len()));
        }
        return Spectrum { pairs, converged };
    }
    krylov(walk, chance, dimensions)
}

/// All eigenvalues but the zero.
fn dense(walk: &Walk) -> Vec<Pair> {
    let size = walk.len();
    let mut laplacian = Mat::<f64>::identity(size, size);
    for (row, ends) in walk.rows().enumerate() {
        for end in ends {
            if let Some(entry) = laplacian.get_mut(.., end.ix as usize).try_as_col_major_mut() {
                if let Some(slot) = entry.as_slice_mut().get_mut(row) {
                    *slot = -walk.entry(row, *end);
                }
            }
        }
    }
    let Ok(found) = laplacian.self_adjoint_eigen(Side::Lower) else { return Vec::new() };
    let values = found.S().column_vector().iter().copied();
    let vectors = found.U().col_iter().map(|vector| vector.iter().copied().collect());
    // The first is the zero.
    values.zip(vectors).skip(1).map(|(value, vector)| Pair { value, vector }).collect()
}

/// How many of the pairs to keep so that no eigenvalue is kept for a part of its vectors: at most
/// `wanted`, or, when the first eigenvalue alone occurs more often, all of those up to `most`.
fn keep(pairs: &[Pair], wanted: usize, most: usize) -> usize {
    let same = |a: &Pair, b: &Pair| (a.value - b.value).abs() <= SAME * a.value.max(b.value);
    let mut kept = 0;
    for run in pairs.chunk_by(same) {
        if kept + run.len() > wanted {
            return if kept == 0 { run.len().min(most) } else { kept };
        }
        kept += run.len();
    }
    kept
}

fn krylov(walk: &Walk, chance: &[f64], dimensions: usize) -> Spectrum {
    // One more, to see whether the last ones are cut off from their like.
    let wanted = dimensions + 1;
    let mut pairs: Vec<Pair> = Vec::new();
    let mut converged = false;
    for _ in 0..SEARCHES {
        let search = Search { walk, ground: walk.ground(), found: &pairs };
        let (news, complete) = search.run(chance, wanted);
        let last = pairs.get(wanted - 1).map_or(f64::INFINITY, |pair| pair.value);
        let belongs = |pair: &Pair| pair.value < last * (1.0 - SAME);
        let done = complete && !news.iter().any(belongs);
        pairs.extend(news.into_iter().filter(belongs));
        pairs.sort_by(|a, b| a.value.total_cmp(&b.value));
        if done || !complete {
            converged = done;
            break;
        }
    }
    pairs.truncate(keep(&pairs, dimensions, dimensions));
    Spectrum { pairs, converged }
}

/// (I + N)/2 at right angles to the ground and to what was found.
#[derive(Debug)]
struct Search<'a> {
    walk: &'a Walk,
    ground: Vec<f64>,
    found: &'a [Pair],
}

impl Search<'_> {
    /// Finds the largest eigenvalues; and whether that are as many as wanted.
    fn run(&self, chance: &[f64], wanted: usize) -> (Vec<Pair>, bool) {
        let size = self.walk.len();
        let mut start: Vec<f64> = chance.to_vec();
        self.project(&mut start);
        let params = PartialEigenParams { max_restarts: 50, ..PartialEigenParams::default() };
        let scratch = partial_self_adjoint_eigen_scratch::<f64>(self, wanted, Par::Seq, params);
        let mut memory = MemBuffer::new(scratch);
        let mut vectors = Mat::<f64>::zeros(size, wanted);
        let mut values = vec![0.0; wanted];
        let info = partial_self_adjoint_eigen(
            vectors.as_mut(),
            &mut values,
            self,
            faer::ColRef::from_slice(&start),
            TOLERANCE,
            Par::Seq,
            MemStack::new(&mut memory),
            params,
        );
        let found = values.iter().zip(vectors.col_iter()).take(info.n_converged_eigen);
        let pairs = found.map(|(value, vector)| Pair {
            value: 2.0 * (1.0 - value),
            vector: vector.iter().copied().collect(),
        });
        (pairs.collect(), info.n_converged_eigen >= wanted)
    }

    fn project(&self, x: &mut [f64]) {
        for known in std::iter::once(&self.ground).chain(self.found.iter().map(|pair| &pair.vector)) {
            let along: f64 = known.iter().zip(x.iter()).map(|(a, b)| a * b).sum();
            x.iter_mut().zip(known).for_each(|(x, known)| *x -= along * known);
        }
    }
}

impl LinOp<f64> for Search<'_> {
    fn apply_scratch(&self, _: usize, _: Par) -> StackReq {
        StackReq::EMPTY
    }

    fn nrows(&self) -> usize {
        self.walk.len()
    }

    fn ncols(&self) -> usize {
        self.walk.len()
    }

    fn apply(&self, mut out: MatMut<'_, f64>, x: MatRef<'_, f64>, _: Par, _: &mut MemStack) {
        for (out, x) in out.as_mut().col_iter_mut().zip(x.col_iter()) {
            let x: Vec<f64> = x.iter().copied().collect();
            let mut y = vec![0.0; x.len()];
            self.walk.step(&x, &mut y);
            y.iter_mut().zip(&x).for_each(|(y, x)| *y = 0.5 * (x + *y));
            self.project(&mut y);
            out.iter_mut().zip(y).for_each(|(out, y)| *out = y);
        }
    }

    fn conj_apply(&self, out: MatMut<'_, f64>, x: MatRef<'_, f64>, par: Par, stack: &mut MemStack) {
        self.apply(out, x, par, stack);
    }
}
