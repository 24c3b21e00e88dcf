//! The store changes during calls and before approvals, and agents run concurrently.

use super::world::{FnModel, ScriptedModel, World, agent, draft, edit, handle};
use crate::definition::{Definition, Mode};
use crate::ledger::{Run, Status, StatusReason};
use crate::model::{Model, Request};
use crate::review::approve;
use poc_graph::time::Span;
use poc_notes::supersede;
use poc_notes::{Draft, Memory, insert};
use serde_json::{Value, json};

/// A change of a note.
type Change = fn(&Memory);

fn edited(memory: &Memory) {
    edit(memory, "changed", "Says something else by now.");
}

fn deleted(memory: &Memory) {
    let id = memory.find("changed").unwrap().id;
    memory.store.transact(memory.cause("manual", "delete"), |tx| tx.delete_node(id)).unwrap();
}

fn superseded(memory: &Memory) {
    let id = |key: &str| memory.find(key).unwrap().id;
    let (old, new) = (id("changed"), id("successor"));
    let cause = memory.cause("manual", "supersede");
    memory
        .store
        .transact(cause, |tx| supersede::apply(tx, old, new, "manual", "", &memory.config, memory.now()))
        .unwrap();
}

fn renamed(memory: &Memory) {
    let old = memory.find("changed").unwrap();
    let next =
        Draft { supersedes: Some(old.id), title: Some(old.title), ..draft("called-otherwise", &old.body) };
    insert::insert(memory, next, memory.cause("manual", "insert")).unwrap();
}

const CHANGES: [(&str, Change); 4] =
    [("edited", edited), ("deleted", deleted), ("superseded", superseded), ("renamed", renamed)];

fn world() -> (World, Definition) {
    let world = World::new();
    for (key, body) in [
        ("changed", "The b-tree lost its right sibling."),
        ("one", "Soup was served at noon."),
        ("other", "Quarterly figures disappointed everybody."),
        ("successor", "Violins are tuned in fifths."),
    ] {
        world.note(key, body);
    }
    let definition = agent(
        "\"link-add\", \"weight\", \"insert\", \"supersede\"",
        "[limits.supersede]\nmode = \"apply\"\nmax = 5\n",
    );
    (world, definition)
}

/// Every kind of action, with and without a change of its notes.
fn everything(asked: &Request<'_>) -> Value {
    let name = |key: &str| handle(asked, key);
    let link =
        |from: &str, to: &str| json!({"reason": "", "from": name(from), "to": name(to), "strength": 0.5});
    let weigh = |key: &str| json!({"reason": "", "node": name(key), "delta": 0.1});
    let note = |key: &str, of: &str| json!({"reason": "", "key": key, "title": key, "body": format!("{key} is new."), "keywords": [], "sources": [name(of)]});
    let replace = |old: &str, new: &str| json!({"reason": "", "node": name(old), "by": name(new), "key": "", "title": "", "body": ""});
    json!({"notes": "",
        "link-add": [link("changed", "one"), link("other", "changed"), link("one", "other")],
        "weight": [weigh("changed"), weigh("one")],
        "insert": [note("from-changed", "changed"), note("from-one", "one")],
        "supersede": [replace("changed", "one"), replace("other", "changed"), replace("other", "one")]})
}

#[test]
fn actions_on_notes_changed_during_the_call_are_refused_and_the_rest_applied() {
    for (name, change) in CHANGES {
        let (world, definition) = world();
        let model = FnModel(|asked: &Request<'_>| {
            let answer = everything(asked);
            change(&world.memory);
            answer
        });
        let run = world.run(&definition, &model);
        let found: Vec<&str> =
            run.actions.iter().map(|row| row.refusal_code.as_deref().unwrap_or("applied")).collect();
        let (left, done) = ("changed-since-read", "applied");
        // A note that the same reply supersedes is not a replacement.
        let expected = [left, left, done, left, done, left, done, left, "invalid-value", done];
        assert_eq!(found, expected, "{name}: {:?}", run.actions);
        assert_eq!(run.status, Status::Partial);
        assert!(
            world.memory.find("from-changed").is_err() && world.memory.find("from-one").is_ok(),
            "{name}"
        );
        // The next run reads only changed and new notes.
        let again = ScriptedModel::doing_nothing(&["link-add", "weight", "insert", "supersede"]);
        let next = world.run(&definition, &again);
        assert_eq!(next.visited.len(), usize::from(name == "edited"), "{name}: {next:?}");
    }
}

#[test]
fn proposals_on_notes_changed_meanwhile_are_refused_and_the_rest_applied() {
    for (name, change) in CHANGES {
        let (world, definition) = world();
        let definition = Definition { mode: Mode::Propose, ..definition };
        let run = world.run(
            &definition,
            &FnModel(|asked: &Request<'_>| {
                let mut answer = everything(asked);
                // With both actions, the outcome would depend on their order.
                answer["supersede"].as_array_mut().unwrap().truncate(1);
                answer["insert"].as_array_mut().unwrap().remove(0);
                answer
            }),
        );
        assert_eq!(run.status, Status::Proposed, "{:?}", run.actions);
        world.clock.advance(Span::DAY);
        change(&world.memory);
        let items = approve(&world.memory, run.id, &[]).unwrap();
        let refused: Vec<bool> = items.iter().map(|item| item.refused.is_some()).collect();
        assert_eq!(refused, [true, true, false, true, false, false, true], "{name}: {items:?}");
        let whys = ["was edited since", "was superseded since", "was deleted since"];
        let is_known = |why: &String| whys.iter().any(|known| why.contains(known));
        assert!(items.iter().filter_map(|item| item.refused.as_ref()).all(is_known), "{items:?}");
    }
}

/// Runs two agents in turn until both have nothing to do. Returns the number of runs.
fn in_turn(world: &World, agents: [(&Definition, &dyn Model); 2], max: usize) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    let mut rests = 0;
    for (definition, model) in agents.iter().cycle().take(max) {
        world.clock.advance(Span::MINUTE);
        let run = world.run(definition, *model);
        rests = if run.status == Status::Skipped { rests + 1 } else { 0 };
        if run.status != Status::Skipped {
            runs.push(run);
        }
        if rests == 2 {
            break;
        }
    }
    assert_eq!(rests, 2, "they do not stop: {} runs", runs.len());
    runs
}

fn named(definition: &Definition, name: &str) -> Definition {
    Definition { name: name.into(), ..definition.clone() }
}

#[test]
fn links_and_weights_of_one_agent_trigger_no_run_of_another() {
    let (world, definition) = world();
    let (first, second) = (named(&definition, "first"), named(&definition, "second"));
    let busy = FnModel(|asked: &Request<'_>| {
        let notes: Vec<&str> = asked.selection.selected().map(|one| one.name.as_str()).collect();
        let links: Vec<Value> = notes
            .windows(2)
            .map(|pair| json!({"reason": "", "from": pair[0], "to": pair[1], "strength": 0.5}))
            .collect();
        let weights: Vec<Value> =
            notes.iter().map(|note| json!({"reason": "", "node": note, "delta": 0.1})).collect();
        json!({"notes": "", "link-add": links, "weight": weights, "insert": [], "supersede": []})
    });
    let runs = in_turn(&world, [(&first, &busy), (&second, &busy)], 20);
    assert_eq!(runs.len(), 2, "one each");
    // Each agent reads a person's edit once.
    edited(&world.memory);
    let runs = in_turn(&world, [(&first, &busy), (&second, &busy)], 20);
    assert_eq!(runs.iter().map(|run| run.visited.len()).collect::<Vec<_>>(), [1, 1]);
}

/// Adds the agent's mark to every note that lacks it.
fn marks(mark: &'static str) -> impl Model {
    FnModel(move |asked: &Request<'_>| {
        let open = asked.selection.selected().filter(|one| !one.node.body.contains(mark)).take(5);
        let rewrite = open.map(|one| {
            json!({"reason": "", "node": one.name, "by": "", "key": "", "title": one.node.title,
                "body": format!("{} {mark}", one.node.body)})
        });
        json!({"notes": "", "link-add": [], "weight": [], "insert": [], "supersede": rewrite.collect::<Vec<_>>()})
    })
}

#[test]
fn two_agents_that_overwrite_each_other_stop() {
    let (world, definition) = world();
    let (first, second) = (named(&definition, "first"), named(&definition, "second"));
    let runs = in_turn(&world, [(&first, &marks("(one)")), (&second, &marks("(two)"))], 40);
    // Both agents write each note, and the first one reads it once more.
    assert!(runs.len() <= 6, "{}", runs.len());
    let written: usize = runs.iter().map(|run| run.applied_actions().count()).sum();
    assert_eq!(written, 8);
}

#[test]
fn endless_disagreement_of_two_agents_is_bounded_by_runs_per_day() {
    let (world, mut definition) = world();
    definition.budget.runs_per_day = 5;
    let (first, second) = (named(&definition, "first"), named(&definition, "second"));
    let restless = FnModel(|asked: &Request<'_>| {
        let notes = asked.selection.selected().take(5);
        let again = notes.map(|one| {
            json!({"reason": "", "node": one.name, "by": "", "key": "", "title": one.node.title,
                "body": format!("{}, again by {}", one.node.body, asked.agent)})
        });
        json!({"notes": "", "link-add": [], "weight": [], "insert": [], "supersede": again.collect::<Vec<_>>()})
    });
    let runs = in_turn(&world, [(&first, &restless), (&second, &restless)], 60);
    assert_eq!(runs.len(), 10, "five each");
    let last = world.run(&first, &restless);
    assert_eq!((last.status, last.reason), (Status::Skipped, Some(StatusReason::OverBudget)));
}
