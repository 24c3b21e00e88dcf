//! Budgets in whole runs.

use super::world::{World, agent};
use crate::Definition;
use crate::ledger::{self, Run, Spending, Status, StatusReason};
use crate::model::{CallCost, CallError, CallFailure, Model, Reply, Request};
use crate::run::{RunOptions, Trigger, run_with};
use chrono_tz::Tz;
use poc_graph::time::{Span, Timestamp};
use std::sync::atomic::{AtomicU32, Ordering};

/// A model whose attempts cost 1 dollar each, at most 2.
struct PricedModel {
    replies: bool,
    attempts: AtomicU32,
}

fn priced(replies: bool) -> PricedModel {
    PricedModel { replies, attempts: AtomicU32::new(0) }
}

impl Model for PricedModel {
    fn call(&self, request: &Request<'_>) -> Result<Reply, CallFailure> {
        self.attempts.fetch_add(request.attempts, Ordering::SeqCst);
        let one = CallCost { cost: Some(1.0), ..CallCost::default() };
        match self.replies {
            true => Ok(Reply { text: "no answer at all".into(), spent: vec![one], ..Reply::default() }),
            false => Err(CallFailure {
                error: CallError::Down("down".into()),
                spent: vec![one; request.attempts as usize],
            }),
        }
    }

    fn max_cost(&self, _: &Request<'_>) -> Option<f64> {
        Some(2.0)
    }
}

fn run(world: &World, more: &str, model: &PricedModel) -> Run {
    let definition = agent("\"link-add\"", more);
    let options = RunOptions { zone: Some(Tz::Europe__Berlin), ..RunOptions::default() };
    run_with(&world.memory, &definition, model, Trigger::Manual, &options).unwrap()
}

fn world() -> World {
    let world = World::new();
    world.note("a", "about page splits");
    world
}

/// Budget days from one day before to one day after an instant.
fn days_around(now: Timestamp) -> ledger::BudgetDays {
    let day = now.minus(Span::DAY)..now.plus(Span::DAY);
    ledger::BudgetDays { own: day.clone(), all_agents: day }
}

#[test]
fn a_call_that_could_exceed_the_budget_of_a_run_is_not_made() {
    let world = world();
    let model = priced(true);
    let row = run(&world, "[budget]\nmax-usd-per-run = 1.99\n", &model);
    assert_eq!(
        (row.status, row.reason, row.calls.len()),
        (Status::Skipped, Some(StatusReason::OverBudget), 0)
    );
    insta::assert_snapshot!(row.message.unwrap(), @"the agent's `budget.max-usd-per-run` is $1.9900, of which $0.0000 are spent, and the call may cost $2.0000, more than the whole budget: raise it, or lower `max-output-tokens` under `[calls]` in config.toml");
    // The budget covers one of three correction turns.
    let row = run(&world, "[budget]\nmax-usd-per-run = 3.5\n[retry]\nrepair = 3\n", &model);
    assert_eq!(
        (row.status, row.reason, row.cost),
        (Status::Failed, Some(StatusReason::OverBudget), Some(2.0))
    );
    let state = ledger::state(&world.memory, "tester").unwrap();
    assert_eq!(
        (state.failures(), row.visited.len()),
        (0, 0),
        "running out of money is neither a failure nor a visit"
    );
}

#[test]
fn attempts_beyond_the_budget_are_not_made() {
    let world = world();
    let model = priced(false);
    let row = run(&world, "[budget]\nmax-usd-per-run = 5.0\n[retry]\nattempts = 10\n", &model);
    assert_eq!((model.attempts.into_inner(), row.cost), (2, Some(2.0)));
}

#[test]
fn a_budget_day_follows_the_agents_time_zone() {
    let world = world();
    let limits =
        "[schedule]\ntimezone = \"Europe/Vienna\"\n[budget]\nmax-usd-per-day = 2.0\n[retry]\nrepair = 0\n";
    let at = |text: &str| world.clock.set(Timestamp::parse(text).unwrap());
    let outcome = |row: Run| (row.status, row.reason);
    let (ran, refused) = (
        (Status::Failed, Some(StatusReason::Unparseable)),
        (Status::Skipped, Some(StatusReason::OverBudget)),
    );
    // 22:30 and 23:30 UTC are on different days in Vienna in winter.
    at("2026-11-21T22:30:00Z");
    assert_eq!(outcome(run(&world, limits, &priced(true))), ran);
    assert_eq!(outcome(run(&world, limits, &priced(true))), refused);
    at("2026-11-21T23:30:00Z");
    assert_eq!(outcome(run(&world, limits, &priced(true))), ran);
    at("2026-11-22T22:59:00Z");
    assert_eq!(outcome(run(&world, limits, &priced(true))), refused);
    // The day on which the clock is set back has 25 hours.
    at("2027-10-30T22:00:00Z");
    assert_eq!(outcome(run(&world, limits, &priced(true))), ran);
    at("2027-10-31T22:59:00Z");
    assert_eq!(outcome(run(&world, limits, &priced(true))), refused);
    world.clock.advance(Span::MINUTE);
    assert_eq!(outcome(run(&world, limits, &priced(true))), ran);
}

#[test]
fn skipped_runs_do_not_count_against_the_runs_of_a_day() {
    let world = world();
    let limits = "[budget]\nmax-runs-per-day = 2\n[retry]\nrepair = 0\n";
    for _ in 0..2 {
        assert_eq!(run(&world, limits, &priced(true)).status, Status::Failed);
    }
    for _ in 0..3 {
        assert_eq!(run(&world, limits, &priced(true)).reason, Some(StatusReason::OverBudget));
    }
    assert_eq!(run(&world, "[budget]\nmax-runs-per-day = 3\n", &priced(true)).status, Status::Failed);
    assert_eq!(run(&world, "[budget]\nmax-runs-per-day = 0\n", &priced(true)).status, Status::Failed);
}

#[test]
fn all_agents_together_stay_within_the_operators_limit() {
    let mut world = world();
    world.config().budget.max_usd_per_day = 5.0;
    let mut definition = agent("\"link-add\"", "[retry]\nrepair = 0\nattempts = 1\n");
    let options = RunOptions { zone: Some(Tz::UTC), ..RunOptions::default() };
    let mut outcomes = Vec::new();
    for name in ["a", "b", "c", "d", "e"] {
        definition.name = name.into();
        let row = run_with(&world.memory, &definition, &priced(true), Trigger::Manual, &options).unwrap();
        outcomes.push(row.status);
    }
    let (ran, not) = (Status::Failed, Status::Skipped);
    assert_eq!(outcomes, [ran, ran, ran, ran, not], "4 dollars are spent, and a call may take 2");
    world.clock.advance(Span::DAY);
    let row = run_with(&world.memory, &definition, &priced(true), Trigger::Manual, &options).unwrap();
    assert_eq!(row.status, ran);
}

/// A model whose replies cost 1 dollar, at most 2, and that runs code during the call.
struct CallbackModel<'a>(&'a (dyn Fn() + Sync));

impl Model for CallbackModel<'_> {
    fn call(&self, _: &Request<'_>) -> Result<Reply, CallFailure> {
        (self.0)();
        let spent = vec![CallCost { cost: Some(1.0), ..CallCost::default() }];
        Ok(Reply { text: r#"{"notes": "", "link-add": []}"#.into(), spent, ..Reply::default() })
    }

    fn max_cost(&self, _: &Request<'_>) -> Option<f64> {
        Some(2.0)
    }
}

#[test]
fn concurrent_runs_do_not_reserve_the_same_dollar() {
    let mut world = world();
    world.config().budget.max_usd_per_day = 3.5;
    let mut other = agent("\"link-add\"", "");
    other.name = "other".into();
    let options = RunOptions { zone: Some(Tz::UTC), ..RunOptions::default() };
    let runs = |definition: &Definition, model: &dyn Model| {
        run_with(&world.memory, definition, model, Trigger::Manual, &options).unwrap()
    };
    let refused = || assert_eq!(runs(&other, &priced(true)).reason, Some(StatusReason::OverBudget));
    assert_eq!(runs(&agent("\"link-add\"", ""), &CallbackModel(&refused)).cost, Some(1.0));
    // The unused part of the reservation is released.
    assert_eq!(runs(&other, &CallbackModel(&|| ())).cost, Some(1.0));
}

#[test]
fn concurrent_dry_runs_share_the_budgets_of_the_day() {
    let options = RunOptions { dry_run: true, zone: Some(Tz::UTC), ..RunOptions::default() };
    for table in ["[budget]", "[budget.per-tenant]"] {
        let world = world();
        let definition = agent("\"link-add\"", &format!("{table}\nmax-usd-per-day = 3.5\n"));
        let runs = |model: &dyn Model| {
            run_with(&world.memory, &definition, model, Trigger::Manual, &options).unwrap()
        };
        let refused = || assert_eq!(runs(&priced(true)).reason, Some(StatusReason::OverBudget));
        assert_eq!(runs(&CallbackModel(&refused)).cost, Some(1.0));
    }
}

/// Recorded runs of the agent and their cost in US dollars, of all days.
fn on_record(world: &World) -> (u32, f64) {
    let now = world.memory.now();
    let state = ledger::state(&world.memory, "tester").unwrap();
    let Spending { runs, cost } = state.spending_between(now.minus(Span::DAY), now.plus(Span::DAY));
    (runs, cost)
}

#[test]
fn a_call_is_booked_when_its_process_dies() {
    for dry in [false, true] {
        let mut world = world();
        let row = Run { model: "m".into(), ..Run::new_running(&world.memory, "tester", None) };
        let row = if dry { row } else { ledger::claim(&world.memory, row).unwrap() };
        let days = days_around(row.started);
        let reserved = ledger::reserve(&world.memory, &row, &days, |_| Ok::<_, String>(((), 2.0)));
        reserved.unwrap().unwrap();
        assert_eq!(on_record(&world), (0, 0.0));
        world = world.reopen();
        world.memory.instance = "the next".into();
        ledger::interrupt_orphaned(&world.memory).unwrap();
        assert_eq!(on_record(&world), (u32::from(!dry), 2.0));
        for kept in ledger::rows(&world.memory, Some("tester"), 10).unwrap() {
            assert_eq!((kept.status, kept.cost, kept.calls.len()), (Status::Interrupted, Some(2.0), 1));
            assert!(kept.calls[0].estimated);
        }
        ledger::interrupt_orphaned(&world.memory).unwrap();
        assert_eq!(on_record(&world).1, 2.0, "it is booked once");
    }
}

#[test]
fn a_call_is_booked_when_the_run_panics() {
    let world = world();
    let definition = agent("\"link-add\"", "[retry]\nattempts = 1\n");
    fn breaks() {
        panic!("a defect")
    }
    let model = CallbackModel(&breaks);
    run_with(&world.memory, &definition, &model, Trigger::Manual, &RunOptions::default()).unwrap_err();
    let [row] = ledger::rows(&world.memory, Some("tester"), 10).unwrap().try_into().unwrap();
    assert_eq!((row.status, row.cost, row.calls.len()), (Status::Failed, Some(2.0), 1));
    assert_eq!(on_record(&world), (1, 2.0));
}

#[test]
fn a_free_model_runs_when_the_daily_budget_is_used_up() {
    let mut world = world();
    world.config().budget.max_usd_per_day = 1.0;
    let mut row = ledger::claim(&world.memory, Run::new_running(&world.memory, "other", None)).unwrap();
    let (model, tokens_in, tokens_out, cost) = ("m".into(), None, None, Some(1.0));
    row.add_call(ledger::CallRecord { model, tokens_in, tokens_out, cost, estimated: false });
    row.finish(&world.memory, Status::Noop, None);
    ledger::close(&world.memory, &row).unwrap();
    let options = RunOptions { zone: Some(Tz::UTC), ..RunOptions::default() };
    let row = crate::run::run(&world.memory, &agent("\"link-add\"", ""), Trigger::Manual, &options);
    assert_ne!(row.unwrap().reason, Some(StatusReason::OverBudget));
}

#[test]
fn a_dry_run_books_its_cost() {
    let world = world();
    let definition = agent("\"link-add\"", "[budget]\nmax-usd-per-day = 3.5\n[retry]\nrepair = 0\n");
    let options = RunOptions { dry_run: true, zone: Some(Tz::Europe__Berlin), ..RunOptions::default() };
    let run = || run_with(&world.memory, &definition, &priced(true), Trigger::Manual, &options).unwrap();
    assert_eq!((run().cost, run().cost), (Some(1.0), Some(1.0)));
    let spent = || {
        let now = world.memory.now();
        let days = days_around(now);
        (
            ledger::state(&world.memory, "tester").unwrap().spending_between(days.own.start, days.own.end),
            ledger::day_spending(&world.memory, &Run::new_running(&world.memory, "other", None), &days)
                .unwrap()
                .all_agents,
        )
    };
    assert_eq!(
        spent(),
        (Spending { runs: 0, cost: 2.0 }, 2.0),
        "it does not count as a run of the day, but its cost counts"
    );
    let today = days_around(world.memory.now()).all_agents;
    assert_eq!(ledger::spent_by_all(&world.memory, &today).unwrap(), 2.0);
    assert_eq!(ledger::spent_by_all(&world.memory, &(today.end..today.end.plus(Span::DAY))).unwrap(), 0.0);
    // The next call could cost 2 more.
    assert_eq!((run().reason, spent().1), (Some(StatusReason::OverBudget), 2.0));
    assert!(ledger::rows(&world.memory, Some("tester"), 10).unwrap().is_empty());
}

#[test]
fn a_day_without_runs_costs_zero_without_a_sign() {
    let world = world();
    let days = days_around(world.memory.now());
    let spent = ledger::spent_by_all(&world.memory, &days.all_agents).unwrap();
    let run = Run::new_running(&world.memory, "tester", None);
    let forecast = ledger::day_spending(&world.memory, &run, &days).unwrap();
    assert_eq!(format!("{spent:.4} {:.4} {:.4}", forecast.day, forecast.all_agents), "0.0000 0.0000 0.0000");
}

#[cfg(target_os = "linux")]
#[test]
fn the_next_process_ends_the_child_of_a_killed_one() {
    use crate::child_process::ChildProcess;
    use std::os::unix::process::CommandExt;
    let mut world = world();
    let start = || std::process::Command::new("sleep").arg("600").process_group(0).spawn().unwrap();
    for by_claim in [false, true] {
        let mut child = start();
        let row = ledger::claim(&world.memory, Run::new_running(&world.memory, "other", None)).unwrap();
        ledger::record_child_process(&world.memory, &row, &ChildProcess::of(child.id()).unwrap()).unwrap();
        // Nothing is booked while its process is alive.
        ledger::interrupt_orphaned(&world.memory).unwrap();
        assert!(child.try_wait().unwrap().is_none());
        world.memory.instance = format!("the next, {by_claim}");
        if by_claim {
            ledger::claim(&world.memory, Run::new_running(&world.memory, "tester", None)).unwrap();
        } else {
            ledger::interrupt_orphaned(&world.memory).unwrap();
        }
        assert!(!child.wait().unwrap().success());
        let days = days_around(world.memory.now());
        let spending =
            ledger::day_spending(&world.memory, &Run::new_running(&world.memory, "x", None), &days);
        assert_eq!(spending.unwrap().all_agents, 0.0, "it had reserved nothing");
    }
}

#[test]
fn the_cost_of_a_discarded_reply_is_booked() {
    let world = world();
    let definition = agent("\"link-add\"", "");
    /// A model during whose call another process ends the run.
    struct InterruptedModel<'a>(&'a World);
    impl Model for InterruptedModel<'_> {
        fn call(&self, _: &Request<'_>) -> Result<Reply, CallFailure> {
            ledger::abandon(&self.0.memory, |_| true, Status::Interrupted, "the daemon went away").unwrap();
            let text = r#"{"notes": "", "link-add": []}"#.to_owned();
            let spent = vec![CallCost { cost: Some(1.5), tokens_in: Some(7), ..CallCost::default() }];
            Ok(Reply { text, spent, ..Reply::default() })
        }
    }
    let options = RunOptions::default();
    let error = run_with(&world.memory, &definition, &InterruptedModel(&world), Trigger::Manual, &options)
        .unwrap_err();
    assert_eq!(error.code, poc_graph::error::Code::Conflict);
    let [row] = ledger::rows(&world.memory, Some("tester"), 10).unwrap().try_into().unwrap();
    assert_eq!(
        (row.status, row.cost, row.tokens_in, row.calls.len()),
        (Status::Interrupted, Some(1.5), Some(7), 1)
    );
    assert!(row.visited.is_empty());
    let (now, state) = (world.memory.now(), ledger::state(&world.memory, "tester").unwrap());
    assert_eq!(
        state.spending_between(now.minus(Span::DAY), now.plus(Span::DAY)),
        Spending { runs: 1, cost: 1.5 }
    );
}

#[test]
fn a_call_whose_reservation_another_process_has_booked_is_not_booked_again() {
    let world = world();
    let definition = agent("\"link-add\"", "[retry]\nattempts = 1\n");
    let take_over = || {
        let mut other = world.memory.clone();
        other.instance = "another".into();
        assert_eq!(ledger::interrupt_orphaned(&other).unwrap().len(), 1);
    };
    let options = RunOptions::default();
    let model = CallbackModel(&take_over);
    let error = run_with(&world.memory, &definition, &model, Trigger::Manual, &options).unwrap_err();
    assert_eq!(error.code, poc_graph::error::Code::Conflict);
    let [row] = ledger::rows(&world.memory, Some("tester"), 10).unwrap().try_into().unwrap();
    assert_eq!((row.status, row.cost, row.calls.len()), (Status::Interrupted, Some(2.0), 1));
    assert_eq!(on_record(&world), (1, 2.0));
}
