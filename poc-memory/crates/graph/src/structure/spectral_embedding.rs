//! The spectral embedding: coordinates for every node that place nodes joined by many strong paths close together.
//!
//! Each connected component is embedded separately. Let A be its matrix of strengths, D the diagonal matrix of their
//! sums by node, and vol the sum of D. Let `v_j` be the eigenvectors of the normalised Laplacian I − D^-1/2 A D^-1/2
//! with eigenvalues `λ_j` in ascending order, without the eigenvalue zero. Coordinate j of node i is
//!
//! ```text
//! √vol · v_j(i) / (√λ_j · √d_i)
//! ```
//!
//! With all eigenvectors, the distance of two nodes is the square root of their commute time: the mean number of steps
//! that a random walk takes from one to the other and back (Lovász 1993, "Random walks on graphs: a survey", theorem
//! 3.1; as an embedding, Qiu and Hancock 2007). The commute time is vol times the effective resistance between the two
//! nodes. With only the first eigenvectors, the distance is the best approximation from below with that many
//! dimensions.
//!
//! Example: the path 0 — 1 — 2 with edges of strength 1. vol = 1 + 2 + 1 = 4, the resistance from 0 to 1 is 1 and from
//! 0 to 2 is 2, so the distances are √4 = 2 and √8.

mod block;
mod dense;
mod eigenpair;
mod filter;
mod spectrum;
#[cfg(test)]
mod tests;
mod walk;

use super::adjacency::Adjacency;
use super::id_hash::signed;
use super::partition::Partition;
use super::space::Space;
use crate::Ix;
use crate::View;
use crate::cancellation;
use eigenpair::Eigenpair;
use spectrum::Spectrum;
use walk::Walk;

/// The coordinates of all nodes that have edges.
#[derive(Clone, Debug, Default)]
pub struct SpectralEmbedding {
    components: Partition,
    // By node: its position among the members of its component.
    positions: Vec<u32>,
    // By component.
    spaces: Vec<Space>,
    // The start of the coordinates of each component.
    starts: Vec<usize>,
    // Component by component, node by node.
    coordinates: Vec<f32>,
}

impl SpectralEmbedding {
    /// Embeds every component in at most `dimensions` dimensions, with two exceptions:
    ///
    /// - A component of up to 64 nodes keeps all its eigenvectors.
    /// - A multiple eigenvalue keeps all of its eigenvectors or none, because a subset of them would be arbitrary. If
    ///   the smallest eigenvalue alone occurs more than `dimensions` times, a component of up to 320 nodes keeps all of
    ///   its eigenvectors, and a larger one keeps `dimensions` of them.
    pub fn compute(view: &View, dimensions: usize) -> SpectralEmbedding {
        let adjacency = Adjacency::of(view, 0.0);
        let components = Partition::of(view, &adjacency, |ix| !adjacency.row(ix).is_empty(), |_, _| true);
        let mut positions = Vec::new();
        let mut spaces = Vec::with_capacity(components.len());
        let mut starts = Vec::with_capacity(components.len());
        let mut coordinates = Vec::new();
        for number in 0..components.len() as u32 {
            if cancellation::is_requested() {
                break;
            }
            let members = components.members(number);
            let random =
                |turn: u64| -> Vec<f64> { members.iter().map(|&ix| signed(view.id(ix), turn)).collect() };
            starts.push(coordinates.len());
            let links = adjacency.subgraph(members, &mut positions);
            spaces.push(write_coordinates(links, &random, dimensions, &mut coordinates));
        }
        SpectralEmbedding { components, positions, spaces, starts, coordinates }
    }

    /// Creates an embedding from a component number per node (`u32::MAX` means none), the spaces of the components, and
    /// the coordinates of each node in the space of its component.
    pub(super) fn numbered<'a>(
        numbers: Vec<u32>,
        spaces: Vec<Space>,
        row: impl Fn(Ix) -> &'a [f32],
    ) -> SpectralEmbedding {
        let mut positions = vec![0; numbers.len()];
        let components = Partition::numbered(numbers);
        let (mut starts, mut coordinates) = (Vec::with_capacity(spaces.len()), Vec::new());
        for component in 0..spaces.len() as u32 {
            starts.push(coordinates.len());
            for (position, &ix) in (0..).zip(components.members(component)) {
                coordinates.extend_from_slice(row(ix));
                if let Some(slot) = positions.get_mut(ix as usize) {
                    *slot = position;
                }
            }
        }
        SpectralEmbedding { components, positions, spaces, starts, coordinates }
    }

    /// The number of components with at least two nodes. Component 0 is the largest.
    pub fn component_count(&self) -> usize {
        self.spaces.len()
    }

    /// The component of a node; `None` if the node was not live or had no edges.
    pub fn component(&self, ix: Ix) -> Option<u32> {
        self.components.number(ix)
    }

    /// The members of a component, ascending.
    pub fn members(&self, component: u32) -> &[Ix] {
        self.components.members(component)
    }

    /// The eigenvalues that the coordinates of a component belong to, ascending: above 0, at most 2.
    pub fn eigenvalues(&self, component: u32) -> &[f64] {
        self.spaces.get(component as usize).map_or(&[], |space| &space.eigenvalues)
    }

    /// The number of components with fewer dimensions than requested, because the computation did not converge.
    pub fn unfinished(&self) -> usize {
        self.spaces.iter().filter(|space| !space.converged).count()
    }

    /// The coordinates of a node in the space of its component; empty if it has none.
    pub fn coordinates(&self, ix: Ix) -> &[f32] {
        self.component(ix).and_then(|component| self.row(component, ix)).unwrap_or(&[])
    }

    fn row(&self, component: u32, ix: Ix) -> Option<&[f32]> {
        let dimensions = self.eigenvalues(component).len();
        let position = *self.positions.get(ix as usize)? as usize;
        let start = self.starts.get(component as usize)? + position * dimensions;
        self.coordinates.get(start..start + dimensions)
    }

    /// The space of a component.
    pub(super) fn space(&self, component: u32) -> Space {
        let unknown = Space { eigenvalues: Vec::new(), converged: false };
        self.spaces.get(component as usize).cloned().unwrap_or(unknown)
    }

    /// The distance of two nodes; `None` if they are in different components or one has no coordinates.
    pub fn distance(&self, a: Ix, b: Ix) -> Option<f64> {
        let component = self.component(a).filter(|_| self.component(a) == self.component(b))?;
        let (a, b) = (self.row(component, a)?, self.row(component, b)?);
        (!a.is_empty()).then(|| distance(a, b))
    }
}

/// The Euclidean distance between two points.
pub(super) fn distance(a: &[f32], b: &[f32]) -> f64 {
    let square = |(a, b): (&f32, &f32)| (f64::from(*a) - f64::from(*b)).powi(2);
    a.iter().zip(b).map(square).sum::<f64>().sqrt()
}

/// Embeds one component and appends the coordinates of its nodes, node by node. Every node must have an edge. Returns
/// the space of the component. `random` returns one pseudo-random number per node; different arguments give different
/// numbers.
pub(super) fn write_coordinates(
    links: Adjacency,
    random: &dyn Fn(u64) -> Vec<f64>,
    dimensions: usize,
    coordinates: &mut Vec<f32>,
) -> Space {
    let walk = Walk::new(links);
    let Spectrum { pairs, converged } = spectrum::smallest(&walk, random, dimensions);
    append_coordinates(&walk, &random(0), &pairs, coordinates);
    Space { eigenvalues: pairs.iter().map(|pair| pair.value).collect(), converged }
}

/// Appends the coordinates that eigenvectors give, node by node. The sign of an eigenvector is arbitrary; it is chosen
/// so that the eigenvector points in the direction of `random`.
fn append_coordinates(walk: &Walk, random: &[f64], pairs: &[Eigenpair], coordinates: &mut Vec<f32>) {
    let scales: Vec<f64> = pairs
        .iter()
        .map(|pair| {
            let projection: f64 = pair.vector.iter().zip(random).map(|(v, c)| v * c).sum();
            (walk.volume() / pair.value).sqrt().copysign(projection)
        })
        .collect();
    coordinates.reserve(walk.len() * pairs.len());
    for (row, degree) in walk.degrees().iter().enumerate() {
        for (pair, scale) in pairs.iter().zip(&scales) {
            let entry = pair.vector.get(row).copied().unwrap_or(0.0);
            coordinates.push((scale * entry / degree.sqrt()) as f32);
        }
    }
}
