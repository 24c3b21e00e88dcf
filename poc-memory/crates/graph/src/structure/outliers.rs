//! Outlier scores: how far a node lies from the centre of its community.
//!
//! The centre is the mean of the members' coordinates in the spectral embedding. A node's score is its distance
//! from the centre divided by the median distance of the members, so 1 is typical. Only nodes of communities
//! with at least three members and a median above 0 have a score.
//!
//! Example: the path 0 — 1 — 2 as one community, with edges of strength 1. The squared distances are the commute times:
//! 4, 4 and, from 0 to 2, 8. The squared distances from the mean are therefore 20/9, 8/9 and 20/9. The ends score 1,
//! and the middle node scores √(8/20).

use super::communities::Communities;
use super::spectral_embedding::{SpectralEmbedding, distance};
use crate::Ix;

/// Communities with fewer members have no scores.
const MIN_MEMBERS: usize = 3;

/// The scores of all nodes.
#[derive(Clone, Debug, Default)]
pub struct Outliers {
    // By node; NaN if it has no score.
    scores: Vec<f32>,
}

impl Outliers {
    /// Scores from communities and coordinates of the same graph.
    pub fn compute(communities: &Communities, embedding: &SpectralEmbedding) -> Outliers {
        let mut scores = vec![f32::NAN; communities.slots()];
        for number in 0..communities.count() as u32 {
            let members = communities.members(number);
            if members.len() < MIN_MEMBERS {
                // Communities are sorted by size, so all following ones are too small as well.
                break;
            }
            let center = center(embedding, members);
            let from_center = |&ix: &Ix| distance(embedding.coordinates(ix), &center);
            let distances: Vec<f64> = members.iter().map(from_center).collect();
            let median = median(distances.clone());
            for (&ix, distance) in members.iter().zip(distances).filter(|_| median > 0.0) {
                if let Some(score) = scores.get_mut(ix as usize) {
                    *score = (distance / median) as f32;
                }
            }
        }
        Outliers { scores }
    }

    /// Creates outlier scores from a score per node; NaN means none.
    pub(super) fn scored(scores: Vec<f32>) -> Outliers {
        Outliers { scores }
    }

    /// The score of a node: 0 at the centre, 1 is typical, without upper bound. `None` if it has no score.
    #[inline]
    pub fn of(&self, ix: Ix) -> Option<f64> {
        self.scores.get(ix as usize).filter(|score| !score.is_nan()).map(|&score| f64::from(score))
    }
}

/// The mean of the members' coordinates. A community is connected, so all members are in one component.
fn center(embedding: &SpectralEmbedding, members: &[Ix]) -> Vec<f32> {
    let mut sums: Vec<f64> = Vec::new();
    for &ix in members {
        let coordinates = embedding.coordinates(ix);
        sums.resize(coordinates.len(), 0.0);
        sums.iter_mut().zip(coordinates).for_each(|(sum, &value)| *sum += f64::from(value));
    }
    sums.iter().map(|sum| (sum / members.len() as f64) as f32).collect()
}

/// The median; the mean of the two middle values when their number is even.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let at = |index: usize| values.get(index).copied().unwrap_or(0.0);
    let half = values.len() / 2;
    if values.len() % 2 == 1 { at(half) } else { (at(half.saturating_sub(1)) + at(half)) / 2.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::View;
    use crate::testing::view;
    use proptest::prelude::*;

    fn computed(view: &View) -> (Communities, SpectralEmbedding, Outliers) {
        let (communities, embedding) = (Communities::compute(view), SpectralEmbedding::compute(view, 16));
        let outliers = Outliers::compute(&communities, &embedding);
        (communities, embedding, outliers)
    }

    #[test]
    fn scores_of_a_path_match_values_computed_by_hand() {
        let (communities, _, outliers) = computed(&view(5, &[(0, 1, 1.0), (1, 2, 1.0), (3, 4, 1.0)]));
        assert_eq!(communities.members(0), [0, 1, 2]);
        for (ix, expected) in [(0, 1.0), (1, (8f64 / 20.0).sqrt()), (2, 1.0)] {
            let score = outliers.of(ix).unwrap();
            assert!((score - expected).abs() < 1e-5, "node {ix}: {score}");
        }
        assert_eq!((outliers.of(3), outliers.of(4)), (None, None), "a pair has no scores");
    }

    poc_laws::laws! {
        /// The scores equal a direct implementation of the definition.
        #[test]
        fn scores_equal_their_definition(links in proptest::collection::vec((0u64..14, 0u64..14, 0.3f64..1.0), 0..40)) {
            let links: Vec<_> = links.into_iter().filter(|(a, b, _)| a != b).collect();
            let view = view(14, &links);
            let (communities, embedding, outliers) = computed(&view);
            for ix in 0..14 {
                let members: Vec<Ix> = (0..14).filter(|&other| communities.of(other) == communities.of(ix)).collect();
                let coordinates = |ix: Ix| -> Vec<f64> {
                    embedding.coordinates(ix).iter().map(|x| f64::from(*x)).collect()
                };
                let sum = |axis: usize| members.iter().map(|&member| coordinates(member)[axis]).sum::<f64>();
                let mean: Vec<f64> = (0..coordinates(ix).len())
                    .map(|axis| sum(axis) / members.len() as f64)
                    .collect();
                let from_mean = |ix: Ix| {
                    coordinates(ix).iter().zip(&mean).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
                };
                let mut all: Vec<f64> = members.iter().map(|&member| from_mean(member)).collect();
                all.sort_by(f64::total_cmp);
                let median = (all[(all.len() - 1) / 2] + all[all.len() / 2]) / 2.0;
                match outliers.of(ix) {
                    None => prop_assert!(members.len() < 3 || communities.of(ix).is_none() || median < 1e-6),
                    Some(score) => prop_assert!(
                        (score * median - from_mean(ix)).abs() < 1e-4 * (1.0 + from_mean(ix)),
                        "node {}: {} of {}, not {}", ix, score, median, from_mean(ix)
                    ),
                }
            }
        }
    }
}
