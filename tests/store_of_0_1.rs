//! A store that release 0.1 wrote can be opened and gives the same answers.
//!
//! `tests/fixtures/store-0.1` holds the log of a store, the record of its embedder, and what release 0.1
//! printed for it: imports, messages, links, weights, runs of three agents, an undone run, a deleted and a
//! superseded note, and a second tenant.

use crate::support::World;
use serde_json::Value;
use std::path::{Path, PathBuf};

fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/store-0.1")
}

/// What release 0.1 printed, from a file of the fixture.
fn expected(name: &str) -> String {
    std::fs::read_to_string(fixture().join(name)).unwrap()
}

/// A home with the log and the record of the embedder. Everything else is derived from them.
pub(crate) fn opened() -> World {
    let world = World::with_configured_embedder();
    let store = world.home().join("store");
    std::fs::create_dir_all(store.join("log")).unwrap();
    let log = "00000000000000000001.log";
    std::fs::copy(fixture().join(log), store.join("log").join(log)).unwrap();
    std::fs::copy(fixture().join("embedder.json"), store.join("embedder.json")).unwrap();
    world
}

#[track_caller]
fn assert_printed(world: &World, arguments: &[&str], expected: &str) {
    let ran = world.run(arguments);
    assert_eq!(ran.status, 0, "{arguments:?}: {}", ran.stderr);
    assert!(ran.stdout == expected, "{arguments:?} printed\n{}\ninstead of\n{expected}", ran.stdout);
}

#[test]
fn exports_of_both_tenants_are_byte_equal() {
    let world = opened();
    assert_printed(&world, &["export"], &expected("export.jsonl"));
    assert_printed(&world, &["--tenant", "team=blue", "export"], &expected("export-team-blue.jsonl"));
}

#[test]
fn changes_runs_and_history_are_those_of_the_release() {
    let world = opened();
    for (arguments, name) in [
        (&["changes"][..], "changes.json"),
        (&["agent", "history"], "agent-history.json"),
        (&["history", "lunch"], "history-lunch.json"),
    ] {
        let mut expected: Value = serde_json::from_str(&expected(name)).unwrap();
        let mut found = world.json(arguments);
        for answer in [&mut expected, &mut found] {
            let answer = answer.as_object_mut().unwrap();
            // The instant of the answer itself.
            answer.remove("as_of");
            // The word vectors of the release are no longer built in, and answers say so.
            answer.remove("degraded");
        }
        leave_out_recalls(&mut expected);
        name_deleted_notes(&mut expected, &found);
        assert!(has_all(&found, &expected), "{arguments:?}: {found:#} has not all of {expected:#}");
    }
}

/// Removes what `recall` learned from the changes of the release, which listed it.
fn leave_out_recalls(expected: &mut Value) {
    let Some(changes) = expected.get_mut("changes").and_then(Value::as_array_mut) else { return };
    changes.retain(|change| change["op"] != "recall");
}

/// Replaces the ids of notes in the changes of the release, which named deleted notes by their ids, with the keys that
/// are listed instead of them.
fn name_deleted_notes(expected: &mut Value, found: &Value) {
    let is_id = |text: &str| text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let Some(changes) = expected.get_mut("changes").and_then(Value::as_array_mut) else { return };
    for (expected, found) in changes.iter_mut().zip(found["changes"].as_array().unwrap()) {
        let Some(notes) = expected.get_mut("nodes").and_then(Value::as_array_mut) else { continue };
        for (note, key) in notes.iter_mut().zip(found["nodes"].as_array().unwrap()) {
            if note.as_str().is_some_and(is_id) && !key.as_str().is_some_and(is_id) {
                *note = key.clone();
            }
        }
    }
}

/// Whether an answer has all that was expected. Later releases may add fields.
fn has_all(found: &Value, expected: &Value) -> bool {
    match (found, expected) {
        (Value::Object(found), Value::Object(expected)) => expected
            .iter()
            .all(|(name, expected)| found.get(name).is_some_and(|found| has_all(found, expected))),
        (Value::Array(found), Value::Array(expected)) => {
            found.len() == expected.len()
                && found.iter().zip(expected).all(|(found, expected)| has_all(found, expected))
        }
        _ => found == expected,
    }
}

#[test]
fn notes_are_found_and_can_be_changed() {
    let world = opened();
    let found = world.json(&["search", "journal", "crash"]);
    assert!(found["results"].as_array().unwrap().iter().any(|note| note["key"] == "journal"), "{found}");
    // The built-in word vectors are others now: until a migration, notes are found by words.
    let migrated = world.json(&["embed", "migrate"]);
    assert_eq!(migrated["from"], "static-256-61762e12");
    assert_ne!(migrated["to"], migrated["from"]);
    let near = world.json(&["retrieve", "salvaged archive"]);
    assert!(!near["results"].as_array().unwrap().is_empty(), "no note has these words, but vectors");
    let inserted = world.json(&["insert", "--title", "Soup", "--body", "Lentils again."]);
    assert_eq!(inserted["key"], "soup");
    assert_eq!(world.json(&["get", "soup"])["title"], "Soup");
}
