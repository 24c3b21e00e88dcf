//! A week of twenty agents and a growing store, with sleep, kills, clock changes, failing models and exhausted
//! budgets. The expected slots are computed day by day, independently of the scheduler. `POC_MEMORY_WEEKS` sets
//! the number of weeks.

use super::fleet::{Answer, Fleet, fails, nothing};
use super::hostile_replies::asked_for;
use super::world::World;
use crate::due_slots::Tick;
use crate::ledger::{self, AgentState, Pause, Run, Status, TriggerKind};
use crate::model::{CallCost, CallError, Reply};
use crate::pause::{pause, resume};
use crate::run::{Trigger, run};
use crate::schedule::day;
use crate::scheduler::Scheduler;
use chrono::{Datelike, Days, MappedLocalTime, NaiveTime, TimeDelta, TimeZone};
use chrono_tz::Tz;
use poc_graph::rng::SeededRng;
use poc_graph::time::{Span, Timestamp};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Maximum cost of a call in dollars.
const MAX_COST: f64 = 0.02;

/// Daily budget of all agents.
const PER_DAY: f64 = 0.5;

/// An agent: name, schedule, time zone, further lines of its file, and the local times of its slots.
struct Kind {
    name: &'static str,
    schedule: &'static str,
    zone: Tz,
    more: &'static str,
    times: Times,
}

enum Times {
    /// A period in minutes, counted from 1970.
    Every(i64),
    /// At these times on these days of the week, where 0 is Monday; empty means all days.
    At(&'static [(u32, u32)], &'static [u32]),
    /// One slot per day at night, at a minute that follows from the name.
    SmallHours,
    None,
}

fn kinds() -> Vec<Kind> {
    use Times::{At, Every, None, SmallHours};
    let vienna = Tz::Europe__Vienna;
    let kind = |name, schedule, zone, more, times| Kind { name, schedule, zone, more, times };
    vec![
        kind("often", "every 2h", Tz::UTC, "", Every(120)),
        kind("odd", "every 7h", Tz::UTC, "", Every(420)),
        kind("jittery", "every 6h", Tz::UTC, "jitter = \"30m\"\n", Every(360)),
        kind("daily", "daily", vienna, "", SmallHours),
        kind("second-daily", "daily", Tz::America__New_York, "", SmallHours),
        kind("gap", "daily at 02:30", vienna, "", At(&[(2, 30)], &[])),
        kind("gap-twice", "cron 15,45 2 * * *", vienna, "", At(&[(2, 15), (2, 45)], &[])),
        kind("lord-howe", "daily at 02:10", Tz::Australia__Lord_Howe, "", At(&[(2, 10)], &[])),
        kind("weekly", "weekly on sunday at 02:30", vienna, "", At(&[(2, 30)], &[6])),
        kind("workdays", "cron 0 9 * * 1-5", Tz::Asia__Kolkata, "", At(&[(9, 0)], &[0, 1, 2, 3, 4])),
        kind("late-not", "daily at 12:00", Tz::UTC, "catch-up = \"skip\"\n", At(&[(12, 0)], &[])),
        kind("cool", "every 3h", Tz::UTC, "cooldown = \"4h\"\n", Every(180)),
        kind("poor", "every 4h", Tz::UTC, "[budget]\nmax-usd-per-day = 0.03\n", Every(240)),
        kind("few", "every 2h", Tz::UTC, "[budget]\nmax-runs-per-day = 3\n", Every(120)),
        kind("fails", "every 12h", Tz::UTC, "[failure]\npause-after = 4\n", Every(720)),
        kind("panics", "every 12h", Tz::UTC, "[failure]\npause-after = 0\n", Every(720)),
        kind("flaky", "daily at 18:00", Tz::UTC, "[failure]\npause-after = 0\n", At(&[(18, 0)], &[])),
        kind("off", "daily at 06:00", Tz::UTC, "", At(&[(6, 0)], &[])),
        kind("changes", "on-change", Tz::UTC, "", None),
        kind("asked", "on-demand", Tz::UTC, "", None),
    ]
}

impl Kind {
    fn text(&self) -> String {
        let Kind { schedule, zone, more, .. } = self;
        // Visits are stale at once, so that every run has something to do.
        let fresh = "[freshness]\nwindow = \"1s\"\n";
        let (rules, tables) = more.split_at(if more.starts_with('[') { 0 } else { more.len() });
        format!(
            "schedule = \"{schedule}\"\n[schedule]\ntimezone = \"{}\"\n{rules}{fresh}{tables}",
            zone.name()
        )
    }

    /// Its slots after one instant and up to another; `None` if their times are derived from its name.
    fn slots(&self, from: Timestamp, until: Timestamp) -> Option<BTreeSet<Timestamp>> {
        let (times, weekdays) = match self.times {
            Times::Every(minutes) => {
                let step = minutes * Span::MINUTE.0;
                let all = from.0 / step + 1..=until.0 / step;
                return Some(all.map(|count| Timestamp(count * step)).collect());
            }
            Times::At(times, weekdays) => (times, weekdays),
            Times::SmallHours | Times::None => return None,
        };
        let date = |at: Timestamp| at.utc().unwrap().with_timezone(&self.zone).date_naive();
        let (mut today, last, mut slots) = (date(from), date(until), BTreeSet::new());
        while today <= last {
            if weekdays.is_empty() || weekdays.contains(&today.weekday().num_days_from_monday()) {
                slots.extend(times.iter().map(|(hour, minute)| {
                    let mut local = today.and_time(NaiveTime::from_hms_opt(*hour, *minute, 0).unwrap());
                    loop {
                        match self.zone.from_local_datetime(&local) {
                            MappedLocalTime::Single(at) | MappedLocalTime::Ambiguous(at, _) => {
                                return Timestamp(at.timestamp_millis());
                            }
                            MappedLocalTime::None => local += TimeDelta::minutes(1),
                        }
                    }
                }));
            }
            today = today.checked_add_days(Days::new(1)).unwrap();
        }
        Some(slots.into_iter().filter(|slot| *slot > from && *slot <= until).collect())
    }
}

/// The reply of the model; the calls of some agents fail.
fn play(seed: u64) -> impl FnMut(&crate::model::Request<'_>) -> Answer {
    let dice = SeededRng::new(seed);
    move |request| {
        let spent = |share: f64| vec![CallCost { cost: Some(MAX_COST * share), ..CallCost::default() }];
        match request.agent {
            "fails" => fails(),
            "panics" => panic!("a defect"),
            "flaky" if dice.below(0, 2) == 0 => Err(CallError::TimedOut(Span::MINUTE).into()),
            _ if dice.below(0, 20) == 0 => fails(),
            _ => nothing().map(|reply| Reply { spent: spent(dice.below(1, 11) as f64 / 10.0), ..reply }),
        }
    }
}

/// The start and the latest time of the clock, and whether it was ever set back.
struct WeekSimulation {
    fleet: Fleet,
    since: Timestamp,
    latest: Timestamp,
    set_back: bool,
}

fn simulate(seed: u64, from: &str) -> WeekSimulation {
    let dice = SeededRng::new(seed);
    let mut world = World::new();
    world.clock.set(Timestamp::parse(from).unwrap());
    world.config().agents.keep_rows = 100_000;
    world.config().budget.max_usd_per_day = PER_DAY;
    world.note("first", "about page splits");
    let texts: Vec<(&str, String)> = kinds().iter().map(|kind| (kind.name, kind.text())).collect();
    let agents: Vec<(&str, &str)> = texts.iter().map(|(name, text)| (*name, text.as_str())).collect();
    let mut fleet = Fleet::costing(world, &agents, Some(MAX_COST), play(seed));
    let since = fleet.world.memory.now();
    let (mut latest, mut set_back, mut notes) = (since, false, 0);
    let end = since.plus(Span(7 * Span::DAY.0));
    let mut slept = false;
    while fleet.world.memory.now() < end {
        let now = fleet.world.memory.now();
        fleet.world.clock.set(match dice.below(0, 500) {
            // Three days, once.
            0 if !slept => {
                slept = true;
                now.plus(Span(3 * Span::DAY.0))
            }
            1..5 => now.plus(Span(dice.below(1, 20) * Span::HOUR.0)),
            5 if seed.is_multiple_of(2) => {
                set_back = true;
                now.minus(Span(dice.below(1, 180) * Span::MINUTE.0))
            }
            _ => now.plus(Span(dice.below(60, 900) * Span::SECOND.0)),
        });
        latest = latest.max(fleet.world.memory.now());
        fleet = act(fleet, &dice, &mut notes);
        tick(&mut fleet);
    }
    // Catch-up runs are spread over some minutes.
    fleet.world.clock.set(latest);
    for _ in 0..60 {
        fleet.world.clock.advance(Span::MINUTE);
        tick(&mut fleet);
    }
    WeekSimulation { fleet, since, latest, set_back }
}

/// Runs what is due. A run that panics does not stop the others.
fn tick(fleet: &mut Fleet) {
    for outcome in fleet.tick() {
        if let Err(error) = outcome {
            assert!(error.message.contains("a defect"), "{error:?}\n{}", fleet.story());
        }
    }
}

/// Occasional actions of people and the machine.
fn act(mut fleet: Fleet, dice: &SeededRng, notes: &mut usize) -> Fleet {
    let memory = &fleet.world.memory;
    match dice.below(0, 150) {
        0..4 => {
            *notes += 1;
            fleet.world.note(&format!("note-{notes}"), &format!("the note number {notes}"));
        }
        4 => {
            let asked = run(memory, &fleet.definition("asked"), Trigger::Manual, &fleet.options);
            assert!(asked.is_ok(), "{asked:?}");
        }
        5 => {
            let until = Some(memory.now().plus(Span(dice.below(1, 30) * Span::HOUR.0)));
            let rest = Pause { since: memory.now(), until, note: String::new() };
            pause(memory, "off", &rest, memory.cause("manual", "agent pause")).unwrap();
        }
        6 => {
            let entry = fleet.catalog.agents["fails"].clone();
            resume(memory, "fails", &entry, memory.cause("manual", "agent resume")).unwrap();
        }
        // The process is killed in the middle of its runs.
        7..9 => {
            let tick = Tick::now(memory, Tz::UTC);
            if fleet.scheduler.needs_poll(memory, &fleet.catalog) {
                for slot in fleet.scheduler.poll(memory, fleet.catalog.clone(), tick, &BTreeMap::new()) {
                    let row = Run::for_trigger(memory, &slot.agent, slot.trigger);
                    ledger::claim_for(memory, row, slot.trigger).unwrap();
                }
            }
            fleet = fleet.restart();
        }
        9 => fleet = fleet.restart(),
        // A file is saved again, so all agents are scanned.
        10 => fleet.catalog = Arc::new((*fleet.catalog).clone()),
        11 => fleet.scheduler = Scheduler::default(),
        _ => {}
    }
    fleet
}

/// The first and last slot of a row that covers several.
fn stretch(row: &Run) -> Option<(Timestamp, Timestamp)> {
    let message = row.message.as_deref()?;
    let (from, to) = message.split_once(" slots from ")?.1.split_once(" to ")?;
    Some((Timestamp::parse(from).ok()?, Timestamp::parse(to).ok()?))
}

fn check(simulation: &WeekSimulation, seed: u64) {
    let rows = simulation.fleet.rows();
    for kind in kinds() {
        let own: Vec<&Run> = rows.iter().filter(|row| row.agent == kind.name).collect();
        let context =
            |what: &str| format!("seed {seed}, {}: {what}\n{}", kind.name, simulation.fleet.story());
        assert!(!own.is_empty() || kind.name == "asked", "{}", context("no row"));
        let scheduled = || own.iter().filter(|row| row.trigger == TriggerKind::Slot);
        let covers = |slot: Timestamp| {
            scheduled().filter(move |row| {
                row.scheduled_at == Some(slot)
                    || stretch(row).is_some_and(|(from, to)| from <= slot && slot <= to)
            })
        };
        let jitter = Span(30 * Span::MINUTE.0);
        for slot in kind.slots(simulation.since, simulation.latest.minus(jitter)).unwrap_or_default() {
            let ended = covers(slot).filter(|row| row.status != Status::Interrupted).count();
            let interrupted = covers(slot).count() - ended;
            assert!(ended + interrupted >= 1, "{}", context(&format!("{slot} has no row")));
            assert!(ended <= 1 && interrupted <= 2, "{}", context(&format!("{slot} has {ended} rows")));
        }
        if let Some(all) = kind.slots(simulation.since, simulation.fleet.world.memory.now()) {
            let strays = scheduled().filter(|row| row.scheduled_at.is_none_or(|slot| !all.contains(&slot)));
            assert_eq!(strays.count(), 0, "{}", context("rows without a slot"));
        }
        // Each failed run is repeated only once, and the row of the rerun names it.
        let repeats: Vec<_> = own.iter().filter_map(|row| row.rerun_of).collect();
        assert_eq!(
            repeats.len(),
            repeats.iter().collect::<BTreeSet<_>>().len(),
            "{}",
            context("repeated twice")
        );
        spending(&kind, &own, &context);
        let state = ledger::state(&simulation.fleet.world.memory, kind.name).unwrap();
        assert_eq!(state.running(), None, "{}", context("a run without an end"));
        if !simulation.set_back && kind.name != "fails" {
            // Except for pauses, the state follows from the rows.
            let of_rows = AgentState::of(own.iter().copied());
            assert_eq!(
                (state.last(), state.pending_rerun()),
                (of_rows.last(), of_rows.pending_rerun()),
                "{}",
                context("state")
            );
            assert_eq!(state.failures(), of_rows.failures(), "{}", context("state"));
        }
    }
    let mut days: BTreeMap<Timestamp, f64> = BTreeMap::new();
    for row in &rows {
        *days.entry(day(row.started, Tz::UTC).start).or_default() += row.cost.unwrap_or(0.0);
    }
    assert!(days.values().all(|spent| *spent <= PER_DAY + 1e-9), "seed {seed}: {days:?}");
    // No agent with several slots a day starves. For an agent with one slot in the evening, other agents may
    // have used up the budget every day.
    for name in ["often", "odd", "jittery", "changes", "cool", "poor", "few"] {
        // A call that timed out leaves no record of its cost.
        let called = |row: &Run| !row.calls.is_empty() || row.status == Status::TimedOut;
        let ran = rows.iter().any(|row| row.agent == name && called(row));
        assert!(ran, "seed {seed}: {name} never ran\n{}", simulation.fleet.story());
    }
}

/// Checks the budget of a day.
fn spending(kind: &Kind, own: &[&Run], context: &dyn Fn(&str) -> String) {
    let mut days: BTreeMap<Timestamp, (usize, f64)> = BTreeMap::new();
    // A run that was killed at its start had not checked its budget yet.
    let killed = |row: &Run| row.status == Status::Interrupted && row.calls.is_empty();
    let left_out = |row: &Run| matches!(row.status, Status::Skipped | Status::Missed) || killed(row);
    let begun = own.iter().filter(|row| !left_out(row));
    for row in begun {
        let today = days.entry(day(row.started, kind.zone).start).or_default();
        *today = (today.0 + 1, today.1 + row.cost.unwrap_or(0.0));
    }
    let max = if kind.name == "few" { 3 } else { 24 };
    assert!(days.values().all(|(runs, _)| *runs <= max), "{}", context("too many runs of a day"));
    if kind.name == "poor" {
        assert!(days.values().all(|(_, spent)| *spent <= 0.03 + 1e-9), "{}", context("too much money"));
    }
}

#[test]
fn every_slot_of_a_week_is_accounted_for() {
    let weeks = asked_for("POC_MEMORY_WEEKS", 3);
    // Weeks with the start and the end of daylight saving time, in Vienna and on Lord Howe Island, and one without.
    let starts =
        ["2026-03-25T00:00:00Z", "2026-10-21T00:00:00Z", "2026-04-01T00:00:00Z", "2026-11-21T00:00:00Z"];
    for (seed, from) in (0..weeks).zip(starts.iter().cycle()) {
        check(&simulate(seed, from), seed);
    }
}
