//! Splitting notes: the parts are applied together with the replacement or not at all.

use super::world::{ScriptedModel, World, agent, draft, outcomes};
use crate::Catalog;
use crate::created_notes::created_notes;
use crate::definition::Definition;
use crate::ledger::{self, ActionState, Run, Status};
use crate::model::Model;
use crate::proposal::proposals;
use crate::review::{PartialSelection, approve, partly_selected, reject};
use crate::run::{self, RunOptions, Trigger};
use crate::undo::undo;
use poc_graph::error::Code;
use poc_graph::{EdgeKind, Trust};
use poc_notes::Draft;
use serde_json::{Value, json};

const LONG: &str = "The note says two things.";

/// An agent that splits notes and either proposes or applies the replacement.
fn splitter(mode: &str, max: usize) -> Definition {
    let limits = format!("[limits.supersede]\nmode = \"{mode}\"\nmax = {max}\n[limits.insert]\nmax = 9\n");
    agent("\"insert\", \"supersede\"", &limits)
}

/// Splits the first notes of the prompt, each with a new overview as its replacement.
fn split(notes: usize, key: &str) -> ScriptedModel<'static> {
    let part = |note: usize, part: usize| {
        json!({"reason": "part", "key": format!("part-{note}-{part}"), "title": "Part",
               "body": format!("Of note {note} the part {part}."), "keywords": [], "sources": [format!("N{note}")]})
    };
    let whole = |note: usize| {
        let key = if note == 1 { key.to_owned() } else { format!("{key}-{note}") };
        json!({"reason": "two ideas", "node": format!("N{note}"), "by": "", "key": key,
               "title": "Overview", "body": format!("An overview of note {note}.")})
    };
    let parts: Vec<Value> = (1..=notes).flat_map(|note| [part(note, 1), part(note, 2)]).collect();
    ScriptedModel::replying(
        json!({"notes": "", "insert": parts, "supersede": (1..=notes).map(whole).collect::<Vec<_>>()}),
    )
}

fn by_hand(world: &World, key: &str) {
    world.draft(Draft {
        provenance: "manual".into(),
        node_type: Some("episodic".into()),
        ..draft(key, LONG)
    });
}

#[test]
fn parts_of_a_protected_note_are_not_inserted() {
    let world = World::new();
    by_hand(&world, "written-by-hand");
    let before = world.graph();
    let row = world.run(&splitter("propose", 3), &split(1, "overview"));
    assert_eq!(world.graph(), before);
    assert_eq!(proposals(&world.memory, None).unwrap(), []);
    let refused: Vec<Option<&str>> =
        row.actions.iter().map(|action| action.refusal_code.as_deref()).collect();
    assert_eq!(refused, [Some("protected"); 3]);
    insta::assert_snapshot!(row.actions[0].detail.as_ref().unwrap(), @r#"it belongs to "supersede `written-by-hand` by a new note "Overview"", which was refused: N1 is protected"#);
}

#[test]
fn a_group_beyond_a_limit_is_not_proposed() {
    let world = World::new();
    for number in 0..3 {
        world.note(&format!("note-{number}"), &format!("{LONG} {number}"));
    }
    let row = world.run(&splitter("propose", 2), &split(3, "overview"));
    assert_eq!(row.status, Status::Partial);
    let waiting = proposals(&world.memory, None).unwrap();
    assert_eq!(waiting.len(), 6);
    assert!(waiting.iter().all(|one| !one.summary.contains("note-2")), "{waiting:?}");
    assert_eq!(row.actions[4].refusal_code.as_deref(), Some("over-limit"));
}

#[test]
fn a_failed_supersession_leaves_no_parts_behind() {
    let world = World::new();
    world.note("note", LONG);
    world.draft(draft("taken", "Another note has this key."));
    let before = world.graph();
    let row = world.run(&splitter("apply", 3), &split(1, "taken"));
    assert_eq!(world.graph(), before, "{:?}", outcomes(&row));
    assert!(row.actions.iter().all(|action| action.state == ActionState::Refused));
    world.edit("note", "The note says two other things.");
    let row = world.run(&splitter("apply", 3), &split(1, "free"));
    assert_eq!(row.applied_actions().count(), 3, "{:?}", outcomes(&row));
    assert!(world.memory.find("part-1-2").is_ok() && world.memory.find("free").is_ok());
}

#[test]
fn links_of_parts_are_no_stronger_than_other_links_of_agents() {
    let world = World::new();
    world.note("note", LONG);
    let definition = splitter("apply", 3);
    world.run(&definition, &split(1, "overview"));
    let part = world.memory.find("part-1-1").unwrap();
    let edges = world.memory.store.edges(part.id).unwrap();
    let links: Vec<_> = edges.into_iter().filter(|edge| edge.kind == EdgeKind::Link).collect();
    let max = definition.limits.link_add_max_strength;
    assert!(!links.is_empty() && links.iter().all(|link| link.strength <= max), "{links:?}");
}

#[test]
fn the_notes_that_actions_created_are_known_while_they_are_stored() {
    let world = World::new();
    world.note("note", LONG);
    let definition = splitter("apply", 3);
    let created = |row: &Run| -> Vec<(usize, String)> {
        created_notes(&world.memory, row).unwrap().into_iter().collect()
    };
    let dry = RunOptions { dry_run: true, ..RunOptions::default() };
    let model = split(1, "overview");
    let dry = run::run_with(&world.memory, &definition, &model as &dyn Model, Trigger::Manual, &dry).unwrap();
    // Another transaction gets the number that the transaction of the dry run would have had.
    world.note("another", "It is not of the run.");
    assert_eq!(created(&dry), []);
    let row = world.run(&definition, &split(1, "overview"));
    assert_eq!(created(&row), [(0, "part-1-1".into()), (1, "part-1-2".into()), (2, "overview".into())]);
    undo(&world.memory, &row, &[]).unwrap();
    assert_eq!(created(&ledger::find(&world.memory, &row.id.to_string()).unwrap()), []);
}

#[test]
fn the_other_actions_of_a_partly_selected_group_are_known() {
    let world = World::new();
    for number in 0..2 {
        world.note(&format!("note-{number}"), &format!("{LONG} {number}"));
    }
    let row = world.run(&splitter("propose", 3), &split(2, "overview"));
    assert_eq!(proposals(&world.memory, None).unwrap().len(), 6);
    let partly = |only: &[u16]| partly_selected(&world.memory, row.id, only).unwrap();
    assert_eq!(partly(&[]), PartialSelection::default());
    assert_eq!(partly(&[1, 2, 5]), PartialSelection::default());
    assert_eq!(partly(&[1, 3, 4, 6]), PartialSelection { selected: vec![1], others: vec![2, 5] });
    assert_eq!(reject(&world.memory, row.id, &[1], "").unwrap().len(), 3);
}

#[test]
fn an_approved_group_is_applied_whole_or_not_at_all() {
    let world = World::new();
    world.note("note", LONG);
    let row = world.run(&splitter("propose", 3), &split(1, "taken"));
    assert_eq!(row.status, Status::Proposed);
    world.draft(draft("taken", "A person was quicker."));
    let before = world.graph();
    let items = approve(&world.memory, row.id, &[]).unwrap();
    assert!(items.iter().all(|item| item.refused.is_some()), "{items:?}");
    assert_eq!(world.graph(), before);
    assert_eq!(world.memory.find("part-1-1").unwrap_err().code, Code::NotFound);
}

#[test]
fn a_waiting_proposal_is_not_proposed_again() {
    let world = World::new();
    world.note("note", LONG);
    let definition = splitter("propose", 3);
    let first = world.run(&definition, &split(1, "overview"));
    let force = RunOptions { force: true, ..RunOptions::default() };
    let again = || {
        let model = split(1, "overview");
        run::run_with(&world.memory, &definition, &model as &dyn Model, Trigger::Manual, &force).unwrap()
    };
    let second = again();
    assert_eq!(second.status, Status::Noop, "{:?}", outcomes(&second));
    assert!(second.actions.iter().all(|action| action.refusal_code.as_deref() == Some("already-present")));
    assert_eq!(proposals(&world.memory, None).unwrap().len(), 3);
    // Neither is a rejected one.
    reject(&world.memory, first.id, &[], "").unwrap();
    let third = again();
    assert_eq!(third.status, Status::Noop);
    assert!(third.actions.iter().any(|action| action.refusal_code.as_deref() == Some("rejected-before")));
}

/// No bundled agent inserts parts of a person's note, because it may not replace such notes.
#[test]
fn bundled_agents_do_not_change_handwritten_notes() {
    let world = World::new();
    let section = "Every page write of the tree is recorded in the journal first. ".repeat(12);
    let text = format!("# One\n\n{section}\n\n# Two\n\n{section}replay\n\n# Three\n\n{section}backup\n");
    for (key, kind) in [("engine", "semantic"), ("engine-again", "semantic"), ("untitled-3", "episodic")] {
        let body = format!("{text}{}", if kind == "semantic" { "" } else { key });
        let own = Draft { provenance: "manual".into(), trust: Trust::User, ..draft(key, &body) };
        world.draft(Draft { node_type: Some(kind.into()), title: Some(format!("About {key}")), ..own });
    }
    let notes = |world: &World| -> Vec<String> {
        let text = world.graph();
        text.lines().filter(|line| line.starts_with("Node ")).map(str::to_owned).collect()
    };
    let before = notes(&world);
    assert_eq!(before.len(), 3);
    let catalog = Catalog::load(&world.memory).unwrap();
    for name in catalog.agents.keys() {
        let definition = catalog.get(name).unwrap();
        let row = run::run(&world.memory, definition, Trigger::Manual, &RunOptions::default()).unwrap();
        assert!(
            matches!(row.status, Status::Ok | Status::Noop | Status::Skipped),
            "{}: {:?} {:?}",
            definition.name,
            row.status,
            outcomes(&row)
        );
    }
    assert_eq!(notes(&world), before);
    assert_eq!(proposals(&world.memory, None).unwrap(), []);
}
