//! Concurrent writers, the store lock, and disk failures.

use super::tenants::tuple;
use super::*;
use std::time::Duration;

#[test]
fn waiting_writers_share_one_sync() {
    let folder = poc_graph::testing::folder();
    let faults = Arc::new(Faults::default());
    let disk = Arc::new(FaultyDisk(faults.clone()));
    let store = open_in(&folder, StoreOptions { disk, ..in_memory() }).unwrap();
    put(&store, 1);
    let (open_gate, gate) = mpsc::channel();
    *faults.gate.lock() = Some(gate);
    let before = faults.syncs.load(Ordering::SeqCst);
    std::thread::scope(|scope| {
        let store = &store;
        for number in 2..=33 {
            scope.spawn(move || put(store, number));
        }
        // The first writer waits for its sync while the others build their transactions.
        while store.shared.writer.lock().borrow().seq < 33 {
            std::thread::yield_now();
        }
        assert_eq!(store.view().seq, 1, "nothing is visible before it is durable");
        (0..32).for_each(|_| open_gate.send(()).unwrap());
    });
    let syncs = faults.syncs.load(Ordering::SeqCst) - before;
    assert!((1..=2).contains(&syncs), "{syncs} syncs for 32 transactions");
    assert_eq!(numbers(&store), (1..=33).collect::<Vec<_>>());
    *faults.gate.lock() = None;
}

#[test]
fn a_transaction_sees_those_built_before_it() {
    let folder = poc_graph::testing::folder();
    let faults = Arc::new(Faults::default());
    let disk = Arc::new(FaultyDisk(faults.clone()));
    let store = open_in(&folder, StoreOptions { disk, ..in_memory() }).unwrap();
    put(&store, 1);
    let (open_gate, gate) = mpsc::channel();
    *faults.gate.lock() = Some(gate);
    std::thread::scope(|scope| {
        let store = &store;
        scope.spawn(|| {
            store.transact(cause(), |tx| {
                tx.put_node(&node(2))?;
                tx.put_edge(&edge(1, 2, EdgeKind::Link, 1.0))
            })
        });
        while store.shared.writer.lock().borrow().seq < 2 {
            std::thread::yield_now();
        }
        let second = scope.spawn(|| {
            store.transact(cause(), |tx| {
                assert!(tx.view().find(node(2).id).is_some());
                assert_eq!(tx.scan::<Node>(&[])?.len(), 2);
                assert_eq!(tx.edges(node(2).id)?.len(), 1);
                tx.delete_node(node(1).id)?;
                Ok((tx.scan::<Node>(&[])?.len(), tx.edges(node(2).id)?.len()))
            })
        });
        while store.shared.writer.lock().borrow().seq < 3 {
            std::thread::yield_now();
        }
        assert_eq!(numbers(store), [1]);
        open_gate.send(()).unwrap();
        open_gate.send(()).unwrap();
        assert_eq!(second.join().unwrap().unwrap().value, (1, 0));
    });
    assert_eq!(numbers(&store), [2]);
    *faults.gate.lock() = None;
}

/// A later transaction changes the view that it is built on in place. The group before it is published without it.
#[test]
fn a_group_is_published_without_the_transactions_that_are_built_on_it() {
    let folder = poc_graph::testing::folder();
    let faults = Arc::new(Faults::default());
    let disk = Arc::new(FaultyDisk(faults.clone()));
    let store = open_in(&folder, StoreOptions { disk, ..in_memory() }).unwrap();
    put(&store, 1);
    // The second tenant writes the even numbers.
    let tenants = [0, 1].map(|tenant| store.for_tenant(&tuple(tenant)));
    let (open_gate, gate) = mpsc::channel();
    *faults.gate.lock() = Some(gate);
    std::thread::scope(|scope| {
        let (store, tenants) = (&store, &tenants);
        let build = |number: u64| {
            let own = &tenants[usize::from(number.is_multiple_of(2))];
            scope.spawn(move || {
                let node = Node { tenant: own.tenant(), ..node(number) };
                own.transact(cause(), |tx| tx.put_node(&node)).unwrap()
            });
            while store.shared.writer.lock().borrow().seq < number {
                std::thread::yield_now();
            }
        };
        (2..=5).for_each(&build);
        for number in 6..=12 {
            // The committer then waits for the sync of the next group.
            let published = store.published_seq();
            open_gate.send(()).unwrap();
            assert!(store.wait_published(published + 1, Duration::from_secs(20)));
            build(number);
            let published = store.published_seq();
            for (is_even, own) in [false, true].into_iter().zip(tenants) {
                let expected = (1..=published).filter(|number| number.is_multiple_of(2) == is_even);
                assert_eq!(numbers(own), expected.collect::<Vec<_>>());
            }
        }
        (0..12).for_each(|_| open_gate.send(()).unwrap());
    });
    assert_eq!(tenants.each_ref().map(|own| numbers(own).len()), [6, 6]);
    *faults.gate.lock() = None;
}

fn failing(break_disk: fn(&Faults), message: &str) {
    let folder = poc_graph::testing::folder();
    let faults = Arc::new(Faults::default());
    let disk = Arc::new(FaultyDisk(faults.clone()));
    let store = open_in(&folder, StoreOptions { disk, ..in_memory() }).unwrap();
    put(&store, 1);
    break_disk(&faults);
    let error = store.transact(cause(), |tx| tx.put_node(&node(2))).unwrap_err();
    assert_eq!((error.code, error.message.as_str()), (Code::ReadOnly, message));
    assert_eq!(numbers(&store), [1], "only durable changes are visible");
    assert_eq!(store.node(node(1).id).unwrap(), Some(node(1)));
    faults.fail_writes.store(false, Ordering::SeqCst);
    faults.fail_syncs.store(false, Ordering::SeqCst);
    put(&store, 3);
    assert_eq!(numbers(&store), [1, 3]);
    drop(store);
    let store = open_in(&folder, in_memory()).unwrap();
    assert_eq!(numbers(&store), [1, 3], "failed records are cut off");
    put(&store, 4);
}

#[test]
fn a_write_that_fails_makes_the_store_read_only() {
    failing(
        |faults| faults.fail_writes.store(true, Ordering::SeqCst),
        "the store accepts no writes: its log cannot be written: no storage space",
    );
}

#[test]
fn a_sync_that_fails_makes_the_store_read_only() {
    failing(
        |faults| faults.fail_syncs.store(true, Ordering::SeqCst),
        "the store accepts no writes: its log cannot be written: the disk is gone",
    );
}

#[test]
fn opening_a_locked_store_reports_the_process_that_locks_it() {
    let folder = poc_graph::testing::folder();
    let _store = open_in(&folder, in_memory()).unwrap();
    let error = open_in(&folder, in_memory()).err().unwrap();
    assert_eq!(error.code, Code::Locked);
    assert!(error.message.starts_with(&format!("the store is held by process {}", std::process::id())));
}

#[test]
fn a_transaction_too_large_for_a_record_is_refused() {
    let folder = poc_graph::testing::folder();
    let store = open_in(&folder, in_memory()).unwrap();
    let body = "x".repeat(65 << 20);
    let error =
        store.transact(cause(), |tx| tx.put_node(&Node { body: body.clone(), ..node(1) })).unwrap_err();
    insta::assert_snapshot!(error, @"the transaction has 65 MiB, the limit is 64 MiB");
    assert_eq!(put(&store, 2).seq, 1);
}
