//! Text answers of the ops that write.

use super::*;

#[test]
fn ops_that_write_have_text_answers() {
    let memory = filled();
    let mut transcript = String::new();
    for line in [
        "insert -t Soup --weight 2",
        "insert -t Soup",
        "insert -t 'Lentil soup' --supersedes soup --expires 2027-01-01",
        "link btree journal",
        "link btree journal --strength 0.3",
        "link btree journal --strength 0.3",
        "link btree journal --kind contradicts --strength 0.5",
        "link btree journal --remove",
        "link btree journal --remove",
        "weight btree -0.5",
        "weight btree 3",
        "visit linker btree journal --outcome skipped",
        "supersede btree journal --reason 'said twice'",
        "history btree",
        "delete btree",
        "delete btree",
        "history btree",
        "history quantum",
        "get jurnal",
        "search",
    ] {
        transcript += &format!("$ {line}\n{}\n", text_output(&memory, line).trim_end());
    }
    insta::assert_snapshot!(transcript, @r#"
    $ insert -t Soup --weight 2
    inserted `soup` (0 keyword edges, 0 semantic edges)
    $ insert -t Soup
    already stored as `soup`
    $ insert -t 'Lentil soup' --supersedes soup --expires 2027-01-01
    inserted `lentil-soup` (0 keyword edges, 0 semantic edges)
    $ link btree journal
    already present: `btree` → `journal` (link, strength 0.8)
    $ link btree journal --strength 0.3
    changed: `btree` → `journal` (link, strength 0.3)
    $ link btree journal --strength 0.3
    already present: `btree` → `journal` (link, strength 0.3)
    $ link btree journal --kind contradicts --strength 0.5
    added: `btree` → `journal` (contradicts, strength 0.5)
    $ link btree journal --remove
    removed: `btree` → `journal` (link)
    $ link btree journal --remove
    not present: `btree` → `journal` (link)
    $ weight btree -0.5
    weight of `btree`: 1.000 → 0.500
    $ weight btree 3
    weight of `btree`: 0.500 → 3.000
    $ visit linker btree journal --outcome skipped
    2 notes skipped by `linker`
    $ supersede btree journal --reason 'said twice'
    `journal` supersedes `btree` and took over 0 of its links
    `poc-memory undo 12` reverts this
    $ history btree
    btree (ID)
      2026-11-21 08:00:00Z  v1  created by manual (insert, change 1)
      2026-11-21 09:00:00Z  v2  changed by manual (supersede, change 12)
        state: "active" → "superseded"
      2026-11-21 09:00:00Z  supersedes ← `journal` by manual  (said twice)
      2026-11-21 09:00:00Z  contradicts → `journal` by manual
    $ delete btree
    deleted `btree` and 3 edges; its history stays under its id, ID
    `poc-memory undo 13` reverts this
    $ delete btree
    not_found: `node`: there is no note `btree`
    `poc-memory search btree` looks for it
    $ history btree
    btree (ID)
      2026-11-21 08:00:00Z  v1  created by manual (insert, change 1)
      2026-11-21 09:00:00Z  v2  changed by manual (supersede, change 12)
        state: "active" → "superseded"
      2026-11-21 09:00:00Z  v2  deleted by manual (delete, change 13)
    $ history quantum
    not_found: `node`: there is no note `quantum`
    `poc-memory search quantum` looks for it; the history of a deleted note is found by its id
    $ get jurnal
    not_found: `node`: there is no note `jurnal`
    did you mean `journal`?
    $ search
    invalid_argument: `text`: there is nothing to search for
    give a text, or a pipeline such as `all | limit:20`
    "#);
}

#[test]
fn a_link_to_a_retired_note_says_so() {
    let memory = filled();
    json(&memory, "insert --key soup -t Soup");
    json(&memory, "supersede btree journal");
    insta::assert_snapshot!(text_output(&memory, "link soup btree"), @r"
    added: `soup` → `btree` (link, strength 0.8)
    `btree` is retired: no search finds it
    ");
    assert_eq!(json(&memory, "link soup btree")["retired"], serde_json::json!(["btree"]));
    assert_eq!(json(&memory, "link soup journal")["retired"], Value::Null);
}

#[test]
fn a_deletion_takes_only_the_exact_key() {
    let memory = filled();
    json(&memory, "insert --key work/quay -t 'The harbour'");
    json(&memory, "rename journal log");
    json(&memory, "insert --key=-x -t 'A key with a dash'");
    let seq = memory.store.view().seq;
    let dashed = text_output(&memory, "delete -- -X");
    assert!(dashed.ends_with("`poc-memory delete -- -x` deletes the note with this name"), "{dashed}");
    for (name, key) in [("BTREE", "btree"), ("quay", "work/quay"), ("journal", "log")] {
        let expected = format!(
            "not_found: `node`: `{name}` is not the exact key or id of a note\n\
             `poc-memory delete {key}` deletes the note with this name"
        );
        assert_eq!(text_output(&memory, &format!("delete {name}")), expected);
        assert_eq!(json(&memory, &format!("get {name}"))["key"], key);
    }
    assert_eq!(
        text_output(&memory, "delete 'the HARBOUR'"),
        "not_found: `node`: there is no note `the HARBOUR`\n`work/quay` has this title"
    );
    assert_eq!(memory.store.view().seq, seq);
}

#[test]
fn an_update_that_cannot_be_meant_is_refused() {
    let memory = filled();
    let seq = memory.store.view().seq;
    let check = |line: &str, expected: &str| assert_eq!(text_output(&memory, line), expected, "{line}");
    check(
        "insert --key Btree --update -b 'A split.'",
        "invalid_argument: `key`: there is no note `Btree`, but a key of `btree` differs only in capitals\n\
         give `btree` to update that note, or leave `update` out to store another one",
    );
    check(
        "insert --key jurnal --update",
        "not_found: `key`: there is no note `jurnal`\ndid you mean `journal`?",
    );
    check(
        "insert --key btree --update",
        "invalid_argument: `update`: there is nothing to change\n\
         give the fields to change, such as `body` or `title`",
    );
    check(
        "insert --key btree --update -t ''",
        "invalid_argument: `title`: the title is empty\n\
         give a title, or leave `title` out to keep the current one",
    );
    assert_eq!(memory.store.view().seq, seq);
    // With `if_version` 0, the request says that it means a new note.
    json(&memory, "insert --key Btree --update --if-version 0 -b 'Another one.'");
    assert!(memory.store.find_key("Btree").unwrap().is_some());
}

#[test]
fn keywords_are_also_options_named_tag() {
    let memory = TestMemory::new();
    json(&memory, "insert --key gutter -b 'It leaks.' --tag home --keyword roof");
    assert_eq!(json(&memory, "get gutter")["keywords"], serde_json::json!(["home", "roof"]));
    assert_eq!(json(&memory, "list --tag home")["notes"][0]["key"], "gutter");
    for line in ["import notes.md --tag home", "explore roof --tag home", "write text --tag home"] {
        let line = words(line);
        let command = (find(line[0]).unwrap().augment)(clap::Command::new(line[0]));
        assert!(command.try_get_matches_from(&line).is_ok(), "{line:?}");
    }
}

#[test]
fn a_very_long_key_does_not_lengthen_other_rows_of_a_list() {
    let memory = TestMemory::new();
    let long = "k".repeat(300);
    for key in [long.as_str(), "soup", "lentils"] {
        json(&memory, &format!("insert --key {key} -t 'On {key}' -b 'Text about {key}.'"));
    }
    let list = text_output(&memory, "list");
    let (long_rows, short_rows): (Vec<&str>, Vec<&str>) = list.lines().partition(|line| line.contains(&long));
    assert_eq!((long_rows.len(), short_rows.len()), (1, 2), "{list}");
    assert!(short_rows.iter().all(|line| line.len() < 60), "{list}");
}
