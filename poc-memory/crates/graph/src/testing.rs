//! Small hand-made nodes and edges for tests.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "only tests use it; the lints exempt tests by `cfg(test)`, which does not reach other crates"
)]

mod fake_clock;
mod folder;
pub mod generated;

pub use fake_clock::fake_clock;
pub use folder::{folder, memory_folder};

use super::{
    Category, Delta, Edge, EdgeKind, Node, NodeId, NodeType, Origin, State, Tenant, Trust, View, content_hash,
};
use crate::rng::{Rng, SeededRng};
use crate::time::Timestamp;
use std::path::Path;
use std::sync::Arc;

/// The corpus of a fuzz target: see `fuzz/` at the root of the repository.
pub fn corpus(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../fuzz/corpus").join(target);
    let files = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let corpus: Vec<Vec<u8>> = files.map(|file| std::fs::read(file.unwrap().path()).unwrap()).collect();
    assert!(!corpus.is_empty(), "the corpus of `{target}` is empty");
    corpus
}

impl SeededRng {
    /// A pseudo-random number in `from..below`, which must not be empty. Both bounds must fit into 64 unsigned bits.
    pub fn below<N: TryInto<u64> + TryFrom<u64>>(&self, from: N, below: N) -> N {
        let number =
            |bound: N| bound.try_into().unwrap_or_else(|_| panic!("a bound does not fit into `u64`"));
        let (from, below) = (number(from), number(below));
        assert!(from < below, "no number is in {from}..{below}");
        N::try_from(from + self.next_u64() % (below - from)).unwrap_or_else(|_| panic!("less than `below`"))
    }
}

/// Node number `number`: key `n<number>`, created and changed `number` seconds after the epoch.
pub fn node(number: u64) -> Node {
    let mut id = [0; 16];
    id[8..].copy_from_slice(&number.to_be_bytes());
    let (title, body) = (format!("Title {number}"), format!("Body of {number}"));
    Node {
        id: NodeId::from_bytes(id),
        tenant: Tenant::default(),
        key: format!("n{number}"),
        content_hash: content_hash(&title, &body, &[]),
        title,
        body,
        node_type: NodeType("semantic".into()),
        category: Category::General,
        keywords: Vec::new(),
        provenance: "manual".into(),
        trust: Trust::User,
        author: None,
        source: None,
        emotion: 0.0,
        created: Timestamp(number as i64 * 1000),
        modified: Timestamp(number as i64 * 1000),
        expires: None,
        state: State::Active,
        origin: Origin::Local,
        version: 1,
        aliases: Vec::new(),
        other_names: Vec::new(),
    }
}

/// An edge between two of the nodes created by [`node`].
pub fn edge(src: u64, dst: u64, kind: EdgeKind, strength: f64) -> Edge {
    Edge {
        src: node(src).id,
        dst: node(dst).id,
        kind,
        strength,
        created: Timestamp(0),
        touched: Timestamp(0),
        provenance: "manual".into(),
        reason: String::new(),
    }
}

/// A view of `nodes` nodes, whose numbers from 0 are also their indexes, and links `(a, b, strength)`.
pub fn view(nodes: u64, links: &[(u64, u64, f64)]) -> View {
    let mut view = View::new();
    let mut deltas: Vec<Delta> = (0..nodes).map(|number| Delta::Node(Arc::new(node(number)))).collect();
    deltas.extend(links.iter().map(|&(a, b, strength)| Delta::from(edge(a, b, EdgeKind::Link, strength))));
    view.apply(1, &deltas);
    view
}

/// All nodes, edges and visits of a view as texts, by id and independent of indexes.
pub fn contents(view: &View) -> Vec<String> {
    let mut nodes: Vec<_> = (0..view.slots())
        .filter(|&ix| view.state(ix).is_some())
        .map(|ix| (view.id(ix), view.describe(ix)))
        .collect();
    nodes.sort();
    let sums = (view.seq, view.node_count(), view.live_count(), view.edge_count());
    let counts = (view.nodes_by_type(), view.nodes_by_state(), view.edges_by_kind(), view.keyword_count());
    std::iter::once(format!("{sums:?} {counts:?}"))
        .chain(nodes.into_iter().map(|(_, contents)| contents))
        .collect()
}
