//! The linker with the heuristic model in a memory with few notes.

use super::world::World;
use crate::batches;
use crate::model::Heuristic;
use crate::run::RunOptions;
use crate::{Catalog, Definition};

fn linker(world: &World) -> Definition {
    (**Catalog::load(&world.memory).unwrap().get("linker").unwrap()).clone()
}

#[test]
fn an_identifier_in_three_of_four_notes_relates_them() {
    let world = World::new();
    world.note("crash-test", "INC-412 again. The test cut the power, and recovery lost a key.");
    world.note("journal-fix", "Fixed INC-412. The split writes both pages to the journal. Merged as PR-77.");
    world.note("journal", "Since PR-77, every page is written to the journal first.");
    let (definition, model) = (linker(&world), Heuristic::new(&world.memory.config).unwrap());
    world.run(&definition, &model);
    world.note("follow-up", "PR-77 needs a follow-up after INC-412; the reviewer is waiting.");
    let second = world.run(&definition, &model);
    assert_eq!(second.applied_actions().count(), 2, "{:?}", second.actions);
    let names_it = |why: &str| why.contains("`inc-412`") || why.contains("`pr-77`");
    assert!(second.actions.iter().all(|action| names_it(&action.why)), "{:?}", second.actions);
}

#[test]
fn links_of_the_heuristic_model_are_never_unsupported() {
    let world = World::new();
    for number in 1..=8 {
        world.note(&format!("pump-{number}"), &format!("The pump broke during INC-{number}12."));
        world.note(&format!("night-{number}"), &format!("Because of INC-{number}12 nobody slept."));
        world.note(&format!("bill-{number}"), &format!("The bill for INC-{number}12 is paid."));
    }
    let report =
        batches::run_until_done(&world.memory, &linker(&world), &RunOptions::default(), &|_| {}).unwrap();
    assert_eq!((report.failed.as_deref(), report.refused.get("unsupported")), (None, None));
    assert!(report.applied["link-add"] >= 16, "{report:?}");
}
