//! Agents work for every tenant, one tenant at a time.

use super::fleet::{self, Fleet, nothing, replying};
use super::world::{FnModel, ScriptedModel, World, agent, draft, edit, handle};
use crate::Definition;
use crate::batches::SlotBatches;
use crate::ledger::{self, ActionState, Run, Status};
use crate::proposal::proposals;
use crate::run::{RunOptions, Trigger, run_with};
use crate::{review, tenant_rotation, undo};
use poc_graph::Tuple;
use poc_graph::time::Span;
use poc_notes::{Draft, Memory, insert};
use poc_store::{Records, Table};
use proptest::prelude::*;
use serde_json::{Value, json};

fn tenant(user: &str) -> Tuple {
    if user.is_empty() { Tuple::default() } else { Tuple::new([("user", user)]).unwrap() }
}

/// The memories of the default tenant and of two others.
fn memories(world: &World) -> [Memory; 3] {
    ["", "ann", "bob"].map(|user| world.memory.of(&tenant(user)))
}

fn note(memory: &Memory, key: &str, body: &str) {
    let note = Draft { node_type: Some("episodic".into()), ..draft(key, body) };
    insert::insert(memory, note, memory.cause("test", "insert")).unwrap();
}

/// A world in which the default tenant has 45 notes, ann has 5 and bob 25, with the same keys.
fn world() -> World {
    let mut world = World::new();
    world.config().agents.catch_up_spread = Span(0);
    for (memory, count) in memories(&world).iter().zip([45, 5, 25]) {
        for number in 0..count {
            let body = format!("Remark {number} of {}.", memory.store.tuple());
            note(memory, &format!("note-{number}"), &body);
        }
    }
    world
}

/// An agent that reads 20 notes in a run.
fn nightly(more: &str) -> String {
    format!(
        "[query]\npipeline = \"all | not-visited:nightly | limit:20\"\n\
         [prompt]\ninline = \"{{{{ NODES }}}}\"\nplaceholders = [\"NODES\"]\n\
         [execution]\nmodel = \"default\"\nactions = [\"weight\"]\nschedule = \"daily at 03:30\"\n{more}"
    )
}

fn nights(fleet: &mut Fleet, nights: i64) {
    fleet.hours(24 * nights);
}

/// The tenants and numbers of visited notes of the rows.
fn turns(rows: &[Run]) -> Vec<(String, usize)> {
    rows.iter().map(|row| (row.tenant.to_string(), row.visited.len())).collect()
}

fn expected(turns: &[(&str, usize)]) -> Vec<(String, usize)> {
    turns.iter().map(|(tenant, visited)| ((*tenant).to_owned(), *visited)).collect()
}

/// The batches that read all notes of [`world`]: each tenant in turn, at most 20 notes a batch.
const ALL_READ: [(&str, usize); 6] =
    [("default", 20), ("user=ann", 5), ("user=bob", 20), ("default", 20), ("user=bob", 5), ("default", 5)];

#[test]
fn a_slot_visits_the_tenants_in_turn_until_all_notes_are_read() {
    let mut fleet = Fleet::over(world(), &[("nightly", &nightly(""))], |_| nothing());
    nights(&mut fleet, 1);
    assert_eq!(turns(&fleet.rows()), expected(&ALL_READ));
    // The next night finds nothing and says so once.
    nights(&mut fleet, 1);
    let rows = fleet.rows();
    assert_eq!(rows.len(), ALL_READ.len() + 1);
    assert_eq!(rows.last().unwrap().status, Status::Skipped);
}

#[test]
fn the_newest_runs_that_a_tenant_may_see_are_its_own() {
    let mut fleet = Fleet::over(world(), &[("nightly", &nightly(""))], |_| nothing());
    nights(&mut fleet, 1);
    let newest = |memory: &Memory| turns(&ledger::visible_rows(memory, "nightly", 2).unwrap());
    let [default, ann, bob] = memories(&fleet.world).map(|memory| newest(&memory));
    assert_eq!(ann, expected(&[("user=ann", 5)]));
    assert_eq!(bob, expected(&[("user=bob", 5), ("user=bob", 20)]));
    assert_eq!(default, expected(&[("default", 5), ("user=bob", 5)]));
}

#[test]
fn a_tenant_that_got_no_turn_comes_first_in_the_next_night() {
    // One batch a night.
    let mut fleet = Fleet::over(world(), &[("nightly", &nightly("max-minutes = 0\n"))], |_| nothing());
    nights(&mut fleet, 6);
    assert_eq!(turns(&fleet.rows()), expected(&ALL_READ));
}

#[test]
fn all_tenants_share_the_time_and_the_budget_of_the_agent() {
    let world = world();
    let clock = world.clock.clone();
    let slow = move |_: &crate::model::Request<'_>| {
        clock.advance(Span(25 * Span::MINUTE.0));
        nothing()
    };
    let mut fleet = Fleet::over(world, &[("nightly", &nightly(""))], slow);
    nights(&mut fleet, 1);
    // The time limit of an hour is reached after the third batch.
    assert_eq!(fleet.rows().len(), 3);
    let more = "[budget]\nmax-runs-per-day = 1\n";
    let mut fleet = Fleet::over(self::world(), &[("nightly", &nightly(more))], |_| nothing());
    nights(&mut fleet, 1);
    assert_eq!(fleet.rows().iter().map(|row| row.visited.len()).sum::<usize>(), 75);
}

#[test]
fn a_tenant_for_which_the_pipeline_fails_does_not_delay_others() {
    let world = World::new();
    let [_, ann, bob] = memories(&world);
    note(&ann, "other", "Ann has no note of that key.");
    ["hub", "spoke"].iter().for_each(|key| note(&bob, key, &format!("The {key} of bob.")));
    let link = json!({"link-add": [{"reason": "", "from": "N1", "to": "N2", "strength": 0.5}], "notes": ""});
    let all = agent("\"link-add\"", "");
    run_with(&bob, &all, &ScriptedModel::replying(link), Trigger::Manual, &RunOptions::default()).unwrap();
    let walks = nightly("").replace("all | not-visited:nightly", "neighbors:hub | not-visited:nightly");
    let mut fleet = Fleet::over(world, &[("nightly", &walks)], |_| nothing());
    nights(&mut fleet, 1);
    let mut rows = fleet.rows();
    rows.retain(|row| row.agent == "nightly");
    assert_eq!(turns(&rows), expected(&[("user=bob", 1)]));
}

#[test]
fn agents_skip_tenants_that_the_settings_do_not_allow() {
    let mut world = world();
    let schema = "[tenant-schema.keys]\nuser = { required = true, enum = [\"bob\"] }\n";
    let config = poc_config::Config::layered(Some(("config.toml", schema)), std::iter::empty()).unwrap();
    world.config().tenant_schema = config.tenant_schema;
    let definition = fleet::definition("nightly", &nightly(""));
    assert_eq!(tenant_rotation::in_turn(&world.memory, &definition).unwrap(), [tenant("bob")]);
}

#[test]
fn an_on_change_agent_sees_the_changes_of_every_tenant() {
    let mut fleet = Fleet::over(world(), &[("linker", "schedule = \"on-change\"\n")], |_| nothing());
    fleet.pass(Span::HOUR, Span(10 * Span::SECOND.0));
    assert_eq!(fleet.rows(), []);
    let [_, ann, _] = memories(&fleet.world);
    note(&ann, "new", "Ann writes.");
    fleet.pass(Span::HOUR, Span(10 * Span::SECOND.0));
    let rows = fleet.rows();
    let read: Vec<_> = rows.iter().flat_map(|row| row.visited.iter().map(|id| (&row.tenant, *id))).collect();
    let (user, id) = (tenant("ann"), ann.find("new").unwrap().id);
    assert!(read.contains(&(&user, id)), "{}", fleet.story());
    // After that, no run is triggered any more.
    let before = rows.len();
    fleet.pass(Span::HOUR, Span(10 * Span::SECOND.0));
    assert_eq!(fleet.rows().len(), before);
}

#[test]
fn rejecting_a_proposal_of_one_tenant_does_not_affect_another() {
    let world = world();
    let [_, ann, bob] = memories(&world);
    let definition = Definition { mode: crate::definition::Mode::Propose, ..agent("\"link-add\"", "") };
    let propose = |memory: &Memory| {
        let model = FnModel(|request: &crate::model::Request<'_>| {
            let (from, to) = (handle(request, "note-0"), handle(request, "note-1"));
            json!({"link-add": [{"reason": "", "from": from, "to": to, "strength": 0.5}], "notes": ""})
        });
        run_with(
            memory,
            &definition,
            &model,
            Trigger::Manual,
            &RunOptions { force: true, ..RunOptions::default() },
        )
        .unwrap()
    };
    let (of_ann, of_bob) = (propose(&ann), propose(&bob));
    assert_eq!([of_ann.status, of_bob.status], [Status::Proposed; 2]);
    review::reject(&world.memory, of_ann.id, &[], "no").unwrap();
    assert_eq!(propose(&ann).actions[0].refusal_code.as_deref(), Some("rejected-before"));
    let waiting = proposals(&world.memory, None).unwrap();
    assert_eq!(
        waiting.iter().map(|one| (one.run, &one.tenant)).collect::<Vec<_>>(),
        [(of_bob.id, &tenant("bob"))]
    );
    assert_eq!(propose(&bob).actions[0].refusal_code.as_deref(), Some("already-present"));
    // The decision about bob's proposal is made with the handle of the default tenant.
    let applied = review::approve(&world.memory, of_bob.id, &[]).unwrap();
    assert!(applied.iter().all(|item| item.refused.is_none()), "{applied:?}");
    let links = |memory: &Memory| {
        let id = memory.find("note-0").unwrap().id;
        memory.store.edges(id).unwrap().iter().filter(|edge| edge.kind == poc_graph::EdgeKind::Link).count()
    };
    assert_eq!(memories(&world).map(|memory| links(&memory)), [0, 0, 1]);
}

#[test]
fn a_run_can_be_undone_although_another_tenant_wrote_during_the_call() {
    let world = world();
    let [default, ann, _] = memories(&world);
    let definition = agent("\"weight\"", "");
    for (memory, other) in [(&default, &ann), (&ann, &default)] {
        let raise = json!({"weight": [{"reason": "", "node": "N1", "delta": 0.1}], "notes": ""});
        let model = ScriptedModel::replying(raise)
            .during_call(|_| edit(other, "note-1", "Edited meanwhile by somebody else."));
        let before = weights(memory);
        let run = run_with(memory, &definition, &model, Trigger::Manual, &RunOptions::default()).unwrap();
        assert_eq!(run.applied_actions().count(), 1, "{run:?}");
        assert_ne!(weights(memory), before);
        let items = undo::undo(&world.memory, &run, &[]).unwrap().items;
        assert!(items.iter().all(|item| item.refused.is_none()), "{items:?}");
        assert_eq!(weights(memory), before);
    }
}

fn weights(memory: &Memory) -> Vec<f64> {
    let view = memory.store.view();
    (0..view.slots())
        .filter_map(|ix| memory.store.activity(view.id(ix)?).unwrap())
        .map(|activity| activity.weight)
        .collect()
}

#[test]
fn a_tenant_sees_and_undoes_only_its_own_runs() {
    let world = world();
    let [default, ann, bob] = memories(&world);
    let raise = || {
        ScriptedModel::replying(json!({"weight": [{"reason": "", "node": "N1", "delta": 0.1}], "notes": ""}))
    };
    let definition = agent("\"weight\"", "");
    let since = world.memory.now();
    let runs = [&default, &ann, &bob].map(|memory| {
        run_with(memory, &definition, &raise(), Trigger::Manual, &RunOptions::default()).unwrap()
    });
    let find = |memory: &Memory, run: &Run| ledger::find(memory, &run.id.to_string()).is_ok();
    assert_eq!(runs.each_ref().map(|run| find(&ann, run)), [false, true, false]);
    assert_eq!(runs.each_ref().map(|run| find(&default, run)), [true; 3]);
    let undone = undo::undo_since(&ann, since, None).unwrap();
    assert_eq!(undone.iter().map(|(run, _)| *run).collect::<Vec<_>>(), [runs[1].id]);
    let undone = undo::undo_since(&default, since, None).unwrap();
    assert_eq!(undone.iter().map(|(run, _)| *run).collect::<Vec<_>>(), [runs[2].id, runs[0].id]);
}

#[test]
fn a_slot_continues_for_others_after_a_reply_that_cannot_be_read() {
    let world = world();
    let mut replies = 0;
    let plays = move |_: &crate::model::Request<'_>| {
        replies += 1;
        if replies == 1 { replying("not JSON") } else { nothing() }
    };
    let more = "[retry]\nrepair = 0\nrerun = []\n";
    let mut fleet = Fleet::over(world, &[("nightly", &nightly(more))], plays);
    nights(&mut fleet, 1);
    let rows = fleet.rows();
    assert_eq!(rows[0].status, Status::Failed);
    assert_eq!(turns(&rows[1..]), expected(&[("user=ann", 5), ("user=bob", 20), ("user=bob", 5)]));
    assert!(SlotBatches::after(&rows[0]).is_some());
    // An unreachable model is called once, not once for each tenant.
    let mut fleet = Fleet::over(self::world(), &[("nightly", &nightly(more))], |_| fleet::fails());
    nights(&mut fleet, 1);
    assert_eq!(fleet.rows().len(), 1, "{}", fleet.story());
}

/// Everything that is stored for a tenant's notes, as bytes.
fn records(memory: &Memory) -> Vec<(Vec<u8>, Vec<u8>)> {
    let tables = [Table::Nodes, Table::Edges, Table::EdgesIn, Table::Vectors, Table::Keys, Table::Hashes];
    let tables = tables.into_iter().chain([Table::Keywords, Table::Visits, Table::Activity, Table::Messages]);
    tables.flat_map(|table| memory.store.raw_range(table, &[]).unwrap()).collect()
}

/// A reply with actions on random handles, as an agent with all permits may send it.
fn reply() -> impl Strategy<Value = Value> {
    let name = (1..8usize).prop_map(|number| format!("N{number}"));
    let pair = (name.clone(), name.clone());
    let link =
        pair.clone().prop_map(|(from, to)| json!({"reason": "", "from": from, "to": to, "strength": 0.5}));
    let weight = name.clone().prop_map(|node| json!({"reason": "", "node": node, "delta": 0.1}));
    let new = (name.clone(), "[a-z]{6}").prop_map(|(source, key)| {
        json!({"reason": "", "key": key, "title": key, "body": format!("A new note about {key}."),
            "keywords": [], "sources": [source]})
    });
    let supersede = pair.prop_map(
        |(old, by)| json!({"reason": "", "node": old, "by": by, "key": "", "title": "", "body": ""}),
    );
    let some = |actions: BoxedStrategy<Value>| proptest::collection::vec(actions, 0..4);
    (some(link.boxed()), some(weight.boxed()), some(new.boxed()), some(supersede.boxed())).prop_map(
        |(link, weight, new, supersede)| {
            json!({"link-add": link, "weight": weight, "insert": new, "supersede": supersede, "notes": ""})
        },
    )
}

poc_laws::laws! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// A run for one tenant reads and changes nothing of another, whatever the reply contains; nor does its undo.
    #[test]
    fn no_run_reads_or_changes_the_notes_of_another_tenant(
        counts in [1..5usize, 1..5usize, 1..5usize],
        turns in proptest::collection::vec((0..3usize, reply(), any::<bool>()), 1..5),
    ) {
        let world = World::new();
        let memories = memories(&world);
        let marks = ["walnut", "saffron", "cobalt"];
        for ((memory, count), mark) in memories.iter().zip(counts).zip(marks) {
            for number in 0..count {
                note(memory, &format!("note-{number}"), &format!("Remark {number} about {mark} and the harbour."));
            }
        }
        let more = "[limits]\ntargets = \"any\"\n[limits.supersede]\nmax = 5\nmode = \"apply\"\n";
        let mut definition = agent("\"link-add\", \"weight\", \"insert\", \"supersede\"", more);
        definition.query.pipeline = poc_search::query::Pipeline::parse("all", &world.memory.names.load()).unwrap();
        for (whose, reply, takes_back) in turns {
            world.clock.advance(Span::MINUTE);
            let before = memories.each_ref().map(records);
            let model = ScriptedModel::replying(reply);
            let options = RunOptions { force: true, ..RunOptions::default() };
            let run = run_with(&memories[whose], &definition, &model, Trigger::Manual, &options).unwrap();
            prop_assert_eq!(&run.tenant, memories[whose].store.tuple());
            for prompt in model.prompts.lock().iter() {
                let foreign = (0..3).filter(|other| *other != whose).find(|other| prompt.contains(marks[*other]));
                prop_assert!(foreign.is_none(), "{prompt}");
            }
            if takes_back && run.actions.iter().any(|action| action.state == ActionState::Applied) {
                undo::undo(&world.memory, &run, &[]).unwrap();
            }
            for other in (0..3).filter(|other| *other != whose) {
                prop_assert!(records(&memories[other]) == before[other], "the notes of {other} changed");
            }
        }
    }
}
