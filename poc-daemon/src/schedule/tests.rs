//! Tests of the schedule with a clock that only the tests advance.

use super::*;
use crate::{pools, reload};
use poc_agent::ledger::{BudgetDays, Run};
use poc_agent::schedule::day;
use poc_config::Config;
use poc_config::paths::Paths;
use poc_graph::rng::SystemRng;
use poc_graph::time::{Clock, ManualClock, Span, Timestamp};
use poc_memory::ops::{self, Ctx, Principal, Terminal};
use poc_notes::Memory;
use serde_json::{Value, json};
use slow_agent::{agent, count, runs};
use std::collections::BTreeSet;
use std::time::Instant;
use tokio::runtime::Runtime;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// How long a test waits for something that must happen soon.
const WAIT_LIMIT: Duration = Duration::from_secs(60);

/// A memory with a clock that the test sets, and a schedule that runs on it after `start`.
struct World {
    home: tempfile::TempDir,
    clock: Arc<ManualClock>,
    settings: String,
    daemon: Option<Daemon>,
}

struct Daemon {
    state: Arc<DaemonState>,
    runtime: Runtime,
    schedule: JoinHandle<()>,
    /// Receives a value when shutdown starts to wait for runs; closed if there is nothing to wait for.
    draining: Option<oneshot::Receiver<()>>,
    /// Dropping this ends the wait for runs.
    grace: oneshot::Sender<()>,
}

impl World {
    fn new() -> World {
        let home = poc_graph::testing::folder();
        let settings = format!("[embedder]\nkind = \"hash\"\n{}", slow_agent::settings(home.path()));
        // Noon, when no bundled agent is due.
        let noon = Timestamp::parse("2026-03-02T12:00:00Z").unwrap();
        World { home, clock: Arc::new(ManualClock::new(noon)), settings, daemon: None }
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.home.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn start(&mut self) {
        let paths = Paths::in_folder(self.home.path());
        paths.create().unwrap();
        let settings = Some(("config.toml", self.settings.as_str()));
        let config = Config::layered(settings, std::iter::empty()).unwrap();
        let runtime = pools::runtime(&config).unwrap();
        let memory = Memory::open_temporary(paths, config, self.clock.clone(), Arc::new(SystemRng)).unwrap();
        let catalog = Catalog::load(&memory).unwrap();
        let state = Arc::new(DaemonState::new(memory, catalog));
        let (grace, graced) = oneshot::channel::<()>();
        let (drains, draining) = oneshot::channel();
        let wait = async move {
            let _ = drains.send(());
            let _ = graced.await;
        };
        let schedule = runtime.spawn(run_until(state.clone(), wait, std::future::pending()));
        self.daemon = Some(Daemon { state, runtime, schedule, draining: Some(draining), grace });
        self.call("insert", json!({"title": "A note", "body": "about page splits"})).unwrap();
    }

    fn state(&self) -> &DaemonState {
        &self.daemon.as_ref().unwrap().state
    }

    /// Stops the daemon. The shutdown grace lasts until `during` has returned; without runs there is no
    /// grace.
    fn stop(&mut self, during: impl FnOnce(&World)) {
        self.state().stop();
        let draining = self.daemon.as_mut().unwrap().draining.take().unwrap();
        if draining.blocking_recv().is_ok() {
            during(self);
        }
        let Daemon { state, runtime, schedule, grace, .. } = self.daemon.take().unwrap();
        drop(grace);
        runtime.block_on(schedule).unwrap();
        drop(runtime);
        drop(state);
    }

    /// Moves the clock to the next second and wakes the schedule.
    fn tick(&self) {
        self.clock.advance(Span::SECOND);
        self.state().wake.notify_one();
    }

    fn call(&self, op: &str, request: Value) -> Result<Value> {
        let state = self.state();
        let ctx = Ctx {
            memory: &state.memory,
            host: state,
            actor: Principal::Person,
            may_write: true,
            progress: &|_| {},
        };
        ops::find(op).unwrap().run(&ctx, request)
    }

    fn history(&self, agent: &str) -> Value {
        self.call("agent history", json!({"agent": agent})).unwrap()
    }

    /// Polls the history of an agent until it satisfies a condition.
    #[track_caller]
    fn until(&self, agent: &str, satisfied: impl Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + WAIT_LIMIT;
        loop {
            let history = self.history(agent);
            if satisfied(&history) {
                return history;
            }
            assert!(Instant::now() < deadline, "{history:#}");
            std::thread::yield_now();
        }
    }
}

#[test]
fn every_slot_leaves_one_row() {
    let mut world = World::new();
    world.write("agents/often.toml", &agent("default", "every 1s"));
    world.start();
    // A slot that comes before the scheduler knows of the end of a run is merged into that run, so the test
    // lets slots pass until one of them finds nothing to do.
    let deadline = Instant::now() + WAIT_LIMIT;
    let mut ticks = 0;
    let history = loop {
        ticks += 1;
        world.tick();
        let history =
            world.until("often", |history| runs(history).len() >= ticks && count(history, "running") == 0);
        if ticks >= 5 && runs(&history).iter().any(|(_, _, reason)| reason == "not-stale") {
            break history;
        }
        assert!(Instant::now() < deadline, "{history:#}");
    };
    let rows = runs(&history);
    let slots: BTreeSet<&String> = rows.iter().map(|run| &run.0).collect();
    assert_eq!((slots.len(), rows.len()), (ticks, ticks), "{history:#}");
    // The first run looked at the note; the others have nothing to do.
    let (first, others) = rows.split_last().unwrap();
    assert_eq!(first.1, "noop", "{history:#}");
    let expected = |run: &(String, String, String)| {
        matches!((run.1.as_str(), run.2.as_str()), ("skipped", "not-stale") | ("missed", "caught-up"))
    };
    assert!(others.iter().all(expected), "{history:#}");
    let listed = world.call("agent list", json!({})).unwrap();
    let often = listed["agents"].as_array().unwrap().iter().find(|agent| agent["name"] == "often").unwrap();
    assert!(often["next"].is_string() && often["last"].is_string(), "{often:#}");
    world.stop(|_| {});
}

#[test]
fn a_long_run_never_overlaps_with_another_of_its_agent() {
    let mut world = World::new();
    world.write("agents/slow.toml", &agent("slow", "every 1s"));
    world.write("agents/often.toml", &agent("default", "every 1s"));
    world.start();
    world.tick();
    world.until("slow", |history| count(history, "running") == 1);
    for skipped in 1..=2 {
        world.tick();
        world.until("slow", |history| count(history, "skipped") >= skipped);
    }
    let history = world.history("slow");
    assert_eq!(count(&history, "running"), 1, "{history:#}");
    let expected = |run: &(String, String, String)| run.1 == "running" || run.2 == "overlap";
    assert!(runs(&history).iter().all(expected), "{history:#}");
    // Another agent is not delayed.
    world.until("often", |history| runs(history).len() >= 3 && count(history, "running") == 0);
    let status = world.call("daemon status", json!({})).unwrap();
    assert_eq!(status["running"], json!(["slow"]), "{status:#}");
    world.write("answer", "");
    world.until("slow", |history| count(history, "noop") == 1);
    world.stop(|_| {});
}

#[test]
fn a_requested_run_goes_before_scheduled_runs() {
    let mut world = World::new();
    world.settings = world.settings.replace("max-concurrent-runs = 2", "max-concurrent-runs = 1");
    world.write("agents/slow.toml", &agent("slow", "every 1s"));
    world.write("agents/often.toml", &agent("default", "every 1s"));
    world.write("agents/asked.toml", &agent("default", "on-demand"));
    world.start();
    world.tick();
    world.until("slow", |history| count(history, "running") == 1);
    let refused = world.call("agent run", json!({"agent": "slow"})).unwrap_err();
    assert!(refused.to_string().contains("`slow` is already running, since"), "{refused}");
    assert_eq!(count(&world.history("asked"), "noop"), 0);
    std::thread::scope(|scope| {
        let asked = scope.spawn(|| world.call("agent run", json!({"agent": "asked"})).unwrap());
        world.write("answer", "");
        let answer = asked.join().unwrap();
        let text =
            (ops::find("agent run").unwrap().decode)(&answer).unwrap().show(&Terminal::default()).to_string();
        assert!(text.contains("asked: noop"), "{text}");
    });
    world.stop(|_| {});
}

#[test]
fn a_requested_run_that_had_to_wait_uses_the_file_as_it_is_when_it_starts() {
    let mut world = World::new();
    world.settings = world.settings.replace("max-concurrent-runs = 2", "max-concurrent-runs = 1");
    world.write("agents/slow.toml", &agent("slow", "every 1s"));
    let asked = agent("default", "on-demand");
    world.write("agents/asked.toml", &asked);
    world.start();
    world.tick();
    world.until("slow", |history| count(history, "running") == 1);
    std::thread::scope(|scope| {
        let (send, answers) = std::sync::mpsc::channel();
        for _ in 0..2 {
            let (send, world) = (send.clone(), &world);
            scope.spawn(move || send.send(world.call("agent run", json!({"agent": "asked"}))).unwrap());
        }
        // One of two requests is refused as soon as the other one waits.
        let refused = answers.recv().unwrap();
        world.write("agents/asked.toml", &asked.replace("\"all\"", "\"all | content-len:>4000\""));
        reload::reload(world.state()).unwrap();
        world.write("answer", "");
        let ran = answers.recv().unwrap().unwrap();
        assert!(refused.unwrap_err().to_string().contains("already waits for other runs"));
        assert_eq!(
            (&ran["status"], &ran["reason"]),
            (&json!("skipped"), &json!("too-few-results")),
            "{ran:#}"
        );
    });
    world.stop(|_| {});
}

#[test]
fn a_run_that_outlasts_the_grace_is_interrupted_and_caught_up() {
    let mut world = World::new();
    world.write("agents/slow.toml", &agent("slow", "every 10s"));
    world.start();
    (0..10).for_each(|_| world.tick());
    let history = world.until("slow", |history| count(history, "running") == 1);
    let slot = runs(&history)[0].0.clone();
    world.stop(|world| {
        let history = world.history("slow");
        assert_eq!((count(&history, "interrupted"), count(&history, "running")), (0, 1), "{history:#}");
    });

    world.start();
    world.tick();
    let history = world.until("slow", |history| count(history, "running") == 1);
    let again = (slot.clone(), "running".to_owned(), String::new());
    let interrupted = (slot.clone(), "interrupted".to_owned(), String::new());
    assert_eq!(runs(&history), [again, interrupted], "{history:#}");
    world.write("answer", "");
    let history = world.until("slow", |history| count(history, "noop") >= 1);
    assert!(runs(&history).contains(&(slot, "noop".to_owned(), String::new())), "{history:#}");
    world.stop(|_| {});
}

#[test]
fn a_broken_file_keeps_its_slots() {
    let mut world = World::new();
    world.write("agents/often.toml", &agent("default", "every 1s"));
    world.start();
    world.tick();
    world.until("often", |history| !runs(history).is_empty());
    world.write("agents/often.toml", "broken");
    reload::reload(world.state()).unwrap();
    let list = world.call("agent list", json!({})).unwrap();
    let often = list["agents"].as_array().unwrap().iter().find(|agent| agent["name"] == "often").unwrap();
    assert_eq!(often["state"], "last-good", "{list:#}");
    let more_slots = |world: &World| {
        let before = runs(&world.history("often")).len();
        for slots in 1..=2 {
            world.tick();
            world.until("often", |history| runs(history).len() >= before + slots);
        }
    };
    more_slots(&world);
    // The same after a restart.
    world.stop(|_| {});
    world.start();
    more_slots(&world);
    world.stop(|_| {});
}

#[test]
fn the_spending_of_an_agent_includes_the_reservation_of_a_call_in_progress() {
    let mut world = World::new();
    world.write("agents/often.toml", &agent("default", "every 1h"));
    world.start();
    let memory = &world.state().memory;
    let (run, today) = (Run::new_running(memory, "often", None), day(memory.now(), local_zone()));
    let days = BudgetDays { own: today.clone(), all_agents: today };
    ledger::reserve(memory, &run, &days, |_| Ok::<_, String>(((), 0.25))).unwrap().unwrap();
    let list = world.call("agent list", json!({})).unwrap();
    let often = list["agents"].as_array().unwrap().iter().find(|agent| agent["name"] == "often").unwrap();
    assert_eq!((&often["usd_today"], &list["usd_today"]), (&json!(0.25), &json!(0.25)), "{list:#}");
    world.stop(|_| {});
}

#[test]
fn consolidation_runs_by_schedule() {
    let mut world = World::new();
    world.settings.push_str("[consolidate]\nschedule = \"every 10s\"\n");
    world.start();
    let soon = world.clock.now().plus(Span::SECOND).to_string();
    world
        .call("insert", json!({"key": "offer", "title": "Offer", "body": "ends soon", "expires": soon}))
        .unwrap();
    (0..10).for_each(|_| world.tick());
    let history = world.until("consolidate", |history| count(history, "ok") == 1);
    assert!(history["runs"][0]["message"].as_str().unwrap().starts_with("1 note expired"), "{history:#}");
    let note = world.call("get", json!({"node": "offer"})).unwrap();
    assert_eq!(note["state"], "expired", "{note:#}");
    let list = world.call("agent list", json!({})).unwrap();
    let task = &list["consolidation"];
    assert_eq!((&task["name"], &task["last_status"]), (&json!("consolidate"), &json!("ok")), "{list:#}");
    assert!(task["next"].is_string(), "{list:#}");
    let text = |op: &str, answer: &Value| {
        (ops::find(op).unwrap().decode)(answer).unwrap().show(&Terminal::default()).to_string()
    };
    let listed = text("agent list", &list);
    let line = listed.lines().find(|line| line.starts_with("consolidate")).unwrap();
    assert!(line.contains("scheduled  every 10s"), "{listed}");
    let night = text("night", &world.call("night", json!({})).unwrap());
    assert!(
        night.contains("0 agents ran") && night.contains("ok at") && night.contains("1 note expired"),
        "{night}"
    );
    let refused = world.call("agent run", json!({"agent": "consolidate"})).unwrap_err();
    assert!(refused.to_string().contains("`consolidate` is not an agent"), "{refused}");
    world.stop(|_| {});
}

/// Inserts a note for each of the tenants `user=ann` and `user=bob`.
fn insert_for_two_tenants(world: &World) {
    for user in ["ann", "bob"] {
        let note = json!({"title": "Tea", "body": format!("{user} drinks tea"), "tenant": {"user": user}});
        world.call("insert", note).unwrap();
    }
}

#[test]
fn a_scheduled_agent_works_for_every_tenant() {
    let mut world = World::new();
    world.write("agents/often.toml", &agent("default", "every 1s"));
    world.start();
    insert_for_two_tenants(&world);
    world.tick();
    let history =
        world.until("often", |history| count(history, "noop") == 3 && count(history, "running") == 0);
    let mut tenants: Vec<(&str, &str)> = history["runs"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|run| run["status"] == "noop")
        .map(|run| (run["tenant"].as_str().unwrap_or("default"), run["occasion"].as_str().unwrap()))
        .collect();
    tenants.sort();
    assert_eq!(
        tenants,
        [("default", "schedule"), ("user=ann", "batch"), ("user=bob", "batch")],
        "{history:#}"
    );
    let night = world.call("night", json!({})).unwrap();
    assert_eq!(night["agents"]["often"]["tenants"], json!({"user=ann": 1, "user=bob": 1}), "{night:#}");
    world.stop(|_| {});
}

#[test]
fn tenants_without_work_are_not_loaded_again_after_a_restart() {
    let idle_slots =
        |history: &Value| runs(history).iter().filter(|(_, _, reason)| reason == "not-stale").count();
    let pass_until_idle = |world: &World| {
        let before = idle_slots(&world.history("often"));
        let deadline = Instant::now() + WAIT_LIMIT;
        loop {
            let rows = runs(&world.history("often")).len();
            world.tick();
            let is_over = |history: &Value| runs(history).len() > rows && count(history, "running") == 0;
            let history = world.until("often", is_over);
            if idle_slots(&history) > before {
                break;
            }
            assert!(Instant::now() < deadline, "{history:#}");
        }
    };
    let mut world = World::new();
    world.write("agents/often.toml", &agent("default", "every 1s"));
    world.start();
    insert_for_two_tenants(&world);
    pass_until_idle(&world);
    // A daemon does this when it ends.
    world.state().memory.store.checkpoint().unwrap();
    world.stop(|_| {});
    world.start();
    pass_until_idle(&world);
    assert_eq!(world.state().memory.store.view_loads(), 0);
    world.stop(|_| {});
}
