//! Imports of what this program has exported.

use super::*;
use crate::testing::draft;
use poc_config::Config;
use poc_graph::time::{Span, Timestamp};
use poc_graph::{Activity, Edge, State, Trust, Visit, VisitOutcome, content_hash};
use proptest::prelude::*;
use std::path::PathBuf;

#[derive(Clone, Debug)]
struct GeneratedMemory {
    nodes: Vec<(Node, Activity)>,
    edges: Vec<(usize, usize, EdgeKind, f64, String)>,
    visits: Vec<(usize, String, Visit)>,
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z ]{0,20}",
        "\\PC{0,30}",
        Just("---\nkey: x\n---\n".to_owned()),
        Just("  indented\n\n[[link]] `x`\n\n".to_owned()),
        Just("null".to_owned()),
        Just("0x10: [a, \"b\n\u{85}\u{2028}c".to_owned()),
    ]
}

fn made() -> impl Strategy<Value = GeneratedMemory> {
    let node = (
        (text(), text(), "[a-z/.#: ]{0,8}", prop::option::of(text()), prop::option::of(text())),
        (0usize..5, 0usize..5, 0usize..4, 0usize..3, prop::collection::btree_set("[a-zé:-]{1,6}", 0..3)),
        (
            0.0f32..10.0,
            0i64..4_000_000_000_000,
            0i64..4_000_000_000_000,
            prop::option::of(0i64..4_000_000_000_000),
            1u32..9,
        ),
        (0.01f64..100.0, any::<u32>(), 0u16..30, prop::option::of(0i64..4_000_000_000_000)),
    );
    (
        prop::collection::vec(node, 1..6),
        prop::collection::vec((0usize..6, 0usize..6, 0usize..8, 0.0f64..1.0, text()), 0..8),
        prop::collection::vec((0usize..6, "[a-z-]{1,8}", 0i64..4_000_000_000_000, 0usize..3, 0u32..9), 0..5),
    )
        .prop_map(|(nodes, edges, visits)| {
            let count = nodes.len();
            let mut nodes: Vec<(Node, Activity)> = nodes
                .into_iter()
                .enumerate()
                .map(|(number, (texts, kinds, times, learned))| {
                    let (title, body, key, author, source) = texts;
                    let mut node = poc_graph::testing::node(number as u64 * 7919 % 31);
                    node.title =
                        format!("T{number} {}", title.split_whitespace().collect::<Vec<_>>().join(" "));
                    node.body = body;
                    node.key = format!("{number}{}", key.trim_end());
                    node.keywords = kinds.4.into_iter().collect();
                    (node.author, node.source) = (author, source);
                    node.node_type.0 = poc_graph::NodeType::BUILT_IN[kinds.0].into();
                    node.category = poc_graph::Category::ALL[kinds.1];
                    node.state = State::ALL[kinds.2];
                    node.origin = poc_graph::Origin::ALL[kinds.3];
                    node.trust = Trust::ALL[kinds.1];
                    node.emotion = times.0;
                    node.created = Timestamp(times.1);
                    node.modified = Timestamp(times.2);
                    node.expires = times.3.map(Timestamp);
                    node.version = times.4;
                    node.content_hash = content_hash(&node.title, &node.body, &node.keywords);
                    let activity = Activity {
                        weight: learned.0,
                        touched: Timestamp(times.2),
                        accesses: u64::from(learned.1),
                        replay_interval: learned.2,
                        replayed: learned.3.map(Timestamp),
                        judged: None,
                    };
                    (node, activity)
                })
                .collect();
            let edges: Vec<_> = edges
                .into_iter()
                .map(|(src, dst, kind, strength, reason)| {
                    (src % count, dst % count, EdgeKind::ALL[kind], strength, reason)
                })
                .filter(|(src, dst, ..)| src != dst)
                .collect();
            for (_, replaced, ..) in edges.iter().filter(|(_, _, kind, ..)| *kind == EdgeKind::Supersedes) {
                let (node, _) = &mut nodes[*replaced];
                if node.state.is_live() {
                    node.state = State::Superseded;
                }
            }
            let visits = visits
                .into_iter()
                .map(|(node, agent, at, outcome, version)| {
                    let visit = Visit { at: Timestamp(at), outcome: VisitOutcome::ALL[outcome], version };
                    (node % count, agent, visit)
                })
                .collect();
            GeneratedMemory { nodes, edges, visits }
        })
}

fn build(memory: &TestMemory, made: &GeneratedMemory) {
    memory
        .store
        .transact(memory.cause("manual", "test"), |tx| {
            for (node, activity) in &made.nodes {
                tx.put_node(node)?;
                tx.put_activity(node.id, activity)?;
            }
            for (src, dst, kind, strength, reason) in &made.edges {
                tx.put_edge(&Edge {
                    src: made.nodes[*src].0.id,
                    dst: made.nodes[*dst].0.id,
                    kind: *kind,
                    strength: *strength,
                    created: Timestamp(5),
                    touched: Timestamp(7),
                    provenance: "agent:x".into(),
                    reason: reason.clone(),
                })?;
            }
            for (node, agent, visit) in &made.visits {
                tx.put_visit(agent, made.nodes[*node].0.id, visit)?;
            }
            Ok(())
        })
        .unwrap();
}

poc_laws::laws! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    /// Export and import is the identity, through JSON Lines and through Markdown.
    #[test]
    fn an_export_survives_a_round_trip(made in made()) {
        let memory = TestMemory::new();
        build(&memory, &made);
        let all = exported(&memory);
        prop_assert_eq!(all.lines().count(), made.nodes.len());

        let by_lines = TestMemory::new();
        let report = lines(&by_lines, &all);
        prop_assert_eq!(failures(&report), "");
        prop_assert_eq!(&exported(&by_lines), &all);
        prop_assert_eq!(counts(&lines(&by_lines, &all)), [0, 0, made.nodes.len() as u64, 0]);

        let folder: PathBuf = memory.folder().join("out");
        export::folder(&memory, &folder, &|_, _| {}).unwrap();
        let by_folder = TestMemory::new();
        let report = take(&by_folder, ImportSource::Path(folder));
        prop_assert_eq!(failures(&report), "");
        prop_assert_eq!(&exported(&by_folder), &all);
    }
}

#[test]
fn imported_weights_are_clamped() {
    let memory = TestMemory::new();
    let made = GeneratedMemory {
        nodes: [(1, 5.0), (2, 1.0)]
            .map(|(number, weight)| (poc_graph::testing::node(number), Activity::new(Timestamp(5), weight)))
            .to_vec(),
        edges: vec![
            (0, 1, EdgeKind::CoRetrieval, 7.0, String::new()),
            (0, 1, EdgeKind::Link, 0.5, String::new()),
        ],
        visits: Vec::new(),
    };
    build(&memory, &made);
    let all = exported(&memory);
    let mut config = Config::defaults().unwrap();
    (config.weight.floor, config.weight.cap, config.edges.cap) = (2.0, 3.0, 4.0);
    let copy = TestMemory::with(config);
    assert_eq!(failures(&lines(&copy, &all)), "");
    let [one, two] = [0, 1].map(|at| made.nodes[at].0.id);
    let weight = |id| copy.store.activity(id).unwrap().unwrap().weight;
    assert_eq!((weight(one), weight(two)), (3.0, 2.0));
    let strength = |kind| copy.store.edge(one, kind, two).unwrap().unwrap().strength;
    assert_eq!((strength(EdgeKind::CoRetrieval), strength(EdgeKind::Link)), (4.0, 0.5));
}

#[test]
fn notes_made_by_every_op_survive_an_export_and_import() {
    let memory = TestMemory::new();
    let old = memory.note("old", "The journal is written before the pages of the B-tree");
    memory
        .insert(Draft {
            supersedes: Some(old),
            ..draft("The journal is written after the pages of the B-tree")
        })
        .unwrap();
    memory.note("other", "The journal is written before the leaves of the B-tree");
    let all = exported(&memory);
    assert!(all.contains("\"semantic\"") && all.contains("\"supersedes\""), "{all}");
    let copy = TestMemory::new();
    lines(&copy, &all);
    assert_eq!(exported(&copy), all);
    assert_eq!(copy.store.find_key("old").unwrap(), Some(old));
    // Its vectors are computed again, too.
    let view = copy.store.view();
    for ix in (0..view.slots()).filter(|&ix| view.is_live(ix)) {
        assert!(!copy.vectors.of(view.id(ix).unwrap()).is_empty());
    }
}

#[test]
fn an_edited_export_is_a_new_version_unless_the_note_changed_too() {
    let memory = TestMemory::new();
    memory.note("a", "one");
    let export = exported(&memory);
    let edited = export.replace("\"body\":\"one\"", "\"body\":\"two\"");
    assert_eq!(counts(&lines(&memory, &edited)), [0, 1, 0, 0]);
    assert_eq!((find(&memory, "a").body.as_str(), find(&memory, "a").version), ("two", 2));
    let stale = lines(&memory, &export.replace("\"body\":\"one\"", "\"body\":\"three\""));
    insta::assert_snapshot!(failures(&stale), @"line 1: `a` has version 2 here and version 1 in the import, and they differ (it was changed since it was exported; export it again)");
    assert_eq!(find(&memory, "a").body, "two");
}

#[test]
fn a_note_that_was_replaced_in_an_export_is_retired_even_if_it_has_changed_here() {
    let (from, to) = (TestMemory::new(), TestMemory::new());
    let old = from.note("old", "The key is under the mat.");
    lines(&to, &exported(&from));
    lines(&to, &exported(&to).replace("under the mat", "in the shed"));
    lines(&to, &exported(&to).replace("in the shed", "in the garage"));
    from.insert(Draft { supersedes: Some(old), ..draft("The key is with Ben.") }).unwrap();
    let report = lines(&to, &exported(&from));
    assert!(failures(&report).contains("`old` has version 3 here and version 2 in the import"));
    let node = to.store.node(old).unwrap().unwrap();
    assert_eq!((node.state, node.version), (State::Superseded, 4));
    assert_eq!(node.body, "The key is in the garage.");
}

#[test]
fn an_export_from_before_a_sync_changes_nothing() {
    let memory = TestMemory::new();
    memory.note("a", "one");
    let export = exported(&memory);
    let pushed = Node { origin: poc_graph::Origin::Pushed, ..find(&memory, "a") };
    memory.store.transact(memory.cause("remote:work", "remote_sync"), |tx| tx.put_node(&pushed)).unwrap();
    assert_eq!(counts(&lines(&memory, &export)), [0, 0, 1, 0]);
    assert_eq!(find(&memory, "a"), pushed);
}

#[test]
fn an_export_without_other_names_keeps_those_that_the_note_has() {
    let memory = TestMemory::new();
    let named = Draft { other_names: Some(vec!["Zebra Plan".into()]), ..draft("What comes first.") };
    let id = memory.insert(named).unwrap().id;
    let export = exported(&memory);
    let old = export.replace("\"other_names\":[\"Zebra Plan\"],", "");
    assert_ne!(old, export);
    assert_eq!(counts(&lines(&memory, &old)), [0, 0, 1, 0]);
    assert_eq!(counts(&lines(&memory, &old.replace("comes first", "comes next"))), [0, 1, 0, 0]);
    let node = memory.store.node(id).unwrap().unwrap();
    assert_eq!((node.body.as_str(), node.other_names), ("What comes next.", vec!["Zebra Plan".to_owned()]));
}

#[test]
fn an_exported_note_with_the_text_of_another_one_is_reported_with_the_key_of_that_one() {
    let elsewhere = TestMemory::apart(8, poc_config::Config::defaults().unwrap());
    elsewhere.note("b", "The same text.");
    let memory = TestMemory::new();
    memory.note("a", "The same text.");
    let report = lines(&memory, &exported(&elsewhere));
    assert_eq!(counts(&report), [0, 0, 1, 0]);
    assert_eq!(report.same_content, [(SourceLocation::Line(1), "a".to_owned())]);
}

#[test]
fn an_existing_note_with_another_id_gets_the_edges() {
    let (from, to) = (TestMemory::new(), TestMemory::new());
    let (a, b) = (from.note("a", "the same text"), from.note("b", "another text"));
    let edge = |src, dst| Edge {
        src,
        dst,
        kind: EdgeKind::Link,
        strength: 0.5,
        created: from.now(),
        touched: from.now(),
        provenance: "manual".into(),
        reason: String::new(),
    };
    from.store.transact(from.cause("manual", "test"), |tx| tx.put_edge(&edge(b, a))).unwrap();
    to.clock.advance(Span::DAY);
    to.note("here", "the same text");
    let report = lines(&to, &exported(&from));
    assert_eq!((counts(&report), failures(&report)), ([1, 0, 1, 2], String::new()));
    assert_eq!(links(&to, "b"), ["here"]);
}
