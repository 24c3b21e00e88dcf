//! Pairs of similar notes.

use super::fleet::{Fleet, replying};
use super::world::{FnModel, ScriptedModel, World, draft, parse};
use crate::batches::{SlotBatches, run_until_done};
use crate::ledger::{Run, Status, StatusReason};
use crate::model::Request;
use crate::run::{RunOptions, Trigger, run, run_with};
use crate::{Catalog, Definition};
use parking_lot::Mutex;
use poc_graph::time::Span;
use poc_graph::{EdgeKind, NodeId};
use poc_notes::derivation;
use poc_store::Transaction;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::{BTreeSet, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};

const POLICY: &str = "A failed request is repeated three times. The pause doubles after every attempt, from one second \
    on. After the third failure the request is reported to the operator on duty.";

/// Runs the bundled separator with the heuristic model.
fn separate(world: &World) -> Run {
    let catalog = Catalog::load(&world.memory).unwrap();
    run(&world.memory, catalog.get("separator").unwrap(), Trigger::Manual, &RunOptions::default()).unwrap()
}

fn keys(world: &World, run: &Run) -> Vec<String> {
    let mut keys: Vec<String> =
        run.selected.iter().map(|read| world.memory.store.node(read.id).unwrap().unwrap().key).collect();
    keys.sort();
    keys
}

#[test]
fn a_new_copy_of_a_visited_note_is_shown_beside_it() {
    let world = World::new();
    world.draft(draft("retry-policy", POLICY));
    world.draft(draft("how-we-retry", &format!("{POLICY} This was decided in May.")));
    world.draft(draft("lunch", "Soup was served at noon, and nobody wanted dessert."));
    let first = separate(&world);
    assert_eq!(keys(&world, &first), ["how-we-retry", "retry-policy"]);
    assert_eq!(first.visited.len(), 2);
    assert_eq!(separate(&world).status, Status::Skipped, "both were read");

    let copy = world.draft(draft("what-to-do-on-failure", &format!("{POLICY} Ann wrote this down.")));
    let second = separate(&world);
    assert!(
        keys(&world, &second).contains(&"what-to-do-on-failure".to_owned()),
        "{:?}",
        keys(&world, &second)
    );
    assert!(keys(&world, &second).len() >= 2, "{:?}", keys(&world, &second));
    assert!(second.visited.contains(&copy));
    // Once the pair was read, it is not shown again.
    assert_eq!(separate(&world).status, Status::Skipped);
    // After an edit, only the edited note and its partners are shown.
    world.clock.advance(poc_graph::time::Span::HOUR);
    super::world::edit(&world.memory, "lunch", "Soup was served at one, and nobody wanted dessert.");
    assert_eq!(separate(&world).status, Status::Skipped);
}

/// The notes of a batch have pairs with notes of later batches. They must not fill every batch.
#[test]
fn each_copy_of_a_large_group_is_read_in_some_batch() {
    const COPIES: usize = 30;
    let world = World::new();
    for copy in 0..COPIES {
        world.draft(draft(&format!("retry-policy-{copy}"), &format!("{POLICY} Copy {copy}.")));
    }
    let (mut read, mut pairs) = (HashSet::new(), BTreeSet::new());
    for _ in 0..2 * COPIES {
        let run = separate(&world);
        if run.status == Status::Skipped {
            break;
        }
        let before = read.len() + pairs.len();
        pairs.extend(pairs_of(run.selected.iter().map(|read| read.id)));
        read.extend(run.visited);
        assert!(read.len() + pairs.len() > before, "a batch has only pairs that were read before: {read:?}");
    }
    assert_eq!(read.len(), COPIES);
    assert_eq!(separate(&world).status, Status::Skipped);
}

#[test]
fn an_edge_made_on_insertion_does_not_hide_a_copy() {
    let world = World::new();
    let old = world.draft(draft("retry-policy", POLICY));
    assert_eq!(separate(&world).status, Status::Skipped);
    let more = "This was decided in May, when the harbour office moved its timetable to a new database.";
    let copy = world.draft(draft("how-we-retry", &format!("{POLICY} {more}")));
    let edges = world.memory.store.edges(copy).unwrap();
    assert!(edges.iter().any(|edge| edge.kind == EdgeKind::Semantic), "{edges:?}");
    let cosine = world.memory.vectors.similarity(old, copy).unwrap();
    let twin = world.memory.config.cosines().unwrap().twin;
    assert!(cosine < twin, "{cosine} is no longer below {twin}");
    let run = separate(&world);
    assert_eq!(keys(&world, &run), ["how-we-retry", "retry-policy"]);
}

#[test]
fn a_note_and_its_source_are_no_pair() {
    let world = World::new();
    let source = world.draft(draft("retry-policy", POLICY));
    let fact = world.draft(draft("how-we-retry", &format!("{POLICY} This was decided in May.")));
    let (cause, now) = (world.memory.cause("manual", "test"), world.memory.now());
    let derive = |tx: &mut Transaction<'_>| derivation::add_sources(tx, fact, &[source], "manual", "", now);
    world.memory.store.transact(cause, derive).unwrap();
    assert_eq!(separate(&world).status, Status::Skipped);
}

/// A pair of notes, the one with the smaller id first.
type Pair = (NodeId, NodeId);

/// All pairs of the given notes.
fn pairs_of(ids: impl Iterator<Item = NodeId>) -> BTreeSet<Pair> {
    let ids: BTreeSet<NodeId> = ids.collect();
    let with_later = |&one: &NodeId| ids.range(one..).skip(1).map(move |&other| (one, other));
    ids.iter().flat_map(with_later).collect()
}

/// An agent that links the notes of pairs, with the given stages after its filter by visits.
fn reader(stages: &str) -> Definition {
    reader_with(stages, "link-add", "")
}

/// Like [`reader`], with another action and further lines of its file.
fn reader_with(stages: &str, action: &str, more: &str) -> Definition {
    parse(&format!(
        "[query]\npipeline = \"interference-pairs,min_sim=0.5 | not-visited:tester | {stages}\"\n\
         [prompt]\ninline = \"{{{{ PAIRS }}}} {{{{ NODES }}}}\"\nplaceholders = [\"PAIRS\", \"NODES\"]\n\
         [execution]\nmodel = \"default\"\nactions = [\"{action}\"]\n{more}"
    ))
    .unwrap_or_else(|errors| panic!("{errors:?}"))
}

/// Stores copies of a note. Every two of them are a pair.
fn store_copies(world: &World, numbers: std::ops::Range<usize>) -> Vec<NodeId> {
    let store = |copy| world.draft(draft(&format!("retry-policy-{copy}"), &format!("{POLICY} Copy {copy}.")));
    numbers.map(store).collect()
}

/// Runs an agent until nothing is left, and returns the pairs that its prompts named and showed.
fn read_all(world: &World, definition: &Definition) -> BTreeSet<Pair> {
    let shown = Mutex::new(BTreeSet::new());
    let model = FnModel(|request: &Request<'_>| {
        let selection = request.selection;
        let id = |name: &str| Some(selection.get(name).filter(|handle| handle.in_text())?.node.id);
        for pair in &selection.pairs {
            if let (Some(a), Some(b)) = (id(&pair.a), id(&pair.b)) {
                shown.lock().insert((a.min(b), a.max(b)));
            }
        }
        json!({"notes": "", "link-add": []})
    });
    for _ in 0..100 {
        world.clock.advance(Span(2 * Span::HOUR.0));
        let run = world.run(definition, &model);
        if run.status == Status::Skipped {
            assert_eq!(run.reason, Some(StatusReason::NotStale), "{run:#?}");
            return shown.lock().clone();
        }
        assert_eq!(run.status, Status::Noop, "{run:#?}");
    }
    panic!("the runs do not end")
}

/// A memory whose pairs do not depend on communities, which may change with every note.
fn world_of_pairs() -> World {
    let mut world = World::new();
    world.config().cosines.values_mut().for_each(|cosines| cosines.twin = 0.0);
    world
}

poc_laws::laws! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]
    /// Every pair is shown in some run, and the runs end, whatever cuts the list of notes: a limit of the pipeline,
    /// also after a sort, the limit for models with a short context, or a prompt without room for all notes.
    #[test]
    fn every_pair_is_shown_whatever_cuts_the_list(
        old in 1usize..8,
        new in 1usize..5,
        limit in 1usize..7,
        sort in proptest::sample::select(vec!["", "sort:created | ", "sort:created asc | "]),
        small_nodes in proptest::option::of(1usize..5),
        max_tokens in proptest::option::of(700usize..1500),
    ) {
        let mut world = world_of_pairs();
        if let Some(nodes) = small_nodes {
            world.config().agents.small_nodes = nodes;
            world.config().models.get_mut("default").unwrap().context = Some(16_000);
        }
        let mut definition = reader(&format!("{sort}limit:{limit}"));
        definition.prompt.max_tokens = max_tokens.unwrap_or(definition.prompt.max_tokens);
        let mut ids = store_copies(&world, 0..old);
        let mut shown = if old > 1 { read_all(&world, &definition) } else { BTreeSet::new() };
        ids.extend(store_copies(&world, old..old + new));
        shown.extend(read_all(&world, &definition));
        prop_assert_eq!(shown, pairs_of(ids.into_iter()));
    }
}

#[test]
fn a_note_is_not_visited_before_all_of_its_visited_partners_were_shown() {
    let world = world_of_pairs();
    store_copies(&world, 0..5);
    read_all(&world, &reader("limit:20"));
    let copy = store_copies(&world, 5..6)[0];
    let definition = reader("limit:3");
    let mut runs = Vec::new();
    for _ in 0..3 {
        let run = world.run(&definition, &ScriptedModel::doing_nothing(&["link-add"]));
        runs.push((run.selected.len(), run.visited.contains(&copy)));
    }
    // Two partners, the next two, and the last one.
    assert_eq!(runs, [(3, false), (3, false), (2, true)]);
}

/// If a limit on actions prevents the visit of a partner, the next run continues with other partners.
#[test]
fn a_partner_with_actions_beyond_a_limit_is_not_shown_in_every_run() {
    let world = world_of_pairs();
    let note = |copy: usize| world.note(&format!("retry-policy-{copy}"), &format!("{POLICY} Copy {copy}."));
    for copy in 0..3 {
        note(copy);
    }
    world.run(&reader_with("limit:20", "weight", ""), &ScriptedModel::doing_nothing(&["weight"]));
    let copy = note(3);
    let definition = reader_with("limit:2", "weight", "[limits.weight]\nmax = 1\n");
    let raise = FnModel(|request: &Request<'_>| {
        let change = |name: &str| json!({"reason": "", "node": name, "delta": 0.1});
        let changes: Vec<_> = request.selection.selected().map(|handle| change(&handle.name)).collect();
        json!({"notes": "", "weight": changes})
    });
    let runs: Vec<Run> = (0..3).map(|_| world.run(&definition, &raise)).collect();
    let is_visited: Vec<bool> = runs.iter().map(|run| run.visited.contains(&copy)).collect();
    assert_eq!(is_visited, [false, false, true], "{runs:#?}");
    let shown: BTreeSet<Pair> =
        runs.iter().flat_map(|run| pairs_of(run.selected.iter().map(|read| read.id))).collect();
    assert_eq!(shown.len(), 3, "{runs:#?}");
}

/// Stores copies of a note, all but the last of which the agent has visited. Returns the last one.
fn store_visited_copies(world: &World, count: usize) -> NodeId {
    let note = |copy: usize| world.note(&format!("retry-policy-{copy}"), &format!("{POLICY} Copy {copy}."));
    for copy in 1..count {
        note(copy);
    }
    world.run(&reader_with("limit:50", "weight", ""), &ScriptedModel::doing_nothing(&["weight"]));
    note(count)
}

/// A change of the weight of each selected note.
fn raises(request: &Request<'_>) -> Vec<Value> {
    let change = |name: &str| json!({"reason": "", "node": name, "delta": 0.1});
    request.selection.selected().map(|handle| change(&handle.name)).collect()
}

/// Runs an agent that changes at most `max_weights` weights and shows at most `limit` notes, and that reads what it
/// writes, until nothing is left to do. Returns the rows of its runs.
fn rows_until_done(
    world: World,
    limit: usize,
    max_weights: usize,
    reply: impl Fn(&Request<'_>) -> Value + Send + 'static,
) -> Vec<Run> {
    let file = format!(
        "[query]\npipeline = \"interference-pairs,min_sim=0.5 | not-visited:tester | limit:{limit}\"\n\
         [prompt]\ninline = \"{{{{ NODES }}}}\"\nplaceholders = [\"NODES\"]\n\
         [execution]\nmodel = \"default\"\nactions = [\"weight\", \"insert\"]\n\
         [freshness]\nignore-own-writes = false\n[budget]\nmax-runs-per-day = 0\n\
         [limits.weight]\nmax = {max_weights}\n"
    );
    let (clock, started) = (world.clock.clone(), world.memory.now());
    let fleet = Fleet::over(world, &[("tester", &file)], move |request| {
        clock.advance(Span::SECOND);
        replying(&reply(request).to_string())
    });
    run_until_done(&fleet.world.memory, &fleet.definition("tester"), &fleet.options, &|_| {}).unwrap();
    let mut rows = fleet.rows();
    rows.retain(|row| row.status != Status::Skipped && row.finished.is_some_and(|at| at > started));
    rows
}

#[test]
fn runs_continue_while_they_show_further_pairs_even_if_they_visit_nothing() {
    let world = world_of_pairs();
    let copy = store_visited_copies(&world, 6);
    // The new note is paired with five others, two of which fit into a prompt. The changes of these two are beyond the
    // limit, so the first run visits nothing.
    let rows = rows_until_done(world, 3, 1, |request| json!({"notes": "", "weight": raises(request)}));
    assert_eq!(rows[0].visited.len(), 0, "{rows:#?}");
    let shown: BTreeSet<Pair> =
        rows.iter().flat_map(|row| pairs_of(row.selected.iter().map(|read| read.id))).collect();
    let of_copy = shown.iter().filter(|(a, b)| [*a, *b].contains(&copy));
    assert_eq!(of_copy.count(), 5, "{rows:#?}");
}

/// The actions on a note are beyond a limit in every run, so that it stays stale although all of its pairs were shown.
#[test]
fn a_note_that_stays_stale_comes_after_notes_with_further_pairs() {
    let world = world_of_pairs();
    let first = store_visited_copies(&world, 3);
    let definition = reader_with("sort:created asc | limit:20", "weight", "[limits.weight]\nmax = 0\n");
    let raise = FnModel(|request: &Request<'_>| json!({"notes": "", "weight": raises(request)}));
    let run = world.run(&definition, &raise);
    assert_eq!((run.selected[0].id, run.visited.len()), (first, 0), "{run:#?}");
    world.clock.advance(Span::SECOND);
    let second = world.note("retry-policy-4", &format!("{POLICY} Copy 4."));
    let run = world.run(&definition, &raise);
    assert_eq!(run.selected[0].id, second, "{run:#?}");
    assert!(run.selected.iter().any(|read| read.id == first), "{run:#?}");
}

/// Its pairs do not fit into one prompt. If it were not visited, the agent would read it every night.
#[test]
fn a_note_whose_actions_were_beyond_a_limit_is_visited_although_its_pairs_were_shown_in_several_runs() {
    let world = world_of_pairs();
    let copy = store_visited_copies(&world, 6);
    let limited = reader_with("limit:3", "weight", "[limits.weight]\nmax = 0\n");
    let raise = FnModel(|request: &Request<'_>| json!({"notes": "", "weight": raises(request)}));
    for selected in [3, 3, 2] {
        let run = world.run(&limited, &raise);
        assert_eq!((run.selected.len(), run.visited.len()), (selected, 0), "{run:#?}");
    }
    let run = world.run(&reader_with("limit:3", "weight", ""), &ScriptedModel::doing_nothing(&["weight"]));
    assert_eq!((run.selected.len(), run.visited.contains(&copy)), (3, true), "{run:#?}");
}

poc_laws::laws! {
    #![proptest_config(ProptestConfig { cases: 8, ..ProptestConfig::default() })]
    /// The runs end without a budget, although the agent writes a similar note in every run, reads what it writes, and
    /// requests more actions than its limits allow.
    #[test]
    fn runs_until_done_end(count in 1usize..6, limit in 1usize..5, max_weights in 0usize..3) {
        let world = world_of_pairs();
        store_copies(&world, 0..count);
        let calls = AtomicUsize::new(0);
        let rows = rows_until_done(world, limit, max_weights, move |request| {
            let call = calls.fetch_add(1, Ordering::Relaxed);
            assert!(call < 100, "the runs do not end");
            let (key, body) = (format!("further-{call}"), format!("{POLICY} Further copy {call}."));
            let note = json!({"key": key, "title": key, "body": body, "reason": "", "keywords": [], "sources": []});
            json!({"notes": "", "weight": raises(request), "insert": [note]})
        });
        // Each run visits a note that was there at first, or shows a new pair of two of them, except the last one.
        prop_assert!(rows.len() <= count * count + 1, "{} runs for {count} notes", rows.len());
    }
}

#[test]
fn a_target_with_visited_partners_is_not_visited() {
    let world = world_of_pairs();
    store_copies(&world, 0..2);
    let definition = reader("limit:20");
    read_all(&world, &definition);
    let copy = store_copies(&world, 2..3)[0];
    let target = |key: &str| {
        let options = RunOptions { target: Some(key.into()), ..RunOptions::default() };
        let model = ScriptedModel::doing_nothing(&["link-add"]);
        run_with(&world.memory, &definition, &model, Trigger::Manual, &options).unwrap()
    };
    let run = target("retry-policy-2");
    assert_eq!((run.selected.len(), run.visited.len()), (1, 0), "{run:#?}");
    assert_eq!(read_all(&world, &definition).len(), 2);
    // All of its pairs were shown.
    assert_eq!(target("retry-policy-2").visited, [copy]);
}

#[test]
fn the_batches_of_a_slot_show_every_pair_of_a_large_group() {
    let world = world_of_pairs();
    world.file(
        "agents/nightly.toml",
        "[query]\npipeline = \"interference-pairs,min_sim=0.5 | not-visited:nightly | limit:3\"\n\
         [prompt]\ninline = \"{{ NODES }}\"\nplaceholders = [\"NODES\"]\n\
         [execution]\nmodel = \"default\"\nactions = [\"weight\"]\nschedule = \"daily at 03:30\"\n",
    );
    let ids = store_copies(&world, 0..8);
    world.clock.advance(Span::HOUR);
    let (memory, options) = (&world.memory, RunOptions::default());
    let catalog = Catalog::load(memory).unwrap();
    let definition = catalog.get("nightly").unwrap();
    let mut last = run(memory, definition, Trigger::Slot(memory.now()), &options).unwrap();
    let mut batches = SlotBatches::after(&last).unwrap();
    let mut shown = pairs_of(last.selected.iter().map(|read| read.id));
    while let Some(next) = batches.run_next(memory, &catalog, &last, &options).unwrap() {
        let before = shown.len();
        shown.extend(pairs_of(next.selected.iter().map(|read| read.id)));
        assert!(shown.len() > before, "a batch shows only pairs that were shown before: {next:#?}");
        last = next;
    }
    assert_eq!(shown, pairs_of(ids.into_iter()));
}
