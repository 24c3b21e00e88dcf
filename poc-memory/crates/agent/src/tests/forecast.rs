//! Forecasts of runs.

use super::fleet::{Fleet, nothing};
use crate::ledger::Reason;
use crate::run::{Forecast, Trigger, forecast, run};
use crate::selection::survey;
use poc_graph::time::Span;

const LINKER: &str = "schedule = \"daily\"\n[freshness]\nwindow = \"1d\"\n[budget]\nmax-runs-per-day = 1\n";

fn looked(fleet: &Fleet) -> Forecast {
    forecast(&fleet.world.memory, &fleet.definition("linker"), &fleet.options).unwrap()
}

fn reasons(forecast: &Forecast) -> Vec<Reason> {
    forecast.obstacles.iter().map(|(reason, _)| *reason).collect()
}

#[test]
fn a_forecast_writes_nothing_and_calls_no_model() {
    let fleet = Fleet::new(&[("linker", LINKER)], |_| panic!("it was asked"));
    let before = fleet.world.memory.store.last_seq();
    let told = looked(&fleet);
    assert_eq!((told.nodes, told.cut, told.protected, told.runs), (2, 0, 0, 0));
    assert!((100..1000).contains(&told.tokens), "{told:?}");
    assert_eq!(told.obstacles, []);
    assert_eq!(fleet.world.memory.store.last_seq(), before);
}

#[test]
fn a_forecast_matches_the_run_that_follows() {
    let fleet = Fleet::new(&[("linker", LINKER)], |_| nothing());
    let definition = fleet.definition("linker");
    let counts = |fleet: &Fleet| {
        let survey = survey(&fleet.world.memory, &definition).unwrap();
        (survey.results, survey.never, survey.changed, survey.old, survey.fresh)
    };
    assert_eq!(counts(&fleet), (2, 2, 0, 0, 0));
    let told = looked(&fleet);
    let ran = run(&fleet.world.memory, &definition, Trigger::Manual, &fleet.options).unwrap();
    assert_eq!(ran.selected.len(), told.nodes);
    // The daily limit is reached, and there is nothing to do.
    assert_eq!(counts(&fleet), (2, 0, 0, 0, 2));
    assert_eq!(reasons(&looked(&fleet)), [Reason::OverBudget, Reason::NotStale]);
    let refused = run(&fleet.world.memory, &definition, Trigger::Manual, &fleet.options).unwrap();
    assert_eq!(refused.reason, Some(Reason::OverBudget));
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
    let told = looked(&fleet);
    assert_eq!(reasons(&told), [Reason::InvalidConfig]);
    assert!(told.obstacles[0].1.contains("more than `prompt.max-tokens` (10)"), "{told:?}");
}
