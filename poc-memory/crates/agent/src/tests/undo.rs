//! Undoing runs restores the graph.

use super::world::{FnModel, ScriptedModel, World, agent, handle as handle_of, outcomes};
use crate::definition::{Definition, Mode};
use crate::ledger::{self, Run, Status};
use crate::model::Request;
use crate::review::{approve, reject};
use crate::run::{RunOptions, Trigger, run_with};
use crate::undo::{undo, undo_change};
use poc_graph::error::{self, Code};
use poc_graph::time::Span;
use poc_graph::{Activity, Edge, EdgeKind, Node, NodeId};
use poc_notes::undo::{UndoItem, UndoReport};
use poc_notes::vault::{self, SyncOptions};
use poc_notes::{rename, weight};
use poc_store::testing::{count_by_scan, counts_of_view};
use poc_store::{Records as _, Transaction};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;

fn world(notes: usize) -> (World, Definition) {
    let world = World::new();
    for number in 0..notes {
        world.note(&format!("note-{number}"), &format!("Note {number} of the b-tree and its siblings."));
    }
    let all = "\"link-add\", \"weight\", \"insert\", \"supersede\"";
    let mut definition = agent(all, "[limits.supersede]\nmode = \"apply\"\nmax = 3\n");
    definition.execution.replay = true;
    (world, definition)
}

fn everything() -> Value {
    json!({"notes": "",
        "link-add": [{"reason": "", "from": "N1", "to": "N2", "strength": 0.5}],
        "weight": [{"reason": "", "node": "N1", "delta": 0.2}],
        "insert": [{"reason": "", "key": "new", "title": "New", "body": "Brand new siblings.", "keywords": ["k"], "sources": ["N1"]}],
        "supersede": [{"reason": "", "node": "N2", "by": "N3", "key": "", "title": "", "body": ""},
            {"reason": "", "node": "N4", "by": "", "key": "renamed", "title": "note 3", "body": "Note 3 of the b-tree and its siblings."}]})
}

#[test]
fn undoing_a_run_restores_the_graph() {
    let (world, definition) = world(4);
    let before = world.graph();
    let run = world.run(&definition, &ScriptedModel::replying(everything()));
    assert_eq!(run.applied_actions().count(), 5, "{:?}", run.actions);
    assert_ne!(world.graph(), before);
    let items = undo(&world.memory, &run, &[]).unwrap().items;
    assert!(items.len() == 5 && items.iter().all(|item| item.refused.is_none()), "{items:?}");
    assert_eq!(world.graph(), before);

    // The row is marked as undone, a second undo fails, and the visits stay.
    let row = ledger::find(&world.memory, &run.id.to_string()).unwrap();
    assert!(row.applied_actions().all(|action| action.is_undone()));
    assert_eq!(undo(&world.memory, &row, &[]).unwrap_err().code, Code::Conflict);
    for &id in &run.visited {
        let (visits, node) = (world.memory.store.visits(id).unwrap(), world.memory.store.node(id).unwrap());
        // The visit refers to the restored version, so that the next edit counts as a change.
        assert_eq!((visits.len(), visits[0].1.version), (1, node.unwrap().version));
    }
    // Replaying the log gives the same graph.
    assert_eq!(world.reopen().graph(), before);
}

#[test]
fn the_undo_of_a_run_can_be_undone_any_number_of_times() {
    let (world, mut definition) = world(4);
    definition.execution.replay = false;
    let before = world.graph();
    let run = world.run(&definition, &ScriptedModel::replying(everything()));
    let visits =
        || -> Vec<_> { run.visited.iter().map(|&id| world.memory.store.visits(id).unwrap()).collect() };
    let (after, visited) = (world.graph(), visits());
    let row = || ledger::find(&world.memory, &run.id.to_string()).unwrap();
    let mut undone = undo(&world.memory, &run, &[]).unwrap();
    for _ in 0..2 {
        let applied = undo_change(&world.memory, undone.seq.unwrap()).unwrap();
        assert!(
            applied.items.len() == 5 && applied.items.iter().all(|item| item.refused.is_none()),
            "{applied:?}"
        );
        assert_eq!((world.graph(), visits()), (after.clone(), visited.clone()));
        assert_eq!(
            (row().status, row().applied_actions().any(|action| action.is_undone())),
            (run.status, false)
        );
        // A change that was undone already is refused.
        assert_eq!(undo_change(&world.memory, undone.seq.unwrap()).unwrap_err().code, Code::Conflict);
        undone = undo_change(&world.memory, applied.seq.unwrap()).unwrap();
        assert_eq!(world.graph(), before);
    }
    // Only what the change undid is applied again.
    undo_change(&world.memory, undone.seq.unwrap()).unwrap();
    let first = undo(&world.memory, &row(), &[1, 3]).unwrap();
    undo(&world.memory, &row(), &[]).unwrap();
    undo_change(&world.memory, first.seq.unwrap()).unwrap();
    let states: Vec<bool> = row().actions.iter().map(|action| action.is_undone()).collect();
    assert_eq!(states, [false, true, false, true, true]);
    assert!(world.memory.find("new").is_ok());
}

#[test]
fn an_action_whose_notes_changed_since_the_undo_stays_undone() {
    let (world, definition) = world(4);
    let run = world.run(&definition, &ScriptedModel::replying(everything()));
    let undone = undo(&world.memory, &run, &[]).unwrap();
    world.edit("note-3", "Edited by a person since.");
    let applied = undo_change(&world.memory, undone.seq.unwrap()).unwrap();
    let refused: Vec<_> = applied.items.iter().map(|item| item.refused.as_deref()).collect();
    assert_eq!(refused, [None, None, None, None, Some("the note `note-3` changed since")]);
    assert_eq!(applied.items[0].summary, "undo of link `note-0` to `note-1` at 0.5");
}

#[test]
fn the_undo_of_a_run_leaves_notes_and_files_of_a_vault_in_agreement() {
    let (world, definition) = world(3);
    let parent = poc_graph::testing::folder();
    let folder = parent.path().join("vault");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("note-3.md"), "Note 3 of the b-tree and its siblings.\n").unwrap();
    let vault = vault::add(&world.memory, &folder, None, false).unwrap();
    let sync = || {
        let options = SyncOptions { redo_undone: true, ..SyncOptions::default() };
        vault::sync(&world.memory, &vault, &options, &|_, _| {}).unwrap()
    };
    assert_eq!(sync().added, 1);
    let before = world.graph();
    let run = world.run(&definition, &ScriptedModel::replying(everything()));
    assert_ne!(world.graph(), before);
    sync();
    let undone = undo(&world.memory, &run, &[]).unwrap();
    assert!(undone.items.iter().all(|item| item.refused.is_none()), "{undone:?}");
    let status = vault::status(&world.memory).unwrap().remove(0);
    assert_eq!((status.files, status.behind, status.undone), (1, 0, 0));
    assert_eq!((status.without_note, status.edited), (0, 0));
    assert!(!sync().has_changes());
    assert_eq!(world.graph(), before);
}

#[test]
fn a_link_to_a_deleted_note_is_not_applied_again_until_the_note_is_restored() {
    let (world, mut definition) = world(2);
    definition.execution.replay = false;
    let insert = json!({"notes": "", "link-add": [], "weight": [], "supersede": [],
        "insert": [{"reason": "", "key": "fact", "title": "Fact", "body": "Siblings split.", "keywords": [], "sources": ["N1"]}]});
    let first = world.run(&definition, &ScriptedModel::replying(insert));
    let link = json!({"notes": "", "weight": [], "insert": [], "supersede": [],
        "link-add": [{"reason": "", "from": "N1", "to": "N3", "strength": 0.5}]});
    world.clock.advance(Span::DAY);
    let options = RunOptions { force: true, ..RunOptions::default() };
    let model = ScriptedModel::replying(link);
    let second = run_with(&world.memory, &definition, &model, Trigger::Manual, &options).unwrap();
    assert_eq!(second.applied_actions().count(), 1, "{:?}", second.actions);
    let whole = world.graph();
    let unlinked = undo(&world.memory, &second, &[]).unwrap();
    let gone = undo(&world.memory, &first, &[]).unwrap();
    assert!(gone.items.iter().all(|item| item.refused.is_none()), "{gone:?}");
    let early = undo_change(&world.memory, unlinked.seq.unwrap()).unwrap();
    let refused = early.items[0].refused.as_deref();
    assert!(refused.is_some_and(|why| why.contains("was deleted; restore it first")), "{early:?}");
    undo_change(&world.memory, gone.seq.unwrap()).unwrap();
    undo_change(&world.memory, unlinked.seq.unwrap()).unwrap();
    assert_eq!(world.graph(), whole);
}

#[test]
fn an_undone_run_weakens_later_links_and_refuses_none_of_them_after_their_notes_changed() {
    let world = World::new();
    for number in 0..6 {
        world.note(&format!("crash-{number}"), &format!("The engine lost a key because of INC-{number}12."));
        world.note(&format!("fix-{number}"), &format!("Since the fix of INC-{number}12, recovery works."));
    }
    let definition = agent("\"link-add\"", "");
    let model = FnModel(|request: &Request<'_>| {
        let link = |number: usize| {
            let [from, to] = ["crash", "fix"].map(|what| handle_of(request, &format!("{what}-{number}")));
            json!({"reason": "both mention it", "from": from, "to": to, "strength": 0.4})
        };
        json!({"notes": "", "link-add": (0..6).map(link).collect::<Vec<_>>()})
    });
    let forced = RunOptions { force: true, ..RunOptions::default() };
    let run = || run_with(&world.memory, &definition, &model, Trigger::Manual, &forced).unwrap();
    let first = run();
    assert_eq!(outcomes(&first)[0], "link `crash-0` to `fix-0` at 0.4: applied");
    undo(&world.memory, &first, &[]).unwrap();
    // The strength falls from run to run as often as all links are undone, but no link is refused.
    for (round, strength) in [(1, 0.2), (2, 0.12)] {
        world.clock.advance(Span::HOUR);
        for number in 0..6 {
            let body = format!("The engine lost a key because of INC-{number}12, {round} times.");
            world.edit(&format!("crash-{number}"), &body);
        }
        let next = run();
        assert_eq!(next.status, Status::Ok, "{:?}", outcomes(&next));
        let expected =
            (0..6).map(|number| format!("link `crash-{number}` to `fix-{number}` at {strength}: applied"));
        assert_eq!(outcomes(&next), expected.collect::<Vec<_>>());
        undo(&world.memory, &next, &[]).unwrap();
    }
}

/// A run that links two notes.
fn link(world: &World, definition: &Definition, from: &'static str, to: &'static str) -> Run {
    let model = FnModel(move |request: &Request<'_>| {
        let (from, to) = (handle_of(request, from), handle_of(request, to));
        json!({"notes": "", "link-add": [{"reason": "", "from": from, "to": to, "strength": 0.5}],
            "weight": [], "insert": [], "supersede": []})
    });
    let forced = RunOptions { force: true, ..RunOptions::default() };
    run_with(&world.memory, definition, &model, Trigger::Manual, &forced).unwrap()
}

#[test]
fn a_link_that_was_undone_is_not_made_by_another_agent_until_its_notes_change() {
    let (world, mut definition) = world(2);
    definition.execution.replay = false;
    let other = Definition { name: "other".into(), ..definition.clone() };
    let first = link(&world, &definition, "note-0", "note-1");
    assert_eq!(outcomes(&first), ["link `note-0` to `note-1` at 0.5: applied"]);
    undo(&world.memory, &first, &[]).unwrap();
    world.clock.advance(Span::HOUR);
    // It is the same link in the other direction.
    let refused = link(&world, &other, "note-1", "note-0");
    assert_eq!(refused.status, Status::Noop);
    assert_eq!(outcomes(&refused), ["link `note-1` to `note-0` at 0.5: rejected-before"]);
    world.edit("note-1", "Note 1 of the b-tree, its siblings and its pages.");
    let again = link(&world, &other, "note-1", "note-0");
    assert!(again.actions[0].is_applied(), "{:?}", outcomes(&again));
}

#[test]
fn a_link_that_was_undone_is_not_made_again_in_either_direction_until_its_notes_change() {
    let (world, mut definition) = world(2);
    definition.execution.replay = false;
    let first = link(&world, &definition, "note-0", "note-1");
    undo(&world.memory, &first, &[]).unwrap();
    for (from, to) in [("note-0", "note-1"), ("note-1", "note-0")] {
        let refused = link(&world, &definition, from, to);
        assert_eq!(refused.status, Status::Noop);
        assert_eq!(outcomes(&refused), [format!("link `{from}` to `{to}` at 0.45: rejected-before")]);
    }
    world.clock.advance(Span::HOUR);
    world.edit("note-0", "Note 0 of the b-tree, its siblings and its pages.");
    assert!(link(&world, &definition, "note-1", "note-0").actions[0].is_applied());
}

#[test]
fn a_link_that_was_rejected_is_not_applied_without_asking_in_either_direction() {
    let (world, mut definition) = world(2);
    definition.execution.replay = false;
    let proposing = Definition { mode: Mode::Propose, ..definition.clone() };
    let first = link(&world, &proposing, "note-0", "note-1");
    let both = |expected: &str| {
        for (from, to) in [("note-0", "note-1"), ("note-1", "note-0")] {
            let refused = link(&world, &definition, from, to);
            assert_eq!(outcomes(&refused), [format!("link `{from}` to `{to}` at 0.5: {expected}")]);
        }
    };
    // The same link waits for a decision, at first and after its approval was undone.
    both("already-present");
    approve(&world.memory, first.id, &[]).unwrap();
    let row = ledger::find(&world.memory, &first.id.to_string()).unwrap();
    undo(&world.memory, &row, &[]).unwrap();
    both("already-present");
    reject(&world.memory, first.id, &[], "").unwrap();
    both("rejected-before");
}

#[test]
fn a_link_that_was_rejected_is_not_made_by_another_agent() {
    let (world, mut definition) = world(2);
    definition.execution.replay = false;
    let proposing = Definition { name: "proposing".into(), mode: Mode::Propose, ..definition.clone() };
    let first = link(&world, &proposing, "note-0", "note-1");
    reject(&world.memory, first.id, &[], "").unwrap();
    // The rows of earlier days are read, too.
    world.clock.advance(Span(3 * Span::DAY.0));
    let refused = link(&world, &definition, "note-0", "note-1");
    assert_eq!(outcomes(&refused), ["link `note-0` to `note-1` at 0.5: rejected-before"]);
}

#[test]
fn a_link_that_was_undone_is_recognized_after_a_note_was_renamed() {
    let (world, mut definition) = world(2);
    definition.execution.replay = false;
    let other = Definition { name: "other".into(), ..definition.clone() };
    let first = link(&world, &definition, "note-0", "note-1");
    undo(&world.memory, &first, &[]).unwrap();
    rename_target(&world, &first, "leaf");
    let refused = link(&world, &other, "leaf", "note-0");
    assert_eq!(outcomes(&refused), ["link `leaf` to `note-0` at 0.5: rejected-before"]);
}

#[test]
fn a_link_that_was_rejected_is_not_proposed_again_after_a_note_was_renamed() {
    let (world, mut definition) = world(2);
    definition.execution.replay = false;
    definition.mode = Mode::Propose;
    let first = link(&world, &definition, "note-0", "note-1");
    assert_eq!(first.actions[0].state, ledger::ActionState::Proposed, "{:?}", outcomes(&first));
    reject(&world.memory, first.id, &[], "").unwrap();
    rename_target(&world, &first, "leaf");
    for (from, to) in [("note-0", "leaf"), ("leaf", "note-0")] {
        let refused = link(&world, &definition, from, to);
        assert_eq!(outcomes(&refused), [format!("link `{from}` to `{to}` at 0.5: rejected-before")]);
    }
    world.clock.advance(Span::HOUR);
    world.edit("leaf", "Note 1 of the b-tree, its siblings and its pages.");
    let again = link(&world, &definition, "note-0", "leaf");
    assert_eq!(again.actions[0].state, ledger::ActionState::Proposed, "{:?}", outcomes(&again));
}

#[test]
fn the_newest_rejection_of_a_link_counts() {
    let (world, mut definition) = world(2);
    definition.execution.replay = false;
    definition.mode = Mode::Propose;
    let first = link(&world, &definition, "note-0", "note-1");
    reject(&world.memory, first.id, &[], "").unwrap();
    world.clock.advance(Span::HOUR);
    world.edit("note-1", "Note 1 of the b-tree, its siblings and its pages.");
    let second = link(&world, &definition, "note-1", "note-0");
    assert_eq!(second.actions[0].state, ledger::ActionState::Proposed, "{:?}", outcomes(&second));
    reject(&world.memory, second.id, &[], "").unwrap();
    let refused = outcomes(&link(&world, &definition, "note-0", "note-1"));
    assert!(refused[0].ends_with(": rejected-before"), "{refused:?}");
}

/// Gives another key to the note to which the first action of a run links.
fn rename_target(world: &World, run: &Run, key: &str) {
    let id = run.link(0).unwrap().to;
    let rename = |tx: &mut Transaction<'_>| rename::apply(tx, id, Some(key), &[]);
    world.memory.store.transact(world.memory.cause("manual", "rename"), rename).unwrap();
}

/// Rows before version 5 name the notes of a link only in the summary of the action.
#[test]
fn an_undone_link_in_a_row_without_ids_is_recognized_by_its_keys() {
    let (world, mut definition) = world(3);
    definition.execution.replay = false;
    let other = Definition { name: "other".into(), ..definition.clone() };
    let first = link(&world, &definition, "note-0", "note-1");
    undo(&world.memory, &first, &[]).unwrap();
    let row = ledger::find(&world.memory, &first.id.to_string()).unwrap();
    let old = Run { links: BTreeMap::new(), ..row };
    let write = |tx: &mut Transaction<'_>| tx.put(&old.key(), &old);
    world.memory.store.transact(world.memory.cause("test", "old row"), write).unwrap();
    let refused = link(&world, &other, "note-1", "note-0");
    assert_eq!(outcomes(&refused), ["link `note-1` to `note-0` at 0.5: rejected-before"]);
    let different = link(&world, &other, "note-1", "note-2");
    assert!(different.actions[0].is_applied(), "{:?}", outcomes(&different));
}

#[test]
fn undo_skips_and_reports_notes_changed_since() {
    let (world, definition) = world(4);
    let run = world.run(&definition, &ScriptedModel::replying(everything()));
    world.edit("renamed", "Edited by a person since.");
    let items = undo(&world.memory, &run, &[]).unwrap().items;
    let lines: Vec<String> = items
        .iter()
        .map(|item| format!("{}: {}", item.summary, item.refused.as_deref().unwrap_or("undone")))
        .collect();
    insta::assert_snapshot!(lines.join("\n"), @r#"
    link `note-0` to `note-1` at 0.5: undone
    move the weight of `note-0` by +0.2: undone
    insert "New": undone
    supersede `note-1` by `note-2`: undone
    supersede `note-3` by a new note "note 3": the note `renamed` changed since
    "#);
    let row = ledger::find(&world.memory, &run.id.to_string()).unwrap();
    let left: Vec<String> = row
        .applied_actions()
        .filter(|action| !action.is_undone())
        .map(|action| action.summary.clone())
        .collect();
    assert_eq!(left.len(), 1);
}

#[test]
fn undo_keeps_what_was_learned_from_use_since() {
    let used = |undone: bool| {
        let (mut world, definition) = world(4);
        world.config().reinforce.refractory = Span(0);
        let run = undone.then(|| world.run(&definition, &ScriptedModel::replying(everything())));
        for _ in 0..2 {
            world.clock.advance(Span(90 * Span::DAY.0));
            world.learn();
        }
        if let Some(run) = run {
            let items = undo(&world.memory, &run, &[]).unwrap().items;
            assert!(items.len() == 5 && items.iter().all(|item| item.refused.is_none()), "{items:?}");
        }
        world
    };
    let (undone, never) = (used(true), used(false));
    // The other notes were not used in the meantime.
    for number in [0, 2] {
        let known = |world: &World| {
            let node = world.memory.find(&format!("note-{number}")).unwrap();
            (node.state, world.memory.store.activity(node.id).unwrap().unwrap())
        };
        let (one, other) = (known(&undone), known(&never));
        assert_eq!((one.0, one.1.accesses), (other.0, other.1.accesses));
        assert!((one.1.weight - other.1.weight).abs() < 1e-9, "{number}: {one:?} {other:?}");
    }
    assert!(undone.memory.find("new").is_err() && undone.memory.find("renamed").is_err());
    // Their recall edges were removed with them.
    for edge in undone.memory.store.edges(undone.memory.find("note-0").unwrap().id).unwrap() {
        assert!([edge.src, edge.dst].iter().all(|&id| undone.memory.store.node(id).unwrap().is_some()));
    }
}

#[test]
fn undo_keeps_a_weight_set_by_hand_since() {
    let (world, definition) = world(2);
    let reply = json!({"notes": "", "link-add": [], "insert": [], "supersede": [],
        "weight": [{"reason": "", "node": "N1", "delta": 0.2}]});
    let run = world.run(&definition, &ScriptedModel::replying(reply));
    let (id, now) = (world.memory.find("note-0").unwrap().id, world.memory.now());
    let weight = &world.memory.config.weight;
    let cause = world.memory.cause("manual", "weight");
    world
        .memory
        .store
        .transact(cause, |tx| weight::change(tx, id, weight::WeightChange::To(3.0), weight, now))
        .unwrap();
    let items = undo(&world.memory, &run, &[]).unwrap().items;
    assert_eq!(items[0].refused.as_deref(), Some("the weight of the note `note-0` changed since"));
    assert_eq!(world.weight(id), 3.0);
}

#[test]
fn a_run_that_applied_nothing_cannot_be_undone() {
    let (world, mut definition) = world(1);
    definition.execution.replay = false;
    let run =
        world.run(&definition, &ScriptedModel::doing_nothing(&["link-add", "weight", "insert", "supersede"]));
    assert_eq!(undo(&world.memory, &run, &[]).unwrap_err().code, Code::Conflict);
}

#[test]
fn a_run_that_only_replayed_can_be_undone() {
    let nothing = || ScriptedModel::doing_nothing(&["link-add", "weight", "insert", "supersede"]);
    let (world, definition) = world(3);
    let before = world.graph();
    let run = world.run(&definition, &nothing());
    assert_ne!(world.graph(), before);
    let UndoReport { seq, items, final_run, .. } = undo(&world.memory, &run, &[]).unwrap();
    assert_eq!(items, [UndoItem { summary: "replay of 3 notes".into(), refused: None }]);
    assert_eq!((seq, final_run), (None, Some(run.id)), "it cannot be undone");
    assert_eq!(world.graph(), before);
    let row = ledger::find(&world.memory, &run.id.to_string()).unwrap();
    assert_eq!(undo(&world.memory, &row, &[]).unwrap_err().code, Code::Conflict);

    // Use since then does not count as a replay, but a second run does.
    let forced = RunOptions { force: true, ..RunOptions::default() };
    let run = run_with(&world.memory, &definition, &nothing(), Trigger::Manual, &forced).unwrap();
    world.learn();
    let id = |number: u32| world.memory.find(&format!("note-{number}")).unwrap().id;
    let activity = |number| world.memory.store.activity(id(number)).unwrap().unwrap();
    world.clock.advance(Span::DAY);
    let options = RunOptions { target: Some("note-0".into()), ..RunOptions::default() };
    let later = run_with(&world.memory, &definition, &nothing(), Trigger::Manual, &options).unwrap();
    let items = undo(&world.memory, &run, &[]).unwrap().items;
    assert_eq!(items[0].refused.as_deref(), Some("1 of them was replayed again since"));
    assert_eq!((activity(0).replay_interval, activity(1).replay_interval), (3, 0));
    assert!(activity(1).accesses > 0 && activity(1).replayed.is_none());
    undo(&world.memory, &later, &[]).unwrap();
    assert_eq!(activity(0).replay_interval, 1);
}

#[test]
fn replays_are_undone_without_proposals_that_were_approved_later() {
    let (world, mut definition) = world(3);
    definition.mode = Mode::Propose;
    let reply = json!({"notes": "", "weight": [], "insert": [], "supersede": [],
        "link-add": [{"reason": "", "from": "N1", "to": "N2", "strength": 0.5}]});
    let run = world.run(&definition, &ScriptedModel::replying(reply));
    assert!(run.has_replayed(), "{run:?}");
    approve(&world.memory, run.id, &[]).unwrap();
    let UndoReport { seq, items, final_run, .. } = undo_change(&world.memory, run.seq.unwrap()).unwrap();
    assert_eq!(items, [UndoItem { summary: "replay of 3 notes".into(), refused: None }]);
    assert_eq!((seq, final_run), (None, Some(run.id)), "it cannot be undone");
    let row = ledger::find(&world.memory, &run.id.to_string()).unwrap();
    assert!(!row.has_replayed() && row.applied_actions().all(|action| !action.is_undone()), "{row:?}");
    assert_eq!(row.applied_actions().count(), 1);
    assert_eq!(undo_change(&world.memory, run.seq.unwrap()).unwrap_err().code, Code::Conflict);
}

fn handle() -> impl Strategy<Value = String> {
    (1u32..8).prop_map(|number| format!("N{number}"))
}

fn reply() -> impl Strategy<Value = Value> {
    let link = (handle(), handle(), 0.1f64..1.0)
        .prop_map(|(from, to, strength)| json!({"reason": "", "from": from, "to": to, "strength": strength}));
    let weight = (handle(), -0.2f64..0.2)
        .prop_map(|(node, delta)| json!({"reason": "", "node": node, "delta": delta}));
    let insert = (0u32..4, prop::collection::vec(handle(), 0..3)).prop_map(|(number, links)| {
        json!({"reason": "", "key": "", "title": format!("New {number}"), "body": "siblings of the b-tree",
            "keywords": ["new"], "sources": links})
    });
    let supersede = (handle(), handle(), any::<bool>()).prop_map(|(node, by, new)| {
        let (by, title) =
            if new { (String::new(), format!("Instead of {node}")) } else { (by, String::new()) };
        json!({"reason": "", "node": node, "by": by, "key": "", "title": title, "body": ""})
    });
    let list = |entry: BoxedStrategy<Value>| prop::collection::vec(entry, 0..4);
    (list(link.boxed()), list(weight.boxed()), list(insert.boxed()), list(supersede.boxed())).prop_map(
        |(links, weights, inserts, supersedes)| {
            json!({"notes": "", "link-add": links, "weight": weights, "insert": inserts, "supersede": supersedes})
        },
    )
}

/// What a person changes after a run, by the numbers of the notes.
#[derive(Clone, Debug)]
enum PersonEdit {
    Text(usize),
    Weight(usize, f64),
    Link(usize, usize),
}

fn person_edit() -> impl Strategy<Value = PersonEdit> {
    let note = || 0usize..6;
    prop_oneof![
        note().prop_map(PersonEdit::Text),
        (note(), 2.0f64..9.0).prop_map(|(note, value)| PersonEdit::Weight(note, value)),
        (note(), note())
            .prop_filter("a link joins two notes", |(from, to)| from != to)
            .prop_map(|(from, to)| PersonEdit::Link(from, to)),
    ]
}

/// The record that an edit changes: a note, its activity, or a link. `None` if there is none.
type EditedRecord = (Option<Node>, Option<Activity>, Option<Edge>);

impl PersonEdit {
    fn apply(&self, world: &World, ids: &[NodeId]) {
        let memory = &world.memory;
        let (now, config) = (memory.now(), &memory.config.weight);
        let changed = memory.store.transact(memory.cause("manual", "insert"), |tx| match *self {
            PersonEdit::Text(note) => {
                let mut node = tx.node(ids[note])?.unwrap();
                node.body.push_str(" A person adds this.");
                node.content_hash = node.hash();
                node.version += 1;
                tx.put_node(&node)
            }
            PersonEdit::Weight(note, value) => {
                weight::change(tx, ids[note], weight::WeightChange::To(value), config, now).map(drop)
            }
            PersonEdit::Link(from, to) => tx.put_edge(&Edge {
                src: ids[from],
                dst: ids[to],
                kind: EdgeKind::Link,
                strength: 0.9,
                created: now,
                touched: now,
                provenance: "manual".into(),
                reason: "a person says so".into(),
            }),
        });
        changed.unwrap();
    }

    fn record(&self, world: &World, ids: &[NodeId]) -> EditedRecord {
        let store = &world.memory.store;
        match *self {
            PersonEdit::Text(note) => (store.node(ids[note]).unwrap(), None, None),
            PersonEdit::Weight(note, _) => (None, store.activity(ids[note]).unwrap(), None),
            PersonEdit::Link(from, to) => {
                (None, None, store.edge(ids[from], EdgeKind::Link, ids[to]).unwrap())
            }
        }
    }

    fn put_back(&self, tx: &mut Transaction<'_>, ids: &[NodeId], record: &EditedRecord) -> error::Result<()> {
        match (self, record) {
            (PersonEdit::Text(_), (Some(node), ..)) => tx.put_node(node),
            (PersonEdit::Weight(note, _), (_, Some(activity), _)) => tx.put_activity(ids[*note], activity),
            (PersonEdit::Link(..), (.., Some(edge))) => tx.put_edge(edge),
            (PersonEdit::Link(from, to), _) => {
                let (src, dst) = (ids[*from], ids[*to]);
                match tx.edge(src, EdgeKind::Link, dst)? {
                    Some(_) => tx.delete_edge(src, EdgeKind::Link, dst),
                    None => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }
}

/// Whether a note replaces another one or is replaced. A note takes over the weight of the one that it replaces, and the
/// undo subtracts that from any later weight.
fn is_in_succession(world: &World, id: NodeId) -> bool {
    world.memory.store.edges(id).unwrap().iter().any(|edge| edge.kind == EdgeKind::Supersedes)
}

poc_laws::laws! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]
    /// What a person changed after a run stays. If that conflicts with nothing, the run is undone exactly; otherwise the
    /// actions that stay are listed with the reason.
    #[test]
    fn undo_keeps_later_edits_and_reports_conflicts(reply in reply(), edits in prop::collection::vec(person_edit(), 1..4)) {
        let (world, definition) = world(6);
        let ids: Vec<NodeId> = (0..6).map(|number| world.memory.find(&format!("note-{number}")).unwrap().id).collect();
        let graph = world.graph();
        let records = |edits: &[PersonEdit]| -> Vec<EditedRecord> {
            edits.iter().map(|edit| edit.record(&world, &ids)).collect()
        };
        let all_before: Vec<(PersonEdit, EditedRecord)> = edits.iter().cloned().zip(records(&edits)).collect();
        let run = world.run(&definition, &ScriptedModel::replying(reply));
        if run.applied_actions().next().is_none() {
            return Ok(());
        }
        let kept = |edit: &PersonEdit| !matches!(edit, PersonEdit::Weight(note, _) if is_in_succession(&world, ids[*note]));
        let (edits, before): (Vec<PersonEdit>, Vec<EditedRecord>) =
            all_before.into_iter().filter(|(edit, _)| kept(edit)).unzip();
        let after_run = records(&edits);
        edits.iter().for_each(|edit| edit.apply(&world, &ids));
        let edited = records(&edits);

        let items = undo(&world.memory, &run, &[]).unwrap().items;
        prop_assert_eq!(items.len(), run.applied_actions().count());
        let refused = items.iter().filter(|item| item.refused.is_some()).count();
        let row = ledger::find(&world.memory, &run.id.to_string()).unwrap();
        prop_assert_eq!(row.applied_actions().filter(|action| !action.is_undone()).count(), refused, "{:?}", items);

        // The undo may change when an agent replays a note next, but not its weight.
        for ((node, activity, link), (own_node, own_activity, own_link)) in records(&edits).iter().zip(&edited) {
            prop_assert_eq!((node, link), (own_node, own_link));
            let weight = |activity: &Option<Activity>| activity.as_ref().map(|activity| activity.weight);
            prop_assert_eq!(weight(activity), weight(own_activity));
        }
        // Notes and links that both the run and the person changed are conflicts.
        let of_run = before.iter().zip(&after_run).filter(|(before, after)| (&before.0, &before.2) != (&after.0, &after.2));
        prop_assert!(refused > 0 || of_run.count() == 0, "{:?}", items);
        if refused == 0 {
            let put_back = |tx: &mut Transaction<'_>| {
                edits.iter().zip(&before).try_for_each(|(edit, record)| edit.put_back(tx, &ids, record))
            };
            world.memory.store.transact(world.memory.cause("manual", "insert"), put_back).unwrap();
            prop_assert_eq!(world.graph(), graph);
        }
        let store = &world.memory.store;
        prop_assert_eq!(counts_of_view(&store.view()), count_by_scan(store));
    }

    #[test]
    fn undo_after_run_is_identity(reply in reply()) {
        let (world, definition) = world(6);
        let before = world.graph();
        let run = world.run(&definition, &ScriptedModel::replying(reply));
        if run.applied_actions().next().is_some() {
            let UndoReport { seq, items, final_run, .. } = undo(&world.memory, &run, &[]).unwrap();
            prop_assert_eq!(final_run, None);
            prop_assert!(items.iter().all(|item| item.refused.is_none()), "{:?} {:?}", items, outcomes(&run));
            prop_assert_eq!(&world.graph(), &before);
            // A run whose actions are applied again can be undone again.
            let applied = undo_change(&world.memory, seq.unwrap()).unwrap();
            prop_assert!(applied.items.iter().all(|item| item.refused.is_none()), "{:?}", applied);
            undo_change(&world.memory, applied.seq.unwrap()).unwrap();
            prop_assert_eq!(world.graph(), before);
        }
        let store = &world.memory.store;
        prop_assert_eq!(counts_of_view(&store.view()), count_by_scan(store));
    }
}
