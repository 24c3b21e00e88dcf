//! Outlier scores: how far a node stands from the middle of its community.
//!
//! The middle is the mean of the members' coordinates in the spectral embedding; a node's score is
//! its distance from there divided by the median of the members' distances, so that 1 is usual.
//! A community needs at least three members in one component, and a median above 0; nodes of
//! others have no score.
//!
//! Example: the path 0 — 1 — 2 as one community. By symmetry the mean is at 1's place on the first
//! axis, and ends stand opposite each other; see the tests for the figures.

use super::communities::Communities;
use super::embedding::{Embedding, distance};
use crate::graph::Ix;

/// The fewest members a community with scores has.
const FEWEST: usize = 3;

/// The scores of all nodes.
#[derive(Clone, Debug, Default)]
pub struct Outliers {
    // NaN where there is none.
    scores: Vec<f32>,
}

impl Outliers {
    /// Scores from communities and coordinates of the same graph.
    pub fn compute(communities: &Communities, embedding: &Embedding) -> Outliers {
        let mut scores = vec![f32::NAN; communities.slots()];
        for number in 0..communities.count() as u32 {
            let members = communities.members(number);
            if members.len() < FEWEST {
                // Those that follow are no larger.
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

    /// With these scores by node, NaN for none.
    pub(super) fn scored(scores: Vec<f32>) -> Outliers {
        Outliers { scores }
    }

    /// The score of a node, 0 or more; `None` when it has none.
    #[inline]
    pub fn of(&self, ix: Ix) -> Option<f64> {
        self.scores.get(ix as usize).filter(|score| !score.is_nan()).map(|&score| f64::from(score))
    }
}

/// The mean of the members' coordinates. A community hangs together, so they are of one component.
fn center(embedding: &Embedding, members: &[Ix]) -> Vec<f32> {
    let mut sums: Vec<f64> = Vec::new();
    for &ix in members {
        let coordinates = embedding.coordinates(ix);
        sums.resize(coordinates.len(), 0.0);
        sums.iter_mut().zip(coordinates).for_each(|(sum, &value)| *sum += f64::from(value));
    }
    sums.iter().map(|sum| (sum / members.len() as f64) as f32).collect()
}

/// The middle value; the mean of the two in the middle when their number is even.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let at = |index: usize| values.get(index).copied().unwrap_or(0.0);
    let half = values.len() / 2;
    if values.len() % 2 == 1 { at(half) } else { (at(half.saturating_sub(1)) + at(half)) / 2.0 }
}
