//! Random changes of a few nodes.

use super::*;
use poc_graph::Category;
use proptest::prelude::*;

/// One change. Numbers select nodes; the second number of `Node` selects its key.
#[derive(Clone, Debug)]
pub(super) enum Op {
    Node(u64, u64, State, u32),
    Delete(u64),
    Edge(u64, u64, EdgeKind, Option<u8>),
    Activity(u64, u8),
    DeleteActivity(u64),
    Visit(u64, bool, i64),
    Vectors(u64, usize),
}

pub(super) fn op() -> impl Strategy<Value = Op> {
    let state = proptest::sample::select(vec![State::Active, State::Active, State::Stale, State::Superseded]);
    let kind = proptest::sample::select(vec![
        EdgeKind::Link,
        EdgeKind::Link,
        EdgeKind::Semantic,
        EdgeKind::Semantic,
        EdgeKind::Supersedes,
        EdgeKind::CoRetrieval,
    ]);
    prop_oneof![
        4 => (0u64..6, 0u64..7, state, 1u32..5).prop_map(|(a, key, state, v)| Op::Node(a, key, state, v)),
        2 => (0u64..6).prop_map(Op::Delete),
        4 => (0u64..6, 0u64..6, kind, proptest::option::weighted(0.7, 1u8..9))
            .prop_map(|(a, b, kind, strength)| Op::Edge(a, b, kind, strength)),
        2 => (0u64..6, 0u8..9).prop_map(|(a, weight)| Op::Activity(a, weight)),
        1 => (0u64..6).prop_map(Op::DeleteActivity),
        2 => (0u64..6, any::<bool>(), 0i64..9).prop_map(|(a, linker, at)| Op::Visit(a, linker, at)),
        1 => (0u64..6, 0usize..3).prop_map(|(a, passages)| Op::Vectors(a, passages)),
    ]
}

pub(super) fn apply(tx: &mut Transaction<'_>, op: &Op) -> Result<()> {
    apply_for(tx, op, Tenant::default())
}

pub(super) fn apply_for(tx: &mut Transaction<'_>, op: &Op, tenant: Tenant) -> Result<()> {
    match *op {
        Op::Node(number, key, state, version) => tx.put_node(&Node {
            tenant,
            key: format!("k{key}"),
            state,
            version,
            body: "x".repeat(version as usize),
            keywords: vec![format!("w{}", version % 2)],
            category: if key == 0 { Category::Core } else { Category::General },
            expires: (version == 1).then_some(Timestamp(version.into())),
            ..node(number)
        }),
        Op::Delete(number) => tx.delete_node(node(number).id),
        Op::Edge(a, b, kind, strength) => match strength {
            Some(tenths) => tx.put_edge(&edge(a, b, kind, f64::from(tenths) / 10.0)),
            None => tx.delete_edge(node(a).id, kind, node(b).id),
        },
        Op::Activity(number, weight) => {
            tx.put_activity(node(number).id, &Activity::new(Timestamp(5), f64::from(weight)))
        }
        // Undo deletes the record in the same way.
        Op::DeleteActivity(number) => tx.put_raw(Table::Activity, node(number).id.as_bytes(), None),
        Op::Visit(number, linker, at) => {
            let visit = Visit { at: Timestamp(at), outcome: VisitOutcome::Processed, version: 1 };
            tx.put_visit(if linker { "linker" } else { "replay" }, node(number).id, &visit)
        }
        Op::Vectors(number, passages) => {
            let vectors: Vec<Vec<f32>> = (1..=passages).map(|passage| vec![passage as f32, 1.0]).collect();
            tx.put_vectors(node(number).id, EMBEDDER, &vectors)
        }
    }
}
