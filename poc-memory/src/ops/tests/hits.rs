//! Tests of the fields of every hit, and of the length of answers.

use super::*;
use serde_json::json as value;

#[test]
fn every_hit_has_a_snippet_a_date_and_a_type() {
    let memory = filled();
    let long = format!("{} The journal grows.", "A sentence about nothing. ".repeat(100));
    json(&memory, &format!("insert --key long -t 'A long note' -b '{long}' --type episodic"));
    for line in [
        "retrieve journal",
        "search journal",
        "search -p all",
        "recall journal --no-learn",
        "explore journal",
        "query zebra",
    ] {
        let answer = json(&memory, line);
        let hits = answer.get("results").or(answer.get("fallback")).unwrap().as_array().unwrap();
        assert!(!hits.is_empty(), "{line}: {answer}");
        for hit in hits {
            let snippet = hit["snippet"].as_str().unwrap();
            assert!(!snippet.is_empty() && snippet.chars().count() <= 300, "{line}: {hit}");
            assert!(hit["date"].as_str().unwrap().starts_with("2026-11-21T"), "{line}: {hit}");
            assert!(["semantic", "episodic"].contains(&hit["type"].as_str().unwrap()), "{line}: {hit}");
        }
    }
    let found = json(&memory, "search journal");
    let hits = found["results"].as_array().unwrap();
    let hit = hits.iter().find(|hit| hit["key"] == "long").unwrap();
    assert!(hit["snippet"].as_str().unwrap().contains("The journal grows."), "{hit}");
}

#[test]
fn rows_fit_the_terminal() {
    let memory = filled();
    let title = "The journal is written before the pages, and recovery reads it after a crash";
    json(&memory, &format!("insert --key long -t '{title}' -b 'A journal.'"));
    json(&memory, "link long btree");
    let terminal = Terminal { columns: Some(60), ..Terminal::default() };
    let lines =
        ["retrieve journal", "recall journal --no-learn", "explore journal", "list", "backlinks btree"];
    for line in lines {
        let (op, answer) = call(&memory, line).unwrap();
        let shown = (op.decode)(&answer).unwrap().show(&terminal).to_string();
        assert!(shown.contains('…'), "{line}: {shown}");
        assert!(shown.lines().all(|row| row.chars().count() <= 60), "{line}: {shown}");
    }
}

#[test]
fn a_certain_match_has_the_fields_of_a_hit() {
    let memory = filled();
    let answer = json(&memory, "query 'B-tree splits'");
    assert_eq!((&answer["hit"], &answer["type"]), (&value!("STRONG"), &value!("semantic")));
    assert_eq!(answer["snippet"], "A split writes two pages.");
    assert!(answer["date"].is_string(), "{answer}");
}

#[test]
fn text_searches_return_eight_hits_by_default() {
    let memory = TestMemory::new();
    for number in 0..12 {
        json(&memory, &format!("insert -t 'Journal {number}' -b 'The journal has page {number}.'"));
    }
    for line in ["retrieve journal", "search journal", "recall journal --no-learn"] {
        assert_eq!(json(&memory, line)["results"].as_array().unwrap().len(), 8, "{line}");
    }
}

#[test]
fn long_texts_are_cut_and_the_rest_is_counted() {
    let memory = TestMemory::new();
    let body = "word ".repeat(5_000) + "end";
    json(&memory, &format!("insert --key long -t 'A long note' -b '{body}'"));
    let recalled = json(&memory, "recall 'a long note' --no-learn");
    let hit = &recalled["results"][0];
    assert_eq!(hit["text"].as_str().unwrap().chars().count(), 2_000);
    assert_eq!(hit["text_left_out"], 23_003);
    let known = json(&memory, "query 'a long note'");
    assert_eq!((&known["hit"], &known["body_left_out"]), (&value!("STRONG"), &value!(5_003)));
    let shown = text_output(&memory, "query 'a long note'");
    assert!(shown.contains("5003 more characters: `poc-memory get long` shows all"), "{shown}");
}

#[test]
fn a_pipeline_without_a_limit_has_at_most_1000_hits() {
    let memory = TestMemory::new();
    let notes: Vec<Value> = (0..1_010)
        .map(|number| value!({"title": format!("Note {number}"), "key": format!("n{number}")}))
        .collect();
    let ctx =
        Ctx { memory: &memory, host: &Nobody, actor: Principal::Person, may_write: true, progress: &|_| {} };
    find("insert").unwrap().run(&ctx, value!({"notes": notes})).unwrap();
    let count = |line: &str| {
        let answer = json(&memory, line);
        (answer["results"].as_array().unwrap().len(), answer["left_out"].as_u64())
    };
    assert_eq!(count("search -p all"), (1_000, Some(10)));
    assert_eq!(count("search -p all -p offset:1000"), (10, None));
    assert_eq!(count("search -p all -p limit:1005"), (1_005, None));
    let shown = text_output(&memory, "search -p all");
    assert!(shown.ends_with("10 more notes left out: add `-n N` or `-p offset:1000`\n"), "{shown}");
}

/// There may be a thousand hits with long texts.
#[test]
fn a_hit_is_not_described_when_nobody_waits_for_the_answer() {
    use crate::ops::hit::NoteRow;
    use poc_graph::cancellation::{self, CancellationToken};
    let memory = filled();
    let view = memory.store.view();
    let node = poc_notes::resolve::exact(&memory.store, "journal").unwrap().unwrap();
    let row = || NoteRow::new(&view, view.find(node.id).unwrap(), Some(&node), None, Some("journal"));
    assert_eq!(row().unwrap().key, "journal");
    let token = CancellationToken::default();
    token.cancel();
    assert!(cancellation::scope(&token, row).is_err());
}
