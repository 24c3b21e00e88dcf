//! Agents from the outside: run, run again, edit, run, undo; exit statuses.

use crate::support::World;
use serde_json::Value;

fn notes(world: &World) {
    for (key, kind, text) in [
        ("monday", "episodic", "The B-tree split lost a key in the crash test of the storage engine."),
        (
            "tuesday",
            "episodic",
            "The journal now records the B-tree split of the storage engine as one entry.",
        ),
        ("btree", "semantic", "A B-tree split in the storage engine goes through the journal as one entry."),
        ("lunch", "episodic", "Lentil soup with lemon, bread and butter."),
    ] {
        world.json(&["insert", "--key", key, "--title", text, "--body", text, "--type", kind]);
    }
}

#[test]
fn a_second_run_has_nothing_to_do_until_a_note_is_edited() {
    let world = World::new();
    notes(&world);
    let first = world.json(&["agent", "run", "linker"]);
    assert_eq!(first["selected"], 3, "{first:#}");
    assert_eq!(first["visited"].as_array().unwrap().len(), 3, "{first:#}");

    let second = world.json_ending(&["agent", "run", "linker"], 3);
    assert_eq!((second["status"].as_str(), second["reason"].as_str()), (Some("skipped"), Some("not-stale")));

    world.json(&[
        "insert",
        "--key",
        "lunch",
        "--update",
        "--title",
        "Lunch",
        "--body",
        "Lentil soup, and talk of the B-tree.",
    ]);
    let third = world.json(&["agent", "run", "linker"]);
    assert_eq!(third["visited"].as_array().unwrap().len(), 1, "{third:#}");
    let seen = |key: &str| world.json(&["get", key])["visits"][0]["version"].clone();
    assert_eq!((seen("lunch"), seen("monday")), (2.into(), 1.into()));

    let history = world.json(&["agent", "history", "linker"]);
    assert_eq!(history["runs"].as_array().unwrap().len(), 3, "{history:#}");
}

#[test]
fn a_run_undone_leaves_the_graph_as_it_was() {
    let world = World::new();
    notes(&world);
    let graph = |world: &World| {
        let lines = world.run(&["export"]).stdout;
        // Visits are no part of the graph: they say who looked, and stay.
        lines
            .lines()
            .map(|line| {
                let mut record: Value = serde_json::from_str(line).unwrap();
                record.as_object_mut().unwrap().remove("visits");
                record.to_string()
            })
            .collect::<Vec<_>>()
    };
    let before = graph(&world);
    let run = world.json(&["agent", "run", "linker"]);
    assert!(!run["applied"].as_array().unwrap().is_empty(), "{run:#}");
    assert_ne!(graph(&world), before);
    world.json(&["agent", "undo", run["run"].as_str().unwrap()]);
    assert_eq!(graph(&world), before);
    // Once is enough.
    assert_ne!(world.run(&["agent", "undo", run["run"].as_str().unwrap()]).status, 0);
}

#[test]
fn a_dry_run_changes_nothing() {
    let world = World::new();
    notes(&world);
    let before = world.run(&["export"]).stdout;
    let run = world.json(&["agent", "run", "linker", "--dry-run"]);
    assert!(run["selected"].as_u64().unwrap() > 0);
    assert_eq!(world.run(&["export"]).stdout, before);
    assert!(world.json(&["agent", "history", "linker"])["runs"].as_array().unwrap().is_empty());
}

#[test]
fn the_seeds_linker_works_unchanged_and_says_what_it_needs() {
    let world = World::new();
    notes(&world);
    world.run(&["init"]);
    world.write(
        "agents/linker.toml",
        r#"# agents/linker.toml
[query]
pipeline = "all | type:episodic | not-visited:linker,7d | sort:priority | limit:20"

[prompt]
template = "linker.md"
placeholders = ["TOPOLOGY", "NODES"]

[execution]
model = "sonnet"
actions = ["link-add", "weight"]         # allowed poc-memory actions in response
schedule = "daily"                       # or "on-demand"
"#,
    );
    let list = world.json(&["agent", "list"]);
    let linker = list["agents"].as_array().unwrap().iter().find(|agent| agent["name"] == "linker").unwrap();
    assert!(linker["error"].to_string().contains("ANTHROPIC_API_KEY"), "{linker:#}");
    let failed = world.json_ending(&["agent", "run", "linker"], 1);
    assert!(failed.to_string().contains("ANTHROPIC_API_KEY"), "{failed:#}");
    assert!(world.json(&["agent", "history", "linker"])["runs"][0]["status"] == "failed");
}

#[test]
fn a_broken_agent_file_is_shown_with_its_place() {
    let world = World::new();
    world.run(&["init"]);
    world.write("agents/odd.toml", "[query]\npipeline = \"all | tpye:episodic\"\n[prompt]\ntemplate = \"linker.md\"\nplaceholders = []\n[execution]\nmodel = \"default\"\nactions = [\"link-ad\"]\n");
    let ran = world.run(&["agent", "check", "odd"]);
    assert_eq!(ran.status, 78, "{ran:#?}");
    let text = ran.stdout + &ran.stderr;
    for part in ["odd.toml:2", "tpye", "type", "odd.toml:8", "link-ad", "link-add"] {
        assert!(text.contains(part), "no {part} in {text}");
    }
}

#[test]
fn exit_statuses_are_those_of_the_contract() {
    let mut world = World::new();
    assert_eq!(world.run(&["search", "-p", "all | nonsense"]).status, 2);
    assert_eq!(world.run(&["nonsense"]).status, 2);
    assert_eq!(world.run(&["get", "nothing"]).status, 1);
    assert_eq!(world.run(&["daemon", "status"]).status, 5);
    world.write("config.toml", "[text]\nk2 = 1.0\n");
    let ran = world.run(&["stats"]);
    assert_eq!(ran.status, 78, "{ran:#?}");
    assert!(ran.stderr.contains("config.toml:2") && ran.stderr.contains("k2"), "{}", ran.stderr);
    std::fs::remove_file(world.home().join("config.toml")).unwrap();
    world.start_daemon();
    let second = world.command("poc-daemon").output().unwrap();
    assert_eq!(second.status.code(), Some(5));
    assert!(String::from_utf8_lossy(&second.stderr).contains(&world.daemon_pid().to_string()));
}
