//! Former keys: a renamed note is found under all its names on every surface.

use crate::support::World;
use crate::support::http::{Http, ON};
use serde_json::{Value, json};

fn keys(answer: &Value) -> Vec<&str> {
    answer["results"].as_array().unwrap().iter().map(|hit| hit["key"].as_str().unwrap()).collect()
}

#[test]
fn a_former_key_works_wherever_a_key_does() {
    let mut world = World::new();
    let soup = "{\"key\": \"soup\", \"body\": \"Lentils with lemon.\"}\n";
    world.write("notes.jsonl", soup);
    world.json(&["import", "notes.jsonl"]);
    world.json(&["insert", "--key", "bread", "--body", "Rye bread goes with the soup."]);
    world.json(&["--tenant", "team=blue", "insert", "--key", "soup", "--body", "Peas."]);
    world.write("config.toml", ON);
    world.start_daemon();
    let http = Http::of(&world);
    let renamed = http.call("POST /v1/rename", Some(&json!({"node": "soup", "key": "lentil-soup"}))).json();
    assert_eq!((&renamed["key"], &renamed["former"]), (&json!("lentil-soup"), &json!("soup")));
    let id = renamed["id"].as_str().unwrap();

    // Commands and routes that name a note.
    assert_eq!(world.json(&["get", "soup"])["aliases"], json!(["soup"]));
    assert!(world.run(&["get", "soup"]).stdout.contains("formerly   soup\n"));
    assert_eq!(http.call("GET /v1/nodes/soup", None).json()["id"], id);
    assert_eq!(world.json(&["link", "bread", "soup"])["to"], "lentil-soup");
    assert_eq!(keys(&world.json(&["search", "-p", "neighbors:soup"])), ["bread"]);
    assert_eq!(keys(&world.json(&["search", "-p", "all | linked-to:soup"])), ["bread"]);
    assert_eq!(keys(&world.json(&["search", "-p", "all | key:soup"])), ["lentil-soup"]);
    assert_eq!(world.json(&["retrieve", "soup"])["results"][0]["key"], "lentil-soup");
    assert_eq!(world.json(&["query", "soup"])["id"], id);
    assert_eq!(world.json(&["--tenant", "team=blue", "get", "soup"])["key"], "soup");

    // An import under the former key updates the note, and a link to the former key is a link to the note.
    let more = soup.replace("lemon", "mint") + "{\"key\": \"menu\", \"body\": \"Tonight: [[soup]]\"}\n";
    world.write("notes.jsonl", &more);
    let imported = world.json(&["import", "notes.jsonl"]);
    assert_eq!((&imported["updated"], &imported["inserted"]), (&json!(1), &json!(1)), "{imported:#}");
    assert_eq!(world.json(&["get", "lentil-soup"])["body"], "Lentils with mint.");
    assert_eq!(world.json(&["get", "menu"])["edges"]["link"][0]["key"], "lentil-soup");

    // No other note gets the name until `--forget` removes it.
    let taken = world.json_with_status(&["insert", "--key", "soup", "--body", "Tomatoes."], 1);
    assert_eq!(taken["error"]["code"], "conflict");
    assert_eq!(world.json(&["rename", "lentil-soup", "--forget", "soup"])["aliases"], Value::Null);
    assert_eq!(world.json_with_status(&["get", "soup"], 1)["error"]["code"], "not_found");
    world.json(&["insert", "--key", "soup", "--body", "Tomatoes."]);
    world.stop_daemon();
}

#[test]
fn an_alias_of_a_file_names_its_note_like_a_title_or_a_key() {
    let world = World::new();
    let file =
        "---\naliases:\n  - Zebra Plan\n---\n# The roadmap of the park\n\nFirst the gate, then the pond.\n";
    world.write("plans/r.md", file);
    world.write("plans/bread.md", "Rye bread, as in the Zebra Plan.\n");
    world.write("diary/monday.md", "We follow the [[Zebra Plan]].\n");
    world.json(&["import", "plans"]);
    assert_eq!(world.json(&["import", "diary"])["unresolved"], json!([]));
    let note = world.json(&["get", "zebra plan"]);
    assert_eq!((&note["key"], &note["other_names"]), (&json!("r"), &json!(["Zebra Plan"])));
    assert!(world.run(&["get", "r"]).stdout.contains("also       Zebra Plan\n"));
    assert_eq!(world.json(&["get", "monday"])["edges"]["link"][0]["key"], "r");
    assert_eq!(world.json(&["link", "bread", "Zebra Plan"])["to"], "r");
    let around = world.json(&["search", "-p", "neighbors:\"zebra plan\""]);
    assert!(["bread", "monday"].iter().all(|key| keys(&around).contains(key)), "{around:#}");
    for question in ["Zebra Plan", "zebra plan"] {
        let answer = world.json(&["query", question]);
        assert_eq!((&answer["hit"], &answer["key"]), (&json!("STRONG"), &json!("r")), "{answer:#}");
    }
    let answer = world.json(&["query", "what is in the Zebra Plan?"]);
    assert_eq!(answer["key"], "r", "{answer:#}");
    // The file is exported as it was, and an export of the note brings its names back.
    world.run(&["export", "--vault", "out"]);
    assert_eq!(std::fs::read_to_string(world.home().join("out/r.md")).unwrap(), file);
    let exported = world.run(&["export"]).stdout;
    let copy = World::new();
    copy.write("all.jsonl", &exported);
    copy.json(&["import", "all.jsonl"]);
    assert_eq!(copy.json(&["get", "Zebra Plan"])["key"], "r");
    // Removed from the file, it is a name no more.
    world.write("plans/r.md", "# The roadmap of the park\n\nFirst the gate, then the pond.\n");
    assert_eq!(world.json(&["import", "plans"])["updated"], 1);
    assert_eq!(world.json_with_status(&["get", "Zebra Plan"], 1)["error"]["code"], "not_found");
}

#[test]
fn a_renaming_is_in_history_and_changes_and_can_be_undone() {
    let world = World::new();
    world.json(&["insert", "--key", "soup", "--body", "Lentils with lemon."]);
    let before = world.run(&["export"]).stdout;
    assert_eq!(
        world.run(&["rename", "soup", "lentils"]).stdout,
        "renamed `soup` to `lentils`; former keys: soup\n"
    );
    let exported = world.run(&["export"]).stdout;
    let history = world.json(&["history", "lentils"]);
    let last = history["changes"].as_array().unwrap().last().unwrap();
    assert_eq!((&last["op"], &last["fields"][0]["field"]), (&json!("rename"), &json!("key")), "{last:#}");
    assert_eq!(world.json(&["changes", "--limit", "1"])["changes"][0]["op"], "rename");
    let seq = last["seq"].to_string();
    world.json(&["undo", &seq]);
    assert_eq!(world.run(&["export"]).stdout, before);
    assert_eq!(world.json_with_status(&["get", "lentils"], 1)["error"]["code"], "not_found");

    // The export of the renamed note brings all its names back.
    let copy = World::new();
    copy.write("all.jsonl", &exported);
    copy.json(&["import", "all.jsonl"]);
    assert_eq!(copy.run(&["export"]).stdout, exported);
    assert_eq!(copy.json(&["get", "soup"])["key"], "lentils");
}

/// An agent of supersessions whose model gives a recorded reply.
fn renaming_agent(world: &World, reply: &Value) {
    world.run(&["init"]);
    let folder = world.write("replies/namer.jsonl", &format!("{reply}\n"));
    let folder = folder.parent().unwrap().display();
    let config = format!(
        "[providers.recorded]\nkind = \"replay\"\nreplies = \"{folder}\"\n[models.recorded]\nprovider = \"recorded\"\nid = \"recorded\"\n"
    );
    world.write("config.toml", &config);
    world.write(
        "agents/namer.toml",
        "[query]\npipeline = \"all | generated-key | not-visited:namer\"\n[prompt]\ninline = \"\"\"Name.\n{{ NODES }}\"\"\"\n\
         placeholders = [\"NODES\"]\n[execution]\nmodel = \"recorded\"\nactions = [\"supersede\"]\n[limits]\nprotect = []\n",
    );
}

#[test]
fn an_approved_renaming_of_an_agent_keeps_session_links_and_visits() {
    let world = World::new();
    let turn = |key: &str, body: &str| format!("{}\n", json!({"key": key, "body": body, "session": "one"}));
    let turns = [
        turn("a", "The journal lost a page."),
        turn("b0ab338c-91f2", "The checkpoint came too late, so the page was gone."),
        turn("c", "Then we moved the checkpoint."),
    ];
    world.write("session.jsonl", &turns.concat());
    world.json(&["import", "session.jsonl"]);
    world.json(&["link", "a", "b0ab338c-91f2"]);
    world.json(&["visit", "linker", "b0ab338c-91f2"]);
    world.json(&["reinforce", "b0ab338c-91f2", "--for", "why was the page gone"]);
    let before = world.json(&["get", "b0ab338c-91f2"]);
    let reply = json!({"notes": "", "supersede": [
        {"reason": "generated", "node": "N1", "by": "", "key": "late-checkpoint", "title": "", "body": ""}]});
    renaming_agent(&world, &reply);
    let run = world.json(&["agent", "run", "namer"]);
    assert_eq!(run["status"], "proposed", "{run:#}");
    let id = run["run"].as_str().unwrap();
    world.json(&["agent", "apply", id]);

    let after = world.json(&["get", "b0ab338c-91f2"]);
    assert_eq!(after["key"], "late-checkpoint");
    for field in [
        "id",
        "title",
        "body",
        "edges",
        "version",
        "modified",
        "accesses",
        "replay_interval",
        "trust",
        "provenance",
    ] {
        assert_eq!(after[field], before[field], "{field}");
    }
    let visits =
        |answer: &Value| answer["visits"].as_array().unwrap().iter().any(|row| row["agent"] == "linker");
    assert!(visits(&after));
    world.json(&["agent", "undo", id]);
    assert_eq!(world.json(&["get", "b0ab338c-91f2"])["key"], "b0ab338c-91f2");
    assert_eq!(world.json_with_status(&["get", "late-checkpoint"], 1)["error"]["code"], "not_found");
}
