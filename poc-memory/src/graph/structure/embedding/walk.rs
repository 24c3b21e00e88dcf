//! One component as a matrix: the normalised adjacency N = D^-1/2 A D^-1/2, never written out.

use super::super::adjacency::{Adjacency, End};
use crate::graph::Ix;

/// The ties of a component, its nodes numbered from 0.
#[derive(Clone, Debug)]
pub(super) struct Walk {
    starts: Vec<usize>,
    ends: Vec<End>,
    degrees: Vec<f64>,
    // D^-1/2
    scales: Vec<f64>,
}

impl Walk {
    /// Of the component with these members; `local` numbers them.
    pub(super) fn of(adjacency: &Adjacency, members: &[Ix], local: impl Fn(Ix) -> u32) -> Walk {
        let mut walk = Walk {
            starts: Vec::with_capacity(members.len() + 1),
            ends: Vec::with_capacity(members.iter().map(|&ix| adjacency.at(ix).len()).sum()),
            degrees: Vec::with_capacity(members.len()),
            scales: Vec::with_capacity(members.len()),
        };
        for &ix in members {
            let ends = adjacency.at(ix);
            let degree: f64 = ends.iter().map(|end| f64::from(end.strength)).sum();
            walk.starts.push(walk.ends.len());
            walk.ends.extend(ends.iter().map(|end| End { ix: local(end.ix), ..*end }));
            walk.degrees.push(degree);
            walk.scales.push(degree.sqrt().recip());
        }
        walk.starts.push(walk.ends.len());
        walk
    }

    /// How many nodes there are.
    pub(super) fn len(&self) -> usize {
        self.degrees.len()
    }

    /// The sum of strengths at each node.
    pub(super) fn degrees(&self) -> &[f64] {
        &self.degrees
    }

    /// The ties of each node.
    pub(super) fn rows(&self) -> impl Iterator<Item = &[End]> {
        let ranges = self.starts.iter().zip(self.starts.iter().skip(1));
        ranges.map(|(&start, &end)| self.ends.get(start..end).unwrap_or(&[]))
    }

    /// An entry of N, given the two ends and the strength of the tie.
    pub(super) fn entry(&self, a: usize, end: End) -> f64 {
        let scale = |at: usize| self.scales.get(at).copied().unwrap_or(0.0);
        f64::from(end.strength) * scale(a) * scale(end.ix as usize)
    }

    /// The eigenvector of N with the eigenvalue 1, of unit length: √d.
    pub(super) fn ground(&self) -> Vec<f64> {
        let volume: f64 = self.degrees.iter().sum();
        self.degrees.iter().map(|degree| (degree / volume).sqrt()).collect()
    }

    /// `out` = N `x`.
    pub(super) fn step(&self, x: &[f64], out: &mut [f64]) {
        let scaled: Vec<f64> = x.iter().zip(&self.scales).map(|(x, scale)| x * scale).collect();
        for ((row, out), scale) in self.rows().zip(out).zip(&self.scales) {
            let at = |end: &End| scaled.get(end.ix as usize).copied().unwrap_or(0.0);
            *out = scale * row.iter().map(|end| f64::from(end.strength) * at(end)).sum::<f64>();
        }
    }
}
