//! The Chebyshev filter: a polynomial of N that keeps the order of its large eigenvalues, spreads them far apart and
//! moves all others close together.
//!
//! Let T be the Chebyshev polynomial of some degree, with the interval from −1 to `cut` mapped onto −1 to 1. T(N) has
//! eigenvalues in −1 to 1 where those of N are below the cut; above the cut they grow exponentially with the degree
//! (Saad 1984; Zhou, Saad, Tiago and Chelikowsky 2006). A search in the filtered matrix needs as many matrix
//! multiplications, but far fewer vectors to store and orthogonalise.

use super::walk::Walk;
use crate::cancellation;
use faer::{Mat, Side};

/// Lanczos steps for the estimate of the spectral density.
const LANCZOS_STEPS: usize = 80;

/// Bound on the amplification: cosh 18, about 33 million.
const MAX_GROWTH: f64 = 18.0;

/// The factor by which [`ChebyshevFilter::weaker`] divides the degree.
const WEAKER: usize = 3;

/// An estimate of the spectral density of N: values in descending order, each with the number of eigenvalues
/// above it.
#[derive(Clone, Debug)]
pub(super) struct SpectralDensity {
    values: Vec<(f64, f64)>,
}

impl SpectralDensity {
    /// Estimates the density by the Lanczos process from one vector: the Ritz values are the nodes of a
    /// quadrature of the density and the squares of first components its weights (Golub and Meurant
    /// 2010; Lin, Saad and Yang 2016).
    pub(super) fn at(walk: &Walk, random: &[f64]) -> SpectralDensity {
        let mut now = random.to_vec();
        walk.remove_first_eigenvector(&mut now);
        normalize(&mut now);
        let mut before = vec![0.0; now.len()];
        let mut next = vec![0.0; now.len()];
        let (mut diagonal, mut beside) = (Vec::new(), Vec::new());
        let mut last = 0.0;
        for _ in 0..LANCZOS_STEPS {
            if cancellation::is_requested() && !diagonal.is_empty() {
                break;
            }
            multiply(walk, &now, &mut next);
            next.iter_mut().zip(&before).for_each(|(next, before)| *next -= last * before);
            walk.remove_first_eigenvector(&mut next);
            let along = dot(&next, &now);
            next.iter_mut().zip(&now).for_each(|(next, now)| *next -= along * now);
            diagonal.push(along);
            last = normalize(&mut next);
            if last < 1e-10 {
                break;
            }
            beside.push(last);
            std::mem::swap(&mut before, &mut now);
            std::mem::swap(&mut now, &mut next);
        }
        let size = diagonal.len();
        let entry = |row: usize, column: usize| match row.abs_diff(column) {
            0 => diagonal.get(row).copied().unwrap_or(0.0),
            1 => beside.get(row.min(column)).copied().unwrap_or(0.0),
            _ => 0.0,
        };
        let mut values = Vec::new();
        if let Ok(found) = Mat::from_fn(size, size, entry).self_adjoint_eigen(Side::Lower) {
            let mut count = 0.0;
            let firsts: Vec<f64> = found.U().row(0).iter().copied().collect();
            let ritz: Vec<f64> = found.S().column_vector().iter().copied().collect();
            for (value, first) in ritz.into_iter().zip(firsts).rev() {
                count += first * first * walk.len() as f64;
                values.push((value, count));
            }
        }
        SpectralDensity { values }
    }

    /// A value with about `count` eigenvalues above it; −1 if there are fewer.
    fn below(&self, count: f64) -> f64 {
        self.values.iter().find(|(_, above)| *above >= count).map_or(-1.0, |(value, _)| *value)
    }

    /// A value clearly below `value` in the estimate.
    fn under(&self, value: f64) -> f64 {
        let next = self.values.iter().map(|(value, _)| *value).find(|other| *other < value - 1e-6);
        next.map_or(-1.0, |next| (value + next) / 2.0)
    }
}

/// The Chebyshev polynomial, scaled to a cut.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChebyshevFilter {
    middle: f64,
    half: f64,
    degree: usize,
}

impl ChebyshevFilter {
    /// A filter for the `wanted` largest eigenvalues, with about `room` times as many above the cut. The smallest
    /// wanted eigenvalue is amplified by cosh `growth`.
    pub(super) fn new(density: &SpectralDensity, wanted: usize, room: f64, growth: f64) -> ChebyshevFilter {
        let smallest = density.below(wanted as f64);
        let cut = density.below(wanted as f64 * room).min(density.under(smallest)).max(-0.9);
        let (middle, half) = ((cut - 1.0) / 2.0, (cut + 1.0) / 2.0);
        let rate = |value: f64| ((value - middle) / half).max(1.0).acosh();
        let max = MAX_GROWTH / rate(1.0);
        let degree = (growth / rate(smallest).max(1e-9)).min(max).max(1.0);
        ChebyshevFilter { middle, half, degree: degree as usize }
    }

    /// The number of matrix multiplications.
    pub(super) fn degree(&self) -> usize {
        self.degree
    }

    /// A filter of lower degree: enough to find one eigenvalue.
    pub(super) fn weaker(self) -> ChebyshevFilter {
        ChebyshevFilter { degree: self.degree.div_ceil(WEAKER), ..self }
    }

    /// Computes T(N) `x`, for `x` orthogonal to the eigenvector of eigenvalue 1.
    pub(super) fn apply<const B: usize>(&self, walk: &Walk, mut x: Vec<[f64; B]>) -> Vec<[f64; B]> {
        let (middle, scale) = (self.middle, self.half.recip());
        walk.to_walk_space(&mut x);
        let (mut before, mut now) = (x, vec![[0.0; B]; walk.len()]);
        walk.step(&before, &mut now, |step, own, _| (step - middle * own) * scale);
        for _ in 1..self.degree {
            if cancellation::is_requested() {
                break;
            }
            walk.step(&now, &mut before, |step, own, before| 2.0 * scale * (step - middle * own) - before);
            std::mem::swap(&mut before, &mut now);
        }
        walk.out_of_walk_space(&mut now);
        now
    }
}

/// Computes `out` = N `x`.
pub(super) fn multiply(walk: &Walk, x: &[f64], out: &mut [f64]) {
    let image = walk.multiply(x.iter().map(|x| [*x]).collect());
    out.iter_mut().zip(image).for_each(|(out, [image])| *out = image);
}

pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Scales a vector to unit length; returns its previous length.
pub(super) fn normalize(x: &mut [f64]) -> f64 {
    let length = dot(x, x).sqrt();
    if length > 0.0 {
        x.iter_mut().for_each(|x| *x /= length);
    }
    length
}
