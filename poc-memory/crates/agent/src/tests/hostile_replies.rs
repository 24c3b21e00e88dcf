//! Random agents get replies with forbidden actions; a checker that is independent of the permit layer verifies
//! the outcome. `POC_MEMORY_HOSTILE` sets the number of replies, `POC_MEMORY_SEED` the seed.

mod generator;

use super::invariants::{Image, PromptSnapshot, REASONS, Rules};
use super::world::{World, agent as agent_with, edit, parse};
use crate::Definition;
use crate::ledger::{self, Run, Status};
use crate::model::{CallFailure, Model, Reply, Request};
use crate::run::{RunOptions, Trigger, run_with};
use crate::undo::undo;
use generator::{agent, memory, reply};
use parking_lot::Mutex;
use poc_graph::rng::{Rng, SeededRng};
use poc_graph::time::Span;
use poc_graph::{EdgeKind, Node, NodeId, Trust};
use poc_notes::link::{self, Link};
use std::collections::BTreeMap;

/// Number of replies per agent.
const TURNS: usize = 25;

/// A reproducible random source.
pub(super) struct Dice(pub(super) SeededRng);

impl Dice {
    pub(super) fn below(&self, max: usize) -> usize {
        (self.0.next_u64() % max as u64) as usize
    }

    pub(super) fn one_in(&self, count: usize) -> bool {
        self.below(count) == 0
    }

    pub(super) fn pick<'a, T>(&self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }
}

/// A model that gives random replies and records the store before and after the call.
struct HostileModel<'a> {
    world: &'a World,
    dice: &'a Dice,
    notes: &'a [String],
    asked: Mutex<Option<(PromptSnapshot, String)>>,
}

impl Model for HostileModel<'_> {
    fn call(&self, request: &Request<'_>) -> Result<Reply, CallFailure> {
        // A correction turn has the same prompt.
        let before = self.asked.lock().take();
        let read = before.map_or_else(|| Image::of(self.world), |(asked, _)| asked.read);
        if self.dice.one_in(4) {
            meddle(self.world, self.dice, self.notes);
        }
        let asked = PromptSnapshot { prompt: request.prompt.to_owned(), read, then: Image::of(self.world) };
        *self.asked.lock() = Some((asked, self.world.graph()));
        let names: Vec<String> = request.selection.handles.iter().map(|handle| handle.name.clone()).collect();
        Ok(Reply { text: reply(self.dice, &names, self.notes), ..Reply::default() })
    }
}

/// Another writer changes the store during the call.
fn meddle(world: &World, dice: &Dice, notes: &[String]) {
    let key = dice.pick(notes);
    let Ok(node) = world.memory.find(key) else { return };
    if !node.state.is_live() {
        return;
    }
    let now = world.memory.now();
    let cause = world.memory.cause("manual", "test");
    match dice.below(4) {
        0 => {
            let text = format!("Edited meanwhile: {}.", dice.below(1_000_000));
            let change = |tx: &mut poc_store::Transaction<'_>| {
                let mut node = tx.node(node.id)?.unwrap();
                (node.body, node.version, node.modified) = (text.clone(), node.version + 1, now);
                node.content_hash = node.hash();
                tx.put_node(&node)
            };
            world.memory.store.transact(cause, change).unwrap();
        }
        1 if dice.one_in(3) => {
            world.memory.store.transact(cause, |tx| tx.delete_node(node.id)).unwrap();
        }
        2 => {
            let other: &String = dice.pick(notes);
            let other = world.memory.find(other).ok().filter(|other| other.state.is_live());
            if let Some(other) = other.filter(|other| other.id != node.id) {
                let write = |tx: &mut poc_store::Transaction<'_>| {
                    poc_notes::supersede::apply(
                        tx,
                        node.id,
                        other.id,
                        "manual",
                        "",
                        &world.memory.config,
                        now,
                    )
                };
                world.memory.store.transact(cause, write).unwrap();
            }
        }
        _ => {}
    }
}

/// Values of `limits.protect`, each with an equivalent predicate.
type Protect = (&'static str, fn(&Node) -> bool);
const PROTECT: [Protect; 4] = [
    ("\"provenance:manual\"", |node| node.provenance == "manual"),
    ("", |_| false),
    ("\"keyword:keep\", \"key:guard-*\"", |node| {
        node.keywords.contains(&"keep".to_owned()) || node.key.starts_with("guard-")
    }),
    ("\"type:semantic\"", |node| node.node_type.0 == "semantic"),
];

/// Counts of outcomes, to check that every outcome occurred.
#[derive(Default)]
struct OutcomeCounts {
    replies: usize,
    undone: usize,
    conflicts: usize,
    outcomes: BTreeMap<String, usize>,
}

/// Runs one random agent on one random memory.
fn play(seed: u64, seen: &mut OutcomeCounts) {
    let dice = Dice(SeededRng::new(seed));
    let (world, notes) = memory(&dice);
    let (protect, protected) = *dice.pick(&PROTECT);
    let definition = agent(&dice, protect);
    let results = |node: &Node| node.node_type.0 == "episodic";
    let rules = Rules { definition: &definition, results: &results, protected: &protected };
    let options = RunOptions { force: true, ..RunOptions::default() };
    for turn in 0..TURNS {
        world.clock.advance(Span::MINUTE);
        let model = HostileModel { world: &world, dice: &dice, notes: &notes, asked: Mutex::default() };
        let run = run_with(&world.memory, &definition, &model, Trigger::Manual, &options).unwrap();
        *seen.outcomes.entry(run.status.name().to_owned()).or_default() += 1;
        // No episodic note is left to read.
        let Some((asked, graph)) = model.asked.into_inner() else { break };
        seen.replies += 1;
        let after = Image::of(&world);
        if let Err(why) = rules.judge(&asked, &after, &run) {
            panic!("seed {seed}, turn {turn}: {why}\n{}\n{run:#?}\n{}", definition.source, asked.prompt);
        }
        let hidden = |node: &&Node| node.trust == Trust::Quarantined && !node.provenance.starts_with("agent");
        for node in asked.read.nodes.values().filter(hidden) {
            assert!(!asked.prompt.contains(&node.key), "seed {seed}: `{}` was read", node.key);
        }
        for row in &run.actions {
            let code = row.refusal_code.clone().unwrap_or_else(|| format!("{:?}", row.state));
            *seen.outcomes.entry(code).or_default() += 1;
        }
        if run.status != Status::Failed && run.applied_actions().next().is_some() && dice.one_in(3) {
            take_back(&world, &dice, &run, &graph, (seed, turn), seen);
        }
    }
}

/// Undoes a run in several steps, and checks that the graph is restored except for reported conflicts.
fn take_back(world: &World, dice: &Dice, run: &Run, graph: &str, at: (u64, usize), seen: &mut OutcomeCounts) {
    let row = || ledger::find(&world.memory, &run.id.to_string()).unwrap();
    let left = |row: &Run| -> Vec<u16> {
        let open = (1..).zip(&row.actions).filter(|(_, action)| action.is_applied() && !action.is_undone());
        open.map(|(number, _)| number).collect()
    };
    let edited = dice.one_in(4).then(|| {
        let live = world.memory.store.scan::<Node>(&[]).unwrap();
        let live: Vec<Node> =
            live.into_iter().map(|(_, node)| node).filter(|node| node.state.is_live()).collect();
        let node = dice.pick(&live).clone();
        edit(&world.memory, &node.key, "Edited by a person before the undo.");
        node.id
    });
    let some: Vec<u16> = left(&row()).into_iter().filter(|_| dice.one_in(2)).collect();
    if !some.is_empty() {
        undo(&world.memory, &row(), &some).unwrap();
    }
    let mut refused = Vec::new();
    if !left(&row()).is_empty() {
        refused = undo(&world.memory, &row(), &[]).unwrap().items;
        refused.retain(|item| item.refused.is_some());
    }
    assert_eq!(left(&row()).len(), refused.len(), "{at:?}: kept actions are reported");
    match edited {
        None => {
            assert!(refused.is_empty(), "{at:?}: {refused:?}");
            assert_eq!(world.graph(), graph, "{at:?}");
        }
        Some(id) => {
            // Edits are not lost: the action on an edited note is not undone.
            let node = world.memory.store.node(id).unwrap();
            let body = node.map(|node| node.body);
            assert_eq!(body.as_deref(), Some("Edited by a person before the undo."), "{at:?}");
            seen.conflicts += refused.len();
        }
    }
    seen.undone += 1;
}

pub(super) fn asked_for(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

#[test]
fn hostile_replies_change_nothing_that_is_not_permitted() {
    let (wanted, first) =
        (asked_for("POC_MEMORY_HOSTILE", 2_000) as usize, asked_for("POC_MEMORY_SEED", 1) << 32);
    let threads = std::thread::available_parallelism().map_or(2, usize::from).min(8) as u64;
    let found: Vec<OutcomeCounts> = std::thread::scope(|scope| {
        let start = |thread: u64| {
            scope.spawn(move || {
                let (mut seen, mut seed) = (OutcomeCounts::default(), first + thread);
                while seen.replies < wanted.div_ceil(threads as usize) {
                    play(seed, &mut seen);
                    seed += threads;
                }
                seen
            })
        };
        let started: Vec<_> = (0..threads).map(start).collect();
        started.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let mut outcomes: BTreeMap<String, usize> = BTreeMap::new();
    for (name, count) in found.iter().flat_map(|seen| &seen.outcomes) {
        *outcomes.entry(name.clone()).or_default() += count;
    }
    let sum = |count: fn(&OutcomeCounts) -> usize| found.iter().map(count).sum::<usize>();
    let (replies, undone, conflicts) =
        (sum(|seen| seen.replies), sum(|seen| seen.undone), sum(|seen| seen.conflicts));
    println!("{replies} replies, {undone} runs undone, {conflicts} conflicts, {outcomes:?}");
    // Every kind of refusal and every status occurred.
    let ends = ["Applied", "Proposed", "ok", "partial", "failed"];
    for name in REASONS.into_iter().chain(ends) {
        assert!(outcomes.contains_key(name), "`{name}` never occurred: {outcomes:?}");
    }
    assert!(undone > 0 && conflicts > 0);
}

#[test]
fn the_invariant_check_detects_planted_violations() {
    let dice = Dice(SeededRng::new(3));
    let (world, _) = memory(&dice);
    let definition = parse(
        "[query]\npipeline = \"all | type:episodic\"\n[prompt]\ninline = \"{{ NODES }}\"\nplaceholders = [\"NODES\"]\n\
         [execution]\nmodel = \"default\"\nactions = [\"link-add\"]\n",
    )
    .unwrap();
    let planted = |plant: &dyn Fn(&mut poc_store::Transaction<'_>, NodeId, NodeId)| {
        let read = Image::of(&world);
        let asked = PromptSnapshot { prompt: String::new(), then: read.clone(), read };
        let id = |key: &str| world.memory.find(key).unwrap().id;
        let run = Run::new_running(&world.memory, "tester", None);
        let cause = world.memory.cause("agent:tester", "agent run");
        let (one, other) = (id("note-00-first"), id("note-08-first"));
        let write = |tx: &mut poc_store::Transaction<'_>| {
            plant(tx, one, other);
            Ok(())
        };
        world.memory.store.transact(cause, write).unwrap();
        let rules = Rules { definition: &definition, results: &|_| false, protected: &|_| false };
        rules.judge(&asked, &Image::of(&world), &run)
    };
    assert_eq!(planted(&|_, _, _| {}), Ok(()));
    let now = world.memory.now();
    let found = planted(&|tx, one, other| {
        let (reason, provenance) = (String::new(), "agent:tester".to_owned());
        let link = Link { src: one, dst: other, kind: EdgeKind::Link, strength: 0.5, reason, provenance };
        link::add(tx, &link, now).unwrap();
    });
    assert!(found.as_ref().is_err_and(|why| why.contains("one end was not shown")), "{found:?}");
    let found = planted(&|tx, one, _| {
        let activity = tx.activity(one).unwrap().unwrap();
        tx.put_activity(one, &poc_graph::Activity { weight: 3.0, ..activity }).unwrap();
    });
    assert!(found.as_ref().is_err_and(|why| why.contains("was weighed")), "{found:?}");
    let found = planted(&|tx, _, other| {
        poc_notes::rename::apply(tx, other, Some("another-key"), &[]).unwrap();
    });
    assert!(found.as_ref().is_err_and(|why| why.contains("was renamed")), "{found:?}");
    let back = |tx: &mut poc_store::Transaction<'_>| {
        let other = tx.find_key("another-key")?.unwrap();
        poc_notes::rename::apply(tx, other, Some("note-08-first"), &["another-key".into()]).map(|_| ())
    };
    world.memory.store.transact(world.memory.cause("manual", "rename"), back).unwrap();
    let found = planted(&|tx, one, _| {
        let node = tx.node(one).unwrap().unwrap();
        tx.put_node(&Node { trust: Trust::Pinned, ..node }).unwrap();
    });
    assert!(found.as_ref().is_err_and(|why| why.contains("was overwritten")), "{found:?}");
    let found = planted(&|tx, one, other| {
        let config = &world.memory.config;
        poc_notes::supersede::apply(tx, one, other, "agent:tester", "", config, now).unwrap();
    });
    assert!(found.as_ref().is_err_and(|why| why.contains("was superseded")), "{found:?}");
}

#[test]
fn the_invariant_check_detects_planted_quotations() {
    let dice = Dice(SeededRng::new(3));
    let (world, _) = memory(&dice);
    let definition = |limits: &str| agent_with("\"insert\"", &format!("[limits.insert]\n{limits}"));
    let (others, only_quotations) = (definition("max = 1\n"), definition("only-quotations = true\n"));
    let mut number = 1_000_000;
    let mut planted = |definition: &Definition, key: &str, body: &str| {
        let read = Image::of(&world);
        let asked = PromptSnapshot { prompt: String::new(), then: read.clone(), read };
        let run = Run::new_running(&world.memory, "tester", None);
        number += 1;
        let (key, body, provenance) = (key.to_owned(), body.to_owned(), "agent:tester".to_owned());
        let note = Node { key, body, provenance, ..poc_graph::testing::node(number) };
        let source = world.memory.find("note-00-first").unwrap().id;
        let write = |tx: &mut poc_store::Transaction<'_>| {
            tx.put_node(&note)?;
            let sources = [source];
            poc_notes::derivation::add_sources(tx, note.id, &sources, "agent:tester", "", world.memory.now())
        };
        world.memory.store.transact(world.memory.cause("agent:tester", "agent run"), write).unwrap();
        let rules = Rules { definition, results: &|_| false, protected: &|_| false };
        rules.judge(&asked, &Image::of(&world), &run).unwrap_err()
    };
    let quoted = format!("“{}”", world.memory.find("note-00-first").unwrap().body.trim());
    let found = planted(&others, "quote-0123456789ab", &quoted);
    assert!(found.contains("has the key of a quotation"), "{found}");
    for (key, body) in [
        ("a-name", quoted.as_str()),
        ("quote-0123456789ac", "“Nobody said it.”"),
        ("quote-0123456789ad", "“”"),
    ] {
        let found = planted(&only_quotations, key, body);
        assert!(found.contains("is no quotation"), "{found}");
    }
    // The next rule is that nothing of it was permitted.
    let found = planted(&only_quotations, "quote-0123456789ae", &quoted);
    assert!(found.contains("notes were created"), "{found}");
}
