//! The op `consolidate`.

use super::*;
use serde_json::json;

#[test]
fn consolidate_removes_expired_notes_and_nothing_else() {
    let memory = filled();
    json(&memory, "insert --key lunch -t 'Lentil soup' -k food --expires 2026-11-21T10:00:00Z");
    json(&memory, "link btree lunch");
    insta::assert_snapshot!(text_output(&memory, "consolidate"), @"0 notes expired, 0 notes deleted, 0 edges and 0 keywords removed");
    memory.clock.advance(Span::HOUR);
    insta::assert_snapshot!(text_output(&memory, "consolidate --dry-run"), @"1 note would expire, 0 notes would be deleted, 0 edges and 1 keyword would be removed");
    let seq = memory.store.view().seq;
    insta::assert_snapshot!(text_output(&memory, "consolidate"), @r"
    1 note expired, 0 notes deleted, 0 edges and 1 keyword removed
    `poc-memory undo 6` reverts this
    ");
    assert_eq!(memory.store.view().seq, seq + 1);
    assert_eq!(json(&memory, "stats")["by_state"], json!({"active": 2, "expired": 1}));
    assert_eq!(json(&memory, "get lunch")["state"], "expired");
    assert_eq!(json(&memory, "history lunch")["changes"].as_array().unwrap().len(), 2);
    let second = json(&memory, "consolidate");
    assert_eq!(
        second,
        json!({"pruned_nodes": 0, "deleted_nodes": 0, "removed_edges": 0, "removed_keywords": 0, "changes": [], "dry_run": false})
    );
    assert_eq!(memory.store.view().seq, seq + 1, "nothing is written when there is nothing to do");

    memory.clock.advance(Span(30 * Span::DAY.0));
    let id = json(&memory, "get lunch")["id"].as_str().unwrap().to_owned();
    let third = json(&memory, "consolidate");
    assert_eq!((&third["deleted_nodes"], &third["removed_edges"]), (&json!(1), &json!(1)));
    assert!(text_output(&memory, "get lunch").starts_with("not_found"));
    assert_eq!(json(&memory, &format!("history {id}"))["changes"][2]["did"], "deleted");
    assert_eq!(json(&memory, "stats")["nodes"], json!(2));
}
