//! `kill -9` at any time loses no acknowledged write and leaves nothing incomplete.

use crate::support::{World, number_in};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::Duration;

/// The number of kills: `POC_MEMORY_KILLS`, or 20.
fn rounds() -> u64 {
    number_in("POC_MEMORY_KILLS", 20)
}

/// A model whose replies always have the same actions. Those on notes that a prompt does not have are refused. No other
/// agent runs, not even in a test of hours.
const SETTINGS: &str = r#"
[daemon]
runs-agents = ["pairs"]
[agents]
candidates = 0
[models.pairs]
provider = "pairs"
id = "pairs"
[providers.pairs]
kind = "command"
command = ["printf", '{"notes":"","link-add":[{"reason":"x","from":"N1","to":"N2","strength":0.5},{"reason":"x","from":"N2","to":"N3","strength":0.5}],"weight":[{"reason":"x","node":"N1","delta":0.1}]}']
"#;

/// An agent that reads each semantic note once, in groups of up to three. A run of N notes adds N - 1 edges, changes one
/// weight, and visits N notes.
const AGENT: &str = r#"
[query]
pipeline = "all | type:semantic | not-visited:pairs | limit:3"
[prompt]
inline = "{{ NODES }}"
placeholders = ["NODES"]
[execution]
model = "pairs"
actions = ["link-add", "weight"]
schedule = "on-demand"
[budget]
max-runs-per-day = 0
"#;

/// What clients know of the memory.
#[derive(Default)]
struct Known {
    /// The keys of the notes of the first client, which only inserts, into three tenants.
    inserted: BTreeSet<String>,
    /// The notes and messages of the second client.
    mixed: MixedNotes,
    /// The runs that applied actions and whose end was acknowledged, with the number of actions.
    runs: BTreeMap<String, u64>,
}

/// The notes and messages of a client that inserts, changes, renames, deletes and writes: their texts by key, or by
/// themselves for messages.
#[derive(Default)]
struct MixedNotes {
    texts: BTreeMap<String, String>,
    /// The same after the last write, whose outcome is not known.
    unknown: Option<BTreeMap<String, String>>,
    writes: u64,
}

impl MixedNotes {
    /// Performs one of the writes of a round. Returns whether it was acknowledged.
    fn write(&mut self, world: &World, round: u64, number: u64) -> bool {
        let key = format!("mixed-{round}-{}", number / 6);
        let renamed = format!("{key}-renamed");
        let text = format!("Text {number} of round {round} about harbours.");
        let message = format!("Message {number} of round {round} about ships.");
        let mut after = self.texts.clone();
        let ran = match number % 6 {
            0 => {
                after.insert(key.clone(), text.clone());
                world.run(&["insert", "--key", &key, "--title", &key, "--body", &text, "--type", "episodic"])
            }
            1 => {
                after.insert(key.clone(), text.clone());
                world.run(&["insert", "--update", "--key", &key, "--body", &text])
            }
            2 => {
                after.insert(message.clone(), message.clone());
                world.run(&["write", &message])
            }
            3 => {
                let text = after.remove(&key).unwrap();
                after.insert(renamed.clone(), text);
                world.run(&["rename", &key, &renamed])
            }
            4 => {
                after.insert(renamed.clone(), text.clone());
                world.run(&["insert", "--update", "--key", &renamed, "--body", &text])
            }
            _ if number % 12 == 5 => {
                after.remove(&renamed);
                world.run(&["delete", &renamed])
            }
            _ => world.run(&["weight", &renamed, "2"]),
        };
        if ran.status != 0 {
            self.unknown = Some(after);
            return false;
        }
        self.texts = after;
        self.writes += 1;
        true
    }

    /// Checks that the memory has what was acknowledged: with the last write as a whole, or without it.
    fn check(&mut self, found: BTreeMap<String, String>) {
        let is_expected = found == self.texts || self.unknown.as_ref() == Some(&found);
        assert!(is_expected, "{found:#?} is neither {:#?} nor {:#?}", self.texts, self.unknown);
        self.texts = found;
        self.unknown = None;
    }
}

/// Kills the daemon repeatedly while two clients write and an agent runs.
#[test]
fn a_killed_daemon_loses_no_acknowledged_write() {
    let mut world = World::new();
    world.write("config.toml", SETTINGS);
    world.write("agents/pairs.toml", AGENT);
    let mut known = Known::default();
    let mut applied = 0;
    for round in 0..rounds() {
        world.start_daemon();
        let (sender, receiver) = mpsc::channel::<String>();
        let killed = AtomicBool::new(false);
        let Known { inserted, mixed, runs } = &mut known;
        std::thread::scope(|scope| {
            let (world, killed) = (&world, &killed);
            scope.spawn(move || {
                for number in 0.. {
                    let key = format!("note-{round}-{number}");
                    let body = format!("Note {number} of round {round} about page splits and journals.");
                    let mut words = vec!["insert", "--key", &key, "--title", &key, "--body", &body];
                    words.extend(tenant(number).iter().flat_map(|pair| ["--tenant", pair]));
                    let ran = world.run(&words);
                    // Without a daemon the program opens the store itself, and its acknowledged writes count too.
                    if ran.status != 0 || sender.send(key).is_err() || killed.load(Ordering::SeqCst) {
                        return;
                    }
                }
            });
            scope.spawn(move || {
                for number in 0.. {
                    if !mixed.write(world, round, number) || killed.load(Ordering::SeqCst) {
                        return;
                    }
                }
            });
            scope.spawn(move || {
                while !killed.load(Ordering::SeqCst) {
                    let ran = world.run(&["--json", "agent", "run", "pairs"]);
                    let Ok(run) = serde_json::from_str::<Value>(&ran.stdout) else { continue };
                    let applied = run["applied"].as_array().unwrap().len() as u64;
                    if applied > 0 {
                        runs.insert(run["run"].as_str().unwrap().to_owned(), applied);
                    }
                }
            });
            // Kills the daemon after a different number of acknowledged writes in each round.
            inserted.extend(
                (0..1 + round % 5).filter_map(|_| receiver.recv_timeout(Duration::from_secs(20)).ok()),
            );
            world.signal_daemon("-9");
            killed.store(true, Ordering::SeqCst);
            inserted.extend(receiver.iter());
        });
        world.wait_for_daemon();
        applied = check(&world, &mut known);
    }
    let (inserted, mixed) = (known.inserted.len(), known.mixed.writes);
    assert!(inserted >= 40 && mixed >= 20, "only {inserted} and {mixed} writes were acknowledged");
    assert!(applied >= 3, "only {applied} runs were applied");
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

/// Compares the memory with what the clients know. Returns the number of runs that were applied.
fn check(world: &World, known: &mut Known) -> usize {
    let mut inserted = BTreeSet::new();
    let mut mixed = BTreeMap::new();
    let mut effects: BTreeMap<String, Effects> = BTreeMap::new();
    let mut without_tenant = 0;
    for place in [0, 1, 3] {
        let mut words = vec!["export"];
        words.extend(tenant(place).iter().flat_map(|pair| ["--tenant", pair]));
        let exported = world.run(&words);
        assert_eq!(exported.status, 0, "{}", exported.stderr);
        for line in exported.stdout.lines() {
            let note: Value = serde_json::from_str(line).unwrap();
            without_tenant += usize::from(tenant(place).is_empty());
            let (key, body) = (note["key"].as_str().unwrap(), note["body"].as_str().unwrap());
            if key.starts_with("note-") {
                assert_eq!(tenant_of(key), tenant(place), "{key} is another tenant's");
                inserted.insert(key.to_owned());
            } else {
                assert!(tenant(place).is_empty(), "{key} is another tenant's");
                let name = if body.starts_with("Message ") { body } else { key };
                mixed.insert(name.to_owned(), body.to_owned());
            }
            collect_effects(&note, &mut effects);
        }
    }
    let lost: Vec<_> = known.inserted.difference(&inserted).collect();
    assert!(lost.is_empty(), "lost {lost:?}");
    known.mixed.check(mixed);
    let applied = check_runs(world, &mut effects, &known.runs);
    // The indexes agree with the store: a word of a note finds the note.
    for key in known.inserted.iter().rev().take(4) {
        let mut words = vec!["search", key, "-p", "hybrid,k=256"];
        words.extend(tenant_of(key).iter().flat_map(|pair| ["--tenant", pair]));
        let hits = world.json(&words);
        let found = hits["results"].as_array().unwrap().iter().any(|hit| hit["key"] == **key);
        assert!(found, "{hits:#}");
    }
    let everything = world.json(&["search", "-p", "all"]);
    let left_out = everything["left_out"].as_u64().unwrap_or(0) as usize;
    assert_eq!(everything["results"].as_array().unwrap().len() + left_out, without_tenant);
    applied
}

/// What a run of the agent did, as the notes show it.
#[derive(Debug, Default, PartialEq)]
struct Effects {
    links: u64,
    weights: u64,
    visits: u64,
}

/// Adds what the agent did to a note, by the time of the change, which all visits and edges of a run have.
fn collect_effects(note: &Value, effects: &mut BTreeMap<String, Effects>) {
    let all = |field: &str| note[field].as_array().cloned().unwrap_or_default();
    for visit in all("visits").iter().filter(|visit| visit["agent"] == "pairs") {
        let run = effects.entry(visit["at"].as_str().unwrap().to_owned()).or_default();
        run.visits += 1;
        run.weights += u64::from(note["weight"].as_f64().unwrap() > 1.05);
    }
    for edge in all("edges").iter().filter(|edge| edge["provenance"] == "agent:pairs") {
        effects.entry(edge["created"].as_str().unwrap().to_owned()).or_default().links += 1;
    }
}

/// Checks that each run that the ledger calls applied has all of its effects, that there are no other effects, and that the
/// ledger has the runs that were acknowledged. Returns the number of runs that were applied.
fn check_runs(
    world: &World,
    effects: &mut BTreeMap<String, Effects>,
    acknowledged: &BTreeMap<String, u64>,
) -> usize {
    // All runs but those that found no new notes or were interrupted.
    let statuses = ["--status", "ok", "--status", "partial"];
    let history = world.json(&[&["agent", "history", "pairs", "-n", "10000"], &statuses[..]].concat());
    let mut ledger = BTreeMap::new();
    for run in history["runs"].as_array().unwrap() {
        let applied = run["applied"].as_u64().unwrap();
        // Runs of one agent do not overlap, so what was changed between start and end of a run is its own.
        let time = |field: &str| run[field].as_str().unwrap().to_owned();
        let during: Vec<String> =
            effects.range(time("started")..=time("finished")).map(|(at, _)| at.clone()).collect();
        let found: Vec<Effects> = during.iter().filter_map(|at| effects.remove(at)).collect();
        let expected = Effects { links: applied - 1, weights: 1, visits: applied };
        assert_eq!(found, [expected], "of {run:#}");
        ledger.insert(run["run"].as_str().unwrap().to_owned(), applied);
    }
    assert!(effects.is_empty(), "no run has done {effects:?}: {history:#}");
    for (run, applied) in acknowledged {
        assert_eq!(ledger.get(run), Some(applied), "{run} was acknowledged");
    }
    ledger.len()
}
