//! Tenants without work are not loaded to look for work, also after a restart, and work is still found when it is due.

use super::fleet::{self, Fleet, nothing};
use super::world::{ScriptedModel, World, draft, edit};
use crate::idle_tenants::IdleTenants;
use crate::ledger::{Run, Status};
use crate::run::{RunOptions, Trigger, run_with};
use crate::selection;
use crate::tenant_rotation::{TenantWork, work_of};
use crate::{Catalog, Definition};
use poc_config::Config;
use poc_config::paths::Paths;
use poc_graph::rng::SeededRng;
use poc_graph::time::{Clock, ManualClock, Span, Timestamp};
use poc_graph::{Tuple, VisitOutcome};
use poc_notes::testing::with_hash_embedder;
use poc_notes::{Draft, Memory, insert, visit};
use poc_store::Transaction;
use poc_store::testing::MemoryLog;
use proptest::prelude::*;
use serde_json::json;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

fn tenant(number: usize) -> Tuple {
    Tuple::new([("user", format!("u{number}"))]).unwrap()
}

fn agent(pipeline: &str, more: &str) -> String {
    format!(
        "[query]\npipeline = \"{pipeline}\"\n[prompt]\ninline = \"{{{{ NODES }}}}\"\nplaceholders = [\"NODES\"]\n\
         [execution]\nmodel = \"default\"\nactions = [\"link-add\"]\nschedule = \"daily\"\n{more}"
    )
}

fn note(memory: &Memory, key: &str, node_type: &str, expires: Option<Span>) {
    let expires = expires.map(|lives| memory.now().plus(lives));
    let body = format!("The remark {key} of {}.", memory.store.tuple());
    let note = Draft { node_type: Some(node_type.into()), expires, ..draft(key, &body) };
    insert::insert(memory, note, memory.cause("test", "insert")).unwrap();
}

/// The row of a slot a day later.
fn next_slot(fleet: &Fleet) -> Run {
    fleet.slot_after(Span::DAY, "reader")
}

#[test]
fn a_tenant_without_work_is_loaded_once() {
    const COUNT: u64 = 6;
    let world = World::new();
    for number in 0..COUNT as usize {
        note(&world.memory.of(&tenant(number)), "old", "episodic", None);
    }
    let world = world.reopen();
    // Each tenant is unloaded as soon as another one is loaded.
    world.memory.store.settle();
    world.memory.store.limit_tenant_memory(1);
    let file = agent("all | type:semantic | not-visited:reader", "");
    let mut fleet = Fleet::over(world, &[("reader", &file)], |_| nothing());
    let store = fleet.world.memory.store.clone();
    let mut seen = store.view_loads();
    let mut loads = || {
        let before = std::mem::replace(&mut seen, store.view_loads());
        seen - before
    };
    assert_eq!(next_slot(&fleet).status, Status::Skipped);
    assert_eq!(loads(), COUNT);
    assert!(store.loaded_tenants().count <= 1);
    for _ in 0..3 {
        assert_eq!(next_slot(&fleet).status, Status::Skipped);
        assert_eq!(loads(), 0);
    }
    // A tenant that has changed is scanned again, and only that one.
    store.limit_tenant_memory(u64::MAX);
    note(&fleet.world.memory.of(&tenant(3)), "new", "semantic", None);
    loads();
    let row = next_slot(&fleet);
    assert_eq!((row.status, row.tenant, row.visited.len()), (Status::Noop, tenant(3), 1));
    assert!(loads() <= 1);
    // A new version of the agent scans every tenant.
    store.limit_tenant_memory(1);
    fleet.edit("reader", &agent("all | type:semantic | not-visited:reader | limit:1", ""));
    assert_eq!(next_slot(&fleet).status, Status::Skipped);
    assert!((COUNT - 1..=COUNT).contains(&loads()));
}

/// Saves what was found and the counts of the tenants, as a daemon does when it ends, and continues in another process.
fn restart(fleet: Fleet) -> Fleet {
    let memory = &fleet.world.memory;
    fleet.options.idle_tenants.save(memory, &fleet.catalog).unwrap();
    memory.store.checkpoint().unwrap();
    start(fleet)
}

/// Continues in another process.
fn start(fleet: Fleet) -> Fleet {
    let mut fleet = fleet.restart();
    fleet.options.idle_tenants = IdleTenants::load(&fleet.world.memory);
    fleet
}

/// Number of tenants that a slot without work loads.
fn loads_of_slot(fleet: &Fleet) -> u64 {
    let before = fleet.world.memory.store.view_loads();
    assert_eq!(next_slot(fleet).status, Status::Skipped);
    fleet.world.memory.store.view_loads() - before
}

#[test]
fn after_a_restart_only_tenants_that_have_changed_are_loaded() {
    const COUNT: usize = 9;
    let world = World::new();
    for number in 0..COUNT {
        note(&world.memory.of(&tenant(number)), "old", "episodic", None);
    }
    let file = agent("all | type:semantic | not-visited:reader", "");
    let mut fleet = restart(Fleet::over(world, &[("reader", &file)], |_| nothing()));
    let all = COUNT as u64;
    assert_eq!(loads_of_slot(&fleet), all);
    for (round, changed) in [&[][..], &[3], &[0, 5, 8], &[]].into_iter().enumerate() {
        let memory = &fleet.world.memory;
        fleet.options.idle_tenants.save(memory, &fleet.catalog).unwrap();
        for number in changed {
            note(&memory.of(&tenant(*number)), &format!("round-{round}"), "episodic", None);
        }
        memory.store.checkpoint().unwrap();
        fleet = start(fleet);
        assert_eq!(loads_of_slot(&fleet), changed.len() as u64, "round {round}");
        assert_eq!(loads_of_slot(&fleet), 0, "round {round}");
    }
    // A process that was killed has saved what it knew before.
    let memory = &fleet.world.memory;
    fleet.options.idle_tenants.save(memory, &fleet.catalog).unwrap();
    note(&memory.of(&tenant(2)), "killed", "episodic", None);
    memory.store.checkpoint().unwrap();
    for _ in 0..2 {
        fleet = start(fleet);
        assert_eq!(loads_of_slot(&fleet), 1);
    }
}

#[test]
fn what_was_saved_counts_only_for_the_same_agent_and_settings() {
    const COUNT: u64 = 3;
    let world = World::new();
    for number in 0..COUNT as usize {
        note(&world.memory.of(&tenant(number)), "old", "episodic", None);
    }
    let file = agent("all | type:semantic | not-visited:reader", "");
    let mut fleet = restart(Fleet::over(world, &[("reader", &file)], |_| nothing()));
    assert_eq!(loads_of_slot(&fleet), COUNT);
    fleet = restart(fleet);
    assert_eq!(loads_of_slot(&fleet), 0);
    // The file is lost.
    std::fs::remove_dir_all(fleet.world.memory.paths.store().join("derived")).unwrap();
    fleet = start(fleet);
    assert_eq!(loads_of_slot(&fleet), COUNT);
    // The file of the agent changes between two processes.
    fleet = restart(fleet);
    fleet.edit("reader", &agent("all | type:semantic | not-visited:reader | limit:1", ""));
    assert_eq!(loads_of_slot(&fleet), COUNT);
    // A setting changes, between two processes and while one runs.
    fleet.world.config().retrieve.top_k += 1;
    fleet = restart(fleet);
    assert_eq!(loads_of_slot(&fleet), COUNT);
    fleet = restart(fleet);
    assert_eq!(loads_of_slot(&fleet), 0);
    fleet.world.config().retrieve.top_k += 1;
    fleet.world.memory.store.limit_tenant_memory(1);
    assert_eq!(loads_of_slot(&fleet), COUNT);
    assert_eq!(loads_of_slot(&fleet), 0);
    // What was found by an agent that no longer exists is dropped.
    fleet.options.idle_tenants.save(&fleet.world.memory, &Catalog::default()).unwrap();
    assert!((COUNT - 1..=COUNT).contains(&loads_of_slot(&fleet)));
}

/// An agent with a language model reads notes again that it visited without one.
#[test]
fn what_was_found_without_a_language_model_does_not_count_with_one() {
    let mut world = World::new();
    for number in 0..3 {
        let own = world.memory.of(&tenant(number));
        note(&own, "old", "semantic", None);
        let id = own.find("old").unwrap().id;
        let visit =
            |tx: &mut Transaction<'_>| visit::record(tx, "reader", id, VisitOutcome::Compared, own.now());
        own.store.transact(own.cause("reader", "run"), visit).unwrap();
    }
    let definition = fleet::definition("reader", &agent("all | type:semantic | not-visited:reader", ""));
    let idle = IdleTenants::load(&world.memory);
    let has_work = |world: &World| {
        [0, 1, 2].map(|number| {
            let found = work_of(&world.memory, &definition, &tenant(number), world.memory.now(), &idle);
            matches!(found, TenantWork::Some(..))
        })
    };
    assert_eq!(has_work(&world), [false; 3]);
    world.config().models.get_mut("default").unwrap().provider = "anthropic".into();
    assert_eq!(has_work(&world), [true; 3]);
}

#[test]
fn what_an_agent_with_a_language_model_has_found_is_saved() {
    const COUNT: u64 = 3;
    let mut world = World::new();
    world.config().models.get_mut("default").unwrap().provider = "anthropic".into();
    for number in 0..COUNT as usize {
        note(&world.memory.of(&tenant(number)), "old", "episodic", None);
    }
    let file = agent("all | type:semantic | not-visited:reader", "");
    let mut fleet = restart(Fleet::over(world, &[("reader", &file)], |_| nothing()));
    assert_eq!(loads_of_slot(&fleet), COUNT);
    // Saving drops nothing that still counts.
    fleet.options.idle_tenants.save(&fleet.world.memory, &fleet.catalog).unwrap();
    fleet.world.memory.store.limit_tenant_memory(1);
    assert_eq!(loads_of_slot(&fleet), 0);
    fleet = restart(fleet);
    assert_eq!(loads_of_slot(&fleet), 0);
}

/// The memory of a daemon over a shared log, of which the folder has a copy.
fn daemon(folder: &Path, log: &Arc<MemoryLog>, clock: &Arc<ManualClock>, seed: u64) -> Memory {
    let (paths, config) = (Paths::in_folder(folder), with_hash_embedder(Config::defaults().unwrap()));
    let rng = Arc::new(SeededRng::new(seed));
    let memory = Memory::open_shared(paths, config, clock.clone(), rng, log.writer()).unwrap();
    assert!(memory.store.wait_published(log.records().len() as u64, Duration::from_secs(60)));
    memory
}

#[test]
fn changes_by_another_daemon_count_after_a_restart() {
    let log = Arc::new(MemoryLog::default());
    let clock = Arc::new(ManualClock::new(Timestamp::parse("2026-11-21T08:00:00Z").unwrap()));
    let folders = [poc_graph::testing::folder(), poc_graph::testing::folder()];
    let definition = fleet::definition("reader", &agent("all | type:semantic | not-visited:reader", ""));
    let catalog = catalog_of(&definition, clock.now());
    let work = |memory: &Memory, idle: &IdleTenants| -> Vec<bool> {
        let has_work = |number| {
            let found = work_of(memory, &definition, &tenant(number), memory.now(), idle);
            matches!(found, TenantWork::Some(..))
        };
        (0..3).map(has_work).collect()
    };
    let other = daemon(folders[0].path(), &log, &clock, 1);
    for number in 0..3 {
        note(&other.of(&tenant(number)), "old", "episodic", None);
    }
    {
        let own = daemon(folders[1].path(), &log, &clock, 2);
        let idle = IdleTenants::load(&own);
        assert_eq!(work(&own, &idle), [false; 3]);
        idle.save(&own, &catalog).unwrap();
        own.store.checkpoint().unwrap();
    }
    note(&other.of(&tenant(1)), "new", "semantic", None);
    let own = daemon(folders[1].path(), &log, &clock, 3);
    assert_eq!(work(&own, &IdleTenants::load(&own)), [false, true, false]);
    assert_eq!(own.store.view_loads(), 1);
}

/// A catalog with the agent `reader`.
fn catalog_of(definition: &Definition, since: Timestamp) -> Catalog {
    let mut catalog = Catalog::default();
    catalog.agents.insert("reader".to_owned(), fleet::entry(definition.clone(), since));
    catalog
}

#[derive(Clone, Debug)]
enum Step {
    /// A new note, and in how many hours it expires.
    Write(usize, Option<i64>),
    Edit(usize),
    /// A run of the agent for a tenant.
    Run(usize),
    /// Time passes, in minutes.
    Pass(i64),
    /// The clock goes back, in minutes.
    Back(i64),
    /// The agent gets another of the two files.
    ChangeAgent,
    /// Continues in another process: with what this one has found, and with the counts of the tenants.
    Restart {
        saves: bool,
        checkpoints: bool,
    },
}

const TENANTS: usize = 2;

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        2 => (0..TENANTS, proptest::option::of(1..40i64)).prop_map(|(tenant, hours)| Step::Write(tenant, hours)),
        1 => (0..TENANTS).prop_map(Step::Edit),
        2 => (0..TENANTS).prop_map(Step::Run),
        6 => proptest::sample::select(vec![1, 59, 60, 61, 300, 1439, 1440, 1441, 2880]).prop_map(Step::Pass),
        1 => (1..300i64).prop_map(Step::Back),
        1 => Just(Step::ChangeAgent),
        3 => any::<(bool, bool)>().prop_map(|(saves, checkpoints)| Step::Restart { saves, checkpoints }),
    ]
}

fn pipeline() -> impl Strategy<Value = &'static str> {
    proptest::sample::select(vec![
        "all | not-visited:reader,2d | limit:2",
        "all | not-visited:reader | sort:priority | limit:2",
        "all | created:>5h | not-visited:reader",
        "all | created:<=1d | sort:created asc | limit:1",
        "all | age:>=1h | !visited:reader,1d | limit:1",
        "all | !age:<24h",
        "all | sort:timestamp | limit:1",
    ])
}

poc_laws::laws! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// What an agent knows of a tenant that it does not load is what it would find.
    #[test]
    fn an_idle_tenant_has_nothing_to_do(
        pipelines in [pipeline(), pipeline()],
        more in proptest::sample::select(vec![
            "",
            "[freshness]\nwindow = \"1d\"\n",
            "[freshness]\nwindow = \"0s\"\nmin-stale = 2\n",
            "[freshness]\nrevisit-on-change = false\n",
        ]),
        steps in proptest::collection::vec(step(), 1..16),
    ) {
        let mut world = World::new();
        let define = |pipeline| fleet::definition("reader", &agent(pipeline, more));
        let [mut definition, mut next] = pipelines.map(define);
        let mut idle = IdleTenants::load(&world.memory);
        for (number, step) in steps.into_iter().enumerate() {
            match step {
                Step::Write(tenant, hours) => {
                    let lives = hours.map(|hours| Span(hours * Span::HOUR.0));
                    note(&world.memory.of(&self::tenant(tenant)), &format!("note-{number}"), "episodic", lives);
                }
                Step::Edit(tenant) => {
                    let memory = world.memory.of(&self::tenant(tenant));
                    let view = memory.store.view();
                    let stays = |ix: &u32| view.is_live(*ix) && view.expires(*ix).is_none();
                    if let Some(key) = (0..view.slots()).find(stays).map(|ix| view.key(ix).to_owned()) {
                        edit(&memory, &key, &format!("Another text, number {number}."));
                    }
                }
                Step::Run(tenant) => {
                    let model = ScriptedModel::replying(json!({"link-add": [], "notes": ""}));
                    let memory = world.memory.of(&self::tenant(tenant));
                    run_with(&memory, &definition, &model, Trigger::Manual, &RunOptions::default()).unwrap();
                }
                Step::Pass(minutes) => world.clock.advance(Span(minutes * Span::MINUTE.0)),
                Step::Back(minutes) => world.clock.set(world.memory.now().minus(Span(minutes * Span::MINUTE.0))),
                Step::ChangeAgent => std::mem::swap(&mut definition, &mut next),
                Step::Restart { saves, checkpoints } => {
                    if saves {
                        idle.save(&world.memory, &catalog_of(&definition, world.memory.now())).unwrap();
                    }
                    if checkpoints {
                        world.memory.store.checkpoint().unwrap();
                    }
                    // The ids of a process at one instant depend only on its random source, which begins anew.
                    world.clock.advance(Span(1));
                    world = world.reopen();
                    idle = IdleTenants::load(&world.memory);
                }
            }
            for tenant in (0..TENANTS).map(tenant) {
                let now = world.memory.now();
                let known = matches!(
                    work_of(&world.memory, &definition, &tenant, now, &idle),
                    TenantWork::Some(..)
                );
                let found = selection::outlook(&world.memory.of(&tenant), &definition, now).unwrap();
                prop_assert_eq!(known, found.has_work, "{} after {}", tenant, number);
            }
        }
    }
}
