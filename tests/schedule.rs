//! What happens to a scheduled run when the process of its daemon ends. The tests in the daemon cover the schedule
//! itself, with a clock that only they move.

use crate::support::slow_agent::{self, agent, count, runs};
use crate::support::{WAIT_LIMIT, World};
use poc_agent::Catalog;
use poc_config::Config;
use poc_config::paths::Paths;
use poc_graph::rng::SystemRng;
use poc_graph::time::{Clock, ManualClock, Span, SystemClock};
use poc_notes::Memory;
use std::sync::Arc;

/// A world with a note and the slow model.
fn world() -> World {
    let world = World::new();
    let settings = slow_agent::settings(world.home());
    world.write("config.toml", &format!("[daemon]\nshutdown-grace = \"1s\"\n{settings}"));
    world.json(&["insert", "--title", "A note", "--body", "about page splits"]);
    world
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

/// Whether a row of an answer of `agent history` is that of a run that read notes, whether or not it linked any.
fn has_run(row: &serde_json::Value) -> bool {
    matches!(row["status"].as_str(), Some("noop" | "ok"))
}

/// The clock of the machine jumps ahead, as after a suspend: runs continue within a few heartbeats, the missed run starts
/// late, and an `on-change` agent handles what changes after the jump.
#[test]
fn a_daemon_keeps_its_schedule_when_the_clock_jumps() {
    let Some(mut world) = World::with_clock() else { return };
    let agents = "[agents]\ncatch-up-spread = \"0s\"\nchange-quiet = \"1s\"\n";
    world.write("config.toml", &format!("[daemon]\nheartbeat = \"1s\"\n{agents}"));
    world.json(&["insert", "--title", "A note", "--body", "about page splits"]);
    world.write("agents/often.toml", &agent("default", "every 2s"));
    world.write("agents/changes.toml", &agent("default", "on-change"));
    world.start_daemon();
    let history = ["agent", "history", "often"];
    let newest =
        |history: &serde_json::Value| runs(history).first().map(|run| run.0.clone()).unwrap_or_default();
    for shift in ["+0", "+3h", "+30h"] {
        world.write("clock", shift);
        // What the clock shows after the jump, read by a program that sees the same clock.
        let id = world.json(&["insert", "--title", shift, "--body", shift])["id"].clone();
        let note = world.json(&["get", id.as_str().unwrap()]);
        let jumped = note["created"].as_str().unwrap();
        let first = world.until(WAIT_LIMIT, &history, |history| newest(history).as_str() > jumped);
        // Slots come one after another again.
        let first = newest(&first);
        world.until(WAIT_LIMIT, &history, |history| newest(history) > first);
        // Changes before the first look at a new agent count as handled, so the first note may be one of them.
        if shift != "+0" {
            world.until(WAIT_LIMIT, &["agent", "history", "changes"], |history| {
                let mut rows = history["runs"].as_array().unwrap().iter();
                rows.any(|row| has_run(row) && row["started"].as_str().unwrap() > jumped)
            });
        }
    }
    world.stop_daemon();
}

/// The battery of a machine's clock may be empty.
#[test]
fn a_clock_before_1970_stops_nothing_and_the_schedule_begins_when_it_is_set() {
    let Some(mut world) = World::with_clock() else { return };
    world.write("config.toml", "[daemon]\nheartbeat = \"1s\"\n[agents]\ncatch-up-spread = \"0s\"\n");
    world.write("agents/often.toml", &agent("default", "every 2s"));
    world.write("clock", "-80y");
    world.start_daemon();
    let note = world.json(&["insert", "--title", "A note", "--body", "about page splits"]);
    assert!(world.json(&["get", note["key"].as_str().unwrap()])["created"].as_str().unwrap() < "1970");
    assert_eq!(world.json(&["search", "splits"])["results"].as_array().unwrap().len(), 1);
    world.write("clock", "+0");
    world.until(WAIT_LIMIT, &["agent", "history", "often"], |history| {
        runs(history).iter().any(|run| run.0.as_str() > "1970")
    });
    world.stop_daemon();
}
