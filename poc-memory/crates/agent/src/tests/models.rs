use super::world::{ScriptedModel, World, agent_with_fallback, calls};
use crate::ledger::Status;
use crate::model::{CallCost, CallError, CallFailure, Model};
use crate::run::{RunOptions, Trigger, run_among};
use poc_graph::time::Span;

#[test]
fn a_timed_out_call_is_booked_at_its_maximum_cost() {
    let late = ScriptedModel::new(vec![Err(CallFailure {
        error: CallError::TimedOut(Span::MINUTE),
        spent: vec![CallCost { cost: Some(0.5), estimated: true, ..CallCost::default() }],
    })]);
    let good = ScriptedModel::doing_nothing(&["link-add"]);
    let world = World::new();
    world.note("a-note", "about something");
    let models: [(&str, &dyn Model); 2] = [("first", &late), ("second", &good)];
    let run =
        run_among(&world.memory, &agent_with_fallback(), &models, Trigger::Manual, &RunOptions::default())
            .unwrap();
    assert_eq!((run.status, run.model.as_str(), run.cost), (Status::Noop, "second", Some(0.5)));
    assert_eq!(calls(&run), [("first", true), ("second", false)]);
}

#[test]
fn a_request_states_the_length_of_the_stable_prompt_prefix() {
    let world = World::new();
    world.note("a-note", "about something");
    for (template, expected) in [
        ("# Tätigkeit\n\n{{ NODES }}\n", "# Tätigkeit\n\n"),
        ("# Task\n\n{{- NODES }}\n", "# Task"),
        ("{{ NODES }}\n", ""),
    ] {
        let mut definition = agent_with_fallback();
        definition.prompt.text = template.into();
        let stable = parking_lot::Mutex::new(String::new());
        let model = ScriptedModel::doing_nothing(&["link-add"])
            .during_call(|request| *stable.lock() = request.prompt[..request.stable].to_owned());
        let forced = RunOptions { force: true, ..RunOptions::default() };
        let models: [(&str, &dyn Model); 1] = [("first", &model)];
        run_among(&world.memory, &definition, &models, Trigger::Manual, &forced).unwrap();
        drop(model);
        assert_eq!(stable.into_inner(), expected);
    }
}
