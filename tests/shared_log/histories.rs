//! Many writers over several daemons, which are killed, and over a database, which crashes. The writers remember what
//! was acknowledged to them, and at the end the memory is compared with that.

use super::{daemons, settled_export};
use crate::support::Deadline;
use crate::support::number_in;
use crate::support::world::{WAIT_LIMIT, World};
use poc_graph::error::{Code, Error};
use poc_graph::rng::SeededRng;
use poc_graph::time::Span;
use poc_memory::client::Client;
use poc_postgres::testing::TestServer;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

const DAEMONS: usize = 3;
const WRITERS: usize = 8;

/// The number of writes after a fault that must be acknowledged before the next one.
const WRITES_BETWEEN: u64 = 24;

/// What a writer knows about a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Acknowledged,
    /// There was no answer, or an error that does not say whether the write was made.
    Unknown,
}

/// The note that all writers increment, each with the version that it has read.
const COUNTER: &str = "counter";

/// What a writer has written: the values of its notes in order, and the values that it gave the counter.
#[derive(Default)]
struct Known {
    notes: BTreeMap<String, Vec<(u64, Outcome)>>,
    counter: Vec<(u64, Outcome)>,
}

/// One writer. It uses one daemon until that does not answer.
struct Writer<'a> {
    number: usize,
    sockets: &'a [PathBuf],
    at: usize,
    client: Option<Client>,
    known: Known,
    acknowledged: &'a AtomicU64,
}

/// The text of a note with a value.
fn body(value: u64) -> String {
    format!("Value {value} of the harbour.")
}

/// The value in a text.
fn value_of(body: &str) -> u64 {
    let digits: String = body.chars().filter(char::is_ascii_digit).collect();
    digits.parse().unwrap_or_else(|_| panic!("no value: {body:?}"))
}

impl Writer<'_> {
    /// Calls an op; `None` if no daemon could be asked.
    fn call(&mut self, op: &str, arguments: Value) -> Option<Result<Value, Error>> {
        if self.client.is_none() {
            self.client = connect(&self.sockets[self.at]);
            if self.client.is_none() {
                self.at = (self.at + 1) % self.sockets.len();
                return None;
            }
        }
        let answer = self.client.as_mut()?.call(op, arguments, &|_| {});
        // After any error, the writer asks another daemon, over a new connection.
        if answer.as_ref().is_err_and(|error| error.code != Code::Conflict) {
            self.client = None;
            self.at = (self.at + 1) % self.sockets.len();
        }
        Some(answer)
    }

    /// Writes and returns what is known about it; `None` if nothing was written.
    fn write(&mut self, arguments: Value) -> Option<Outcome> {
        match self.call("insert", arguments)? {
            Ok(_) => {
                self.acknowledged.fetch_add(1, Ordering::Relaxed);
                Some(Outcome::Acknowledged)
            }
            Err(error) if error.code == Code::Conflict => None,
            Err(error) => {
                assert_eq!(error.code, Code::Unavailable, "{error}");
                Some(Outcome::Unknown)
            }
        }
    }

    fn create(&mut self) {
        let key = format!("note-{}-{}", self.number, self.known.notes.len());
        let arguments = json!({"key": key, "title": key, "body": body(0)});
        // A key is never used again, and no other writer uses it.
        if let Some(outcome) = self.write(arguments) {
            self.known.notes.insert(key, vec![(0, outcome)]);
        }
    }

    /// Gives a note of this writer its next value.
    fn update(&mut self, rng: &SeededRng) {
        let acknowledged: Vec<String> = self
            .known
            .notes
            .iter()
            .filter(|(_, values)| values[0].1 == Outcome::Acknowledged)
            .map(|(key, _)| key.clone())
            .collect();
        if acknowledged.is_empty() {
            return;
        }
        let key = &acknowledged[rng.below(0, acknowledged.len())];
        let value = self.known.notes[key].last().unwrap().0 + 1;
        let arguments = json!({"key": key, "update": true, "body": body(value)});
        if let Some(outcome) = self.write(arguments) {
            self.known.notes.get_mut(key).unwrap().push((value, outcome));
        }
    }

    /// Increments the counter, unless somebody else does so between the read and the write.
    fn increment(&mut self) {
        let Some(Ok(note)) = self.call("get", json!({"node": COUNTER})) else { return };
        let value = value_of(note["body"].as_str().unwrap()) + 1;
        let arguments = json!({
            "key": COUNTER, "update": true, "body": body(value), "if_version": note["version"]
        });
        if let Some(outcome) = self.write(arguments) {
            self.known.counter.push((value, outcome));
        }
    }

    fn run(mut self, rng: &SeededRng, has_ended: &AtomicBool) -> Known {
        while !has_ended.load(Ordering::Relaxed) {
            match rng.below(0, 10) {
                0..5 => self.create(),
                5..8 => self.update(rng),
                _ => self.increment(),
            }
        }
        self.known
    }
}

fn connect(socket: &Path) -> Option<Client> {
    Client::connect(socket, 1 << 26, Span::MINUTE).ok().flatten()
}

/// A fault, after which everything runs again.
fn fail(kind: u64, server: &TestServer, worlds: &mut [World], rng: &SeededRng) {
    let victim = rng.below(0, worlds.len());
    match kind {
        0 => worlds[victim].kill_daemon(),
        1 => {
            server.crash();
            server.resume();
            return;
        }
        2 => {
            server.crash();
            worlds[victim].kill_daemon();
            server.resume();
        }
        _ => {
            worlds[victim].kill_daemon();
            let second = (victim + 1) % worlds.len();
            worlds[second].kill_daemon();
            worlds[second].start_daemon();
        }
    }
    worlds[victim].start_daemon();
}

/// Lets writers write while faults happen, and compares the memory with what they know.
fn run(seed: u64, faults: u64) {
    let Some(server) = TestServer::start() else { return };
    let mut worlds = daemons(&server, DAEMONS);
    worlds[0].json(&["insert", "--key", COUNTER, "--title", "Counter", "--body", &body(0)]);
    let sockets: Vec<PathBuf> = worlds.iter().map(|world| world.home().join("daemon.sock")).collect();
    let (acknowledged, has_ended, rng) = (AtomicU64::new(0), AtomicBool::new(false), SeededRng::new(seed));
    let known: Vec<Known> = std::thread::scope(|scope| {
        // If the faults cannot be made, the writers must end, too.
        let _end = EndOnDrop(&has_ended);
        let running: Vec<_> = (0..WRITERS)
            .map(|number| {
                let writer = Writer {
                    number,
                    sockets: &sockets,
                    at: number % DAEMONS,
                    client: None,
                    known: Known::default(),
                    acknowledged: &acknowledged,
                };
                let (has_ended, rng) = (&has_ended, SeededRng::new(seed * 1000 + number as u64));
                scope.spawn(move || writer.run(&rng, has_ended))
            })
            .collect();
        for fault in 0..=faults {
            let (before, deadline) = (acknowledged.load(Ordering::Relaxed), Deadline::after(4 * WAIT_LIMIT));
            while acknowledged.load(Ordering::Relaxed) < before + WRITES_BETWEEN {
                assert!(!running.iter().any(|thread| thread.is_finished()), "a writer has failed");
                deadline.wait(|| format!("only {before} writes were acknowledged after {fault} faults"));
            }
            if fault < faults {
                fail(fault % 4, &server, &mut worlds, &rng);
            }
        }
        has_ended.store(true, Ordering::Relaxed);
        running.into_iter().map(|writer| writer.join().unwrap()).collect()
    });
    check(&worlds, &known);
}

/// Ends the writers.
struct EndOnDrop<'a>(&'a AtomicBool);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Compares the memory with what the writers know.
fn check(worlds: &[World], known: &[Known]) {
    let export = settled_export(worlds);
    let mut found: BTreeMap<String, u64> = BTreeMap::new();
    for line in export.lines() {
        let record: Value = serde_json::from_str(line).unwrap();
        if let Some(key) = record["key"].as_str() {
            let value = value_of(record["body"].as_str().unwrap());
            assert_eq!(found.insert(key.to_owned(), value), None, "`{key}` exists twice");
        }
    }
    let counted = found.remove(COUNTER).unwrap();
    for (key, values) in known.iter().flat_map(|known| &known.notes) {
        let tried: BTreeSet<u64> = values.iter().map(|value| value.0).collect();
        let acknowledged = values.iter().rfind(|value| value.1 == Outcome::Acknowledged);
        match (found.remove(key), acknowledged) {
            (None, Some(value)) => panic!("`{key}` is lost with {value:?}"),
            (None, None) => {}
            (Some(value), last) => {
                assert!(tried.contains(&value), "`{key}` has the value {value} of nobody: {values:?}");
                // A write without an answer may be there, and it is later than the last acknowledged one.
                assert!(last.is_none_or(|last| value >= last.0), "`{key}` lost {last:?} and has {value}");
            }
        }
        if values.len() > 1 {
            check_changes(&worlds[0], key, values);
        }
    }
    assert!(found.is_empty(), "nobody wrote {found:?}");

    let increments: Vec<&(u64, Outcome)> = known.iter().flat_map(|known| &known.counter).collect();
    let acknowledged: Vec<u64> = increments
        .iter()
        .filter(|increment| increment.1 == Outcome::Acknowledged)
        .map(|increment| increment.0)
        .collect();
    let once: BTreeSet<u64> = acknowledged.iter().copied().collect();
    assert_eq!(once.len(), acknowledged.len(), "two writers made the same increment: {acknowledged:?}");
    assert!(acknowledged.iter().all(|value| *value <= counted), "{counted}: {acknowledged:?}");
    for value in 1..=counted {
        assert!(increments.iter().any(|increment| increment.0 == value), "nobody wrote {value}");
    }
    let changes = values_of_changes(&worlds[0], COUNTER);
    assert_eq!(changes, (1..=counted).collect::<Vec<_>>(), "the counter");
}

/// The values that a note has got by its changes, except the first one.
fn values_of_changes(world: &World, key: &str) -> Vec<u64> {
    let history = world.json(&["history", key]);
    let bodies = history["changes"].as_array().unwrap().iter().filter_map(|change| {
        let mut fields = change["fields"].as_array()?.iter();
        fields.find(|field| field["field"] == "body")?["after"].as_str()
    });
    bodies.map(value_of).collect()
}

/// Checks that every acknowledged value of a note was written once, that no other one was written twice, and that they
/// were written in order.
fn check_changes(world: &World, key: &str, values: &[(u64, Outcome)]) {
    let changes = values_of_changes(world, key);
    assert!(changes.is_sorted_by(|before, after| before < after), "`{key}`: {changes:?}");
    for (value, outcome) in &values[1..] {
        let is_acknowledged = *outcome == Outcome::Acknowledged;
        assert!(!is_acknowledged || changes.contains(value), "`{key}` lost {value}: {changes:?}");
    }
}

#[test]
fn writers_over_killed_daemons_and_a_crashing_database_lose_and_repeat_nothing() {
    run(number_in("POC_MEMORY_SEED", 1), 4);
}

#[test]
#[ignore = "takes minutes; POC_MEMORY_FAULTS is the number of kills and crashes, 100 if unset"]
fn writers_lose_and_repeat_nothing_over_many_kills_and_crashes() {
    let seed: u64 = number_in("POC_MEMORY_SEED", 1);
    // Each history has a log of its own, so that the memories stay small.
    let faults: u64 = number_in("POC_MEMORY_FAULTS", 100);
    for history in 0..faults.div_ceil(20) {
        run(seed + history, (faults - history * 20).min(20));
    }
}
