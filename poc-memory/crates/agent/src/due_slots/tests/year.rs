//! Years of slots with failures, sleep, crashes and clock changes, compared with slots computed day by day.
//! `POC_MEMORY_YEARS` sets the number of years.

use super::*;
use chrono::{Datelike, Days, MappedLocalTime, NaiveDate, NaiveTime, TimeDelta, TimeZone, Timelike};
use poc_graph::rng::SeededRng;
use std::collections::BTreeMap;

const ZONES: [Tz; 5] = [
    Tz::Europe__Vienna,
    Tz::America__New_York,
    Tz::Australia__Lord_Howe,
    Tz::Asia__Kolkata,
    Tz::Africa__Casablanca,
];

/// The local times of a schedule, defined independently of its parser.
#[derive(Clone, Copy)]
enum Rule {
    /// Daily at a time.
    Daily(u32, u32),
    /// Weekly on a day; 0 is Monday.
    Weekly(u32, u32, u32),
    /// Daily at several minutes of one hour.
    Often(u32),
    /// A period in minutes, counted from 1970.
    Every(i64),
}

impl Rule {
    fn any(dice: &SeededRng) -> Rule {
        // The hours of clock changes.
        match dice.below(0, 4) {
            0 => Rule::Daily(dice.below(0, 4), dice.below(0, 60)),
            1 => Rule::Weekly(6, dice.below(0, 4), dice.below(0, 60)),
            2 => Rule::Often(dice.below(0, 4)),
            _ => Rule::Every(dice.below(30, 1000)),
        }
    }

    fn schedule(self) -> String {
        match self {
            Rule::Daily(hour, minute) => format!("daily at {hour:02}:{minute:02}"),
            Rule::Weekly(_, hour, minute) => format!("weekly on sunday at {hour:02}:{minute:02}"),
            Rule::Often(hour) => format!("cron 0,20,40 {hour} * * *"),
            Rule::Every(minutes) => format!("every {minutes}m"),
        }
    }

    /// Its slots between two instants.
    fn slots(self, zone: Tz, from: Timestamp, until: Timestamp) -> BTreeSet<Timestamp> {
        let times: Vec<(u32, u32)> = match self {
            Rule::Daily(hour, minute) | Rule::Weekly(_, hour, minute) => vec![(hour, minute)],
            Rule::Often(hour) => vec![(hour, 0), (hour, 20), (hour, 40)],
            Rule::Every(minutes) => {
                let step = minutes * Span::MINUTE.0;
                let first = from.0 / step + 1;
                return (first..=until.0 / step).map(|count| Timestamp(count * step)).collect();
            }
        };
        let mut slots = BTreeSet::new();
        let mut day = from.utc().unwrap().with_timezone(&zone).date_naive();
        let last = until.utc().unwrap().with_timezone(&zone).date_naive();
        while day <= last {
            let today = match self {
                Rule::Weekly(weekday, ..) => day.weekday().num_days_from_monday() == weekday,
                _ => true,
            };
            slots.extend(
                times.iter().filter(|_| today).map(|(hour, minute)| instant(zone, day, *hour, *minute)),
            );
            day = day.checked_add_days(Days::new(1)).unwrap();
        }
        slots.into_iter().filter(|slot| *slot > from && *slot <= until).collect()
    }
}

/// The first of two instants, or the end of the gap for a skipped time.
fn instant(zone: Tz, day: NaiveDate, hour: u32, minute: u32) -> Timestamp {
    let mut local = day.and_time(NaiveTime::from_hms_opt(hour, minute, 0).unwrap());
    loop {
        match zone.from_local_datetime(&local) {
            MappedLocalTime::Single(at) | MappedLocalTime::Ambiguous(at, _) => {
                assert_eq!(at.second(), 0);
                return Timestamp(at.timestamp_millis());
            }
            MappedLocalTime::None => local += TimeDelta::minutes(1),
        }
    }
}

/// One agent for a year.
struct YearSimulation {
    world: World,
    rule: Rule,
    zone: Tz,
    now: Timestamp,
    /// The latest time of the clock so far.
    latest: Timestamp,
    /// The outcome of each slot; a range counts for all its slots.
    rows: BTreeMap<Timestamp, Vec<Status>>,
    /// The run in progress: its row and when it ends.
    running: Option<(Run, Timestamp)>,
    repeated: BTreeSet<RunId>,
    runs: u64,
}

impl YearSimulation {
    fn new(dice: &SeededRng) -> YearSimulation {
        let rule = Rule::any(dice);
        let mut world = world(&rule.schedule());
        let zone = ZONES[dice.below(0, ZONES.len())];
        world.rules.timezone = Some(zone);
        world.rules.catch_up = dice.below(0, 10) < 7;
        world.rules.catch_up_window = Span(dice.below(1, 72) * Span::HOUR.0);
        world.rules.cooldown = Span(dice.below(0, 3) * 20 * Span::MINUTE.0);
        world.rules.jitter = Span(dice.below(0, 2) * 15 * Span::MINUTE.0);
        world.pause_after = 0;
        world.reruns = vec![Span(15 * Span::MINUTE.0), Span::HOUR, Span(4 * Span::HOUR.0)];
        world.since = at("2026-01-01T00:00:00Z").plus(Span(dice.below(0, 365) * Span::DAY.0));
        let (now, latest) = (world.since, world.since);
        let (rows, repeated) = (BTreeMap::new(), BTreeSet::new());
        YearSimulation { world, rule, zone, now, latest, rows, running: None, repeated, runs: 0 }
    }

    fn go(&mut self, dice: &SeededRng) {
        let end = self.world.since.plus(Span(365 * Span::DAY.0));
        while self.now < end {
            match dice.below(0, 400) {
                0 => self.now = self.now.plus(Span(dice.below(1, 120) * Span::HOUR.0)),
                1 => self.now = self.now.minus(Span(dice.below(1, 180) * Span::MINUTE.0)),
                2 => self.end(Status::Interrupted),
                _ => self.wait(dice),
            }
            self.latest = self.latest.max(self.now);
            if self.running.as_ref().is_some_and(|(_, ends)| *ends <= self.now) {
                let statuses = [Status::Noop, Status::Ok, Status::Failed, Status::TimedOut];
                self.end(statuses[dice.below(0, statuses.len())]);
            }
            self.poll(dice);
        }
    }

    /// Advances the clock until something may be due.
    fn wait(&mut self, dice: &SeededRng) {
        let state = &self.world.history.state;
        let agent = self.world.agent();
        let rerun = agent.rerun(state).map(|(_, at)| at);
        let ends = self.running.as_ref().map(|(_, ends)| *ends);
        let soonest = agent.next(self.now, self.zone).into_iter().chain(rerun).chain(ends).min().unwrap();
        // A heartbeat may be late.
        self.now = soonest.max(self.now).plus(Span(dice.below(0, 2_000)));
    }

    fn end(&mut self, status: Status) {
        let Some((mut row, _)) = self.running.take() else { return };
        (row.status, row.finished) = (status, Some(self.now));
        self.write(&row);
    }

    fn write(&mut self, row: &Run) {
        self.world.history.state.record(row);
        if let Some(slot) = row.slot().filter(|_| row.status != Status::Running) {
            self.rows.entry(slot).or_default().push(row.status);
        }
    }

    fn poll(&mut self, dice: &SeededRng) {
        for decision in self.world.decide(self.now) {
            self.runs += 1;
            match decision {
                Decision::Run(DueRun { trigger, late, .. }) => {
                    let slot = trigger.due_at().unwrap();
                    assert!(self.running.is_none() && (!late || self.world.rules.catch_up));
                    let mut row = row(self.runs, slot, Status::Running, self.now);
                    row.started = self.now;
                    if let Trigger::Rerun { run: of, .. } = trigger {
                        assert!(self.repeated.insert(of), "the run {of} is repeated twice");
                        (row.trigger, row.rerun_of) = (crate::ledger::TriggerKind::Rerun, Some(of));
                    }
                    assert!(
                        !self.world.history.state.has_outcome(&row)
                            || self.world.history.state.can_retry(slot)
                    );
                    self.write(&row);
                    let takes = Span(dice.below(1, 30) * Span::MINUTE.0);
                    self.running = Some((row, self.now.plus(takes)));
                }
                Decision::Skip(SkippedSlots { slots, trigger, missed, .. }) => {
                    let status = if missed { Status::Missed } else { Status::Skipped };
                    let mut row = row(self.runs, slots.last, status, self.now);
                    if let Trigger::Rerun { run: of, .. } = trigger {
                        (row.trigger, row.rerun_of) = (crate::ledger::TriggerKind::Rerun, Some(of));
                    }
                    if let Trigger::Slot(_) = trigger {
                        self.world.history.state.settle(slots.first, slots.last);
                    }
                    self.write(&row);
                    if slots.count > 1 {
                        let between = self.rule.slots(self.zone, Timestamp(slots.first.0 - 1), slots.last);
                        assert_eq!(between.len(), slots.count.min(between.len()), "{slots}");
                        for slot in between.into_iter().filter(|slot| *slot != slots.last) {
                            self.rows.entry(slot).or_default().push(Status::Missed);
                        }
                    }
                }
            }
        }
        assert!(self.world.decide(self.now).is_empty(), "decided twice");
    }

    fn check(&self) {
        let jitter = self.world.rules.jitter;
        let expected = self.rule.slots(self.zone, self.world.since, self.latest.minus(jitter));
        let running = self.running.as_ref().and_then(|(row, _)| row.slot());
        for slot in &expected {
            let statuses = self.rows.get(slot).map_or(&[][..], Vec::as_slice);
            let (interrupted, ended): (Vec<Status>, Vec<Status>) =
                statuses.iter().partition(|status| **status == Status::Interrupted);
            assert!(ended.len() <= 1 && interrupted.len() <= 2, "{slot}: {statuses:?}");
            assert!(!statuses.is_empty() || running == Some(*slot), "{slot} is not accounted for");
        }
        let reached = self.rule.slots(self.zone, self.world.since, self.latest);
        assert!(self.rows.keys().all(|slot| reached.contains(slot)), "a row without a slot");
    }
}

#[test]
fn every_slot_of_a_year_runs_exactly_once() {
    let years = std::env::var("POC_MEMORY_YEARS").ok().and_then(|years| years.parse().ok()).unwrap_or(12);
    for seed in 0..years {
        let dice = SeededRng::new(seed);
        let mut year = YearSimulation::new(&dice);
        year.go(&dice);
        println!("year {seed}: {} in {}, {} decisions", year.rule.schedule(), year.zone, year.runs);
        year.check();
        assert!(year.runs > 40, "nothing happened");
    }
}
