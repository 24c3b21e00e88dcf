//! Facts that an agent drew from earlier messages are shown beside a message that contradicts them.

use super::world::{FnModel, World, draft, handle};
use crate::ledger::Status;
use crate::model::{Heuristic, Model, Request};
use crate::run::{RunOptions, Trigger, run_with};
use crate::selection::Handle;
use crate::undo::undo_since;
use crate::{Catalog, Definition, review};
use parking_lot::Mutex;
use poc_graph::time::{Span, Timestamp};
use poc_graph::{EdgeKind, NodeId, State};
use poc_notes::Draft;
use serde_json::{Value, json};

const KNOWN: &str = "ann-home";

fn message(world: &World, key: &str, body: &str) -> NodeId {
    world.draft(Draft { node_type: Some("episodic".into()), title: None, ..draft(key, body) })
}

/// The agent `facts`.
fn facts(world: &World) -> Definition {
    bundled(world, "facts")
}

fn bundled(world: &World, agent: &str) -> Definition {
    (**Catalog::load(&world.memory).unwrap().get(agent).unwrap()).clone()
}

/// The agent `facts`, and a message with a fact that was drawn from it.
fn with_a_fact() -> (World, Definition) {
    let mut world = World::new();
    world.candidates_from(-1.0);
    let definition = facts(&world);
    message(&world, "porto", "Ann: we like it here in Porto, and the bridge is close.");
    let model = FnModel(|request: &Request<'_>| {
        json!({"notes": "", "insert": [{"reason": "", "key": KNOWN, "title": "Ann has her home in Porto near the Douro.",
            "body": "", "keywords": [], "sources": [handle(request, "porto")]}]})
    });
    let run = world.run(&definition, &model);
    assert_eq!((run.status, run.applied_actions().count()), (Status::Ok, 1), "{run:#?}");
    world.clock.advance(Span::DAY);
    (world, definition)
}

fn sources(world: &World, id: NodeId) -> Vec<NodeId> {
    let edges = world.memory.store.edges(id).unwrap();
    edges
        .iter()
        .filter(|edge| edge.kind == EdgeKind::DerivedFrom && edge.src == id)
        .map(|edge| edge.dst)
        .collect()
}

#[test]
fn a_fact_that_is_no_longer_true_gets_a_successor_that_leads_to_the_new_message() {
    let (world, definition) = with_a_fact();
    let lisbon = message(&world, "lisbon", "Ann: the move to Lisbon is done, I can see the river.");
    let prompts = Mutex::new(String::new());
    let model = FnModel(|request: &Request<'_>| -> Value {
        *prompts.lock() = request.prompt.to_owned();
        json!({"notes": "", "supersede": [{"reason": "Ann has moved", "node": handle(request, KNOWN), "by": "",
            "key": "", "title": "Ann has her home in Lisbon.", "body": "", "sources": [handle(request, "lisbon")]}]})
    });
    let run = world.run(&definition, &model);
    let prompt = prompts.lock().clone();
    assert!(!prompt.contains("key: porto"), "{prompt}");
    assert!(
        prompt.contains(
            "(from other notes, the latest of 2026-11-21): Ann has her home in Porto near the Douro."
        ),
        "{prompt}"
    );
    assert_eq!(run.status, Status::Proposed, "{run:#?}");
    let decided = review::approve(&world.memory, run.id, &[]).unwrap();
    assert!(decided.iter().all(|item| item.refused.is_none()), "{decided:#?}");

    let [old, new] = [KNOWN, "ann-has-her-home-in-lisbon"].map(|key| world.memory.find(key).unwrap());
    assert_eq!([old.state, new.state], [State::Superseded, State::Active]);
    assert_eq!(sources(&world, new.id), [lisbon]);
}

/// A reply that states this fact about a message.
fn states(request: &Request<'_>, title: &str, source: &str) -> Value {
    let source = handle(request, source);
    json!({"reason": "", "key": "", "title": title, "body": "", "keywords": [], "sources": [source]})
}

#[test]
fn a_fact_that_is_known_from_another_message_is_refused() {
    let (world, definition) = with_a_fact();
    message(&world, "douro", "Ann: I see the Douro from my new home again.");
    let model = FnModel(|request: &Request<'_>| {
        let titles = [
            "Ann has her home in Porto near the Douro!",
            "Ann has her home in Porto near the Douro.",
            "Ann has her home in Braga near the Douro.",
        ];
        json!({"notes": "", "insert": titles.map(|title| states(request, title, "douro"))})
    });
    let run = world.run(&definition, &model);
    assert_eq!(run.applied_actions().count(), 1, "{run:#?}");
    for refused in &run.actions[..2] {
        assert_eq!(refused.refusal_code.as_deref(), Some("already-present"), "{run:#?}");
        assert!(refused.detail.as_ref().is_some_and(|why| why.contains("`ann-home`")), "{run:#?}");
    }
}

#[test]
fn a_reply_states_a_fact_only_once_for_two_messages() {
    let world = World::new();
    let definition = facts(&world);
    message(&world, "porto", "Ann: we like it here in Porto, and the bridge is close.");
    message(&world, "douro", "Ann: I see the Douro from my new home again.");
    let model = FnModel(|request: &Request<'_>| {
        let first = states(request, "Ann has her home in Porto near the Douro.", "porto");
        let second = states(request, "Ann has her home in Porto, near the Douro!", "douro");
        json!({"notes": "", "insert": [first, second]})
    });
    let run = world.run(&definition, &model);
    assert_eq!(run.applied_actions().count(), 1, "{run:#?}");
    assert_eq!(run.actions[1].refusal_code.as_deref(), Some("already-present"), "{run:#?}");
}

#[test]
fn the_replacement_of_a_stale_fact_can_be_approved() {
    let (world, definition) = with_a_fact();
    world.edit("porto", "Ann: we like it here in Gaia, and the bridge is close.");
    let model = FnModel(|request: &Request<'_>| {
        assert!(request.prompt.contains("(from N1, changed since): Ann has her home"), "{}", request.prompt);
        json!({"notes": "", "supersede": [{"reason": "", "node": handle(request, KNOWN), "by": "", "key": "",
            "title": "Ann has her home in Gaia.", "body": ""}]})
    });
    let run = world.run(&definition, &model);
    assert_eq!(run.status, Status::Proposed, "{run:#?}");
    assert_eq!(world.memory.find(KNOWN).unwrap().state, State::Stale);
    let decided = review::approve(&world.memory, run.id, &[]).unwrap();
    assert!(decided.iter().all(|item| item.refused.is_none()), "{decided:#?}");
    let [old, new] = [KNOWN, "ann-has-her-home-in-gaia"].map(|key| world.memory.find(key).unwrap());
    assert_eq!([old.state, new.state], [State::Superseded, State::Active]);
    assert_eq!(sources(&world, new.id), [world.memory.find("porto").unwrap().id]);
}

#[test]
fn a_proposal_for_a_stale_fact_outlasts_later_runs() {
    let (world, definition) = with_a_fact();
    world.edit("porto", "Ann: we like it here in Gaia, and the bridge is close.");
    let model = FnModel(|request: &Request<'_>| {
        json!({"notes": "", "supersede": [{"reason": "", "node": handle(request, KNOWN), "by": "", "key": "",
            "title": "Ann has her home in Gaia.", "body": ""}]})
    });
    let proposed = world.run(&definition, &model);
    assert_eq!(proposed.status, Status::Proposed, "{proposed:#?}");
    // Another run repeats the proposal, and one says nothing about the fact.
    let again = |model: &dyn Model| {
        let options = RunOptions { target: Some("porto".into()), ..RunOptions::default() };
        run_with(&world.memory, &definition, model, Trigger::Manual, &options).unwrap()
    };
    let repeated = again(&model);
    assert_eq!(repeated.actions[0].refusal_code.as_deref(), Some("already-present"), "{repeated:#?}");
    again(&FnModel(|_: &Request<'_>| json!({"notes": ""})));
    assert_eq!(world.memory.find(KNOWN).unwrap().state, State::Stale);
    let decided = review::approve(&world.memory, proposed.id, &[]).unwrap();
    assert!(!decided.is_empty() && decided.iter().all(|item| item.refused.is_none()), "{decided:#?}");
    assert_eq!(world.memory.find(KNOWN).unwrap().state, State::Superseded);
}

#[test]
fn a_fact_that_its_source_no_longer_states_is_replaced_by_the_source() {
    let (world, definition) = with_a_fact();
    world.edit("porto", "Ann: nothing new here.");
    let model = FnModel(|request: &Request<'_>| {
        json!({"notes": "", "supersede": [{"reason": "", "node": handle(request, KNOWN),
            "by": handle(request, "porto"), "key": "", "title": "", "body": "", "sources": []}]})
    });
    let run = world.run(&definition, &model);
    let decided = review::approve(&world.memory, run.id, &[]).unwrap();
    assert!(!decided.is_empty() && decided.iter().all(|item| item.refused.is_none()), "{decided:#?}");
    assert_eq!(world.memory.find(KNOWN).unwrap().state, State::Superseded);
    // The message is derived from nothing, so it stays a hit of its own.
    assert_eq!(sources(&world, world.memory.find("porto").unwrap().id), []);
}

#[test]
fn a_fact_is_undone_after_its_source_was_edited() {
    let (world, _) = with_a_fact();
    world.edit("porto", "Ann: we like it here in Gaia, and the bridge is close.");
    assert_eq!(world.memory.find(KNOWN).unwrap().state, State::Stale);
    for (_, report) in undo_since(&world.memory, Timestamp::EARLIEST, None).unwrap() {
        assert!(report.items.iter().all(|item| item.refused.is_none()), "{report:#?}");
    }
    assert!(world.memory.find(KNOWN).is_err());
}

#[test]
fn a_replacement_needs_as_many_sources_as_a_new_note() {
    let (world, mut definition) = with_a_fact();
    definition.limits.insert_min_sources = 2;
    message(&world, "lisbon", "Ann: the move to Lisbon is done, I can see the river.");
    let model = FnModel(|request: &Request<'_>| {
        json!({"notes": "", "supersede": [{"reason": "Ann has moved", "node": handle(request, KNOWN), "by": "",
            "key": "", "title": "Ann has her home in Lisbon.", "body": "", "sources": [handle(request, "lisbon")]}]})
    });
    let run = world.run(&definition, &model);
    assert_eq!(run.actions[0].refusal_code.as_deref(), Some("invalid-value"), "{run:#?}");
    assert_eq!(world.memory.find(KNOWN).unwrap().state, State::Active);
}

#[test]
fn a_model_with_a_short_context_sees_fewer_known_facts() {
    let mut world = World::new();
    world.candidates_from(-1.0);
    let definition = facts(&world);
    for town in ["Porto", "Lisbon", "Faro", "Braga"] {
        message(&world, town, &format!("Ann: we like it in {town}, as always."));
    }
    let model = FnModel(|request: &Request<'_>| {
        let fact = |handle: &Handle| {
            let title = format!("Ann has friends near the bridge of {}.", handle.node.key);
            json!({"reason": "", "key": "", "title": title, "body": "", "keywords": [], "sources": [handle.name]})
        };
        json!({"notes": "", "insert": request.selection.selected().map(fact).collect::<Vec<_>>()})
    });
    assert_eq!(world.run(&definition, &model).applied_actions().count(), 4);
    world.clock.advance(Span::DAY);
    message(&world, "evora", "Ann: the trip to Evora is booked.");
    for (context, expected) in [(None, 3), (Some(16_384), 2)] {
        world.config().models.get_mut("default").unwrap().context = context;
        let known = Mutex::new(0);
        let model = FnModel(|request: &Request<'_>| {
            *known.lock() = request.prompt.matches("(from other notes").count();
            json!({"notes": ""})
        });
        let options = RunOptions { target: Some("evora".into()), ..RunOptions::default() };
        run_with(&world.memory, &definition, &model, Trigger::Manual, &options).unwrap();
        assert_eq!(*known.lock(), expected, "{context:?}");
    }
}

#[test]
fn only_an_agent_that_inserts_quotations_is_shown_them() {
    let (mut world, facts) = with_a_fact();
    let quotations = bundled(&world, "quotations");
    world.draft(Draft {
        node_type: Some("episodic".into()),
        title: None,
        author: Some("Ann".into()),
        ..draft("douro", "Hey! Long time no see. I see the Douro from my new home again.")
    });
    let heuristic = Heuristic::new(&world.memory.config).unwrap();
    let run = world.run(&quotations, &heuristic);
    assert_eq!(run.applied_actions().count(), 1, "{run:#?}");
    world.clock.advance(Span::DAY);
    message(&world, "lisbon", "Ann: the move to Lisbon is done, I can see the river.");

    // The message with the quotation, and one that resembles it, which does not need the quotation.
    let shown = |world: &World, definition: &Definition| {
        ["douro", "lisbon"].map(|key| {
            let known = Mutex::new(Vec::new());
            let model = FnModel(|request: &Request<'_>| {
                let derived = request.selection.handles.iter().filter(|handle| handle.is_derived);
                *known.lock() = derived.map(|handle| handle.node.text()).collect();
                json!({"notes": ""})
            });
            let options = RunOptions { target: Some(key.into()), ..RunOptions::default() };
            run_with(&world.memory, definition, &model, Trigger::Manual, &options).unwrap();
            known.into_inner()
        })
    };
    let quotation = "“I see the Douro from my new home again.”";
    // The same with a language model, and for a quotation whose message has changed.
    for changes in [false, true] {
        if changes {
            world.edit("douro", "Hey! Long time no see.");
            for model in ["default", "heuristic"] {
                world.config().models.get_mut(model).unwrap().provider = "anthropic".into();
            }
        }
        let [douro, lisbon] = shown(&world, &quotations);
        assert_eq!(douro.iter().filter(|text| text.ends_with(quotation)).count(), 1, "{douro:?}");
        assert!(lisbon.iter().all(|text| !text.ends_with(quotation)), "{lisbon:?}");
        for known in shown(&world, &facts) {
            assert_eq!(known.len(), 1, "{known:?}");
            assert!(known[0].starts_with("Ann has her home in Porto"), "{known:?}");
        }
    }
}

/// A model that writes these notes about `lisbon`, each with a key, a title and a body.
fn writes<'a>(notes: &'a [(&'a str, &'a str, &'a str)]) -> impl Model + 'a {
    FnModel(move |request: &Request<'_>| {
        let source = handle(request, "lisbon");
        let row = |&(key, title, body): &(&str, &str, &str)| {
            json!({"reason": "", "key": key, "title": title, "body": body, "keywords": [],
                "sources": [source]})
        };
        json!({"notes": "", "insert": notes.iter().map(row).collect::<Vec<_>>()})
    })
}

const LISBON: &str = "Ann: the move to Lisbon is done, I can see the river.";

#[test]
fn an_agent_for_quotations_inserts_only_text_of_a_source() {
    let world = World::new();
    let quotations = bundled(&world, "quotations");
    message(&world, "lisbon", LISBON);
    let (title, body) = ("Ann, 1 May 2026", "“the move to Lisbon is done … I can see the river.”");
    let key = poc_graph::quotation_key("Ann, 2 May 2026", body);
    let river = "“I can see the river.”";
    let notes = [
        ("", title, "“I live in Rome.”"),
        ("", title, "I can see the river."),
        ("", title, "“ … ”"),
        ("", "Ann can see the river.", ""),
        ("ann-sees-the-river", title, river),
        ("", title, body),
        (key.as_str(), title, river),
    ];
    let run = world.run(&quotations, &writes(&notes));
    let codes: Vec<_> = run.actions.iter().map(|action| action.refusal_code.as_deref()).collect();
    let refused = Some("invalid-value");
    assert_eq!(codes, [refused, refused, refused, refused, refused, None, None], "{run:#?}");
    assert_eq!(world.memory.find(&poc_graph::quotation_key(title, body)).unwrap().body, body);
    assert_eq!(world.memory.find(&key).unwrap().body, river);
}

#[test]
fn an_agent_for_quotations_replaces_a_note_only_by_another_one() {
    let (world, _) = with_a_fact();
    let quotations = bundled(&world, "quotations");
    let replies = [
        json!({"reason": "", "key": "", "title": "Ann has her home in Rome.", "body": "", "by": ""}),
        json!({"reason": "", "key": "rome", "title": "", "body": "", "by": ""}),
        json!({"reason": "", "key": "", "title": "", "body": "", "by": "porto"}),
    ];
    for (row, code) in replies.into_iter().zip([Some("invalid-value"), Some("invalid-value"), None]) {
        let model = FnModel(|request: &Request<'_>| {
            let mut row = row.clone();
            row["node"] = json!(handle(request, KNOWN));
            if row["by"] != "" {
                row["by"] = json!(handle(request, "porto"));
            }
            json!({"notes": "", "supersede": [row]})
        });
        let options = RunOptions { target: Some("porto".into()), ..RunOptions::default() };
        let run = run_with(&world.memory, &quotations, &model, Trigger::Manual, &options).unwrap();
        assert_eq!(run.actions[0].refusal_code.as_deref(), code, "{run:#?}");
    }
}

#[test]
fn other_agents_insert_no_quotations() {
    let (world, definition) = with_a_fact();
    message(&world, "lisbon", LISBON);
    let body = "“I can see the river.”";
    let key = poc_graph::quotation_key("Ann, 1 May 2026", body);
    let notes = [
        (key.as_str(), "Ann, 1 May 2026", body),
        // A key that is made of the title.
        ("", "Quote 0123456789ab of Ann", body),
        ("", "Ann sees the river from her new home in Lisbon.", ""),
    ];
    let run = world.run(&definition, &writes(&notes));
    let codes: Vec<_> = run.actions.iter().map(|action| action.refusal_code.as_deref()).collect();
    assert_eq!(codes, [Some("invalid-value"), Some("invalid-value"), None], "{run:#?}");
    for (key, title) in [(key.as_str(), "Ann has her home in Rome."), ("", "Quote 0123456789ab")] {
        let model = FnModel(|request: &Request<'_>| {
            json!({"notes": "", "supersede": [{"reason": "", "by": "", "node": handle(request, KNOWN), "key": key,
                "title": title, "body": "", "sources": [handle(request, "porto")]}]})
        });
        let options = RunOptions { target: Some("porto".into()), ..RunOptions::default() };
        let run = run_with(&world.memory, &definition, &model, Trigger::Manual, &options).unwrap();
        assert_eq!(run.actions[0].refusal_code.as_deref(), Some("invalid-value"), "{run:#?}");
    }
}

#[test]
fn a_stale_fact_stays_stale_until_its_source_is_shown() {
    let (world, definition) = with_a_fact();
    message(&world, "lisbon", "Ann: the move to Lisbon is done, I can see the river.");
    world.edit("porto", "Ann: we like it here in Gaia, and the bridge is close.");
    let state = || world.memory.find(KNOWN).unwrap().state;
    assert_eq!(state(), State::Stale);
    let model = FnModel(|_: &Request<'_>| json!({"notes": ""}));
    let read = |key: &str| {
        let options = RunOptions { target: Some(key.into()), ..RunOptions::default() };
        run_with(&world.memory, &definition, &model, Trigger::Manual, &options).unwrap()
    };
    read("lisbon");
    assert_eq!(state(), State::Stale);
    read("porto");
    assert_eq!(state(), State::Active);
}
