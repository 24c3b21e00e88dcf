//! Tenants of one store are isolated, as if each had its own store.

use super::changes::{Op, op};
use super::*;
use crate::catch_up;
use crate::view_file;
use poc_graph::testing::contents;
use proptest::prelude::*;

pub(super) fn tuple(number: usize) -> Tuple {
    match number {
        0 => Tuple::default(),
        _ => Tuple::new([("user", format!("u{number}"))]).unwrap(),
    }
}

fn at(millis: i64) -> Cause {
    Cause { at: Timestamp(millis), ..cause() }
}

/// Applies the changes in one transaction, skips those that fail, and returns whether each succeeded.
pub(super) fn transact(store: &Store, ops: &[Op], millis: i64) -> Vec<bool> {
    let tenant = store.tenant();
    let apply = |tx: &mut Transaction<'_>| {
        Ok(ops.iter().map(|op| changes::apply_for(tx, op, tenant).is_ok()).collect())
    };
    store.transact(at(millis), apply).unwrap().value
}

/// Everything a tenant can see except transaction numbers, which all tenants share.
pub(super) fn seen(store: &Store) -> (Vec<String>, Vec<String>) {
    (lines(contents(&store.view())), records(store))
}

fn lines(contents: Vec<String>) -> Vec<String> {
    // The first line begins with the number of the transaction.
    let first = contents[0].split_once(", ").unwrap().1.to_owned();
    std::iter::once(first).chain(contents.into_iter().skip(1)).collect()
}

/// The records of a tenant's own tables, without the tenant's id.
pub(super) fn records<R: Records>(records: &R) -> Vec<String> {
    let own = Table::ALL.into_iter().filter(|table| !table.is_shared() && *table != Table::Changes);
    own.flat_map(|table| records.raw_range(table, &[]).unwrap().into_iter().map(move |row| (table, row)))
        .map(|(table, (key, value))| match table {
            Table::Nodes => {
                format!("{key:?} {:?}", Node { tenant: Tenant::default(), ..Node::decode(&value).unwrap() })
            }
            _ => format!("{table:?} {key:?} {value:?}"),
        })
        .collect()
}

fn histories(store: &Store) -> Vec<Vec<(Timestamp, &'static str)>> {
    let history = |number| store.history(node(number).id).unwrap();
    let contents = |change: LoggedChange| {
        let kind = match change.kind {
            LoggedChangeKind::Created(_) => "created",
            LoggedChangeKind::Changed { .. } => "changed",
            LoggedChangeKind::Deleted(_) => "deleted",
        };
        (change.cause.at, kind)
    };
    (0..6).map(|number| history(number).into_iter().map(contents).collect()).collect()
}

poc_laws::laws! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Random transactions of three tenants in one store use the same ids, keys and words. Each tenant must see
    /// what it would see in its own store: now, in past snapshots, and after reopening from the saved views, from
    /// the records and from the log.
    #[test]
    fn three_tenants_equal_three_stores(
        txns in proptest::collection::vec((0usize..3, proptest::collection::vec(op(), 1..6)), 1..24),
        checkpoint in any::<proptest::sample::Index>(),
    ) {
        let folder = poc_graph::testing::folder();
        let store = open_in(&folder, in_memory()).unwrap();
        let alone: Vec<_> = (0..3).map(|_| {
            let folder = poc_graph::testing::folder();
            (open_in(&folder, in_memory()).unwrap(), folder)
        }).collect();
        let together: Vec<Store> = (0..3).map(|number| store.for_tenant(&tuple(number))).collect();
        let checkpoint = checkpoint.index(txns.len());
        for (number, (tenant, ops)) in txns.iter().enumerate() {
            let millis = number as i64 * 10;
            let done = transact(&together[*tenant], ops, millis);
            prop_assert_eq!(done, transact(&alone[*tenant].0, ops, millis));
            if number == checkpoint {
                store.checkpoint().unwrap();
            }
        }
        let same = |store: &Store, when: &str| -> std::result::Result<(), TestCaseError> {
            for (number, (alone, _)) in alone.iter().enumerate() {
                let own = store.for_tenant(&tuple(number));
                prop_assert_eq!(seen(&own), seen(alone), "tenant {} {}", number, when);
                prop_assert_eq!(histories(&own), histories(alone));
                for millis in (-5..txns.len() as i64 * 10).step_by(15) {
                    let (own, alone) = (own.snapshot_at(Timestamp(millis)), alone.snapshot_at(Timestamp(millis)));
                    match (own, alone) {
                        (Ok(own), Ok(alone)) => {
                            prop_assert_eq!(records(&own), records(&alone));
                            prop_assert_eq!(lines(contents(own.view())), lines(contents(alone.view())));
                        }
                        (Err(own), Err(alone)) => prop_assert_eq!(own, alone),
                        (own, alone) => prop_assert!(false, "{:?} {:?}", own.err(), alone.err()),
                    }
                }
            }
            Ok(())
        };
        same(&store, "at once")?;
        let views = catch_up::views(store.shared.engine.as_ref(), store.shared.log.last(), &|| {}).unwrap();
        for (tenant, view) in &views {
            prop_assert_eq!(lines(contents(view)), lines(contents(&store.view_of(*tenant))), "of the records");
        }
        if folder.path().join("view").exists() {
            let (saved, _) = view_file::read(folder.path()).unwrap().catch_up(&store.shared.log).unwrap();
            let counted = |tenant: &Tenant| TenantCounts::of(&store.view_of(*tenant));
            prop_assert!(saved.others.iter().all(|(tenant, counts)| *counts == counted(tenant)));
            prop_assert_eq!(saved.others.len() + 1, store.tenants().unwrap().len());
        }
        drop((store, together));
        let store = open_in(&folder, in_memory()).unwrap();
        same(&store, "opened again")?;
        drop(store);
        fs::remove_file(folder.path().join("view")).ok();
        let store = open_in(&folder, in_memory()).unwrap();
        same(&store, "built again")?;
    }
}

#[test]
fn records_of_another_tenant_are_invisible() {
    let folder = poc_graph::testing::folder();
    let store = open_in(&folder, in_memory()).unwrap();
    let theirs = store.for_tenant(&tuple(1));
    put(&store, 1);
    put(&store, 2);
    store.transact(cause(), |tx| tx.put_edge(&edge(1, 2, EdgeKind::Link, 1.0))).unwrap();
    let id = node(1).id;
    assert_eq!(theirs.node(id).unwrap(), None);
    assert!(theirs.edges(id).unwrap().is_empty() && theirs.visits(id).unwrap().is_empty());
    assert!(theirs.history(id).unwrap().is_empty() && theirs.transaction(1).unwrap().is_none());
    assert_eq!(
        (theirs.find_key("n1").unwrap(), theirs.find_hash(&node(1).content_hash).unwrap()),
        (None, None)
    );
    assert_eq!((theirs.view().node_count(), store.view().node_count()), (0, 2));
    let error = theirs.transact(cause(), |tx| tx.put_edge(&edge(1, 2, EdgeKind::Link, 0.1))).unwrap_err();
    insta::assert_snapshot!(error, @"there is no note `00000000000000000000000000000001`");
    theirs.transact(cause(), |tx| tx.delete_node(id)).unwrap();
    assert_eq!((numbers(&store), store.edges(id).unwrap()[0].strength), (vec![1, 2], 1.0));
    let error = theirs.snapshot_at(Timestamp(9)).err().unwrap();
    insta::assert_snapshot!(error, @"nothing has been stored yet");
    // A node of one tenant cannot be written by another.
    assert_eq!(theirs.transact(cause(), |tx| tx.put_node(&node(3))).unwrap_err().code, Code::Internal);
}

#[test]
fn the_first_change_of_a_tenant_records_its_name() {
    let folder = poc_graph::testing::folder();
    let store = open_in(&folder, in_memory()).unwrap();
    let names = |store: &Store| -> Vec<String> {
        let line = |named: &NamedTenant| format!("{}: {}", named.tuple, named.counts.nodes);
        store.tenants().unwrap().iter().map(line).collect()
    };
    let theirs = store.for_tenant(&tuple(2));
    theirs.transact(cause(), |_| Ok(())).unwrap();
    assert_eq!(names(&store), ["default: 0"]);
    let tenant = theirs.tenant();
    theirs.transact(cause(), |tx| tx.put_node(&Node { tenant, ..node(1) })).unwrap();
    assert_eq!(names(&store), ["default: 0", "user=u2: 1"]);
    let txn = theirs.transaction(1).unwrap().unwrap();
    assert_eq!(
        (txn.tenant, txn.writes.iter().filter(|write| write.table == Table::Tenants).count()),
        (tenant, 1)
    );
    theirs.transact(cause(), |tx| tx.delete_node(node(1).id)).unwrap();
    assert!(theirs.transaction(2).unwrap().unwrap().writes.iter().all(|write| write.table != Table::Tenants));
    drop((store, theirs));
    assert_eq!(names(&open_in(&folder, in_memory()).unwrap()), ["default: 0", "user=u2: 0"]);
}

#[test]
fn a_name_that_is_deleted_while_the_store_is_open_is_recorded_again() {
    let folder = poc_graph::testing::folder();
    let store = open_in(&folder, in_memory()).unwrap();
    let theirs = store.for_tenant(&tuple(1));
    let tenant = theirs.tenant();
    for number in 1..=3 {
        theirs.transact(cause(), |tx| tx.put_node(&Node { tenant, ..node(number) })).unwrap();
        assert_eq!(store.tenants().unwrap().len(), 2);
        store.transact(cause(), |tx| tx.put_raw(Table::Tenants, &tenant.0, None)).unwrap();
        assert_eq!(store.tenants().unwrap().len(), 1);
    }
}

/// A damaged part of the store may have had the record of the name.
#[test]
fn a_tenant_whose_name_is_lost_keeps_its_notes_and_gets_its_name_again() {
    let folder = poc_graph::testing::folder();
    let store = open_in(&folder, in_memory()).unwrap();
    let theirs = store.for_tenant(&tuple(1));
    let tenant = theirs.tenant();
    for number in 1..=3 {
        theirs.transact(cause(), |tx| tx.put_node(&Node { tenant, ..node(number) })).unwrap();
    }
    store.transact(cause(), |tx| tx.put_raw(Table::Tenants, &tenant.0, None)).unwrap();
    drop((store, theirs));
    assert!(!folder.path().join("view").exists(), "the view is built from the records");
    let unnamed = |store: &Store| -> Vec<(Tenant, usize)> {
        store.unnamed_tenants().unwrap().iter().map(|own| (own.tenant(), own.view().node_count())).collect()
    };
    let named = |store: &Store| -> Vec<(Tuple, u64)> {
        store.tenants().unwrap().into_iter().map(|named| (named.tuple, named.counts.nodes)).collect()
    };
    {
        let store = open_in(&folder, in_memory()).unwrap();
        let theirs = store.for_tenant(&tuple(1));
        assert_eq!((named(&store), unnamed(&store)), (vec![(tuple(0), 0)], vec![(tenant, 3)]));
        assert_eq!(numbers(&theirs), [1, 2, 3]);
        // Neither a write that does not know the name nor one of another tenant records it.
        let unknown = store.unnamed_tenants().unwrap().remove(0);
        unknown.transact(cause(), |tx| tx.delete_node(node(3).id)).unwrap();
        unknown.transact(cause(), |tx| tx.record_name(&tuple(2))).unwrap();
        assert_eq!(unnamed(&store), [(tenant, 2)]);
        theirs.transact(cause(), |tx| tx.put_node(&Node { tenant, ..node(4) })).unwrap();
        assert_eq!((named(&store), unnamed(&store)), (vec![(tuple(0), 0), (tuple(1), 3)], vec![]));
        store.checkpoint().unwrap();
    }
    assert!(folder.path().join("view").exists());
    let store = open_in(&folder, in_memory()).unwrap();
    assert_eq!((named(&store), unnamed(&store)), (vec![(tuple(0), 0), (tuple(1), 3)], vec![]));
    assert_eq!(numbers(&store.for_tenant(&tuple(1))), [1, 2, 4]);
}

#[test]
fn spellings_of_a_name_are_one_tenant_unless_both_exist() {
    let folder = poc_graph::testing::folder();
    let store = open_in(&folder, in_memory()).unwrap();
    let tuple = |user: &str| Tuple::new([("user", user)]).unwrap();
    let put = |store: &Store, number| {
        let node = Node { tenant: store.tenant(), ..node(number) };
        store.transact(cause(), |tx| tx.put_node(&node)).unwrap()
    };
    let nodes = |tuple: &Tuple| store.for_tenant(tuple).counts().nodes;
    // A new tenant is composed, however it is named.
    let (composed, decomposed) = (tuple("Andr\u{e9}"), tuple("Andre\u{301}"));
    put(&store.for_tenant(&decomposed), 1);
    put(&store.for_tenant(&composed), 2);
    assert_eq!((nodes(&composed), nodes(&decomposed)), (2, 2));
    assert_eq!(store.for_tenant(&decomposed).tuple(), &composed);
    // A tenant of a former version is found under both names.
    let (composed, decomposed) = (tuple("Zo\u{eb}"), tuple("Zoe\u{308}"));
    let with_spelling = |tuple: &Tuple| store.with_tuple(tuple.clone());
    put(&with_spelling(&decomposed), 3);
    assert_eq!((nodes(&composed), nodes(&decomposed)), (1, 1));
    // Two tenants of a former version stay two.
    put(&with_spelling(&composed), 4);
    put(&with_spelling(&composed), 5);
    assert_eq!((nodes(&composed), nodes(&decomposed)), (2, 1));
    // Both forms of the Kelvin sign are the letter.
    let (letter, sign) = (tuple("K"), tuple("\u{212a}"));
    put(&with_spelling(&sign), 6);
    assert_eq!((nodes(&letter), nodes(&sign)), (0, 1));
    // A name whose decomposed key contains `=` is not taken for the name of another tenant with the same id.
    put(&store.for_tenant(&Tuple::new([("a", "\u{338}=v")]).unwrap()), 7);
    assert_eq!(nodes(&Tuple::new([("a\u{2260}", "v")]).unwrap()), 0);
    // Every tenant is listed once, with its own spelling.
    let all = store.all_tenants().unwrap();
    let counts: Vec<u64> =
        all.iter().filter(|own| !own.tuple().is_default()).map(|own| own.counts().nodes).collect();
    assert_eq!((counts.len(), counts.iter().sum::<u64>()), (5, 7));
}
