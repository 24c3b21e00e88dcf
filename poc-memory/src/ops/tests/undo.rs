//! The ops `undo` and `changes`.

use super::*;
use poc_graph::EdgeKind;
use poc_graph::error::Code;
use poc_store::testing::{count_by_scan, counts_of_view};
use proptest::prelude::*;
use serde_json::json;
use std::path::{Path, PathBuf};

/// The number of the last change.
fn last(memory: &Memory) -> u64 {
    memory.store.view().seq
}

/// The export and, for each node, a summary of its vectors.
fn everything(memory: &Memory) -> (String, Vec<String>) {
    let lines = json(memory, "export")["lines"].as_str().unwrap().to_owned();
    let view = memory.store.view();
    let ids = (0..view.slots()).filter_map(|ix| view.id(ix));
    let vectors = ids.filter_map(|id| {
        let parts = memory.vectors.of(id);
        let sums: Vec<f32> = parts.iter().map(|(_, vector)| vector.iter().sum()).collect();
        (!parts.is_empty()).then(|| format!("{id} {sums:?}"))
    });
    let mut vectors: Vec<String> = vectors.collect();
    vectors.sort_unstable();
    // A freed slot still has the id of its former node, so duplicates are possible.
    vectors.dedup();
    (lines, vectors)
}

#[test]
fn every_kind_of_change_can_be_undone() {
    let memory = filled();
    json(&memory, "link btree journal --strength 0.8");
    json(&memory, "write 'A first sentence. A second one. A third one.'");
    let changes = [
        "insert --title 'Another page' --body 'Of the B-tree' -k storage",
        "insert --key journal --update --body 'Said anew'",
        "insert --title 'A page' --body 'In its place' --supersedes btree",
        "link journal btree --strength 0.4",
        "weight btree 2.5",
        "reinforce btree",
        "reinforce btree --for 'what happens when a page is full?'",
        "supersede btree journal",
        "visit linker btree",
        "delete btree",
        "write 'Another message. It has two sentences.'",
        "forget --before 2100-01-01 --recent",
        "mark --since 1d --strength 1",
    ];
    for line in changes {
        memory.clock.advance(Span::HOUR);
        let before = everything(&memory);
        json(&memory, line);
        let changed = last(&memory);
        assert_ne!(everything(&memory), before, "{line}");
        let answer = json(&memory, &format!("undo {changed}"));
        assert_eq!(answer["refused"], json!([]), "{line}: {answer:#}");
        assert_eq!(everything(&memory), before, "{line}");
        assert_eq!(counts_of_view(&memory.store.view()), count_by_scan(&memory.store), "{line}");
        // An undo is a change and can itself be undone.
        json(&memory, &format!("undo {}", last(&memory)));
        assert_ne!(everything(&memory), before, "{line}");
        json(&memory, &format!("undo {}", last(&memory)));
        assert_eq!(everything(&memory), before, "{line}");
    }
    let found = json(&memory, "search -p match:pages");
    assert!(found["results"].as_array().unwrap().iter().any(|hit| hit["key"] == "btree"), "{found:#}");
}

#[test]
fn a_change_that_later_changes_build_on_is_not_undone() {
    let memory = filled();
    json(&memory, "weight btree 2.5");
    let weighed = last(&memory);
    json(&memory, "weight btree 3");
    let (op, answer) = call(&memory, &format!("undo {weighed}")).unwrap();
    assert_eq!((op.decode)(&answer).unwrap().exit(), Exit::Rejected);
    assert_eq!(answer["undone"], json!([]));
    let reason = answer["refused"][0]["reason"].as_str().unwrap();
    assert_eq!(reason, "the weight of the note `btree` changed since");
    assert_eq!(json(&memory, "get btree")["weight"], 3.0);
    let text = (op.decode)(&answer).unwrap().show(&Terminal::default()).to_string();
    assert!(text.starts_with("left:   weight of `btree` by manual, "), "{text}");
}

#[test]
fn a_restored_note_has_no_dangling_edges_and_no_duplicate() {
    let memory = filled();
    json(&memory, "link btree journal --strength 0.8");
    json(&memory, "delete btree");
    let deleted = last(&memory);
    json(&memory, "delete journal");
    json(&memory, &format!("undo {deleted}"));
    assert_eq!(json(&memory, "get btree")["edges"], json!({}));
    let shown = json(&memory, "get btree");
    let (title, body) = (shown["title"].as_str().unwrap(), shown["body"].as_str().unwrap());
    json(&memory, "delete btree");
    let deleted = last(&memory);
    let again = format!("insert --title '{title}' --body '{body}' -k storage --key again");
    json(&memory, &again);
    let answer = json(&memory, &format!("undo {deleted}"));
    assert_eq!(answer["refused"][0]["reason"], "`again` now has the same text");
}

#[test]
fn undo_refuses_unknown_changes_and_those_of_other_tenants() {
    let memory = filled();
    let refused = |what: &str| {
        let error = call(&memory, &format!("undo {what}")).err().unwrap();
        (error.code, error.line())
    };
    assert_eq!(refused("4000").0, Code::NotFound);
    insta::assert_snapshot!(refused("4000").1, @"`what`: there is no change 4000; `poc-memory changes` shows the latest with their numbers");
    insta::assert_snapshot!(refused("01a2").1, @"`what`: there is no run `01a2`; `poc-memory agent history` lists the runs");
    let tuple = poc_graph::Tuple::new([("customer", "acme")]).unwrap();
    let other = memory.of(&tuple);
    json(&other, "insert --title Theirs --body 'Of another tenant'");
    assert_eq!(refused(&last(&other).to_string()).0, Code::NotFound, "of another tenant");
}

poc_laws::laws! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Undoing all changes from the last to the first restores the original state.
    #[test]
    fn every_history_can_be_undone_in_reverse(picks in proptest::collection::vec(0usize..9, 1..12)) {
        let memory = filled();
        let before = everything(&memory);
        let first = last(&memory);
        for (number, pick) in picks.into_iter().enumerate() {
            memory.clock.advance(Span::MINUTE);
            let line = match pick {
                0 => format!("insert --title 'Page {number}' --body 'Of the B-tree {number}' -k storage"),
                1 => format!("insert --key journal --update --body 'Said anew {number}'"),
                2 => "link journal btree --strength 0.4".to_owned(),
                3 => format!("weight btree {}", 1 + number),
                4 => "reinforce journal".to_owned(),
                5 => "supersede btree journal".to_owned(),
                6 => "delete btree".to_owned(),
                7 => format!("write 'Message {number}. It has two sentences.'"),
                _ => "visit linker journal".to_owned(),
            };
            // Changes of a deleted note are rejected.
            let _ = call(&memory, &line);
        }
        for seq in (first + 1..=last(&memory)).rev() {
            memory.clock.advance(Span::MINUTE);
            let answer = json(&memory, &format!("undo {seq}"));
            prop_assert_eq!(&answer["refused"], &json!([]), "{} {}", seq, answer);
        }
        prop_assert_eq!(everything(&memory), before);
        prop_assert_eq!(counts_of_view(&memory.store.view()), count_by_scan(&memory.store));
    }
}

#[test]
fn undo_never_makes_two_notes_supersede_each_other() {
    let memory = filled();
    json(&memory, "supersede btree journal");
    json(&memory, &format!("undo {}", last(&memory)));
    let undone = last(&memory);
    json(&memory, "supersede journal btree");
    let answer = json(&memory, &format!("undo {undone}"));
    assert_eq!(answer["refused"][0]["reason"], "its replacement `journal` is now superseded");
}

#[test]
fn a_visit_of_a_deleted_note_is_not_restored() {
    let memory = filled();
    json(&memory, "visit linker btree");
    json(&memory, &format!("undo {}", last(&memory)));
    let undone = last(&memory);
    json(&memory, "delete btree");
    let deleted = last(&memory);
    json(&memory, &format!("undo {undone}"));
    json(&memory, &format!("undo {deleted}"));
    assert_eq!(json(&memory, "get btree")["visits"], json!([]));
}

#[test]
fn changes_lists_the_numbers_that_undo_takes() {
    let memory = filled();
    json(&memory, "link btree journal --strength 0.3");
    let before = json(&memory, "get btree")["weight"].clone();
    assert_eq!(json(&memory, "weight btree 2.5")["seq"], 5);
    insta::assert_snapshot!(text_output(&memory, "changes"), @r"
    5  2026-11-21 09:00:00Z  manual  weight  btree
    4  2026-11-21 09:00:00Z  manual  link    btree, journal
    3  2026-11-21 08:00:00Z  manual  link    btree, journal
    2  2026-11-21 08:00:00Z  manual  insert  journal
    1  2026-11-21 08:00:00Z  manual  insert  btree
    ");
    let answer = json(&memory, "changes --limit 1");
    assert_eq!(
        (&answer["changes"][0]["op"], &answer["changes"][0]["nodes"]),
        (&json!("weight"), &json!(["btree"]))
    );
    json(&memory, &format!("undo {}", answer["changes"][0]["seq"]));
    assert_eq!(json(&memory, "get btree")["weight"], before);
}

#[test]
fn changes_show_their_notes_in_a_narrow_terminal() {
    let memory = filled();
    let (op, mut answer) = call(&memory, "changes").unwrap();
    answer["changes"][0]["run"] = json!("01a22cf9556e70008000afa3a03308af");
    answer["changes"][0]["op"] = json!("agent run");
    answer["changes"][0]["actor"] = json!("agent:linker");
    let shown = |columns| {
        let terminal = Terminal { columns, ..Terminal::default() };
        (op.decode)(&answer).unwrap().show(&terminal).to_string()
    };
    insta::assert_snapshot!(shown(Some(80)), @"
    3  2026-11-21 08:00:00Z  agent:linker  agent run 01a22cf9556e
       btree, journal
    2  2026-11-21 08:00:00Z  manual        insert
       journal
    1  2026-11-21 08:00:00Z  manual        insert
       btree
    ");
    let first = "3  2026-11-21 08:00:00Z  agent:linker  agent run 01a22cf9556e  btree, journal\n";
    assert!([None, Some(100)].iter().all(|columns| shown(*columns).starts_with(first)));
}

#[test]
fn changes_list_what_questions_leave_behind_only_on_request() {
    let memory = filled();
    let listed = json(&memory, "changes")["changes"].clone();
    json(&memory, "recall 'who split a page?'");
    poc_notes::recall::flush(&memory).unwrap();
    assert_eq!(json(&memory, "changes")["changes"], listed);
    let all = json(&memory, "changes --all")["changes"].clone();
    assert_eq!(all[0]["op"], "recall", "{all:#}");
    assert_eq!(all.as_array().unwrap()[1..], listed.as_array().unwrap()[..]);
}

#[test]
fn changes_since_a_time_leave_out_the_earlier_ones() {
    let memory = filled();
    json(&memory, "weight btree 2.5");
    memory.clock.advance(Span::MINUTE);
    let ops = |line: &str| -> Vec<String> {
        let changes = json(&memory, line)["changes"].as_array().unwrap().clone();
        changes.iter().map(|change| change["op"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(ops("changes --since 30m"), ["weight"]);
    assert_eq!(ops("changes --since 2026-11-21T09:00:00Z"), ["weight"]);
    assert_eq!(ops("changes --since 2026-11-21"), ["weight", "link", "insert", "insert"]);
    assert_eq!(ops("changes --since 2026-11-21 --limit 2"), ["weight", "link"]);
    insta::assert_snapshot!(text_output(&memory, "changes --since 30s"), @"nothing has changed since 2026-11-21 09:00:30Z");
    insta::assert_snapshot!(text_output(&memory, "changes --since 2027-01-01"), @r"
    invalid_argument: `since`: 2027-01-01T00:00:00.000Z is not in the past
    give an earlier time, or how long ago: `12h`
    ");
}

/// Stores a note with this cause.
fn store(memory: &Memory, title: &str, cause: poc_store::Cause) {
    let draft = poc_notes::Draft {
        key: Some(title.into()),
        title: Some(title.into()),
        ..poc_notes::Draft::new("import:notes", poc_graph::Trust::External)
    };
    poc_notes::insert::insert(memory, draft, cause).unwrap();
}

#[test]
fn changes_since_a_time_have_all_notes_of_a_call_that_began_earlier() {
    let memory = filled();
    let began = memory.cause("import:notes", "import");
    store(&memory, "first", began.part(memory.now()));
    memory.clock.advance(Span::HOUR);
    store(&memory, "second", began.part(memory.now()));
    let changes = json(&memory, "changes --since 30m")["changes"].clone();
    assert_eq!(changes.as_array().unwrap().len(), 1, "{changes:#}");
    assert_eq!(changes[0]["nodes"], json!(["second", "first"]));
}

#[test]
fn changes_since_a_time_include_those_made_during_a_slow_call_that_began_earlier() {
    let memory = filled();
    let slow = memory.cause("import:notes", "import");
    memory.clock.advance(Span::MINUTE);
    json(&memory, "weight btree 2.5");
    store(&memory, "slow", slow);
    let changes = json(&memory, "changes --since 30s")["changes"].clone();
    assert_eq!(changes.as_array().unwrap().len(), 1, "{changes:#}");
    assert_eq!(changes[0]["op"], "weight");
}

#[test]
fn changes_say_which_of_them_are_undone() {
    let memory = filled();
    json(&memory, "insert --key btree -t 'Trees of blocks' --update");
    let undone = |words: &str| -> Vec<bool> {
        let answer = json(&memory, words);
        let changes = answer["changes"].as_array().unwrap();
        changes.iter().map(|change| change["undone"].as_bool().unwrap_or_default()).collect()
    };
    assert_eq!(undone("changes --limit 2"), [false, false]);
    assert_eq!(undone("history btree"), [false, false]);
    json(&memory, "undo");
    assert_eq!(undone("changes --limit 2"), [false, true]);
    assert_eq!(undone("history btree"), [false, true, false]);
    insta::assert_snapshot!(text_output(&memory, "changes --limit 2"), @r"
    5  2026-11-21 09:00:00Z  manual  undo    btree (changed)
    4  2026-11-21 09:00:00Z  manual  insert  btree (changed, undone)
    ");
    // The undo is undone, so the change is in effect again.
    json(&memory, "undo 5");
    assert_eq!(undone("changes --limit 3"), [false, true, false]);
    assert_eq!(undone("history btree"), [false, false, true, false]);
}

#[test]
fn the_history_says_that_a_deletion_was_undone() {
    let memory = filled();
    json(&memory, "delete btree");
    json(&memory, "undo");
    let history = json(&memory, "history btree")["changes"].clone();
    let changes = history.as_array().unwrap().iter();
    let undone: Vec<(&str, bool)> = changes
        .map(|change| (change["did"].as_str().unwrap(), change["undone"].as_bool().unwrap_or_default()))
        .collect();
    assert_eq!(undone, [("created", false), ("deleted", true), ("created", false)]);
}

#[test]
fn changes_and_undos_of_links_say_whether_the_link_was_deleted() {
    let memory = filled();
    json(&memory, "link btree journal --kind contradicts");
    json(&memory, "link btree journal --kind contradicts --remove");
    let restored = json(&memory, "undo")["undone"][0].as_str().unwrap().to_owned();
    assert!(restored.ends_with("; restored 1 link"), "{restored}");
    let deleted = json(&memory, "undo")["undone"][0].as_str().unwrap().to_owned();
    assert!(deleted.ends_with("; deleted 1 link"), "{deleted}");
    insta::assert_snapshot!(text_output(&memory, "changes --limit 4"), @r"
    7  2026-11-21 09:00:00Z  manual  undo  btree, journal (only links deleted)
    6  2026-11-21 09:00:00Z  manual  undo  btree, journal
    5  2026-11-21 09:00:00Z  manual  link  btree, journal (only links deleted, undone)
    4  2026-11-21 09:00:00Z  manual  link  btree, journal (undone)
    ");
    let edges = json(&memory, "changes --limit 2")["changes"].clone();
    assert_eq!((&edges[0]["did_edges"], &edges[1]["did_edges"]), (&json!(["deleted"]), &json!(["created"])));
}

#[test]
fn an_undone_import_is_named_by_its_notes_and_not_by_those_that_it_links_to() {
    let memory = filled();
    let folder = poc_graph::testing::folder();
    let file = folder.path().join("notes.jsonl");
    std::fs::write(&file, r#"{"key": "quay", "body": "See [[btree]] and [[journal]]."}"#).unwrap();
    json(&memory, &format!("import '{}'", file.display()));
    let undone = json(&memory, "undo")["undone"][0].as_str().unwrap().to_owned();
    assert!(undone.starts_with("import of `quay` by ") && undone.ends_with("; deleted 1 note"), "{undone}");
}

#[test]
fn changes_show_a_confirmed_question_by_its_text() {
    let memory = filled();
    json(&memory, "reinforce btree --for 'what happens when a page is full?'");
    let text = text_output(&memory, "changes --limit 1");
    assert!(text.trim_end().ends_with("  “what happens when a page is full?”"), "{text}");
}

#[test]
fn the_error_for_a_change_that_is_already_undone_names_the_undo() {
    let memory = filled();
    import_in_parts(&memory, 450);
    let import = last(&memory);
    json(&memory, &format!("undo {import}"));
    let undo = last(&memory);
    let again = call(&memory, &format!("undo {import}")).err().unwrap();
    let expected = format!(
        "`what`: change {import} is already undone by change {undo}; `poc-memory undo {undo}` reverts that"
    );
    assert_eq!((again.code, again.line()), (Code::Conflict, expected));
    assert_eq!(last(&memory), undo);
    let number = json(&memory, "changes --limit 1")["changes"][0]["seq"].clone();
    assert_eq!(number, json!(undo));
    // Now the import is in effect again and can be undone.
    json(&memory, &format!("undo {undo}"));
    assert_eq!(json(&memory, &format!("undo {import}"))["refused"], json!([]));
}

#[test]
fn an_import_with_links_that_is_undone_lists_the_keys_of_its_notes() {
    let memory = filled();
    let folder = poc_graph::testing::folder();
    let file = folder.path().join("notes.jsonl");
    let note = |at: usize| json!({"key": format!("n{at}"), "body": format!("Text {at}."), "links": [format!("n{}", (at + 211) % 450)]});
    let lines: Vec<String> = (0..450).map(|at| note(at).to_string()).collect();
    std::fs::write(&file, lines.join("\n")).unwrap();
    json(&memory, &format!("import '{}'", file.display()));
    let listed = |number: usize| {
        let change = json(&memory, "changes --limit 2")["changes"][number].clone();
        let keys = change["nodes"].as_array().unwrap().clone();
        assert!(keys.iter().all(|key| key.as_str().unwrap().starts_with('n')), "{keys:?}");
        (change["op"].as_str().unwrap().to_owned(), keys.len(), change["count"].clone())
    };
    assert_eq!(listed(0), ("import".to_owned(), 100, json!(450)));
    json(&memory, &format!("undo {}", last(&memory)));
    assert_eq!(listed(0), ("undo".to_owned(), 100, json!(450)));
    assert_eq!(listed(1), ("import".to_owned(), 100, json!(450)));
}

#[test]
fn a_link_of_deleted_notes_is_listed_with_their_last_keys() {
    let memory = filled();
    json(&memory, "link btree journal --strength 0.3");
    json(&memory, "delete btree");
    assert_eq!(json(&memory, "changes --limit 2")["changes"][1]["nodes"], json!(["btree", "journal"]));
}

#[test]
fn a_change_of_a_key_is_listed_with_both_keys() {
    let memory = filled();
    json(&memory, "rename btree b-tree");
    assert_eq!(json(&memory, "changes --limit 1")["changes"][0]["renamed"], json!({"b-tree": "btree"}));
    json(&memory, "undo");
    insta::assert_snapshot!(text_output(&memory, "changes --limit 2"), @r"
    5  2026-11-21 09:00:00Z  manual  undo    b-tree → btree (changed)
    4  2026-11-21 09:00:00Z  manual  rename  btree → b-tree (changed, undone)
    ");
}

#[test]
fn an_undo_says_whether_a_note_was_deleted_or_has_its_former_text() {
    let memory = filled();
    let undone = |words: &str| json(&memory, words)["undone"][0].as_str().unwrap().to_owned();
    let did = || json(&memory, "changes --limit 1")["changes"][0]["did"].clone();
    json(&memory, "insert --key btree -t 'Trees of blocks' --update");
    assert_eq!(did(), serde_json::json!(["changed"]));
    let update = undone("undo");
    assert!(update.starts_with("insert of `btree` by ") && update.ends_with("; reverted 1 note"), "{update}");
    json(&memory, "insert --key quay -t 'Ships at the quay'");
    assert_eq!(did(), serde_json::json!(["created"]));
    let creation = undone("undo");
    assert!(creation.ends_with("; deleted 1 note"), "{creation}");
    assert_eq!(did(), serde_json::json!(["deleted"]));
    let seq = json(&memory, "changes --limit 1")["changes"][0]["seq"].clone();
    let again = undone(&format!("undo {seq}"));
    assert!(again.ends_with("; restored 1 note"), "{again}");
    json(&memory, "get quay");
}

#[test]
fn undo_without_a_number_undoes_the_last_change_made_by_hand() {
    let memory = TestMemory::new();
    json(&memory, "insert --key first -t 'Dumplings on Friday'");
    json(&memory, "insert --key second -t 'Quartz resonators drift'");
    let by = |actor: &str, op: &str, key: &str, title: &str| {
        let draft = poc_notes::Draft {
            key: Some(key.into()),
            title: Some(title.into()),
            ..poc_notes::Draft::new(actor, poc_graph::Trust::Agent)
        };
        poc_notes::insert::insert(&memory, draft, memory.cause(actor, op)).unwrap();
    };
    // The daemon captures a session, a vault is synchronised, an assistant and an agent store notes.
    by("import:transcripts", "capture", "turn", "Which port has the gateway?");
    by("import:vault", "vault sync", "file", "Harbour tolls rise");
    by("mcp", "insert", "of-the-assistant", "Swallows nest early");
    by("agent:linker", "agent run", "of-the-agent", "Copper tarnishes green");
    json(&memory, "weight second 2.5");
    json(&memory, "recall dumplings");
    poc_notes::recall::flush(&memory).unwrap();
    assert_eq!(json(&memory, "changes --all --limit 1")["changes"][0]["op"], "recall");
    let undone = || json(&memory, "undo")["undone"][0].as_str().unwrap().to_owned();
    let weight = undone();
    assert!(weight.starts_with("weight of `second` by manual"), "{weight}");
    // The undo and the change that it undid are skipped.
    for key in ["second", "first"] {
        let insert = undone();
        assert!(insert.starts_with(&format!("insert of `{key}` by manual")), "{insert}");
    }
    for key in ["turn", "file", "of-the-assistant", "of-the-agent"] {
        json(&memory, &format!("get {key}"));
    }
    let error = text_output(&memory, "undo");
    assert_eq!(
        error,
        "not_found: `what`: no change that you made by hand is left to undo\n`poc-memory undo N` undoes another \
         change: 6 (agent run by agent:linker), 5 (insert by mcp), 4 (vault sync by import:vault)"
    );
}

#[test]
fn undo_without_a_number_skips_and_names_a_change_that_can_never_be_undone() {
    let memory = filled();
    store(&memory, "harbour", memory.cause("mcp", "insert"));
    json(&memory, "weight journal 2.5");
    let node = memory.find("harbour").unwrap();
    let later = poc_graph::Node { title: "Of a run whose row was deleted".into(), version: 2, ..node };
    let run = Some(poc_graph::RunId::from_bytes([7; 16]));
    let cause = poc_store::Cause { run, ..memory.cause("manual", "agent apply") };
    let change = memory.store.transact(cause, |tx| tx.put_node(&later)).unwrap().seq;
    let text = text_output(&memory, "undo");
    let skipped =
        format!("skipped: the run of change {change} is no longer stored\nundone: weight of `journal` by ");
    assert!(text.starts_with(&skipped), "{text}");
    for _ in 0..3 {
        assert_eq!(json(&memory, "undo")["skipped"][0]["change"], json!(change));
    }
    insta::assert_snapshot!(text_output(&memory, "undo"), @r"
    not_found: `what`: no change that you made by hand can be undone: the run of change 6 is no longer stored
    `poc-memory undo N` undoes another change: 4 (insert by mcp)
    ");
}

#[test]
fn undo_without_a_number_names_the_change_before_one_that_cannot_be_undone() {
    let memory = filled();
    let before = last(&memory);
    json(&memory, "insert --key quay -t 'Ships at the quay'");
    let node = memory.find("quay").unwrap();
    let later = poc_graph::Node { title: "Boats at the quay".into(), version: 2, ..node };
    memory.store.transact(memory.cause("agent:tester", "agent run"), |tx| tx.put_node(&later)).unwrap();
    for _ in 0..2 {
        let answer = json(&memory, "undo");
        assert_eq!(answer["refused"][0]["reason"], "the note `quay` changed since");
        assert_eq!(answer["earlier"], json!(before));
    }
    let text = text_output(&memory, "undo");
    let hint = format!(
        "`poc-memory undo {before}` undoes the change before, unless later changes build on it, too\n"
    );
    assert!(text.ends_with(&hint), "{text}");
    json(&memory, &format!("undo {before}"));
    assert_eq!(json(&memory, "undo")["earlier"], json!(before - 1));
}

#[test]
fn a_link_whose_note_was_deleted_is_not_undone_and_the_reason_names_that_note() {
    let memory = filled();
    json(&memory, "link btree journal --strength 0.8");
    let linked = last(&memory);
    json(&memory, "link btree journal --remove");
    let removed = last(&memory);
    json(&memory, "delete journal");
    let reason = |seq: u64| json(&memory, &format!("undo {seq}"))["refused"][0]["reason"].clone();
    assert_eq!(reason(removed), "the note `journal` was deleted; restore it first");
    assert_eq!(reason(linked), "the note `journal` was deleted since");
}

#[test]
fn the_undo_of_a_sync_of_a_vault_counts_the_files_that_still_have_the_change() {
    let memory = filled();
    let parent = poc_graph::testing::folder();
    let folder = parent.path().join("vault");
    std::fs::create_dir(&folder).unwrap();
    let put = |text: &str| std::fs::write(folder.join("gate.md"), text).unwrap();
    put("# The gate\n\nIt opens at noon.\n");
    json(&memory, &format!("'vault add' '{}'", folder.display()));
    memory.clock.advance(Span::MINUTE);
    put("# The gate\n\nIt opens at one, see [[btree]].\n");
    json(&memory, "'vault sync'");
    let change = json(&memory, "changes --limit 1")["changes"][0].clone();
    assert_eq!((&change["op"], &change["seq"]), (&json!("vault sync"), &json!(last(&memory))));
    let files = "1 file of the vault `vault` differs from the notes because of an undo or a deletion; `poc-memory vault \
                 sync vault` applies the files again, and so does the daemon when such a file changes; to keep the \
                 notes as they are, restore or delete the files\n";
    let text = text_output(&memory, &format!("undo {}", change["seq"]));
    assert!(text.starts_with("undone: vault sync of `gate` ") && text.ends_with(files), "{text}");
    let status = text_output(&memory, "'vault status'");
    assert!(status.starts_with("vault: 1 file, 1 file with an undone change\n"), "{status}");
    assert!(status.contains(&format!("undone     {files}")), "{status}");
    json(&memory, "'vault sync'");
    assert!(text_output(&memory, "'vault status'").starts_with("vault: 1 file, up to date\n"));
    assert_eq!(json(&memory, "get gate")["body"], "# The gate\n\nIt opens at one, see [[btree]].");
}

/// Creates a folder `vault` with two notes.
fn gate_and_quay(parent: &Path) -> PathBuf {
    let folder = parent.join("vault");
    std::fs::create_dir(&folder).unwrap();
    for name in ["gate", "quay"] {
        std::fs::write(folder.join(format!("{name}.md")), format!("The {name} opens at noon.\n")).unwrap();
    }
    folder
}

#[test]
fn an_undone_sync_that_only_wrote_links_is_not_counted_as_several_changes() {
    let memory = filled();
    let parent = poc_graph::testing::folder();
    let folder = gate_and_quay(parent.path());
    json(&memory, &format!("'vault add' '{}' --write-back", folder.display()));
    memory.clock.advance(Span::MINUTE);
    json(&memory, "link gate quay");
    json(&memory, "link quay gate");
    memory.clock.advance(Span::MINUTE);
    let synced = json(&memory, "'vault sync'");
    assert_eq!(synced["vaults"][0]["written"], json!(["gate.md", "quay.md"]), "{synced:#}");
    json(&memory, &format!("undo {}", last(&memory)));
    let listed = text_output(&memory, "'vault list'");
    assert!(listed.contains("2 files  2 files with an undone change"), "{listed}");
}

#[test]
fn the_undo_of_an_import_counts_the_files_of_a_vault_whose_notes_it_deleted() {
    let memory = filled();
    let parent = poc_graph::testing::folder();
    let folder = gate_and_quay(parent.path());
    let folder = folder.display();
    json(&memory, &format!("import '{folder}'"));
    memory.clock.advance(Span::MINUTE);
    json(&memory, &format!("'vault add' '{folder}'"));
    let above = call(&memory, &format!("import '{}'", parent.path().display())).err().unwrap();
    assert!(above.code == Code::Conflict && above.message.contains("contains the vault `vault`"), "{above}");
    let undone = json(&memory, "undo");
    assert_eq!(undone["vaults"], json!([{ "vault": "vault", "files": 2 }]), "{undone:#}");
    let listed = text_output(&memory, "'vault list'");
    assert!(listed.contains("0 files") && listed.contains("2 files whose note was deleted"), "{listed}");
    assert_eq!(json(&memory, "'vault sync'")["vaults"][0]["added"], 2);
    assert!(text_output(&memory, "'vault list'").contains("2 files  up to date"));
}

#[test]
fn an_update_of_the_note_of_a_file_warns_that_the_file_will_replace_it() {
    let memory = filled();
    let parent = poc_graph::testing::folder();
    let folder = parent.path().join("vault");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("gate.md"), "The gate opens at noon.\n").unwrap();
    json(&memory, &format!("'vault add' '{}'", folder.display()));
    let updated = text_output(&memory, "insert --key gate --body 'The gate opens at one.' --update");
    let warning = "warning: the note follows the file `gate.md` of the vault `vault`; the next change of that file \
                   replaces this text\n";
    assert!(updated.ends_with(warning), "{updated}");
    assert!(text_output(&memory, "'vault list'").contains("up to date, 1 note edited in the memory"));
    // The file does not replace other properties.
    assert!(!text_output(&memory, "insert --key gate --category core --update").contains("warning"));
    assert!(!text_output(&memory, "insert --key btree --body 'Of no file.' --update").contains("warning"));
    let deleted = text_output(&memory, "delete gate");
    assert!(
        deleted.ends_with("gate.md` stays; delete it, too, or a sync makes the note again\n"),
        "{deleted}"
    );
    assert!(!text_output(&memory, "delete btree").contains("file"));
}

#[test]
fn an_import_by_hand_is_undone_without_a_number() {
    let memory = filled();
    import_in_parts(&memory, 3);
    let undone = json(&memory, "undo");
    assert!(undone["undone"][0].as_str().unwrap().starts_with("import of `n0`"), "{undone}");
    // A folder may have the name under which captured turns are stored.
    let draft = poc_notes::Draft {
        title: Some("Talk".into()),
        ..poc_notes::Draft::new("import:transcripts", poc_graph::Trust::External)
    };
    let cause = memory.cause("import:transcripts", "import");
    poc_notes::insert::insert(&memory, draft, cause).unwrap();
    let undone = json(&memory, "undo");
    assert!(undone["undone"][0].as_str().unwrap().starts_with("import of `talk`"), "{undone}");
}

#[test]
fn an_undone_import_in_parts_is_undone_as_a_whole() {
    let memory = filled();
    import_in_parts(&memory, 450);
    json(&memory, "undo");
    let changes = json(&memory, "changes --limit 2")["changes"].clone();
    assert_eq!(
        (&changes[1]["op"], &changes[1]["undone"], &changes[0]["undone"]),
        (&json!("import"), &json!(true), &json!(false))
    );
    // Its notes were deleted, so they have no titles.
    assert_eq!(changes[1]["titles"], json!({}));
}

#[test]
fn changes_have_the_titles_of_their_notes() {
    let memory = filled();
    json(&memory, "link btree journal --strength 0.3");
    let title = |key: &str| json(&memory, &format!("get {key}"))["title"].clone();
    assert_eq!(
        json(&memory, "changes --limit 1")["changes"][0]["titles"],
        json!({ "btree": title("btree"), "journal": title("journal") })
    );
}

/// An import stores 200 notes in one transaction.
fn import_in_parts(memory: &Memory, count: usize) -> Value {
    let folder = poc_graph::testing::folder();
    let file = folder.path().join("notes.jsonl");
    let note = |at| json!({"key": format!("n{at}"), "title": format!("Number {at}"), "keywords": [format!("k{}", at / 2)]});
    let lines: Vec<String> = (0..count).map(|at| note(at).to_string()).collect();
    std::fs::write(&file, lines.join("\n")).unwrap();
    json(memory, &format!("import '{}'", file.display()))
}

#[test]
fn an_import_in_parts_is_one_change() {
    let memory = filled();
    // This change has the same time as the import, but is not a part of it.
    json(&memory, "link btree journal --strength 0.3");
    let before = everything(&memory);
    assert_eq!(import_in_parts(&memory, 450)["inserted"], 450);
    let after = everything(&memory);
    let changes = json(&memory, "changes");
    let latest = &changes["changes"][0];
    assert_eq!(
        (&latest["op"], &latest["count"], &latest["seq"]),
        (&json!("import"), &json!(450), &json!(last(&memory)))
    );
    assert_eq!(latest["nodes"].as_array().unwrap().len(), 100);
    assert_eq!(changes["changes"][1]["op"], "link");
    assert_eq!(json(&memory, "changes --limit 1")["changes"], json!([latest]));
    // The history of each note has the number of the whole import.
    let change_of = |key: &str| json(&memory, &format!("history {key}"))["changes"][0].clone();
    for key in ["n0", "n210"] {
        let change = change_of(key);
        assert!(change["seq"].as_u64() < latest["seq"].as_u64(), "{change}");
        assert_eq!(change["change"], latest["seq"], "{change}");
        let line = format!("(import, change {})\n", latest["seq"]);
        for question in [format!("history {key}"), format!("get {key}")] {
            assert!(text_output(&memory, &question).contains(&line), "{question}");
        }
    }
    assert_eq!(change_of("btree").get("change"), None);
    // The number of any part undoes the whole import.
    let undone = json(&memory, &format!("undo {}", last(&memory) - 1));
    let text = undone["undone"][0].as_str().unwrap();
    assert!(text.starts_with("import of `n0` and 449 more by import:"), "{text}");
    assert_eq!((undone["undone"].as_array().unwrap().len(), &undone["refused"]), (1, &json!([])));
    assert_eq!(everything(&memory), before);
    let redone = json(&memory, &format!("undo {}", last(&memory)));
    assert!(redone["undone"][0].as_str().unwrap().starts_with("undo of `n400` and 449 more by "), "{redone}");
    assert_eq!(everything(&memory), after);
}

#[test]
fn a_past_state_that_ends_within_an_import_is_reported() {
    let memory = filled();
    let first = last(&memory) + 1;
    import_in_parts(&memory, 450);
    let import = last(&memory);
    json(&memory, "weight btree 2");
    let degraded =
        |at: u64| json(&memory, &format!("search -p 'all | limit:1' --at {at}"))["degraded"].clone();
    let expected = format!(
        "this state ends with change {first}, within one change (`import`) that ends with change {import}"
    );
    assert_eq!(degraded(first), json!([expected]));
    assert_eq!([first - 1, import, import + 1].map(degraded), [json!([]), json!([]), json!([])]);
}

#[test]
fn only_the_notes_of_an_import_that_changed_since_stay() {
    let memory = filled();
    import_in_parts(&memory, 450);
    let import = last(&memory);
    json(&memory, "weight n250 2");
    let before = everything(&memory);
    let answer = json(&memory, &format!("undo {import}"));
    assert_eq!(answer["refused"].as_array().unwrap().len(), 1, "{answer:#}");
    let left = &answer["refused"][0];
    assert!(left["action"].as_str().unwrap().starts_with("import of `n250` by "), "{answer:#}");
    assert_eq!(left["reason"], "the weight of the note `n250` changed since");
    let text = answer["undone"][0].as_str().unwrap();
    assert!(text.starts_with("import of `n0` and 448 more by "), "{text}");
    let stays = |at: usize| call(&memory, &format!("get n{at}")).is_ok();
    assert_eq!((0..450).filter(|&at| stays(at)).collect::<Vec<_>>(), [250]);
    assert_eq!(counts_of_view(&memory.store.view()), count_by_scan(&memory.store));
    json(&memory, &format!("undo {}", last(&memory)));
    assert_eq!(everything(&memory), before);
}

/// Imports notes `n0` to `n59`, each with a text, a keyword and a link to the next one.
fn import_linked(memory: &Memory) -> Value {
    let folder = poc_graph::testing::folder();
    let file = folder.path().join("notes.jsonl");
    let note = |at: usize| {
        json!({
            "key": format!("n{at}"), "body": format!("The text of number {at}."),
            "keywords": ["numbered"], "links": [format!("n{}", (at + 1) % 60)],
        })
    };
    let lines: Vec<String> = (0..60).map(|at| note(at).to_string()).collect();
    std::fs::write(&file, lines.join("\n")).unwrap();
    json(memory, &format!("import '{}'", file.display()))
}

#[test]
fn an_undo_of_an_import_leaves_a_note_with_a_new_text_without_its_links_to_deleted_notes() {
    let memory = filled();
    let made = import_linked(&memory);
    assert_eq!((&made["inserted"], &made["edges"]), (&json!(60), &json!(60)), "{made:#}");
    let import = last(&memory);
    json(&memory, "insert --key n5 --update --body 'The text of number five, said anew.'");
    let answer = json(&memory, &format!("undo {import}"));
    let refused = answer["refused"].as_array().unwrap();
    assert_eq!(refused.len(), 1, "{answer:#}");
    assert!(refused[0]["action"].as_str().unwrap().starts_with("import of `n5` by "), "{answer:#}");
    let stays = |at: usize| call(&memory, &format!("get n{at}")).is_ok();
    assert_eq!((0..60).filter(|&at| stays(at)).collect::<Vec<_>>(), [5]);
    let n5 = memory.find("n5").unwrap();
    let edges = memory.store.edges(n5.id).unwrap();
    assert!(edges.iter().all(|edge| edge.kind != EdgeKind::Link), "{edges:?}");
    for edge in edges {
        assert!(memory.store.node(edge.src).unwrap().is_some(), "{edge:?}");
        assert!(memory.store.node(edge.dst).unwrap().is_some(), "{edge:?}");
    }
    assert_eq!(counts_of_view(&memory.store.view()), count_by_scan(&memory.store));
}

#[test]
fn an_undo_of_an_import_leaves_a_link_that_changed_since_with_both_notes() {
    let memory = filled();
    import_linked(&memory);
    let import = last(&memory);
    json(&memory, "link n7 n8 --strength 0.9");
    let answer = json(&memory, &format!("undo {import}"));
    assert_eq!(answer["refused"].as_array().unwrap().len(), 3, "{answer:#}");
    let stays = |at: usize| call(&memory, &format!("get n{at}")).is_ok();
    assert_eq!((0..60).filter(|&at| stays(at)).collect::<Vec<_>>(), [7, 8]);
    let (n7, n8) = (memory.find("n7").unwrap(), memory.find("n8").unwrap());
    let mut edges = memory.store.edges(n7.id).unwrap();
    edges.retain(|edge| edge.kind == EdgeKind::Link);
    let [link] = edges.as_slice() else { panic!("{edges:?}") };
    assert_eq!((link.src, link.dst, link.strength), (n7.id, n8.id, 0.9));
    // A repetition does not list what is already undone.
    let again = json(&memory, &format!("undo {import}"));
    assert_eq!((&again["undone"], &again["refused"]), (&json!([]), &answer["refused"]));
}
