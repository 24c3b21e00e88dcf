//! Force-directed layout: edges attract and nodes repel (Fruchterman and Reingold 1991).
//!
//! A node repels only nodes within [`REACH`], which a grid finds. If there are more than [`MAX_REPELLING_NODES`] of
//! these, only every k-th of them repels it, with k times the force, and each step selects different ones. This bounds
//! the cost of a step per node. An edge attracts with the force s · d² / m, where s is its strength, d its length and m
//! the square root of the greater degree of its ends. Without m, a hub would pull all its neighbours to one point.

use super::super::adjacency::Adjacency;
use crate::cancellation;
use rustc_hash::FxHashMap;
use std::ops::Range;

/// The distance of two adjacent nodes without other forces.
pub(super) const SPACING: f64 = 1.0;

/// The distance beyond which nodes do not repel each other.
const REACH: f64 = 2.5;

/// The approximate maximum number of nodes that repel a node in one step.
const MAX_REPELLING_NODES: usize = 200;

const STEPS: usize = 80;

/// A component with more nodes gets proportionally fewer steps, but at least [`MIN_STEPS`]. At the scale at which so
/// many nodes are displayed, its start positions are already close to the final ones.
const LARGE: usize = 10_000;
const MIN_STEPS: usize = 16;

/// The maximum distance that a node moves in the first step; it decreases linearly to 0.
const FIRST_MOVE: f64 = 0.5;

/// The minimum distance used for repulsion. Nodes closer than this repel in a pseudo-random direction.
const MIN_DISTANCE: f64 = 1e-3;

/// Moves the nodes of a component until the forces balance or the steps are used up. `jitter` returns a number from −1
/// to 1 for a node and an index.
pub(super) fn relax<const D: usize>(
    edges: &Adjacency,
    positions: &mut [[f64; D]],
    jitter: &dyn Fn(usize, u64) -> f64,
) {
    let degree = |node: usize| edges.row(node as u32).len() as f64;
    let steps = (STEPS * LARGE / positions.len().max(LARGE)).max(MIN_STEPS);
    for step in 0..steps {
        if cancellation::is_requested() {
            break;
        }
        let max = FIRST_MOVE * (1.0 - step as f64 / steps as f64);
        let grid = Grid::of(positions);
        let moves: Vec<[f64; D]> = positions
            .iter()
            .enumerate()
            .map(|(node, own)| {
                let mut force = [0.0; D];
                let near = grid.around(own);
                let stride =
                    near.iter().map(|nodes| nodes.len()).sum::<usize>().div_ceil(MAX_REPELLING_NODES).max(1);
                // Nodes of one cell skip different neighbours.
                let others = near.into_iter().flatten().skip((node + step) % stride).step_by(stride);
                for &other in others.filter(|other| **other != node) {
                    let Some(position) = positions.get(other) else { continue };
                    repel(&mut force, own, position, node, other, stride as f64, jitter);
                }
                for end in edges.row(node as u32) {
                    let Some(position) = positions.get(end.ix as usize) else { continue };
                    let between = difference(position, own);
                    let distance = length(&between);
                    let m = degree(node).max(degree(end.ix as usize)).sqrt();
                    add(&mut force, &between, f64::from(end.strength) * distance / (SPACING * m));
                }
                let distance = length(&force);
                if distance > max { force.map(|x| x * max / distance) } else { force }
            })
            .collect();
        for (position, by) in positions.iter_mut().zip(&moves) {
            add(position, by, 1.0);
        }
    }
}

fn repel<const D: usize>(
    force: &mut [f64; D],
    own: &[f64; D],
    position: &[f64; D],
    node: usize,
    other: usize,
    times: f64,
    jitter: &dyn Fn(usize, u64) -> f64,
) {
    let mut between = difference(own, position);
    let mut distance = length(&between);
    if distance >= REACH {
        return;
    }
    if distance < MIN_DISTANCE {
        // The two nodes get opposite directions.
        let sign = if node < other { 1.0 } else { -1.0 };
        between = std::array::from_fn(|axis| sign * MIN_DISTANCE * jitter(node.min(other), 16 + axis as u64));
        distance = length(&between).max(MIN_DISTANCE);
    }
    add(force, &between, times * SPACING * SPACING / (distance * distance));
}

fn difference<const D: usize>(a: &[f64; D], b: &[f64; D]) -> [f64; D] {
    let mut difference = *a;
    difference.iter_mut().zip(b).for_each(|(a, b)| *a -= b);
    difference
}

fn length<const D: usize>(by: &[f64; D]) -> f64 {
    by.iter().map(|x| x * x).sum::<f64>().sqrt()
}

fn add<const D: usize>(to: &mut [f64; D], by: &[f64; D], times: f64) {
    to.iter_mut().zip(by).for_each(|(to, by)| *to += times * by);
}

/// The nodes by grid cell.
struct Grid<const D: usize> {
    // Sorted by cell, then by number.
    nodes: Vec<usize>,
    cells: FxHashMap<[i32; D], Range<usize>>,
}

impl<const D: usize> Grid<D> {
    fn of(positions: &[[f64; D]]) -> Self {
        let mut sorted: Vec<([i32; D], usize)> =
            positions.iter().enumerate().map(|(node, position)| (cell(position), node)).collect();
        sorted.sort_unstable();
        let mut cells = FxHashMap::default();
        let mut start = 0;
        for run in sorted.chunk_by(|a, b| a.0 == b.0) {
            if let Some((cell, _)) = run.first() {
                cells.insert(*cell, start..start + run.len());
            }
            start += run.len();
        }
        Grid { nodes: sorted.into_iter().map(|(_, node)| node).collect(), cells }
    }

    /// The nodes in the cell of a position and in the adjacent cells, by cell.
    fn around(&self, position: &[f64; D]) -> Vec<&[usize]> {
        let own = cell(position);
        // Each axis is offset by −1, 0 or 1.
        let cells = (0..3usize.pow(D as u32)).filter_map(|number| {
            let mut cell = own;
            let mut left = number;
            for axis in &mut cell {
                *axis = axis.saturating_add((left % 3) as i32 - 1);
                left /= 3;
            }
            self.nodes.get(self.cells.get(&cell)?.clone())
        });
        cells.collect()
    }
}

fn cell<const D: usize>(position: &[f64; D]) -> [i32; D] {
    position.map(|x| (x / REACH).floor() as i32)
}
