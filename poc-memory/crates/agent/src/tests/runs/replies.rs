//! Replies of the model: which are accepted, and what a row records of them.

use super::super::world::{ScriptedModel, World, agent, draft, outcomes};
use super::{id, two};
use crate::ledger::{Spending, Status};
use crate::model::{CallCost, CallError, CallFailure, Reply};
use crate::run::{RunOptions, Trigger, run_with, transcript};
use poc_graph::time::{Span, Timestamp};
use poc_graph::{EdgeKind, Trust};
use poc_notes::Draft;
use serde_json::json;

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
    // An empty list may be left out.
    assert_eq!(check(vec![text(r#"{"notes": "nothing to do"}"#)]).0, Status::Noop);
    // A note may contain a code block whose closing fence is not on its own line.
    let code = r#"{"notes": "see ```rust\nlet a = 1;\n```", "link-add": [], "weight": []}"#;
    assert_eq!(check(vec![text(&format!("```\n{code}\n```"))]).0, Status::Noop);
    assert_eq!(check(vec![text(&format!("So:\n```json\n{code}```"))]).0, Status::Noop);
    // After one correction turn the run fails, and nothing counts as visited.
    assert_eq!(check(vec![text("I would link N1 to N2."), text(good)]).0, Status::Noop);
    let wrong = r#"{"notes": 3, "link-add": [{"from": "N1", "to": 2}], "extra": []}"#;
    let (status, message, visited) = check(vec![text("no"), text(wrong)]);
    assert_eq!((status, visited), (Status::Failed, 0));
    insta::assert_snapshot!(message, @"the reply is invalid: `notes` is not text; `link-add[0].to`: invalid type: integer `2`, expected a string; `extra` is not a field of the reply");
    let (status, message, _) = check(vec![Err(CallError::TimedOut(Span::MINUTE).into())]);
    assert_eq!((status, message.as_str()), (Status::TimedOut, "no answer within 1m"));
    assert_eq!(check(vec![Err(CallError::Refused("no".into()).into())]).0, Status::Failed);
}

#[test]
fn secrets_in_a_reply_are_replaced_before_anything_is_stored() {
    let world = World::new();
    let (split, _) = (world.note("split", "A split of the b-tree."), world.note("merge", "A merge of it."));
    let definition = agent("\"link-add\", \"insert\", \"supersede\"", "");
    let token = "ghp_7fQ2kZ9aB4cX3dM6eW5vT8uS0rP1nLhGjYiE";
    let text = format!("The token of the tests is {token}.");
    let reply = json!({
        "notes": format!("saw {token}"),
        "link-add": [{"reason": text, "from": "N1", "to": "N2", "strength": 0.5}],
        "insert": [{"reason": text, "key": "", "title": "Access", "body": text, "keywords": [token], "sources": ["N2"]}],
        "supersede": [{"reason": text, "node": "N1", "by": "", "key": "", "title": "Tests", "body": text}],
    });
    let run = world.run(&definition, &ScriptedModel::replying(reply));
    let message = run.message.clone().unwrap_or_default();
    assert!(message.starts_with("secrets were replaced by placeholders (github-token)"), "{message}");
    let kept = transcript(&world.memory, &run).unwrap().unwrap();
    let stored = format!("{run:?} {kept:?}") + &world.graph();
    assert!(stored.contains("[secret: github-token]") && !stored.contains(token), "{stored}");
    // The proposed replacement contains the placeholder, too.
    let proposed = crate::proposal::proposals(&world.memory, None).unwrap();
    assert_eq!(proposed.len(), 1, "{run:?}");
    assert!(proposed.iter().all(|proposal| !format!("{proposal:?}").contains(token)), "{proposed:?}");
    assert_eq!(world.memory.find("split").unwrap().id, split);
    // The problems of an invalid reply quote it.
    let world = World::new();
    let definition = two(&world);
    let invalid = || Ok(Reply { text: json!({"notes": "", (token): 1}).to_string(), ..Reply::default() });
    let run = world.run(&definition, &ScriptedModel::new(vec![invalid(), invalid()]));
    let kept = transcript(&world.memory, &run).unwrap().unwrap();
    assert_eq!((run.status, kept.turns.len()), (Status::Failed, 2));
    let message = run.message.clone().unwrap_or_default();
    assert!(message.contains("`[secret: github-token]` is not a field of the reply"), "{message}");
    assert!(!format!("{run:?} {kept:?}").contains(token), "{run:?} {kept:?}");
}

#[test]
fn a_correction_turn_lists_the_problems() {
    let world = World::new();
    let definition = two(&world);
    let corrections_seen = parking_lot::Mutex::new(Vec::new());
    let read = |tokens| vec![CallCost { tokens_in: Some(tokens), ..CallCost::default() }];
    let model = ScriptedModel::new(vec![
        Ok(Reply { text: "no".into(), spent: read(5), ..Reply::default() }),
        Ok(Reply {
            text: r#"{"notes": "", "link-add": [], "weight": []}"#.into(),
            spent: read(6),
            ..Reply::default()
        }),
    ])
    .during_call(|request| corrections_seen.lock().extend(request.corrections.to_vec()));
    let run = world.run(&definition, &model);
    assert_eq!(run.tokens_in, Some(11));
    drop(model);
    let seen = corrections_seen.into_inner().remove(0);
    assert_eq!(seen.reply, "no");
    assert!(seen.correction.contains("not a single JSON object"), "{}", seen.correction);
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
    assert_eq!(
        state.spending_between(Timestamp(day), Timestamp(day + Span::DAY.0)),
        Spending { runs: 1, cost: 0.75 }
    );
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
    assert_eq!(run.applied_actions().count(), 1);
    assert!(format!("{run:?}").len() < 20_000);
    let edges = world.memory.store.edges(id(&world, "btree-split")).unwrap();
    assert!(edges.iter().all(|edge| edge.reason.len() < 10_000));
}

#[test]
fn new_notes_are_trusted_no_more_than_the_notes_read() {
    let mut world = World::new();
    two(&world);
    world.draft(Draft {
        trust: Trust::External,
        node_type: Some("episodic".into()),
        ..draft("from-outside", "Somebody else wrote of the b-tree.")
    });
    let definition = agent("\"insert\"", "");
    let reply = json!({"notes": "", "insert": [{"reason": "recurs", "key": "btree-siblings", "title": "Siblings get lost",
        "body": "Every change of the tree loses siblings.", "keywords": ["btree"], "sources": ["N1", "N2"]}]});
    let run = world.run(&definition, &ScriptedModel::replying(reply));
    assert_eq!(outcomes(&run), ["insert \"Siblings get lost\": applied"]);
    let node = world.memory.store.node(id(&world, "btree-siblings")).unwrap().unwrap();
    assert_eq!((node.trust, node.provenance.as_str()), (Trust::External, "agent:tester"));
    let edges = world.memory.store.edges(node.id).unwrap();
    assert_eq!(edges.iter().filter(|edge| edge.kind == EdgeKind::DerivedFrom).count(), 2);

    // A new note is not trusted more than the notes that the template reads either.
    let mut definition = agent("\"insert\"", "");
    definition.prompt.text.push_str("{{ node(key=\"from-outside\") }}");
    let only = RunOptions { target: Some("btree-merge".into()), ..RunOptions::default() };
    let reply = json!({"notes": "", "insert": [{"reason": "", "key": "again", "title": "Again", "body": "Once more.",
        "keywords": [], "sources": []}]});
    world.config().agents.candidates = 0;
    run_with(&world.memory, &definition, &ScriptedModel::replying(reply), Trigger::Manual, &only).unwrap();
    assert_eq!(world.memory.store.node(id(&world, "again")).unwrap().unwrap().trust, Trust::External);
}
