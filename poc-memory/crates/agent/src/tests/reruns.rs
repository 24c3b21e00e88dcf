//! Reruns of failed runs.

use super::fleet::{Fleet, fails, nothing};
use crate::ledger::{self, Pause, Run, Status, Trigger, TriggerKind};
use crate::pause::{pause, resume};
use crate::run::run;
use crate::scheduler;
use chrono_tz::Tz;
use poc_graph::error::Code;
use poc_graph::time::{Span, Timestamp};

const DAILY: &str = "schedule = \"daily at 09:00\"\n[schedule]\ntimezone = \"UTC\"\n";

/// One agent whose first calls fail.
fn fleet(more: &str, failing: usize) -> Fleet {
    let mut calls = 0;
    Fleet::new(&[("linker", &format!("{DAILY}{more}"))], move |_| {
        calls += 1;
        if calls <= failing { fails() } else { nothing() }
    })
}

#[test]
fn a_failed_run_is_rerun_until_the_list_is_exhausted() {
    let mut fleet = fleet("", usize::MAX);
    fleet.hours(12);
    insta::assert_snapshot!(fleet.story(), @r"
    11-21T09:00 linker schedule: failed provider-down
    11-21T09:15 linker rerun: failed provider-down
    11-21T10:15 linker rerun: failed provider-down
    11-21T14:15 linker rerun: failed provider-down
    ");
    let rows = fleet.rows();
    let repeats: Vec<_> = rows.iter().map(|row| row.rerun_of).collect();
    assert_eq!(repeats, [None, Some(rows[0].id), Some(rows[1].id), Some(rows[2].id)]);
    // The next slot starts over; its run is the fifth failure in a row and pauses the agent.
    fleet.hours(24);
    insta::assert_snapshot!(fleet.story().lines().skip(4).collect::<Vec<_>>().join("\n"), @r"
    11-22T09:00 linker schedule: failed provider-down
    11-22T09:15 linker rerun: skipped paused
    ");
}

#[test]
fn reruns_stop_after_a_success_and_survive_a_restart() {
    let mut fleet = fleet("", 2);
    fleet.hours(1);
    let list = |fleet: &Fleet| {
        let state = ledger::state(&fleet.world.memory, "linker").unwrap();
        let entry = &fleet.catalog.agents["linker"];
        scheduler::next(&fleet.world.memory, "linker", entry, &state, Tz::UTC).unwrap().to_string()
    };
    assert_eq!(list(&fleet), "2026-11-21T09:15:00.000Z");
    let mut fleet = fleet.restart();
    assert_eq!(list(&fleet), "2026-11-21T09:15:00.000Z");
    fleet.hours(12);
    insta::assert_snapshot!(fleet.story(), @r"
    11-21T09:00 linker schedule: failed provider-down
    11-21T09:15 linker rerun: failed provider-down
    11-21T10:15 linker rerun: noop
    ");
    assert_eq!(list(&fleet), "2026-11-22T09:00:00.000Z");
}

#[test]
fn the_next_slot_replaces_a_pending_rerun() {
    let mut fleet =
        Fleet::new(&[("often", "schedule = \"every 1h\"\n[retry]\nrerun = [\"45m\", \"45m\"]\n")], |_| {
            fails()
        });
    fleet.hours(3);
    insta::assert_snapshot!(fleet.story(), @r"
    11-21T09:00 often schedule: failed provider-down
    11-21T09:45 often rerun: failed provider-down
    11-21T10:00 often schedule: failed provider-down
    11-21T10:45 often rerun: failed provider-down
    11-21T11:00 often schedule: failed provider-down
    ");
}

#[test]
fn a_rerun_obeys_cooldown_and_overlap_rules() {
    // Not before the cooldown is over.
    let mut cool = fleet("cooldown = \"2h\"\n", 1);
    cool.hours(6);
    insta::assert_snapshot!(cool.story(), @r"
    11-21T09:00 linker schedule: failed provider-down
    11-21T11:00 linker rerun: noop
    ");
    let mut poor = fleet("[budget]\nmax-runs-per-day = 2\n", usize::MAX);
    poor.hours(6);
    insta::assert_snapshot!(poor.story(), @r"
    11-21T09:00 linker schedule: failed provider-down
    11-21T09:15 linker rerun: failed provider-down
    11-21T10:15 linker rerun: skipped over-budget
    ");
    let mut never = fleet("[retry]\nrerun = []\n", 1);
    never.hours(6);
    assert_eq!(never.rows().len(), 1);
    let mut off = fleet("", 1);
    off.hours(1);
    off.edit("linker", &format!("{DAILY}[freshness]\nmin-stale = 3\n"));
    off.hours(6);
    insta::assert_snapshot!(off.story(), @r"
    11-21T09:00 linker schedule: failed provider-down
    11-21T09:15 linker rerun: skipped not-stale
    ");
}

#[test]
fn a_paused_agent_is_not_rerun() {
    let mut fleet = fleet("", usize::MAX);
    fleet.hours(1);
    let memory = &fleet.world.memory;
    let rest = Pause { since: memory.now(), until: None, note: String::new() };
    pause(memory, "linker", &rest, memory.cause("manual", "agent pause")).unwrap();
    fleet.hours(2);
    let entry = fleet.catalog.agents["linker"].clone();
    resume(&fleet.world.memory, "linker", &entry, fleet.world.memory.cause("manual", "agent resume"))
        .unwrap();
    fleet.hours(6);
    insta::assert_snapshot!(fleet.story(), @r"
    11-21T09:00 linker schedule: failed provider-down
    11-21T09:15 linker rerun: skipped paused
    ");
}

#[test]
fn a_manual_run_is_not_rerun_and_cancels_a_pending_rerun() {
    let mut fleet = fleet("", 2);
    let asked = |fleet: &Fleet| {
        run(&fleet.world.memory, &fleet.definition("linker"), Trigger::Manual, &fleet.options).unwrap()
    };
    assert_eq!(asked(&fleet).status, Status::Failed);
    fleet.pass(Span(59 * Span::MINUTE.0), Span::MINUTE);
    assert_eq!(fleet.rows().len(), 1);
    fleet.pass(Span::MINUTE, Span::MINUTE);
    assert_eq!(fleet.rows()[1].status, Status::Failed);
    assert_eq!(asked(&fleet).status, Status::Noop);
    fleet.hours(6);
    assert_eq!(fleet.rows().len(), 3);
}

#[test]
fn a_missed_rerun_is_caught_up_like_a_slot() {
    let mut late = fleet("", 1);
    late.hours(1);
    late.pass(Span(5 * Span::HOUR.0), Span(5 * Span::HOUR.0));
    insta::assert_snapshot!(late.story(), @r"
    11-21T09:00 linker schedule: failed provider-down
    11-21T09:15 linker rerun: noop
    ");
    let mut not = fleet("catch-up = \"skip\"\n", 1);
    not.hours(1);
    not.pass(Span(5 * Span::HOUR.0), Span(5 * Span::HOUR.0));
    not.hours(5);
    insta::assert_snapshot!(not.story(), @r"
    11-21T09:00 linker schedule: failed provider-down
    11-21T09:15 linker rerun: missed catch-up-off
    ");
}

#[test]
fn a_rerun_is_claimed_once_and_counts_when_its_process_dies() {
    let mut fleet = fleet("", 1);
    fleet.hours(1);
    let failed = fleet.rows()[0].id;
    let claim = |fleet: &Fleet, of| {
        let row =
            Run::for_trigger(&fleet.world.memory, "linker", Trigger::Rerun { run: of, due: Timestamp(0) });
        ledger::claim(&fleet.world.memory, row)
    };
    fleet.world.clock.advance(Span(15 * Span::MINUTE.0));
    let taken = claim(&fleet, failed).unwrap();
    assert_eq!((taken.trigger, taken.rerun_of), (TriggerKind::Rerun, Some(failed)));
    assert_eq!(claim(&fleet, failed).unwrap_err().code, Code::Conflict);
    // The interrupted run counts as the first of three attempts.
    let mut fleet = fleet.restart();
    assert_eq!(claim(&fleet, failed).unwrap_err().code, Code::Conflict);
    let repeat = ledger::state(&fleet.world.memory, "linker").unwrap().pending_rerun().unwrap();
    assert_eq!((repeat.run, repeat.times), (taken.id, 1));
    fleet.hours(2);
    insta::assert_snapshot!(fleet.story(), @r"
    11-21T09:00 linker schedule: failed provider-down
    01-01T00:00 linker rerun: interrupted
    11-21T10:15 linker rerun: noop
    ");
}
