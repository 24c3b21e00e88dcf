//! Several daemons over one log in a real PostgreSQL server. Skipped where none is installed.

mod cut_connections;
mod histories;
mod mcp_sessions;
mod wrong_clocks;

use crate::support::export::keys;
use crate::support::http::{Http, ON};
use crate::support::slow_agent::{self, agent, count};
use crate::support::{Deadline, WAIT_LIMIT, World};
use poc_postgres::testing::{Proxy, TestServer};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

/// A home whose memory is in a database. Its daemon runs no agents.
fn world(server: &TestServer) -> World {
    let world = World::new();
    world.write("config.toml", &format!("{}[daemon]\nruns-agents = false\n", settings(server)));
    world
}

fn settings(server: &TestServer) -> String {
    format!("[store]\nlog = \"{}\"\nconnect-timeout = \"5s\"\n", server.address())
}

/// Homes over one log, each with a running daemon.
fn daemons(server: &TestServer, count: usize) -> Vec<World> {
    let mut worlds: Vec<World> = (0..count).map(|_| world(server)).collect();
    worlds[0].json(&["store", "init"]);
    worlds.iter_mut().for_each(World::start_daemon);
    worlds
}

fn insert(world: &World, key: &str) -> i32 {
    world.run(&["insert", "--key", key, "--title", key, "--body", &format!("About the harbour {key}")]).status
}

/// Waits until all daemons show the same state, and returns the export of it.
fn settled_export(worlds: &[World]) -> String {
    let heads: Vec<u64> = worlds
        .iter()
        .map(|world| {
            world.until(WAIT_LIMIT, &["stats"], |stats| {
                stats["degraded"].as_array().unwrap().is_empty() && stats["shared_log"]["behind"] == 0
            })["shared_log"]["head"]
                .as_u64()
                .unwrap()
        })
        .collect();
    let head = heads.iter().max().unwrap();
    for world in worlds {
        world.until(WAIT_LIMIT, &["stats"], |stats| stats["as_of"]["seq"].as_u64() >= Some(*head));
    }
    let exports: Vec<String> = worlds.iter().map(|world| world.run(&["export"]).stdout).collect();
    assert!(exports.iter().all(|export| *export == exports[0]), "the daemons differ");
    exports[0].clone()
}

/// Checks that an export has every acknowledged note, and no note twice. Returns the keys of its notes.
#[track_caller]
fn check_acknowledged(export: &str, acknowledged: &BTreeSet<String>) -> BTreeSet<String> {
    let found = keys(export);
    let found_once: BTreeSet<String> = found.iter().cloned().collect();
    assert_eq!(found.len(), found_once.len(), "a note exists twice");
    assert_eq!(acknowledged.difference(&found_once).collect::<Vec<_>>(), Vec::<&String>::new(), "lost");
    found_once
}

#[test]
fn daemons_over_one_log_lose_no_acknowledged_write() {
    let Some(server) = TestServer::start() else { return };
    let mut worlds = daemons(&server, 3);
    let (acknowledged, tried) = (Mutex::new(BTreeSet::new()), Mutex::new(BTreeSet::new()));
    for round in 0..4 {
        for world in &worlds {
            world.until(WAIT_LIMIT, &["stats"], |stats| stats["degraded"].as_array().unwrap().is_empty());
        }
        std::thread::scope(|scope| {
            for (at, world) in worlds.iter().enumerate() {
                let (acknowledged, tried) = (&acknowledged, &tried);
                scope.spawn(move || {
                    for number in 0..6 {
                        let key = format!("note-{round}-{at}-{number}");
                        tried.lock().unwrap().insert(key.clone());
                        if insert(world, &key) == 0 {
                            acknowledged.lock().unwrap().insert(key);
                        }
                    }
                });
            }
            if round == 1 {
                worlds[1].signal_daemon("-9");
            }
            if round == 2 {
                server.crash();
                server.resume();
            }
        });
        if round == 1 {
            worlds[1].wait_for_daemon();
            worlds[1].start_daemon();
        }
    }
    let (acknowledged, tried) = (acknowledged.into_inner().unwrap(), tried.into_inner().unwrap());
    let found = check_acknowledged(&settled_export(&worlds), &acknowledged);
    assert!(found.is_subset(&tried));
    // At least those of the rounds in which nothing fails.
    assert!(acknowledged.len() >= 36, "only {} writes were acknowledged", acknowledged.len());
    let status = worlds[0].json(&["daemon", "status"]);
    assert!(status["shared_log"]["others"].as_array().unwrap().len() >= 2, "{status:#}");
    // A change by one daemon is visible when another one is asked for it by number.
    assert_eq!(insert(&worlds[1], "own"), 0);
    let seq = worlds[1].json(&["search", "own"])["as_of"]["seq"].to_string();
    assert_eq!(worlds[2].json(&["--min-seq", &seq, "get", "own"])["key"], "own");
    let export = worlds[2].run(&["--min-seq", &seq, "export"]).stdout;
    worlds[0].stop_daemon();
    worlds[0].start_daemon();
    // A new machine gets everything, and so does a folder that is opened without a daemon.
    worlds.push(world(&server));
    assert_eq!(worlds[3].run(&["export"]).stdout, export);
    let kept = worlds[0].json(&["history", "note-0-0-0"]);
    assert_eq!(worlds[3].json(&["history", "note-0-0-0"])["changes"], kept["changes"]);
}

#[test]
fn only_one_of_two_changes_of_the_same_version_is_made() {
    let Some(server) = TestServer::start() else { return };
    let worlds = daemons(&server, 2);
    assert_eq!(insert(&worlds[0], "shared"), 0);
    for _ in 0..5 {
        settled_export(&worlds);
        let version = worlds[0].json(&["get", "shared"])["version"].as_u64().unwrap();
        let change = |at: usize| {
            let (body, version) = (format!("By {at} after {version}"), version.to_string());
            worlds[at].run(&[
                "insert",
                "--update",
                "--key",
                "shared",
                "--body",
                &body,
                "--if-version",
                &version,
            ])
        };
        let results = std::thread::scope(|scope| {
            let running: Vec<_> = (0..2).map(|at| scope.spawn(move || change(at))).collect();
            running.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
        });
        let made = results.iter().filter(|ran| ran.status == 0).count();
        assert_eq!(made, 1, "{results:?}");
    }
}

#[test]
fn a_run_of_a_daemon_that_dies_is_completed_by_another() {
    let Some(server) = TestServer::start() else { return };
    let mut worlds: Vec<World> = (0..2).map(|_| World::new()).collect();
    for world in &worlds {
        let models =
            slow_agent::settings(world.home()).replace("[agents]", "[agents]\nchange-quiet = \"1s\"");
        world.write("config.toml", &format!("{}{models}", settings(&server)));
        world.write("agents/slow.toml", &agent("slow", "on-change"));
    }
    worlds[0].json(&["store", "init"]);
    worlds.iter_mut().for_each(World::start_daemon);
    let history = ["agent", "history", "slow"];
    // Changes before the first look of a daemon at a new agent count as handled, so one note may not be enough.
    let running = || count(&worlds[0].json(&history), "running");
    for number in 0..10 {
        assert_eq!(insert(&worlds[0], &format!("pier-{number}")), 0);
        let patience = Deadline::after(Duration::from_secs(5));
        while running() == 0 && patience.pause() {}
        if running() > 0 {
            break;
        }
    }
    // Both see one run, which one of them carries out.
    for world in &worlds {
        let seen = world.until(WAIT_LIMIT, &history, |history| count(history, "running") == 1);
        assert_eq!(seen["runs"].as_array().unwrap().len(), 1, "{seen:#}");
    }
    let runs_it = |world: &World| {
        let running = world.json(&["daemon", "status"])["running"].as_array().unwrap().clone();
        running.iter().any(|agent| agent == "slow")
    };
    let at = worlds.iter().position(runs_it).unwrap();
    let error = worlds[1 - at].json_with_status(&["agent", "run", "slow"], 1);
    assert_eq!(error["error"]["code"], "conflict", "{error:#}");
    worlds[at].kill_daemon();
    // It counts as dead after 15 seconds without a heartbeat.
    server.execute("UPDATE poc_memory_writer SET seen = seen - INTERVAL '1 minute'");
    let other = &worlds[1 - at];
    other.until(WAIT_LIMIT, &history, |history| {
        (count(history, "interrupted"), count(history, "running")) == (1, 1)
    });
    other.write("answer", "");
    let seen = other.until(WAIT_LIMIT, &history, |history| count(history, "noop") == 1);
    assert_eq!(seen["runs"].as_array().unwrap().len(), 2, "{seen:#}");
    // The daemon that died finds the changes handled.
    worlds[at].start_daemon();
    let seen = worlds[at].json(&history);
    assert_eq!(
        (count(&seen, "noop"), count(&seen, "interrupted"), count(&seen, "running")),
        (1, 1, 0),
        "{seen:#}"
    );
}

#[test]
fn a_daemon_that_is_cut_off_reads_and_recovers() {
    let Some(server) = TestServer::start() else { return };
    let worlds = daemons(&server, 1);
    let world = &worlds[0];
    assert_eq!(insert(world, "pier"), 0);
    server.crash();
    let error =
        world.json_with_status(&["insert", "--key", "mole", "--title", "Mole", "--body", "A wall"], 5);
    assert_eq!(error["error"]["code"], "unavailable", "{error:#}");
    assert!(error["error"]["hint"].as_str().unwrap().contains("try again"), "{error:#}");
    let answer = world.json(&["search", "harbour"]);
    assert_eq!(answer["results"][0]["key"], "pier", "{answer:#}");
    let degraded = answer["degraded"][0].as_str().unwrap();
    assert!(degraded.contains("log unreachable"), "{degraded}");
    server.resume();
    world.until(WAIT_LIMIT, &["stats"], |stats| stats["degraded"].as_array().unwrap().is_empty());
    assert_eq!(insert(world, "mole"), 0);
    // A folder that contains another memory than the database is refused.
    let other = World::new();
    insert(&other, "elsewhere");
    std::fs::copy(world.home().join("config.toml"), other.home().join("config.toml")).unwrap();
    let error = other.json_with_status(&["stats"], 1);
    assert_eq!(error["error"]["code"], "conflict", "{error:#}");
}

#[test]
fn a_daemon_without_the_right_password_answers_from_its_copy_until_the_file_has_it() {
    let Some(server) = TestServer::start() else { return };
    let mut world = World::new();
    let file = world.home().join("password");
    let settings = format!("{}password-file = {file:?}\n", settings(&server));
    world.write("config.toml", &format!("{settings}[daemon]\nruns-agents = false\n"));
    world.write("password", "old\n");
    world.json(&["store", "init"]);
    world.start_daemon();
    assert_eq!(insert(&world, "pier"), 0);
    world.stop_daemon();
    server.require_password("new");
    world.start_daemon();
    let answer = world.json(&["search", "harbour"]);
    assert_eq!(answer["results"][0]["key"], "pier", "{answer:#}");
    let degraded = answer["degraded"][0].as_str().unwrap();
    assert!(degraded.contains("password authentication failed"), "{degraded}");
    assert!(degraded.contains("`password-file`"), "{degraded}");
    assert_eq!(insert(&world, "quay"), 5);
    // A folder without a copy has nothing to answer from.
    let other = World::new();
    std::fs::copy(world.home().join("config.toml"), other.home().join("config.toml")).unwrap();
    let error = other.json_with_status(&["stats"], 5);
    assert!(error["error"]["hint"].as_str().unwrap().contains("`password-file`"), "{error:#}");
    world.write("password", "new\n");
    world.until(WAIT_LIMIT, &["stats"], |stats| stats["degraded"].as_array().unwrap().is_empty());
    assert_eq!(insert(&world, "quay"), 0);
}

#[test]
fn a_database_that_never_answers_stops_writes_but_not_reads() {
    let Some(server) = TestServer::start() else { return };
    let proxy = Proxy::start(&server);
    let mut world = World::new();
    let address = proxy.address();
    world.write(
        "config.toml",
        &format!(
            "[store]\nlog = \"{address}\"\nconnect-timeout = \"1s\"\ntimeout = \"2s\"\n[daemon]\nruns-agents = false\n"
        ),
    );
    world.json(&["store", "init"]);
    world.start_daemon();
    assert_eq!(insert(&world, "pier"), 0);
    proxy.silence(true);
    let error =
        world.json_with_status(&["insert", "--key", "mole", "--title", "Mole", "--body", "A wall"], 5);
    assert_eq!(error["error"]["code"], "unavailable", "{error:#}");
    let answer = world.json(&["search", "harbour"]);
    assert_eq!(answer["results"][0]["key"], "pier", "{answer:#}");
    assert!(answer["degraded"][0].as_str().unwrap().contains("log unreachable"), "{answer:#}");
    let error = world.json_with_status(&["--min-seq", "1000000", "get", "pier"], 5);
    assert!(error["error"]["message"].as_str().unwrap().contains("log unreachable"), "{error:#}");
    let status = world.json(&["daemon", "status"]);
    assert!(status["shared_log"]["address"].is_string(), "{status:#}");
    proxy.silence(false);
    world.until(WAIT_LIMIT, &["stats"], |stats| stats["degraded"].as_array().unwrap().is_empty());
    assert_eq!(insert(&world, "quay"), 0);
    // It is not known whether the failed write was made.
    let found = keys(&world.run(&["export"]).stdout);
    assert!(["pier", "quay"].iter().all(|key| found.iter().any(|found| found == key)), "{found:?}");
}

#[test]
fn programs_see_who_uses_the_log_and_wait_for_changes_of_others() {
    let Some(server) = TestServer::start() else { return };
    let mut worlds: Vec<World> = (0..2).map(|_| world(&server)).collect();
    for world in &worlds {
        world.write("config.toml", &format!("{}[daemon]\nruns-agents = false\n{ON}", settings(&server)));
    }
    worlds[0].json(&["store", "init"]);
    worlds.iter_mut().for_each(World::start_daemon);
    assert_eq!(insert(&worlds[0], "pier"), 0);
    let seq = worlds[0].json(&["stats"])["as_of"]["seq"].to_string();
    let http = Http::of(&worlds[1]);
    let read = http.call_with(&http.read, &[("POC-Memory-Min-Seq", &seq)], "GET /v1/nodes/pier", None);
    assert_eq!(read.status, 200, "{read:?}");
    let metrics = http.call("GET /metrics", None).body;
    let has =
        |name: &str, label: &str| metrics.lines().any(|line| line.starts_with(name) && line.contains(label));
    assert!(has("poc_memory_shared_log{address=\"postgres://", "#"), "{metrics}");
    assert!(has("poc_memory_shared_log_peer_head{name=\"", "process"), "{metrics}");
    // A command that has ended is not listed any more.
    let third = world(&server);
    for _ in 0..3 {
        third.json(&["stats"]);
    }
    let status = worlds[0].json(&["daemon", "status"]);
    assert_eq!(status["shared_log"]["others"].as_array().unwrap().len(), 1, "{status:#}");
    let report = worlds[0].run(&["doctor"]).stdout;
    assert_eq!(report.matches("the shared log is also used by ").count(), 1, "{report}");
}

#[test]
fn a_damaged_copy_is_restored_from_the_database() {
    let Some(server) = TestServer::start() else { return };
    let mut world = world(&server);
    world.json(&["store", "init"]);
    for number in 0..12 {
        insert(&world, &format!("note-{number}"));
    }
    let export = world.run(&["export"]).stdout;
    let store = world.home().join("store");
    let segment = store.join("log/00000000000000000001.log");
    let flip = |at: usize| {
        let mut bytes = std::fs::read(&segment).unwrap();
        bytes[at] ^= 0x10;
        std::fs::write(&segment, bytes).unwrap();
    };
    // After a power failure, the end of a copy may lack any part. No other file has these changes yet.
    flip(2000);
    assert_eq!(world.run(&["export"]).stdout, export);
    // A daemon that stops cleanly saves its view and its records, which then know more than the log.
    world.start_daemon();
    world.stop_daemon();
    let length = std::fs::metadata(&segment).unwrap().len();
    std::fs::OpenOptions::new().write(true).open(&segment).unwrap().set_len(length - 1).unwrap();
    server.crash();
    let advice = "` is only a copy of the shared log: the next start that reaches the database restores it";
    let report = world.json_with_status(&["doctor"], 1);
    let mut hints = report["findings"].as_array().unwrap().iter().filter_map(|row| row["hint"].as_str());
    assert!(hints.any(|hint| hint.contains(advice)), "{report:#}");
    let shown = world.run(&["repair"]).stdout;
    assert!(shown.split("\n\n").nth(1).unwrap().contains(advice), "{shown}");
    assert!(!shown.contains("records  "), "{shown}");
    let refused = world.json_with_status(&["repair", "--from", "records", "--yes"], 2);
    assert!(refused["error"]["hint"].as_str().unwrap().contains(advice), "{refused:#}");
    assert_eq!(world.run(&["export"]).stdout, export);
    let error =
        world.json_with_status(&["insert", "--key", "mole", "--title", "Mole", "--body", "A wall"], 1);
    assert_eq!(error["error"]["code"], "read_only", "{error:#}");
    assert!(
        error["error"]["message"].as_str().unwrap().contains("; the next start tries again"),
        "{error:#}"
    );
    // A daemon restores the copy as soon as it reaches the database.
    world.start_daemon();
    let deadline = Deadline::after(Duration::from_secs(90));
    let log = || world.run(&["daemon", "log"]).stdout;
    while !log().contains("starts again when the shared log can be reached") {
        deadline.wait(log);
    }
    server.resume();
    // While it starts again, a command may find no daemon or a store that is in use.
    let is_restored = |status: &str| status.contains("the copy of the shared log was damaged");
    while !is_restored(&world.run(&["daemon", "status"]).stdout) {
        deadline.wait(|| format!("{:?}", world.run(&["daemon", "status"])));
    }
    assert_eq!(world.run(&["export"]).stdout, export);
    assert_eq!(insert(&world, "mole"), 0);
    let export = world.run(&["export"]).stdout;
    world.stop_daemon();
    // Without a valid beginning, it begins anew.
    flip(0);
    assert_eq!(world.run(&["export"]).stdout, export);
    assert!(store.join("quarantine/copy-1/log").exists());
    world.json(&["doctor", "--deep"]);
    std::fs::remove_dir_all(&store).unwrap();
    assert_eq!(world.run(&["export"]).stdout, export);
}

#[test]
fn an_erasure_says_when_the_claim_of_a_dead_process_ends() {
    let Some(server) = TestServer::start() else { return };
    let world = world(&server);
    world.json(&["store", "init"]);
    let text = "Zanzibarquetzal";
    assert_eq!(world.run(&["insert", "--key", "gate", "--title", "Gate", "--body", text]).status, 0);
    assert_eq!(insert(&world, "pier"), 0);
    let id = world.json(&["get", "gate"])["id"].as_str().unwrap().to_owned();
    // As if a daemon was killed while it stored a snapshot.
    server.execute(
        "INSERT INTO poc_memory_snapshot_claim SELECT id, '\\x01'::BYTEA, now() + INTERVAL '1 hour' FROM poc_memory_store",
    );
    for _ in 0..2 {
        let error = world.json_with_status(&["delete", &id, "--erase", "--yes"], 5);
        let message = error["error"]["message"].as_str().unwrap();
        assert!(message.contains("its claim ends within 3"), "{error:#}");
        let report = world.run(&["doctor"]).stdout;
        assert_eq!(report.matches("is not finished").count(), 1, "{report}");
    }
    server.execute("DELETE FROM poc_memory_snapshot_claim");
    world.json(&["delete", &id, "--erase", "--yes"]);
    require_not_in_database(&server, text);
    require_deleted(&server);
    world.json(&["doctor"]);
}

#[test]
fn doctor_names_what_another_machine_has_erased() {
    let Some(server) = TestServer::start() else { return };
    let mut worlds = daemons(&server, 2);
    let text = "Zanzibarquetzal";
    assert_eq!(worlds[0].run(&["insert", "--key", "gate", "--title", "Gate", "--body", text]).status, 0);
    settled_export(&worlds);
    let mut stopped = worlds.pop().unwrap();
    worlds[0].json(&["delete", "gate", "--erase", "--yes"]);
    // The other daemon has read the deletion, and is killed before it looks for erasures.
    let seq = worlds[0].json(&["stats"])["as_of"]["seq"].to_string();
    stopped.json(&["--min-seq", &seq, "stats"]);
    stopped.kill_daemon();
    let erased =
        |world: &World| world.run(&["doctor", "--deep"]).stdout.contains("another machine has erased texts");
    let is_in_copy = is_in_files(&stopped.home().join("store"), text);
    assert_eq!(erased(&stopped), is_in_copy);
    stopped.start_daemon();
    stopped.until(WAIT_LIMIT, &["stats"], |_| !is_in_files(&stopped.home().join("store"), text));
    stopped.stop_daemon();
    assert!(!erased(&stopped));
}

#[test]
fn a_memory_moves_into_a_database_and_back_with_its_history() {
    let Some(server) = TestServer::start() else { return };
    let mut files = World::new();
    files.start_daemon();
    for number in 0..5 {
        insert(&files, &format!("note-{number}"));
    }
    assert_eq!(files.run(&["insert", "--update", "--key", "note-3", "--body", "Changed"]).status, 0);
    files.run(&["delete", "note-4"]);
    let (export, history) = (files.run(&["export"]).stdout, files.json(&["history", "note-3"]));
    let shared = world(&server);
    shared.json(&["store", "init"]);
    let home = files.home().to_str().unwrap();
    let nowhere = shared.home().join("nowhere");
    for (from, to) in [(home, &*server.address()), (&*server.address(), nowhere.to_str().unwrap())] {
        let copy = ["store", "copy", "--name", "missing", "--from", from, "--to", to];
        let error = shared.json_with_status(&copy, 78);
        assert!(error["error"]["hint"].as_str().unwrap().contains(" --name missing`"), "{error:#}");
    }
    assert!(!nowhere.exists());
    let copied = shared.json(&["store", "copy", "--from", home, "--to", &server.address()]);
    let again = shared.json(&["store", "copy", "--from", home, "--to", &server.address()]);
    assert_eq!(copied, again);
    assert_eq!(copied["head"], files.json(&["stats"])["as_of"]["seq"]);
    assert_eq!(shared.run(&["export"]).stdout, export);
    assert_eq!(shared.json(&["history", "note-3"])["changes"], history["changes"]);
    assert_eq!(insert(&shared, "note-6"), 0);
    let export = shared.run(&["export"]).stdout;
    let back = World::new();
    shared.json(&["store", "copy", "--from", &server.address(), "--to", back.home().to_str().unwrap()]);
    assert_eq!(back.run(&["export"]).stdout, export);
    // A copy that was interrupted is not a memory, and the next one completes it.
    let (store, partial) = (back.home().join("store"), back.home().join("store.partial"));
    std::fs::rename(&store, &partial).unwrap();
    let address = server.address();
    let copy = ["store", "copy", "--from", address.as_str(), "--to", back.home().to_str().unwrap()];
    assert_eq!(shared.json(&copy)["head"], shared.json(&["stats"])["as_of"]["seq"]);
    assert!(store.exists() && !partial.exists());
    assert_eq!(back.run(&["export"]).stdout, export);
    assert_eq!(insert(&back, "note-7"), 0);
    // A memory without its old history moves, too.
    back.json(&["compact", "--keep", "0s", "--yes"]);
    assert_eq!(insert(&back, "note-9"), 0);
    let export = back.run(&["export"]).stdout;
    shared.json(&["store", "init", "--name", "later"]);
    let (from, address) = (back.home().to_str().unwrap(), server.address());
    shared.json(&["store", "copy", "--name", "later", "--from", from, "--to", &address]);
    let again = World::new();
    let to = again.home().to_str().unwrap();
    shared.json(&["store", "copy", "--name", "later", "--from", &address, "--to", to]);
    assert_eq!(again.run(&["export"]).stdout, export);
    // The database has changed since, and then the files, too.
    let error = files.json_with_status(&["store", "copy", "--from", home, "--to", &server.address()], 1);
    assert!(error["error"]["message"].as_str().unwrap().contains("later ones up to "), "{error:#}");
    insert(&files, "note-8");
    let error = files.json_with_status(&["store", "copy", "--from", home, "--to", &server.address()], 1);
    assert_eq!(error["error"]["code"], "conflict", "{error:#}");
}

#[test]
fn a_memory_in_files_is_not_used_before_it_is_in_the_database() {
    let Some(server) = TestServer::start() else { return };
    let world = World::new();
    assert_eq!(insert(&world, "pier"), 0);
    let export = world.run(&["export"]).stdout;
    world.write("config.toml", &settings(&server));
    let error = world.json_with_status(&["daemon", "start"], 78);
    assert!(error["error"]["message"].as_str().unwrap().contains("`poc-memory store init`"), "{error:#}");
    world.json(&["store", "init"]);
    let error = world.json_with_status(&["stats"], 1);
    assert_eq!(error["error"]["code"], "conflict", "{error:#}");
    let hint = error["error"]["hint"].as_str().unwrap();
    assert!(hint.contains("`poc-memory store copy --from FOLDER"), "{hint}");
    let (home, address) = (world.home().to_str().unwrap(), server.address());
    world.json(&["store", "copy", "--from", home, "--to", &address]);
    assert_eq!(world.run(&["export"]).stdout, export);
    assert_eq!(insert(&world, "quay"), 0);
}

#[test]
fn changes_that_the_database_has_lost_are_put_back_from_a_folder() {
    let Some(server) = TestServer::start() else { return };
    let mut worlds = daemons(&server, 2);
    assert_eq!((insert(&worlds[0], "pier"), insert(&worlds[0], "quay")), (0, 0));
    let export = settled_export(&worlds);
    worlds[0].stop_daemon();
    // Like a failover to a replica that had not received the last change.
    server.execute(
        "WITH lost AS (UPDATE poc_memory_store SET head = head - 1 RETURNING id, head) \
         DELETE FROM poc_memory_log USING lost WHERE store = lost.id AND seq > lost.head",
    );
    let error = worlds[0].json_with_status(&["stats"], 1);
    let message = error["error"]["message"].as_str().unwrap();
    assert!(message.contains("ends at change "), "{error:#}");
    let (home, address) = (worlds[0].home().to_str().unwrap().to_owned(), server.address());
    worlds[0].json(&["store", "copy", "--from", &home, "--to", &address]);
    worlds[0].start_daemon();
    assert_eq!(settled_export(&worlds), export);
    assert_eq!(insert(&worlds[1], "mole"), 0);
    assert_eq!(keys(&settled_export(&worlds)).len(), 3);
}

#[test]
fn a_new_daemon_begins_with_a_snapshot() {
    let Some(server) = TestServer::start() else { return };
    let with = |more: &str| {
        let world = World::new();
        world.write("config.toml", &format!("{}{more}\n[daemon]\nruns-agents = false\n", settings(&server)));
        world
    };
    let mut first = with("snapshot-every = 5");
    first.json(&["store", "init"]);
    for number in 0..6 {
        insert(&first, &format!("note-{number}"));
    }
    assert_eq!(first.run(&["insert", "--update", "--key", "note-3", "--body", "Changed"]).status, 0);
    first.start_daemon();
    let status =
        first.until(WAIT_LIMIT, &["daemon", "status"], |status| status["shared_log"]["snapshot"].is_u64());
    assert_eq!(status["shared_log"]["snapshot"], status["shared_log"]["head"], "{status:#}");
    let text = first.run(&["daemon", "status"]).stdout;
    assert!(text.contains("newest snapshot at change "), "{text}");
    insert(&first, "note-6");

    let (mut second, whole) = (with(""), with("begin-with = \"history\""));
    let export = first.run(&["export"]).stdout;
    for world in [&second, &whole] {
        assert_eq!(world.run(&["export"]).stdout, export);
    }
    // A copy that reads the whole log builds what the other one has copied.
    let files = ["view", "text/snapshot", "vectors/manifest", "mentions/snapshot"];
    let copied = |world: &World| files.map(|name| world.home().join("store").join(name).exists());
    assert_eq!((copied(&second), copied(&whole)), ([true; 4], [false; 4]));
    // Without weights, which depend on the time of the question.
    let found = |world: &World| -> Vec<(Value, Value)> {
        let answer = world.json(&["search", "the harbour of note-3"]);
        let hits = answer["results"].as_array().unwrap().iter();
        hits.map(|hit| (hit["key"].clone(), hit["score"].clone())).collect()
    };
    assert!(!found(&second).is_empty());
    assert_eq!(found(&second), found(&whole));
    let changes = |world: &World| world.json(&["history", "note-3"])["changes"].as_array().unwrap().len();
    assert_eq!((changes(&whole), changes(&first)), (2, 2));
    assert!(changes(&second) < 2, "its history begins with the snapshot");
    second.start_daemon();
    assert_eq!(insert(&second, "note-7"), 0);
    assert_eq!(keys(&settled_export(&[first, second])).len(), 8);
}

/// Fails unless the log in the database begins with the record after the last one that was deleted.
fn require_deleted(server: &TestServer) {
    server.execute(
        "DO $$ BEGIN ASSERT (SELECT min(seq) FROM poc_memory_log) = (SELECT dropped + 1 FROM poc_memory_store); END $$",
    );
}

/// Fails if the log or a snapshot in the database contains a text that is too short to be compressed.
fn require_not_in_database(server: &TestServer, text: &str) {
    for (table, column) in [("poc_memory_log", "payload"), ("poc_memory_snapshot_part", "bytes")] {
        server.execute(&format!(
            "DO $$ BEGIN ASSERT NOT EXISTS (SELECT 1 FROM {table} WHERE position('{text}'::bytea IN {column}) > 0); END $$"
        ));
    }
}

/// Whether a file below a folder contains a text.
fn is_in_files(folder: &Path, text: &str) -> bool {
    std::fs::read_dir(folder).into_iter().flatten().flatten().any(|entry| {
        let path = entry.path();
        if path.is_dir() {
            return is_in_files(&path, text);
        }
        std::fs::read(&path).unwrap_or_default().windows(text.len()).any(|found| found == text.as_bytes())
    })
}

#[test]
fn a_text_is_erased_from_the_database_and_from_all_daemons() {
    let Some(server) = TestServer::start() else { return };
    let mut worlds = daemons(&server, 3);
    let text = "Zanzibarquetzal";
    assert_eq!(worlds[0].run(&["insert", "--key", "gate", "--title", "Gate", "--body", text]).status, 0);
    assert_eq!(insert(&worlds[0], "pier"), 0);
    settled_export(&worlds);
    // One daemon is stopped meanwhile, and lacks what is deleted from the log.
    let mut stopped = worlds.pop().unwrap();
    stopped.stop_daemon();
    let erased = worlds[0].json(&["delete", "gate", "--erase", "--yes"]);
    assert!(erased["erasure"]["shared_log"].as_str().unwrap().contains("postgres://"), "{erased:#}");
    require_not_in_database(&server, text);
    require_deleted(&server);
    let status = worlds[0].json(&["daemon", "status"]);
    assert!(status["shared_log"]["first"].is_u64(), "{status:#}");
    let store = |world: &World| world.home().join("store");
    assert!(!is_in_files(&store(&worlds[0]), text));
    // A daemon looks for erasures of others when it starts, and every ten seconds.
    worlds[1].stop_daemon();
    worlds[1].start_daemon();
    stopped.start_daemon();
    worlds.push(stopped);
    let export = settled_export(&worlds);
    assert_eq!(keys(&export), ["pier"]);
    for world in &worlds {
        world.until(WAIT_LIMIT, &["stats"], |_| !is_in_files(&store(world), text));
    }
    assert_eq!(insert(&worlds[2], "mole"), 0);
    assert_eq!(keys(&settled_export(&worlds)).len(), 2);
    let new = world(&server);
    assert_eq!(new.run(&["export"]).stdout, worlds[0].run(&["export"]).stdout);
}

#[test]
fn a_daemon_that_missed_an_erasure_starts_again() {
    let Some(server) = TestServer::start() else { return };
    let worlds = daemons(&server, 2);
    let text = "Zanzibarquetzal";
    assert_eq!(worlds[0].run(&["insert", "--key", "gate", "--title", "Gate", "--body", text]).status, 0);
    settled_export(&worlds);
    // Like a machine that sleeps: the process goes on later, and its connections are still open.
    worlds[1].signal_daemon("-STOP");
    assert_eq!(insert(&worlds[0], "pier"), 0);
    worlds[0].json(&["delete", "gate", "--erase", "--yes"]);
    assert_eq!(insert(&worlds[0], "mole"), 0);
    worlds[1].signal_daemon("-CONT");
    let export = worlds[0].run(&["export"]).stdout;
    let deadline = Deadline::after(Duration::from_secs(90));
    // While it starts again, a command may find no daemon or a store that is in use.
    while worlds[1].run(&["daemon", "status"]).status != 0 || worlds[1].run(&["export"]).stdout != export {
        deadline.wait(|| format!("{:?}", worlds[1].run(&["daemon", "status"])));
    }
    assert_eq!(insert(&worlds[1], "quay"), 0);
    assert_eq!(keys(&settled_export(&worlds)).len(), 3);
    assert!(!is_in_files(&worlds[1].home().join("store"), text));
}

#[test]
fn history_that_is_not_kept_is_deleted_from_the_database() {
    let Some(server) = TestServer::start() else { return };
    let with = |more: &str| {
        let world = World::new();
        let store = format!("{}snapshot-every = 5\n{more}", settings(&server));
        world.write("config.toml", &format!("{store}\n[daemon]\nruns-agents = false\n"));
        world
    };
    let mut first = with("[history]\nkeep = \"1s\"");
    first.json(&["store", "init"]);
    for number in 0..8 {
        assert_eq!(insert(&first, &format!("note-{number}")), 0);
    }
    let seq = |world: &World| world.json(&["stats"])["as_of"]["seq"].as_u64().unwrap();
    let all = seq(&first);
    // The daemon looks once when it starts: the changes must be older than a second, and the commands must have ended.
    let old_enough = Deadline::after(Duration::from_millis(1500));
    while old_enough.pause() {
        first.json(&["stats"]);
    }
    server.execute("UPDATE poc_memory_writer SET seen = seen - INTERVAL '1 minute'");
    first.start_daemon();
    let status =
        first.until(WAIT_LIMIT, &["daemon", "status"], |status| status["shared_log"]["first"].is_u64());
    assert!(status["shared_log"]["first"].as_u64() >= Some(all), "{status:#}");
    require_deleted(&server);
    for begin in ["", "begin-with = \"history\""] {
        let mut new = with(begin);
        assert_eq!(new.run(&["export"]).stdout, first.run(&["export"]).stdout, "{begin}");
        new.start_daemon();
        assert_eq!(insert(&new, &format!("note-of-{}", begin.len())), 0);
        let newest = seq(&new);
        first.until(WAIT_LIMIT, &["stats"], |stats| stats["as_of"]["seq"].as_u64() >= Some(newest));
        new.stop_daemon();
    }
    let back = World::new();
    let home = back.home().to_str().unwrap();
    let address = server.address();
    let copy = ["store", "copy", "--from", address.as_str(), "--to", home];
    first.json(&copy);
    assert_eq!(keys(&back.run(&["export"]).stdout).len(), 10);
    // A copy that ends where deleted changes are is somebody's only one of its history.
    server.execute("UPDATE poc_memory_store SET dropped = head");
    let error = first.json_with_status(&copy, 1);
    assert_eq!(error["error"]["code"], "conflict", "{error:#}");
    assert_eq!(keys(&back.run(&["export"]).stdout).len(), 10);
}

#[test]
fn a_replica_takes_over_without_losing_an_acknowledged_write() {
    let Some(server) = TestServer::start() else { return };
    let replica = server.start_replica();
    let mut worlds: Vec<World> = (0..2).map(|_| World::new()).collect();
    for world in &worlds {
        let address = server.address_with(&replica);
        world.write(
            "config.toml",
            &format!(
                "[store]\nlog = \"{address}\"\nconnect-timeout = \"5s\"\n[daemon]\nruns-agents = false\n"
            ),
        );
    }
    worlds[0].json(&["store", "init"]);
    worlds.iter_mut().for_each(World::start_daemon);
    let acknowledged = Mutex::new(BTreeSet::new());
    let write = |world: &World, at: usize, round: usize| {
        for number in 0..15 {
            let key = format!("note-{round}-{at}-{number}");
            if insert(world, &key) == 0 {
                acknowledged.lock().unwrap().insert(key);
            }
        }
    };
    std::thread::scope(|scope| {
        for (at, world) in worlds.iter().enumerate() {
            let write = &write;
            scope.spawn(move || write(world, at, 0));
        }
        server.crash();
        replica.promote();
    });
    for world in &worlds {
        world.until(WAIT_LIMIT, &["stats"], |stats| stats["degraded"].as_array().unwrap().is_empty());
    }
    worlds.iter().enumerate().for_each(|(at, world)| write(world, at, 1));
    let acknowledged = acknowledged.into_inner().unwrap();
    check_acknowledged(&settled_export(&worlds), &acknowledged);
    assert!(acknowledged.len() >= 30, "only {} writes were acknowledged", acknowledged.len());
}
