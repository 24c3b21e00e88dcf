//! Notes that an agent visited without a language model are unread once it has one.

use super::world::{FnModel, World, agent};
use crate::ledger::{Run, Status, StatusReason};
use crate::model::Request;
use crate::run::{RunOptions, Trigger, run};
use crate::selection::backlog;
use crate::test_runner;
use crate::{Catalog, Definition};
use poc_graph::VisitOutcome;
use serde_json::json;

/// Two notes with an identifier in common.
fn with_notes() -> World {
    let world = World::new();
    world.note("crash", "The crash of Tuesday is INC-412.");
    world.note("fix", "A journal would have prevented INC-412.");
    world
}

/// A run with the configured model, which is the heuristic one.
fn compare(world: &World, definition: &Definition) -> Run {
    run(&world.memory, definition, Trigger::Manual, &RunOptions::default()).unwrap()
}

/// Makes a language model the default, and `heuristic` a name of the heuristic model.
fn set_up_language_model(world: &mut World) {
    let models = &mut world.config().models;
    let mut default = models["default"].clone();
    models.insert("heuristic".into(), default.clone());
    default.provider = "anthropic".into();
    models.insert("default".into(), default);
}

#[test]
fn notes_visited_without_a_language_model_are_read_when_there_is_one() {
    let linker = |world: &World| (**Catalog::load(&world.memory).unwrap().get("linker").unwrap()).clone();
    // The pipeline of one agent has a filter by visits, that of the other does not.
    for filters in [true, false] {
        let mut world = with_notes();
        let definition = if filters { linker(&world) } else { agent("\"link-add\"", "") };
        let compared = compare(&world, &definition);
        assert_eq!((compared.visited.len(), compared.applied_actions().count()), (2, 1), "{compared:#?}");
        let visits = world.memory.store.visits(compared.visited[0]).unwrap();
        assert!(visits.iter().all(|(_, visit)| visit.outcome == VisitOutcome::Compared), "{visits:?}");
        let again = compare(&world, &definition);
        assert_eq!((again.status, again.reason), (Status::Skipped, Some(StatusReason::NotStale)));

        set_up_language_model(&mut world);
        assert_eq!(backlog(&world.memory, &definition).unwrap(), 2);
        let model = FnModel(|request: &Request<'_>| {
            assert_eq!(request.prompt.matches("chosen because you have not read it yet").count(), 2);
            json!({"notes": ""})
        });
        assert_eq!(world.run(&definition, &model).visited.len(), 2);
        let again = world.run(&definition, &model);
        assert_eq!((again.status, again.reason), (Status::Skipped, Some(StatusReason::NotStale)));
    }
}

#[test]
fn notes_visited_by_a_recorded_run_without_a_language_model_are_read_when_there_is_one() {
    let mut world = with_notes();
    let definition = agent("\"link-add\"", "");
    let (run, _) = test_runner::record(&world.memory, &definition, &RunOptions::default()).unwrap();
    assert_eq!(run.visited.len(), 2, "{run:#?}");
    assert_eq!(backlog(&world.memory, &definition).unwrap(), 0);
    set_up_language_model(&mut world);
    assert_eq!(backlog(&world.memory, &definition).unwrap(), 2);
}

#[test]
fn visits_of_a_fallback_without_a_language_model_count() {
    let mut world = with_notes();
    let mut definition = agent("\"link-add\"", "");
    assert_eq!(compare(&world, &definition).visited.len(), 2);
    set_up_language_model(&mut world);
    definition.execution.fallback = vec!["heuristic".into()];
    assert_eq!(backlog(&world.memory, &definition).unwrap(), 0);
    definition.execution.fallback.clear();
    assert_eq!(backlog(&world.memory, &definition).unwrap(), 2);
}
