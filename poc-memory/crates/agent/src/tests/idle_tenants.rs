//! Tenants without work are not loaded to look for work, and work is still found when it is due.

use super::fleet::{self, Fleet, nothing};
use super::world::{ScriptedModel, World, draft, edit};
use crate::idle_tenants::IdleTenants;
use crate::ledger::{Run, Status};
use crate::run::{RunOptions, Trigger, run_with};
use crate::selection;
use crate::tenant_rotation::{TenantWork, work_of};
use poc_graph::Tuple;
use poc_graph::time::Span;
use poc_notes::{Draft, Memory, insert};
use proptest::prelude::*;
use serde_json::json;

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
    // A tenant that has changed is looked at again, and only that one.
    store.limit_tenant_memory(u64::MAX);
    note(&fleet.world.memory.of(&tenant(3)), "new", "semantic", None);
    loads();
    let row = next_slot(&fleet);
    assert_eq!((row.status, row.tenant, row.visited.len()), (Status::Noop, tenant(3), 1));
    assert!(loads() <= 1);
    // A new version of the agent looks at every tenant.
    store.limit_tenant_memory(1);
    fleet.edit("reader", &agent("all | type:semantic | not-visited:reader | limit:1", ""));
    assert_eq!(next_slot(&fleet).status, Status::Skipped);
    assert!((COUNT - 1..=COUNT).contains(&loads()));
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
}

const TENANTS: usize = 2;

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        2 => (0..TENANTS, proptest::option::of(1..40i64)).prop_map(|(tenant, hours)| Step::Write(tenant, hours)),
        1 => (0..TENANTS).prop_map(Step::Edit),
        2 => (0..TENANTS).prop_map(Step::Run),
        6 => proptest::sample::select(vec![1, 59, 60, 61, 300, 1439, 1440, 1441, 2880]).prop_map(Step::Pass),
        1 => (1..300i64).prop_map(Step::Back),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// What an agent knows of a tenant that it does not load is what it would find.
    #[test]
    fn an_idle_tenant_has_nothing_to_do(
        pipeline in proptest::sample::select(vec![
            "all | not-visited:reader,2d | limit:2",
            "all | not-visited:reader | sort:priority | limit:2",
            "all | created:>5h | not-visited:reader",
            "all | created:<=1d | sort:created asc | limit:1",
            "all | age:>=1h | !visited:reader,1d | limit:1",
            "all | !age:<24h",
            "all | sort:timestamp | limit:1",
        ]),
        more in proptest::sample::select(vec![
            "",
            "[freshness]\nwindow = \"1d\"\n",
            "[freshness]\nwindow = \"0s\"\nmin-stale = 2\n",
            "[freshness]\nrevisit-on-change = false\n",
        ]),
        steps in proptest::collection::vec(step(), 1..16),
    ) {
        let world = World::new();
        let definition = fleet::definition("reader", &agent(pipeline, more));
        let idle = IdleTenants::default();
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
