//! Messages: writing, connecting, exporting and forgetting them.

use super::*;
use crate::export;
use crate::forget;
use crate::import::{ImportOptions, ImportSource, import};
use crate::insert;
use crate::message;
use crate::testing::{TestMemory, draft};
use poc_config::Config;
use poc_graph::EdgeKind;
use poc_graph::error::Code;
use poc_graph::time::Span;
use poc_store::Records as _;
use serde_json::json;

const SIX: &str =
    "One is a split. Two is a journal. Three is a page. Four is a key. Five is a leaf. Six is a root.";

fn message_draft(text: &str, metadata: Map<String, Value>) -> MessageDraft {
    let (provenance, keywords) = ("manual".into(), Vec::new());
    MessageDraft { text: text.into(), metadata, keywords, provenance, trust: Trust::User }
}

fn message(memory: &TestMemory, text: &str) -> WriteReport {
    let metadata = json!({"session": "42"}).as_object().unwrap().clone();
    let draft = message_draft(text, metadata);
    write(memory, draft, memory.cause("manual", "write")).unwrap()
}

fn refused(memory: &TestMemory, text: &str, metadata: Value) -> String {
    let metadata = metadata.as_object().unwrap().clone();
    let draft = message_draft(text, metadata);
    let error = write(memory, draft, memory.cause("manual", "write")).unwrap_err();
    format!("{}: {}", error.code.name(), error.line())
}

/// The structural edges that start at a node: targets and weights.
fn outgoing(memory: &TestMemory, from: NodeId) -> Vec<(NodeId, f64)> {
    let mut outgoing: Vec<(NodeId, f64)> = memory
        .store
        .edges(from)
        .unwrap()
        .into_iter()
        .filter(|edge| edge.src == from && edge.kind == EdgeKind::Structural)
        .map(|edge| (edge.dst, edge.strength))
        .collect();
    outgoing.sort_by_key(|(id, _)| *id);
    outgoing
}

fn node(memory: &TestMemory, id: NodeId) -> Node {
    memory.store.node(id).unwrap().unwrap()
}

#[test]
fn every_chunk_has_the_keywords() {
    let memory = TestMemory::new();
    let draft = MessageDraft { keywords: vec!["Storage ".into()], ..message_draft(SIX, Map::new()) };
    let written = write(&memory, draft, memory.cause("manual", "write")).unwrap();
    assert_eq!(written.nodes.len(), 3);
    for id in written.nodes {
        assert_eq!(node(&memory, id).keywords, ["storage"]);
    }
    let draft = MessageDraft { keywords: vec!["a,b".into()], ..message_draft(SIX, Map::new()) };
    let error = write(&memory, draft, memory.cause("manual", "write")).unwrap_err();
    assert_eq!(error.code, Code::InvalidArgument);
}

#[test]
fn a_message_becomes_overlapping_connected_chunks() {
    let memory = TestMemory::new();
    let written = message(&memory, SIX);
    let [a, b, c] = written.nodes.as_slice() else { panic!("{written:?}") };
    let bodies: Vec<String> = written.nodes.iter().map(|&id| node(&memory, id).body).collect();
    assert_eq!(
        bodies,
        [
            "One is a split. Two is a journal. Three is a page.",
            "Three is a page. Four is a key. Five is a leaf.",
            "Five is a leaf. Six is a root."
        ]
    );
    let first = node(&memory, *a);
    assert_eq!((first.node_type.0.as_str(), first.state, first.version), ("episodic", State::Active, 1));
    assert_eq!(first.source, Some(format!("message:{}#1", written.message)));
    assert_eq!(outgoing(&memory, *a), [(*b, 1.0)]);
    assert_eq!(outgoing(&memory, *b), [(*a, 1.0), (*c, 1.0)]);
    assert_eq!(outgoing(&memory, *c), [(*b, 1.0)]);
    assert_eq!(written.edges, 4);
    assert!(written.nodes.iter().all(|&id| !memory.vectors.of(id).is_empty()));

    let origin =
        message::origin_with_text(&memory.store, *b, node(&memory, *b).source.as_deref()).unwrap().unwrap();
    assert_eq!((origin.id, origin.chunk, origin.chunks), (written.message, 2, 3));
    assert_eq!((origin.text.as_deref(), origin.metadata["session"].as_str()), (Some(SIX), Some("42")));
    // A note that claims to be a chunk is not one.
    let other = memory.insert(insert_with_source(&first)).unwrap();
    assert_eq!(message::origin(&memory.store, other.id, first.source.as_deref()).unwrap(), None);
}

fn insert_with_source(chunk: &Node) -> crate::Draft {
    crate::Draft { source: chunk.source.clone(), ..draft("Quite another text") }
}

#[test]
fn writing_a_message_twice_stores_two_messages() {
    let memory = TestMemory::new();
    let (one, two) = (
        message(&memory, "A split. A split. A split. A split."),
        message(&memory, "A split. A split. A split. A split."),
    );
    assert_ne!(one.message, two.message);
    let nodes: Vec<Node> = one.nodes.iter().chain(&two.nodes).map(|&id| node(&memory, id)).collect();
    assert_eq!(nodes.len(), 4);
    for (at, a) in nodes.iter().enumerate() {
        for b in &nodes[at + 1..] {
            assert!(a.key != b.key && a.content_hash != b.content_hash && a.id != b.id);
        }
    }
    // A note with the same text is a separate note and stays when the messages are deleted.
    let note =
        memory.insert(crate::Draft { title: Some(nodes[1].title.clone()), ..draft(&nodes[1].body) }).unwrap();
    assert!(!note.duplicate);
    for id in [one.message, two.message] {
        forget::message(&memory, id, None, memory.cause("manual", "forget")).unwrap();
    }
    assert_eq!(memory.store.view().node_count(), 1);
    assert!(memory.store.node(note.id).unwrap().is_some());
}

#[test]
fn the_first_chunk_gets_edges_to_notes_written_just_before() {
    let memory = TestMemory::new();
    let old = message(&memory, SIX);
    memory.clock.advance(Span::MINUTE);
    let note = memory.note("note", "A note is not a message.");
    let retired = message(&memory, "This will be replaced.");
    insert::insert(
        &memory,
        crate::Draft { supersedes: Some(retired.nodes[0]), ..draft("It was replaced.") },
        memory.cause("manual", "insert"),
    )
    .unwrap();
    // Exactly five minutes after the first.
    memory.clock.advance(Span(4 * Span::MINUTE.0));
    let new = message(&memory, SIX);
    let mut expected: Vec<(NodeId, f64)> = old.nodes.iter().map(|&id| (id, 0.3)).collect();
    expected.push((new.nodes[1], 1.0));
    assert_eq!(outgoing(&memory, new.nodes[0]), expected);
    assert!(!outgoing(&memory, new.nodes[0]).iter().any(|(id, _)| *id == note));
    assert_eq!(
        outgoing(&memory, old.nodes[0]),
        [(old.nodes[1], 1.0)],
        "these edges lead only to earlier notes"
    );

    memory.clock.advance(Span(5 * Span::MINUTE.0 + 1));
    assert_eq!(message(&memory, "Later.").edges, 0);
    // At most sixteen, the newest.
    let many: Vec<WriteReport> =
        (0..20).map(|number| message(&memory, &format!("Number {number} was said."))).collect();
    let last = message(&memory, "The last of them.");
    let mut newest: Vec<(NodeId, f64)> = many[4..].iter().map(|written| (written.nodes[0], 0.3)).collect();
    newest.sort_by_key(|(id, _)| *id);
    assert_eq!(outgoing(&memory, last.nodes[0]), newest);
}

#[test]
fn recent_messages_are_found_with_any_time_window() {
    for within in ["0s", "1s", "5m", "3w", "5000w"] {
        let mut config = Config::defaults().unwrap();
        config.write.temporal_within = Span::parse(within).unwrap();
        let memory = TestMemory::with(config.clone());
        let span = config.write.temporal_within;
        let first = message(&memory, "The first of them.");
        memory.clock.advance(span);
        let second = message(&memory, "The second of them.");
        assert_eq!(outgoing(&memory, second.nodes[0]), [(first.nodes[0], 0.3)], "{within}");
        memory.clock.advance(Span(span.0 + 1));
        assert_eq!(message(&memory, "The third of them.").edges, 0, "{within}");
    }
}

#[test]
fn an_invalid_message_is_refused_without_changes() {
    let mut config = Config::defaults().unwrap();
    (config.write.max_message_bytes, config.write.max_metadata_bytes) = (100, 30);
    let memory = TestMemory::with(config);
    let reported = [
        refused(&memory, " \n", json!({})),
        refused(&memory, "", json!({})),
        refused(&memory, &"x ".repeat(51), json!({})),
        refused(&memory, "x", json!({"key": "a value that is quite long"})),
    ];
    insta::assert_snapshot!(reported.join("\n"), @r"
    invalid_argument: `text`: the message is blank; give a text
    invalid_argument: `text`: the message is blank; give a text
    invalid_argument: `text`: the message has 102 bytes, more than the maximum of 100; split it into several
    invalid_argument: `metadata`: the metadata has 36 bytes as JSON, more than the maximum of 30; move long values into the message
    ");
    assert_eq!(memory.store.view().seq, 0);
}

#[test]
fn a_message_with_too_many_chunks_or_too_long_a_sentence_is_refused() {
    let mut config = Config::defaults().unwrap();
    (config.write.max_chunks, config.insert.max_node_bytes) = (3, 120);
    let memory = TestMemory::with(config);
    assert_eq!(message(&memory, SIX).nodes.len(), 3);
    let seq = memory.store.view().seq;
    let reported = [
        refused(&memory, &format!("{SIX} Seven is a lock. Eight is a log."), json!({})),
        refused(&memory, &format!("Short. {}.", "and so on ".repeat(20).trim()), json!({})),
    ];
    insta::assert_snapshot!(reported.join("\n"), @r"
    invalid_argument: `text`: the message has 4 chunks of a few sentences, more than the maximum of 3; split it into several
    invalid_argument: `text`: chunk 1 of the message: the note has 286 bytes of text, more than the maximum of 120; use shorter sentences: a chunk contains a few complete sentences
    ");
    assert_eq!(memory.store.view().seq, seq);
}

#[test]
fn a_message_is_exported_even_if_its_first_chunk_was_deleted() {
    let memory = TestMemory::new();
    let written = message(&memory, SIX);
    let first = node(&memory, written.nodes[0]);
    let moved = crate::Draft {
        key: Some(first.key.clone()),
        source: Some("a book".into()),
        update: true,
        ..draft(&first.body)
    };
    memory.insert(moved).unwrap();
    let mut out = Vec::new();
    export::json_lines(&memory, &mut out, &|_, _| {}).unwrap();
    let copy = TestMemory::new();
    let source = ImportSource::Text(String::from_utf8(out).unwrap());
    let report = import(&copy, &source, &ImportOptions::default(), &|_, _| {}).unwrap();
    assert_eq!((report.inserted, report.failed.len()), (3, 0), "{report:?}");
    let record = |memory: &TestMemory| memory.store.message(written.message).unwrap();
    assert_eq!(record(&copy), record(&memory));
    assert!(record(&copy).is_some());
}

#[test]
fn forgetting_a_message_deletes_all_its_chunks() {
    let memory = TestMemory::new();
    let one = message(&memory, SIX);
    let two = message(&memory, SIX);
    let cause = || memory.cause("manual", "forget");
    let forgotten = forget::message(&memory, one.message, None, cause()).unwrap();
    // Four edges of its own and three from the other message.
    assert_eq!((forgotten.messages, forgotten.nodes, forgotten.edges), (1, 3, 7));
    assert!(forgotten.vectors >= 3);
    assert!(
        one.nodes
            .iter()
            .all(|&id| memory.store.node(id).unwrap().is_none() && memory.vectors.of(id).is_empty())
    );
    assert_eq!(memory.store.edges(two.nodes[0]).unwrap().len(), 2);
    let error = forget::message(&memory, one.message, None, cause()).unwrap_err();
    assert_eq!((error.code, error.at.unwrap().field.as_deref()), (Code::NotFound, Some("message_id")));
    // A chunk that was deleted before is not a problem.
    memory.store.transact(cause(), |tx| tx.delete_node(two.nodes[1])).unwrap();
    assert_eq!(forget::message(&memory, two.message, None, cause()).unwrap().nodes, 2);
    assert_eq!(memory.store.view().node_count(), 0);
}

#[test]
fn only_messages_before_an_instant_are_forgotten() {
    let memory = TestMemory::new();
    for number in 0..40 {
        message(&memory, &format!("{SIX} Number {number}."));
    }
    memory.clock.advance(Span::HOUR);
    let edge = message(&memory, SIX);
    let seq = memory.store.view().seq;
    let reported = std::cell::Cell::new((0, 0));
    let before = |at| {
        forget::before(&memory, at, None, &memory.cause("manual", "forget"), &|done, of| {
            reported.set((done, of))
        })
    };
    let forgotten = before(memory.now()).unwrap();
    assert_eq!((forgotten.messages, forgotten.nodes, reported.get()), (40, 120, (40, 40)));
    assert!(memory.store.view().seq > seq + 1, "not all in one transaction");
    assert_eq!(memory.store.view().node_count(), 3);
    assert_eq!(before(memory.now()).unwrap(), forget::ForgetReport::default());
    assert_eq!(before(memory.now().plus(Span(1))).unwrap().messages, 1);
    assert!(memory.store.node(edge.nodes[0]).unwrap().is_none());
}

#[test]
fn an_export_contains_messages() {
    let memory = TestMemory::new();
    let one = message(&memory, SIX);
    message(&memory, "The same. The same. The same. The same.");
    message(&memory, "The same. The same. The same. The same.");
    // The first chunk is deleted: the message is exported with the next one.
    memory.store.transact(memory.cause("manual", "delete"), |tx| tx.delete_node(one.nodes[0])).unwrap();
    let exported = |memory: &TestMemory| {
        let mut out = Vec::new();
        export::json_lines(memory, &mut out, &|_, _| {}).unwrap();
        String::from_utf8(out).unwrap()
    };
    let folder = memory.folder().join("out");
    export::folder(&memory, &folder, &|_, _| {}).unwrap();
    for source in [ImportSource::Text(exported(&memory)), ImportSource::Path(folder)] {
        let copy = TestMemory::new();
        let report = import(&copy, &source, &ImportOptions::default(), &|_, _| {}).unwrap();
        assert_eq!((report.inserted, report.failed.len()), (6, 0), "{report:?}");
        assert_eq!(exported(&copy), exported(&memory));
        let again = import(&copy, &source, &ImportOptions::default(), &|_, _| {}).unwrap();
        assert_eq!((again.inserted, again.duplicates), (0, 6));
        assert_eq!(
            forget::message(&copy, one.message, None, copy.cause("manual", "forget")).unwrap().nodes,
            2
        );
    }
    let lines = exported(&memory).replace(&format!("message:{}", one.message), "somewhere");
    let report =
        import(&TestMemory::new(), &ImportSource::Text(lines), &ImportOptions::default(), &|_, _| {})
            .unwrap();
    // With the note, the edges that lead to it are deleted.
    let reported =
        |what: &str| report.failed.iter().filter(|(_, error)| error.message.contains(what)).count();
    assert_eq!((reported("not a chunk of its message"), reported("which does not exist")), (1, 3));
}
