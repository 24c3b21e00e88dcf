//! Runs of agents: repeated runs, reviews, undo, and exit statuses.

use crate::support::World;
use serde_json::{Value, json};

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

/// The notes and edges, as lines. Visits are not part of the graph and remain after an undo.
fn graph(world: &World) -> Vec<String> {
    let lines = world.run(&["export"]).stdout;
    let plain = |line: &str| {
        let mut record: Value = serde_json::from_str(line).unwrap();
        record.as_object_mut().unwrap().remove("visits");
        record.to_string()
    };
    lines.lines().map(plain).collect()
}

/// Adds an agent whose model gives a recorded reply.
fn recorded(world: &World, more: &str, reply: &Value) {
    world.run(&["init"]);
    let folder = world.write("replies/keeper.jsonl", &format!("{reply}\n"));
    let folder = folder.parent().unwrap().display();
    let config = format!(
        "[providers.recorded]\nkind = \"replay\"\nreplies = \"{folder}\"\n[models.recorded]\nprovider = \"recorded\"\nid = \"recorded\"\n"
    );
    world.write("config.toml", &config);
    world.write(
        "agents/keeper.toml",
        &format!(
            "{more}\n[query]\npipeline = \"all | type:episodic | sort:key-len asc\"\n[prompt]\ninline = \"\"\"Look.\n{{{{ NODES }}}}\"\"\"\n\
             placeholders = [\"NODES\"]\n[execution]\nmodel = \"recorded\"\nactions = [\"link-add\", \"weight\"]\n\
             [limits]\nprotect = []\n"
        ),
    );
}

#[test]
fn a_run_can_be_reviewed_and_partly_applied_and_undone() {
    let world = World::new();
    notes(&world);
    let before = graph(&world);
    let reply = json!({"notes": "three things",
        "link-add": [{"reason": "same journal", "from": "N1", "to": "N2", "strength": 0.4},
            {"reason": "same week", "from": "N2", "to": "N3", "strength": 0.6}],
        "weight": [{"reason": "matters", "node": "N3", "delta": 0.2}]});
    recorded(&world, "mode = \"propose\"", &reply);
    let run = world.json(&["agent", "run", "keeper", "--force"]);
    let id = run["run"].as_str().unwrap();
    assert_eq!(
        (run["status"].as_str(), run["proposed"].as_array().unwrap().len()),
        (Some("proposed"), 3),
        "{run:#}"
    );
    assert_eq!(graph(&world), before);
    let waiting = world.run(&["agent", "review"]).stdout;
    assert!(waiting.contains("lunch") && waiting.contains("monday"), "{waiting}");

    world.json(&["agent", "apply", id, "--only", "2,3"]);
    world.json(&["agent", "reject", id, "--only", "1", "--note", "not the same"]);
    let applied = graph(&world);
    let shown = world.run(&["agent", "inspect", id]).stdout;
    assert!(
        shown.contains("  + 2. link `monday` to `tuesday` at 0.6") && shown.contains("  + 3. move"),
        "{shown}"
    );

    // Rejected and unknown actions cannot be undone.
    for number in ["1", "7"] {
        let refused = world.json_with_status(&["agent", "undo", id, "--only", number], 2);
        assert!(refused.to_string().contains("actions that can be undone: 2, 3"), "{refused:#}");
    }
    assert_eq!(graph(&world), applied);
    let undone = world.json(&["agent", "undo", id, "--only", "3"]);
    assert_eq!(
        (undone["undone"].as_array().unwrap().len(), &undone["in_effect"]),
        (1, &json!(2)),
        "{undone:#}"
    );
    let outcome = world.json(&["agent", "inspect", id])["outcome"].clone();
    let states: Vec<(u64, bool)> = outcome["applied"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["number"].as_u64().unwrap(), one["undone"].as_bool().unwrap()))
        .collect();
    assert_eq!(states, [(2, false)]);
    // A proposal whose approval was undone waits again.
    assert_eq!(outcome["proposed"].as_array().unwrap().len(), 2, "{outcome:#}");
    assert_eq!(world.json(&["agent", "review"])["proposals"][0]["number"], 3);
    // Undoing the rest restores everything.
    world.json(&["agent", "undo", id]);
    assert_eq!(graph(&world), before);
    assert_ne!(world.run(&["agent", "undo", id]).status, 0);
}

#[test]
fn texts_of_a_model_cannot_imitate_lines_of_the_output() {
    let world = World::new();
    notes(&world);
    let fake = "\n  9. fake";
    let reply = json!({"notes": format!("done{fake}"), "weight": [],
        "link-add": [{"reason": format!("same week{fake}"), "from": "N1", "to": "N2", "strength": 0.6},
            {"reason": "unknown", "from": format!("N8{fake}"), "to": "N2", "strength": 0.6}],
        "insert": [{"reason": format!("stated{fake}"), "key": "soup", "title": format!("Soup{fake}"),
            "body": "There was soup.", "keywords": [], "sources": ["N1"]}]});
    recorded(&world, "mode = \"propose\"", &reply);
    world.shell(r#"sed -i 's/"weight"/"insert", "weight"/' agents/keeper.toml"#);
    // One action is refused.
    let run = world.json_with_status(&["agent", "run", "keeper", "--force"], 4);
    let id = run["run"].as_str().unwrap();
    assert_eq!(run["proposed"].as_array().unwrap().len(), 2, "{run:#}");
    let check = |arguments: &[&str], contains: &str| {
        let shown = world.run(arguments).stdout;
        assert!(shown.contains(contains), "{arguments:?}: {shown}");
        assert!(
            !shown.lines().any(|line| line.trim_start().starts_with("9. fake")),
            "{arguments:?}: {shown}"
        );
    };
    check(&["agent", "inspect", id], "link `N8 9. fake` (unknown) to `monday` at 0.6: unknown-handle");
    check(&["agent", "review"], "insert \"Soup 9. fake\": stated 9. fake");
    check(&["agent", "reject", id, "--note", &format!("no{fake}")], "rejected: insert \"Soup 9. fake\"");
    check(&["agent", "review", "--rejected"], "rejected: no 9. fake");
    check(&["agent", "reopen", id], "insert \"Soup 9. fake\"");
    check(&["agent", "apply", id], "applied: insert \"Soup 9. fake\"");
    check(&["night"], "insert \"Soup 9. fake\": stated 9. fake");
    check(&["get", "lunch"], "(same week 9. fake)");
    check(&["history", "lunch"], "(same week 9. fake)");
    check(&["backlinks", "monday"], "(same week 9. fake)");
}

#[test]
fn a_run_of_a_paused_agent_mentions_the_pause() {
    let world = World::new();
    notes(&world);
    let run = |agent: &str| world.run(&["agent", "run", agent]).stdout;
    world.json(&["agent", "pause", "linker", "--note", "moving house"]);
    let text = run("linker");
    assert!(text.contains("\n  paused since ") && text.contains(": moving house\n"), "{text}");

    let file = |model: &str| {
        let text = format!(
            "[query]\npipeline = \"all\"\n[prompt]\ninline = \"{{{{ NODES }}}}\"\nplaceholders = [\"NODES\"]\n\
             [execution]\nmodel = \"{model}\"\nactions = [\"link-add\"]\n[failure]\npause-after = 2\n"
        );
        world.write("agents/keeper.toml", &text);
    };
    file("sonnet");
    assert!(!run("keeper").contains("paused"));
    let text = run("keeper");
    assert_eq!(text.matches("paused after 2 failures in a row").count(), 1, "{text}");
    file("default");
    let text = run("keeper");
    assert!(text.contains("it was paused after 2 failures in a row; this run has ended the pause"), "{text}");
    assert!(!run("keeper").contains("pause"));
}

#[test]
fn two_runs_can_be_compared() {
    let world = World::new();
    notes(&world);
    let link = |strength: f64| json!({"notes": "", "weight": [], "link-add": [{"reason": "alike", "from": "N1", "to": "N2", "strength": strength}]});
    recorded(&world, "", &link(0.4));
    let first = world.json(&["agent", "run", "keeper", "--dry-run"])["run"].as_str().unwrap().to_owned();
    assert_ne!(
        world.run(&["agent", "diff", &first, &first]).status,
        0,
        "a dry run leaves nothing to compare"
    );
    let first = world.json(&["agent", "run", "keeper"])["run"].as_str().unwrap().to_owned();

    let same = world.json(&["agent", "diff", &first, &first]);
    assert_eq!((same["prompt"].as_str(), same["reply"].as_str()), (Some(""), Some("")), "{same:#}");
    assert_eq!(same["definition"], json!([]));

    // Another note, another version of a note, another agent file, and another reply.
    world.json(&[
        "insert",
        "--key",
        "wednesday",
        "--title",
        "Wednesday",
        "--body",
        "Rain.",
        "--type",
        "episodic",
    ]);
    world.json(&["insert", "--key", "lunch", "--update", "--title", "Lunch", "--body", "Bread alone."]);
    recorded(&world, "description = \"looks twice\"", &link(0.9));
    let second = world.json(&["agent", "run", "keeper", "--force"])["run"].as_str().unwrap().to_owned();
    let found = world.json(&["agent", "diff", &first, &second]);
    assert_ne!(found["first"]["fingerprint"], found["second"]["fingerprint"]);
    assert_eq!(
        found["definition"],
        json!([{"key": "description", "first": null, "second": "\"looks twice\""}])
    );
    assert_eq!(
        found["nodes"],
        json!({"first": [], "second": ["wednesday"], "both": ["lunch", "monday", "tuesday"]})
    );
    assert_eq!(found["edited"], json!([{"key": "lunch", "first": 1, "second": 2}]));
    let prompt = found["prompt"].as_str().unwrap();
    assert!(prompt.contains("\n-Lentil soup") && prompt.contains("\n+Bread alone."), "{prompt}");
    // Each run has its own fence word, which is not a difference.
    assert!(prompt.contains("\n <<<data WORD") && !prompt.contains("\n-<<<data"), "{prompt}");
    assert!(found["reply"].as_str().unwrap().contains("0.9"), "{found:#}");
    assert_eq!(found["actions"]["first"].as_array().unwrap().len(), 1, "{found:#}");
    assert!(found["actions"]["second"][0].as_str().unwrap().contains("already-present"), "{found:#}");

    let text = world.run(&["agent", "diff", &first, &second]).stdout;
    for line in [
        "  description: - -> \"looks twice\"",
        "note lunch, version: 1 -> 2",
        "  + wednesday",
        "+Bread alone.",
    ] {
        assert!(text.contains(line), "no {line} in {text}");
    }
    let missing = world.run(&["agent", "diff", &first, "ffff"]);
    assert!(missing.status != 0 && missing.stderr.contains("`ffff`"), "{missing:?}");
}

#[test]
fn a_second_run_has_nothing_to_do_until_a_note_is_edited() {
    let world = World::new();
    notes(&world);
    let first = world.json(&["agent", "run", "linker"]);
    assert_eq!(first["selected"], 4, "{first:#}");
    assert_eq!(first["visited"].as_array().unwrap().len(), 4, "{first:#}");

    let second = world.json_with_status(&["agent", "run", "linker"], 3);
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
fn undoing_a_run_restores_the_graph() {
    let world = World::new();
    notes(&world);
    for (key, body) in
        [("crash", "A crash lost a page (INC-412)."), ("cure", "The cure of INC-412 is a journal.")]
    {
        world.json(&["insert", "--key", key, "--title", key, "--body", body]);
    }
    let before = graph(&world);
    let run = world.json(&["agent", "run", "linker"]);
    assert!(!run["applied"].as_array().unwrap().is_empty(), "{run:#}");
    assert_ne!(graph(&world), before);
    world.json(&["agent", "undo", run["run"].as_str().unwrap()]);
    assert_eq!(graph(&world), before);
    // A second undo does nothing.
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
fn the_seeds_linker_works_unchanged_and_reports_what_it_needs() {
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
    let failed = world.json_with_status(&["agent", "run", "linker"], 1);
    assert!(failed.to_string().contains("ANTHROPIC_API_KEY"), "{failed:#}");
    assert!(world.json(&["agent", "history", "linker"])["runs"][0]["status"] == "failed");
}

#[test]
fn a_broken_agent_file_is_reported_with_its_location() {
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

/// Status 3 means nothing to do, 4 that a budget or the permissions prevented the run.
#[test]
fn nothing_to_do_and_not_permitted_have_different_exit_statuses() {
    let world = World::new();
    let status = |arguments: &[&str]| world.run(arguments).status;
    world.run(&["init"]);
    assert_eq!(status(&["agent", "run", "linker"]), 3, "there are no notes");
    assert_eq!(status(&["agent", "resume", "linker"]), 3, "the agent was not paused");
    notes(&world);
    world.write(
        "agents/once.toml",
        "[query]\npipeline = \"all\"\n[prompt]\ninline = \"{{ NODES }}\"\nplaceholders = [\"NODES\"]\n\
         [execution]\nmodel = \"default\"\nactions = [\"link-add\"]\n[budget]\nmax-runs-per-day = 1\n",
    );
    assert_eq!(status(&["agent", "run", "once"]), 0);
    let stopped = world.json_with_status(&["agent", "run", "once", "--force"], 4);
    assert_eq!(stopped["reason"], "over-budget", "{stopped:#}");
    let ran = world.json(&["agent", "history", "linker"]);
    assert_eq!(ran["runs"][0]["reason"], "too-few-results", "{ran:#}");
}

/// A command that an agent's model calls can neither make a person's decisions nor start runs.
#[test]
fn a_command_called_by_an_agent_cannot_make_decisions() {
    let world = World::new();
    notes(&world);
    let ran = world.json(&["agent", "run", "linker"]);
    let run = ran["run"].as_str().unwrap();
    for arguments in [
        vec!["agent", "undo", run],
        vec!["agent", "apply", run],
        vec!["agent", "resume", "linker"],
        vec!["agent", "run", "linker"],
        vec!["undo", run],
        vec!["insert", "--title", "Mine"],
        vec!["daemon", "stop"],
        vec!["agent", "new", "more"],
    ] {
        let output =
            world.command("poc-memory").args(&arguments).env("POC_MEMORY_AGENT", "linker").output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(4), "{arguments:?}: {stderr}");
        let message = "cannot be called by an agent (`linker`, according to `POC_MEMORY_AGENT`)";
        assert!(stderr.contains(message), "{stderr}");
    }
    let read =
        world.command("poc-memory").args(["stats"]).env("POC_MEMORY_AGENT", "linker").status().unwrap();
    assert!(read.success());
}

#[test]
fn exit_statuses_follow_the_contract() {
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
