//! Proposals and their review.

use super::world::{ScriptedModel, World, agent, draft, edit, outcomes};
use crate::definition::{Definition, Mode};
use crate::ledger::{self, ActionState, NodeVersion, Run, Status};
use crate::permit::PermittedAction;
use crate::proposal::{self, Proposal, proposals};
use crate::review::{approve, reject, rejected_of, reopen};
use crate::run::{RunOptions, Trigger, run_with};
use crate::undo::{undo, undo_change};
use parking_lot::Mutex;
use poc_graph::error::Code;
use poc_graph::time::{Clock, Span, Timestamp};
use poc_graph::{NodeId, RunId, State, Trust, Tuple};
use poc_notes::{Draft, Memory};
use poc_store::Record;
use serde_json::{Value, json};
use std::sync::Arc;

fn proposal(run: u8, index: u16, permitted: PermittedAction) -> Proposal {
    Proposal {
        run: RunId::from_bytes([run; 16]),
        index,
        agent: "separator".into(),
        made: poc_graph::time::Timestamp(5),
        summary: "supersede `a` by `b`".into(),
        why: "the same".into(),
        versions: permitted.nodes().into_iter().map(|id| NodeVersion { id, version: 3 }).collect(),
        permitted,
        part_of: None,
        protect: vec!["provenance:manual".into()],
        read: Vec::new(),
        tenant: Tuple::default(),
    }
}

#[test]
fn proposals_are_keyed_by_run_and_position() {
    let world = World::new();
    let id = |byte: u8| NodeId::from_bytes([byte; 16]);
    let mut note = draft("new", "A text that is longer than a row's.");
    note.keywords = Some(vec!["btree".into()]);
    let intents = [
        PermittedAction::Replace { old: id(1), new: id(2), reason: "the same".into() },
        PermittedAction::Rewrite { old: id(1), draft: Box::new(note.clone()) },
        PermittedAction::Insert { draft: Box::new(note), sources: vec![id(1), id(2)], reason: "part".into() },
        PermittedAction::Link { from: id(1), to: id(2), strength: 0.5, reason: String::new() },
        PermittedAction::Weigh { node: id(1), delta: -0.1 },
    ];
    let mut made: Vec<Proposal> = Vec::new();
    for run in [1, 2] {
        // Indexes above 255 keep their order.
        let of = |(index, permitted)| proposal(run, index as u16 * 200, permitted);
        made.extend(intents.iter().cloned().enumerate().map(of));
    }
    let cause = world.memory.cause("manual", "agent run");
    world.memory.store.transact(cause, |tx| made.iter().rev().try_for_each(|one| one.put(tx))).unwrap();

    let world = world.reopen();
    assert_eq!(proposals(&world.memory, None).unwrap(), made);
    assert_eq!(proposals(&world.memory, Some(RunId::from_bytes([2; 16]))).unwrap(), made[5..]);
    assert_eq!(proposal::find(&world.memory, "0202").unwrap(), RunId::from_bytes([2; 16]));
    assert_eq!(proposal::find(&world.memory, "0").unwrap_err().code, Code::InvalidArgument);
    assert_eq!(proposal::find(&world.memory, "03").unwrap_err().code, Code::NotFound);
    let cause = world.memory.cause("manual", "agent reject");
    world.memory.store.transact(cause, |tx| made[4].close(tx)).unwrap();
    assert_eq!(proposals(&world.memory, Some(RunId::from_bytes([1; 16]))).unwrap(), made[..4]);
}

/// Four notes, and an agent that proposes all kinds of actions.
fn proposer() -> (World, Definition) {
    let world = World::new();
    for number in 0..4 {
        world.note(&format!("note-{number}"), &format!("Note {number} of the b-tree and its siblings."));
    }
    let all = "\"link-add\", \"weight\", \"insert\", \"supersede\"";
    let definition = agent(all, "[limits.supersede]\nmax = 3\n");
    (world, Definition { mode: Mode::Propose, ..definition })
}

fn reply() -> Value {
    json!({"notes": "",
        "link-add": [{"reason": "alike", "from": "N1", "to": "N2", "strength": 0.5}],
        "weight": [{"reason": "", "node": "N1", "delta": 0.2}],
        "insert": [{"reason": "new", "key": "new", "title": "New", "body": "Brand new siblings.", "keywords": ["k"], "sources": ["N1"]}],
        "supersede": [{"reason": "twice", "node": "N3", "by": "N4", "key": "", "title": "", "body": ""}]})
}

fn row(world: &World, run: &Run) -> Run {
    ledger::find(&world.memory, &run.id.to_string()).unwrap()
}

fn states(run: &Run) -> Vec<ActionState> {
    run.actions.iter().map(|action| action.state).collect()
}

#[test]
fn an_approved_proposal_does_what_applying_would_have_done() {
    let (world, definition) = proposer();
    let before = world.graph();
    let run = world.run(&definition, &ScriptedModel::replying(reply()));
    assert_eq!((run.status, states(&run)), (Status::Proposed, vec![ActionState::Proposed; 4]));
    assert_eq!(run.visited.len(), 4, "the notes were read");
    assert_eq!(world.graph(), before);

    // Proposals survive the process.
    let world = world.reopen();
    world.clock.advance(Span::HOUR);
    let items = approve(&world.memory, run.id, &[]).unwrap();
    assert!(items.len() == 4 && items.iter().all(|item| item.refused.is_none()), "{items:?}");
    assert_eq!(states(&row(&world, &run)), vec![ActionState::Applied; 4]);
    assert_eq!(proposals(&world.memory, None).unwrap(), []);
    let retired = world.memory.find("note-2").unwrap();
    assert_eq!(retired.state, State::Superseded);
    assert_eq!(world.memory.find("new").unwrap().provenance, "agent:tester");

    let items = undo(&world.memory, &row(&world, &run), &[]).unwrap().items;
    assert!(items.len() == 4 && items.iter().all(|item| item.refused.is_none()), "{items:?}");
    assert_eq!(world.graph(), before);
}

#[test]
fn a_rejected_proposal_is_not_made_again_until_its_notes_change() {
    let (world, definition) = proposer();
    let forced = |world: &World| {
        let options = RunOptions { force: true, ..RunOptions::default() };
        let model = ScriptedModel::replying(reply());
        run_with(&world.memory, &definition, &model, Trigger::Manual, &options).unwrap()
    };
    let run = forced(&world);
    reject(&world.memory, run.id, &[], "no").unwrap();
    world.clock.advance(Span::HOUR);
    let again = forced(&world);
    assert_eq!(again.status, Status::Noop);
    let reasons: Vec<_> = again.actions.iter().map(|action| action.refusal_code.as_deref()).collect();
    assert_eq!(reasons, [Some("rejected-before"); 4]);
    world.edit("note-3", "Note 3 is about something else now.");
    let proposed: Vec<_> = forced(&world)
        .actions
        .into_iter()
        .filter(|action| action.state == ActionState::Proposed)
        .map(|action| action.summary)
        .collect();
    assert_eq!(proposed, ["supersede `note-2` by `note-3`"]);
}

#[test]
fn a_rejected_proposal_is_not_applied_without_asking_either() {
    let (world, definition) = proposer();
    let forced = |definition: &Definition| {
        let options = RunOptions { force: true, ..RunOptions::default() };
        let model = ScriptedModel::replying(reply());
        run_with(&world.memory, definition, &model, Trigger::Manual, &options).unwrap()
    };
    let run = forced(&definition);
    reject(&world.memory, run.id, &[], "no").unwrap();
    world.clock.advance(Span::HOUR);
    let mut applying = Definition { mode: Mode::Apply, ..definition };
    applying.limits.supersede_apply = true;
    let again = forced(&applying);
    let reasons: Vec<_> = again.actions.iter().map(|action| action.refusal_code.as_deref()).collect();
    assert_eq!((again.status, reasons), (Status::Noop, vec![Some("rejected-before"); 4]));
}

/// Somebody who wants to keep one of two notes rejects its replacement, not that of the other one.
#[test]
fn a_rejected_replacement_may_be_proposed_in_the_other_direction() {
    let (world, definition) = proposer();
    let propose = |node: &str, by: &str| {
        let options = RunOptions { force: true, ..RunOptions::default() };
        let replace = json!({"reason": "twice", "node": node, "by": by, "key": "", "title": "", "body": ""});
        let model = ScriptedModel::replying(json!({"notes": "", "supersede": [replace]}));
        run_with(&world.memory, &definition, &model, Trigger::Manual, &options).unwrap()
    };
    let run = propose("N1", "N2");
    reject(&world.memory, run.id, &[], "").unwrap();
    assert_eq!(propose("N1", "N2").actions[0].refusal_code.as_deref(), Some("rejected-before"));
    assert_eq!(states(&propose("N2", "N1")), [ActionState::Proposed]);
}

#[test]
fn a_rejected_decrease_of_a_weight_is_not_proposed_again_with_another_amount() {
    let (world, definition) = proposer();
    let propose = || {
        let options = RunOptions { force: true, ..RunOptions::default() };
        let lower = json!({"notes": "", "weight": [{"reason": "", "node": "N1", "delta": -0.2}]});
        let model = ScriptedModel::replying(lower);
        run_with(&world.memory, &definition, &model, Trigger::Manual, &options).unwrap()
    };
    let run = propose();
    assert_eq!(states(&run), [ActionState::Proposed]);
    reject(&world.memory, run.id, &[], "no").unwrap();
    // The weight decays, so that less of the decrease is permitted.
    world.clock.advance(Span::DAY);
    let again = propose();
    assert_ne!(again.actions[0].summary, run.actions[0].summary);
    assert_eq!(again.actions[0].refusal_code.as_deref(), Some("rejected-before"), "{again:#?}");
}

#[test]
fn a_rejected_proposal_can_be_reopened_and_applied() {
    let (world, definition) = proposer();
    let run = world.run(&definition, &ScriptedModel::replying(reply()));
    let (before, waiting) = (row(&world, &run), proposals(&world.memory, Some(run.id)).unwrap());
    reject(&world.memory, run.id, &[2, 4], "they differ").unwrap();
    reject(&world.memory, run.id, &[1], "").unwrap();
    let rejected = rejected_of(&world.memory, &row(&world, &run)).unwrap();
    let numbered: Vec<_> = rejected.iter().map(|(one, note)| (one.number(), note.as_deref())).collect();
    assert_eq!(numbered, [(1, None), (2, Some("they differ")), (4, Some("they differ"))]);
    assert!(rejected.iter().all(|(one, _)| waiting.contains(one)), "{rejected:?}");
    assert_eq!(crate::review::rejected(&world.memory, None).unwrap(), rejected);

    let error = reopen(&world.memory, &row(&world, &run), &[3]).unwrap_err();
    insta::assert_snapshot!(error.line(), @"`only`: action 3 of the run was not rejected, or its rejection is no longer in the log; numbers to choose from: 1, 2, 4");
    assert_eq!(reopen(&world.memory, &row(&world, &run), &[4]).unwrap(), ["supersede `note-2` by `note-3`"]);
    assert_eq!(reopen(&world.memory, &row(&world, &run), &[]).unwrap().len(), 2);
    // As if nothing had been decided.
    assert_eq!(row(&world, &run), before);
    assert_eq!(proposals(&world.memory, Some(run.id)).unwrap(), waiting);
    assert_eq!(reopen(&world.memory, &row(&world, &run), &[]).unwrap_err().code, Code::Conflict);
    assert!(approve(&world.memory, run.id, &[]).unwrap().iter().all(|item| item.refused.is_none()));
    // Replaying the log gives the same proposals.
    assert_eq!(proposals(&world.reopen().memory, None).unwrap(), []);
}

#[test]
fn an_approved_proposal_that_is_undone_waits_again() {
    let (world, definition) = proposer();
    let run = world.run(&definition, &ScriptedModel::replying(reply()));
    let (before, waiting) = (world.graph(), proposals(&world.memory, None).unwrap());
    approve(&world.memory, run.id, &[]).unwrap();
    let (after, applied) = (world.graph(), row(&world, &run));
    assert_eq!((applied.status, proposals(&world.memory, None).unwrap().len()), (Status::Ok, 0));
    let undone = undo(&world.memory, &applied, &[]).unwrap();
    assert!(undone.items.iter().all(|item| item.refused.is_none()), "{undone:?}");
    assert_eq!((world.graph(), proposals(&world.memory, None).unwrap()), (before.clone(), waiting.clone()));
    assert_eq!(row(&world, &run).status, Status::Proposed);
    let again = undo(&world.memory, &row(&world, &run), &[]).unwrap_err();
    assert_eq!(
        (again.code, again.message),
        (Code::Conflict, format!("the run `{}` is already undone", run.id))
    );
    // The undo can be undone, and the proposals can be decided again.
    undo_change(&world.memory, undone.seq.unwrap()).unwrap();
    assert_eq!((world.graph(), states(&row(&world, &run))), (after, states(&applied)));
    assert_eq!(proposals(&world.memory, None).unwrap(), []);
    undo(&world.memory, &row(&world, &run), &[]).unwrap();
    assert!(approve(&world.memory, run.id, &[1]).unwrap().iter().all(|item| item.refused.is_none()));
    reject(&world.memory, run.id, &[], "").unwrap();
    reopen(&world.memory, &row(&world, &run), &[]).unwrap();
    assert_eq!(proposals(&world.memory, None).unwrap(), waiting[1..]);
}

/// What a person does with a proposal.
type Decision = fn(&Memory, RunId);

/// The clock of a memory in which another person decides when the clock is read for the first time.
struct RacingClock {
    memory: Memory,
    run: RunId,
    decision: Mutex<Option<Decision>>,
}

impl Clock for RacingClock {
    fn now(&self) -> Timestamp {
        let decision = self.decision.lock().take();
        decision.into_iter().for_each(|decide| decide(&self.memory, self.run));
        self.memory.now()
    }
}

#[test]
fn of_two_decisions_at_the_same_time_only_one_counts() {
    let decisions: [Decision; 2] = [
        |memory, run| {
            approve(memory, run, &[]).unwrap();
        },
        |memory, run| {
            reject(memory, run, &[], "no").unwrap();
        },
    ];
    for (decision, state) in decisions.into_iter().zip([ActionState::Applied, ActionState::Rejected]) {
        let (world, definition) = proposer();
        let run = world.run(&definition, &ScriptedModel::replying(reply()));
        let before = world.graph();
        let (memory, decision) = (world.memory.clone(), Mutex::new(Some(decision)));
        // The clock is read when the new note is prepared, after the open proposals were read.
        let mut slow = world.memory.clone();
        slow.clock = Arc::new(RacingClock { memory, run: run.id, decision });
        let error = approve(&slow, run.id, &[]).unwrap_err();
        assert_eq!(
            (error.code, error.message.as_str()),
            (Code::Conflict, "action 1 was decided in the meantime")
        );
        let row = row(&world, &run);
        assert_eq!(states(&row), vec![state; 4]);
        if state == ActionState::Applied {
            let items = undo(&world.memory, &row, &[]).unwrap().items;
            assert!(items.len() == 4 && items.iter().all(|item| item.refused.is_none()), "{items:?}");
        }
        assert_eq!(world.graph(), before);
    }
}

#[test]
fn proposals_can_be_decided_one_by_one() {
    let (world, definition) = proposer();
    let run = world.run(&definition, &ScriptedModel::replying(reply()));
    let error = approve(&world.memory, run.id, &[9]).unwrap_err();
    insta::assert_snapshot!(error.line(), @"`only`: action 9 of the run has no open proposal; numbers to choose from: 1, 2, 3, 4");
    approve(&world.memory, run.id, &[2]).unwrap();
    assert_eq!(
        reject(&world.memory, run.id, &[4], "they differ").unwrap(),
        ["supersede `note-2` by `note-3`"]
    );
    approve(&world.memory, run.id, &[1]).unwrap();
    let now = row(&world, &run);
    assert_eq!(
        states(&now),
        [ActionState::Applied, ActionState::Applied, ActionState::Proposed, ActionState::Rejected]
    );
    assert_eq!(now.actions[3].detail.as_deref(), Some("they differ"));
    assert_eq!(proposals(&world.memory, Some(run.id)).unwrap().len(), 1);
    // Both are undone in two transactions, the later one first.
    let items = undo(&world.memory, &now, &[]).unwrap().items;
    assert_eq!(items.len(), 2);
    assert!(items.iter().all(|item| item.refused.is_none()), "{items:?}");
    assert_eq!(
        world
            .memory
            .store
            .edges(world.memory.find("note-0").unwrap().id)
            .unwrap()
            .iter()
            .filter(|edge| edge.provenance == "agent:tester")
            .count(),
        0
    );
}

#[test]
fn the_row_gets_its_final_status_once_all_is_decided() {
    type Decide<'a> = &'a dyn Fn(&World, RunId);
    let check = |expected: &[Status], decisions: &[Decide<'_>]| {
        let (world, definition) = proposer();
        let run = world.run(&definition, &ScriptedModel::replying(reply()));
        let known = |world: &World| ledger::state(&world.memory, "tester").unwrap().last().unwrap().status;
        let outcomes_of_decisions = decisions.iter().map(|decide| {
            decide(&world, run.id);
            assert_eq!(known(&world), row(&world, &run).status);
            row(&world, &run).status
        });
        assert_eq!(outcomes_of_decisions.collect::<Vec<_>>(), expected);
    };
    let yes =
        |only: &'static [u16]| move |world: &World, run| drop(approve(&world.memory, run, only).unwrap());
    let no =
        |only: &'static [u16]| move |world: &World, run| drop(reject(&world.memory, run, only, "").unwrap());
    check(&[Status::Ok], &[&yes(&[])]);
    check(&[Status::Rejected], &[&no(&[])]);
    check(&[Status::Ok, Status::Partial], &[&yes(&[1, 2, 3]), &no(&[4])]);
    check(&[Status::Proposed, Status::Rejected], &[&no(&[1]), &no(&[])]);
    let edits = |world: &World, run| {
        (0..4).for_each(|number| edit(&world.memory, &format!("note-{number}"), "Edited."));
        approve(&world.memory, run, &[]).unwrap();
    };
    check(&[Status::Partial], &[&edits]);
}

#[test]
fn a_reply_of_nonsense_leaves_a_short_row() {
    let (world, definition) = proposer();
    let long = "x".repeat(5000);
    let nonsense = json!({"reason": long, "from": long, "to": "N1", "strength": 0.5});
    let mut reply = reply();
    let mut links = vec![nonsense; 600];
    links.push(reply["link-add"][0].clone());
    reply["link-add"] = links.into();
    let run = world.run(&definition, &ScriptedModel::replying(reply));
    assert_eq!((run.status, run.actions.len(), run.left_out), (Status::Partial, 104, 500));
    let bytes = row(&world, &run).encode().unwrap().len();
    assert!(bytes < 200_000, "{bytes}");
    // Proposals are still found by their numbers.
    let waiting: Vec<u16> = proposals(&world.memory, None).unwrap().iter().map(Proposal::number).collect();
    assert_eq!(waiting, [101, 102, 103, 104]);
    let items = approve(&world.memory, run.id, &[]).unwrap();
    assert!(items.len() == 4 && items.iter().all(|item| item.refused.is_none()), "{items:?}");
    let row = row(&world, &run);
    assert!(row.actions.iter().skip(100).all(|action| action.state == ActionState::Applied));
    assert_eq!(row.status, Status::Partial);
}

#[test]
fn trust_lost_before_approval_lowers_the_written_notes() {
    let (world, definition) = proposer();
    let run = world.run(&definition, &ScriptedModel::replying(reply()));
    // The note was read, but the action is about another note.
    world.draft(Draft { trust: Trust::External, update: true, ..draft("note-3", "Somebody else's words.") });
    let items = approve(&world.memory, run.id, &[3]).unwrap();
    assert_eq!(items[0].refused, None);
    assert_eq!(world.memory.find("new").unwrap().trust, Trust::External);
    let undisturbed = proposer();
    let run = undisturbed.0.run(&undisturbed.1, &ScriptedModel::replying(self::reply()));
    approve(&undisturbed.0.memory, run.id, &[3]).unwrap();
    assert_eq!(undisturbed.0.memory.find("new").unwrap().trust, Trust::Agent);
}

#[test]
fn proposals_on_changed_notes_are_closed_as_stale() {
    let (world, definition) = proposer();
    let run = world.run(&definition, &ScriptedModel::replying(reply()));
    edit(&world.memory, "note-1", "Edited by a person.");
    world.clock.advance(Span::DAY);
    let refused: Vec<Option<String>> =
        approve(&world.memory, run.id, &[]).unwrap().into_iter().map(|item| item.refused).collect();
    let gone = Some("`note-1` was edited since".to_owned());
    assert_eq!(refused, [gone, None, None, None]);
    assert_eq!(states(&row(&world, &run))[0], ActionState::Outdated);
    assert_eq!(proposal::find(&world.memory, &run.id.to_string()).unwrap_err().code, Code::NotFound);
}

#[test]
fn proposals_on_protected_notes_are_not_applied() {
    let (world, definition) = proposer();
    let run = world.run(&definition, &ScriptedModel::replying(reply()));
    let mut one = proposals(&world.memory, Some(run.id)).unwrap().remove(3);
    one.protect = vec!["key:note-2".into()];
    world.memory.store.transact(world.memory.cause("test", "test"), |tx| one.put(tx)).unwrap();
    let items = approve(&world.memory, run.id, &[4]).unwrap();
    assert_eq!(items[0].refused.as_deref(), Some("`note-2` is protected"));
    assert!(world.memory.find("note-2").unwrap().state.is_live());
}

#[test]
fn parts_of_a_note_are_proposed_with_its_replacement() {
    let (world, definition) = proposer();
    // The agent applies inserts and proposes supersessions.
    let definition = Definition { mode: Mode::Apply, ..definition };
    let part = |key: &str, of: &str| json!({"reason": "part", "key": key, "title": key, "body": format!("What {key} says alone."), "keywords": [], "sources": [of]});
    let reply = json!({"notes": "", "link-add": [], "weight": [],
        "insert": [part("part-one", "N1"), part("elsewhere", "N2")],
        "supersede": [{"reason": "two ideas", "node": "N1", "by": "", "key": "", "title": "Overview", "body": "See its parts."}]});
    let run = world.run(&definition, &ScriptedModel::replying(reply));
    assert_eq!(states(&run), [ActionState::Proposed, ActionState::Applied, ActionState::Proposed]);
    assert_eq!(run.status, Status::Ok);
    // They are decided together, whichever of them is selected.
    let items = approve(&world.memory, run.id, &[1]).unwrap();
    assert_eq!(items.len(), 2);
    assert!(items.iter().all(|item| item.refused.is_none()), "{items:?}");
    let linked = world.memory.find("part-one").unwrap().id;
    let overview = world.memory.store.edges(linked).unwrap();
    assert!(overview.iter().any(|edge| edge.provenance == "agent:tester"), "{overview:?}");
    assert_eq!(
        world
            .memory
            .find("note-0-old")
            .map_or_else(|_| world.memory.find("note-0").unwrap().state, |old| old.state),
        State::Superseded
    );
}

#[test]
fn parts_are_not_inserted_when_the_replacement_fails() {
    let (world, definition) = proposer();
    let reply = json!({"notes": "", "link-add": [], "weight": [],
        "insert": [{"reason": "part", "key": "part", "title": "Part", "body": "A part.", "keywords": [], "sources": ["N1"]}],
        "supersede": [{"reason": "two ideas", "node": "N1", "by": "", "key": "", "title": "Overview", "body": "See its parts."}]});
    let run = world.run(&Definition { mode: Mode::Apply, ..definition }, &ScriptedModel::replying(reply));
    edit(&world.memory, "note-0", "Edited by a person.");
    let items = approve(&world.memory, run.id, &[]).unwrap();
    assert!(items.iter().all(|item| item.refused.is_some()), "{items:?}");
    assert_eq!(world.memory.find("part").unwrap_err().code, Code::NotFound);
}

#[test]
fn any_run_can_be_switched_to_proposing() {
    let (world, definition) = proposer();
    let definition = Definition { mode: Mode::Apply, ..definition };
    let options = RunOptions { propose: true, ..RunOptions::default() };
    let run =
        run_with(&world.memory, &definition, &ScriptedModel::replying(reply()), Trigger::Manual, &options)
            .unwrap();
    assert_eq!(states(&run), vec![ActionState::Proposed; 4]);
    assert_eq!(run.mode, Some(Mode::Propose));
}

#[test]
fn a_new_key_alone_renames_and_own_writes_count_as_visited() {
    let (world, definition) = proposer();
    let mut definition = Definition { mode: Mode::Apply, ..definition };
    definition.limits.supersede_apply = true;
    let reply = json!({"notes": "", "link-add": [], "weight": [],
        "insert": [{"reason": "", "key": "new", "title": "New", "body": "Brand new.", "keywords": [], "sources": []}],
        "supersede": [{"reason": "shorter", "node": "N1", "by": "", "key": "short", "title": "", "body": ""}]});
    let run = world.run(&definition, &ScriptedModel::replying(reply));
    assert_eq!(
        outcomes(&run).iter().filter(|outcome| outcome.ends_with("applied")).count(),
        2,
        "{:?}",
        outcomes(&run)
    );
    let short = world.memory.find("short").unwrap();
    assert_eq!(
        (short.title.as_str(), short.body.as_str()),
        ("note 0", "Note 0 of the b-tree and its siblings.")
    );
    let seen = |key: &str| {
        let id = world.memory.find(key).unwrap().id;
        world.memory.store.visits(id).unwrap().iter().any(|(agent, _)| agent == "tester")
    };
    assert!(seen("short") && seen("new"));
    definition.freshness.ignore_own_writes = false;
    let again = json!({"notes": "", "link-add": [], "weight": [], "supersede": [],
        "insert": [{"reason": "", "key": "newer", "title": "Newer", "body": "Newer than new.", "keywords": [], "sources": []}]});
    world.clock.advance(Span::DAY);
    edit(&world.memory, "note-1", "Edited by a person.");
    world.run(&definition, &ScriptedModel::replying(again));
    assert!(!seen("newer"));
}
