use super::*;
use crate::definition::{ScheduleRules, TenantPatterns};
use crate::ledger::{Run, Status};
use crate::schedule::Schedule;
use poc_graph::RunId;
use proptest::prelude::*;
use std::collections::BTreeSet;

mod year;

const TOLERANCE: Span = Span::MINUTE;

/// An agent and its stored history.
struct World {
    schedule: Schedule,
    rules: ScheduleRules,
    enabled: bool,
    pause_after: u32,
    reruns: Vec<Span>,
    since: Timestamp,
    history: RunHistory,
}

fn world(schedule: &str) -> World {
    World {
        schedule: Schedule::parse(schedule, "linker").unwrap(),
        rules: ScheduleRules {
            timezone: None,
            jitter: Span(0),
            catch_up: true,
            catch_up_window: Span::DAY,
            cooldown: Span(0),
            tenants: TenantPatterns::default(),
        },
        enabled: true,
        pause_after: 0,
        reruns: Vec::new(),
        since: at("2026-11-01T00:00:00Z"),
        history: RunHistory::default(),
    }
}

impl World {
    fn agent(&self) -> TaskTiming<'_> {
        let World { schedule, rules, enabled, pause_after, reruns, since, .. } = self;
        let (enabled, pause_after, since) = (*enabled, *pause_after, *since);
        TaskTiming { name: "linker", enabled, schedule, rules, pause_after, reruns, since }
    }

    fn decide(&self, now: Timestamp) -> Vec<Decision> {
        let mut decisions = Vec::new();
        let tick = Tick { now, zone: Tz::Europe__Berlin, tolerance: TOLERANCE };
        SlotCheck { agent: self.agent(), history: &self.history, tick }.plan(&mut decisions);
        decisions
    }

    fn row(&mut self, slot: &str, status: Status, ended: &str) {
        self.history.state.record(&row(0, at(slot), status, at(ended)));
    }

    /// The decisions at an instant as text.
    fn decisions_at(&self, now: &str) -> String {
        let words = self.decide(at(now)).into_iter().map(|decision| match decision {
            Decision::Run(DueRun { trigger, late, .. }) => {
                let again = if matches!(trigger, Trigger::Slot(_)) { "" } else { " again" };
                format!("run{again} {trigger}{}", if late { " late" } else { "" })
            }
            Decision::Skip(SkippedSlots { slots, missed, reason, trigger, .. }) => {
                assert_eq!(trigger.due_at(), Some(slots.last));
                let again = if matches!(trigger, Trigger::Slot(_)) { "" } else { " again" };
                format!("{}{again} {slots}: {}", if missed { "missed" } else { "skipped" }, reason.name())
            }
        });
        words.collect::<Vec<_>>().join("; ")
    }
}

/// The row of a slot.
fn row(id: u64, slot: Timestamp, status: Status, ended: Timestamp) -> Run {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&id.to_be_bytes());
    let mut row = Run::new(RunId::from_bytes(bytes), "linker", Some(slot), slot);
    (row.status, row.finished) = (status, (status != Status::Running).then_some(ended));
    row
}

fn at(text: &str) -> Timestamp {
    Timestamp::parse(text).unwrap()
}

#[test]
fn a_slot_runs_once_when_its_time_comes() {
    let mut world = world("daily at 03:30");
    world.row("2026-11-20T02:30:00Z", Status::Ok, "2026-11-20T02:31:00Z");
    insta::assert_snapshot!(world.decisions_at("2026-11-21T02:29:59Z"), @"");
    insta::assert_snapshot!(world.decisions_at("2026-11-21T02:30:00Z"), @"run 2026-11-21T02:30:00.000Z");
    world.row("2026-11-21T02:30:00Z", Status::Running, "2026-11-21T02:30:00Z");
    insta::assert_snapshot!(world.decisions_at("2026-11-21T02:30:01Z"), @"");
}

#[test]
fn slots_before_the_agent_existed_are_not_due() {
    let mut world = world("every 6h");
    world.since = at("2026-11-21T11:59:00Z");
    insta::assert_snapshot!(world.decisions_at("2026-11-21T11:59:30Z"), @"");
    insta::assert_snapshot!(world.decisions_at("2026-11-21T12:00:00Z"), @"run 2026-11-21T12:00:00.000Z");
}

#[test]
fn the_latest_missed_slot_runs_and_the_others_share_a_row() {
    let mut world = world("every 6h");
    world.row("2026-11-15T00:00:00Z", Status::Ok, "2026-11-15T00:01:00Z");
    insta::assert_snapshot!(world.decisions_at("2026-11-21T13:00:00Z"), @"missed 22 slots from 2026-11-15T06:00:00.000Z to 2026-11-20T12:00:00.000Z: outside-window; missed 3 slots from 2026-11-20T18:00:00.000Z to 2026-11-21T06:00:00.000Z: caught-up; run 2026-11-21T12:00:00.000Z late");
    world.rules.catch_up = false;
    insta::assert_snapshot!(world.decisions_at("2026-11-21T13:00:00Z"), @"missed 26 slots from 2026-11-15T06:00:00.000Z to 2026-11-21T12:00:00.000Z: catch-up-off");
    world.rules.catch_up = true;
    world.rules.catch_up_window = Span::MINUTE;
    insta::assert_snapshot!(world.decisions_at("2026-11-21T13:00:00Z"), @"missed 26 slots from 2026-11-15T06:00:00.000Z to 2026-11-21T12:00:00.000Z: outside-window");
    // A slot on time runs regardless of earlier slots.
    insta::assert_snapshot!(world.decisions_at("2026-11-21T12:00:30Z"), @"missed 25 slots from 2026-11-15T06:00:00.000Z to 2026-11-21T06:00:00.000Z: outside-window; run 2026-11-21T12:00:00.000Z");
}

#[test]
fn slots_before_a_pause_have_their_own_reasons() {
    let mut world = world("every 6h");
    world.row("2026-11-15T00:00:00Z", Status::Ok, "2026-11-15T00:01:00Z");
    let since = at("2026-11-19T03:00:00Z");
    world.history.state.set_pause(Pause { since, until: None, note: String::new() });
    insta::assert_snapshot!(world.decisions_at("2026-11-21T13:00:00Z"), @"missed 16 slots from 2026-11-15T06:00:00.000Z to 2026-11-19T00:00:00.000Z: outside-window; missed 9 slots from 2026-11-19T06:00:00.000Z to 2026-11-21T06:00:00.000Z: paused; skipped the slot 2026-11-21T12:00:00.000Z: paused");
    world.rules.catch_up = false;
    insta::assert_snapshot!(world.decisions_at("2026-11-21T13:00:00Z"), @"missed 16 slots from 2026-11-15T06:00:00.000Z to 2026-11-19T00:00:00.000Z: catch-up-off; missed 9 slots from 2026-11-19T06:00:00.000Z to 2026-11-21T06:00:00.000Z: paused; skipped the slot 2026-11-21T12:00:00.000Z: paused");
    // A slot is not caught up during a pause.
    world.rules.catch_up = true;
    world.rules.catch_up_window = Span::WEEK;
    insta::assert_snapshot!(world.decisions_at("2026-11-21T13:00:00Z"), @"missed 25 slots from 2026-11-15T06:00:00.000Z to 2026-11-21T06:00:00.000Z: paused; skipped the slot 2026-11-21T12:00:00.000Z: paused");
}

#[test]
fn a_long_absence_is_one_row() {
    let mut world = world("every 1s");
    world.row("2026-11-02T00:00:00Z", Status::Ok, "2026-11-02T00:00:00Z");
    insta::assert_snapshot!(world.decisions_at("2026-11-21T13:00:00Z"), @"missed more than 1000 slots from 2026-11-02T00:00:01.000Z to 2026-11-20T12:59:59.000Z: outside-window; missed more than 1000 slots from 2026-11-20T13:00:00.000Z to 2026-11-21T12:59:59.000Z: caught-up; run 2026-11-21T13:00:00.000Z");
}

#[test]
fn a_blocked_slot_reports_its_reason() {
    let mut world = world("every 6h");
    world.row("2026-11-21T06:00:00Z", Status::Running, "2026-11-21T06:00:00Z");
    insta::assert_snapshot!(world.decisions_at("2026-11-21T12:00:00Z"), @"skipped the slot 2026-11-21T12:00:00.000Z: overlap");
    world.history = RunHistory::default();
    world.row("2026-11-21T06:00:00Z", Status::Ok, "2026-11-21T11:00:00Z");
    world.rules.cooldown = Span(2 * Span::HOUR.0);
    insta::assert_snapshot!(world.decisions_at("2026-11-21T12:00:00Z"), @"skipped the slot 2026-11-21T12:00:00.000Z: cooldown");
    world.enabled = false;
    insta::assert_snapshot!(world.decisions_at("2026-11-21T12:00:00Z"), @"skipped the slot 2026-11-21T12:00:00.000Z: disabled");
}

#[test]
fn an_interrupted_slot_is_retried_once() {
    let mut world = world("every 6h");
    let slot = "2026-11-21T12:00:00Z";
    world.row(slot, Status::Interrupted, "2026-11-21T12:05:00Z");
    insta::assert_snapshot!(world.decisions_at("2026-11-21T12:10:00Z"), @"run 2026-11-21T12:00:00.000Z late");
    // A later slot covers it.
    insta::assert_snapshot!(world.decisions_at("2026-11-21T18:00:00Z"), @"run 2026-11-21T18:00:00.000Z");
    world.row(slot, Status::Interrupted, "2026-11-21T12:15:00Z");
    insta::assert_snapshot!(world.decisions_at("2026-11-21T12:20:00Z"), @"");
}

#[test]
fn slots_run_after_a_clock_that_was_ahead_is_corrected() {
    let mut world = world("daily at 03:30");
    world.row("2026-11-20T02:30:00Z", Status::Ok, "2026-11-20T02:31:00Z");
    world.row("2036-11-20T02:30:00Z", Status::Ok, "2036-11-20T02:31:00Z");
    world.rules.cooldown = Span::HOUR;
    insta::assert_snapshot!(world.decisions_at("2026-11-20T12:00:00Z"), @"");
    insta::assert_snapshot!(world.decisions_at("2026-11-21T02:30:00Z"), @"run 2026-11-21T02:30:00.000Z");
}

#[test]
fn jitter_is_fixed_per_slot_and_keeps_their_order() {
    let mut world = world("every 10m");
    world.rules.jitter = Span::HOUR;
    let slots: Vec<Timestamp> =
        (0..50).map(|index| at("2026-11-21T00:00:00Z").plus(Span(index * 10 * Span::MINUTE.0))).collect();
    let starts: Vec<Timestamp> = slots.iter().map(|slot| world.agent().start(*slot)).collect();
    assert!(starts.is_sorted());
    assert_eq!(starts, slots.iter().map(|slot| world.agent().start(*slot)).collect::<Vec<_>>());
    let delays: BTreeSet<i64> = slots.iter().zip(&starts).map(|(slot, start)| start.0 - slot.0).collect();
    assert!(delays.len() > 40 && delays.iter().all(|delay| (0..10 * Span::MINUTE.0).contains(delay)));
    for start in starts {
        assert_eq!(world.agent().next(Timestamp(start.0 - 1), Tz::UTC), Some(start));
    }
}

/// An event between two polls.
#[derive(Clone, Debug)]
enum Step {
    /// Time passes while the process polls regularly.
    Awake { seconds: i64, ticks: i64 },
    /// Time passes while no process runs; the run in progress is interrupted.
    Down { hours: i64 },
    /// The clock is set.
    Set { hours: i64 },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        8 => (1..20_000i64, 1..25i64).prop_map(|(seconds, ticks)| Step::Awake { seconds, ticks }),
        3 => (1..200i64).prop_map(|hours| Step::Down { hours }),
        1 => (-300..300i64).prop_map(|hours| Step::Set { hours }),
    ];
    proptest::collection::vec(step, 1..40)
}

/// A model of the store that refuses to run a slot twice. The rows serve only as a check; decisions use the
/// state, as if all rows had been pruned.
#[derive(Default)]
struct Ledger {
    state: AgentState,
    rows: Vec<(Timestamp, Status, Timestamp)>,
    ranges: Vec<SlotRange>,
}

impl Ledger {
    fn history(&self) -> RunHistory {
        RunHistory::from(self.state.clone())
    }

    fn take(&mut self, slot: Timestamp, status: Status, now: Timestamp) -> Result<(), TestCaseError> {
        for (other, other_status, _) in &self.rows {
            prop_assert!(*other != slot || *other_status == Status::Interrupted, "{slot} twice");
        }
        self.state.record(&row(self.rows.len() as u64, slot, status, now));
        self.rows.push((slot, status, now));
        Ok(())
    }

    fn end(&mut self, now: Timestamp, status: Status) {
        for (id, ended) in self.rows.iter_mut().enumerate().filter(|(_, row)| row.1 == Status::Running) {
            (ended.1, ended.2) = (status, now);
            self.state.record(&row(id as u64, ended.0, status, now));
        }
    }

    fn knows(&self, slot: Timestamp) -> bool {
        self.rows.iter().any(|row| row.0 == slot)
            || self.ranges.iter().any(|stretch| (stretch.first..=stretch.last).contains(&slot))
    }
}

poc_laws::laws! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_slot_runs_twice_and_every_slot_is_accounted_for(
        steps in steps(),
        schedule in prop_oneof![
            Just("daily"), Just("every 47m"), Just("cron 30 2 * * *"), Just("cron */20 1-3 * * *"), Just("hourly")
        ],
        start in prop_oneof![Just("2026-03-20T00:00:00Z"), Just("2026-10-18T00:00:00Z"), Just("2026-01-01T00:00:00Z")],
        catch_up in any::<bool>(),
        jitter in prop_oneof![Just(0), 0..Span::HOUR.0],
        cooldown in prop_oneof![Just(0), 0..2 * Span::HOUR.0],
    ) {
        let mut world = world(schedule);
        world.since = at(start);
        world.rules.catch_up = catch_up;
        world.rules.jitter = Span(jitter);
        world.rules.cooldown = Span(cooldown);
        let mut ledger = Ledger::default();
        let mut now = world.since;
        let mut latest = now;
        for step in steps {
            let (span, ticks) = match step {
                Step::Awake { seconds, ticks } => (Span(seconds * 1000 / ticks), ticks),
                Step::Down { hours } => {
                    ledger.end(now, Status::Interrupted);
                    (Span(hours * Span::HOUR.0), 1)
                }
                Step::Set { hours } => (Span(hours * Span::HOUR.0), 1),
            };
            for _ in 0..ticks {
                now = now.plus(span);
                latest = latest.max(now);
                // A run takes two polls.
                if now.0 % 2 == 0 {
                    ledger.end(now, Status::Ok);
                }
                world.history = ledger.history();
                let decisions = world.decide(now);
                let runs = decisions.iter().filter(|decision| matches!(decision, Decision::Run(_)));
                prop_assert!(runs.count() <= 1);
                for decision in decisions {
                    match decision {
                        Decision::Run(DueRun { trigger, late, .. }) => {
                            let slot = trigger.due_at().unwrap();
                            prop_assert!(world.agent().start(slot) <= now);
                            prop_assert!(!late || catch_up);
                            ledger.take(slot, Status::Running, now)?;
                        }
                        Decision::Skip(SkippedSlots { slots, missed, .. }) => {
                            let status = if missed { Status::Missed } else { Status::Skipped };
                            ledger.take(slots.last, status, now)?;
                            ledger.state.settle(slots.first, slots.last);
                            ledger.ranges.push(slots);
                        }
                    }
                }
                world.history = ledger.history();
                prop_assert_eq!(world.decide(now), vec![], "decided twice");
            }
        }
        let mut slot = world.since;
        loop {
            slot = world.schedule.next_after(slot, Tz::Europe__Berlin).unwrap();
            if world.agent().start(slot) > latest {
                break;
            }
            prop_assert!(ledger.knows(slot), "{slot} is not accounted for");
        }
    }
}
