//! Every tenant that an agent runs for gets its turns, whatever the others have to do.

use super::fleet::{Answer, Fleet, nothing};
use super::world::{World, draft};
use crate::idle_tenants::IdleTenants;
use crate::ledger::{self, Run, Status, StatusReason};
use crate::model::{CallCost, Reply};
use crate::run::{RunOptions, Trigger, run};
use poc_graph::Tuple;
use poc_graph::time::Span;
use poc_notes::{Draft, insert};
use proptest::prelude::*;

/// The names of the tenants, sorted as their turns are.
const TENANTS: [&[(&str, &str)]; 5] =
    [&[], &[("team", "red"), ("user", "t1")], &[("user", "t1")], &[("user", "t2")], &[("user", "u1")]];

/// Values of `schedule.tenants`, each with the tenants that match.
const PATTERNS: [(&str, &[usize]); 5] = [
    ("\"all\"", &[0, 1, 2, 3, 4]),
    ("\"user=*\"", &[2, 3, 4]),
    ("\"user=t*\"", &[2, 3]),
    ("[\"default\", \"user=t1\", \"team=* user=*\"]", &[0, 1, 2]),
    ("\"user=nobody\"", &[]),
];

fn tenant(number: usize) -> Tuple {
    Tuple::new(TENANTS[number].iter().copied()).unwrap()
}

/// The agent `reader`, which reads one note in a run.
fn reader(tenants: &str, more: &str) -> String {
    format!(
        "[query]\npipeline = \"all | not-visited:reader | limit:1\"\n\
         [prompt]\ninline = \"{{{{ NODES }}}}\"\nplaceholders = [\"NODES\"]\n\
         [execution]\nmodel = \"default\"\nactions = [\"link-add\"]\nschedule = \"hourly\"\nmax-minutes = 0\n\
         [schedule]\ntenants = {tenants}\n{more}"
    )
}

/// A world in which each tenant has a number of notes, and the newest three rows of an agent are kept.
fn fleet(notes: &[usize], file: &str) -> Fleet {
    Fleet::over(world_of(notes), &[("reader", file)], |_| nothing())
}

fn world_of(notes: &[usize]) -> World {
    let mut world = World::new();
    world.config().agents.keep_rows = 3;
    for (number, count) in notes.iter().enumerate() {
        let memory = world.memory.of(&tenant(number));
        for note in 0..*count {
            let body = format!("Remark {note} of {}.", memory.store.tuple());
            let note = Draft { node_type: Some("episodic".into()), ..draft(&format!("note-{note}"), &body) };
            insert::insert(&memory, note, memory.cause("test", "insert")).unwrap();
        }
    }
    world
}

/// A reply without actions that costs some cents.
fn costing(cents: u32) -> Answer {
    let spent = vec![CallCost { cost: Some(f64::from(cents) / 100.0), ..CallCost::default() }];
    nothing().map(|reply| Reply { spent, ..reply })
}

/// The row of a slot an hour later.
fn next_slot(fleet: &Fleet) -> Run {
    fleet.slot_after(Span::HOUR, "reader")
}

/// The number of the tenant of a row.
fn number(row: &Run) -> usize {
    (0..TENANTS.len()).find(|number| tenant(*number) == row.tenant).unwrap()
}

/// The day of the month and the number of the tenant of each row that was not skipped.
fn turns(rows: &[Run]) -> Vec<(String, usize)> {
    let ran = rows.iter().filter(|row| row.status != Status::Skipped);
    ran.map(|row| (row.started.to_string()[8..10].to_owned(), number(row))).collect()
}

#[test]
fn tenants_share_a_budget_and_the_next_day_continues_with_the_next_tenant() {
    let more = "[budget]\nmax-runs-per-day = 2\n";
    let fleet = fleet(&[9, 0, 9, 9, 0], &reader("\"all\"", more));
    let rows: Vec<Run> = (0..72).map(|_| next_slot(&fleet)).collect();
    let turns = turns(&rows);
    let expected = [("21", 0), ("21", 2), ("22", 3), ("22", 0), ("23", 2), ("23", 3), ("24", 0), ("24", 2)];
    assert_eq!(turns, expected.map(|(day, number)| (day.to_owned(), number)));
    let over_budget = rows.iter().filter(|row| row.reason == Some(StatusReason::OverBudget)).count();
    assert_eq!(over_budget, rows.len() - turns.len());
}

#[test]
fn a_tenant_that_has_used_up_its_budget_is_passed_over_until_the_next_day() {
    let more = "[budget]\nmax-runs-per-day = 0\n[budget.per-tenant]\nmax-runs-per-day = 2\n";
    let fleet = fleet(&[9, 0, 3, 0, 0], &reader("\"all\"", more));
    // The first slot is at 9:00.
    let rows: Vec<Run> = (0..24).map(|_| next_slot(&fleet)).collect();
    let turns = turns(&rows);
    let expected = [("21", 0), ("21", 2), ("21", 0), ("21", 2), ("22", 0), ("22", 2), ("22", 0)];
    assert_eq!(turns, expected.map(|(day, number)| (day.to_owned(), number)));
    let held = rows.iter().find(|row| row.status == Status::Skipped).unwrap();
    assert_eq!((held.reason, held.selected.len()), (Some(StatusReason::OverBudget), 0));
    assert_eq!(
        held.message.as_deref(),
        Some(
            "`reader` ran 2 times for the default tenant today, and `budget.per-tenant.max-runs-per-day` is 2"
        )
    );
}

#[test]
fn a_slot_goes_on_with_the_others_when_a_call_does_not_fit_into_the_budget_of_a_tenant() {
    let file = reader("\"all\"", "[budget.per-tenant]\nmax-usd-per-day = 0.05\n");
    let file = file.replace("max-minutes = 0", "max-minutes = 60");
    // After one call of 2 cents, another one that may cost 4 does not fit.
    let mut fleet =
        Fleet::costing(world_of(&[9, 0, 9, 9, 0]), &[("reader", file.as_str())], Some(0.04), |_| costing(2));
    fleet.hours(2);
    let day = fleet.world.memory.now().minus(Span::DAY)..fleet.world.memory.now().plus(Span::DAY);
    let spent = |number: usize| {
        ledger::spending_of_tenant(&fleet.world.memory, "reader", &tenant(number), &day).unwrap().cost
    };
    assert_eq!([0, 2, 3].map(spent), [0.02; 3]);
    assert_eq!([1, 4].map(spent), [0.0; 2]);
}

#[test]
fn spending_is_stored_for_the_tenants_of_the_last_days_only() {
    let fleet = fleet(&[1, 1, 1, 1, 1], &reader("\"all\"", ""));
    (0..5).for_each(|_| drop(next_slot(&fleet)));
    assert_eq!(ledger::stored_tenants(&fleet.world.memory, "reader"), 5);
    fleet.world.clock.advance(Span(7 * Span::DAY.0));
    let memory = fleet.world.memory.of(&tenant(3));
    insert::insert(&memory, draft("later", "Another remark."), memory.cause("test", "insert")).unwrap();
    run(&memory, &fleet.definition("reader"), Trigger::Manual, &fleet.options).unwrap();
    assert_eq!(ledger::stored_tenants(&fleet.world.memory, "reader"), 1);
}

#[test]
fn a_schedule_for_some_tenants_leaves_the_others_to_people() {
    let fleet = fleet(&[2, 0, 0, 2, 0], &reader("\"user=*\"", ""));
    let read: Vec<usize> = (0..2).map(|_| next_slot(&fleet)).map(|row| number(&row)).collect();
    assert_eq!(read, [3, 3]);
    let row = next_slot(&fleet);
    assert_eq!((row.status, row.reason), (Status::Skipped, Some(StatusReason::NotStale)));
    let message = row.message.unwrap();
    assert_eq!(message, "no tenant that matches `schedule.tenants` (user=*) has anything to do");
    let definition = fleet.definition("reader");
    let row = run(&fleet.world.memory, &definition, Trigger::Manual, &fleet.options).unwrap();
    assert_eq!((row.visited.len(), number(&row)), (1, 0), "{row:?}");
}

poc_laws::laws! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    /// After any number of slots, each of `n` tenants with notes that match has had an `n`th of the turns, unless all
    /// its notes are read. No other tenant had any. Runs by people and new processes change nothing.
    #[test]
    fn every_tenant_gets_its_share_of_the_turns(
        notes in proptest::collection::vec(proptest::sample::select(vec![0usize, 1, 2, 16]), TENANTS.len()),
        (patterns, matching) in proptest::sample::select(PATTERNS.to_vec()),
        steps in proptest::collection::vec((proptest::option::weighted(0.3, 0..TENANTS.len()), any::<bool>()), 1..12),
    ) {
        let mut fleet = fleet(&notes, &reader(patterns, "[budget]\nmax-runs-per-day = 0\n"));
        let definition = fleet.definition("reader");
        let (mut turns, mut left) = ([0; TENANTS.len()], notes.clone());
        let sharing = matching.iter().filter(|number| notes[**number] > 0).count();
        for (slot, (asked, restarts)) in steps.into_iter().enumerate() {
            if let Some(asked) = asked {
                let memory = fleet.world.memory.of(&tenant(asked));
                let row = run(&memory, &definition, Trigger::Manual, &fleet.options).unwrap();
                left[asked] -= row.visited.len();
            }
            if restarts {
                fleet.options.idle_tenants = IdleTenants::default();
            }
            let row = next_slot(&fleet);
            let has_work = matching.iter().any(|number| left[*number] > 0);
            prop_assert_eq!(row.visited.len(), usize::from(has_work), "{:?}", row);
            if has_work {
                turns[number(&row)] += 1;
                left[number(&row)] -= 1;
            }
            for number in 0..TENANTS.len() {
                prop_assert!(matching.contains(&number) || turns[number] == 0, "{number} had a turn");
                let is_waiting = matching.contains(&number) && left[number] > 0;
                prop_assert!(!is_waiting || turns[number] >= (slot + 1) / sharing, "{turns:?} of {notes:?}");
            }
        }
    }

    /// No tenant gets more than its budget of a day, and the agent none more than its own, in runs and in dollars,
    /// whatever people start and whenever.
    #[test]
    fn no_budget_is_exceeded(
        most in proptest::array::uniform2(0..4u32),
        cents in proptest::array::uniform2(0..30u32),
        max in 1..9u32,
        batches in any::<bool>(),
        steps in proptest::collection::vec((1..7i64, proptest::option::weighted(0.4, (0..TENANTS.len(), any::<bool>()))), 1..12),
    ) {
        let more = format!(
            "[budget]\nmax-runs-per-day = {}\nmax-usd-per-day = {:.2}\n\
             [budget.per-tenant]\nmax-runs-per-day = {}\nmax-usd-per-day = {:.2}\n",
            most[0], f64::from(cents[0]) / 100.0, most[1], f64::from(cents[1]) / 100.0
        );
        let mut file = reader("\"all\"", &more);
        if batches {
            file = file.replace("max-minutes = 0", "max-minutes = 60");
        }
        let mut calls = 0;
        let world = world_of(&[16, 0, 5, 9, 1]);
        let most_of_call = Some(f64::from(max) / 100.0);
        let mut fleet = Fleet::costing(world, &[("reader", file.as_str())], most_of_call, move |_| {
            calls += 1;
            costing(calls % (max + 1))
        });
        let definition = fleet.definition("reader");
        for (hours, asked) in steps {
            fleet.pass(Span(hours * Span::HOUR.0), Span(30 * Span::MINUTE.0));
            if let Some((asked, dry_run)) = asked {
                let memory = fleet.world.memory.of(&tenant(asked));
                let options = RunOptions { dry_run, ..fleet.options.clone() };
                run(&memory, &definition, Trigger::Manual, &options).unwrap();
            }
            let today = definition.budget_day(fleet.world.memory.now(), fleet.options.zone);
            let state = ledger::state(&fleet.world.memory, "reader").unwrap();
            let of_agent = state.spending_between(today.start, today.end);
            let of_tenants = (0..TENANTS.len()).map(|number| {
                ledger::spending_of_tenant(&fleet.world.memory, "reader", &tenant(number), &today).unwrap()
            });
            let of_tenants: Vec<ledger::Spending> = of_tenants.collect();
            prop_assert!(most[0] == 0 || of_agent.runs <= most[0], "{of_agent:?}");
            prop_assert!(of_agent.cost <= f64::from(cents[0]) / 100.0 + 1e-9, "{of_agent:?}");
            for spending in &of_tenants {
                prop_assert!(most[1] == 0 || spending.runs <= most[1], "{of_tenants:?}");
                prop_assert!(spending.cost <= f64::from(cents[1]) / 100.0 + 1e-9, "{of_tenants:?}");
            }
            let sum: f64 = of_tenants.iter().map(|spending| spending.cost).sum();
            prop_assert!((sum - of_agent.cost).abs() < 1e-9, "{of_tenants:?} of {of_agent:?}");
        }
    }
}
