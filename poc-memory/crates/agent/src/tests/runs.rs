//! Runs from claim to row.

mod replies;
mod rows;

use super::world::{ScriptedModel, World, agent, draft, edit, outcomes, parse};
use crate::Definition;
use crate::ledger::{self, Status, StatusReason};
use crate::run::{RunOptions, Trigger, run, run_with, transcript};
use poc_graph::error::Code;
use poc_graph::time::Span;
use poc_graph::{EdgeKind, VisitOutcome};
use poc_notes::Draft;
use poc_notes::link;
use poc_notes::supersede;
use poc_store::Transaction;
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
            "link `btree-split` to `btree-merge` at 0.6: applied",
            "move the weight of `btree-split` by +0.1: applied",
        ]
    );
    let (split, merge) = (id(&world, "btree-split"), id(&world, "btree-merge"));
    let edges = world.memory.store.edges(split).unwrap();
    let made = edges.iter().find(|edge| edge.kind == EdgeKind::Link).unwrap();
    assert_eq!((made.dst, made.strength, made.provenance.as_str()), (merge, 0.6, "agent:tester"));
    assert!((world.weight(split) - 1.1).abs() < 1e-9);
    let visits = world.memory.store.visits(split).unwrap();
    assert_eq!((visits[0].0.as_str(), visits[0].1.outcome), ("tester", VisitOutcome::Modified));
    assert_eq!(ledger::find(&world.memory, &run.id.to_string()).unwrap(), run);
    assert_eq!(transcript(&world.memory, &run).unwrap().unwrap().turns.len(), 1);

    // The agent's own writes do not make the nodes stale.
    world.clock.advance(Span::DAY);
    let second = world.run(&definition, &ScriptedModel::new(Vec::new()));
    assert_eq!((second.status, second.reason), (Status::Skipped, Some(StatusReason::NotStale)));

    // An edit makes only the edited node stale.
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
    assert_eq!(world.run(&definition, &nothing()).reason, Some(StatusReason::NotStale));
    world.clock.advance(Span(Span::WEEK.0 + 1));
    assert_eq!(world.run(&definition, &nothing()).visited.len(), 2);
    let none = parse(&text.replace("type:episodic", "type:weekly")).unwrap();
    assert_eq!(world.run(&none, &nothing()).reason, Some(StatusReason::TooFewResults));

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
    // A note that was superseded is no target, and the mistake is not in the history as a failed run.
    let count = || ledger::rows(&world.memory, None, usize::MAX).unwrap().len();
    let before = count();
    let (old, new) = (id(&world, "btree-merge"), id(&world, "btree-split"));
    let (config, now) = (&world.memory.config, world.memory.now());
    let cause = world.memory.cause("manual", "supersede");
    let apply = |tx: &mut Transaction<'_>| supersede::apply(tx, old, new, "manual", "", config, now);
    world.memory.store.transact(cause, apply).unwrap();
    let error =
        run_with(&world.memory, &definition, &model, Trigger::Manual, &target("btree-merge")).unwrap_err();
    assert_eq!(
        (error.code, error.at.and_then(|at| at.field).as_deref()),
        (Code::InvalidArgument, Some("target"))
    );
    assert_eq!((count(), ledger::state(&world.memory, "tester").unwrap().failures()), (before, 0));
}

#[test]
fn every_refused_action_has_its_reason() {
    let mut world = World::new();
    world.candidates_from(-1.0);
    let definition = two(&world);
    world.draft(Draft {
        provenance: "manual".into(),
        node_type: Some("episodic".into()),
        ..draft("by-hand", "A person wrote of the b-tree and its right sibling.")
    });
    // Candidates that are not results, and not similar enough to be linked automatically.
    for (key, body) in
        [("lunch", "Soup was served at noon."), ("earnings", "Quarterly figures disappointed.")]
    {
        world.draft(draft(key, body));
    }
    let mut definition = Definition { limits: definition.limits.clone(), ..definition };
    definition.limits.link_add_max = 2;
    let seen = parking_lot::Mutex::new(Vec::new());
    let probe = ScriptedModel::doing_nothing(&["link-add", "weight"]).during_call(|request| {
        seen.lock().extend(
            request.selection.handles.iter().map(|handle| (handle.name.clone(), handle.is_selected())),
        );
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
        run.actions.iter().map(|row| row.refusal_code.as_deref().unwrap_or("applied")).collect();
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
            "applied",
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
            "link `btree-split` to `btree-merge` at 0.6: changed-since-read",
            "link `btree-split` to `btree-root` at 0.6: applied",
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
    assert_eq!(run.actions[0].refusal_code.as_deref(), Some("changed-since-read"));
    assert_eq!(run.visited, [id(&world, "btree-split")]);
}

#[test]
fn a_dry_run_and_an_observer_write_no_action() {
    let world = World::new();
    let definition = two(&world);
    let before = (world.graph(), world.memory.store.view().seq);
    let reply = || {
        ScriptedModel::replying(json!({"notes": "", "link-add": [link("N1", "N2")],
            "weight": [{"reason": "matters", "node": "N1", "delta": 0.1}]}))
    };
    let dry = RunOptions { dry_run: true, ..RunOptions::default() };
    let run = run_with(&world.memory, &definition, &reply(), Trigger::Manual, &dry).unwrap();
    assert_eq!((run.status, run.applied_actions().count()), (Status::Ok, 2));
    let changes = run.actions.iter().flat_map(|action| &action.changes);
    let changes: Vec<String> =
        changes.map(|change| format!("{}: {} -> {}", change.field, change.before, change.after)).collect();
    assert_eq!(changes, ["link:  -> btree-split → btree-merge, strength 0.6", "weight: 1.000 -> 1.100",]);
    assert_eq!((world.graph(), world.memory.store.view().seq), before);

    let mut observer = Definition { mode: crate::definition::Mode::Observe, ..definition };
    observer.execution.replay = true;
    let run = world.run(&observer, &reply());
    assert_eq!(
        (run.status, outcomes(&run)),
        (
            Status::Noop,
            vec![
                "link `btree-split` to `btree-merge` at 0.6: observed".into(),
                "move the weight of `btree-split` by +0.1: observed".into(),
            ]
        )
    );
    assert_eq!(world.graph(), before.0);
}

#[test]
fn a_very_long_note_does_not_crowd_out_the_others() {
    let world = World::new();
    let definition = two(&world);
    let own = |key: &str| Draft { node_type: Some("episodic".into()), ..draft(key, "A short text.") };
    world.draft(Draft { title: Some("long ".repeat(60_000)), ..own("giant-title") });
    world.draft(Draft {
        keywords: Some((0..1000).map(|at| format!("{at}{}", "word".repeat(40))).collect()),
        ..own("many-words")
    });
    let model = ScriptedModel::doing_nothing(&["link-add", "weight"]);
    let run = world.run(&definition, &model);
    assert_eq!(
        (run.status, run.selected.len(), run.visited.len()),
        (Status::Noop, 4, 4),
        "{:?}",
        run.message
    );
    let prompt = model.prompts.lock()[0].clone();
    assert!(prompt.contains("N3 is cut") && prompt.contains("N4 is cut") && prompt.len() < 40_000);
}

#[test]
fn the_heuristic_model_is_idempotent() {
    let world = World::new();
    for number in 0..12 {
        world.note(&format!("note-{number}"), &format!("Note {number} of the b-tree and its siblings."));
    }
    world.note("crash", "The crash of Tuesday is INC-412.");
    world.note("cure", "A journal would have prevented INC-412.");
    let definition = agent("\"link-add\", \"weight\"", "");
    let forced = RunOptions { force: true, ..RunOptions::default() };
    let play = || run(&world.memory, &definition, Trigger::Manual, &forced).unwrap();
    assert_eq!(outcomes(&play()), ["link `crash` to `cure` at 0.4: applied"]);
    for _ in 0..9 {
        world.clock.advance(Span::WEEK);
        let again = play();
        assert_eq!((again.status, outcomes(&again)), (Status::Noop, Vec::<String>::new()));
    }
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
fn the_weight_of_a_note_typed_by_hand_moves_within_its_limit() {
    let world = World::new();
    let typed = Draft {
        provenance: "manual".into(),
        node_type: Some("episodic".into()),
        ..draft("by-hand", "A person wrote of the b-tree.")
    };
    let id = world.draft(typed);
    let definition =
        agent("\"link-add\", \"weight\", \"supersede\"", "[limits.supersede]\nmode = \"apply\"\n");
    let weigh = |delta: f64| json!({"reason": "", "node": "N1", "delta": delta});
    let replaced =
        json!({"reason": "", "node": "N1", "by": "", "key": "other", "title": "Other", "body": "Rewritten."});
    let reply =
        json!({"notes": "", "link-add": [], "weight": [weigh(0.5), weigh(-0.2)], "supersede": [replaced]});
    let model = ScriptedModel::replying(reply);
    let row = world.run(&definition, &model);
    assert_eq!(
        outcomes(&row),
        [
            "move the weight of `by-hand` by +0.5: over-limit",
            "move the weight of `by-hand` by -0.2: applied",
            "supersede `by-hand` by a new note \"Other\": protected",
        ]
    );
    assert!((world.weight(id) - 0.8).abs() < 1e-9, "{}", world.weight(id));
    assert!(model.prompts.lock()[0].contains("protected: it may not be superseded"));
    assert_eq!(world.memory.find("by-hand").unwrap().version, 1);
    // The heuristic model does not change the weight, even of a trivial note.
    world.clock.advance(Span(90 * Span::DAY.0));
    let before = world.weight(id);
    let forced = RunOptions { force: true, ..RunOptions::default() };
    run(&world.memory, &definition, Trigger::Manual, &forced).unwrap();
    assert_eq!(world.weight(id), before);
}
