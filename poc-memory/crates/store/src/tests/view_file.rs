//! The saved view. Reading it gives the same view as the records, or fails.

use super::changes::{apply, op};
use super::*;
use crate::catch_up;
use crate::view_file;
use poc_graph::testing::contents;
use proptest::prelude::*;

/// The contents of the saved view after catching up with the log; `None` when it is rejected.
fn saved(folder: &TempDir, store: &Store) -> Option<Vec<String>> {
    let (views, _) = view_file::read(folder.path())?.catch_up(&store.shared.log)?;
    Some(contents(&views.main))
}

fn of_the_records(store: &Store) -> Vec<String> {
    let views = catch_up::views(store.shared.engine.as_ref(), store.shared.log.last(), &|| {}).unwrap();
    contents(&views[&store.tenant])
}

fn path(folder: &TempDir) -> PathBuf {
    folder.path().join("view")
}

/// A closed store with a saved view of four nodes. A fifth node was deleted.
fn closed() -> (TempDir, Vec<String>) {
    let folder = poc_graph::testing::folder();
    let store = open_in(&folder, in_memory()).unwrap();
    for number in 1..=5 {
        put(&store, number);
    }
    let visit = Visit { at: Timestamp(3), outcome: VisitOutcome::Processed, version: 1 };
    store
        .transact(cause(), |tx| {
            tx.put_edge(&edge(1, 2, EdgeKind::Link, 0.5))?;
            tx.put_edge(&edge(3, 2, EdgeKind::Semantic, 0.25))?;
            tx.put_visit("linker", node(2).id, &visit)?;
            tx.put_node(&Node { state: State::Superseded, keywords: vec!["one".into()], ..node(3) })?;
            tx.delete_node(node(5).id)
        })
        .unwrap();
    store.checkpoint().unwrap();
    let contents = contents(&store.view());
    (folder, contents)
}

poc_laws::laws! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// A view saved after any transaction equals the view of the records once it has caught up.
    #[test]
    fn a_saved_view_that_has_caught_up_equals_the_view_of_the_records(
        txns in proptest::collection::vec(proptest::collection::vec(op(), 1..8), 1..20),
        at in any::<proptest::sample::Index>(),
    ) {
        let folder = poc_graph::testing::folder();
        let store = open_in(&folder, in_memory()).unwrap();
        let at = at.index(txns.len());
        for (number, ops) in txns.iter().enumerate() {
            let done = store.transact(cause(), |tx| {
                // Changes that fail are skipped.
                ops.iter().for_each(|op| drop(apply(tx, op)));
                Ok(())
            });
            prop_assert!(done.is_ok());
            if number == at {
                store.checkpoint().unwrap();
            }
        }
        let records = of_the_records(&store);
        prop_assert_eq!(&contents(&store.view()), &records);
        if path(&folder).exists() {
            prop_assert_eq!(saved(&folder, &store), Some(records));
        }
    }
}

#[test]
fn a_damaged_view_is_refused_at_every_byte() {
    let (folder, before) = closed();
    let original = fs::read(path(&folder)).unwrap();
    assert!(view_file::read(folder.path()).is_some());
    for at in 0..original.len() {
        let mut flipped = original.clone();
        flipped[at] ^= 0x10;
        for bytes in [&flipped, &original[..at]] {
            fs::write(path(&folder), bytes).unwrap();
            assert!(view_file::read(folder.path()).is_none(), "byte {at}");
        }
    }
    for at in [0, 40, 100, original.len() - 1] {
        fs::write(path(&folder), &original[..at]).unwrap();
        assert_eq!(contents(&open_in(&folder, in_memory()).unwrap().view()), before, "byte {at}");
    }
}

#[test]
fn a_missing_or_invalid_view_is_rebuilt() {
    let (folder, before) = closed();
    fs::remove_file(path(&folder)).unwrap();
    assert_eq!(contents(&open_in(&folder, in_memory()).unwrap().view()), before);
    fs::create_dir(path(&folder)).unwrap();
    assert_eq!(contents(&open_in(&folder, in_memory()).unwrap().view()), before);
}

/// Truncates the log within its last transaction, and removes the file that would show the loss.
pub(super) fn truncate_log(folder: &TempDir) {
    let segment = segment_files(folder).remove(0);
    let bytes = fs::read(&segment).unwrap();
    fs::write(&segment, &bytes[..bytes.len() - 1]).unwrap();
    fs::remove_file(folder.path().join(log_head::NAME)).unwrap();
}

#[test]
fn a_view_ahead_of_the_log_is_shown_and_that_of_another_log_is_refused() {
    let (folder, before) = closed();
    let view = fs::read(path(&folder)).unwrap();
    truncate_log(&folder);
    let store = open_in(&folder, in_memory()).unwrap();
    assert_eq!((contents(&store.view()), store.view().seq), (before.clone(), 6));
    insta::assert_snapshot!(store.damage().unwrap(), @"log segment `00000000000000000001.log` is damaged at byte 1984 and lacks change 6; answers show the names and links of the saved view up to change 6");
    drop(store);
    assert_eq!(fs::read(path(&folder)).unwrap(), view);
    fs::remove_file(path(&folder)).unwrap();
    let store = open_in(&folder, in_memory()).unwrap();
    assert_eq!((numbers(&store), store.view().seq), (vec![1, 2, 3, 4, 5], 5));
    put(&store, 9);
    drop(store);
    fs::write(path(&folder), view).unwrap();
    let store = open_in(&folder, in_memory()).unwrap();
    assert_eq!(saved(&folder, &store), None, "the log has a different history");
    assert_eq!((numbers(&store), store.view().seq), (vec![1, 2, 3, 4, 5, 9], 6));
    assert_ne!(contents(&store.view()), before);
}

#[test]
fn leftovers_of_a_killed_checkpoint_are_overwritten() {
    let (folder, before) = closed();
    fs::write(path(&folder).with_extension("partial"), "half").unwrap();
    let store = open_in(&folder, in_memory()).unwrap();
    assert_eq!(contents(&store.view()), before);
    put(&store, 9);
    store.checkpoint().unwrap();
    assert!(!path(&folder).with_extension("partial").exists());
}

#[test]
fn a_view_that_is_saved_already_is_not_written_again() {
    let (folder, before) = closed();
    let store = open_in(&folder, in_memory()).unwrap();
    fs::write(path(&folder), "as it was").unwrap();
    store.checkpoint().unwrap();
    assert_eq!(fs::read(path(&folder)).unwrap(), b"as it was");
    drop(store);
    // A view that was rejected is written again.
    let store = open_in(&folder, in_memory()).unwrap();
    store.checkpoint().unwrap();
    assert_eq!(saved(&folder, &store), Some(before));
    put(&store, 9);
    store.checkpoint().unwrap();
    assert_eq!(saved(&folder, &store), Some(of_the_records(&store)));
}
