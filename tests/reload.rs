//! Agent files that appear, break, are repaired and disappear, with and without a running daemon.

use crate::support::{Deadline, WAIT_LIMIT, World, slow_agent};
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::process::Stdio;
use std::time::Duration;

const GOOD: &str = r#"description = "new here"
[query]
pipeline = "all | type:episodic | limit:5"
[prompt]
inline = "{{ NODES }}"
placeholders = ["NODES"]
[execution]
model = "default"
actions = ["link-add"]
schedule = "on-demand"
"#;

/// The time within which an edit must take effect.
const RELOAD_LIMIT: Duration = Duration::from_secs(3);

fn agent<'a>(list: &'a Value, name: &str) -> Option<&'a Value> {
    list["agents"].as_array().unwrap().iter().find(|agent| agent["name"] == name)
}

fn state(list: &Value, name: &str) -> String {
    agent(list, name).map_or("absent".into(), |agent| agent["state"].as_str().unwrap().into())
}

#[test]
fn a_new_file_is_an_agent_within_three_seconds() {
    let mut world = World::new();
    world.run(&["init"]);
    world.start_daemon();
    let file = world.write("agents/new.toml", GOOD);
    world.until(RELOAD_LIMIT, &["agent", "list"], |list| state(list, "new") == "on-demand");

    // A broken file: the last valid version stays in use, and the error is reported with its line.
    fs::write(&file, GOOD.replace("schedule =", "schedul =")).unwrap();
    let list = world.until(RELOAD_LIMIT, &["agent", "list"], |list| state(list, "new") == "last-good");
    let error = agent(&list, "new").unwrap()["error"].to_string();
    assert!(error.contains("new.toml:10") && error.contains("schedule"), "{error}");
    assert_eq!(state(&list, "linker"), state(&world.json(&["agent", "list"]), "linker"));

    // That also holds after a restart.
    world.stop_daemon();
    assert_eq!(state(&world.json(&["agent", "list"]), "new"), "last-good");
    world.start_daemon();
    assert_eq!(state(&world.json(&["agent", "list"]), "new"), "last-good");

    fs::write(&file, GOOD.replace("new here", "mended")).unwrap();
    world.until(RELOAD_LIMIT, &["agent", "list"], |list| state(list, "new") == "on-demand");

    fs::remove_file(&file).unwrap();
    world.until(Duration::from_secs(6), &["agent", "list"], |list| agent(list, "new").is_none());
}

#[test]
fn a_file_changed_without_a_daemon_is_noticed_at_the_next_start() {
    let mut world = World::new();
    world.run(&["init"]);
    world.write("agents/new.toml", GOOD);
    world.start_daemon();
    assert_eq!(state(&world.json(&["agent", "list"]), "new"), "on-demand");
    world.stop_daemon();
    fs::remove_file(world.home().join("agents/new.toml")).unwrap();
    world.start_daemon();
    assert_eq!(state(&world.json(&["agent", "list"]), "new"), "absent");
}

/// The ways in which editors save: truncate and write, write a temporary file and rename it, rename the old file and
/// write a new one, append. 400 saves in bursts of 25, each burst in another way.
#[test]
fn every_way_of_saving_takes_effect() {
    let mut world = World::new();
    world.run(&["init"]);
    let file = world.write("agents/new.toml", GOOD);
    world.start_daemon();
    for round in 0..16 {
        let last = format!("round {round} save 24");
        for save in 0..25 {
            let text = GOOD.replace("new here", &format!("round {round} save {save}"));
            match round % 4 {
                0 => fs::write(&file, text).unwrap(),
                1 => {
                    let beside = world.write("agents/.new.toml.swp", &text);
                    fs::rename(beside, &file).unwrap();
                }
                2 => {
                    fs::rename(&file, world.home().join("agents/new.toml~")).unwrap();
                    fs::write(&file, text).unwrap();
                    fs::remove_file(world.home().join("agents/new.toml~")).unwrap();
                }
                _ => {
                    fs::write(&file, "").unwrap();
                    let mut open = fs::OpenOptions::new().append(true).open(&file).unwrap();
                    text.split_inclusive('\n').for_each(|line| open.write_all(line.as_bytes()).unwrap());
                }
            }
        }
        let shown =
            world.until(RELOAD_LIMIT, &["agent", "show", "new"], |agent| agent.to_string().contains(&last));
        assert_eq!(shown["agent"]["state"], "on-demand", "{shown:#}");
    }
}

/// There is no event for an edit behind a link that leads out of the folder; the periodic scan finds it.
#[test]
fn an_edit_behind_a_link_takes_effect_at_the_next_scan() {
    let mut world = World::new();
    world.run(&["init"]);
    world.write("config.toml", "[daemon]\nreload-poll = \"1s\"\n");
    let target = world.write("elsewhere/new.toml", GOOD);
    std::os::unix::fs::symlink(&target, world.home().join("agents/new.toml")).unwrap();
    world.start_daemon();
    assert_eq!(state(&world.json(&["agent", "list"]), "new"), "on-demand");
    fs::write(&target, GOOD.replace("new here", "behind the link")).unwrap();
    world.until(Duration::from_secs(10), &["agent", "show", "new"], |agent| {
        agent.to_string().contains("behind the link")
    });
}

#[test]
fn a_bad_template_keeps_the_last_good_one_also_across_a_restart() {
    let mut world = World::new();
    world.run(&["init"]);
    let prompt = world.write("prompts/new.md", "As it was: {{ NODES }}\n");
    world.write("agents/new.toml", &GOOD.replace("inline = \"{{ NODES }}\"", "template = \"new.md\""));
    world.start_daemon();
    fs::write(&prompt, "As it is: {{ NODES | shout }}\n").unwrap();
    let list = world.until(RELOAD_LIMIT, &["agent", "list"], |list| state(list, "new") == "last-good");
    let error = agent(&list, "new").unwrap()["error"].to_string();
    assert!(error.contains("prompts/new.md:1:22") && error.contains("shout"), "{error}");
    let keeps = |world: &World| {
        let shown = world.json(&["agent", "show", "new"]);
        assert_eq!(
            (&shown["agent"]["state"], &shown["definition"]["prompt"]),
            (&"last-good".into(), &"As it was: {{ NODES }}\n".into())
        );
    };
    keeps(&world);
    world.stop_daemon();
    keeps(&world);
    world.start_daemon();
    keeps(&world);
    // Editing a template checks the agents that use it.
    fs::write(&prompt, "As it is now: {{ NODES }}\n").unwrap();
    world.until(RELOAD_LIMIT, &["agent", "show", "new"], |agent| agent.to_string().contains("As it is now"));
}

#[test]
fn a_running_agent_keeps_its_definition() {
    let mut world = World::new();
    world.write("config.toml", &slow_agent::settings(world.home()));
    world.json(&["insert", "--title", "One", "--body", "A session.", "--type", "episodic"]);
    let prompt = world.write("prompts/slow.md", "Before the edit: {{ NODES }}\n");
    let text =
        GOOD.replace("inline = \"{{ NODES }}\"", "template = \"slow.md\"").replace("\"default\"", "\"slow\"");
    let file = world.write("agents/slow.toml", &text);
    world.start_daemon();
    let run = world
        .command("poc-memory")
        .args(["--json", "agent", "run", "slow"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    world.until(WAIT_LIMIT, &["daemon", "status"], |status| status["running"].to_string().contains("slow"));
    let shown = |world: &World| world.json(&["agent", "show", "slow"])["definition"]["fingerprint"].clone();
    let before = shown(&world);
    fs::write(&prompt, "After the edit: {{ NODES }}\n").unwrap();
    fs::write(&file, text.replace("new here", "edited").replace("limit:5", "limit:4")).unwrap();
    world.until(RELOAD_LIMIT, &["agent", "show", "slow"], |agent| {
        let agent = agent.to_string();
        agent.contains("edited") && agent.contains("After the edit")
    });
    world.write("answer", "");
    let answer: Value = serde_json::from_slice(&run.wait_with_output().unwrap().stdout).unwrap();
    let first = world.json(&["agent", "inspect", answer["run"].as_str().unwrap()]);
    assert_eq!(first["fingerprint"], before, "{first:#}");
    assert!(first["prompt"].as_str().unwrap().contains("Before the edit"), "{first:#}");
    let next = world.json(&["agent", "run", "slow", "--force"]);
    let next = world.json(&["agent", "inspect", next["run"].as_str().unwrap()]);
    assert_eq!(next["fingerprint"], shown(&world));
    assert!(next["prompt"].as_str().unwrap().contains("After the edit"), "{next:#}");
}

#[test]
fn a_folder_that_vanishes_changes_nothing() {
    let mut world = World::new();
    world.run(&["init"]);
    world.write("agents/new.toml", GOOD);
    world.start_daemon();
    let (agents, away) = (world.home().join("agents"), world.home().join("away"));
    fs::rename(&agents, &away).unwrap();
    world.until(Duration::from_secs(6), &["daemon", "status"], |status| {
        !status["problems"].as_array().unwrap().is_empty()
    });
    assert_eq!(state(&world.json(&["agent", "list"]), "new"), "on-demand");
    fs::rename(&away, &agents).unwrap();
    world.until(Duration::from_secs(6), &["daemon", "status"], |status| {
        status["problems"].as_array().unwrap().is_empty()
    });
    fs::write(agents.join("new.toml"), GOOD.replace("new here", "back again")).unwrap();
    world.until(RELOAD_LIMIT, &["agent", "show", "new"], |agent| agent.to_string().contains("back again"));
}

/// Pipelines in the settings take effect like agents: at once, and in agents too.
#[test]
fn a_saved_pipeline_takes_effect_within_three_seconds() {
    let mut world = World::new();
    world.run(&["init"]);
    world.write("agents/new.toml", &GOOD.replace("all | type:episodic", "@episodes"));
    world.start_daemon();
    assert_eq!(state(&world.json(&["agent", "list"]), "new"), "invalid");
    assert_eq!(
        world.json_with_status(&["search", "-p", "@episodes"], 2)["error"]["code"],
        "invalid_argument"
    );
    world.write("config.toml", "[pipelines]\nepisodes = \"type:episodic\"\n");
    world.until(RELOAD_LIMIT, &["agent", "list"], |list| state(list, "new") == "on-demand");
    world.json(&["search", "-p", "@episodes"]);

    // A broken pipeline is reported and does not affect anything else.
    world.write("config.toml", "[pipelines]\nepisodes = \"tpye:episodic\"\nrecent = \"age:<7d\"\n");
    let list = world.until(RELOAD_LIMIT, &["agent", "list"], |list| state(list, "new") == "last-good");
    let error = agent(&list, "new").unwrap()["error"].to_string();
    assert!(error.contains("in the saved pipeline `@episodes`: unknown stage `tpye`"), "{error}");
    world.json(&["search", "-p", "@recent"]);
    let problems = world.json(&["daemon", "status"])["problems"].to_string();
    assert!(problems.contains("config.toml:2:1") && !problems.contains("restart"), "{problems}");
}

#[test]
fn broken_settings_do_not_stop_a_running_daemon() {
    let mut world = World::new();
    world.start_daemon();
    world.write("config.toml", "[search\n");
    let stats = world.run(&["stats"]);
    assert_eq!(stats.status, 0, "{}", stats.stderr);
    assert!(stats.stderr.contains("the settings are invalid"), "{}", stats.stderr);
    assert_eq!(world.run(&["daemon", "stop"]).status, 0);
    assert!(world.wait_for_daemon().success());
    assert_eq!(world.run(&["stats"]).status, 78, "without a daemon, no valid settings exist");
}

#[test]
fn edits_behind_symbolic_links_take_effect_within_three_seconds() {
    use std::os::unix::fs::symlink;
    let mut world = World::new();
    let away = poc_graph::testing::folder();
    let at = |name: &str| away.path().join(name);
    // The folder of agents is a link. One of its files is a link to a link, and so is the settings file.
    fs::create_dir_all(at("agents")).unwrap();
    fs::create_dir_all(at("shared")).unwrap();
    fs::write(at("shared/one.toml"), GOOD).unwrap();
    symlink("../shared/one.toml", at("agents/between.toml.link")).unwrap();
    symlink("between.toml.link", at("agents/one.toml")).unwrap();
    fs::write(at("agents/two.toml"), GOOD).unwrap();
    fs::write(at("settings.toml"), "").unwrap();
    symlink(at("agents"), world.home().join("agents")).unwrap();
    symlink(at("settings.toml"), world.home().join("config.toml")).unwrap();
    world.start_daemon();
    let shown = |name: &str, text: &str| {
        world.until(RELOAD_LIMIT, &["agent", "show", name], |agent| agent.to_string().contains(text));
    };
    shown("one", "new here");
    shown("two", "new here");
    fs::write(at("shared/one.toml"), GOOD.replace("new here", "behind two links")).unwrap();
    shown("one", "behind two links");
    // As some editors save: the file is replaced with another one.
    fs::write(at("shared/.one.swp"), GOOD.replace("new here", "in its place")).unwrap();
    fs::rename(at("shared/.one.swp"), at("shared/one.toml")).unwrap();
    shown("one", "in its place");
    fs::write(at("agents/two.toml"), GOOD.replace("new here", "behind a folder")).unwrap();
    shown("two", "behind a folder");
    fs::write(at("settings.toml"), "[pipelines]\nepisodes = \"type:episodic\"\n").unwrap();
    let deadline = Deadline::after(RELOAD_LIMIT);
    while world.run(&["search", "-p", "@episodes"]).status != 0 {
        deadline.wait(|| "the settings behind a link do not take effect".to_owned());
    }
}

#[test]
fn settings_of_requests_take_effect_and_the_others_are_named() {
    let mut world = World::new();
    world.start_daemon();
    for number in 0..5 {
        world.json(&["insert", "--title", &format!("Note {number}")]);
    }
    world.write("config.toml", "[list]\nlimit = 2\n[mcp]\nforget = true\n");
    world.until(RELOAD_LIMIT, &["list"], |answer| answer["notes"].as_array().unwrap().len() == 2);
    let status = world.json(&["daemon", "status"]);
    assert_eq!(status["problems"], serde_json::json!([]), "{status}");
    assert_eq!(world.json(&["config", "show"])["daemon_differs"], false);
    let shown = world.run(&["config", "set", "list.limit", "3"]).stdout;
    let now = "\n`list.limit` takes effect within seconds, without a restart of the daemon\n";
    assert!(shown.ends_with(now), "{shown}");
    world.until(RELOAD_LIMIT, &["list"], |answer| answer["notes"].as_array().unwrap().len() == 3);
    // The daemon applied one setting already, and another one waits for a restart.
    let shown = world.run(&["config", "set", "daemon.heartbeat", "2s"]).stdout;
    assert!(shown.contains("restart the daemon for `daemon.heartbeat` to take effect: "), "{shown}");
    world.until(RELOAD_LIMIT, &["daemon", "status"], |status| status.to_string().contains("heartbeat"));
    let shown = world.run(&["config", "set", "list.limit", "4"]).stdout;
    assert!(shown.contains(now), "{shown}");
    assert!(
        shown.contains("restart the daemon for settings that were changed before to take effect: "),
        "{shown}"
    );
    let shown = world.run(&["config", "set", "mcp.tools", "all"]).stdout;
    assert!(shown.contains("`mcp.tools` takes effect in new sessions of assistants, without"), "{shown}");
    let unset = world.json(&["config", "unset", "daemon.heartbeat"]);
    let flags = ["daemon_runs", "daemon_differs", "at_start"].map(|flag| unset[flag].as_bool().unwrap());
    assert_eq!(flags, [true, false, true], "{unset}");
    assert_eq!(world.json(&["config", "show"])["daemon_differs"], false);
    world.write(
        "config.toml",
        "[list]\nlimit = 4\n[rest]\nmax-body-bytes = 1000\n[daemon]\nheartbeat = \"2s\"\n",
    );
    world.until(RELOAD_LIMIT, &["list"], |answer| answer["notes"].as_array().unwrap().len() == 4);
    let named = "restart the daemon for `daemon.heartbeat`, `rest.max-body-bytes`";
    world.until(RELOAD_LIMIT, &["daemon", "status"], |status| status["problems"].to_string().contains(named));
    world.stop_daemon();
    world.start_daemon();
    assert_eq!(world.json(&["daemon", "status"])["problems"], serde_json::json!([]));
}

#[test]
fn a_person_is_notified_of_problems_and_sees_all_of_them() {
    let mut world = World::new();
    let log_file = world.home().join("said");
    world.write(
        "config.toml",
        &format!(
            "[notify]\ncommand = [\"sh\", \"-c\", \"cat >> {0}; echo >> {0}\"]\nevery = \"1s\"\n",
            log_file.display()
        ),
    );
    world.write("agents/new.toml", GOOD);
    world.start_daemon();
    world.json(&["insert", "--title", "A note", "--type", "episodic"]);
    world.json(&["agent", "pause", "new", "--note", "for the holidays"]);
    world.write("agents/broken.toml", "[query]\n");
    let status = world
        .until(WAIT_LIMIT, &["daemon", "status"], |status| status["problems"].to_string().contains("broken"));
    assert!(status["waiting"][0].as_str().unwrap().contains("agent `new`"), "{status}");
    assert_eq!(status["backlog"]["new"], 1, "{status}");
    let messages = || -> Vec<Value> {
        let text = fs::read_to_string(&log_file).unwrap_or_default();
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    };
    let wait_for = |what: &dyn Fn(&Value) -> bool| {
        let deadline = Deadline::after(WAIT_LIMIT);
        while !messages().iter().any(what) {
            deadline.wait(|| format!("not told: {:?}", messages()));
        }
    };
    wait_for(&|message| message["problems"].to_string().contains("broken"));
    fs::remove_file(world.home().join("agents/broken.toml")).unwrap();
    world.json(&["agent", "resume", "new"]);
    wait_for(&|message| message["problems"] == serde_json::json!([]));
    assert!(messages().len() <= 4, "{:?}", messages());
}

#[test]
fn the_log_is_divided_and_bounded() {
    let mut world = World::new();
    world.write("config.toml", "[daemon]\nlog-max-bytes = 65536\nlog-files = 3\n");
    fs::write(world.home().join("daemon.log"), "x".repeat(65_500) + "\n").unwrap();
    world.start_daemon();
    let sizes = || {
        ["daemon.log", "daemon.log.1", "daemon.log.2", "daemon.log.3"]
            .map(|name| fs::metadata(world.home().join(name)).ok().map(|file| file.len()))
    };
    let [log, first, second, third] = sizes();
    assert!(log.is_some_and(|bytes| bytes > 0 && bytes < 65_536), "{log:?}");
    assert_eq!((first, second, third), (Some(65_501), None, None));
    assert!(world.run(&["daemon", "log"]).stdout.contains("started"));
    world.stop_daemon();
}
