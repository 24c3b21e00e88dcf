//! The ops `night` and `undo --since`.

use super::*;
use poc_agent::Catalog;
use poc_agent::ledger::{ActionState, Run};
use poc_agent::run::{RunOptions, Trigger, run};
use serde_json::json;

/// Two notes that share rare words, and another one.
fn with_notes() -> TestMemory {
    let memory = TestMemory::new();
    for (title, body) in [
        ("Insurance", "The insurer asks who saw INC-4711, the container that fell from the harbour crane."),
        ("Quay closed", "The quay stays closed because of INC-4711: a container lies in the water."),
        ("Soup", "Leek soup needs an hour."),
    ] {
        json(&memory, &format!("insert --type episodic --title '{title}' --body '{body}'"));
    }
    memory.clock.advance(Span::HOUR);
    memory
}

fn options() -> RunOptions {
    RunOptions { models: poc_models::registry(), ..RunOptions::default() }
}

fn run_agent(memory: &TestMemory, name: &str, options: RunOptions) -> Run {
    let catalog = Catalog::read(memory).unwrap();
    let ran = run(memory, catalog.get(name).unwrap(), Trigger::Manual, &options).unwrap();
    memory.clock.advance(Span::HOUR);
    ran
}

/// A run of the linker over these notes.
fn after_a_run() -> TestMemory {
    let memory = with_notes();
    let ran = run_agent(&memory, "linker", options());
    assert_eq!(ran.applied_actions().count(), 1, "{ran:#?}");
    memory
}

#[test]
fn a_night_lists_its_changes_and_can_be_undone() {
    let memory = after_a_run();
    let export = || json(&memory, "export")["lines"].as_str().unwrap().to_owned();
    insta::assert_snapshot!(text_output(&memory, "night"), @r"
    since 2026-11-20 10:00Z: 1 agent ran, 1 change, +3 notes

    linker: 1 run visited 3 notes
      link `insurance` to `quay-closed` at 0.4: both mention `inc-4711`
    ");
    // Nothing was stored a day ago; in the last half hour nothing has changed.
    let growth = |words: &str| json(&memory, words)["growth"].clone();
    assert_eq!(growth("night")["notes"], 3);
    assert_eq!(growth("night")["edges"], json(&memory, "stats")["edges"]);
    assert_eq!(growth("night --since 30m"), json!({ "notes": 0, "edges": 0 }));
    assert_eq!((growth("stats --since 24h"), growth("stats")), (growth("night"), json!(null)));
    let night = json(&memory, "night --since 90m");
    let linker = &night["agents"]["linker"];
    assert_eq!((linker["visited"].as_u64(), linker["actions"].as_array().unwrap().len()), (Some(3), 1));
    assert_eq!(json(&memory, "night --since 30m")["agents"], json!({}));
    insta::assert_snapshot!(text_output(&memory, "night --since 2999-01-01"), @r"
    invalid_argument: `since`: 2999-01-01T00:00:00.000Z is not in the past
    give an earlier time, or how long ago: `12h`
    ");
    let with_link = export();
    insta::assert_snapshot!(text_output(&memory, "undo --since 30m"), @"no run since then changed anything that can be undone");
    assert_eq!(export(), with_link);
    insta::assert_snapshot!(text_output(&memory, "undo --since 90m"), @r"
    undone: link `insurance` to `quay-closed` at 0.4
    `poc-memory undo 6` reverts this
    ");
    assert!(!export().contains("\"link\""));
    let action = || json(&memory, "night")["agents"]["linker"]["actions"][0].clone();
    assert_eq!((&action()["undone"], &action()["undo"]), (&json!(true), &json!(6)));
    let text = text_output(&memory, "night");
    assert!(text.contains(": 1 agent ran, 1 change (undone), "), "{text}");
    insta::assert_snapshot!(text_output(&memory, "undo --since 90m"), @"no run since then changed anything that can be undone");
    // The undo of a run is a change like any other.
    insta::assert_snapshot!(text_output(&memory, "undo 6"), @r"
    undone: undo of link `insurance` to `quay-closed` at 0.4
    `poc-memory undo 7` reverts this
    ");
    assert_eq!(export(), with_link);
    assert_eq!((&action()["undone"], &action()["undo"]), (&json!(false), &json!(null)));
    let undone = json(&memory, "undo 7");
    assert!(!export().contains("\"link\""));
    json(&memory, &format!("undo {}", undone["changes"][0]));
    assert_eq!(export(), with_link);
}

#[test]
fn a_night_without_runs_costs_nothing() {
    let memory = with_notes();
    assert_eq!(json(&memory, "night")["cost"].to_string(), "0.0");
}

#[test]
fn an_undo_without_a_number_brings_back_the_run_that_was_undone_last() {
    let memory = after_a_run();
    let has_link = || json(&memory, "export")["lines"].as_str().unwrap().contains("\"link\"");
    let run = json(&memory, "changes --limit 1")["changes"][0]["run"].as_str().unwrap().to_owned();
    json(&memory, "insert -t 'Written after the run'");
    json(&memory, &format!("'agent undo' {run}"));
    assert!(!has_link());
    let undone = || json(&memory, "undo")["undone"][0].as_str().unwrap().to_owned();
    assert_eq!(undone(), "undo of link `insurance` to `quay-closed` at 0.4");
    assert!(has_link());
    let changes = json(&memory, "changes --limit 2")["changes"].as_array().unwrap().clone();
    let redo: Vec<_> = changes.iter().map(|change| (change["op"].as_str(), change.get("redo"))).collect();
    assert_eq!(redo, [(Some("undo"), Some(&json!(true))), (Some("agent undo"), None)]);
    // The run is in effect again, so the change before its undo is the last one.
    let before = undone();
    assert!(before.starts_with("insert of `written-after-the-run` by manual"), "{before}");
    assert!(has_link());
}

#[test]
fn undo_without_a_number_goes_back_step_by_step_after_an_approval() {
    let memory = with_notes();
    let run = run_agent(&memory, "linker", RunOptions { propose: true, ..options() }).id;
    json(&memory, "insert -t 'Written before the approval'");
    json(&memory, &format!("'agent apply' {run}"));
    let undone = || json(&memory, "undo")["undone"][0].as_str().unwrap().to_owned();
    assert_eq!(undone(), "link `insurance` to `quay-closed` at 0.4");
    let before = undone();
    assert!(before.starts_with("insert of `written-before-the-approval` by manual"), "{before}");
    assert!(!json(&memory, "export")["lines"].as_str().unwrap().contains("\"link\""));
    // No decision about the proposal takes the changes of the agent out of the list.
    let ops = || -> Vec<String> {
        let changes = json(&memory, "changes --agent linker")["changes"].as_array().unwrap().clone();
        changes.iter().map(|change| change["op"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(ops(), ["undo", "agent apply"]);
    for decision in ["reject", "reopen", "reject"] {
        json(&memory, &format!("'agent {decision}' {run}"));
        assert_eq!(ops(), ["undo", "agent apply"], "{decision}");
    }
}

#[test]
fn an_undo_of_replays_says_that_there_is_no_way_back() {
    let op = find("undo").unwrap();
    let show = |changes: Value, final_runs: Value| {
        let answer = json!({
            "undone": ["replay of 3 notes"], "refused": [], "changes": changes, "final_runs": final_runs,
            "undo_within": "all",
        });
        (op.decode)(&answer).unwrap().show(&Terminal::default()).to_string()
    };
    let run = json!(["01a223e066397000800070e456681dd6"]);
    insta::assert_snapshot!(show(json!([]), run.clone()), @r"
    undone: replay of 3 notes
    an undo of replays cannot be reverted: the notes keep their earlier intervals
    ");
    insta::assert_snapshot!(show(json!([7]), run), @r"
    undone: replay of 3 notes
    `poc-memory undo 7` reverts this
    an undo of replays cannot be reverted: the notes keep their earlier intervals
    ");
    assert_eq!(show(json!([7]), json!([])), "undone: replay of 3 notes\n`poc-memory undo 7` reverts this\n");
}

#[test]
fn rejected_proposals_are_counted_as_proposed() {
    let memory = with_notes();
    for (title, body) in [
        ("Tower closed", "The tower of the church stays closed until INC-5822 is settled."),
        ("Stones", "The mason asks who pays for the stones that INC-5822 broke."),
    ] {
        json(&memory, &format!("insert --type episodic --title '{title}' --body '{body}'"));
    }
    let ran = run_agent(&memory, "linker", RunOptions { propose: true, ..options() });
    let proposed = ran.actions.iter().filter(|action| action.state == ActionState::Proposed).count();
    assert!(proposed > 1, "{ran:#?}");
    let line = || {
        let text = text_output(&memory, "night");
        text.lines().find(|line| line.starts_with("linker: 1 run")).unwrap_or_default().to_owned()
    };
    assert_eq!(line(), format!("linker: 1 run visited 5 notes, {proposed} proposed"));
    json(&memory, &format!("'agent reject' {} --only 1", ran.id));
    let linker = json(&memory, "night")["agents"]["linker"].clone();
    assert_eq!((&linker["proposed"], &linker["rejected"]), (&json!(proposed - 1), &json!(1)));
    let counts = format!("{proposed} proposed ({} waiting, 1 rejected)", proposed - 1);
    assert_eq!(line(), format!("linker: 1 run visited 5 notes, {counts}"));
}

#[test]
fn changes_of_an_agent_are_those_of_its_runs_and_the_undos_of_them() {
    let memory = after_a_run();
    let run = json(&memory, "changes --limit 1")["changes"][0].clone();
    assert_eq!((&run["agent"], &run["undone"]), (&json!("linker"), &json!(false)));
    json(&memory, &format!("undo {}", run["run"].as_str().unwrap()));
    json(&memory, "insert -t 'Not of the agent'");
    let changes = json(&memory, "changes --agent linker")["changes"].clone();
    let ops: Vec<_> = changes.as_array().unwrap().iter().map(|change| change["op"].as_str()).collect();
    assert_eq!(ops, [Some("undo"), Some("agent run")]);
    assert_eq!((&changes[1]["undone"], &changes[0]["undone"]), (&json!(true), &json!(false)));
    assert_eq!(changes[0]["agent"], "linker");
    // The undo of the undo belongs to the run as well.
    json(&memory, &format!("undo {}", changes[0]["seq"]));
    let changes = json(&memory, "changes --agent linker")["changes"].clone();
    let undone: Vec<_> =
        changes.as_array().unwrap().iter().map(|change| change["undone"].as_bool()).collect();
    assert_eq!(undone, [Some(false), Some(true), Some(false)]);
    // Another change applies its actions again, and the run can still be undone by its own number.
    let again = json(&memory, &format!("undo {}", changes[2]["seq"]));
    assert_eq!(again["undone"].as_array().unwrap().len(), 1, "{again}");
    let changes = json(&memory, "changes --agent linker")["changes"].clone();
    let undone: Vec<_> =
        changes.as_array().unwrap().iter().map(|change| change["undone"].as_bool()).collect();
    assert_eq!(undone, [Some(false), Some(true), Some(false), Some(true)]);
    assert_eq!(json(&memory, "changes --agent linker --since 30d")["changes"], changes);
    insta::assert_snapshot!(text_output(&memory, "changes --agent nobody"), @r"
    not_found: `agent`: there is no agent `nobody`
    `poc-memory agent list` shows the agents
    ");
}

#[test]
fn proposals_whose_notes_have_changed_are_counted_as_too_late() {
    let memory = with_notes();
    let ran = run_agent(&memory, "linker", RunOptions { propose: true, ..options() });
    assert_eq!(ran.applied_actions().count(), 0, "{ran:#?}");
    let waiting = || json(&memory, "night")["waiting"][0].clone();
    assert_eq!((&waiting()["count"], &waiting()["stale"]), (&json!(1), &json!(null)));
    json(&memory, "insert --key soup --body 'Leek soup needs an hour and a half.' --update");
    assert_eq!(waiting()["stale"], json!(null));
    json(&memory, "insert --key insurance --body 'Nothing is claimed any more.' --update");
    assert_eq!((&waiting()["count"], &waiting()["stale"]), (&json!(1), &json!(1)));
    let text = text_output(&memory, "night");
    assert!(text.contains("linker: 1 proposal, 1 too late to apply: `poc-memory agent review "), "{text}");
}
