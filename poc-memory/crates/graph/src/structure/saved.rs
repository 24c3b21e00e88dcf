//! The serializable form of derived structure, saved next to the log.
//!
//! Nodes are identified by id, because their indexes change when the store is reopened. The number of changes since the
//! structure was saved is found by comparing the two graphs. This also works if the log has lost its latest
//! transactions, and for an unrelated graph.

use super::id_hash::{hash_ids, mixed};
use super::source::StructureSource;
use super::space::Space;
use super::{Communities, GraphMetrics, Outliers, SpectralEmbedding, StructureOptions};
use crate::Ix;
use crate::NodeId;
use crate::View;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::sync::Arc;

/// All derived structure of one graph.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SavedStructure {
    graph: GraphFingerprint,
    // Community number and component number by node; `u32::MAX` means none.
    communities: Vec<u32>,
    components: Vec<u32>,
    spaces: Vec<Space>,
    // Coordinates node by node, one per eigenvalue of the node's component.
    coordinates: Vec<f32>,
    // Outlier scores by node; NaN means none.
    outliers: Vec<f32>,
    graph_metrics: GraphMetrics,
}

/// A fingerprint of a graph, used to count the differences from another graph.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct GraphFingerprint {
    /// The ids of the live nodes, ascending.
    nodes: Vec<NodeId>,
    /// Hashes of the merged edges, ascending and delta-encoded: about two bytes each in a large graph.
    edges: Vec<u32>,
}

/// The structure with the node indexes of a view.
#[derive(Debug)]
pub(super) struct RestoredStructure {
    pub(super) communities: Communities,
    pub(super) embedding: SpectralEmbedding,
    pub(super) outliers: Outliers,
    pub(super) graph_metrics: GraphMetrics,
    /// The number of graph changes since the structure was computed.
    pub(super) changes: u64,
}

const NONE: u32 = u32::MAX;

impl SavedStructure {
    /// The structure of a view; `None` unless all of it was computed for exactly this graph.
    pub fn of(view: &View, options: &StructureOptions) -> Option<SavedStructure> {
        if view.drift() != Some(0) {
            return None;
        }
        let fresh = |source| source == StructureSource::Fresh;
        let (communities, _) = Some(view.communities(options)).filter(|(_, source)| fresh(*source))?;
        let (embedding, _) = Some(view.embedding(options)).filter(|(_, source)| fresh(*source))?;
        let (outliers, _) = view.outliers(options).filter(|(_, source)| fresh(*source))?;
        let (graph_metrics, _) = view.graph_metrics(options).filter(|(_, source)| fresh(*source))?;
        let graph = GraphFingerprint::of(view);
        let live: Vec<Ix> = graph.nodes.iter().filter_map(|&id| view.find(id)).collect();
        let live = || live.iter().copied();
        let spaces = (0..embedding.component_count() as u32).map(|component| embedding.space(component));
        Some(SavedStructure {
            communities: live().map(|ix| communities.of(ix).unwrap_or(NONE)).collect(),
            components: live().map(|ix| embedding.component(ix).unwrap_or(NONE)).collect(),
            spaces: spaces.collect(),
            coordinates: live().flat_map(|ix| embedding.coordinates(ix)).copied().collect(),
            outliers: live().map(|ix| outliers.of(ix).map_or(f32::NAN, |score| score as f32)).collect(),
            graph_metrics: *graph_metrics,
            graph,
        })
    }

    /// Converts to the node indexes of a view; `None` if the values are inconsistent.
    pub(super) fn restore(self, view: &View) -> Option<RestoredStructure> {
        let nodes = self.graph.nodes.len();
        if [self.communities.len(), self.components.len(), self.outliers.len()] != [nodes; 3] {
            return None;
        }
        let slots = view.slots() as usize;
        let mut communities = vec![NONE; slots];
        let mut components = vec![NONE; slots];
        let mut outliers = vec![f32::NAN; slots];
        let mut rows: FxHashMap<Ix, &[f32]> = FxHashMap::default();
        let mut rest = self.coordinates.as_slice();
        let columns =
            self.graph.nodes.iter().zip(&self.communities).zip(&self.components).zip(&self.outliers);
        for (((&id, community), component), outlier) in columns {
            let dimensions = match *component {
                NONE => 0,
                number => self.spaces.get(number as usize)?.eigenvalues.len(),
            };
            if *community != NONE && *community as usize >= nodes {
                return None;
            }
            let (row, tail) = rest.split_at_checked(dimensions)?;
            rest = tail;
            // Nodes deleted since then are skipped.
            let Some(ix) = view.find(id) else { continue };
            *communities.get_mut(ix as usize)? = *community;
            *components.get_mut(ix as usize)? = *component;
            *outliers.get_mut(ix as usize)? = *outlier;
            rows.insert(ix, row);
        }
        let row = |ix| rows.get(&ix).copied().unwrap_or(&[]);
        rest.is_empty().then(|| RestoredStructure {
            changes: GraphFingerprint::of(view).changes_since(&self.graph),
            communities: Communities::numbered(communities),
            embedding: SpectralEmbedding::numbered(components, self.spaces, row),
            outliers: Outliers::scored(outliers),
            graph_metrics: self.graph_metrics,
        })
    }
}

impl GraphFingerprint {
    fn of(view: &View) -> GraphFingerprint {
        let live = || (0..view.slots()).filter(|&ix| view.is_live(ix));
        let mut nodes: Vec<NodeId> = live().filter_map(|ix| view.id(ix)).collect();
        nodes.sort_unstable();
        let mut edges = Vec::with_capacity(view.edge_count());
        for ix in live() {
            let id = view.id(ix);
            let once = view.merged_edges(ix).filter(|edge| view.id(edge.ix) > id);
            let fingerprint = |(other, strength): (Option<NodeId>, f64)| {
                mixed(hash_ids(id, other) ^ mixed(strength.to_bits())) as u32
            };
            edges.extend(once.map(|edge| fingerprint((view.id(edge.ix), edge.strength))));
        }
        edges.sort_unstable();
        let mut before = 0;
        for edge in &mut edges {
            (*edge, before) = (*edge - before, *edge);
        }
        GraphFingerprint { nodes, edges }
    }

    /// The minimum number of changes between two graphs: nodes added or removed, and edges added, removed or
    /// changed in strength. 0 only for equal graphs.
    fn changes_since(&self, before: &GraphFingerprint) -> u64 {
        let (new_nodes, lost_nodes) = differing(self.nodes.iter().copied(), before.nodes.iter().copied());
        let (added, removed) = differing(running_sum(&self.edges), running_sum(&before.edges));
        // A changed strength counts as one removed and one added edge, hence the maximum.
        new_nodes + lost_nodes + added.max(removed)
    }
}

/// Decodes delta-encoded numbers.
fn running_sum(gaps: &[u32]) -> impl Iterator<Item = u32> {
    gaps.iter().scan(0u32, |sum, &gap| {
        *sum = sum.wrapping_add(gap);
        Some(*sum)
    })
}

/// Counts the elements that are only in the first list and only in the second. Both lists must be ascending.
fn differing<T: Ord>(first: impl Iterator<Item = T>, second: impl Iterator<Item = T>) -> (u64, u64) {
    let (mut first, mut second) = (first.peekable(), second.peekable());
    let (mut only_first, mut only_second) = (0, 0);
    loop {
        let order = match (first.peek(), second.peek()) {
            (Some(a), Some(b)) => a.cmp(b),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => return (only_first, only_second),
        };
        only_first += u64::from(order.is_lt());
        only_second += u64::from(order.is_gt());
        if order.is_le() {
            first.next();
        }
        if order.is_ge() {
            second.next();
        }
    }
}

/// Loads the saved structure; returns `None` if there is none.
pub(super) type StructureLoader = Box<dyn Fn() -> Option<SavedStructure> + Send + Sync>;

impl View {
    /// Sets the function that loads the structure saved for an earlier state of this store. It is called at
    /// most once, when the structure of a large graph is requested before it was computed.
    pub fn set_structure_loader(&self, saved: impl Fn() -> Option<SavedStructure> + Send + Sync + 'static) {
        self.structure.set_loader(Box::new(saved));
    }

    /// Makes the saved structure the latest.
    pub(super) fn restore(&self, saved: SavedStructure) {
        let Some(restored) = saved.restore(self) else { return };
        let generation = self.generation();
        let computed_for = generation.saturating_sub_unsigned(restored.changes);
        let structure = &self.structure;
        structure.communities.put(generation, computed_for, Arc::new(restored.communities));
        structure.embedding.put(generation, computed_for, Arc::new(restored.embedding));
        structure.outliers.put(generation, computed_for, Arc::new(restored.outliers));
        structure.graph_metrics.put(generation, computed_for, Arc::new(restored.graph_metrics));
    }
}
