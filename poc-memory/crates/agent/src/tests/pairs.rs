//! Pairs of similar notes.

use super::world::{World, draft};
use crate::Catalog;
use crate::ledger::{Run, Status};
use crate::run::{RunOptions, Trigger, run};
use poc_graph::EdgeKind;
use poc_notes::derivation;
use poc_store::Transaction;
use std::collections::HashSet;

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
    let mut read = HashSet::new();
    for _ in 0..COPIES {
        let run = separate(&world);
        if run.status == Status::Skipped {
            break;
        }
        let before = read.len();
        read.extend(run.visited);
        assert!(read.len() > before, "a batch has only notes that were read before: {read:?}");
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
