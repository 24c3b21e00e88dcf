//! Pauses of agents, by a person or after too many failures.

use super::world::{ScriptedModel, World, agent};
use crate::AgentStatus;
use crate::Catalog;
use crate::CatalogEntry;
use crate::Definition;
use crate::EntryState;
use crate::due_slots::Tick;
use crate::ledger::{self, Pause, Run, Status, StatusReason};
use crate::model::CallError;
use crate::pause::{pause, resume};
use crate::pause_reason::PauseReason;
use crate::run::RunOptions;
use crate::scheduler::{self, Scheduler};
use chrono_tz::Tz;
use poc_graph::error::Code;
use poc_graph::time::{Span, Timestamp};
use std::sync::Arc;

fn entry(definition: Definition, since: Timestamp) -> CatalogEntry {
    CatalogEntry { definition: Some(Arc::new(definition)), state: EntryState::Ok, errors: Vec::new(), since }
}

fn catalog_of(entry: &CatalogEntry) -> Arc<Catalog> {
    let mut catalog = Catalog::default();
    catalog.agents.insert("tester".into(), entry.clone());
    Arc::new(catalog)
}

fn failing_model() -> ScriptedModel<'static> {
    ScriptedModel::new(vec![Err(CallError::Down("no answer".into()).into())])
}

/// The statuses of the runs of so many hours, with one poll an hour.
fn hours(world: &World, scheduler: &mut Scheduler, catalog: &Arc<Catalog>, hours: u32) -> Vec<String> {
    let mut statuses = Vec::new();
    for _ in 0..hours {
        world.clock.advance(Span::HOUR);
        let tick = Tick::now(&world.memory, Tz::UTC);
        for row in scheduler.tick(&world.memory, catalog, tick, &RunOptions::default()) {
            statuses.push(row.unwrap().unwrap().status.name().to_owned());
        }
    }
    statuses
}

fn skipped(world: &World, reason: StatusReason) -> usize {
    let rows = ledger::rows(&world.memory, None, usize::MAX).unwrap();
    rows.iter().filter(|row| row.status == Status::Skipped && row.reason == Some(reason)).count()
}

#[test]
fn a_paused_agent_leaves_rows_and_resumes_by_itself() {
    let world = World::new();
    world.note("a", "about page splits");
    let entry = entry(
        agent("\"link-add\"", "schedule = \"every 1h\"\n[freshness]\nwindow = \"1d\"\n"),
        world.memory.now(),
    );
    let (catalog, mut scheduler) = (catalog_of(&entry), Scheduler::default());
    assert_eq!(hours(&world, &mut scheduler, &catalog, 2), ["noop", "skipped"]);

    let since = world.memory.now();
    let until = since.plus(Span(3 * Span::HOUR.0));
    let rest = Pause { since, until: Some(until), note: "moving house".into() };
    pause(&world.memory, "tester", &rest, world.memory.cause("manual", "agent pause")).unwrap();
    let paused = entry.paused(&ledger::state(&world.memory, "tester").unwrap(), since).unwrap();
    assert_eq!(entry.status(Some(&paused), None), AgentStatus::Paused);
    insta::assert_snapshot!(paused.line("tester"), @"paused since 2026-11-21 10:00Z until 2026-11-21 13:00Z: moving house");
    // The forecast of the next run respects the pause.
    let next_run = scheduler::next_run(&world.memory, &catalog, Tz::UTC).unwrap();
    assert_eq!(next_run, Some(("tester".to_owned(), until)));
    let world = world.reopen();
    let mut scheduler = Scheduler::default();
    assert_eq!(hours(&world, &mut scheduler, &catalog, 2), Vec::<String>::new());
    assert_eq!(skipped(&world, StatusReason::Paused), 2);
    // The slot exactly at the end of the pause runs.
    assert_eq!(hours(&world, &mut scheduler, &catalog, 1), ["skipped"]);
    assert_eq!((skipped(&world, StatusReason::Paused), skipped(&world, StatusReason::NotStale)), (2, 2));
    let former =
        resume(&world.memory, "tester", &entry, world.memory.cause("manual", "agent resume")).unwrap();
    assert_eq!(former, None);
}

#[test]
fn the_slots_of_an_hour_of_a_pause_share_a_row() {
    let world = World::new();
    world.note("a", "about page splits");
    let entry = entry(agent("\"link-add\"", "schedule = \"every 10m\"\n"), world.memory.now());
    let (catalog, mut scheduler) = (catalog_of(&entry), Scheduler::default());
    let rest = Pause { since: world.memory.now(), until: None, note: String::new() };
    pause(&world.memory, "tester", &rest, world.memory.cause("manual", "agent pause")).unwrap();
    let mut poll = || {
        world.clock.advance(Span(10 * Span::MINUTE.0));
        let tick = Tick::now(&world.memory, Tz::UTC);
        let outcomes = scheduler.tick(&world.memory, &catalog, tick, &RunOptions::default());
        (world.memory.now(), outcomes.len())
    };
    let polled: Vec<(Timestamp, usize)> = (0..13).map(|_| poll()).collect();
    assert!(polled.iter().all(|(_, ran)| *ran == 0));
    let state = ledger::state(&world.memory, "tester").unwrap();
    assert!(polled.iter().all(|(slot, _)| state.is_settled(*slot)));
    let mut rows = ledger::rows(&world.memory, None, usize::MAX).unwrap();
    rows.reverse();
    assert!(rows.iter().all(|row| (row.status, row.reason) == (Status::Skipped, Some(StatusReason::Paused))));
    let shared = |first: usize, last: usize| {
        (Some(polled[first].0), Some(format!("the slots from {} to {}", polled[first].0, polled[last].0)))
    };
    let found: Vec<_> = rows.iter().map(|row| (row.scheduled_at, row.message.clone())).collect();
    assert_eq!(found, [shared(0, 5), shared(6, 11), (Some(polled[12].0), None)]);
    resume(&world.memory, "tester", &entry, world.memory.cause("manual", "agent resume")).unwrap();
    // No slot of the pause is caught up.
    assert_eq!(poll().1, 1);
}

#[test]
fn an_agent_that_is_paused_or_disabled_writes_its_skipped_slots_together() {
    for reason in [StatusReason::Paused, StatusReason::Disabled] {
        let world = World::new();
        world.note("a", "about page splits");
        let mut definition = agent("\"link-add\"", "schedule = \"every 1s\"\n");
        definition.enabled = reason != StatusReason::Disabled;
        let entry = entry(definition, world.memory.now());
        let (catalog, mut scheduler) = (catalog_of(&entry), Scheduler::default());
        if reason == StatusReason::Paused {
            let rest = Pause { since: world.memory.now(), until: None, note: String::new() };
            pause(&world.memory, "tester", &rest, world.memory.cause("manual", "agent pause")).unwrap();
        }
        let before = world.memory.store.published_seq();
        let mut poll = |seconds: i64, catalog: &Arc<Catalog>| {
            world.clock.advance(Span(seconds * Span::SECOND.0));
            let tick = Tick::now(&world.memory, Tz::UTC);
            (tick.now, scheduler.tick(&world.memory, catalog, tick, &RunOptions::default()).len())
        };
        // Some polls come late, so several slots have passed.
        let polled: Vec<_> = (0..1500).map(|index| poll(1 + index % 3, &catalog)).collect();
        assert!(polled.iter().all(|(_, ran)| *ran == 0));
        let written = world.memory.store.published_seq() - before;
        assert!((8..=12).contains(&written), "{written} transactions in 50 minutes");
        let rows = ledger::rows(&world.memory, None, usize::MAX).unwrap();
        let outcomes: Vec<_> = rows.iter().map(|row| (row.status, row.reason)).collect();
        assert_eq!(outcomes, [(Status::Skipped, Some(reason))]);
        let state = || ledger::state(&world.memory, "tester").unwrap();
        let last = polled.last().unwrap().0;
        assert!(!state().is_settled(last));
        // The rest is written before the first run.
        let mut definition = entry.definition.as_deref().unwrap().clone();
        definition.enabled = true;
        resume(&world.memory, "tester", &entry, world.memory.cause("manual", "agent resume")).unwrap();
        let resumed = catalog_of(&CatalogEntry { definition: Some(Arc::new(definition)), ..entry.clone() });
        assert_eq!(poll(1, &resumed).1, 1);
        assert!(state().is_settled(last));
        let rows = ledger::rows(&world.memory, None, usize::MAX).unwrap();
        let skipped = rows.iter().find(|row| row.reason == Some(reason)).unwrap();
        let range = format!("the slots from {} to {last}", skipped.scheduled_at.unwrap());
        assert_eq!((rows.len(), skipped.message.as_ref()), (2, Some(&range)));
        assert_eq!(skipped.scheduled_at, Some(polled[0].0));
    }
}

#[test]
fn the_end_of_a_process_leaves_no_skipped_slot_without_a_row() {
    let world = World::new();
    let entry = entry(agent("\"link-add\"", "schedule = \"every 1m\"\n"), world.memory.now());
    let (catalog, mut scheduler) = (catalog_of(&entry), Scheduler::default());
    let rest = Pause { since: world.memory.now(), until: None, note: String::new() };
    pause(&world.memory, "tester", &rest, world.memory.cause("manual", "agent pause")).unwrap();
    for _ in 0..3 {
        world.clock.advance(Span::MINUTE);
        scheduler.tick(&world.memory, &catalog, Tick::now(&world.memory, Tz::UTC), &RunOptions::default());
    }
    let is_settled = || ledger::state(&world.memory, "tester").unwrap().is_settled(world.memory.now());
    assert!(!is_settled());
    scheduler.write_skipped_slots(&world.memory);
    assert!(is_settled());
    // While the process runs, they wait for five minutes at most.
    for _ in 0..2 {
        world.clock.advance(Span::MINUTE);
        scheduler.tick(&world.memory, &catalog, Tick::now(&world.memory, Tz::UTC), &RunOptions::default());
    }
    let last = world.memory.now();
    world.clock.advance(Span(4 * Span::MINUTE.0));
    scheduler.tick(&world.memory, &catalog, Tick::now(&world.memory, Tz::UTC), &RunOptions::default());
    assert!(ledger::state(&world.memory, "tester").unwrap().is_settled(last));
}

/// Two processes poll the agent, which is paused, resumed and paused again.
#[test]
fn a_row_of_a_pause_has_no_slot_that_another_process_has_run() {
    let world = World::new();
    world.note("a", "about page splits");
    let entry = entry(agent("\"link-add\"", "schedule = \"every 1m\"\n"), world.memory.now());
    let (catalog, since) = (catalog_of(&entry), world.memory.now());
    let (mut scheduler, mut other) = (Scheduler::default(), Scheduler::default());
    let cause = |op| world.memory.cause("manual", op);
    let pause = || {
        let rest = Pause { since: world.memory.now(), until: None, note: String::new() };
        pause(&world.memory, "tester", &rest, cause("agent pause")).unwrap();
    };
    let poll = |scheduler: &mut Scheduler| {
        world.clock.advance(Span::MINUTE);
        let tick = Tick::now(&world.memory, Tz::UTC);
        scheduler.tick(&world.memory, &catalog, tick, &RunOptions::default()).len()
    };
    pause();
    assert_eq!((poll(&mut scheduler), poll(&mut scheduler)), (0, 0));
    resume(&world.memory, "tester", &entry, cause("agent resume")).unwrap();
    assert_eq!(poll(&mut other), 1);
    pause();
    assert_eq!(poll(&mut scheduler), 0);
    scheduler.write_skipped_slots(&world.memory);
    let mut rows = ledger::rows(&world.memory, None, usize::MAX).unwrap();
    rows.sort_by_key(|row| row.scheduled_at);
    let found: Vec<_> = rows.iter().map(|row| (row.status, row.scheduled_at)).collect();
    let slot = |minute: i64| Some(since.plus(Span(minute * Span::MINUTE.0)));
    let expected = [Status::Skipped, Status::Missed, Status::Noop, Status::Skipped];
    assert_eq!(found, (1..).zip(expected).map(|(minute, status)| (status, slot(minute))).collect::<Vec<_>>());
    assert_eq!(rows[3].message, None);
}

#[test]
fn a_pause_that_ends_in_the_past_is_refused() {
    let world = World::new();
    let now = world.memory.now();
    let rest = Pause { since: now, until: Some(now), note: String::new() };
    let refused = pause(&world.memory, "tester", &rest, world.memory.cause("manual", "agent pause"));
    assert_eq!(refused.unwrap_err().code, Code::InvalidArgument);
    assert_eq!(ledger::state(&world.memory, "tester").unwrap().pause(), None);
}

#[test]
fn repeated_failures_pause_an_agent_until_it_is_resumed() {
    let world = World::new();
    world.note("a", "about page splits");
    let definition = agent("\"link-add\"", "schedule = \"every 1h\"\n[failure]\npause-after = 3\n");
    let entry = entry(definition.clone(), world.memory.now());
    let pause_reason =
        |world: &World| entry.paused(&ledger::state(&world.memory, "tester").unwrap(), world.memory.now());
    let failed: Vec<Run> = (0..3).map(|_| world.run(&definition, &failing_model())).collect();
    assert_eq!(failed[1].message.as_deref(), Some("no answer"));
    assert_eq!(
        failed[2].message.as_deref(),
        Some("no answer; paused after 3 failures in a row; `poc-memory agent resume tester` resumes it")
    );
    assert!(matches!(pause_reason(&world), Some(PauseReason::Failing { failures: 3, .. })));
    assert_eq!(scheduler::next_run(&world.memory, &catalog_of(&entry), Tz::UTC).unwrap(), None);

    let (catalog, mut scheduler) = (catalog_of(&entry), Scheduler::default());
    assert_eq!(hours(&world, &mut scheduler, &catalog, 2), Vec::<String>::new());
    assert_eq!(skipped(&world, StatusReason::Paused), 2);
    let former =
        resume(&world.memory, "tester", &entry, world.memory.cause("manual", "agent resume")).unwrap();
    assert!(former.is_some());
    assert_eq!(pause_reason(&world), None);
    assert_eq!(hours(&world, &mut scheduler, &catalog, 1), ["noop"]);
    // A successful run resets the count.
    world.run(&definition, &failing_model());
    assert_eq!(pause_reason(&world), None);
}

#[test]
fn pause_after_zero_never_pauses() {
    let world = World::new();
    world.note("a", "about page splits");
    let definition = agent("\"link-add\"", "[failure]\npause-after = 0\n");
    let failed: Vec<Run> = (0..7).map(|_| world.run(&definition, &failing_model())).collect();
    assert!(failed.iter().all(|run| run.message.as_deref() == Some("no answer")));
}
