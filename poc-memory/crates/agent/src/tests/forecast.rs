//! Forecasts of runs.

use super::fleet::{Fleet, nothing};
use crate::ledger::StatusReason;
use crate::model::{CallError, ModelRegistry};
use crate::run::{Forecast, Trigger, forecast, run};
use crate::selection::count_freshness;
use poc_graph::time::Span;

const LINKER: &str = "schedule = \"daily\"\n[freshness]\nwindow = \"1d\"\n[budget]\nmax-runs-per-day = 1\n";

fn looked(fleet: &Fleet) -> Forecast {
    forecast(&fleet.world.memory, &fleet.definition("linker"), &fleet.options).unwrap()
}

fn reasons(forecast: &Forecast) -> Vec<StatusReason> {
    forecast.obstacles.iter().map(|(reason, _)| *reason).collect()
}

#[test]
fn a_forecast_writes_nothing_and_calls_no_model() {
    let fleet = Fleet::new(&[("linker", LINKER)], |_| panic!("it was asked"));
    let before = fleet.world.memory.store.last_seq();
    let forecast = looked(&fleet);
    assert_eq!((forecast.nodes, forecast.cut, forecast.protected, forecast.runs), (2, 0, 0, 0));
    assert!((100..1000).contains(&forecast.tokens), "{forecast:?}");
    assert_eq!(forecast.obstacles, []);
    assert_eq!(fleet.world.memory.store.last_seq(), before);
}

#[test]
fn a_forecast_matches_the_run_that_follows() {
    let fleet = Fleet::new(&[("linker", LINKER)], |_| nothing());
    let definition = fleet.definition("linker");
    let counts = |fleet: &Fleet| {
        let counts = count_freshness(&fleet.world.memory, &definition).unwrap();
        (counts.results, counts.never, counts.changed, counts.old, counts.fresh)
    };
    assert_eq!(counts(&fleet), (2, 2, 0, 0, 0));
    let forecast = looked(&fleet);
    let ran = run(&fleet.world.memory, &definition, Trigger::Manual, &fleet.options).unwrap();
    assert_eq!(ran.selected.len(), forecast.nodes);
    // The daily limit is reached, and there is nothing to do.
    assert_eq!(counts(&fleet), (2, 0, 0, 0, 2));
    assert_eq!(reasons(&looked(&fleet)), [StatusReason::OverBudget, StatusReason::NotStale]);
    let refused = run(&fleet.world.memory, &definition, Trigger::Manual, &fleet.options).unwrap();
    assert_eq!(refused.reason, Some(StatusReason::OverBudget));
    fleet.world.clock.advance(Span::MINUTE);
    fleet.world.edit("page-split", "about something else");
    assert_eq!(counts(&fleet), (2, 0, 1, 0, 1));
    fleet.world.clock.advance(Span(2 * Span::DAY.0));
    assert_eq!(counts(&fleet), (2, 0, 1, 1, 0));
    assert_eq!(reasons(&looked(&fleet)), []);
}

#[test]
fn a_forecast_reports_a_prompt_that_is_too_long() {
    let fleet = Fleet::new(
        &[(
            "linker",
            "[query]\npipeline = \"all\"\n[prompt]\ninline = \"{{ NODES }}\"\nplaceholders = [\"NODES\"]\n\
             max-tokens = 10\n[execution]\nmodel = \"default\"\nactions = [\"link-add\"]\n",
        )],
        |_| nothing(),
    );
    let forecast = looked(&fleet);
    assert_eq!(reasons(&forecast), [StatusReason::InvalidConfig]);
    assert!(forecast.obstacles[0].1.contains("more than `prompt.max-tokens` (10)"), "{forecast:?}");
}

#[test]
fn a_forecast_knows_that_no_model_can_reply() {
    let mut fleet =
        Fleet::new(
            &[("linker", LINKER)],
            |_| Err(CallError::KeyRefused("the key was refused".into()).into()),
        );
    assert_eq!(reasons(&looked(&fleet)), []);
    run(&fleet.world.memory, &fleet.definition("linker"), Trigger::Manual, &fleet.options).unwrap();
    let forecast = looked(&fleet);
    assert!(reasons(&forecast).contains(&StatusReason::ProviderDown), "{forecast:?}");
    // A registry without providers finds no model, as if a key were not set.
    fleet.options.models = ModelRegistry::default();
    fleet.world.config().models.get_mut("default").unwrap().provider = "anthropic".into();
    let forecast = looked(&fleet);
    assert!(reasons(&forecast).contains(&StatusReason::InvalidConfig), "{forecast:?}");
    let (_, why) = &forecast.obstacles[0];
    assert!(why.starts_with("the model `default` cannot be called as configured"), "{why}");
}

/// The message of a run that finds nothing, which the forecast predicts word by word.
#[track_caller]
fn nothing_to_do(fleet: &Fleet) -> String {
    let predicted = looked(fleet).obstacles.into_iter().map(|(_, why)| why).next().unwrap();
    let definition = fleet.definition("linker");
    let ran = run(&fleet.world.memory, &definition, Trigger::Manual, &fleet.options).unwrap();
    assert_eq!(ran.message.as_deref(), Some(predicted.as_str()));
    predicted
}

#[test]
fn an_agent_that_finds_nothing_says_which_stage_left_nothing() {
    let with = |pipeline: &str, more: &str| {
        let file = format!(
            "[query]\npipeline = \"{pipeline}\"\n{more}[prompt]\ninline = \"{{{{ NODES }}}}\"\n\
             placeholders = [\"NODES\"]\n[execution]\nmodel = \"default\"\nactions = [\"link-add\"]\n"
        );
        Fleet::new(&[("linker", &file)], |_| nothing())
    };
    let mut all: Vec<String> = [
        ("all | type:daily | limit:20", ""),
        ("all | !type:episodic", ""),
        ("all | keyword:harbour | sort:weight", ""),
        ("all | age:>7d | type:semantic", ""),
        ("interference-pairs,min_sim=0.99 | limit:5", ""),
        ("all | limit:20", "min-results = 3\n"),
        ("all | type:episodic | degree:>5", ""),
    ]
    .iter()
    .map(|(pipeline, more)| nothing_to_do(&with(pipeline, more)))
    .collect();
    let fleet = with("all | type:episodic | not-visited:linker", "");
    let definition = fleet.definition("linker");
    run(&fleet.world.memory, &definition, Trigger::Manual, &fleet.options).unwrap();
    all.push(nothing_to_do(&fleet));
    let fleet = with("all | type:episodic", "[freshness]\nwindow = \"7d\"\n");
    run(&fleet.world.memory, &fleet.definition("linker"), Trigger::Manual, &fleet.options).unwrap();
    all.push(nothing_to_do(&fleet));
    let world = super::world::World::new();
    all.push(nothing_to_do(&Fleet::over(world, &[("linker", LINKER)], |_| nothing())));
    insta::assert_snapshot!(all.join("\n"), @r"
    `type:daily` left 0 of 2 notes; import notes with `type: daily`, or change the pipeline
    `!type:episodic` left 0 of 2 notes; change the pipeline: `poc-memory agent explain` shows what each stage leaves
    `keyword:harbour` left 0 of 2 notes; give notes the keyword `harbour`, or change the pipeline
    `age:>7d` left 0 of 2 notes; wait until notes have that age, or change the pipeline
    `interference-pairs,min_sim=0.99` found 0 notes; no pair is similar enough; this can be correct, otherwise lower `min_sim` in the pipeline
    `all` found 2 notes, and a run needs 3 (`query.min-results`); `poc-memory insert` and `poc-memory import` add some
    `degree:>5` left 0 of 2 notes; no note matches; this can be correct, otherwise change the pipeline
    `linker` has read all 2 notes of its pipeline and they have not changed since; new and edited notes are read in the next run, `--force` reads all again
    `linker` has read all 2 notes of its pipeline within 1w and they have not changed since; `--force` reads them again
    the memory has no notes; `poc-memory insert` and `poc-memory import` add some
    ");
}
