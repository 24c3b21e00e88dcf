//! The smallest non-zero eigenvalues of a component's normalised Laplacian I − N, with their eigenvectors. They
//! correspond to the largest eigenvalues of N except the first.

use super::block::{self, BLOCK, BlockSearch, TOLERANCE};
use super::dense;
use super::eigenpair::Eigenpair;
use super::filter::{ChebyshevFilter, SpectralDensity};
use super::walk::Walk;
use crate::cancellation;

/// Components of up to this many nodes keep all their eigenvectors.
pub(super) const WHOLE: usize = 64;

/// Components of up to this many nodes are solved as dense matrices when the iterative search fails.
const SMALL: usize = 320;

/// In a small component, the search is accepted when the first eigenvalue is at least this many times its
/// tolerance.
const DISTINCT_FROM_ZERO: f64 = 100.0;

/// Eigenvalues with at most this relative difference count as equal.
const MAX_RELATIVE_DIFFERENCE: f64 = 1e-6;

/// If a probe finds an eigenvalue smaller than the last wanted one by more than this relative difference, the search
/// missed it.
const MISSED: f64 = 1e-4;

/// Bound on the edge ends visited for one component; for a large component this takes some minutes.
const MAX_WORK: usize = 120_000_000_000;

/// Bound on the searches and probes of one component.
const MAX_TURNS: u64 = 100;

/// The first filter amplifies the last wanted eigenvalue by cosh of `GROWTH`, and places its cut so that about
/// `ROOM` times the wanted number of eigenvalues lie above.
const GROWTH: f64 = 3.0;
const ROOM: f64 = 2.0;

/// After a search or probe that did not converge, growth, room and the size of the basis are multiplied by these
/// factors, up to the bounds.
const MORE_GROWTH: f64 = 2.0;
const MAX_GROWTH: f64 = 8.0;
const MORE_ROOM: f64 = 1.25;
const MAX_ROOM: f64 = 5.0;
const MORE_BASIS: f64 = 1.5;

/// Bound on the vectors in a basis.
const MAX_BASIS: usize = 512;

/// Bound on the numbers in a basis: 0.8 GB. The solver needs that memory twice.
const MAX_NUMBERS: usize = 100_000_000;

/// Returns one pseudo-random number per node; different arguments give different numbers.
pub(super) type RandomVector<'a> = dyn Fn(u64) -> Vec<f64> + 'a;

/// The eigenpairs found.
#[derive(Clone, Debug)]
pub(super) struct Spectrum {
    /// By eigenvalue, ascending.
    pub(super) pairs: Vec<Eigenpair>,
    /// Whether all requested pairs were found.
    pub(super) converged: bool,
}

/// The smallest non-zero eigenvalues: all of them for up to [`WHOLE`] nodes, otherwise about `dimensions`. `random`
/// provides the start vectors.
pub(super) fn smallest(walk: &Walk, random: &RandomVector<'_>, dimensions: usize) -> Spectrum {
    if walk.len() > WHOLE.max(block::min_basis(dimensions + 1)) {
        let Spectrum { mut pairs, converged } = search(walk, random, dimensions + 1);
        let all_equal = pairs.first().zip(pairs.last()).is_some_and(|(first, last)| same(first, last));
        let near_zero = pairs.first().is_some_and(|first| first.value < DISTINCT_FROM_ZERO * TOLERANCE);
        if walk.len() > SMALL || converged && !all_equal && !near_zero {
            pairs.truncate(keep(&pairs, dimensions).min(dimensions));
            return Spectrum { pairs, converged };
        }
    }
    let mut pairs = dense::all(walk);
    let converged = pairs.len() + 1 == walk.len();
    if walk.len() > WHOLE {
        pairs.truncate(keep(&pairs, dimensions));
    }
    Spectrum { pairs, converged }
}

/// The number of pairs to keep so that every eigenvalue keeps all of its eigenvectors or none: at most `wanted`, unless
/// the first eigenvalue alone occurs more often.
fn keep(pairs: &[Eigenpair], wanted: usize) -> usize {
    let mut kept = 0;
    for run in pairs.chunk_by(same) {
        if kept + run.len() > wanted {
            return if kept == 0 { run.len() } else { kept };
        }
        kept += run.len();
    }
    kept
}

fn same(a: &Eigenpair, b: &Eigenpair) -> bool {
    (a.value - b.value).abs() <= MAX_RELATIVE_DIFFERENCE * a.value.max(b.value)
}

/// Finds the `wanted` smallest pairs. A block can find an eigenvalue only as often as it has vectors. If one occurs
/// that often, or if the first search did not suffice, the search repeats until a probe finds no further eigenvalue
/// among them.
fn search(walk: &Walk, random: &RandomVector<'_>, wanted: usize) -> Spectrum {
    let mut search = EigenSearch { walk, random, basis: 0, turn: 0, work: 0 };
    let density = SpectralDensity::at(walk, &random(0));
    let (mut growth, mut room) = (GROWTH, ROOM);
    let min = block::min_basis(wanted);
    let max = MAX_BASIS.min(MAX_NUMBERS / walk.len()).min(walk.len() - 1).max(min);
    search.basis = max.min(2 * min);
    let mut pairs: Vec<Eigenpair> = Vec::new();
    let (mut converged, mut missed) = (false, false);
    let may_continue = |search: &EigenSearch<'_>| {
        search.work < MAX_WORK && search.turn < MAX_TURNS && !cancellation::is_requested()
    };
    while !converged && may_continue(&search) {
        let filter = ChebyshevFilter::new(&density, wanted, room, growth);
        let count = if missed { wanted } else { wanted - pairs.len() };
        let is_first = pairs.is_empty();
        let found = search.find(filter, &pairs, count);
        let mut is_complete = found.len() == count;
        pairs.extend(found);
        pairs.sort_by(|a, b| a.value.total_cmp(&b.value));
        pairs.truncate(wanted);
        let is_rare = |run: &[Eigenpair]| run.len() < BLOCK;
        if is_first && is_complete && pairs.chunk_by(same).all(is_rare) {
            converged = true;
        } else if let Some(last) = pairs.get(wanted - 1) {
            let min = search.probe(filter.weaker(), &pairs);
            is_complete &= min.is_some();
            missed = min.is_some_and(|min| min < last.value * (1.0 - MISSED));
            converged = min.is_some() && !missed;
        }
        if !is_complete {
            growth = MAX_GROWTH.min(growth * MORE_GROWTH);
            room = MAX_ROOM.min(room * MORE_ROOM);
            search.basis = max.min((search.basis as f64 * MORE_BASIS) as usize);
        }
    }
    Spectrum { pairs, converged }
}

/// Repeated searches of one component, each from different start vectors.
struct EigenSearch<'a> {
    walk: &'a Walk,
    random: &'a RandomVector<'a>,
    /// Maximum number of basis vectors of a search.
    basis: usize,
    /// The number of searches so far.
    turn: u64,
    /// Edge ends visited so far.
    work: usize,
}

impl EigenSearch<'_> {
    /// Finds at most `wanted` pairs besides the known ones.
    fn find(&mut self, filter: ChebyshevFilter, known: &[Eigenpair], wanted: usize) -> Vec<Eigenpair> {
        if wanted == 0 {
            return Vec::new();
        }
        let mut search = BlockSearch::new(self.walk, filter, known, self.start());
        let found = search.run(wanted, self.basis);
        self.work += search.work();
        found
    }

    /// The smallest eigenvalue that a further search finds besides the known ones; `None` if it does not converge.
    fn probe(&mut self, filter: ChebyshevFilter, known: &[Eigenpair]) -> Option<f64> {
        let mut search = BlockSearch::new(self.walk, filter, known, self.start());
        let min = search.probe(self.basis);
        self.work += search.work();
        min
    }

    /// The start vectors of the next search.
    fn start(&mut self) -> [Vec<f64>; BLOCK] {
        self.turn += 1;
        let first = self.turn * BLOCK as u64;
        std::array::from_fn(|at| (self.random)(first + at as u64))
    }
}
