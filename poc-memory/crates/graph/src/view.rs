//! The immutable snapshot everything reads: one column per field, adjacency, look-ups, visits.
//!
//! A node has a dense index [`Ix`] within a view and its descendants; the index of a deleted node
//! stays empty until the store is opened again. Bodies and titles stay in the store.

mod apply;
mod build;
mod counts;
mod cursors;
mod fields;
mod lookup;
mod optional_timestamp;
mod names;
mod sequence;
mod visibility;
mod snapshot;
mod triangles;

pub use build::Builder;
pub use optional_timestamp::OptionalTimestampCursor;
pub use visibility::Visibility;

use super::Column;
use super::edge::EdgeKind;
use super::id::NodeId;
use super::lists::{Lists, Texts};
use super::node::{Category, State, Trust};
use super::structure::{self, StructureCell};
use super::visit::Visit;
use crate::time::Timestamp;
use counts::Counts;
use lookup::{Lookup, hash, hash_any_case, small_letters};
use optional_timestamp::OptionalTimestamp;
use names::Names;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The dense index of a node within a view.
pub type Ix = u32;

/// One end of an edge as the other end sees it: target, kind, direction and graph strength in eight
/// bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Neighbor {
    // The low 28 bits are the target, the next 3 the kind; the highest is set where the edge ends,
    // since two nodes may be tied by an edge each way.
    packed: u32,
    /// Graph strength in 0–1 ([`Edge::graph_strength`](super::Edge::graph_strength)).
    pub strength: f32,
}

impl Neighbor {
    const TARGET: u32 = (1 << 28) - 1;
    const KIND: u32 = 0b111;
    const INCOMING: u32 = 1 << 31;

    /// As the source of the edge sees it.
    fn outgoing(target: Ix, kind: EdgeKind, strength: f64) -> Self {
        let kind = (kind as u32 & Self::KIND) << 28;
        Neighbor { packed: (target & Self::TARGET) | kind, strength: strength as f32 }
    }

    /// The same edge as its target sees it.
    fn mirrored(self, source: Ix) -> Self {
        let ends = Self::TARGET | Self::INCOMING;
        let other_way = !self.packed & Self::INCOMING;
        Neighbor { packed: (source & Self::TARGET) | other_way | (self.packed & !ends), ..self }
    }

    /// Whether it ends here: an edge stands at both its ends and starts at one.
    pub fn is_incoming(self) -> bool {
        self.packed & Self::INCOMING != 0
    }

    /// The same edge to another node.
    fn with_target(self, target: Ix) -> Self {
        Neighbor { packed: (target & Self::TARGET) | (self.packed & !Self::TARGET), ..self }
    }

    /// The node at the other end.
    #[inline]
    pub fn target(self) -> Ix {
        self.packed & Self::TARGET
    }

    /// Whether the edge starts here.
    pub fn is_outgoing(self) -> bool {
        self.packed & Self::INCOMING == 0
    }

    /// The kind of the edge.
    pub fn kind(self) -> EdgeKind {
        let number = (self.packed >> 28) & Self::KIND;
        EdgeKind::ALL.get(number as usize).copied().unwrap_or(EdgeKind::Link)
    }

    fn order(self) -> (u32, u32) {
        (self.target(), self.packed >> 28)
    }
}

/// A live neighbour in the simple graph: all edges between two nodes count as one tie that is as
/// strong as the strongest of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MergedEdge {
    /// The neighbour.
    pub ix: Ix,
    /// Strength in 0–1.
    pub strength: f64,
}

/// The immutable snapshot.
///
/// In memory a node costs about 140 bytes, its key and four for each keyword: 190 with a key of 30
/// bytes and five keywords. An edge costs 16, eight at each end. A visit costs 16 bytes, and so does
/// every other node in the same chunk of 1,024 (of fewer in a small graph). A copy shares all of it and costs one pointer per
/// some thousand nodes and column.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// The sequence number of the last transaction it contains; 0 for an empty store.
    pub seq: u64,
    ids: Column<NodeId>,
    by_id: Lookup,
    ids_ascend: bool,
    keys: Texts,
    by_key: Lookup,
    key_lens: Column<u32>,
    body_lens: Column<u32>,
    types: Column<u16>,
    type_names: Names,
    provenances: Column<u32>,
    provenance_names: Names,
    keywords: Lists<Vec<u32>>,
    keyword_names: Names,
    // `None` marks the empty index of a deleted node.
    states: Column<Option<State>>,
    categories: Column<Category>,
    trusts: Column<Trust>,
    emotions: Column<f32>,
    created: Column<Timestamp>,
    modified: Column<Timestamp>,
    expires: Column<OptionalTimestamp>,
    versions: Column<u32>,
    weights: Column<f64>,
    touched: Column<Timestamp>,
    replay_intervals: Column<u16>,
    replayed: Column<OptionalTimestamp>,
    // Sorted by target, then direction and kind; every edge of a graph kind stands at both its ends.
    // May be shorter than the others: later nodes have no edges.
    adjacency: Lists<Vec<Neighbor>>,
    // The edges that are no ties of the graph, in the same way; one of a node with itself stands
    // there once.
    other_edges: Lists<Vec<Neighbor>>,
    // Of the simple graph of live nodes, kept up to date edge by edge.
    degrees: Column<u32>,
    triangles: Column<u32>,
    visits: Arc<BTreeMap<Arc<str>, Column<Option<Visit>>>>,
    live: usize,
    nodes: usize,
    edges: usize,
    counts: Counts,
    pub(super) structure: Arc<StructureCell>,
}

macro_rules! read {
    ($($(#[$doc:meta])* $name:ident: $column:ident -> $type:ty = $default:expr;)+) => {
        impl View {
            $($(#[$doc])*
            #[inline]
            pub fn $name(&self, ix: Ix) -> $type {
                self.$column.get(ix as usize).copied().unwrap_or($default)
            })+
        }
    };
}

read! {
    /// Characters in the key.
    key_len: key_lens -> u32 = 0;
    /// Characters in the body.
    body_len: body_lens -> u32 = 0;
    /// The state; `None` for the index of a deleted node.
    state: states -> Option<State> = None;
    /// The category.
    category: categories -> Category = Category::General;
    /// The trust.
    trust: trusts -> Trust = Trust::External;
    /// Emotion, 0–10.
    emotion: emotions -> f32 = 0.0;
    /// When the node was first stored.
    created: created -> Timestamp = Timestamp(0);
    /// When the node's text or state last changed.
    modified: modified -> Timestamp = Timestamp(0);
    /// The node's version.
    version: versions -> u32 = 0;
    /// Weight as of [`View::touched`]; see `rank::decay` for its value now.
    stored_weight: weights -> f64 = 0.0;
    /// When the weight was last written.
    touched: touched -> Timestamp = Timestamp(0);
    /// Spaced-repetition interval in days.
    replay_interval: replay_intervals -> u16 = 0;
    /// Distinct live neighbours.
    degree: degrees -> u32 = 0;
    /// Triangles the node is a corner of, in the simple graph of live nodes.
    triangles: triangles -> u32 = 0;
    /// Interned number of the node's type; see [`View::type_number`].
    node_type: types -> u16 = u16::MAX;
    /// Interned number of the provenance; see [`View::provenance_name`].
    provenance: provenances -> u32 = u32::MAX;
}

impl View {
    /// A view of nothing.
    pub fn new() -> Self {
        View { ids_ascend: true, ..View::default() }
    }

    /// One past the greatest index in use: indexes run from 0 to here, with gaps.
    pub fn slots(&self) -> Ix {
        self.ids.len() as Ix
    }

    /// How many nodes there are, in any state.
    pub fn node_count(&self) -> usize {
        self.nodes
    }

    /// How many nodes are live.
    pub fn live_count(&self) -> usize {
        self.live
    }

    /// How many edges of graph kinds there are.
    pub fn edge_count(&self) -> usize {
        self.edges
    }

    /// Whether the node is in a live state.
    #[inline]
    pub fn is_live(&self, ix: Ix) -> bool {
        self.state(ix).is_some_and(State::is_live)
    }

    /// Whether indexes ascend with ids, so that a scan in index order is a scan in id order.
    pub fn ids_ascend(&self) -> bool {
        self.ids_ascend
    }

    /// The id at an index.
    pub fn id(&self, ix: Ix) -> Option<NodeId> {
        self.ids.get(ix as usize).copied()
    }

    /// The index of an id.
    pub fn find(&self, id: NodeId) -> Option<Ix> {
        self.by_id.find(hash(id), |ix| self.id(ix) == Some(id))
    }

    /// The key at an index.
    pub fn key(&self, ix: Ix) -> &str {
        self.keys.get(ix as usize).unwrap_or_default()
    }

    /// The index of a key, in any state.
    pub fn find_key(&self, key: &str) -> Option<Ix> {
        self.by_key.find(hash_any_case(key), |ix| self.key(ix) == key)
    }

    /// The indexes of the keys that are the same but for capitals, in any state.
    pub fn find_keys_any_case(&self, key: &str) -> Vec<Ix> {
        self.by_key.find_all(hash_any_case(key), |ix| small_letters(self.key(ix)).eq(small_letters(key)))
    }

    /// When the node leaves retrieval by itself.
    pub fn expires(&self, ix: Ix) -> Option<Timestamp> {
        self.expires.get(ix as usize).and_then(|&moment| moment.into())
    }

    /// When the node was last replayed.
    pub fn replayed(&self, ix: Ix) -> Option<Timestamp> {
        self.replayed.get(ix as usize).and_then(|&moment| moment.into())
    }

    /// The number of a node type, if any node ever had it.
    pub fn type_number(&self, name: &str) -> Option<u16> {
        self.type_names.number(name).map(|number| number as u16)
    }

    /// The name of the node's type.
    pub fn type_name(&self, ix: Ix) -> &str {
        self.type_names.name(u32::from(self.node_type(ix)))
    }

    /// Every provenance seen so far with its number.
    pub fn provenances(&self) -> impl Iterator<Item = (u32, &str)> {
        self.provenance_names.iter()
    }

    /// The node's provenance.
    pub fn provenance_name(&self, ix: Ix) -> &str {
        self.provenance_names.name(self.provenance(ix))
    }

    /// The numbers of the node's keywords.
    pub fn keywords(&self, ix: Ix) -> &[u32] {
        self.keywords.get(ix as usize).unwrap_or_default()
    }

    /// The number of a keyword, if any node ever had it.
    pub fn keyword_number(&self, word: &str) -> Option<u32> {
        self.keyword_names.number(word)
    }

    /// The keyword with a number.
    pub fn keyword_name(&self, number: u32) -> &str {
        self.keyword_names.name(number)
    }

    /// All edges of graph kinds at a node, either way, to live and other nodes, by target.
    pub fn edges(&self, ix: Ix) -> &[Neighbor] {
        self.adjacency.get(ix as usize).unwrap_or_default()
    }

    /// The live neighbours of a node, one [`MergedEdge`] each, by index.
    pub fn merged_edges(&self, ix: Ix) -> impl Iterator<Item = MergedEdge> {
        self.edges(ix)
            .chunk_by(|a, b| a.target() == b.target())
            .filter_map(|run| {
                let first = run.first()?;
                let strength = run.iter().fold(0.0f32, |best, edge| best.max(edge.strength));
                Some(MergedEdge { ix: first.target(), strength: f64::from(strength) })
            })
            .filter(|tie| self.is_live(tie.ix))
    }

    /// Whether any edge of a graph kind joins the two nodes.
    pub fn are_adjacent(&self, a: Ix, b: Ix) -> bool {
        self.edges(a).binary_search_by_key(&b, |edge| edge.target()).is_ok()
    }

    /// Local clustering coefficient (Watts and Strogatz 1998), 0–1; 0 below two neighbours.
    pub fn clustering(&self, ix: Ix) -> f64 {
        structure::clustering(self.degree(ix), self.triangles(ix))
    }

    /// The last visit of the node by the agent.
    pub fn visit(&self, agent: &str, ix: Ix) -> Option<Visit> {
        self.visits_of(agent)?.get(ix as usize).copied().flatten()
    }

    /// All visits of an agent, by index; shorter than the view when later nodes were never visited.
    pub fn visits_of(&self, agent: &str) -> Option<&Column<Option<Visit>>> {
        self.visits.get(agent)
    }

    /// The agents that have visited anything.
    pub fn visitors(&self) -> impl Iterator<Item = &str> {
        self.visits.keys().map(|agent| &**agent)
    }
}
