//! Concurrent writers, the store lock, and disk failures.

use super::*;

#[test]
fn waiting_writers_share_one_sync() {
    let folder = tempfile::tempdir().unwrap();
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
    let folder = tempfile::tempdir().unwrap();
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

fn failing(break_disk: fn(&Faults), message: &str) {
    let folder = tempfile::tempdir().unwrap();
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
    let folder = tempfile::tempdir().unwrap();
    let _store = open_in(&folder, in_memory()).unwrap();
    let error = open_in(&folder, in_memory()).err().unwrap();
    assert_eq!(error.code, Code::Locked);
    assert_eq!(error.message, format!("the store is held by process {}", std::process::id()));
}

#[test]
fn a_transaction_too_large_for_a_record_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let store = open_in(&folder, in_memory()).unwrap();
    let body = "x".repeat(65 << 20);
    let error =
        store.transact(cause(), |tx| tx.put_node(&Node { body: body.clone(), ..node(1) })).unwrap_err();
    insta::assert_snapshot!(error, @"the transaction has 65 MiB, the limit is 64 MiB");
    assert_eq!(put(&store, 2).seq, 1);
}
