//! A run after which confirmed questions are answered worse is undone.

use super::world::{FnModel, ScriptedModel, World, agent, parse};
use crate::batches::BatchReport;
use crate::ledger::{self, Status};
use crate::model::Request;
use crate::proposal::proposals;
use crate::review::approve;
use crate::run::{RunOptions, Trigger, run_with};
use poc_graph::{NodeId, NodeType, RunId, Trust};
use poc_notes::{Draft, confirmed_question};
use serde_json::{Value, json};
use std::collections::HashSet;

const TOPICS: [&str; 8] =
    ["parrot", "violin", "glacier", "bakery", "submarine", "orchid", "telescope", "marathon"];

/// Notes about some topics, each with a question that was confirmed for it.
fn with_questions(count: usize) -> World {
    let world = World::new();
    for topic in &TOPICS[..count] {
        let answer = world.note(topic, &format!("Everything about the {topic} is kept in the blue folder."));
        let title = Some(format!("where is everything about the {topic}?"));
        let draft = Draft { title, ..Draft::new("manual", Trust::User) };
        let memory = &world.memory;
        let question = confirmed_question::prepare(memory, draft).unwrap();
        let (cause, now) = (memory.cause("manual", "reinforce"), memory.now());
        let apply =
            |tx: &mut poc_store::Transaction<'_>| confirmed_question::apply(tx, &question, answer, now);
        memory.store.transact(cause, apply).unwrap();
    }
    world
}

/// A reply that inserts notes which resemble the questions more than their answers do.
fn decoys(count: usize) -> Value {
    let note = |topic: &&str| {
        json!({"reason": "", "key": "", "title": format!("where is everything about the {topic}"), "keywords": [],
            "body": format!("where is everything about the {topic}? Who knows where everything about the {topic} is?"),
            "sources": []})
    };
    json!({"insert": TOPICS[..count].iter().map(note).collect::<Vec<_>>(), "notes": ""})
}

fn run(world: &World, reply: Value) -> ledger::Run {
    let definition = agent("\"insert\"", "[limits.insert]\nmax = 20\n");
    world.run(&definition, &ScriptedModel::replying(reply))
}

#[test]
fn a_run_that_makes_answers_worse_is_undone() {
    let world = with_questions(8);
    let before = world.graph();
    let row = run(&world, decoys(8));
    assert_eq!(row.status, Status::Reverted, "{row:#?}");
    assert_eq!(
        row.message.as_deref(),
        Some("undone: search answers 8 of 8 confirmed questions worse after it, and 0 better")
    );
    assert!(row.actions.iter().all(ledger::ActionRecord::is_undone));
    assert_eq!(world.graph(), before);
    // The notes that the run read count as visited, so that the next run does not read them again.
    assert!(!row.visited.is_empty());
    assert_eq!(ledger::find(&world.memory, &row.id.to_string()).unwrap(), row);
    let state = ledger::state(&world.memory, &row.agent).unwrap();
    assert_eq!(state.last().unwrap().status, Status::Reverted);
    // No person has decided it, so `undo` without a number must not bring it back.
    let store = &world.memory.store;
    let txns = (store.first_seq()..=store.last_seq()).filter_map(|seq| store.transaction(seq).unwrap());
    let actors: Vec<String> =
        txns.filter(|txn| txn.cause.op == "agent undo").map(|txn| txn.cause.actor).collect();
    assert_eq!(actors, [format!("agent:{}", row.agent)]);
}

#[test]
fn the_totals_of_several_runs_count_a_reverted_run_and_calls_without_a_price() {
    let world = with_questions(8);
    let mut reverted = run(&world, decoys(8));
    let mut report = BatchReport::default();
    report.add(&reverted);
    let expected = BatchReport { runs: 1, reverted: 1, undone: 8, ..BatchReport::default() };
    assert_eq!(report, expected);
    let call = |tokens: Option<u64>, cost: Option<f64>| {
        let estimated = tokens.is_none();
        let model = "first".to_owned();
        ledger::CallRecord { model, tokens_in: tokens, tokens_out: tokens, cost, estimated }
    };
    for call in [call(Some(20), None), call(None, None), call(Some(1), Some(0.5))] {
        reverted.add_call(call);
    }
    report.add(&reverted);
    assert_eq!((report.reverted, report.undone), (2, 16));
    assert_eq!((report.tokens, report.unpriced_calls, report.cost_usd), (42, 2, 0.5));
    report.merge(report.clone());
    assert_eq!((report.reverted, report.tokens, report.unpriced_calls), (4, 84, 4));
}

#[test]
fn a_run_is_kept_if_chance_explains_the_difference() {
    let world = with_questions(8);
    let row = run(&world, decoys(3));
    assert_eq!((row.status, row.applied_actions().count()), (Status::Ok, 3), "{row:#?}");
}

#[test]
fn without_enough_questions_every_run_is_kept() {
    let world = with_questions(4);
    assert_eq!(run(&world, decoys(8)).status, Status::Ok);
    let world = with_questions(0);
    world.note("other", "Nothing was asked.");
    assert_eq!(run(&world, decoys(8)).status, Status::Ok);
}

#[test]
fn approved_proposals_that_make_answers_worse_are_undone_once() {
    let world = with_questions(8);
    let definition = agent("\"insert\"", "[limits.insert]\nmax = 20\n");
    let options = RunOptions { propose: true, ..RunOptions::default() };
    let model = ScriptedModel::replying(decoys(8));
    let run = run_with(&world.memory, &definition, &model, Trigger::Manual, &options).unwrap().id;
    let status = |run: RunId| ledger::find(&world.memory, &run.to_string()).unwrap().status;
    let before = world.graph();
    let items = approve(&world.memory, run, &[]).unwrap();
    assert_eq!(items.len(), 8);
    for item in items {
        assert_eq!(
            item.refused.as_deref(),
            Some(
                "undone: search answers 8 of 8 confirmed questions worse after it, and 0 better; if it is applied again, it stays"
            )
        );
    }
    assert_eq!(world.graph(), before);
    assert_eq!((proposals(&world.memory, Some(run)).unwrap().len(), status(run)), (8, Status::Proposed));
    // The person insists.
    let items = approve(&world.memory, run, &[]).unwrap();
    assert!(items.len() == 8 && items.iter().all(|item| item.refused.is_none()), "{items:#?}");
    assert_eq!(status(run), Status::Ok);
}

#[test]
fn approved_proposals_are_kept_if_chance_explains_the_difference() {
    let world = with_questions(8);
    let definition = agent("\"insert\"", "[limits.insert]\nmax = 20\n");
    let options = RunOptions { propose: true, ..RunOptions::default() };
    let model = ScriptedModel::replying(decoys(3));
    let run = run_with(&world.memory, &definition, &model, Trigger::Manual, &options).unwrap();
    let items = approve(&world.memory, run.id, &[]).unwrap();
    assert!(items.len() == 3 && items.iter().all(|item| item.refused.is_none()), "{items:#?}");
}

/// An agent never visits a confirmed question, so a limit that counted questions would soon leave no notes.
#[test]
fn confirmed_questions_take_the_place_of_no_note() {
    let mut world = with_questions(8);
    world.candidates_from(-1.0);
    let definition = |pipeline: &str| {
        let text = format!(
            "[query]\npipeline = '{pipeline}'\n\
             [prompt]\ninline = \"{{{{ NODES }}}}\"\nplaceholders = [\"NODES\"]\n\
             [execution]\nmodel = \"default\"\nactions = [\"link-add\"]\n"
        );
        parse(&text).unwrap()
    };
    let reads = FnModel(|request: &Request<'_>| {
        let handles = &request.selection.handles;
        assert!(handles.iter().any(|handle| !handle.candidates.is_empty()));
        assert!(handles.iter().all(|handle| handle.node.node_type.0 != NodeType::QUESTION));
        json!({"notes": "", "link-add": []})
    });
    let similar = definition("similar:\"where is everything about the parrot?\",k=3");
    let nearest = world.run(&similar, &reads);
    assert_eq!(nearest.visited.len(), 3, "{nearest:#?}");
    let all = definition("all | not-visited:tester | limit:3");
    let mut visited: HashSet<NodeId> = nearest.visited.into_iter().collect();
    for _ in 0..2 {
        visited.extend(world.run(&all, &reads).visited);
    }
    assert_eq!(visited.len(), 8);
    assert_eq!(world.run(&all, &reads).status, Status::Skipped);
}
