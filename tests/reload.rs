//! Agent files that come, break, mend and go while the daemon runs, and while it does not.

use crate::support::World;
use serde_json::Value;
use std::fs;
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

/// An edit takes effect within this time.
const PROMPT: Duration = Duration::from_secs(3);

fn agent<'a>(list: &'a Value, name: &str) -> Option<&'a Value> {
    list["agents"].as_array().unwrap().iter().find(|agent| agent["name"] == name)
}

fn state(list: &Value, name: &str) -> String {
    agent(list, name).map_or("absent".into(), |agent| agent["state"].as_str().unwrap().into())
}

#[test]
fn a_dropped_file_is_an_agent_within_three_seconds() {
    let mut world = World::new();
    world.run(&["init"]);
    world.start_daemon();
    let file = world.write("agents/new.toml", GOOD);
    world.until(PROMPT, &["agent", "list"], |list| state(list, "new") == "on-demand");

    // Broken: the last good version goes on, and the error is shown with its line.
    fs::write(&file, GOOD.replace("schedule =", "schedul =")).unwrap();
    let list = world.until(PROMPT, &["agent", "list"], |list| state(list, "new") == "last-good");
    let error = agent(&list, "new").unwrap()["error"].to_string();
    assert!(error.contains("new.toml:10") && error.contains("schedule"), "{error}");
    assert_eq!(state(&list, "linker"), state(&world.json(&["agent", "list"]), "linker"));

    // Across a restart too.
    world.stop_daemon();
    assert_eq!(state(&world.json(&["agent", "list"]), "new"), "last-good");
    world.start_daemon();
    assert_eq!(state(&world.json(&["agent", "list"]), "new"), "last-good");

    fs::write(&file, GOOD.replace("new here", "mended")).unwrap();
    world.until(PROMPT, &["agent", "list"], |list| state(list, "new") == "on-demand");

    fs::remove_file(&file).unwrap();
    world.until(Duration::from_secs(6), &["agent", "list"], |list| agent(list, "new").is_none());
}

#[test]
fn a_file_changed_while_no_daemon_ran_is_seen_at_the_next_start() {
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

/// The ways editors save: rename over, truncate and write, write beside and rename with a backup.
#[test]
fn every_way_of_saving_takes_effect() {
    let mut world = World::new();
    world.run(&["init"]);
    let file = world.write("agents/new.toml", GOOD);
    world.start_daemon();
    for round in 0..6 {
        let wanted = format!("round {round}");
        let text = GOOD.replace("new here", &wanted);
        match round % 3 {
            0 => fs::write(&file, text).unwrap(),
            1 => {
                let beside = world.write("agents/.new.toml.swp", &text);
                fs::rename(beside, &file).unwrap();
            }
            _ => {
                fs::rename(&file, world.home().join("agents/new.toml~")).unwrap();
                fs::write(&file, text).unwrap();
                fs::remove_file(world.home().join("agents/new.toml~")).unwrap();
            }
        }
        world.until(PROMPT, &["agent", "show", "new"], |agent| agent.to_string().contains(&wanted));
    }
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
    world.until(PROMPT, &["agent", "show", "new"], |agent| agent.to_string().contains("back again"));
}

/// Pipelines are saved in the settings and take effect like agents: at once, and in them too.
#[test]
fn a_saved_pipeline_takes_effect_within_three_seconds() {
    let mut world = World::new();
    world.run(&["init"]);
    world.write("agents/new.toml", &GOOD.replace("all | type:episodic", "@episodes"));
    world.start_daemon();
    assert_eq!(state(&world.json(&["agent", "list"]), "new"), "invalid");
    assert_eq!(world.json_ending(&["search", "-p", "@episodes"], 2)["error"]["code"], "invalid_argument");
    world.write("config.toml", "[pipelines]\nepisodes = \"type:episodic\"\n");
    world.until(PROMPT, &["agent", "list"], |list| state(list, "new") == "on-demand");
    world.json(&["search", "-p", "@episodes"]);

    // A broken one is told, and takes nothing else along.
    world.write("config.toml", "[pipelines]\nepisodes = \"tpye:episodic\"\nrecent = \"age:<7d\"\n");
    let list = world.until(PROMPT, &["agent", "list"], |list| state(list, "new") == "last-good");
    let error = agent(&list, "new").unwrap()["error"].to_string();
    assert!(error.contains("in the saved pipeline `@episodes`: unknown stage `tpye`"), "{error}");
    world.json(&["search", "-p", "@recent"]);
    let problems = world.json(&["daemon", "status"])["problems"].to_string();
    assert!(problems.contains("config.toml:2:1") && !problems.contains("restart"), "{problems}");
}

#[test]
fn broken_settings_lock_nobody_out_of_a_running_daemon() {
    let mut world = World::new();
    world.start_daemon();
    world.write("config.toml", "[search\n");
    let told = world.run(&["stats"]);
    assert_eq!(told.status, 0, "{}", told.stderr);
    assert!(told.stderr.contains("the settings are broken"), "{}", told.stderr);
    assert_eq!(world.run(&["daemon", "stop"]).status, 0);
    assert!(world.wait_for_daemon().success());
    assert_eq!(world.run(&["stats"]).status, 78, "without a daemon there is nothing to go by");
}
