//! Agents that run by themselves: slots and their rows, shutdown, catch-up.

use crate::support::{PATIENCE, World};
use serde_json::Value;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// A model that takes its time: it answers nothing to do once the file `answer` is there.
const SLOW: &str = r#"
[daemon]
shutdown-grace = "1s"
[agents]
max-concurrent-runs = 2
catch-up-spread = "0s"
[models.slow]
provider = "slow"
id = "slow"
[providers.slow]
kind = "command"
command = ["sh", "-c", "while [ -d HOME -a ! -e HOME/answer ]; do sleep 0.1; done; printf '{\"notes\":\"\",\"link-add\":[]}'"]
"#;

fn agent(model: &str, schedule: &str) -> String {
    format!(
        "[query]\npipeline = \"all\"\n[prompt]\ninline = \"{{{{ NODES }}}}\"\nplaceholders = [\"NODES\"]\n\
         [execution]\nmodel = \"{model}\"\nactions = [\"link-add\"]\nschedule = \"{schedule}\"\n\
         [freshness]\nwindow = \"1d\"\n"
    )
}

/// A world with a note and a slow model.
fn world() -> World {
    let world = World::new();
    let home = world.home().display().to_string();
    world.write("config.toml", &SLOW.replace("HOME", &home));
    world.json(&["insert", "--title", "A note", "--body", "about page splits"]);
    world
}

fn runs(history: &Value) -> Vec<(String, String, String)> {
    let text = |run: &Value, field: &str| run[field].as_str().unwrap_or_default().to_owned();
    let runs = history["runs"].as_array().unwrap().iter();
    runs.map(|run| (text(run, "scheduled_at"), text(run, "status"), text(run, "reason"))).collect()
}

fn count(history: &Value, status: &str) -> usize {
    runs(history).iter().filter(|run| run.1 == status).count()
}

#[test]
fn every_slot_leaves_one_row() {
    let mut world = world();
    world.write("agents/often.toml", &agent("default", "every 1s"));
    world.start_daemon();
    let history = world.until(PATIENCE, &["agent", "history", "often"], |history| runs(history).len() >= 5);
    let rows = runs(&history);
    let slots: BTreeSet<&String> = rows.iter().map(|run| &run.0).collect();
    assert_eq!(slots.len(), rows.len(), "{history:#}");
    // The first looked at the note; there is nothing to do for the others.
    let (first, others) = rows.split_last().unwrap();
    assert_eq!(first.1, "noop", "{history:#}");
    assert!(
        others.iter().any(|run| (run.1.as_str(), run.2.as_str()) == ("skipped", "not-stale")),
        "{history:#}"
    );
    let listed = world.json(&["agent", "list"]);
    let often = listed["agents"].as_array().unwrap().iter().find(|agent| agent["name"] == "often").unwrap();
    assert!(often["next"].is_string() && often["last"].is_string(), "{often:#}");
    world.stop_daemon();
}

#[test]
fn a_long_run_is_never_joined_by_another_of_its_agent() {
    let mut world = world();
    world.write("agents/slow.toml", &agent("slow", "every 1s"));
    world.write("agents/often.toml", &agent("default", "every 1s"));
    world.start_daemon();
    let history =
        world.until(PATIENCE, &["agent", "history", "slow"], |history| count(history, "skipped") >= 2);
    assert_eq!(count(&history, "running"), 1, "{history:#}");
    // On a busy machine a look may find two slots at once.
    let expected = |run: &(String, String, String)| {
        run.1 == "running" || ["overlap", "caught-up"].contains(&run.2.as_str())
    };
    assert!(runs(&history).iter().all(expected), "{history:#}");
    // Another agent is not held up.
    world.until(PATIENCE, &["agent", "history", "often"], |history| runs(history).len() >= 2);
    let status = world.json(&["daemon", "status"]);
    assert_eq!(status["running"], serde_json::json!(["slow"]), "{status:#}");
    world.write("answer", "");
    world.until(PATIENCE, &["agent", "history", "slow"], |history| count(history, "noop") == 1);
    world.stop_daemon();
}

#[test]
fn a_person_waits_for_a_place_but_not_behind_slots() {
    let mut world = world();
    let config = world.home().join("config.toml");
    let text = std::fs::read_to_string(&config)
        .unwrap()
        .replace("max-concurrent-runs = 2", "max-concurrent-runs = 1");
    world.write("config.toml", &text);
    world.write("agents/slow.toml", &agent("slow", "every 1s"));
    world.write("agents/often.toml", &agent("default", "every 1s"));
    world.write("agents/asked.toml", &agent("default", "on-demand"));
    world.start_daemon();
    world.until(PATIENCE, &["agent", "history", "slow"], |history| count(history, "running") == 1);
    // It runs already.
    let refused = world.run(&["agent", "run", "slow"]);
    assert!(refused.stderr.contains("`slow` is running already, since"), "{refused:?}");
    assert_eq!(count(&world.json(&["agent", "history", "asked"]), "noop"), 0);
    std::thread::scope(|scope| {
        let asked = scope.spawn(|| world.run(&["agent", "run", "asked"]));
        world.write("answer", "");
        let asked = asked.join().unwrap();
        assert!(asked.stdout.contains("asked: noop"), "{asked:?}");
    });
    world.stop_daemon();
}

/// A run that is under way when the daemon ends by `end`, and what becomes of its slot.
fn interrupted_by(end: impl Fn(&mut World)) {
    let mut world = world();
    // Slots far enough apart for the daemon to be back before the next.
    world.write("agents/slow.toml", &agent("slow", "every 10s"));
    world.start_daemon();
    let history =
        world.until(PATIENCE, &["agent", "history", "slow"], |history| count(history, "running") == 1);
    let slot = runs(&history)[0].0.clone();
    end(&mut world);

    world.start_daemon();
    let history =
        world.until(PATIENCE, &["agent", "history", "slow"], |history| count(history, "running") == 1);
    let again = (slot.clone(), "running".to_owned(), String::new());
    assert_eq!(
        runs(&history),
        [again, (slot.clone(), "interrupted".to_owned(), String::new())],
        "{history:#}"
    );
    world.write("answer", "");
    let history = world.until(PATIENCE, &["agent", "history", "slow"], |history| count(history, "noop") >= 1);
    assert!(runs(&history).contains(&(slot, "noop".to_owned(), String::new())), "{history:#}");
}

#[test]
fn a_run_that_outlasts_the_grace_is_interrupted_and_caught_up() {
    interrupted_by(|world| {
        let asked = Instant::now();
        world.stop_daemon();
        assert!(asked.elapsed() > Duration::from_secs(1) && asked.elapsed() < Duration::from_secs(6));
        let history = world.json(&["agent", "history", "slow"]);
        assert_eq!((count(&history, "interrupted"), count(&history, "running")), (1, 0), "{history:#}");
    });
}

#[test]
fn a_killed_run_is_interrupted_and_caught_up() {
    interrupted_by(World::kill_daemon);
}

#[test]
fn a_broken_file_keeps_its_slots() {
    let mut world = world();
    let file = world.write("agents/often.toml", &agent("default", "every 1s"));
    world.start_daemon();
    world.until(PATIENCE, &["agent", "history", "often"], |history| !runs(history).is_empty());
    std::fs::write(&file, "broken").unwrap();
    let broken = |list: &Value| {
        list["agents"]
            .as_array()
            .unwrap()
            .iter()
            .any(|agent| agent["name"] == "often" && agent["state"] == "last-good")
    };
    world.until(PATIENCE, &["agent", "list"], broken);
    let before = runs(&world.json(&["agent", "history", "often"])).len();
    world.until(PATIENCE, &["agent", "history", "often"], |history| runs(history).len() > before + 1);
    // And across a restart.
    world.stop_daemon();
    world.start_daemon();
    let before = runs(&world.json(&["agent", "history", "often"])).len();
    world.until(PATIENCE, &["agent", "history", "often"], |history| runs(history).len() > before + 1);
    world.stop_daemon();
}
