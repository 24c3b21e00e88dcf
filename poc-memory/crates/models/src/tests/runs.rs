//! Runs of agents whose models are servers.

use crate::mock_model::{Answer, MockModel, completion};
use crate::registry;
use poc_agent::ledger::{self, Status, StatusReason};
use poc_agent::run::{RunOptions, Trigger, run};
use poc_agent::testing::world::{World, agent_with_fallback, calls};
use poc_agent::{Definition, DefinitionContext};
use poc_config::Config;
use poc_graph::time::{Span, Timestamp};
use serde_json::json;

/// Options with the models of all providers.
fn options() -> RunOptions {
    RunOptions { models: registry(), ..RunOptions::default() }
}

const NOTHING: &str = r#"{"notes": "", "link-add": []}"#;

/// A memory with one note, whose models `first` and `second` are two servers.
fn world(first: &MockModel, second: &MockModel) -> World {
    let mut world = World::new();
    let text: String = [("first", first), ("second", second)]
        .map(|(name, server)| {
            format!(
                "[models.{name}]\nprovider = \"{name}\"\nid = \"{name}\"\ninput-price = 1.0\noutput-price = 2.0\n\
                 [providers.{name}]\nkind = \"openai\"\nbase-url = \"{}/v1\"\n",
                server.url()
            )
        })
        .concat();
    *world.config() = Config::layered(Some(("config.toml", &text)), std::iter::empty()).unwrap();
    world.note("a-note", "about something");
    world
}

#[test]
fn the_fallback_model_answers_when_the_first_fails() {
    let refusal = completion(json!({"content": null, "refusal": "I will not"}), "stop");
    for (answer, paid) in [
        (Answer::error(529, "overloaded", "later"), vec![("second", false)]),
        (Answer::error(404, "not_found", "no such model"), vec![("second", false)]),
        (Answer::error(401, "authentication_error", "who?"), vec![("second", false)]),
        (Answer::error(402, "billing_error", "pay first"), vec![("second", false)]),
        (Answer::ok(refusal), vec![("first", false), ("second", false)]),
    ] {
        let (first, second) =
            (MockModel::script(vec![answer.clone()]), MockModel::script(vec![Answer::chat(NOTHING)]));
        let world = world(&first, &second);
        let definition = agent_with_fallback();
        let run = run(&world.memory, &definition, Trigger::Manual, &options()).unwrap();
        assert_eq!(
            (run.status, run.model.as_str(), run.reason),
            (Status::Noop, "second", None),
            "{answer:?}"
        );
        assert_eq!(calls(&run), paid, "{answer:?}");
        assert!(run.message.as_ref().unwrap().starts_with("failed models: `first`: "), "{run:?}");
        let cost: f64 = run.calls.iter().filter_map(|call| call.cost).sum();
        assert!((run.cost.unwrap() - cost).abs() < 1e-12 && cost > 0.0, "{run:?}");
    }
}

#[test]
fn the_model_that_replied_gets_the_correction() {
    let first = MockModel::script(vec![Answer::error(529, "overloaded", "later"), Answer::chat(NOTHING)]);
    let second = MockModel::script(vec![Answer::chat("I would rather not"), Answer::chat(NOTHING)]);
    let world = world(&first, &second);
    let run = run(&world.memory, &agent_with_fallback(), Trigger::Manual, &options()).unwrap();
    assert_eq!((run.status, first.requests().len(), second.requests().len()), (Status::Noop, 1, 2));
}

#[test]
fn a_truncated_reply_ends_the_run_without_fallback() {
    let cut = Answer::ok(completion(json!({"content": "{"}), "length"));
    let (first, second) = (MockModel::script(vec![cut]), MockModel::script(Vec::new()));
    let world = world(&first, &second);
    let run = run(&world.memory, &agent_with_fallback(), Trigger::Manual, &options()).unwrap();
    assert_eq!((run.status, run.model.as_str(), second.requests().len()), (Status::Failed, "first", 0));
    assert_eq!(calls(&run), [("first", false)]);
}

#[test]
fn when_all_models_fail_the_run_names_each_failure() {
    let busy = || MockModel::script(vec![Answer::error(529, "overloaded", "later")]);
    let (first, second) = (busy(), busy());
    let world = world(&first, &second);
    let run = run(&world.memory, &agent_with_fallback(), Trigger::Manual, &options()).unwrap();
    assert_eq!((run.status, run.reason), (Status::Failed, Some(StatusReason::ProviderDown)));
    insta::assert_snapshot!(run.message.unwrap(), @"`first`: `first` is overloaded (529): later; `second`: `second` is overloaded (529): later");
}

#[test]
fn slots_of_a_provider_without_credit_are_skipped_for_an_hour() {
    let broke = |_: &_| Answer::error(402, "billing_error", "pay first");
    let (first, second) = (MockModel::serve(broke), MockModel::script(vec![Answer::chat(NOTHING)]));
    let world = world(&first, &second);
    let (mut alone, options) = (agent_with_fallback(), options());
    alone.execution.fallback.clear();
    let slot = |definition: &Definition| {
        world.clock.advance(Span::MINUTE);
        run(&world.memory, definition, Trigger::Slot(world.memory.now()), &options).unwrap()
    };
    let failed = slot(&alone);
    assert_eq!(
        (failed.status, failed.reason, first.requests().len()),
        (Status::Failed, Some(StatusReason::ProviderDown), 1)
    );
    for _ in 0..3 {
        let row = slot(&alone);
        assert_eq!((row.status, row.reason), (Status::Skipped, Some(StatusReason::ProviderDown)));
        let message = row.message.unwrap();
        assert!(message.contains("is suspended until") && message.ends_with("pay first"), "{message}");
    }
    let state = ledger::state(&world.memory, "tester").unwrap();
    assert_eq!((first.requests().len(), state.failures()), (1, 1));
    // The fallback model is called; a manual run calls the provider; after an hour, so does a slot.
    assert_eq!((slot(&agent_with_fallback()).model.as_str(), first.requests().len()), ("second", 1));
    world.edit("a-note", "about something else");
    let asked = run(&world.memory, &alone, Trigger::Manual, &options).unwrap();
    assert_eq!((asked.status, first.requests().len()), (Status::Failed, 2));
    world.clock.set(Timestamp(world.memory.now().0 + Span::HOUR.0));
    assert_eq!((slot(&alone).status, first.requests().len()), (Status::Failed, 3));
}

#[test]
fn a_missing_api_key_fails_the_run_with_a_hint() {
    let mut world = World::new();
    world.note("btree-split", "A split of the b-tree lost the right sibling.");
    let text = "[query]\npipeline = \"all\"\n[prompt]\ninline = \"{{ NODES }}\"\nplaceholders = [\"NODES\"]\n\
        [execution]\nmodel = \"keyless\"\nactions = [\"link-add\"]\n";
    let mut provider = world.memory.config.providers["anthropic"].clone();
    provider.key_env = Some("POC_MEMORY_TEST_KEY_THAT_IS_NOT_SET".into());
    world.config().providers.insert("nobody".into(), provider);
    let model =
        poc_config::ModelConfig { provider: "nobody".into(), ..world.memory.config.models["sonnet"].clone() };
    world.config().models.insert("keyless".into(), model);
    let template = |_: &str| unreachable!();
    let names = world.memory.names.load_full();
    let context = DefinitionContext { config: &world.memory.config, names: &names, template: &template };
    let definition = Definition::parse("tester", "tester.toml", text, &context).unwrap();
    let run = run(&world.memory, &definition, Trigger::Manual, &options()).unwrap();
    assert_eq!((run.status, run.reason), (Status::Failed, Some(StatusReason::InvalidConfig)));
    assert!(
        run.message.clone().unwrap().contains("POC_MEMORY_TEST_KEY_THAT_IS_NOT_SET"),
        "{:?}",
        run.message
    );
}
