//! The serialized form of a view. Nodes are sorted by id and renumbered without gaps, and unused names are dropped.
//!
//! Everything that is quick to recompute is left out: look-up tables, counts and the nodes of each keyword. The format
//! has no checksum; the caller must verify the integrity of the bytes.

use super::fields::Fields;
use super::interner::Interner;
use super::lookup::Lookup;
use super::{Ix, Neighbor, View};
use crate::Activity;
use crate::NodeId;
use crate::Visit;
use crate::counting_sort::grouped;
use crate::error::{Error, Result};
use crate::lists::Lists;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Texts of the types, provenances and keywords, by number.
#[derive(Serialize, Deserialize)]
struct SavedNames<'a>(#[serde(borrow)] [Vec<&'a str>; 3]);

#[derive(Serialize, Deserialize)]
struct SavedNode<'a> {
    id: NodeId,
    #[serde(borrow)]
    fields: Fields<'a>,
    #[serde(borrow)]
    aliases: Vec<&'a str>,
    #[serde(borrow)]
    other_names: Vec<&'a str>,
    keywords: Vec<u32>,
    activity: Activity,
    /// The edges to nodes before this one. Those to later nodes are stored there.
    edges: Vec<Neighbor>,
    other_edges: Vec<Neighbor>,
    degree: u32,
    triangles: u32,
}

impl SavedNode<'_> {
    /// Whether everything that this node refers to by number exists. The node itself is number `number` of `count`
    /// nodes. `name_counts` are the numbers of types, provenances and keywords.
    fn is_consistent(&self, number: u32, count: u32, name_counts: [u32; 3]) -> bool {
        let [types, provenances, keywords] = name_counts;
        u32::from(self.fields.node_type) < types
            && self.fields.provenance < provenances
            && self.keywords.iter().all(|&word| word < keywords)
            && self.edges.iter().all(|edge| edge.target() < number)
            && self.other_edges.iter().all(|edge| edge.target() < count)
            && [&self.edges, &self.other_edges]
                .into_iter()
                .all(|edges| edges.is_sorted_by(|a, b| a.order() < b.order()))
    }
}

/// An agent and its visits by node.
type SavedVisits<'a> = (&'a str, Vec<(Ix, Visit)>);

impl View {
    /// Serializes the view.
    pub fn encode(&self) -> Result<Vec<u8>> {
        self.write().map_err(|error| Error::internal(format!("the view cannot be encoded: {error}")))
    }

    /// Writes the names, then each node in the order of ids, then the visits.
    fn write(&self) -> postcard::Result<Vec<u8>> {
        let mut order: Vec<(NodeId, Ix)> = (0..self.slots())
            .filter(|&ix| self.state(ix).is_some())
            .filter_map(|ix| Some((self.id(ix)?, ix)))
            .collect();
        order.sort_unstable();
        let mut numbers = Renumbering::of(self, &order);
        let mut bytes = Vec::new();
        postcard::to_io(&numbers.names(self), &mut bytes)?;
        postcard::to_io(&(order.len() as u32), &mut bytes)?;
        for &(id, ix) in &order {
            postcard::to_io(&numbers.saved_node(self, id, ix), &mut bytes)?;
        }
        postcard::to_io(&self.saved_visits(&order), &mut bytes)?;
        Ok(bytes)
    }

    /// The visits of each agent, each with the position of its node in `order`.
    fn saved_visits(&self, order: &[(NodeId, Ix)]) -> Vec<SavedVisits<'_>> {
        let saved = self.visits.iter().map(|(agent, visits)| -> SavedVisits {
            let visit = |&(_, ix): &(NodeId, Ix)| visits.get(ix as usize).copied().flatten();
            (
                agent,
                (0..)
                    .zip(order.iter().map(visit))
                    .filter_map(|(number, visit)| Some((number, visit?)))
                    .collect(),
            )
        });
        saved.collect()
    }

    /// Restores the view after transaction `seq` from the bytes of [`View::encode`]; `None` if they are inconsistent.
    pub fn decode(bytes: &[u8], seq: u64) -> Option<View> {
        let mut view = View::new();
        view.seq = seq;
        let (SavedNames(names), bytes) = postcard::take_from_bytes(bytes).ok()?;
        let tables = [&mut view.type_names, &mut view.provenance_names, &mut view.keyword_names];
        for (table, names) in tables.into_iter().zip(&names) {
            fill(table, names)?;
        }
        let name_counts = names.map(|names| names.len() as u32);
        let (count, mut bytes) = postcard::take_from_bytes::<u32>(bytes).ok()?;
        // The id of a node alone takes 16 bytes.
        let room = (count as usize).min(bytes.len() / 16);
        (view.by_id, view.by_key) = (Lookup::with_room(room), Lookup::with_room(room));
        let (mut keywords, mut edges, mut others) = (Rows::default(), Rows::default(), Rows::default());
        for number in 0..count {
            let (node, rest) = postcard::take_from_bytes::<SavedNode>(bytes).ok()?;
            bytes = rest;
            if number > 0 && view.id(number - 1).is_none_or(|before| before >= node.id) {
                return None;
            }
            let mut names = std::iter::once(&node.fields.key).chain(&node.aliases);
            if !node.is_consistent(number, count, name_counts)
                || names.any(|name| view.find_key(name).is_some())
            {
                return None;
            }
            let ix = view.add_slot(node.id, node.activity.touched);
            view.set_fields(ix, &node.fields);
            view.aliases.set(ix, node.aliases.iter().copied());
            view.other_names.set(ix, node.other_names.iter().copied());
            view.put_activity_at(ix, &node.activity);
            view.live += usize::from(node.fields.state.is_live());
            view.degrees.set(ix as usize, node.degree, 0);
            view.triangles.set(ix as usize, node.triangles, 0);
            keywords.push(&node.keywords);
            edges.push(&node.edges);
            others.push(&node.other_edges);
        }
        view.edges = edges.items.len();
        view.keywords = Lists::from_rows(&keywords.starts, &keywords.items);
        let edges = with_mirrored(&edges);
        view.adjacency = Lists::from_rows(&edges.starts, &edges.items);
        if !others.items.is_empty() {
            view.other_edges = Lists::from_rows(&others.starts, &others.items);
        }
        view.count_all();
        view.list_all_keywords();
        let visits: Vec<SavedVisits> = postcard::from_bytes(bytes).ok()?;
        for (agent, visits) in visits {
            let agent: Arc<str> = agent.into();
            for (number, visit) in visits {
                if number >= count {
                    return None;
                }
                view.set_visit(&agent, number, Some(visit));
            }
        }
        Some(view)
    }
}

/// The edges of each node at both ends. `before` has the edges of each node to the nodes before it.
fn with_mirrored(before: &Rows<Neighbor>) -> Rows<Neighbor> {
    let edges = (0..).zip(before.iter()).flat_map(|(node, edges)| {
        // A node's edges to earlier nodes come before those to later ones, which their own rows add.
        let mirrored = edges.iter().map(move |edge| (edge.target(), edge.mirrored(node)));
        edges.iter().map(move |edge| (node, *edge)).chain(mirrored)
    });
    let (starts, mut items) = grouped(before.len(), edges);
    // If two nodes have several edges, their order differs at the other end.
    for range in starts.windows(2) {
        let &[start, end] = range else { continue };
        if let Some(edges) = items.get_mut(start..end)
            && !edges.is_sorted_by_key(|edge| edge.order())
        {
            edges.sort_unstable_by_key(|edge| edge.order());
        }
    }
    Rows { starts, items }
}

/// Fills an empty table; `None` if a name is repeated.
fn fill(table: &mut Interner, names: &[&str]) -> Option<()> {
    (0..).zip(names).all(|(number, name)| table.intern(name) == number).then_some(())
}

/// The new numbers of the nodes of a view, and of the names that they use.
struct Renumbering {
    nodes: Numbers,
    types: Numbers,
    provenances: Numbers,
    keywords: Numbers,
}

impl Renumbering {
    /// The numbers for writing the nodes in this order.
    fn of(view: &View, order: &[(NodeId, Ix)]) -> Renumbering {
        let mut nodes = Numbers::new(view.slots());
        let (mut types, mut provenances, mut keywords) =
            (Numbers::default(), Numbers::default(), Numbers::default());
        for &(_, ix) in order {
            nodes.number(ix);
            types.number(u32::from(view.node_type(ix)));
            provenances.number(view.provenance(ix));
            for &word in view.keywords(ix) {
                keywords.number(word);
            }
        }
        Renumbering { nodes, types, provenances, keywords }
    }

    /// The names that nodes use, in the order of their new numbers.
    fn names<'a>(&self, view: &'a View) -> SavedNames<'a> {
        let names = [
            (&self.types, &view.type_names),
            (&self.provenances, &view.provenance_names),
            (&self.keywords, &view.keyword_names),
        ];
        SavedNames(names.map(|(used, names)| used.given.iter().map(|&number| names.name(number)).collect()))
    }

    /// The saved form of a node, with the new numbers.
    fn saved_node<'a>(&mut self, view: &'a View, id: NodeId, ix: Ix) -> SavedNode<'a> {
        let Renumbering { nodes, types, provenances, keywords } = self;
        let fields = view.fields(ix);
        let own = nodes.number(ix);
        let mut renumbered = |edges: &[Neighbor]| {
            let edges = edges.iter().map(|edge| edge.with_target(nodes.number(edge.target())));
            let mut edges: Vec<Neighbor> = edges.collect();
            edges.sort_unstable_by_key(|edge| edge.order());
            edges
        };
        let mut edges = renumbered(view.edges(ix));
        edges.truncate(edges.partition_point(|edge| edge.target() < own));
        SavedNode {
            id,
            fields: Fields {
                node_type: types.number(u32::from(fields.node_type)) as u16,
                provenance: provenances.number(fields.provenance),
                ..fields
            },
            aliases: view.aliases(ix).collect(),
            other_names: view.other_names(ix).collect(),
            keywords: view.keywords(ix).iter().map(|&word| keywords.number(word)).collect(),
            activity: view.activity(ix),
            edges,
            other_edges: renumbered(view.other_edges(ix)),
            degree: view.degree(ix),
            triangles: view.triangles(ix),
        }
    }
}

/// Assigns new numbers to old ones, in the order of first use.
#[derive(Default)]
struct Numbers {
    // The new number of each old one; `Ix::MAX` means none.
    numbers: Vec<Ix>,
    // The old number of each new one.
    given: Vec<Ix>,
}

impl Numbers {
    fn new(capacity: Ix) -> Self {
        let capacity = capacity as usize;
        Numbers { numbers: Vec::with_capacity(capacity), given: Vec::with_capacity(capacity) }
    }

    /// The new number of an old one.
    fn number(&mut self, of: Ix) -> Ix {
        const NONE: Ix = Ix::MAX;
        let at = of as usize;
        if self.numbers.len() <= at {
            self.numbers.resize(at + 1, NONE);
        }
        let next = self.given.len() as Ix;
        match self.numbers.get_mut(at) {
            Some(number) if *number == NONE => {
                *number = next;
                self.given.push(of);
                next
            }
            Some(number) => *number,
            None => next,
        }
    }
}

/// Concatenated rows.
struct Rows<T> {
    starts: Vec<usize>,
    items: Vec<T>,
}

impl<T> Default for Rows<T> {
    fn default() -> Self {
        Rows { starts: vec![0], items: Vec::new() }
    }
}

impl<T: Copy> Rows<T> {
    fn push(&mut self, row: &[T]) {
        self.items.extend_from_slice(row);
        self.starts.push(self.items.len());
    }

    fn len(&self) -> usize {
        self.starts.len() - 1
    }

    fn iter(&self) -> impl Iterator<Item = &[T]> + Clone {
        self.starts.windows(2).map(|range| match range {
            &[start, end] => self.items.get(start..end).unwrap_or_default(),
            _ => &[],
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::Delta;
    use crate::EdgeKind;
    use crate::Node;
    use crate::State;
    use crate::View;
    use crate::Visit;
    use crate::VisitOutcome;
    use crate::testing;
    use crate::testing::contents;
    use crate::time::Timestamp;
    use proptest::prelude::*;
    use std::sync::Arc;

    /// A view with a history: nodes were added out of id order, and some were deleted.
    fn view(order: &[u64], edges: &[(u64, u64, usize)], deleted: &[u64], visited: &[u64]) -> View {
        let mut view = View::new();
        for &number in order {
            let node = Node {
                keywords: (0..number % 4).map(|word| format!("w{}", word * number)).collect(),
                aliases: (0..number % 3).map(|former| format!("was {number} {former}")).collect(),
                other_names: (0..number % 4).map(|other| format!("also {other}")).collect(),
                provenance: format!("import:{}", number % 3),
                expires: (number % 3 == 0).then_some(Timestamp(-7)),
                state: if number % 5 == 4 { State::Superseded } else { State::Active },
                ..testing::node(number)
            };
            view.apply(1, &[Delta::Node(Arc::new(node))]);
        }
        let edge =
            |&(a, b, kind): &(u64, u64, usize)| Delta::from(testing::edge(a, b, EdgeKind::ALL[kind], 0.7));
        view.apply(2, &edges.iter().map(edge).collect::<Vec<_>>());
        let visit = Visit { at: Timestamp(4), outcome: VisitOutcome::Skipped, version: 2 };
        let id = |&number: &u64| testing::node(number).id;
        view.apply(
            3,
            &visited
                .iter()
                .map(|number| Delta::Visit("linker".into(), id(number), visit))
                .collect::<Vec<_>>(),
        );
        view.apply(4, &deleted.iter().map(|number| Delta::NodeDeleted(id(number))).collect::<Vec<_>>());
        view
    }

    poc_laws::laws! {
        /// A decoded view equals the original, with its nodes sorted by id and without gaps.
        #[test]
        fn a_decoded_view_equals_the_original(
            order in Just((0..14).collect::<Vec<u64>>()).prop_shuffle(),
            edges in proptest::collection::vec((0u64..14, 0u64..14, 0usize..8), 0..60),
            deleted in proptest::collection::vec(0u64..14, 0..5),
            visited in proptest::collection::vec(0u64..14, 0..5),
        ) {
            let view = view(&order, &edges, &deleted, &visited);
            let again = View::decode(&view.encode().unwrap(), 4).unwrap();
            prop_assert_eq!(contents(&again), contents(&view));
            prop_assert_eq!(again.slots() as usize, view.node_count());
            prop_assert!(again.ids_ascend());
        }

        #[test]
        fn damaged_bytes_do_not_panic(at in any::<prop::sample::Index>(), flip in 1u8.., cut in any::<bool>()) {
            let mut bytes = view(&[3, 1, 2, 4], &[(1, 2, 0), (2, 3, 1), (3, 1, 2)], &[], &[2]).encode().unwrap();
            let at = at.index(bytes.len());
            if cut { bytes.truncate(at) } else { bytes[at] ^= flip }
            if let Some(view) = View::decode(&bytes, 4) {
                contents(&view);
                prop_assert!(!cut);
            }
        }
    }

    #[test]
    fn names_that_no_node_uses_are_left_out() {
        let mut view = view(&[1, 2, 3], &[], &[], &[]);
        assert!(view.keyword_number("w6").is_some());
        view.apply(5, &[Delta::NodeDeleted(testing::node(3).id)]);
        let again = View::decode(&view.encode().unwrap(), 5).unwrap();
        assert_eq!((again.keyword_number("w6"), again.keyword_number("w2").is_some()), (None, true));
        assert_eq!(again.seq, 5);
    }
}
