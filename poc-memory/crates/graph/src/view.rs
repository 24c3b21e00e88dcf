//! The immutable snapshot that all readers share: one column per field, adjacency, look-up tables and visits.
//!
//! A node has a dense index [`Ix`] within a view and the views derived from it. The index of a deleted node
//! stays empty until the store is reopened. Bodies and titles are not part of the view.

mod aliases;
mod apply;
mod build;
mod counts;
mod cursors;
mod describe;
mod fields;
mod keyword_nodes;
mod lookup;
mod names;
mod optional_timestamp;
mod sequence;
mod snapshot;
mod triangles;
mod visibility;

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
use aliases::Aliases;
use counts::Counts;
use keyword_nodes::KeywordNodes;
use lookup::{Lookup, hash, hash_any_case, lowercase_chars};
use names::Names;
use optional_timestamp::OptionalTimestamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The dense index of a node within a view.
pub type Ix = u32;

/// An edge as seen from one of its ends: the other node, kind, direction and graph strength, in eight bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Neighbor {
    // The low 27 bits are the other node, the next 4 the kind. The highest bit is set at the target of
    // the edge, because two nodes may have an edge in each direction.
    packed: u32,
    /// Graph strength in 0–1 ([`Edge::graph_strength`](super::Edge::graph_strength)).
    pub strength: f32,
}

impl Neighbor {
    const TARGET: u32 = (1 << 27) - 1;
    const KIND: u32 = 0b1111;
    const INCOMING: u32 = 1 << 31;

    /// The edge as seen from its source.
    fn outgoing(target: Ix, kind: EdgeKind, strength: f64) -> Self {
        let kind = (kind as u32 & Self::KIND) << 27;
        Neighbor { packed: (target & Self::TARGET) | kind, strength: strength as f32 }
    }

    /// The same edge as seen from the other end.
    fn mirrored(self, source: Ix) -> Self {
        let ends = Self::TARGET | Self::INCOMING;
        let other_way = !self.packed & Self::INCOMING;
        Neighbor { packed: (source & Self::TARGET) | other_way | (self.packed & !ends), ..self }
    }

    /// Whether the edge ends here. An edge is stored at both ends.
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
        let number = (self.packed >> 27) & Self::KIND;
        EdgeKind::ALL.get(number as usize).copied().unwrap_or(EdgeKind::Link)
    }

    fn order(self) -> (u32, u32) {
        (self.target(), self.packed >> 27)
    }
}

/// An edge of the simple graph of live nodes: all edges between two nodes merged into one, as strong as the
/// strongest of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MergedEdge {
    /// The neighbour.
    pub ix: Ix,
    /// Strength in 0–1.
    pub strength: f64,
}

/// The immutable snapshot.
///
/// A node takes about 140 bytes plus its key and about nine bytes for each keyword: 215 bytes with a key of 30 bytes
/// and five keywords. An edge takes 16 bytes, eight at each end. A visit takes 16 bytes, and so does every other
/// node in the same chunk of 1,024 (fewer in a small graph). A clone shares all data and costs one pointer per
/// column and some thousand nodes.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// The sequence number of the last transaction it contains; 0 for an empty store.
    pub seq: u64,
    ids: Column<NodeId>,
    by_id: Lookup,
    ids_ascend: bool,
    keys: Texts,
    by_key: Lookup,
    aliases: Aliases,
    key_lens: Column<u32>,
    body_lens: Column<u32>,
    types: Column<u16>,
    type_names: Names,
    provenances: Column<u32>,
    provenance_names: Names,
    keywords: Lists<Vec<u32>>,
    keyword_names: Names,
    keyword_nodes: KeywordNodes,
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
    // Sorted by target, then direction and kind. Every edge of a graph kind is stored at both ends. May be
    // shorter than the other columns; later nodes have no edges.
    adjacency: Lists<Vec<Neighbor>>,
    // The edges of other kinds, in the same way; an edge of a node with itself is stored once.
    other_edges: Lists<Vec<Neighbor>>,
    // Of nodes in any state, counting live neighbours. Updated incrementally.
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
    /// Pairs of adjacent live neighbours: triangles the node is a corner of.
    triangles: triangles -> u32 = 0;
    /// Interned number of the node's type; see [`View::type_number`].
    node_type: types -> u16 = u16::MAX;
    /// Interned number of the provenance; see [`View::provenance_name`].
    provenance: provenances -> u32 = u32::MAX;
}

impl View {
    /// An empty view.
    pub fn new() -> Self {
        View { ids_ascend: true, ..View::default() }
    }

    /// One past the greatest index in use. Indexes below may be empty.
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

    /// The former keys of the node at an index, oldest first.
    pub fn aliases(&self, ix: Ix) -> impl Iterator<Item = &str> {
        self.aliases.of(ix)
    }

    /// The key of the node at an index, then its former keys.
    pub fn names(&self, ix: Ix) -> impl Iterator<Item = &str> {
        std::iter::once(self.key(ix)).chain(self.aliases(ix))
    }

    /// The index of the node with a key or a former key, in any state.
    pub fn find_key(&self, key: &str) -> Option<Ix> {
        let by_key = self.by_key.find(hash_any_case(key), |ix| self.key(ix) == key);
        by_key.or_else(|| self.aliases.find(key))
    }

    /// The indexes of the nodes whose key or a former key is equal ignoring case, in any state, ascending.
    pub fn find_keys_any_case(&self, key: &str) -> Vec<Ix> {
        let is = |ix| lowercase_chars(self.key(ix)).eq(lowercase_chars(key));
        let mut found = self.by_key.find_all(hash_any_case(key), is);
        found.extend(self.aliases.find_all_any_case(key));
        found.sort_unstable();
        found.dedup();
        found
    }

    /// When the node expires.
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

    /// The projects that notes are labelled with, each with the number of its keyword. A project whose notes are
    /// gone may be among them.
    pub fn projects(&self) -> impl Iterator<Item = (u32, &str)> {
        self.keyword_names.iter().filter_map(|(number, word)| Some((number, crate::project_name(word)?)))
    }

    /// All edges of graph kinds at a node in both directions, to nodes in any state, by target.
    pub fn edges(&self, ix: Ix) -> &[Neighbor] {
        self.adjacency.get(ix as usize).unwrap_or_default()
    }

    /// The edges of the simple graph at a node: one for each live neighbour, by index.
    #[inline]
    pub fn merged_edges(&self, ix: Ix) -> impl Iterator<Item = MergedEdge> {
        self.all_merged_edges(ix).filter(|edge| self.is_live(edge.ix))
    }

    /// Like [`View::merged_edges`], with neighbours in any state.
    #[inline]
    pub fn all_merged_edges(&self, ix: Ix) -> impl Iterator<Item = MergedEdge> {
        let mut rest = self.edges(ix);
        std::iter::from_fn(move || {
            let (first, behind) = rest.split_first()?;
            rest = behind;
            let (target, mut strength) = (first.target(), first.strength);
            while let Some((next, behind)) = rest.split_first()
                && next.target() == target
            {
                rest = behind;
                strength = strength.max(next.strength);
            }
            Some(MergedEdge { ix: target, strength: f64::from(strength) })
        })
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
}
