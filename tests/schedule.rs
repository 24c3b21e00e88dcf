//! A scheduled run when its daemon process ends. The schedule itself is tested in the daemon, with a clock
//! of its own.

use crate::support::{WAIT_LIMIT, World};
use poc_agent::Catalog;
use poc_config::Config;
use poc_config::paths::Paths;
use poc_graph::rng::SystemRng;
use poc_graph::time::{Clock, ManualClock, Span, SystemClock};
use poc_notes::Memory;
use serde_json::Value;
use std::sync::Arc;

/// A model that answers with no actions once the file `answer` exists.
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

/// A world with a note and the slow model.
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

/// The hours of a day, and the milliseconds of an hour.
const DAY: i64 = 24;
const HOUR: i64 = 3_600_000;

/// Adds the agent `slow` with one missed slot, about 12 hours ago. Its next slot is about 12 hours ahead, so
/// it does not matter how long the test takes.
fn add_agent_with_missed_slot(world: &World) {
    let now = SystemClock.now();
    let hour = (now.0 / HOUR + DAY / 2) % DAY;
    let daily = agent("slow", &format!("cron 0 {hour} * * *"));
    world.write("agents/slow.toml", &format!("{daily}[schedule]\ntimezone = \"UTC\"\n"));
    let paths = Paths::in_folder(world.home());
    let mut config = Config::load(&paths.config_file()).unwrap();
    config.embedder.kind = "hash".into();
    // Loading the catalog records the time at which the agent became known.
    let clock = ManualClock::new(now.minus(Span(20 * HOUR)));
    let memory = Memory::open(paths, config, Arc::new(clock), Arc::new(SystemRng)).unwrap();
    Catalog::load(&memory).unwrap();
}

/// Ends the daemon by `end` during a run, and checks what becomes of the slot.
fn interrupted_by(end: impl Fn(&mut World)) {
    let mut world = world();
    add_agent_with_missed_slot(&world);
    world.start_daemon();
    let history =
        world.until(WAIT_LIMIT, &["agent", "history", "slow"], |history| count(history, "running") == 1);
    let slot = runs(&history)[0].0.clone();
    end(&mut world);

    world.start_daemon();
    let history =
        world.until(WAIT_LIMIT, &["agent", "history", "slow"], |history| count(history, "running") == 1);
    let again = (slot.clone(), "running".to_owned(), String::new());
    assert_eq!(
        runs(&history),
        [again, (slot.clone(), "interrupted".to_owned(), String::new())],
        "{history:#}"
    );
    world.write("answer", "");
    let history =
        world.until(WAIT_LIMIT, &["agent", "history", "slow"], |history| count(history, "noop") >= 1);
    assert!(runs(&history).contains(&(slot, "noop".to_owned(), String::new())), "{history:#}");
}

#[test]
fn a_run_longer_than_the_grace_period_is_interrupted_and_repeated() {
    interrupted_by(|world| {
        world.stop_daemon();
        let history = world.json(&["agent", "history", "slow"]);
        assert_eq!((count(&history, "interrupted"), count(&history, "running")), (1, 0), "{history:#}");
    });
}

#[test]
fn a_killed_run_is_interrupted_and_repeated() {
    interrupted_by(World::kill_daemon);
}
