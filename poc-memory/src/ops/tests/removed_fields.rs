//! Fields that an update removes.

use super::*;
use poc_notes::ClearableField;
use serde_json::json;

fn insert(memory: &TestMemory, actor: Principal, request: Value) -> Result<Value> {
    let ctx = Ctx { memory, host: &Nobody, actor, may_write: true, progress: &|_| {} };
    find("insert").unwrap().run(&ctx, request)
}

/// Gives the note `btree` all fields that an update can remove.
fn with_all_fields() -> TestMemory {
    let memory = filled();
    json(
        &memory,
        "insert --key btree --update -k storage -k project:pages --author Ann --source 'page 7' --expires 2027-01-01",
    );
    memory
}

#[test]
fn an_update_removes_the_named_fields_and_no_others() {
    for field in ClearableField::ALL {
        let memory = with_all_fields();
        let before = json(&memory, "get btree");
        json(&memory, &format!("insert --key btree --update --clear {}", field.name()));
        let after = json(&memory, "get btree");
        for other in ClearableField::ALL.map(ClearableField::name) {
            if other == field.name() {
                assert!(after[other].is_null() || after[other] == json!([]), "{after:#}");
            } else {
                assert_eq!(after[other], before[other], "{field:?}");
            }
        }
        assert_eq!((&after["body"], &after["version"]), (&before["body"], &json!(3)));
    }
}

#[test]
fn a_model_cannot_remove_the_label_of_a_project() {
    let memory = with_all_fields();
    let update = json!({"key": "btree", "update": true, "clear": ["keywords", "source"]});
    insert(&memory, Principal::Model, update.clone()).unwrap();
    let note = memory.find("btree").unwrap();
    assert_eq!((note.keywords, note.source), (vec!["project:pages".to_owned()], None));
    insert(&memory, Principal::Person, update).unwrap();
    assert_eq!(memory.find("btree").unwrap().keywords, Vec::<String>::new());
}

#[test]
fn a_field_cannot_be_given_and_removed_and_only_updates_remove_fields() {
    let memory = filled();
    let refused = |request: Value| {
        let error = insert(&memory, Principal::Person, request).unwrap_err();
        format!("{error}\n{}", error.hint.clone().unwrap_or_default())
    };
    insta::assert_snapshot!(refused(json!({"key": "btree", "update": true, "author": "Ann", "clear": ["author"]})), @r"
    `clear`: `author` is both given and removed
    leave `author` out, or take it out of `clear`
    ");
    insta::assert_snapshot!(refused(json!({"title": "Pages", "clear": ["author"]})), @r"
    `clear`: `clear` is for updates only
    give `update` and `key`, or leave `clear` out
    ");
    assert!(refused(json!({"key": "btree", "update": true, "clear": ["title"]})).starts_with("`clear[0]`: "));
}
