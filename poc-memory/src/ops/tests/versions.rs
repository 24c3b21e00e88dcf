//! Changes that depend on the version of a note.

use super::*;
use poc_graph::error::Code;
use serde_json::json;

fn asked(memory: &TestMemory, op: &str, request: Value) -> Result<Value> {
    let ctx = Ctx { memory, host: &Nobody, actor: Principal::Person, may_write: true, progress: &|_| {} };
    find(op).unwrap().run(&ctx, request)
}

/// Checks that a request is a conflict with this version, and writes nothing.
fn conflict(memory: &TestMemory, op: &str, request: Value, version: u32) {
    let seq = memory.store.view().seq;
    let error = asked(memory, op, request).unwrap_err();
    let at = error.at.clone().unwrap();
    assert_eq!(
        (error.code, at.version, at.field.as_deref()),
        (Code::Conflict, Some(version), Some("if_version"))
    );
    assert!(error.hint.is_some() && memory.store.view().seq == seq);
}

#[test]
fn an_update_depends_on_the_version() {
    let memory = filled();
    let update = |version: u32, body: &str| json!({"key": "btree", "update": true, "if_version": version, "body": body});
    assert_eq!(json(&memory, "get btree")["version"], 1);
    conflict(&memory, "insert", update(2, "x"), 1);
    conflict(&memory, "insert", update(0, "x"), 1);
    let updated = asked(&memory, "insert", update(1, "Second text")).unwrap();
    assert_eq!((&updated["updated"], &updated["version"]), (&json!(true), &json!(2)));
    conflict(&memory, "insert", update(1, "Third text"), 2);
    // The same text is not a change.
    let same = asked(&memory, "insert", update(2, "Second text")).unwrap();
    assert_eq!((&same["duplicate"], &same["version"]), (&json!(true), &json!(2)));
    // One note must not exist yet, and another one must exist.
    let absent = |version: u32| json!({"key": "new", "update": true, "if_version": version, "title": "New"});
    conflict(&memory, "insert", absent(3), 0);
    assert_eq!(asked(&memory, "insert", absent(0)).unwrap()["version"], 1);
    conflict(&memory, "insert", absent(0), 1);
    let exists = asked(&memory, "insert", absent(0)).unwrap_err().message;
    assert_eq!(
        exists,
        "`new` already exists and has version 1, but the request expects that it does not exist"
    );
    // In a batch, the version of each note is checked separately.
    let answer = asked(
        &memory,
        "insert",
        json!({"notes": [update(1, "Late"), {"key": "btree", "update": true, "if_version": 2, "body": "In time"}]}),
    )
    .unwrap();
    assert_eq!(
        (&answer["notes"][0]["error"]["code"], &answer["notes"][1]["version"]),
        (&json!("conflict"), &json!(3))
    );
    assert_eq!(answer["notes"][0]["error"]["at"]["version"], 2);
    for wrong in
        [json!({"key": "btree", "if_version": 1, "body": "x"}), json!({"title": "x", "if_version": 1})]
    {
        assert_eq!(asked(&memory, "insert", wrong).unwrap_err().code, Code::InvalidArgument);
    }
}

/// The condition of the header `If-Match: *`.
#[test]
fn a_note_that_must_exist_does_not_need_a_version() {
    let memory = filled();
    let refused = |update: bool| {
        let request = json!({"key": "new", "update": update, "must_exist": true, "title": "New"});
        let error = asked(&memory, "insert", request).unwrap_err();
        assert!(!error.line().contains("if_version"), "{error}");
        let at = error.at.unwrap();
        (error.code, at.version, at.field)
    };
    assert_eq!(refused(false), (Code::InvalidArgument, None, Some("update".into())));
    assert_eq!(refused(true), (Code::Conflict, Some(0), Some("key".into())));
}

#[test]
fn other_changes_depend_on_the_version() {
    let memory = filled();
    json(&memory, "insert --key btree --update --body 'Second text'");
    let requests = [
        ("weight", json!({"node": "btree", "value": "2"})),
        ("rename", json!({"node": "btree", "key": "b-tree"})),
        ("supersede", json!({"old": "b-tree", "new": "journal"})),
        ("delete", json!({"node": "b-tree"})),
    ];
    for (op, request) in requests {
        let with = |version: u32| {
            let mut request = request.clone();
            request["if_version"] = version.into();
            request
        };
        // Superseding a note creates a new version of it.
        let now = if op == "delete" { 3 } else { 2 };
        conflict(&memory, op, with(now - 1), now);
        asked(&memory, op, with(now)).unwrap_or_else(|error| panic!("{op}: {error}"));
    }
}

/// REST sends it as the `ETag`.
#[test]
fn the_version_of_an_answer_is_that_of_its_only_note_now() {
    let memory = filled();
    let version = |op: &str, request: Value| {
        let answer = asked(&memory, op, request).unwrap();
        find(op).unwrap().version(&answer)
    };
    assert_eq!(version("get", json!({"node": "btree"})), Some(1));
    assert_eq!(version("insert", json!({"key": "btree", "update": true, "body": "Second text"})), Some(2));
    assert_eq!(version("get", json!({"node": "btree"})), Some(2));
    let past = memory.store.view().seq - 1;
    assert_eq!(version("get", json!({"node": "btree", "at": past.to_string()})), None);
    assert_eq!(version("insert", json!({"notes": [{"title": "One of several"}]})), None);
    assert_eq!(version("list", json!({})), None);
}
