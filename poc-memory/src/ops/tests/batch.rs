//! Many notes in one call.

use super::*;
use serde_json::json;

fn insert(memory: &TestMemory, request: Value) -> Result<Value> {
    let ctx = Ctx { memory, host: &Nobody, actor: Principal::Person, may_write: true, progress: &|_| {} };
    find("insert").unwrap().run(&ctx, request)
}

fn many(count: usize) -> Value {
    let note =
        |number: usize| json!({"title": format!("Note {number}"), "body": format!("About number {number}")});
    json!({"notes": (0..count).map(note).collect::<Vec<_>>()})
}

#[test]
fn a_batch_reports_the_outcome_of_each_note() {
    let memory = filled();
    let page = json!({"title": "A page", "body": "A page of the B-tree.", "keywords": ["storage"]});
    let answer = insert(
        &memory,
        json!({"notes": [
            page,
            {"title": "x", "key": "btree"},
            page,
            {"title": "y", "type": "semantics"},
            {"key": "journal", "update": true, "author": "Ann"},
            {"title": "New page", "body": "It replaces the other.", "supersedes": "nothing-like-it"},
            {"title": "Splits", "body": "A split writes two pages.", "supersedes": "btree"},
        ]}),
    )
    .unwrap();
    let notes = answer["notes"].as_array().unwrap();
    let keys: Vec<&str> = notes.iter().filter_map(|note| note["key"].as_str()).collect();
    assert_eq!(keys, ["a-page", "a-page", "journal", "splits"]);
    assert_eq!((&notes[0]["duplicate"], &notes[2]["duplicate"]), (&json!(false), &json!(true)));
    assert_eq!(notes[0]["id"], notes[2]["id"]);
    assert!(notes[0]["keyword_edges"].as_u64() > Some(0));
    assert_eq!(notes[4]["updated"], json!(true));
    let wrong = |at: usize| (notes[at]["error"]["code"].clone(), notes[at]["error"]["at"]["field"].clone());
    assert_eq!(wrong(1), (json!("conflict"), json!("notes[1].key")));
    assert_eq!(wrong(3), (json!("invalid_argument"), json!("notes[3].type")));
    assert_eq!(wrong(5), (json!("not_found"), json!("notes[5].supersedes")));
    let op = find("insert").unwrap();
    assert_eq!((op.decode)(&answer).unwrap().exit(), Exit::Failed);
    insta::assert_snapshot!((op.decode)(&answer).unwrap().show(&Terminal::default()).to_string(), @r"
    2 inserted, 1 updated, 1 duplicate, 3 failed, 1 edge
    failed note 2: the key `btree` is taken; give `update` to store it as a new version, `supersedes` with `btree` to retire the old note, or another key to keep both
    failed note 4: unknown type `semantics`; did you mean `semantic`?
    failed note 6: there is no note `nothing-like-it`; `poc-memory search nothing-like-it` looks for it
    ");
}

#[test]
fn a_chunk_is_one_transaction() {
    let memory = TestMemory::new();
    let before = memory.store.view().seq;
    let chunk = memory.config.import.chunk;
    let answer = insert(&memory, many(2 * chunk + 1)).unwrap();
    assert_eq!(answer["notes"].as_array().unwrap().len(), 2 * chunk + 1);
    assert_eq!((memory.store.view().seq - before, memory.store.view().node_count()), (3, 2 * chunk + 1));
    assert_eq!(answer["seq"], memory.store.view().seq);
    let again = insert(&memory, many(2 * chunk + 1)).unwrap();
    assert!(again["notes"].as_array().unwrap().iter().all(|note| note["duplicate"] == json!(true)));
    assert_eq!(memory.store.view().seq - before, 3, "existing notes are not written again");
    assert_eq!(again.get("seq"), None);
    assert_eq!(insert(&memory, json!({"notes": []})).unwrap(), json!({"notes": []}));
}

#[test]
fn a_batch_equals_single_inserts() {
    let notes = |memory: &TestMemory| {
        let mut lines = poc_graph::testing::contents(&memory.store.view());
        lines.iter_mut().for_each(|line| *line = line.split_once(' ').unwrap().1.to_owned());
        lines.remove(0);
        lines.sort();
        lines
    };
    let (together, alone) = (TestMemory::new(), TestMemory::new());
    let request = many(12);
    insert(&together, request.clone()).unwrap();
    for note in request["notes"].as_array().unwrap() {
        insert(&alone, note.clone()).unwrap();
    }
    let keys = |lines: Vec<String>| -> Vec<String> {
        lines.iter().filter_map(|line| line.split(' ').next().map(str::to_owned)).collect()
    };
    assert_eq!(keys(notes(&together)), keys(notes(&alone)));
    assert_eq!(together.store.view().edges_by_kind(), alone.store.view().edges_by_kind());
}

#[test]
fn an_invalid_batch_is_refused_and_stores_nothing() {
    let memory = TestMemory::new();
    let refused = |request: Value| {
        let error = insert(&memory, request).unwrap_err();
        let field = error.at.as_ref().and_then(|at| at.field.clone()).unwrap_or_default();
        format!("{field}: {}\n{}", error.message, error.hint.unwrap_or_default())
    };
    let good = json!({"title": "good"});
    insta::assert_snapshot!(refused(json!({"title": "one", "notes": [good]})), @r"
    notes: the request has both `notes` and fields of a single note
    move these fields into each item of `notes`
    ");
    insta::assert_snapshot!(refused(json!({"notes": [good, {"notes": [good]}]})), @r"
    notes[1].notes: a note in `notes` has the field `notes` itself
    give all notes in one list
    ");
    insta::assert_snapshot!(refused(many(10_001)), @r"
    notes: 10001 notes are too many for one call
    give at most 10000, or import a file
    ");
    assert!(refused(json!({"notes": [good, {"titel": "x"}]})).starts_with("notes[1].titel: "));
    assert_eq!(memory.store.view().node_count(), 0);
}

#[test]
fn batch_lines_are_read_from_a_file() {
    let memory = TestMemory::new();
    let path = memory.folder().join("notes.jsonl");
    let line = |text: &str| {
        std::fs::write(&path, text).unwrap();
        text_output(&memory, &format!("insert --notes {}", path.display()))
    };
    insta::assert_snapshot!(line("{\"title\": \"One\"}\n\n{\"title\": \"Two\", \"keywords\": [\"a\"]}\n"), @"2 inserted, 0 updated, 0 duplicates, 0 failed, 0 edges");
    let error = line("{\"title\": \"Three\"}\n{\"title\": 7}\n");
    assert!(error.contains("line 2: `title`: ") && error.contains("; nothing was stored"), "{error}");
    for (text, expected) in [
        ("{\"titel\": \"x\"}", "line 1: `titel`: unknown field `titel`; did you mean `title`?"),
        (
            "{\"colour\": 1}",
            "line 1: `colour`: unknown field `colour`; the fields are `body`, `title`, `keywords`, ",
        ),
        ("{\"category\": \"cor\"}", "line 1: `category`: unknown value `cor`; did you mean `core`?"),
        ("\n{\"title\": \"x\",}", "line 2: it is not JSON: trailing comma at column "),
        ("{\"title\": \"x\"} {}", "line 1: it is not JSON: trailing characters at column "),
        ("{\"title\": \"x\", \"title\": \"y\"}", "line 1: the field `title` is given twice; give it once"),
        ("[\"x\"]", "line 1: it is JSON but not an object; write one note per line: "),
    ] {
        let error = line(text);
        assert!(error.contains(expected), "{error}");
        assert!(!error.contains("expected one of") && !error.contains("at line"), "{error}");
    }
    assert_eq!(memory.store.view().node_count(), 2);
}

#[test]
fn the_batch_schema_has_the_fields_of_a_note() {
    let schema = (find("insert").unwrap().request_schema)().to_value();
    let one: Vec<&String> =
        schema["properties"].as_object().unwrap().keys().filter(|name| *name != "notes").collect();
    let text = schema["properties"]["notes"].to_string();
    let note = schema["properties"]["notes"]
        .get("items")
        .or_else(|| schema["properties"]["notes"]["anyOf"][0].get("items"))
        .unwrap_or_else(|| panic!("{text}"));
    assert_eq!(note["properties"].as_object().unwrap().keys().collect::<Vec<_>>(), one);
    assert_eq!(note["additionalProperties"], json!(false));
    assert!(!text.contains("$ref"));
}

#[test]
fn a_batch_note_may_refer_to_an_earlier_one() {
    let memory = TestMemory::new();
    let request = json!({"notes": [
        {"title": "Splits", "body": "A split writes one page."},
        {"key": "splits", "update": true, "body": "A split writes two pages."},
        {"key": "splits", "update": true, "body": "A split writes two or three pages."},
        {"title": "Merges", "body": "A merge frees a page."},
        {"title": "Merges anew", "body": "A merge frees a page, in the end.", "supersedes": "merges"},
        {"key": "merges", "update": true, "body": "Said to the note that is gone."},
    ]});
    let answer = insert(&memory, request).unwrap();
    let notes = answer["notes"].as_array().unwrap();
    let failed: Vec<bool> = notes.iter().map(|note| note.get("error").is_some()).collect();
    assert_eq!(failed, [false, false, false, false, false, true], "{answer:#}");
    assert_eq!(notes[5]["error"]["code"], "conflict");
    assert_eq!(json(&memory, "get splits")["body"], "A split writes two or three pages.");
    assert_eq!(json(&memory, "get merges")["state"], "superseded");
    // Unrelated notes still share transactions.
    let before = memory.store.view().seq;
    let updates = json!({"notes": (0..50).map(|number| json!({
        "key": format!("page-{number}"), "update": true, "body": format!("Page {number}"),
    })).collect::<Vec<_>>()});
    insert(&memory, updates).unwrap();
    assert_eq!(memory.store.view().seq, before + 1);
}

#[test]
fn is_new_distinguishes_new_notes_from_existing_ones() {
    let memory = filled();
    let is_new = |request: Value| {
        (find("insert").unwrap().decode)(&insert(&memory, request).unwrap()).unwrap().is_new()
    };
    let page = json!({"title": "A page", "body": "A page of the B-tree."});
    assert!(is_new(page.clone()));
    assert!(!is_new(page.clone()), "a duplicate");
    assert!(!is_new(json!({"key": "journal", "update": true, "author": "Ann"})));
    assert!(!is_new(json!({"notes": [page, {"title": "x", "key": "btree"}]})));
    assert!(is_new(json!({"notes": [page, {"title": "Another page"}]})));
}
