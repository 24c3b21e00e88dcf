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
fn the_parts_of_retrieval_are_measured_beside_it() {
    let world = world();
    // Only the first turn of the session contains a word of this question.
    world.write("own/queries.jsonl", "{\"id\": \"q1\", \"text\": \"moved harbour\", \"type\": \"place\"}\n");
    world.write("own/qrels.tsv", "q1\tt1\t1\nq1\tt2\t1\n");
    let report = world.json(&["eval", "own", "--baselines"]);
    let baselines = report["baselines"].as_array().unwrap();
    let names: Vec<_> = baselines.iter().map(|part| part["baseline"].as_str().unwrap()).collect();
    assert_eq!(names, ["words", "vectors", "fused"]);
    assert_eq!(mean(&baselines[0], 1, "recall_10"), 0.5, "{report:#}");
    for part in &baselines[1..] {
        assert_eq!(mean(part, 1, "recall_10"), 1.0, "{report:#}");
    }
    let text = world.run(&["eval", "own", "--baselines"]).stdout;
    let rows: Vec<&str> = text.lines().skip_while(|line| !line.starts_with("words")).collect();
    assert!(rows[0].starts_with("words     1  0.500     0.500"), "{text}");
    assert!(rows[3].starts_with("retrieve  1  1.000     1.000"), "{text}");
    assert!(world.json(&["eval", "own"]).get("baselines").is_none());
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
    let table = text.split_once("against the memory before the agents ran").unwrap().1;
    let heads = table.lines().find(|line| line.starts_with("type")).unwrap();
    assert_eq!(heads.split_whitespace().last(), Some("All@10"), "{text}");
    let rows = report["compared"]["rows"].as_array().unwrap();
    assert!(rows.iter().all(|row| row["all_10"]["mean"].is_f64()), "{report}");
    assert!(text.contains("facts: 1 run, applied 1 insert; 1 call without a price"), "{text}");
    assert_eq!((&work["reverted"], &work["unpriced_calls"]), (&json!(0), &json!(1)), "{report}");

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
        twice.stderr.starts_with("error: `--from`: the folder of `north` is given twice\n"),
        "{}",
        twice.stderr
    );
    let alone = world.run(&["calibrate", "--from", "north"]);
    assert!(alone.stdout.ends_with("a second `--from` supplies them\n"), "{}", alone.stdout);
    let few = world.run(&["calibrate"]);
    assert_eq!(few.status, 2);
    assert_eq!(
        few.stderr,
        "error: 0 questions are too few to calibrate thresholds\nhint: at least 20 are needed; `poc-memory calibrate --from FOLDER` takes those of a folder\n"
    );
}

#[test]
fn each_gate_is_measured_on_the_questions_of_a_set() {
    let world = world();
    world.write("far/docs.jsonl", "{\"id\": \"d\", \"text\": \"Bicycles\"}\n");
    world.write("far/queries.jsonl", "{\"id\": \"q\", \"text\": \"Who sells purple bicycles?\"}\n");
    world.write("far/qrels.tsv", "q\td\t1\n");
    let report = world.json(&["eval", "own", "--gates", "--foreign", "far"]);
    let gates = report["gates"].as_array().unwrap();
    let names: Vec<&str> = gates.iter().map(|of| of["gate"].as_str().unwrap()).collect();
    assert_eq!(names, ["certainty", "two-path", "fused"]);
    for of in gates {
        assert_eq!((&of["questions"], &of["foreign_questions"]), (&json!(2), &json!(1)), "{of}");
        assert_eq!(of["foreign"]["strong"], json!(0.0), "{of}");
        assert!(of["other_subject"].is_u64() && of["removed_other_subject"].is_u64(), "{of}");
        let strong = |kind: &str| of[kind]["strong"].as_f64().unwrap();
        assert!(strong("removed") <= strong("answerable"), "{of}");
    }
    assert!(!world.home().join("store").exists(), "the user's own memory was touched");
    let text = world.run(&["eval", "own", "--gates"]).stdout;
    assert!(text.contains("gate       answerable  precision  foreign  notes removed"), "{text}");
    assert!(text.contains("no foreign questions"), "{text}");
    assert_eq!(world.run(&["eval", "own", "--gates", "--confirm"]).status, 2);
    assert_eq!(world.run(&["eval", "own", "--foreign", "far"]).status, 2);
}

/// A memory of a few notes with confirmed questions, and a file of questions about it.
fn asked_world() -> World {
    let world = World::new();
    for number in 0..12 {
        world.json(&[
            "insert",
            "--key",
            &format!("other-{number}"),
            "--body",
            &format!("Remark {number} on the weather."),
        ]);
    }
    world.json(&["insert", "--key", "lunch", "--body", "On Fridays the team eats dumplings at the harbour."]);
    world.json(&[
        "insert",
        "--key",
        "seeds",
        "--body",
        "Old sunflower kernels upset its stomach, says the vet.",
    ]);
    world.write(
        "questions.jsonl",
        "{\"text\": \"where does the team eat?\", \"keys\": [\"lunch\"], \"type\": \"place\"}\n",
    );
    world
}

/// What may not change when the memory is only asked.
fn state(world: &World) -> (String, Value) {
    (world.run(&["export"]).stdout, world.json(&["changes"])["changes"].clone())
}

#[test]
fn the_users_memory_is_asked_by_confirmed_questions_and_by_a_file() {
    for with_daemon in [false, true] {
        let mut world = asked_world();
        if with_daemon {
            world.start_daemon();
        }
        let none = world.run(&["eval", "--live"]);
        assert_eq!(none.status, 2, "{}", none.stderr);
        assert!(
            none.stderr.starts_with("error: no question is confirmed in this memory\nhint: "),
            "{}",
            none.stderr
        );
        for (key, question) in [
            ("seeds", "why does the parrot refuse breakfast?"),
            ("seeds", "why does the parrot refuse its breakfast on Mondays?"),
            ("lunch", "what does the team eat on Fridays?"),
            ("lunch", "zebras?"),
        ] {
            world.json(&["reinforce", key, "--for", question]);
        }
        let before = state(&world);
        let report = world.json(&["eval", "--live"]);
        let mean = |report: &Value, measure: &str| {
            report["rows"].as_array().unwrap().last().unwrap()[measure]["mean"].as_f64()
        };
        let found = |question: &str| {
            let all = report["questions"].as_array().unwrap();
            let answer = if question == "zebras?" { "lunch" } else { "" };
            all.iter().filter(|of| of["missed"] == json!([answer])).count()
        };
        // Each question leads to the note of its paraphrase; the one without a paraphrase does not lead to its own
        // note.
        assert_eq!((report["questions"].as_array().unwrap().len(), found("zebras?")), (4, 1), "{report:#}");
        assert_eq!(mean(&report, "recall_10"), Some(0.75), "{report:#}");
        let of_file = world.json(&["eval", "--live", "questions.jsonl"]);
        assert_eq!(mean(&of_file, "recall_10"), Some(1.0), "{of_file:#}");
        assert_eq!(of_file["rows"][0]["type"], "place");
        assert_eq!(state(&world), before, "asking changed the memory");
        if with_daemon {
            world.stop_daemon();
        }
    }
}

#[test]
fn errors_in_a_file_of_live_questions_are_reported_with_file_and_line() {
    let world = asked_world();
    for (text, line, message) in [
        (
            "{\"text\": \"where?\", \"keys\": [\"lunc\"]}",
            ":1",
            "there is no note `lunc`\nhint: did you mean `lunch`?",
        ),
        ("\n{\"text\": \"where?\"}", ":2", "the question has no `keys`\nhint: write {\"text\""),
        ("{\"keys\": [\"lunch\"]}", ":1", "the question has no `text`\nhint: write {\"text\""),
        ("{", ":1", "it is not JSON"),
        ("", "", "the file has no questions\nhint: write {\"text\""),
    ] {
        world.write("bad.jsonl", text);
        let ran = world.run(&["eval", "--live", "bad.jsonl"]);
        assert_eq!(ran.status, 2, "{}", ran.stderr);
        assert!(ran.stderr.contains(&format!("bad.jsonl{line}: {message}")), "{}", ran.stderr);
    }
    let ran = world.run(&["eval", "--live", "nowhere.jsonl"]);
    assert_eq!(ran.status, 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("there is no such file"), "{}", ran.stderr);
}
