//! Evaluation of a test set: the command, its table, its JSON, and a comparison.

use crate::support::World;
use serde_json::{Value, json};

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
fn a_test_set_is_evaluated_and_compared_without_side_effects() {
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
fn agents_are_evaluated_before_and_after_they_run() {
    let world = world();
    // The agent reads `t1` before `t2`, and the other group has no session.
    let reply = json!({"notes": "", "supersede": [], "insert": [{"reason": "she says so", "key": "", "body": "",
        "title": "Ann lives in Lisbon, near the harbour.", "keywords": [], "sources": ["N1"]}]});
    world.write("reply.json", &reply.to_string());
    let file = world.home().join("reply.json");
    let config = format!(
        "[providers.recorded]\nkind = \"command\"\ncommand = [\"cat\", \"{}\"]\n\
         [models.recorded]\nprovider = \"recorded\"\nid = \"recorded\"\n",
        file.display()
    );
    world.write("config.toml", &config);
    let report = world.json(&["eval", "own", "--agents", "facts", "--model", "recorded", "--nights", "2"]);
    let work = &report["agents"]["facts"];
    assert_eq!((work["runs"].as_u64(), &work["applied"]), (Some(1), &json!({"insert": 1})), "{report}");
    assert_eq!(report["compared"]["rows"].as_array().unwrap().len(), 3);
    assert!(!world.home().join("store").exists(), "the user's own memory was touched");
    let text = world.run(&["eval", "own", "--agents", "facts", "--model", "recorded"]).stdout;
    assert!(text.contains("against the memory before the agents ran"), "{text}");
    assert!(text.contains("facts: 1 run, applied 1 insert"), "{text}");

    let unknown = world.run(&["eval", "own", "--agents", "facts", "--model", "recordd"]);
    assert_eq!(unknown.status, 1, "{}", unknown.stderr);
    assert!(unknown.stderr.contains("did you mean `recorded`?"), "{}", unknown.stderr);
    assert_ne!(world.run(&["eval", "own", "--agents", "fact"]).status, 0);
}

#[test]
fn errors_in_a_test_set_are_reported_with_file_and_line() {
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

#[test]
fn calibration_weights_each_folder_equally() {
    let world = World::new();
    const THINGS: [&str; 5] = ["harbour", "lentil soup", "lighthouse", "broken lamp", "piano"];
    const WHERE: [&str; 5] = ["Lisbon", "Oslo", "Turin", "Ghent", "Porto"];
    for (folder, whose, things) in [("north", "Ann's", 4), ("south", "Bob's", 5)] {
        let (mut docs, mut asked, mut judged) = (String::new(), String::new(), String::new());
        for (number, thing) in THINGS[..things].iter().enumerate() {
            for (place, city) in WHERE.iter().enumerate() {
                let id = format!("{number}{place}");
                let doc = serde_json::json!({"id": format!("d{id}"), "text": format!("{whose} {thing} of {city} is old.")});
                let question = serde_json::json!({"id": format!("q{id}"), "text": format!("{whose} {thing} in {city}?")});
                docs += &format!("{doc}\n");
                asked += &format!("{question}\n");
                judged += &format!("q{id}\td{id}\t1\n");
            }
        }
        asked += "{\"id\": \"nobody\", \"text\": \"Who sells bicycles?\"}\n";
        for (file, text) in [("docs.jsonl", docs), ("queries.jsonl", asked), ("qrels.tsv", judged)] {
            world.write(&format!("{folder}/{file}"), &text);
        }
    }
    let both = ["calibrate", "--from", "north", "--from", "south"];
    let proposed = world.json(&both);
    assert_eq!(proposed["section"], "query.gates.hash");
    assert!(proposed["weak"].as_f64().unwrap() <= proposed["strong"].as_f64().unwrap());
    let asked = proposed["asked"].as_array().unwrap();
    assert_eq!(asked.iter().map(|of| of["set"].as_str().unwrap()).collect::<Vec<_>>(), ["north", "south"]);
    for (of, questions) in asked.iter().zip([20, 25]) {
        let counts = ["known", "unknown", "elsewhere"].map(|kind| of[kind]["questions"].as_u64().unwrap());
        assert_eq!(counts, [questions, questions + 1, questions + 1], "{of}");
        assert_eq!(of["known"]["right"].as_f64(), Some(1.0), "{of}");
    }
    for kind in ["known", "unknown", "elsewhere"] {
        let strong = |of: &Value| of[kind]["strong"].as_f64().unwrap();
        let mean = (strong(&asked[0]) + strong(&asked[1])) / 2.0;
        assert!((strong(&proposed["mean"]) - mean).abs() < 1e-9, "{proposed:#}");
    }
    let known = &proposed["mean"]["known"];
    assert!(known["strong"].as_f64().unwrap() >= 0.9, "{proposed:#}");
    assert!(known["strong"].as_f64().unwrap() + known["weak"].as_f64().unwrap() >= 0.975);
    assert_eq!(world.json(&["stats"])["nodes"], 0, "the user's own memory was touched");

    let result = world.run(&["query", "--calibrate", "--from", "north", "--from", "south"]);
    assert_eq!((result.status, result.stderr.as_str()), (0, ""));
    let lines: Vec<&str> = result.stdout.lines().collect();
    assert_eq!(lines[0], "[query.gates.hash]");
    assert!(lines[1].starts_with("strong = ") && lines[2].starts_with("weak = "), "{}", result.stdout);
    assert!(lines[5].starts_with("north  20: ") && lines[7].starts_with("mean   "), "{}", result.stdout);

    let twice = world.run(&["calibrate", "--from", "north", "--from", "south/../north"]);
    assert_eq!(twice.status, 2);
    assert!(
        twice.stderr.starts_with("error: `from`: the folder of `north` is given twice\n"),
        "{}",
        twice.stderr
    );
    let alone = world.run(&["calibrate", "--from", "north"]);
    assert!(
        alone.stdout.ends_with("a second `--from` shows how much of that would be STRONG\n"),
        "{}",
        alone.stdout
    );
    let few = world.run(&["calibrate"]);
    assert_eq!(few.status, 2);
    assert_eq!(
        few.stderr,
        "error: 0 questions are too few to set thresholds by\nhint: at least 20 are needed; `poc-memory calibrate --from DIR` takes those of a folder\n"
    );
}
