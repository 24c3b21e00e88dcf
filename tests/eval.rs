//! Measuring a set of one's own: the command, its table, its JSON, and a comparison.

use crate::support::World;
use serde_json::Value;

const DOCS: &str = r#"{"id": "t1", "text": "Ann: I have moved to the harbour of Lisbon.", "meta": {"session": 1, "speaker": "Ann"}}
{"id": "t2", "text": "Bob: What did you pay for it?", "meta": {"session": 1, "speaker": "Bob"}}
{"id": "n1", "title": "Lentil soup", "text": "With lemon and bread."}
"#;
const ASKED: &str = r#"{"id": "q1", "text": "Where does Ann live now?", "type": "place"}
{"id": "q2", "text": "What goes with the soup?", "type": "food"}
{"id": "q3", "text": "Who knows?", "type": "food"}
"#;
const JUDGED: &str = "q1\tt1\t1\nq2\tn1\t1\n";

fn world() -> World {
    let world = World::new();
    for (file, text) in [("docs.jsonl", DOCS), ("queries.jsonl", ASKED), ("qrels.tsv", JUDGED)] {
        world.write(&format!("own/{file}"), text);
    }
    world
}

fn mean(report: &Value, row: usize, measure: &str) -> f64 {
    report["rows"][row][measure]["mean"].as_f64().unwrap()
}

#[test]
fn a_set_is_measured_and_compared_and_nothing_is_left_behind() {
    let world = world();
    let first = world.json(&["eval", "own"]);
    assert_eq!((first["set"].as_str(), first["documents"].as_u64()), (Some("own"), Some(3)));
    let kinds: Vec<_> =
        first["rows"].as_array().unwrap().iter().map(|row| row["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["food", "place", "all"]);
    assert_eq!(mean(&first, 2, "recall_10"), 1.0);
    assert_eq!(first["left_out"], serde_json::json!(["q3"]));
    assert!(first["ingest"]["documents_per_second"].as_f64().unwrap() > 0.0);
    assert!(!world.home().join("store").exists(), "the user's own memory was touched");

    world.write("before.json", &first.to_string());
    let ran = world.run(&["eval", "own", "--compare", "before.json"]);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert!(lines[0].starts_with("own: 3 documents, 2 questions, embedder `"), "{}", ran.stdout);
    assert_eq!(
        lines[2].split_whitespace().collect::<Vec<_>>(),
        ["type", "n", "Recall@5", "Recall@10", "nDCG@10", "MRR@10"]
    );
    assert!(lines[5].starts_with("all    2  1.000 [1.000 1.000]  1.000 [1.000 1.000]"), "{}", ran.stdout);
    assert!(ran.stdout.contains("left out: 1 question without a relevant document"));
    assert!(ran.stdout.contains("all    2  +0.000 [+0.000 +0.000]"), "{}", ran.stdout);
}

#[test]
fn what_is_wrong_with_a_set_is_told_with_file_and_line() {
    let world = world();
    world.write("own/qrels.tsv", "q1\tt9\t1\n");
    let ran = world.run(&["eval", "own"]);
    assert_eq!(ran.status, 2);
    assert_eq!(
        ran.stderr,
        "error: own/qrels.tsv:1: there is no document `t9`\nhint: the second column is the `id` of a line in `docs.jsonl`\n"
    );
    assert_eq!(world.run(&["eval", "nowhere"]).status, 1);
    world.write("own/qrels.tsv", JUDGED);
    world.write("old.json", "{\"set\": 5}");
    let ran = world.run(&["eval", "own", "--compare", "old.json"]);
    assert_eq!(ran.status, 2);
    assert!(ran.stderr.starts_with("error: old.json:1:"), "{}", ran.stderr);
    assert_eq!(world.run(&["--tenant", "user=ann", "eval", "own"]).status, 2);
}
