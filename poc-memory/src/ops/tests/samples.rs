//! The cosines that notes and questions meet.

use super::*;
use poc_notes::samples;
use serde_json::json;

fn counts(memory: &Scratch) -> (u64, u64) {
    let cosines = &json(memory, "stats")["cosines"];
    (cosines["insert"]["count"].as_u64().unwrap(), cosines["query"]["count"].as_u64().unwrap())
}

#[test]
fn inserts_and_questions_are_counted() {
    let memory = filled();
    assert_eq!(counts(&memory), (1, 0), "the second note met the first");
    let cosines = json(&memory, "stats")["cosines"]["insert"].clone();
    assert_eq!((&cosines["p25"], &cosines["p99"]), (&cosines["p50"], &cosines["p50"]));
    assert!(cosines["p50"].as_f64().is_some_and(|p50| (p50 - 0.515).abs() < 0.005), "{cosines}");
    let seq = memory.store.view().seq;
    json(&memory, "query 'something else entirely'");
    assert_eq!(counts(&memory), (1, 2));
    assert_eq!(memory.store.view().seq, seq, "a question writes nothing");
    assert!(samples::any_wait(&memory));
    samples::keep(&memory).unwrap();
    assert_eq!((counts(&memory), memory.store.view().seq), ((1, 2), seq + 1));
    samples::keep(&memory).unwrap();
    assert_eq!((counts(&memory), memory.store.view().seq), ((1, 2), seq + 1), "once");
    let text = say(&memory, "stats");
    assert!(text.contains("\nqueries  cosines of `hash"), "{text}");
}

#[test]
fn who_only_judges_or_may_only_read_leaves_no_trace() {
    let memory = filled();
    json(&memory, "query --signals-only 'b-tree splits'");
    let reader =
        Ctx { memory: &memory, host: &Nobody, actor: Actor::Person, may_write: false, progress: &|_| {} };
    (find("query").unwrap().run)(&reader, json!({"query": "b-tree splits"})).unwrap();
    assert!(!samples::any_wait(&memory));
    assert_eq!(counts(&memory), (1, 0));
}

#[test]
fn what_a_duplicate_and_a_failed_insert_meet_is_not_counted() {
    let memory = filled();
    json(&memory, "insert -t 'B-tree splits' -b 'A split writes two pages.' -k storage");
    assert!(call(&memory, "insert -t x --key btree").is_err());
    assert_eq!(counts(&memory), (1, 0));
}
