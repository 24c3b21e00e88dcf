//! The counts of a view equal a full scan of the records.

use super::changes::{apply, op};
use super::*;
use crate::catch_up;
use crate::testing::{count_by_scan, counts_of_view};
use crate::view_file;
use proptest::prelude::*;

fn at(millis: i64) -> Cause {
    Cause { at: Timestamp(millis), ..cause() }
}

poc_laws::laws! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Compares the counts after every transaction, in a saved view that has caught up, in a view built from the
    /// records, and in past snapshots.
    #[test]
    fn counts_equal_a_full_scan(
        txns in proptest::collection::vec(proptest::collection::vec(op(), 1..8), 1..25),
        save in any::<proptest::sample::Index>(),
    ) {
        let folder = poc_graph::testing::folder();
        let store = open_in(&folder, in_memory()).unwrap();
        let save = save.index(txns.len());
        let mut scanned = Vec::new();
        for (number, ops) in txns.iter().enumerate() {
            store.transact(at(number as i64), |tx| {
                // Changes that fail are skipped.
                ops.iter().for_each(|op| drop(apply(tx, op)));
                Ok(())
            }).unwrap();
            scanned.push(count_by_scan(&store));
            prop_assert_eq!(&counts_of_view(&store.view()), scanned.last().unwrap());
            if number == save {
                store.checkpoint().unwrap();
            }
        }
        let newest = scanned.last().unwrap();
        if let Some(saved) = view_file::read(folder.path()) {
            prop_assert_eq!(&counts_of_view(&saved.catch_up(&store.shared.log).unwrap().0.main), newest);
        }
        let built = catch_up::views(store.shared.engine.as_ref(), store.shared.log.last(), &|| {}).unwrap();
        prop_assert_eq!(&counts_of_view(&built[&store.tenant]), newest);
        for (number, then) in scanned.iter().enumerate() {
            if let Ok(past) = store.snapshot_at(Timestamp(number as i64)) {
                prop_assert_eq!(&counts_of_view(past.view()), then);
            }
        }
    }
}

#[test]
fn edges_outside_the_adjacency_are_counted_once_and_deleted_with_their_nodes() {
    let folder = poc_graph::testing::folder();
    let store = open_in(&folder, in_memory()).unwrap();
    for number in 1..=3 {
        put(&store, number);
    }
    let kinds = || store.view().edges_by_kind().into_iter().collect::<Vec<_>>();
    let put_edge = |a, b, kind| store.transact(cause(), |tx| tx.put_edge(&edge(a, b, kind, 1.0))).unwrap();
    put_edge(1, 2, EdgeKind::Supersedes);
    put_edge(1, 2, EdgeKind::Supersedes);
    put_edge(2, 1, EdgeKind::Contradicts);
    put_edge(3, 3, EdgeKind::Link);
    assert_eq!(kinds(), [(EdgeKind::Link, 1), (EdgeKind::Supersedes, 1), (EdgeKind::Contradicts, 1)]);
    assert_eq!(store.view().edge_count(), 0, "none of them is in the adjacency");
    store.transact(cause(), |tx| tx.delete_node(node(2).id)).unwrap();
    assert_eq!(kinds(), [(EdgeKind::Link, 1)]);
    store.transact(cause(), |tx| tx.delete_node(node(3).id)).unwrap();
    assert_eq!(kinds(), []);
}
