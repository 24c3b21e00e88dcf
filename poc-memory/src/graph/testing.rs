//! Small hand-made nodes and edges for tests.

use super::{
    Category, Delta, Edge, EdgeKind, Node, NodeId, NodeType, Origin, State, Tenant, Trust, View, content_hash,
};
use crate::time::Timestamp;
use std::sync::Arc;

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
    }
}

/// An edge between two of the nodes [`node`] makes.
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

/// A view of nodes 0 to `nodes`, whose indexes are their numbers, and links `(a, b, strength)`.
pub fn view(nodes: u64, links: &[(u64, u64, f64)]) -> View {
    let mut view = View::new();
    let mut deltas: Vec<Delta> = (0..nodes).map(|number| Delta::Node(Arc::new(node(number)))).collect();
    deltas.extend(links.iter().map(|&(a, b, strength)| Delta::Edge(edge(a, b, EdgeKind::Link, strength))));
    view.apply(1, &deltas);
    view
}
