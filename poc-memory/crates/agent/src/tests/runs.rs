//! Runs from claim to row.

use super::world::{ScriptedModel, World, agent, draft, edit, outcomes, parse};
use crate::Definition;
use crate::ledger::{self, Reason, Status};
use crate::model::{CallCost, CallError, CallFailure, Reply};
use crate::run::{RunOptions, Trigger, run, run_with, transcript};
use crate::run_limiter::expect_free;
use poc_graph::error::Code;
use poc_graph::time::{Span, Timestamp};
use poc_graph::{EdgeKind, Trust, VisitOutcome};
use poc_notes::Draft;
use poc_notes::link::{self, Link};
use serde_json::json;

fn two(world: &World) -> Definition {
    world.note("btree-split", "A split of the b-tree lost the right sibling.");
    world.note("btree-merge", "A merge of the b-tree kept a stale right sibling.");
    agent("\"link-add\", \"weight\"", "")
}

fn link(from: &str, to: &str) -> serde_json::Value {
    json!({"reason": "both lose a sibling", "from": from, "to": to, "strength": 0.7})
}

fn id(world: &World, key: &str) -> poc_graph::NodeId {
    world.memory.store.find_key(key).unwrap().unwrap()
}

#[test]
fn a_run_applies_its_actions_and_a_second_one_has_nothing_to_do() {
    let world = World::new();
    let definition = two(&world);
    let reply = json!({"notes": "tied", "link-add": [link("N1", "N2")],
        "weight": [{"reason": "matters", "node": "N1", "delta": 0.1}]});
    let run = world.run(&definition, &ScriptedModel::replying(reply));
    assert_eq!((run.status, run.visited.len(), run.notes.as_str()), (Status::Ok, 2, "tied"));
    assert_eq!(
        outcomes(&run),
        [
            "link `btree-split` to `btree-merge` at 0.7: applied",
            "move the weight of `btree-split` by +0.1: applied",
        ]
    );
    let (split, merge) = (id(&world, "btree-split"), id(&world, "btree-merge"));
    let edges = world.memory.store.edges(split).unwrap();
    let made = edges.iter().find(|edge| edge.kind == EdgeKind::Link).unwrap();
    assert_eq!((made.dst, made.strength, made.provenance.as_str()), (merge, 0.7, "agent:tester"));
    assert!((world.weight(split) - 1.1).abs() < 1e-9);
    let visits = world.memory.store.visits(split).unwrap();
    assert_eq!((visits[0].0.as_str(), visits[0].1.outcome), ("tester", VisitOutcome::Modified));
    assert_eq!(ledger::find(&world.memory, &run.id.to_string()).unwrap(), run);
    assert_eq!(transcript(&world.memory, &run).unwrap().unwrap().turns.len(), 1);

    // The own writes do not make the nodes stale.
    world.clock.advance(Span::DAY);
    let second = world.run(&definition, &ScriptedModel::new(Vec::new()));
    assert_eq!((second.status, second.reason), (Status::Skipped, Some(Reason::NotStale)));

    // An edit makes one node stale, and that one only.
    world.edit("btree-merge", "A merge of the b-tree kept a stale left sibling.");
    let third = world.run(&definition, &ScriptedModel::doing_nothing(&["link-add", "weight"]));
    assert_eq!((third.status, third.visited), (Status::Noop, vec![merge]));
    assert_eq!(ledger::rows(&world.memory, Some("tester"), 10).unwrap().len(), 3);
}

#[test]
fn visits_filtered_by_the_pipeline_count_as_freshness() {
    let world = World::new();
    two(&world);
    let text = "[query]\npipeline = \"all | type:episodic | not-visited:tester,7d\"\n[prompt]\n\
        inline = \"{{ NODES }}\"\nplaceholders = [\"NODES\"]\n[execution]\nmodel = \"default\"\nactions = [\"link-add\"]\n";
    let definition = parse(text).unwrap();
    let nothing = || ScriptedModel::doing_nothing(&["link-add"]);
    assert_eq!(world.run(&definition, &nothing()).status, Status::Noop);
    assert_eq!(world.run(&definition, &nothing()).reason, Some(Reason::NotStale));
    world.clock.advance(Span(Span::WEEK.0 + 1));
    assert_eq!(world.run(&definition, &nothing()).visited.len(), 2);
    let none = parse(&text.replace("type:episodic", "type:weekly")).unwrap();
    assert_eq!(world.run(&none, &nothing()).reason, Some(Reason::TooFewResults));

    let forced = RunOptions { force: true, ..RunOptions::default() };
    let run = run_with(&world.memory, &definition, &nothing(), Trigger::Manual, &forced).unwrap();
    assert_eq!(run.visited.len(), 2);
}

#[test]
fn a_target_is_processed_alone_and_ignores_visits() {
    let world = World::new();
    let definition = two(&world);
    world.run(&definition, &ScriptedModel::doing_nothing(&["link-add", "weight"]));
    let target = |key: &str| RunOptions { target: Some(key.into()), ..RunOptions::default() };
    let model = ScriptedModel::doing_nothing(&["link-add", "weight"]);
    let run = run_with(&world.memory, &definition, &model, Trigger::Manual, &target("btree-split")).unwrap();
    assert_eq!(run.visited, [id(&world, "btree-split")]);
    let error =
        run_with(&world.memory, &definition, &model, Trigger::Manual, &target("nothing")).unwrap_err();
    assert_eq!(error.code, Code::NotFound);
}

#[test]
fn every_refused_action_has_its_reason() {
    let mut world = World::new();
    world.candidates_from(-1.0);
    let definition = two(&world);
    world.draft(poc_notes::Draft {
        provenance: "manual".into(),
        node_type: Some("episodic".into()),
        ..super::world::draft("by-hand", "A person wrote of the b-tree and its right sibling.")
    });
    // Candidates that are no results: too unlike the others to be tied to them already.
    for (key, body) in
        [("lunch", "Soup was served at noon."), ("earnings", "Quarterly figures disappointed.")]
    {
        world.draft(super::world::draft(key, body));
    }
    let mut definition = Definition { limits: definition.limits.clone(), ..definition };
    definition.limits.link_add_max = 2;
    let seen = parking_lot::Mutex::new(Vec::new());
    let probe = ScriptedModel::doing_nothing(&["link-add", "weight"]).during_call(|request| {
        seen.lock()
            .extend(request.selection.handles.iter().map(|handle| (handle.name.clone(), handle.is_chosen())));
    });
    let dry = RunOptions { dry_run: true, ..RunOptions::default() };
    run_with(&world.memory, &definition, &probe, Trigger::Manual, &dry).unwrap();
    drop(probe);
    let outside: Vec<String> =
        seen.into_inner().into_iter().filter(|(_, chosen)| !chosen).map(|(name, _)| name).collect();
    assert!(outside.len() >= 2, "{outside:?}");

    let strength = |strength: f64| json!({"reason": "", "from": "N1", "to": "N2", "strength": strength});
    let weigh = |node: &str, delta: f64| json!({"reason": "", "node": node, "delta": delta});
    let reply = json!({"notes": "",
        "link-add": [link("N1", "N99"), link("N1", "N1"), link(&outside[0], &outside[1]), strength(1.5),
            strength(0.0), link("N1", "N2"), link("N2", "N1"), link("N1", "N3"), link("N2", "N3")],
        "weight": [weigh(&outside[0], 0.1), weigh("N3", 0.1), weigh("N1", 0.5), weigh("N1", 0.0), weigh("N1", -0.1)],
        "supersede": [{"reason": "", "node": "N1", "by": "N2", "key": "", "title": "", "body": ""}]});
    let run = world.run(&definition, &ScriptedModel::replying(reply));
    let reasons: Vec<&str> =
        run.actions.iter().map(|row| row.rejected.as_deref().unwrap_or("applied")).collect();
    assert_eq!(
        reasons,
        [
            "unknown-handle",
            "self-link",
            "out-of-scope",
            "invalid-value",
            "invalid-value",
            "applied",
            "already-present",
            "applied",
            "over-limit",
            "out-of-scope",
            "protected",
            "over-limit",
            "invalid-value",
            "applied",
            "not-permitted",
        ]
    );
    assert_eq!(run.status, Status::Partial);
}

#[test]
fn a_note_edited_during_the_call_is_not_changed() {
    let world = World::new();
    let definition = two(&world);
    world.note("btree-root", "The root of the b-tree was split twice.");
    let reply = json!({"notes": "", "link-add": [link("N1", "N2"), link("N1", "N3")],
        "weight": [{"reason": "", "node": "N2", "delta": 0.1}]});
    let model = ScriptedModel::replying(reply)
        .during_call(|_| edit(&world.memory, "btree-merge", "Edited during the call."));
    let run = world.run(&definition, &model);
    assert_eq!(
        outcomes(&run),
        [
            "link `btree-split` to `btree-merge` at 0.7: changed-since-read",
            "link `btree-split` to `btree-root` at 0.7: applied",
            "move the weight of `btree-merge` by +0.1: changed-since-read",
        ]
    );
    // The visit is of the version that was read, so the edited node is stale again.
    let again = world.run(&definition, &ScriptedModel::doing_nothing(&["link-add", "weight"]));
    assert_eq!(again.visited, [id(&world, "btree-merge")]);
}

#[test]
fn a_node_deleted_during_the_call_is_not_changed_or_visited() {
    let world = World::new();
    let definition = two(&world);
    let merge = id(&world, "btree-merge");
    let reply = json!({"notes": "", "link-add": [link("N1", "N2")], "weight": []});
    let model = ScriptedModel::replying(reply).during_call(|_| {
        let cause = world.memory.cause("manual", "delete");
        world.memory.store.transact(cause, |tx| tx.delete_node(merge)).unwrap();
    });
    let run = world.run(&definition, &model);
    assert_eq!(run.actions[0].rejected.as_deref(), Some("changed-since-read"));
    assert_eq!(run.visited, [id(&world, "btree-split")]);
}

#[test]
fn a_dry_run_and_an_observer_write_no_action() {
    let world = World::new();
    let definition = two(&world);
    let before = (world.graph(), world.memory.store.view().seq);
    let reply =
        || ScriptedModel::replying(json!({"notes": "", "link-add": [link("N1", "N2")], "weight": []}));
    let dry = RunOptions { dry_run: true, ..RunOptions::default() };
    let run = run_with(&world.memory, &definition, &reply(), Trigger::Manual, &dry).unwrap();
    assert_eq!((run.status, run.applied().count()), (Status::Ok, 1));
    assert_eq!((world.graph(), world.memory.store.view().seq), before);

    let mut observer = Definition { mode: crate::definition::Mode::Observe, ..definition };
    observer.execution.replay = true;
    let run = world.run(&observer, &reply());
    assert_eq!(
        (run.status, outcomes(&run)),
        (Status::Noop, vec!["link `btree-split` to `btree-merge` at 0.7: observed".into()])
    );
    assert_eq!(world.graph(), before.0);
}

/// Whatever one note is like, the others are looked at.
#[test]
fn a_very_long_note_does_not_crowd_out_the_others() {
    let world = World::new();
    let definition = two(&world);
    let own = |key: &str| Draft { node_type: Some("episodic".into()), ..draft(key, "A short text.") };
    world.draft(Draft { title: Some("long ".repeat(60_000)), ..own("giant-title") });
    world.draft(Draft {
        keywords: Some((0..20_000).map(|at| format!("word{at}")).collect()),
        ..own("many-words")
    });
    let model = ScriptedModel::doing_nothing(&["link-add", "weight"]);
    let run = world.run(&definition, &model);
    assert_eq!(
        (run.status, run.selected.len(), run.visited.len()),
        (Status::Noop, 4, 2),
        "{:?}",
        run.message
    );
    let prompt = model.prompts.lock()[0].clone();
    assert!(prompt.contains("N3 is cut") && prompt.contains("N4 is cut") && prompt.len() < 40_000);
}

#[test]
fn a_reply_is_accepted_only_as_one_whole_json_object() {
    let good = r#"{"notes": "", "link-add": [], "weight": []}"#;
    let text = |text: &str| Ok(Reply { text: text.into(), ..Reply::default() });
    let check = |replies: Vec<Result<Reply, CallFailure>>| {
        let world = World::new();
        let definition = two(&world);
        let run = world.run(&definition, &ScriptedModel::new(replies));
        (run.status, run.message.unwrap_or_default(), run.visited.len())
    };
    assert_eq!(check(vec![text(good)]).0, Status::Noop);
    assert_eq!(check(vec![text(&format!("Here you are:\n```json\n{good}\n```\nBye."))]).0, Status::Noop);
    let structured =
        Reply { structured: serde_json::from_str(good).ok(), text: "x".into(), ..Reply::default() };
    assert_eq!(check(vec![Ok(structured)]).0, Status::Noop);
    // A note may hold code, also in a fence, whose end need not stand in a line of its own.
    let code = r#"{"notes": "see ```rust\nlet a = 1;\n```", "link-add": [], "weight": []}"#;
    assert_eq!(check(vec![text(&format!("```\n{code}\n```"))]).0, Status::Noop);
    assert_eq!(check(vec![text(&format!("So:\n```json\n{code}```"))]).0, Status::Noop);
    // One correction turn, then it fails, and nothing counts as visited.
    assert_eq!(check(vec![text("I would link N1 to N2."), text(good)]).0, Status::Noop);
    let wrong = r#"{"notes": 3, "link-add": [{"from": "N1", "to": 2}], "extra": []}"#;
    let (status, message, visited) = check(vec![text("no"), text(wrong)]);
    assert_eq!((status, visited), (Status::Failed, 0));
    insta::assert_snapshot!(message, @"the reply is no answer: `notes` is not text; `link-add[0].to`: invalid type: integer `2`, expected a string; `weight` is missing; give [] for none; `extra` is not a field of the answer");
    let (status, message, _) = check(vec![Err(CallError::TimedOut(Span::MINUTE).into())]);
    assert_eq!((status, message.as_str()), (Status::TimedOut, "no answer within 1m"));
    assert_eq!(check(vec![Err(CallError::Refused("no".into()).into())]).0, Status::Failed);
}

#[test]
fn a_correction_turn_lists_the_problems() {
    let world = World::new();
    let definition = two(&world);
    let told = parking_lot::Mutex::new(Vec::new());
    let read = |tokens| vec![CallCost { tokens_in: Some(tokens), ..CallCost::default() }];
    let model = ScriptedModel::new(vec![
        Ok(Reply { text: "no".into(), spent: read(5), ..Reply::default() }),
        Ok(Reply {
            text: r#"{"notes": "", "link-add": [], "weight": []}"#.into(),
            spent: read(6),
            ..Reply::default()
        }),
    ])
    .during_call(|request| told.lock().extend(request.corrections.to_vec()));
    let run = world.run(&definition, &model);
    assert_eq!(run.tokens_in, Some(11));
    drop(model);
    let (reply, correction) = told.into_inner().remove(0);
    assert_eq!(reply, "no");
    assert!(correction.contains("not one JSON object"), "{correction}");
}

#[test]
fn a_failed_run_records_the_cost_of_its_calls() {
    let world = World::new();
    let definition = two(&world);
    let took = |cost| vec![CallCost { cost: Some(cost), tokens_out: Some(3), ..CallCost::default() }];
    let model = ScriptedModel::new(vec![
        Ok(Reply { text: "no".into(), spent: took(0.5), ..Reply::default() }),
        Err(CallFailure { error: CallError::Refused("no".into()), spent: took(0.25) }),
    ]);
    let run = world.run(&definition, &model);
    assert_eq!(
        (run.status, run.cost, run.tokens_out, run.calls.len()),
        (Status::Failed, Some(0.75), Some(6), 2)
    );
    let state = crate::ledger::state(&world.memory, "tester").unwrap();
    let day = run.started.0 - run.started.0 % Span::DAY.0;
    assert_eq!(state.spent(Timestamp(day), Timestamp(day + Span::DAY.0)), (1, 0.75));
}

#[test]
fn a_slot_runs_once_and_a_late_reply_is_discarded() {
    let world = World::new();
    let definition = two(&world);
    let slot = Trigger::Slot(world.memory.now());
    let nothing = ScriptedModel::doing_nothing(&["link-add", "weight"]);
    run_with(&world.memory, &definition, &nothing, slot, &RunOptions::default()).unwrap();
    let error = run_with(&world.memory, &definition, &nothing, slot, &RunOptions::default()).unwrap_err();
    assert_eq!(error.code, Code::Conflict);

    let before = world.graph();
    let late = ScriptedModel::replying(json!({"notes": "", "link-add": [link("N1", "N2")], "weight": []}))
        .during_call(|_| {
            // While it runs a second one is refused, and then somebody ends it.
            let (unused, manual) = (ScriptedModel::new(Vec::new()), Trigger::Manual);
            let second = run_with(&world.memory, &definition, &unused, manual, &RunOptions::default());
            let told = second.unwrap_err();
            assert_eq!((told.code, told.message.as_str()), (Code::Conflict, "`tester` is running already"));
            let told = expect_free(&world.memory, "tester").unwrap_err();
            assert!(
                told.message
                    .starts_with("`tester` is running already, since 2026-11-21T08:00:00.000Z (run `")
            );
            ledger::abandon(&world.memory, |_| true, Status::Interrupted, "stopped").unwrap();
        });
    let forced = RunOptions { force: true, ..RunOptions::default() };
    let error = run_with(&world.memory, &definition, &late, Trigger::Manual, &forced).unwrap_err();
    assert_eq!(error.code, Code::Conflict);
    assert_eq!(world.graph(), before);
}

#[test]
fn a_run_of_a_dead_process_is_marked_interrupted() {
    let world = World::new();
    let definition = two(&world);
    let row = ledger::Run::claimed(&world.memory, "tester", None);
    ledger::claim(&world.memory, row).unwrap();
    // Another boot: the old process is gone.
    world.clock.advance(Span::MINUTE);
    let mut world = world.reopen();
    let since = |world: &World| {
        let state = ledger::state(&world.memory, "tester").unwrap();
        ledger::running_since(&world.memory, "tester", &state).unwrap()
    };
    let [row] = ledger::rows(&world.memory, Some("tester"), 10).unwrap().try_into().unwrap();
    world.memory.boot.clone_from(&row.boot);
    assert_eq!(
        (since(&world), ledger::with_current_status(&world.memory, row.clone()).status),
        (Some(row.started), Status::Running)
    );
    world.memory.boot = "another".into();
    // It is told so before anybody has written it down.
    assert_eq!(
        (since(&world), ledger::with_current_status(&world.memory, row).status),
        (None, Status::Interrupted)
    );
    let run = world.run(&definition, &ScriptedModel::doing_nothing(&["link-add", "weight"]));
    assert_eq!(run.status, Status::Noop);
    let rows = ledger::rows(&world.memory, Some("tester"), 10).unwrap();
    assert_eq!(rows.iter().map(|run| run.status).collect::<Vec<_>>(), [Status::Noop, Status::Interrupted]);
}

#[test]
fn the_heuristic_model_is_idempotent() {
    let world = World::new();
    for number in 0..12 {
        world.note(&format!("note-{number}"), &format!("Note {number} of the b-tree and its siblings."));
    }
    let now = world.memory.now();
    let hub = world.memory.find("note-0").unwrap().id;
    for number in 1..12 {
        let dst = world.memory.find(&format!("note-{number}")).unwrap().id;
        let (reason, provenance) = (String::new(), "manual".to_owned());
        let link = Link { src: hub, dst, kind: EdgeKind::Link, strength: 0.6, reason, provenance };
        let cause = world.memory.cause("manual", "link");
        world.memory.store.transact(cause, |tx| link::add(tx, &link, now)).unwrap();
    }
    let definition = agent("\"link-add\", \"weight\"", "");
    let forced = RunOptions { force: true, ..RunOptions::default() };
    let play = || run(&world.memory, &definition, Trigger::Manual, &forced).unwrap();
    let first = play();
    assert!(
        outcomes(&first).contains(&"move the weight of `note-0` by +0.1: applied".to_owned()),
        "{:?}",
        outcomes(&first)
    );
    for _ in 0..4 {
        world.clock.advance(Span::WEEK);
        let again = play();
        assert_eq!((again.status, outcomes(&again)), (Status::Noop, Vec::<String>::new()));
    }
    // A month later it may gain again.
    world.clock.advance(Span::WEEK);
    assert_eq!(play().status, Status::Ok);
}

#[test]
fn new_notes_are_trusted_no_more_than_the_notes_read() {
    let mut world = World::new();
    two(&world);
    world.draft(poc_notes::Draft {
        trust: Trust::External,
        node_type: Some("episodic".into()),
        ..super::world::draft("from-outside", "Somebody else wrote of the b-tree.")
    });
    let definition = agent("\"insert\"", "");
    let reply = json!({"notes": "", "insert": [{"reason": "recurs", "key": "btree-siblings", "title": "Siblings get lost",
        "body": "Every change of the tree loses siblings.", "keywords": ["btree"], "links": ["N1", "N2"]}]});
    let run = world.run(&definition, &ScriptedModel::replying(reply));
    assert_eq!(outcomes(&run), ["insert \"Siblings get lost\": applied"]);
    let node = world.memory.store.node(id(&world, "btree-siblings")).unwrap().unwrap();
    assert_eq!((node.trust, node.provenance.as_str()), (Trust::External, "agent:tester"));
    let links = world.memory.store.edges(node.id).unwrap();
    assert_eq!(links.iter().filter(|edge| edge.kind == EdgeKind::Link).count(), 2);

    // Neither than what the template asked for.
    let mut definition = agent("\"insert\"", "");
    definition.prompt.text.push_str("{{ node(key=\"from-outside\") }}");
    let only = RunOptions { target: Some("btree-merge".into()), ..RunOptions::default() };
    let reply = json!({"notes": "", "insert": [{"reason": "", "key": "again", "title": "Again", "body": "Once more.",
        "keywords": [], "links": []}]});
    world.config().agents.candidates = 0;
    run_with(&world.memory, &definition, &ScriptedModel::replying(reply), Trigger::Manual, &only).unwrap();
    assert_eq!(world.memory.store.node(id(&world, "again")).unwrap().unwrap().trust, Trust::External);
}

#[test]
fn a_replay_moves_a_note_to_the_next_interval() {
    let world = World::new();
    let note = world.note("once", "A thing to remember.");
    let mut definition = agent("\"link-add\"", "");
    definition.execution.replay = true;
    let mut intervals = Vec::new();
    for _ in 0..7 {
        let forced = RunOptions { force: true, ..RunOptions::default() };
        let nothing = ScriptedModel::doing_nothing(&["link-add"]);
        run_with(&world.memory, &definition, &nothing, Trigger::Manual, &forced).unwrap();
        let activity = world.memory.store.activity(note).unwrap().unwrap();
        assert_eq!(activity.replayed, Some(world.memory.now()));
        intervals.push(activity.replay_interval);
        world.clock.advance(Span::DAY);
    }
    assert_eq!(intervals, [1, 3, 7, 14, 30, 30, 30]);
}

#[test]
fn rows_and_transcripts_beyond_the_limit_are_pruned() {
    let mut world = World::new();
    world.config().agents.keep_rows = 3;
    world.config().agents.keep_bodies = 2;
    let definition = two(&world);
    let forced = RunOptions { force: true, ..RunOptions::default() };
    let mut runs = Vec::new();
    for _ in 0..5 {
        world.clock.advance(Span::MINUTE);
        let (nothing, slot) =
            (ScriptedModel::doing_nothing(&["link-add", "weight"]), Trigger::Slot(world.memory.now()));
        runs.push(run_with(&world.memory, &definition, &nothing, slot, &forced).unwrap());
    }
    let rows = ledger::rows(&world.memory, None, 10).unwrap();
    assert_eq!(rows.iter().map(|run| run.id).collect::<Vec<_>>(), [runs[4].id, runs[3].id, runs[2].id]);
    // Its slot is known without its row.
    let slot = Trigger::Slot(runs[0].scheduled_at.unwrap());
    let again =
        run_with(&world.memory, &definition, &ScriptedModel::new(Vec::new()), slot, &forced).unwrap_err();
    assert_eq!(again.code, Code::Conflict);
    let kept: Vec<bool> = runs.iter().map(|run| transcript(&world.memory, run).unwrap().is_some()).collect();
    assert_eq!(kept, [false, false, false, true, true]);
}

#[test]
fn a_run_that_panics_fails_and_does_not_block_its_agent() {
    let world = World::new();
    let definition = two(&world);
    let broken = ScriptedModel::new(Vec::new()).during_call(|_| panic!("out of range"));
    let error =
        run_with(&world.memory, &definition, &broken, Trigger::Manual, &RunOptions::default()).unwrap_err();
    assert_eq!(error.message, "a defect ended the run: out of range");
    let row = ledger::rows(&world.memory, Some("tester"), 1).unwrap().remove(0);
    assert_eq!((row.status, row.message), (Status::Failed, Some(error.line())));
    assert_eq!(
        world.run(&definition, &ScriptedModel::doing_nothing(&["link-add", "weight"])).status,
        Status::Noop
    );
}

#[test]
fn a_running_row_is_never_pruned() {
    let mut world = World::new();
    world.config().agents.keep_rows = 2;
    let running = ledger::claim(&world.memory, ledger::Run::claimed(&world.memory, "tester", None)).unwrap();
    for hour in 1..6 {
        let slot = world.memory.now().plus(Span(hour * Span::HOUR.0));
        let reason = Some(Reason::Overlap);
        let outcome = ledger::RowOutcome { status: Status::Skipped, reason, message: None };
        ledger::record_unrun(&world.memory, "tester", Trigger::Slot(slot), outcome).unwrap();
    }
    let rows = ledger::rows(&world.memory, Some("tester"), 10).unwrap();
    assert_eq!((rows.len(), ledger::running(&world.memory).unwrap()), (2, vec![running]));
}

#[test]
fn nodes_missing_from_the_prompt_are_not_visited() {
    let world = World::new();
    two(&world);
    let text = "[query]\npipeline = \"all\"\n[prompt]\ninline = \"{{ TOPOLOGY }}\"\n\
        placeholders = [\"TOPOLOGY\"]\n[execution]\nmodel = \"default\"\nactions = [\"link-add\"]\n";
    let definition = parse(text).unwrap();
    assert!(world.run(&definition, &ScriptedModel::doing_nothing(&["link-add"])).visited.is_empty());
    assert_eq!(definition.warnings().len(), 1);
}

#[test]
fn long_model_texts_are_truncated_in_rows() {
    let world = World::new();
    let definition = two(&world);
    let long = "word ".repeat(100_000);
    let run = world.run(
        &definition,
        &ScriptedModel::replying(json!({"notes": long,
        "link-add": [{"reason": long, "from": "N1", "to": "N2", "strength": 0.5},
            {"reason": "", "from": long, "to": "N2", "strength": 0.5}], "weight": []})),
    );
    assert_eq!(run.applied().count(), 1);
    assert!(format!("{run:?}").len() < 20_000);
    let edges = world.memory.store.edges(id(&world, "btree-split")).unwrap();
    assert!(edges.iter().all(|edge| edge.reason.len() < 10_000));
}
