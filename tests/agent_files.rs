//! Agent files: creation, checks, parameters and reloads.

use crate::support::{WAIT_LIMIT, World};
use serde_json::Value;
use std::fs;

fn episodes(world: &World) {
    for key in ["one", "two"] {
        world.json(&[
            "insert",
            "--title",
            key,
            "--body",
            "A session about page splits.",
            "--key",
            key,
            "--type",
            "episodic",
        ]);
    }
}

fn warnings(world: &World, agent: &str) -> String {
    let checked = world.json(&["agent", "check", agent]);
    checked["agents"][0]["warnings"].to_string()
}

#[test]
fn a_new_agent_is_valid_and_overwrites_nothing() {
    let world = World::new();
    episodes(&world);
    let made = world.json(&["agent", "new", "weekly-review"]);
    assert_eq!(made["created"].as_array().unwrap().len(), 2, "{made:#}");
    let checked = world.json(&["agent", "check", "weekly-review"]);
    assert_eq!(checked["agents"][0]["errors"], Value::Array(Vec::new()), "{checked:#}");
    assert_eq!(checked["agents"][0]["warnings"], Value::Array(Vec::new()), "{checked:#}");
    let ran = world.json(&["agent", "run", "weekly-review", "--dry-run"]);
    assert_eq!(ran["selected"], 2, "{ran:#}");

    // The schema that its first line names exists.
    let file = world.home().join("agents/weekly-review.toml");
    let text = fs::read_to_string(&file).unwrap();
    let schema = text.lines().next().unwrap().strip_prefix("#:schema ").unwrap();
    let there = fs::read_to_string(world.home().join("agents").join(schema)).unwrap();
    assert_eq!(there, world.run(&["agent", "schema"]).stdout);
    assert_eq!(serde_json::from_str::<Value>(&there).unwrap(), world.json(&["agent", "schema"])["schema"]);

    for taken in
        [&["agent", "new", "weekly-review"][..], &["agent", "new", "weekly-review", "--from", "linker"]]
    {
        let error = world.json_with_status(taken, 1);
        assert_eq!(error["error"]["code"], "conflict", "{error:#}");
    }
    assert_eq!(fs::read_to_string(&file).unwrap(), text);
    // An existing prompt file is not overwritten either, and then no agent file is written.
    world.write("prompts/other.md", "mine");
    world.json_with_status(&["agent", "new", "other"], 1);
    assert!(!world.home().join("agents/other.toml").exists());
    assert_eq!(fs::read_to_string(world.home().join("prompts/other.md")).unwrap(), "mine");
    for bad in ["../x", "a b", "", ".hidden", "a/b"] {
        let error = world.json_with_status(&["agent", "new", bad], 2);
        assert_eq!(error["error"]["code"], "invalid_argument", "{error:#}");
    }
    assert_eq!(world.json_with_status(&["agent", "new", "linker"], 1)["error"]["code"], "conflict");
}

/// A file counts as deleted after two seconds, so a limit of three would measure the machine. The tests of `debounce` in
/// the daemon check the times of the scans, and all files are gone after one of them.
#[test]
fn a_thousand_files_that_are_deleted_at_once_take_effect() {
    let mut world = World::new();
    let text = "[query]\npipeline = \"all | limit:1\"\n[prompt]\ninline = \"{{ NODES }}\"\n\
                placeholders = [\"NODES\"]\n[execution]\nmodel = \"default\"\nactions = [\"link-add\"]\n";
    for number in 0..1000 {
        world.write(&format!("agents/many-{number}.toml"), text);
    }
    world.start_daemon();
    let on_demand = |status: &Value| status["agents"]["on-demand"].as_u64().unwrap_or_default();
    let before = world.json(&["daemon", "status"]);
    assert!(on_demand(&before) >= 1000, "{before:#}");
    for number in 0..1000 {
        fs::remove_file(world.home().join(format!("agents/many-{number}.toml"))).unwrap();
    }
    let after = world.until(WAIT_LIMIT, &["daemon", "status"], |status| on_demand(status) < 1000);
    assert_eq!(on_demand(&before) - on_demand(&after), 1000, "{after:#}");
    world.stop_daemon();
}

#[test]
fn a_copied_agent_has_its_own_visits() {
    let world = World::new();
    episodes(&world);
    world.json(&["agent", "new", "second", "--from", "linker"]);
    let agent = world.json(&["agent", "show", "second"]);
    let pipeline = agent["definition"]["pipeline"].as_str().unwrap();
    assert!(pipeline.contains("not-visited:second"), "{pipeline}");
    assert_eq!(agent["definition"]["template"], "second.md");
    let tests = world.json(&["agent", "test", "second"]);
    assert_eq!((&tests["failed"], &tests["passed"]), (&0.into(), &4.into()), "{tests:#}");
    world.json(&["agent", "run", "linker"]);
    assert_eq!(world.json(&["agent", "run", "second", "--dry-run"])["selected"], 2);
    let error = world.json_with_status(&["agent", "new", "third", "--from", "linkr"], 1);
    assert_eq!(error["error"]["hint"], "did you mean `linker`?", "{error:#}");
    assert!(!world.home().join("agents/third.toml").exists());
    world.write("agents/odd.toml", "[query\n");
    assert_eq!(
        world.json_with_status(&["agent", "new", "third", "--from", "odd"], 78)["error"]["code"],
        "invalid_config"
    );
}

#[test]
fn a_run_can_override_parameters() {
    let world = World::new();
    episodes(&world);
    world.write(
        "agents/pick.toml",
        "[query]\npipeline = \"all | type:${kind} | limit:${count}\"\nparams = { kind = \"daily\", count = 1 }\n\
         [prompt]\ninline = \"{{ NODES }}\"\nplaceholders = [\"NODES\"]\n\
         [execution]\nmodel = \"default\"\nactions = [\"link-add\"]\n",
    );
    let shown = world.json(&["agent", "show", "pick"]);
    assert_eq!(shown["definition"]["params"]["count"], "1", "{shown:#}");
    assert_eq!(shown["definition"]["pipeline"], "all | type:daily | limit:1");
    let nothing = world.json_with_status(&["agent", "run", "pick"], 3);
    assert_eq!(nothing["set"]["kind"], "daily", "{nothing:#}");
    let ran = world.json(&["agent", "run", "pick", "--set", "kind=episodic", "--set", "count=2"]);
    assert_eq!(
        (&ran["selected"], &ran["set"]["kind"], &ran["set"]["count"]),
        (&2.into(), &"episodic".into(), &"2".into())
    );
    let inspected = world.json(&["agent", "inspect", ran["run"].as_str().unwrap()]);
    assert_eq!(inspected["outcome"]["set"], ran["set"], "{inspected:#}");
    let rows = world.json(&["agent", "history", "pick"]);
    assert_eq!(rows["runs"][0]["set"], ran["set"], "{rows:#}");
    for (set, hint) in
        [("knd=x", "did you mean `kind`?"), ("count=many", "limit"), ("kind=episodic | all", "type")]
    {
        let error = world.json_with_status(&["agent", "run", "pick", "--set", set], 2);
        assert_eq!(error["error"]["at"]["field"], "set", "{error:#}");
        assert!(error.to_string().contains(hint), "{error:#}");
    }
    assert_eq!(world.run(&["agent", "run", "pick", "--set", "kind"]).status, 2);
}

#[test]
fn a_reload_reports_what_has_changed() {
    let mut world = World::new();
    world.run(&["init"]);
    let good =
        fs::read_to_string(world.home().join("agents/linker.toml")).unwrap().replace("linker,7d", "mine,7d");
    let story = |world: &World| {
        let reload = |status| world.json_with_status(&["agent", "reload"], status);
        let file = world.write("agents/mine.toml", &good);
        let added = reload(0);
        assert_eq!(added["changes"][0]["change"], "added", "{added:#}");
        assert_eq!(added["changes"][0]["agent"], "mine");
        assert_eq!(reload(0)["changes"], Value::Array(Vec::new()));
        fs::write(&file, good.replace("limit:20", "limit:5")).unwrap();
        assert_eq!(reload(0)["changes"][0]["change"], "changed");
        fs::write(&file, good.replace("limit:20", "limt:5")).unwrap();
        let broken = reload(78);
        assert_eq!(
            (&broken["broken"][0]["agent"], &broken["broken"][0]["last_good"]),
            (&"mine".into(), &true.into())
        );
        assert!(broken.to_string().contains("limit"), "{broken:#}");
        fs::remove_file(&file).unwrap();
        assert_eq!(reload(0)["changes"][0]["change"], "retired");
    };
    world.json(&["agent", "list"]);
    story(&world);
    // A daemon may notice a change before the reload, so only an immediate reload has a certain result.
    world.write(
        "config.toml",
        "[daemon]\nreload-quiet = \"1h\"\nreload-latest = \"1h\"\nreload-poll = \"1h\"\n",
    );
    world.start_daemon();
    story(&world);
    world.stop_daemon();
}

#[test]
fn an_agent_whose_file_was_deleted_does_not_run() {
    let mut world = World::new();
    episodes(&world);
    world.json(&["agent", "new", "mine"]);
    // The daemon does not notice that the file is deleted.
    world.write(
        "config.toml",
        "[daemon]\nreload-quiet = \"1h\"\nreload-latest = \"1h\"\nreload-poll = \"1h\"\n",
    );
    world.start_daemon();
    assert_eq!(world.json(&["agent", "run", "mine", "--dry-run"])["selected"], 2);
    fs::remove_file(world.home().join("agents/mine.toml")).unwrap();
    let refused = world.run(&["agent", "run", "mine", "--dry-run"]);
    assert_ne!(refused.status, 0, "{}", refused.stdout);
    assert!(refused.stderr.contains("the file of the agent `mine` was deleted"), "{}", refused.stderr);
    // A bundled agent needs no file.
    let bundled = world.run(&["agent", "run", "linker", "--dry-run"]);
    assert!(!bundled.stderr.contains("deleted"), "{}", bundled.stderr);
    world.stop_daemon();
}

#[test]
fn warnings_are_reported_with_their_location() {
    let world = World::new();
    let agent = |name: &str, pipeline: &str, more: &str| {
        let text = format!(
            "[query]\npipeline = \"{pipeline}\"\n[prompt]\ninline = \"Use `supersede`. {{{{ NODES }}}}\"\n\
             placeholders = [\"NODES\"]\n[execution]\nmodel = \"default\"\nactions = [\"insert\"]\n{more}"
        );
        world.write(&format!("agents/{name}.toml"), &text);
    };
    agent("first", "all | limit:5", "schedule = \"cron 0 3 1 * 1\"\n");
    agent("second", "type:semantic | limit:5", "schedule = \"daily\"\n");
    let printed = warnings(&world, "first");
    for part in [
        "`first` → `second` → `first`",
        "!provenance:second",
        "`supersede`",
        "day of the month and a day of the week",
    ] {
        assert!(printed.contains(part), "no {part} in {printed}");
    }
    let checked = world.json(&["agent", "check", "first"]);
    for warning in checked["agents"][0]["warnings"].as_array().unwrap() {
        assert!(warning["line"].is_u64() && warning["file"] == "agents/first.toml", "{warning:#}");
    }
    let text = world.run(&["agent", "check", "first"]).stdout;
    assert!(text.contains("warning: agents/first.toml:4:15: the template names the action"), "{text}");
    // The output of `split` waits for approval, so it does not trigger an agent that reads all notes.
    agent("first", "all | limit:5", "schedule = \"daily\"\n");
    agent("second", "all | !provenance:first | limit:5", "schedule = \"daily\"\n");
    assert!(!warnings(&world, "first").contains("feedback loop"));
    for bundled in ["facts", "linker", "quotations", "rename", "replay", "separator", "split", "transfer"] {
        assert_eq!(warnings(&world, bundled), "[]");
    }
}

#[test]
fn warnings_are_reported_beside_errors_and_several_agents_are_checked_at_once() {
    let world = World::new();
    let file = |model: &str| {
        format!(
            "[query]\npipeline = \"all | not-visited:crne,7d\"\n[prompt]\ninline = \"{{{{ NODES }}}}\"\n\
             placeholders = [\"NODES\"]\n[execution]\nmodel = \"{model}\"\nactions = [\"link-add\"]\n"
        )
    };
    world.write("agents/crane.toml", &file("nobody"));
    world.write("agents/other.toml", &file("default"));
    let checked = world.json_with_status(&["agent", "check", "crane", "linker"], 78);
    let agents = checked["agents"].as_array().unwrap();
    let names: Vec<&str> = agents.iter().filter_map(|agent| agent["name"].as_str()).collect();
    assert_eq!(names, ["crane", "linker"], "{checked:#}");
    assert!(agents[0]["errors"].to_string().contains("unknown model `nobody`"), "{checked:#}");
    assert!(agents[0]["warnings"].to_string().contains("the visits of `crne`"), "{checked:#}");
}

#[test]
fn a_budget_that_no_call_fits_is_warned_about() {
    let world = World::new();
    world.json(&["insert", "--title", "A note", "--body", "about page splits"]);
    world.write(
        "config.toml",
        "[models.near]\nprovider = \"near\"\nid = \"x\"\ninput-price = 1.0\noutput-price = 2.0\n\
         [providers.near]\nkind = \"openai\"\nbase-url = \"http://127.0.0.1:9\"\n",
    );
    let budget = |dollars: &str| {
        let file = format!(
            "[query]\npipeline = \"all\"\n[prompt]\ninline = \"{{{{ NODES }}}}\"\nplaceholders = [\"NODES\"]\n\
             [execution]\nmodel = \"near\"\nactions = [\"link-add\"]\n[budget]\nmax-usd-per-day = {dollars}\n"
        );
        world.write("agents/asker.toml", &file);
        warnings(&world, "asker")
    };
    let printed = budget("0.01");
    for part in ["`budget.max-usd-per-day` is $0.0100", "raise it, or lower `max-output-tokens`"] {
        assert!(printed.contains(part), "no {part} in {printed}");
    }
    assert_eq!(budget("0.5"), "[]");
}

#[test]
fn an_agent_whose_pipeline_misspells_an_agent_is_warned_about() {
    let world = World::new();
    world.json(&["agent", "new", "crane"]);
    let file = world.home().join("agents/crane.toml");
    let text = fs::read_to_string(&file).unwrap();
    let filtered = |name: &str| fs::write(&file, text.replace("not-visited:crane,", name)).unwrap();
    filtered("not-visited:crne,");
    let printed = warnings(&world, "crane");
    let column = |printed: &str| serde_json::from_str::<Value>(printed).unwrap()[0]["column"].clone();
    for part in ["the visits of `crne`", "did you mean `crane`?"] {
        assert!(printed.contains(part), "no {part} in {printed}");
    }
    assert!(column(&printed).as_u64().unwrap() > 20, "{printed}");
    filtered("not-visited:crawler,");
    let printed = warnings(&world, "crane");
    assert!(printed.contains("`not-visited:crane` keeps"), "{printed}");
    filtered("not-visited:linker,");
    assert_eq!(warnings(&world, "crane"), "[]");
    // Programs that are no agents may store visits.
    episodes(&world);
    world.json(&["visit", "crawler", "one"]);
    filtered("not-visited:crawler,");
    assert_eq!(warnings(&world, "crane"), "[]");
}
