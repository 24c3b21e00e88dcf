//! `kill -9` at any time loses no acknowledged write and leaves nothing incomplete.

use crate::support::{World, number_in};
use serde_json::Value;
use std::collections::BTreeSet;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::Duration;

/// The number of kills: `POC_MEMORY_KILLS`, or 20.
fn rounds() -> u64 {
    number_in("POC_MEMORY_KILLS", 20)
}

/// Kills the daemon repeatedly while a client writes notes and agents run.
#[test]
fn a_killed_daemon_loses_no_acknowledged_write() {
    let mut world = World::new();
    let mut acknowledged: BTreeSet<String> = BTreeSet::new();
    for round in 0..rounds() {
        world.start_daemon();
        let (sender, receiver) = mpsc::channel::<String>();
        let killed = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let (world, killed) = (&world, &killed);
            scope.spawn(move || {
                for number in 0.. {
                    let key = format!("note-{round}-{number}");
                    let body = format!("Note {number} of round {round} about page splits and journals.");
                    let mut words =
                        vec!["insert", "--key", &key, "--title", &key, "--body", &body, "--type", "episodic"];
                    words.extend(tenant(number).iter().flat_map(|pair| ["--tenant", pair]));
                    let ran = world.run(&words);
                    // Without a daemon the program opens the store itself, and its acknowledged writes count too.
                    if ran.status != 0 || sender.send(key).is_err() || killed.load(Ordering::SeqCst) {
                        return;
                    }
                }
            });
            let mut runner = world
                .command("poc-memory")
                .args(["agent", "run", "linker", "--force"])
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            // Kills the daemon after a different number of acknowledged writes in each round.
            acknowledged.extend(
                (0..1 + round % 5).filter_map(|_| receiver.recv_timeout(Duration::from_secs(20)).ok()),
            );
            world.signal_daemon("-9");
            killed.store(true, Ordering::SeqCst);
            runner.kill().ok();
            runner.wait().unwrap();
            acknowledged.extend(receiver.iter());
        });
        world.wait_for_daemon();
        check(&world, &acknowledged);
    }
    assert!(acknowledged.len() >= 40, "only {} writes were acknowledged", acknowledged.len());
}

/// A killed import leaves only whole chunks, and the next import completes it.
#[test]
fn the_next_import_completes_a_killed_one() {
    let mut world = World::new();
    let lines: String = (0..3000)
        .map(|number| format!("{{\"key\":\"line-{number}\",\"title\":\"Line {number}\",\"body\":\"Text of line {number}, unlike number {}\"}}\n", number * 7919 % 3000))
        .collect();
    world.write("lines.jsonl", &lines);
    for round in 1..4 {
        world.start_daemon();
        let mut import = world
            .command("poc-memory")
            .args(["import", "lines.jsonl"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // Kills once some chunks are stored.
        world.until(Duration::from_secs(60), &["stats"], |stats| {
            stats["nodes"].as_u64().unwrap() >= 200 * round
        });
        world.kill_daemon();
        import.wait().unwrap();
        let stats = world.json(&["stats"]);
        let nodes = stats["nodes"].as_u64().unwrap();
        assert!(nodes >= 200 * round && nodes.is_multiple_of(200) || nodes == 3000, "{nodes} nodes");
    }
    let answer = world.json(&["import", "lines.jsonl"]);
    assert_eq!(answer["failed"].as_array().unwrap().len(), 0);
    assert_eq!(answer["inserted"].as_u64().unwrap() + answer["duplicates"].as_u64().unwrap(), 3000);
    assert_eq!(world.json(&["stats"])["nodes"], 3000);
}

/// The tenant of a note. Half of the notes have none.
fn tenant(number: u64) -> &'static [&'static str] {
    match number % 4 {
        1 => &["customer=acme"],
        3 => &["customer=blue", "region=north"],
        _ => &[],
    }
}

/// The tenant of the note with this key.
fn tenant_of(key: &str) -> &'static [&'static str] {
    tenant(key.rsplit('-').next().unwrap().parse().unwrap())
}

fn check(world: &World, acknowledged: &BTreeSet<String>) {
    let mut found = BTreeSet::new();
    let mut visited = BTreeSet::new();
    let mut linked = BTreeSet::new();
    for place in [0, 1, 3] {
        let mut words = vec!["export"];
        words.extend(tenant(place).iter().flat_map(|pair| ["--tenant", pair]));
        for line in world.run(&words).stdout.lines() {
            let record: Value = serde_json::from_str(line).unwrap();
            if let Some(key) = record["key"].as_str() {
                assert_eq!(tenant_of(key), tenant(place), "{key} is another tenant's");
                found.insert(key.to_owned());
            }
            collect(&record, "agent", "linker", &mut visited);
            collect(&record, "provenance", "agent:linker", &mut linked);
        }
    }
    let lost: Vec<_> = acknowledged.difference(&found).collect();
    assert!(lost.is_empty(), "lost {lost:?}");
    // Each run is complete: its actions exist together with its visits, or neither exists.
    let runs = world.json(&["agent", "history", "linker"]);
    let applied: u64 =
        runs["runs"].as_array().unwrap().iter().map(|run| run["applied"].as_u64().unwrap_or(0)).sum();
    assert_eq!(linked.is_empty(), applied == 0, "runs {runs:#}, links {linked:?}");
    assert!(linked.is_empty() || !visited.is_empty(), "links without visits");
    // The indexes agree with the store: a word of a note finds the note.
    for key in acknowledged.iter().rev().take(4) {
        let mut words = vec!["search", key, "-p", "hybrid,k=256"];
        words.extend(tenant_of(key).iter().flat_map(|pair| ["--tenant", pair]));
        let hits = world.json(&words);
        let found = hits["results"].as_array().unwrap().iter().any(|hit| hit["key"] == **key);
        assert!(found, "{hits:#}");
    }
    let everything = world.json(&["search", "-p", "all"]);
    let without_tenant = found.iter().filter(|key| tenant_of(key).is_empty()).count();
    let left_out = everything["left_out"].as_u64().unwrap_or(0) as usize;
    assert_eq!(everything["results"].as_array().unwrap().len() + left_out, without_tenant);
}

/// Collects all objects in `value` whose `field` has the value `wanted`.
fn collect(value: &Value, field: &str, wanted: &str, into: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            if fields.get(field).is_some_and(|found| found == wanted) {
                into.insert(value.to_string());
            }
            fields.values().for_each(|value| collect(value, field, wanted, into));
        }
        Value::Array(items) => items.iter().for_each(|value| collect(value, field, wanted, into)),
        _ => {}
    }
}
