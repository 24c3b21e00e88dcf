//! The immutable snapshot that all readers share: one column per field, adjacency, look-up tables and visits.
//!
//! A node has a dense index [`Ix`] within a view and the views derived from it. The index of a deleted node
//! stays empty until the store is reopened. Bodies and titles are not part of the view.

mod aliases;
mod apply;
mod build;
mod counts;
mod cursors;
mod day_nodes;
mod derivation;
mod describe;
mod fields;
mod interner;
mod keyword_nodes;
mod lookup;
mod optional_timestamp;
mod sequence;
mod snapshot;
mod triangles;
mod visibility;

pub use build::Builder;
pub use derivation::Representation;
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
use day_nodes::DayNodes;
use interner::Interner;
use keyword_nodes::KeywordNodes;
use lookup::{Lookup, hash, hash_any_case, lowercase_chars};
use optional_timestamp::OptionalTimestamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The dense index of a node within a view, from 0.
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
    // Masks of the parts of `packed`.
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

    /// Whether this node is the target of the edge.
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

    /// Whether this node is the source of the edge.
    pub fn is_outgoing(self) -> bool {
        self.packed & Self::INCOMING == 0
    }

    /// The kind of the edge.
    pub fn kind(self) -> EdgeKind {
        let number = (self.packed >> 27) & Self::KIND;
        EdgeKind::ALL.get(number as usize).copied().unwrap_or(EdgeKind::Link)
    }

    /// The key by which the edges of a node are sorted: target, then direction and kind.
    fn order(self) -> (u32, u32) {
        (self.target(), self.packed >> 27)
    }
}

/// An edge of the simple graph of live nodes. All edges between two nodes are merged into one that has the strength of
/// the strongest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MergedEdge {
    /// The index of the neighbour.
    pub ix: Ix,
    /// The strength, 0–1.
    pub strength: f64,
}

/// An immutable snapshot of all nodes, edges and visits.
///
/// A node takes about 150 bytes plus its key and about nine bytes for each keyword: 225 bytes with a key of 30 bytes
/// and five keywords. An edge takes 16 bytes, eight at each end. An agent's first visit in a chunk of 1,024 nodes takes
/// 16 bytes for each of them (fewer in a small graph). A clone shares all data and costs one pointer per column for
/// every thousand nodes.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// The sequence number of the last transaction it contains; 0 for an empty store.
    pub seq: u64,
    ids: Column<NodeId>,
    by_id: Lookup,
    // Whether the indexes are in the order of ids.
    ids_ascend: bool,
    keys: Texts,
    by_key: Lookup,
    aliases: Aliases,
    other_names: Aliases,
    day_nodes: DayNodes,
    key_lens: Column<u32>,
    body_lens: Column<u32>,
    types: Column<u16>,
    type_names: Interner,
    provenances: Column<u32>,
    provenance_names: Interner,
    keywords: Lists<Vec<u32>>,
    keyword_names: Interner,
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
    // Sorted by target, then direction and kind. Every edge of a graph kind is stored at both ends. This list may be
    // shorter than the other columns; later nodes have no edges.
    adjacency: Lists<Vec<Neighbor>>,
    // The edges of other kinds, stored likewise. An edge from a node to itself is stored once.
    other_edges: Lists<Vec<Neighbor>>,
    // The number of live neighbours of every node, whatever its own state. Updated incrementally.
    degrees: Column<u32>,
    triangles: Column<u32>,
    visits: Arc<BTreeMap<Arc<str>, Column<Option<Visit>>>>,
    live: usize,
    nodes: usize,
    edges: usize,
    counts: Counts,
    pub(super) structure: Arc<StructureCell>,
}

/// Defines methods that return the value of a column at an index.
macro_rules! column_getters {
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

column_getters! {
    /// The number of characters in the key.
    key_len: key_lens -> u32 = 0;
    /// The number of characters in the body.
    body_len: body_lens -> u32 = 0;
    /// The lifecycle state; `None` for the index of a deleted node.
    state: states -> Option<State> = None;
    /// The category, which scales the decay of the weight.
    category: categories -> Category = Category::General;
    /// The trust level.
    trust: trusts -> Trust = Trust::External;
    /// Emotional intensity, 0–10.
    emotion: emotions -> f32 = 0.0;
    /// When the node was first stored.
    created: created -> Timestamp = Timestamp(0);
    /// When the node's text or state last changed.
    modified: modified -> Timestamp = Timestamp(0);
    /// The version number of the node, from 1; see [`Node::version`](super::Node::version).
    version: versions -> u32 = 0;
    /// The weight at the time [`View::touched`], 0.01–100. `rank::decay` computes the current weight.
    stored_weight: weights -> f64 = 0.0;
    /// When the weight was last written.
    touched: touched -> Timestamp = Timestamp(0);
    /// Interval of spaced repetition in days; 0 before the first replay.
    replay_interval: replay_intervals -> u16 = 0;
    /// The number of distinct live neighbours.
    degree: degrees -> u32 = 0;
    /// The number of triangles that include the node, which is the number of adjacent pairs of its live neighbours.
    triangles: triangles -> u32 = 0;
    /// The interned number of the node's type; see [`View::type_number`].
    node_type: types -> u16 = u16::MAX;
    /// The interned number of the provenance; see [`View::provenance_name`].
    provenance: provenances -> u32 = u32::MAX;
}

impl View {
    /// Creates an empty view.
    pub fn new() -> Self {
        View { ids_ascend: true, ..View::default() }
    }

    /// One more than the largest index. Lower indexes may be those of deleted nodes.
    pub fn slots(&self) -> Ix {
        self.ids.len() as Ix
    }

    /// The number of nodes in any state.
    pub fn node_count(&self) -> usize {
        self.nodes
    }

    /// The number of live nodes.
    pub fn live_count(&self) -> usize {
        self.live
    }

    /// The number of edges of graph kinds.
    pub fn edge_count(&self) -> usize {
        self.edges
    }

    /// The approximate size in memory in bytes, without the derived structure. Data shared with clones counts, too.
    pub fn approximate_bytes(&self) -> usize {
        /// The columns and tables of a view with few nodes.
        const EMPTY: usize = 8 << 10;
        /// A node with a key and keywords of average length.
        const NODE: usize = 240;
        /// Both ends of an edge.
        const EDGE: usize = 16;
        /// An agent's visit.
        const VISIT: usize = 16;
        EMPTY + self.ids.len() * (NODE + self.visits.len() * VISIT) + self.edges * EDGE
    }

    /// Whether the node is in a live state.
    #[inline]
    pub fn is_live(&self, ix: Ix) -> bool {
        self.state(ix).is_some_and(State::is_live)
    }

    /// Whether indexes are in the order of ids, so that a scan by index is also a scan by id.
    pub fn ids_ascend(&self) -> bool {
        self.ids_ascend
    }

    /// The id of the node at an index; `None` beyond the last one. The index of a deleted node keeps its id.
    pub fn id(&self, ix: Ix) -> Option<NodeId> {
        self.ids.get(ix as usize).copied()
    }

    /// The index of the node with an id.
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

    /// The other names of the node at an index, which are neither its key nor former keys.
    pub fn other_names(&self, ix: Ix) -> impl Iterator<Item = &str> {
        self.other_names.of(ix)
    }

    /// The indexes of the nodes in any state with `name` among their other names, ignoring case, ascending.
    pub fn find_other_names_any_case(&self, name: &str) -> Vec<Ix> {
        self.other_names.find_all_any_case(name)
    }

    /// The index of the node with a key or a former key, in any state.
    pub fn find_key(&self, key: &str) -> Option<Ix> {
        let by_key = self.by_key.find(hash_any_case(key), |ix| self.key(ix) == key);
        by_key.or_else(|| self.aliases.find(key))
    }

    /// The indexes of the nodes in any state whose key or former key equals `key` ignoring case, ascending.
    pub fn find_keys_any_case(&self, key: &str) -> Vec<Ix> {
        let is_equal = |ix| lowercase_chars(self.key(ix)).eq(lowercase_chars(key));
        let mut found = self.by_key.find_all(hash_any_case(key), is_equal);
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

    /// The interned number of a node type; `None` if no node ever had it.
    pub fn type_number(&self, name: &str) -> Option<u16> {
        self.type_names.number(name).map(|number| number as u16)
    }

    /// The name of the node's type.
    pub fn type_name(&self, ix: Ix) -> &str {
        self.type_names.name(u32::from(self.node_type(ix)))
    }

    /// All provenances seen so far, with their interned numbers.
    pub fn provenances(&self) -> impl Iterator<Item = (u32, &str)> {
        self.provenance_names.iter()
    }

    /// The node's provenance.
    pub fn provenance_name(&self, ix: Ix) -> &str {
        self.provenance_names.name(self.provenance(ix))
    }

    /// The interned numbers of the node's keywords.
    pub fn keywords(&self, ix: Ix) -> &[u32] {
        self.keywords.get(ix as usize).unwrap_or_default()
    }

    /// The interned number of a keyword; `None` if no node ever had it.
    pub fn keyword_number(&self, word: &str) -> Option<u32> {
        self.keyword_names.number(word)
    }

    /// The keyword with an interned number.
    pub fn keyword_name(&self, number: u32) -> &str {
        self.keyword_names.name(number)
    }

    /// All projects that appear as a keyword, with the number of that keyword. A project is still included after its
    /// last note was deleted.
    pub fn projects(&self) -> impl Iterator<Item = (u32, &str)> {
        self.keyword_names.iter().filter_map(|(number, word)| Some((number, crate::project_name(word)?)))
    }

    /// All edges of graph kinds at a node, in both directions and to nodes in any state, sorted by target.
    pub fn edges(&self, ix: Ix) -> &[Neighbor] {
        self.adjacency.get(ix as usize).unwrap_or_default()
    }

    /// The edges of the simple graph at a node: one per live neighbour, sorted by index.
    #[inline]
    pub fn merged_edges(&self, ix: Ix) -> impl Iterator<Item = MergedEdge> {
        self.all_merged_edges(ix).filter(|edge| self.is_live(edge.ix))
    }

    /// Like [`View::merged_edges`], with neighbours in any state.
    #[inline]
    pub fn all_merged_edges(&self, ix: Ix) -> impl Iterator<Item = MergedEdge> {
        let mut rest = self.edges(ix);
        std::iter::from_fn(move || {
            let (first, tail) = rest.split_first()?;
            rest = tail;
            let (target, mut strength) = (first.target(), first.strength);
            while let Some((next, tail)) = rest.split_first()
                && next.target() == target
            {
                rest = tail;
                strength = strength.max(next.strength);
            }
            Some(MergedEdge { ix: target, strength: f64::from(strength) })
        })
    }

    /// Whether any edge of a graph kind joins the two nodes.
    pub fn are_adjacent(&self, a: Ix, b: Ix) -> bool {
        self.edges(a).binary_search_by_key(&b, |edge| edge.target()).is_ok()
    }

    /// Local clustering coefficient (Watts and Strogatz 1998), 0–1; 0 with fewer than two neighbours.
    pub fn clustering(&self, ix: Ix) -> f64 {
        structure::clustering(self.degree(ix), self.triangles(ix))
    }

    /// The agent's last visit of the node.
    pub fn visit(&self, agent: &str, ix: Ix) -> Option<Visit> {
        self.visits_of(agent)?.get(ix as usize).copied().flatten()
    }

    /// All visits of an agent, by node index. The column is shorter than the view if later nodes were never visited.
    pub fn visits_of(&self, agent: &str) -> Option<&Column<Option<Visit>>> {
        self.visits.get(agent)
    }
}
