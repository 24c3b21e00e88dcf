//! The smallest eigenvalues above zero of a component's normalised Laplacian I − N, with their
//! vectors: those of the largest eigenvalues of N but the first.

use super::dense;
use super::filter::{Filter, Look};
use super::krylov::Search;
use super::walk::Walk;

/// Components up to here keep all their eigenvectors.
pub(super) const WHOLE: usize = 64;

/// Components up to here are solved as dense matrices.
pub(super) const DENSE: usize = 320;

/// Eigenvalues that differ by less than this share are one.
const SAME: f64 = 1e-6;

/// An eigenvalue that is smaller than the last of the wanted by more than this share was missed.
const MISSED: f64 = 1e-4;

/// Ends of ties that a component may be walked over in all: some minutes for a large one.
const MOST_WORK: usize = 60_000_000_000;

/// Restarts of the first search; each further one has twice as many.
const RESTARTS: usize = 8;

/// Above the cut of the first filter there is room for so many times the eigenvalues wanted.
const ROOM: f64 = 2.5;

/// An eigenvalue of the normalised Laplacian with its eigenvector, of unit length.
#[derive(Clone, Debug)]
pub(super) struct Pair {
    pub(super) value: f64,
    /// Norm of N v − μ v.
    pub(super) residual: f64,
    pub(super) vector: Vec<f64>,
}

/// A random number for every node, of this turn.
pub(super) type Chance<'a> = dyn Fn(u64) -> Vec<f64> + 'a;

/// What was found.
#[derive(Clone, Debug)]
pub(super) struct Spectrum {
    /// By eigenvalue, ascending.
    pub(super) pairs: Vec<Pair>,
    /// Whether that is all that was asked for.
    pub(super) converged: bool,
}

/// The smallest eigenvalues above zero: all of them up to [`WHOLE`] nodes, else about
/// `dimensions`. `chance` starts the search.
pub(super) fn smallest(walk: &Walk, chance: &Chance<'_>, dimensions: usize) -> Spectrum {
    if walk.len() > DENSE {
        return search(walk, chance, dimensions);
    }
    let mut pairs = dense::all(walk);
    let converged = pairs.len() + 1 == walk.len();
    if walk.len() > WHOLE {
        pairs.truncate(keep(&pairs, dimensions, DENSE));
    }
    Spectrum { pairs, converged }
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

/// Searches from other starts until a probe finds nothing that belongs among the smallest: one
/// start finds an eigenvalue once, however often it occurs.
fn search(walk: &Walk, chance: &Chance<'_>, dimensions: usize) -> Spectrum {
    let look = Look::at(walk, &chance(0));
    // One more, to see whether the last ones are cut off from their like.
    let wanted = dimensions + 1;
    let (mut room, mut restarts, mut work, mut turn) = (ROOM, RESTARTS, 0, 0);
    let mut filter = Filter::new(&look, wanted, room);
    let mut start = chance(0);
    let mut pairs: Vec<Pair> = Vec::new();
    let mut converged = false;
    while !converged && work < MOST_WORK {
        turn += 1;
        let search = Search::new(walk, filter, &pairs);
        let missing = wanted.saturating_sub(pairs.len());
        let found = search.run(&start, if missing > 0 { missing } else { wanted }, restarts);
        work += search.work();
        pairs.extend(found);
        pairs.sort_by(|a, b| a.value.total_cmp(&b.value));
        let probe = Search::new(walk, filter, &pairs).probe(chance(turn));
        let last = pairs.get(wanted - 1).map(|pair| pair.value);
        converged = last.is_some_and(|last| probe.value >= last * (1.0 - MISSED));
        if last.is_none() && 1.0 - probe.value < filter.cut() {
            room *= 3.0;
            filter = Filter::new(&look, wanted, room);
        }
        restarts *= 2;
        start = probe.vector;
    }
    pairs.truncate(keep(&pairs, dimensions, dimensions));
    Spectrum { pairs, converged }
}
