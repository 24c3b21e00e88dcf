//! Consolidation runs by schedule as agents do, for every tenant.

use super::fleet::{Fleet, nothing};
use super::world::{World, draft, report};
use crate::Catalog;
use crate::consolidation::{self, ScheduledConsolidation};
use crate::idle_tenants::IdleTenants;
use crate::ledger::{self, Status};
use crate::schedule::Schedule;
use crate::scheduler;
use chrono_tz::Tz;
use poc_graph::time::{Span, Timestamp};
use poc_graph::{State, Tuple};
use poc_notes::{Draft, Memory, insert};
use std::sync::Arc;

/// A fleet without agents whose consolidation follows a schedule from now on.
fn fleet(schedule: &str) -> Fleet {
    let mut world = World::new();
    world.config().agents.catch_up_spread = Span(0);
    let mut fleet = Fleet::over(world, &[], |_| nothing());
    schedule_from_now(&mut fleet, schedule);
    fleet
}

fn schedule_from_now(fleet: &mut Fleet, schedule: &str) {
    let schedule = Schedule::parse(schedule, consolidation::NAME).unwrap();
    let mut catalog = Catalog::clone(&fleet.catalog);
    catalog.consolidation = Some(ScheduledConsolidation::new(schedule, fleet.world.memory.now()));
    fleet.catalog = Arc::new(catalog);
}

/// Stores a note that expires after some time.
fn short_lived(memory: &Memory, key: &str, lives: Span) {
    let note = Draft { expires: Some(memory.now().plus(lives)), ..draft(key, &format!("{key} is open")) };
    insert::insert(memory, note, memory.cause("test", "insert")).unwrap();
}

fn tenant(user: &str) -> Tuple {
    Tuple::new([("user", user)]).unwrap()
}

#[test]
fn every_slot_cleans_up_all_tenants_and_has_one_row() {
    let mut fleet = fleet("daily at 04:00");
    let ann = fleet.world.memory.of(&tenant("ann"));
    short_lived(&fleet.world.memory, "pier", Span::HOUR);
    short_lived(&ann, "pier", Span::HOUR);
    short_lived(&ann, "harbour", Span(26 * Span::HOUR.0));
    let nodes = |memory: &Memory| memory.store.view().node_count();
    assert_eq!((nodes(&fleet.world.memory), nodes(&ann)), (1, 2));
    fleet.hours(72);
    assert_eq!(
        fleet.story(),
        "\
        11-22T04:00 consolidate schedule: ok\n\
        11-23T04:00 consolidate schedule: ok\n\
        11-24T04:00 consolidate schedule: noop\n"
    );
    let messages: Vec<String> = fleet.rows().into_iter().filter_map(|row| row.message).collect();
    insta::assert_snapshot!(messages.join("\n"), @r"
    2 notes expired, 0 notes deleted, 0 edges and 0 keywords removed
    1 note expired, 0 notes deleted, 0 edges and 0 keywords removed
    0 notes expired, 0 notes deleted, 0 edges and 0 keywords removed
    ");
    for (memory, key) in [(&fleet.world.memory, "pier"), (&ann, "pier"), (&ann, "harbour")] {
        assert_eq!(memory.find(key).unwrap().state, State::Expired, "{key}");
    }
    // Each change can be undone, like a change by the command.
    assert!(fleet.rows().iter().all(|row| row.seq.is_none() && row.actions.is_empty()));
}

#[test]
fn a_tenant_is_loaded_again_only_if_it_has_changed_or_something_is_due() {
    const COUNT: u64 = 5;
    let world = World::new();
    for number in 0..COUNT {
        let memory = world.memory.of(&tenant(&format!("u{number}")));
        insert::insert(&memory, draft("kept", "The pier stays."), memory.cause("test", "insert")).unwrap();
    }
    short_lived(&world.memory.of(&tenant("u2")), "pier", Span(26 * Span::HOUR.0));
    let mut world = world.reopen();
    world.config().agents.catch_up_spread = Span(0);
    // Each tenant is unloaded as soon as another one is loaded.
    world.memory.store.settle();
    world.memory.store.limit_tenant_memory(1);
    let mut fleet = Fleet::over(world, &[], |_| nothing());
    schedule_from_now(&mut fleet, "daily at 04:00");
    let loads = |fleet: &mut Fleet| {
        let before = fleet.world.memory.store.view_loads();
        fleet.hours(24);
        fleet.world.memory.store.view_loads() - before
    };
    assert_eq!(loads(&mut fleet), COUNT);
    // The note expires, so its tenant changes and is scanned once more.
    assert!(loads(&mut fleet) > 0);
    assert!(loads(&mut fleet) <= 1);
    assert_eq!(loads(&mut fleet), 0);
    assert_eq!(
        fleet.rows().iter().map(|row| row.status).collect::<Vec<_>>(),
        [Status::Noop, Status::Ok, Status::Noop, Status::Noop]
    );
    // It is deleted after the retention time, although nothing has changed.
    fleet.world.clock.advance(Span(30 * Span::DAY.0));
    fleet.hours(24);
    assert!(fleet.world.memory.of(&tenant("u2")).find("pier").is_err());
    assert!(fleet.world.memory.of(&tenant("u1")).find("kept").is_ok());
}

#[test]
fn slots_that_passed_without_a_process_are_caught_up_once() {
    let mut fleet = fleet("daily at 04:00");
    fleet.hours(24);
    fleet.world.clock.advance(Span(5 * Span::DAY.0));
    let mut fleet = fleet.restart();
    fleet.hours(2);
    assert_eq!(
        fleet.story(),
        "\
        11-22T04:00 consolidate schedule: noop\n\
        11-26T04:00 consolidate schedule: missed outside-window\n\
        11-27T04:00 consolidate schedule: noop\n"
    );
}

#[test]
fn an_interrupted_slot_runs_again_after_a_restart() {
    let fleet = fleet("daily at 04:00");
    let memory = &fleet.world.memory;
    fleet.world.clock.set(Timestamp::parse("2026-11-22T04:00:00Z").unwrap());
    let trigger = ledger::Trigger::Slot(memory.now());
    let claimed = ledger::Run::for_trigger(memory, consolidation::NAME, trigger);
    ledger::claim_for(memory, claimed, trigger).unwrap();
    let mut fleet = fleet.restart();
    fleet.hours(1);
    assert_eq!(
        fleet.story(),
        "\
        11-22T04:00 consolidate schedule: interrupted\n\
        11-22T04:00 consolidate schedule: noop\n"
    );
}

#[test]
fn on_demand_means_never() {
    let mut fleet = fleet("on-demand");
    fleet.hours(48);
    assert_eq!(fleet.story(), "");
    let next = |fleet: &Fleet| {
        let task = fleet.catalog.consolidation.clone().unwrap();
        scheduler::next_consolidation(&fleet.world.memory, &task, Tz::UTC)
    };
    assert_eq!(next(&fleet), None);
    // A new schedule does not catch up earlier slots.
    schedule_from_now(&mut fleet, "every 6h");
    fleet.hours(12);
    assert_eq!(fleet.rows().iter().map(|row| row.status).collect::<Vec<_>>(), [Status::Noop; 2]);
    let whole = scheduler::next_run(&fleet.world.memory, &fleet.catalog, Tz::UTC).unwrap();
    assert_eq!(whole, Some((consolidation::NAME.to_owned(), next(&fleet).unwrap())));
}

#[test]
fn a_scan_remembers_since_when_a_schedule_applies() {
    let mut world = World::new();
    let since = |world: &World| Catalog::load(&world.memory).unwrap().consolidation.unwrap().since;
    let first = since(&world);
    world.clock.advance(Span::DAY);
    assert_eq!(since(&world), first);
    world.config().consolidate.schedule = "weekly".into();
    let second = since(&world);
    assert_eq!(second, world.memory.now());
    world.clock.advance(Span::DAY);
    // A missing folder of agents does not affect consolidation.
    std::fs::remove_dir_all(world.home.path().join("agents")).unwrap();
    assert_eq!(since(&world), second);
    assert!(!Catalog::load(&world.memory).unwrap().agents.contains_key(consolidation::NAME));
}

#[test]
fn no_agent_may_have_the_name_of_consolidation() {
    let world = World::new();
    world.file("agents/consolidate.toml", "description = \"mine\"");
    let catalog = Catalog::load(&world.memory).unwrap();
    let text = report(&catalog.agents[consolidation::NAME].errors);
    assert!(text.contains("`consolidate` is the name of scheduled consolidation"), "{text}");
    let error = Catalog::load(&World::new().memory).unwrap().get(consolidation::NAME).unwrap_err();
    insta::assert_snapshot!(format!("{error}"), @"`agent`: `consolidate` is not an agent");
}

#[test]
fn what_is_due_in_a_tenant_is_known_after_a_restart() {
    let mut fleet = fleet("daily at 04:00");
    short_lived(&fleet.world.memory.of(&tenant("ann")), "harbour", Span(26 * Span::HOUR.0));
    short_lived(&fleet.world.memory.of(&tenant("bob")), "pier", Span(90 * Span::DAY.0));
    fleet.hours(22);
    fleet.options.idle_tenants.save(&fleet.world.memory, &fleet.catalog).unwrap();
    fleet.world.memory.store.checkpoint().unwrap();
    let mut fleet = fleet.restart();
    fleet.options.idle_tenants = IdleTenants::load(&fleet.world.memory);
    fleet.hours(24);
    assert_eq!(fleet.world.memory.store.view_loads(), 1);
    assert_eq!(
        fleet.story(),
        "\
        11-22T04:00 consolidate schedule: noop\n\
        11-23T04:00 consolidate schedule: ok\n"
    );
}
