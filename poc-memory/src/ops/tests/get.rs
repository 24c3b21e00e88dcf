//! Tests of the op `get`.

use super::*;
use poc_graph::testing::{edge, node};
use poc_graph::{Edge, EdgeKind};
use serde_json::json;

#[test]
fn get_shows_everything_about_a_note() {
    let memory = filled();
    json(&memory, "visit linker journal");
    json(&memory, "insert --update --key journal --author Ann");
    insta::assert_snapshot!(text_output(&memory, "get journal"), @r"
    The journal

    key        journal
    id         ID
    type       episodic, general, active
    keywords   storage
    weight     1.000
    created    2026-11-21 08:00:00Z
    modified   2026-11-21 09:00:00Z, version 2
    provenance manual, trust user
    author     Ann

    Page splits are written to the journal.

    link
      ← 0.80  btree  B-tree splits  (splits are journalled)

    keyword
      → 0.51  btree  B-tree splits  (storage)

    visits
      2026-11-21 09:00:00Z  v1  processed by linker

    history
      2026-11-21 08:00:00Z  v1  created by manual (insert, change 2)
      2026-11-21 09:00:00Z  v2  changed by manual (insert, change 5)
    ");
    insta::assert_snapshot!(text_output(&memory, "get btree --markdown"), @r"
    ---
    schema_version: 1
    id: ID
    key: btree
    title: B-tree splits
    type: semantic
    category: general
    keywords:
    - storage
    provenance: manual
    trust: user
    emotion: 0.0
    created: 2026-11-21T08:00:00.000Z
    modified: 2026-11-21T08:00:00.000Z
    state: active
    origin: local
    version: 1
    weight: 1.0
    touched: 2026-11-21T08:00:00.000Z
    accesses: 0
    replay_interval: 0
    edges:
    - to: ID
      kind: link
      strength: 0.8
      created: 2026-11-21T08:00:00.000Z
      touched: 2026-11-21T08:00:00.000Z
      provenance: manual
      reason: splits are journalled
    ---

    A split writes two pages.
    ");
    insta::assert_snapshot!(text_output(&memory, "history journal"), @r#"
    journal (ID)
      2026-11-21 08:00:00Z  v1  created by manual (insert, change 2)
      2026-11-21 09:00:00Z  v2  changed by manual (insert, change 5)
        author: "" → "Ann"
      2026-11-21 08:00:00Z  link ← `btree` by manual  (splits are journalled)
    "#);
}

#[test]
fn of_the_edges_that_the_memory_makes_itself_only_the_strongest_are_shown() {
    let memory = filled();
    let btree = memory.find("btree").unwrap().id;
    let fill = |tx: &mut poc_store::Transaction<'_>| {
        (1..=8).try_for_each(|number| {
            tx.put_node(&node(number))?;
            [EdgeKind::Link, EdgeKind::CoRetrieval].into_iter().try_for_each(|kind| {
                tx.put_edge(&Edge { src: btree, ..edge(number, number, kind, number as f64 / 10.0) })
            })
        })
    };
    memory.store.transact(memory.cause("manual", "test"), fill).unwrap();
    let keys = |note: &Value, kind: &str| -> Vec<String> {
        let edges = note["edges"][kind].as_array().unwrap().iter();
        edges.map(|edge| edge["key"].as_str().unwrap().to_owned()).collect()
    };
    let note = json(&memory, "get btree");
    assert_eq!(keys(&note, "co_retrieval"), ["n8", "n7", "n6", "n5", "n4"]);
    assert_eq!((keys(&note, "link").len(), keys(&note, "keyword").len()), (9, 1));
    assert_eq!(note["left_out_edges"], json!({"co_retrieval": 3}));
    let shown = text_output(&memory, "get btree");
    let end = "  → 0.40  n4  Title 4\n  3 more edges left out: `--all-edges` shows all\n";
    assert!(shown.contains(end), "{shown}");
    let all = json(&memory, "get btree --all-edges");
    assert_eq!(keys(&all, "co_retrieval"), ["n8", "n7", "n6", "n5", "n4", "n3", "n2", "n1"]);
    assert_eq!((&all["edges"]["link"], &all["left_out_edges"]), (&note["edges"]["link"], &Value::Null));
    assert!(!text_output(&memory, "get btree --all-edges").contains("left out"));
}

#[test]
fn an_expired_note_is_marked_as_expired() {
    let memory = filled();
    json(&memory, "insert -t Fair --expires 2026-11-23");
    assert!(!text_output(&memory, "get fair").contains("past"));
    memory.clock.advance(Span::WEEK);
    let shown = text_output(&memory, "get fair");
    assert!(shown.contains("expires    2026-11-23 00:00:00Z: expired, no search finds"), "{shown}");
    assert_eq!(json(&memory, "get fair")["expired"], true);
    assert!(json(&memory, "get fair --at 2026-11-22")["expired"].is_null());
}

#[test]
fn the_error_for_a_deleted_note_says_how_to_bring_it_back() {
    let memory = filled();
    json(&memory, "insert --key sauna -b 'It opens at six.'");
    let id = json(&memory, "get sauna")["id"].as_str().unwrap().to_owned();
    json(&memory, "delete sauna");
    let seq = memory.store.last_seq();
    let expected = format!(
        "not_found: `node`: `sauna` was deleted in change {seq}\n`poc-memory undo {seq}` brings it back\n"
    );
    for name in ["sauna", &id] {
        assert_eq!(text_output(&memory, &format!("get {name}")).trim_end(), expected.trim_end(), "{name}");
    }
    json(&memory, &format!("undo {seq}"));
    assert_eq!(json(&memory, "get sauna")["id"], id);
    assert!(text_output(&memory, "get swimming").contains("there is no note `swimming`"));
}

#[test]
fn a_note_that_was_deleted_and_restored_has_one_id() {
    let memory = filled();
    let id = json(&memory, "get journal")["id"].as_str().unwrap().to_owned();
    let other = json(&memory, "get btree")["id"].clone();
    json(&memory, "delete journal");
    json(&memory, "undo");
    // Ids begin with the time, so that the first digits of both are the same.
    let digits = id.chars().zip(other.as_str().unwrap().chars()).take_while(|(a, b)| a == b).count() + 1;
    assert_eq!(json(&memory, &format!("get {}", &id[..digits.max(8)]))["key"], "journal");
    json(&memory, "delete journal");
    assert!(text_output(&memory, &format!("get {id}")).starts_with("not_found: "));
    assert!(text_output(&memory, &format!("get {}", &id[..digits.max(8)])).starts_with("not_found: "));
}

#[test]
fn the_error_for_a_title_names_the_note_that_has_it() {
    let memory = filled();
    for line in [
        "get 'B-tree splits'",
        "backlinks 'b-tree SPLITS'",
        "link journal 'B-tree splits'",
        "link 'B-tree splits' journal",
    ] {
        let error = call(&memory, line).err().unwrap();
        assert_eq!(error.code, poc_graph::error::Code::NotFound, "{line}: {error}");
        assert_eq!(error.hint.as_deref(), Some("`btree` has this title"), "{line}");
    }
    let error = call(&memory, "get 'Which port has it?'").err().unwrap();
    assert_eq!(error.hint.as_deref(), Some("`poc-memory search 'Which port has it?'` looks for it"));
}
