//! Fits a power law to the degrees: p(d) ∝ d^−α for degrees d from a minimum on.
//!
//! Follows Clauset, Shalizi and Newman 2009 ("Power-law distributions in empirical data", SIAM Review): α is the
//! approximate maximum-likelihood estimate for integers (their equation 3.7), and the minimum degree is the one with
//! the smallest Kolmogorov–Smirnov distance.

use serde::{Deserialize, Serialize};

/// A fitted power law.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PowerLaw {
    /// The exponent α, above 1. Networks with hubs typically have 2 to 3.
    pub alpha: f64,
    /// The minimum degree that the law was fitted to.
    pub least: u32,
    /// The number of nodes with at least that degree.
    pub nodes: usize,
    /// The Kolmogorov–Smirnov distance between data and fitted law, 0–1.
    pub distance: f64,
}

impl PowerLaw {
    /// Fits a power law to ascending degrees, ignoring degrees of 0. `None` if fewer than two different degrees remain.
    pub fn fit(ascending: &[u32]) -> Option<PowerLaw> {
        let positive = ascending.get(ascending.partition_point(|&degree| degree == 0)..).unwrap_or(&[]);
        let counts: Vec<(u32, usize)> =
            positive.chunk_by(|a, b| a == b).filter_map(|same| Some((*same.first()?, same.len()))).collect();
        // A fit needs at least two different degrees.
        let candidates = 0..counts.len().saturating_sub(1);
        candidates
            .filter_map(|from| fit_from(counts.get(from..)?))
            .min_by(|a, b| a.distance.total_cmp(&b.distance))
    }
}

/// The power law for degrees from the first one on, given with their counts.
fn fit_from(counts: &[(u32, usize)]) -> Option<PowerLaw> {
    let &(least, _) = counts.first()?;
    let nodes: usize = counts.iter().map(|(_, count)| count).sum();
    let floor = f64::from(least) - 0.5;
    let logs: f64 =
        counts.iter().map(|&(degree, count)| (f64::from(degree) / floor).ln() * count as f64).sum();
    let alpha = 1.0 + nodes as f64 / logs;
    let total = hurwitz_zeta(alpha, f64::from(least));
    let mut cumulative = 0;
    let mut distance: f64 = 0.0;
    for &(degree, count) in counts {
        cumulative += count;
        let expected = 1.0 - hurwitz_zeta(alpha, f64::from(degree) + 1.0) / total;
        distance = distance.max((cumulative as f64 / nodes as f64 - expected).abs());
    }
    Some(PowerLaw { alpha, least, nodes, distance }).filter(|law| law.alpha.is_finite())
}

/// Σ 1 / (q + k)^s over k from 0, for s above 1 and q above 0. Sums the first terms and approximates the
/// rest by the Euler–Maclaurin formula (DLMF 25.11.28); exact to about ten digits.
fn hurwitz_zeta(s: f64, q: f64) -> f64 {
    const TERMS: u32 = 12;
    let start: f64 = (0..TERMS).map(|k| (q + f64::from(k)).powf(-s)).sum();
    let at = q + f64::from(TERMS);
    let power = at.powf(-s);
    let corrections = s / 12.0 / at - s * (s + 1.0) * (s + 2.0) / 720.0 / at.powi(3);
    start + power * (at / (s - 1.0) + 0.5 + corrections)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_zeta_function_matches_known_values() {
        use std::f64::consts::PI;
        for (s, q, expected) in [
            (2.0, 1.0, PI * PI / 6.0),
            (4.0, 1.0, PI.powi(4) / 90.0),
            (2.0, 0.5, PI * PI / 2.0),
            (2.0, 3.0, PI * PI / 6.0 - 1.25),
        ] {
            assert!((hurwitz_zeta(s, q) - expected).abs() < 1e-9, "{s}, {q}: {}", hurwitz_zeta(s, q));
        }
    }

    /// Quantiles of a power law from 1 on, by numerical inversion, so that the sample follows the law exactly.
    fn quantiles(alpha: f64, nodes: usize) -> Vec<u32> {
        let total = hurwitz_zeta(alpha, 1.0);
        let mut degree = 1;
        (0..nodes)
            .map(|at| {
                let above = 1.0 - (at as f64 + 0.5) / nodes as f64;
                while hurwitz_zeta(alpha, f64::from(degree) + 1.0) / total > above {
                    degree += 1;
                }
                degree
            })
            .collect()
    }

    #[test]
    fn the_exponent_of_a_sample_is_recovered() {
        for alpha in [2.2, 2.5, 3.0] {
            let found = PowerLaw::fit(&quantiles(alpha, 20_000)).unwrap();
            assert!((found.alpha - alpha).abs() < 0.05, "α {alpha}: {found:?}");
            assert!(found.distance < 0.01, "{found:?}");
        }
    }

    #[test]
    fn a_single_degree_has_no_fit() {
        assert_eq!(PowerLaw::fit(&[]), None);
        assert_eq!(PowerLaw::fit(&[0, 0, 4, 4, 4]), None);
    }
}
