//! Samples of the cosines between new notes or questions and stored notes.

use super::*;
use poc_notes::samples;
use serde_json::json;

fn counts(memory: &TestMemory) -> (u64, u64) {
    let cosines = &json(memory, "stats")["cosines"];
    (cosines["insert"]["count"].as_u64().unwrap(), cosines["query"]["count"].as_u64().unwrap())
}

#[test]
fn cosines_of_inserts_and_questions_are_sampled() {
    let memory = filled();
    assert_eq!(counts(&memory), (1, 0), "the second note met the first");
    let cosines = json(&memory, "stats")["cosines"]["insert"].clone();
    assert_eq!((&cosines["p25"], &cosines["p99"]), (&cosines["p50"], &cosines["p50"]));
    assert!(cosines["p50"].as_f64().is_some_and(|p50| (p50 - 0.515).abs() < 0.005), "{cosines}");
    let seq = memory.store.view().seq;
    json(&memory, "query 'something else entirely'");
    assert_eq!(counts(&memory), (1, 2));
    assert_eq!(memory.store.view().seq, seq, "a question writes nothing");
    samples::flush(&memory).unwrap();
    assert_eq!((counts(&memory), memory.store.view().seq), ((1, 2), seq + 1));
    samples::flush(&memory).unwrap();
    assert_eq!((counts(&memory), memory.store.view().seq), ((1, 2), seq + 1), "once");
    let text = text_output(&memory, "stats");
    assert!(text.contains("\nqueries  cosines of `hash"), "{text}");
}

#[test]
fn signals_only_and_read_only_callers_leave_no_samples() {
    let memory = filled();
    json(&memory, "query --signals-only 'b-tree splits'");
    let reader =
        Ctx { memory: &memory, host: &Nobody, actor: Principal::Person, may_write: false, progress: &|_| {} };
    find("query").unwrap().run(&reader, json!({"query": "b-tree splits"})).unwrap();
    let seq = memory.store.view().seq;
    samples::flush(&memory).unwrap();
    assert_eq!((counts(&memory), memory.store.view().seq), ((1, 0), seq), "nothing was pending");
}

#[test]
fn duplicates_and_failed_inserts_are_not_sampled() {
    let memory = filled();
    json(&memory, "insert -t 'B-tree splits' -b 'A split writes two pages.' -k storage");
    assert!(call(&memory, "insert -t x --key btree").is_err());
    assert_eq!(counts(&memory), (1, 0));
}
