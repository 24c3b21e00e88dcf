//! Catching up after a sleep.

use super::fleet::{Fleet, nothing};
use crate::ledger::{Run, Status, StatusReason};
use poc_graph::time::Span;
use std::collections::{BTreeMap, BTreeSet};

/// Twenty agents on a machine that slept for three days.
fn slept(fleet: Fleet) -> (Fleet, Vec<Run>) {
    let mut fleet = fleet;
    fleet.tick();
    let before = fleet.rows().len();
    fleet.pass(Span(3 * Span::DAY.0), Span(3 * Span::DAY.0));
    fleet.pass(Span(10 * Span::MINUTE.0), Span::SECOND);
    let rows = fleet.rows().into_iter().skip(before).collect();
    (fleet, rows)
}

fn twenty() -> Fleet {
    let names: Vec<String> = (0..20).map(|count| format!("agent-{count}")).collect();
    let agents: Vec<(&str, &str)> =
        names.iter().map(|name| (name.as_str(), "schedule = \"daily\"\n")).collect();
    let mut fleet = Fleet::new(&agents, |_| nothing());
    fleet.world.config().agents.catch_up_spread = Span(5 * Span::MINUTE.0);
    fleet
}

#[test]
fn catch_up_runs_are_spread_after_a_sleep() {
    let (fleet, rows) = slept(twenty());
    let woke = fleet.world.memory.now().minus(Span(10 * Span::MINUTE.0));
    let ran: Vec<&Run> = rows.iter().filter(|row| row.status == Status::Noop).collect();
    let agents: BTreeSet<&str> = ran.iter().map(|row| row.agent.as_str()).collect();
    assert_eq!((ran.len(), agents.len()), (20, 20), "each runs once");
    let after: Vec<i64> = ran.iter().map(|row| (row.started.0 - woke.0) / Span::SECOND.0).collect();
    assert!(after.iter().all(|after| (0..=300).contains(after)), "{after:?}");
    let spread: BTreeSet<i64> = after.iter().map(|after| after / 30).collect();
    assert!(spread.len() >= 6, "{after:?}");
    // The earlier slots of each agent share one row.
    let missed = |row: &&Run| row.status == Status::Missed;
    assert_eq!(rows.iter().filter(missed).count(), 20);
    assert!(rows.iter().filter(missed).all(|row| row.reason == Some(StatusReason::OutsideWindow)));
}

#[test]
fn delayed_catch_up_runs_survive_a_restart() {
    let mut fleet = twenty();
    fleet.tick();
    fleet.pass(Span(3 * Span::DAY.0), Span(3 * Span::DAY.0));
    fleet.pass(Span::MINUTE, Span::SECOND);
    let ran = |fleet: &Fleet| fleet.rows().iter().filter(|row| row.status == Status::Noop).count();
    assert!((1..20).contains(&ran(&fleet)));
    let mut fleet = fleet.restart();
    fleet.pass(Span(10 * Span::MINUTE.0), Span::SECOND);
    assert_eq!(ran(&fleet), 20);
    assert_eq!(fleet.rows().len(), 40);
}

/// A laptop that is opened for a moment every evening, shorter than the delays of catch-up runs.
#[test]
fn a_delayed_run_that_a_second_sleep_interrupts_still_runs_for_the_latest_slot() {
    let mut fleet = twenty();
    fleet.tick();
    fleet.pass(Span(3 * Span::DAY.0), Span(3 * Span::DAY.0));
    fleet.pass(Span::MINUTE, Span::SECOND);
    let ran = |fleet: &Fleet| {
        let mut ran: BTreeMap<String, usize> = BTreeMap::new();
        for row in fleet.rows().into_iter().filter(|row| row.status == Status::Noop) {
            *ran.entry(row.agent).or_default() += 1;
        }
        ran
    };
    let before = ran(&fleet);
    assert!((1..20).contains(&before.len()), "{before:?}");
    fleet.pass(Span::DAY, Span::DAY);
    fleet.pass(Span(10 * Span::MINUTE.0), Span::SECOND);
    let after = ran(&fleet);
    for count in 0..20 {
        let agent = format!("agent-{count}");
        let runs = |ran: &BTreeMap<String, usize>| ran.get(&agent).copied().unwrap_or(0);
        assert_eq!(runs(&after), runs(&before) + 1, "{agent}: {}", fleet.story());
    }
}

#[test]
fn a_catch_up_delay_is_no_longer_than_the_period() {
    let mut fleet = Fleet::new(&[("often", "schedule = \"every 10m\"\n")], |_| nothing());
    fleet.world.config().agents.catch_up_spread = Span(Span::DAY.0);
    fleet.tick();
    let asleep = Span(6 * Span::HOUR.0 + 5 * Span::MINUTE.0);
    fleet.pass(asleep, asleep);
    let woke = fleet.world.memory.now();
    fleet.pass(Span(10 * Span::MINUTE.0), Span::SECOND);
    let slot = woke.minus(Span(5 * Span::MINUTE.0));
    let rows = fleet.rows();
    let late = rows.iter().find(|row| row.scheduled_at == Some(slot)).unwrap();
    assert_eq!(late.status, Status::Noop);
    assert!(woke <= late.started && late.started <= woke.plus(Span(10 * Span::MINUTE.0)));
}
