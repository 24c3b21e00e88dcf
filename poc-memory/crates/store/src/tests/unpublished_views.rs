//! Transactions that are built while others are written, and rejected ones among them. Every tenant reads what it would
//! read if each transaction had been published before the next one was built, and nothing that was rejected.

use super::changes::{self, Op, op};
use super::tenants::{records, tuple};
use super::*;
use poc_graph::View;
use poc_graph::testing::contents;
use proptest::prelude::*;
use std::time::Duration;

const TENANTS: usize = 3;
/// The number of the first note that exists only so that every transaction changes something.
const FIRST: u64 = 100;
/// Maximum time that a test waits for the committer.
const WAIT_TIMEOUT: Duration = Duration::from_secs(20);

#[derive(Clone, Debug)]
enum Step {
    /// Builds a transaction of a tenant.
    Build(usize, Vec<Op>),
    /// The group that is being synced is published.
    Publish,
    /// The sync of the group fails, so all transactions that are not published are rejected.
    FailSync,
    /// The group is published. The next write fails, so all transactions that were built on the group are rejected.
    FailWrite,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (0..TENANTS, proptest::collection::vec(op(), 0..4)).prop_map(|(tenant, ops)| Step::Build(tenant, ops)),
        3 => Just(Step::Publish),
        1 => Just(Step::FailSync),
        1 => Just(Step::FailWrite),
    ]
}

/// Makes the changes of a tenant in one transaction, and skips those that fail. `number` is the number of transactions
/// before it.
fn write(store: &Store, tenant: usize, number: u64, ops: &[Op]) -> Result<Commit<()>> {
    let own = store.for_tenant(&tuple(tenant));
    own.transact(cause(), |tx| {
        tx.put_node(&Node { tenant: own.tenant(), ..node(FIRST + number) })?;
        for op in ops {
            // Whether it fails is the same in both stores.
            let _ = changes::apply_for(tx, op, own.tenant());
        }
        Ok(())
    })
}

/// What each tenant reads: its view and its records.
type Seen = Vec<(Vec<String>, Vec<String>)>;

fn seen(store: &Store) -> Seen {
    let own = (0..TENANTS).map(|number| store.for_tenant(&tuple(number)));
    own.map(|own| (contents(&own.view()), records(&own))).collect()
}

/// What the next transaction of each tenant reads.
fn seen_by_next(store: &Store) -> Seen {
    let own = (0..TENANTS).map(|number| store.for_tenant(&tuple(number)));
    own.map(|own| own.preview(|tx| Ok((contents(tx.view()), records(&*tx)))).unwrap()).collect()
}

/// A store whose transactions are published one by one.
struct Sequential {
    store: Store,
    _folder: TempDir,
    transactions: Vec<(usize, Vec<Op>)>,
    /// What the tenants read after each number of transactions.
    seen: Vec<Seen>,
}

impl Sequential {
    fn new() -> Sequential {
        let folder = poc_graph::testing::folder();
        let store = open_in(&folder, in_memory()).unwrap();
        let seen = vec![seen(&store)];
        Sequential { store, _folder: folder, transactions: Vec::new(), seen }
    }

    /// The number of transactions.
    fn count(&self) -> u64 {
        self.transactions.len() as u64
    }

    fn write(&mut self, tenant: usize, ops: Vec<Op>) {
        write(&self.store, tenant, self.count(), &ops).unwrap();
        self.seen.push(seen(&self.store));
        self.transactions.push((tenant, ops));
    }

    /// Replaces the store with one that has only the first transactions.
    fn truncate(&mut self, count: u64) {
        let mut kept = std::mem::take(&mut self.transactions);
        kept.truncate(count as usize);
        *self = Sequential::new();
        kept.into_iter().for_each(|(tenant, ops)| self.write(tenant, ops));
    }
}

/// Makes each sync wait for a message, after a transaction in both stores: the first one in a segment of the log needs
/// two syncs.
fn close_gate(faults: &Faults, store: &Store, sequential: &mut Sequential) -> mpsc::Sender<()> {
    write(store, 0, sequential.count(), &[]).unwrap();
    sequential.write(0, Vec::new());
    let (open_gate, gate) = mpsc::channel();
    *faults.gate.lock() = Some(gate);
    open_gate
}

/// Lets one sync succeed. There must be a transaction that is not published.
fn publish(store: &Store, open_gate: &mpsc::Sender<()>) {
    let published = store.published_seq();
    open_gate.send(()).unwrap();
    assert!(store.wait_published(published + 1, WAIT_TIMEOUT));
}

fn run(steps: Vec<Step>) {
    let folder = poc_graph::testing::folder();
    let faults = Arc::new(Faults::default());
    let disk = Arc::new(FaultyDisk(faults.clone()));
    // Only this test resumes writing, and nothing else is synced meanwhile.
    let (retry_delay, buffer) = (Duration::from_secs(3600), 1 << 20);
    let store = open_in(&folder, StoreOptions { disk, retry_delay, buffer, ..in_memory() }).unwrap();
    let mut sequential = Sequential::new();
    let mut earlier: Vec<(u64, Vec<Arc<View>>)> = Vec::new();
    std::thread::scope(|scope| {
        let store = &store;
        let mut open_gate = close_gate(&faults, store, &mut sequential);
        let mut writers = Vec::new();
        for step in steps {
            let built = sequential.count();
            match step {
                Step::Build(tenant, ops) => {
                    let own = ops.clone();
                    let writer = scope.spawn(move || write(store, tenant, built, &own));
                    while store.shared.writer.lock().borrow().seq == built {
                        assert!(!writer.is_finished(), "it was acknowledged without a sync");
                        std::thread::yield_now();
                    }
                    writers.push((built + 1, writer));
                    sequential.write(tenant, ops);
                }
                _ if store.published_seq() == built => {}
                Step::Publish => publish(store, &open_gate),
                Step::FailSync | Step::FailWrite => {
                    if matches!(step, Step::FailSync) {
                        faults.fail_syncs.store(true, Ordering::SeqCst);
                        open_gate.send(()).unwrap();
                    } else {
                        // The group was written as soon as its sync waits.
                        while faults.gate.try_lock().is_some() {
                            std::thread::yield_now();
                        }
                        faults.fail_writes.store(true, Ordering::SeqCst);
                        publish(store, &open_gate);
                    }
                    let ended: Vec<(u64, bool)> = writers
                        .drain(..)
                        .map(|(seq, writer)| (seq, writer.join().unwrap().is_ok()))
                        .collect();
                    let published = store.published_seq();
                    assert!(ended.iter().all(|(seq, is_written)| *is_written == (*seq <= published)));
                    sequential.truncate(published);
                    *faults.gate.lock() = None;
                    faults.end();
                    store.shared.commits.resume().unwrap();
                    open_gate = close_gate(&faults, store, &mut sequential);
                }
            }
            let published = store.published_seq();
            assert_eq!(seen(store), sequential.seen[published as usize]);
            assert_eq!(Some(&seen_by_next(store)), sequential.seen.last());
            let views = (0..TENANTS).map(|number| store.for_tenant(&tuple(number)).view());
            earlier.push((published, views.collect()));
        }
        while store.published_seq() < sequential.count() {
            publish(store, &open_gate);
        }
        assert!(writers.into_iter().all(|(_, writer)| writer.join().unwrap().is_ok()));
        *faults.gate.lock() = None;
    });
    assert_eq!(Some(&seen(&store)), sequential.seen.last());
    // No view has changed since a reader got it.
    for (published, views) in earlier {
        for (view, (expected, _)) in views.iter().zip(&sequential.seen[published as usize]) {
            assert_eq!(&contents(view), expected);
        }
    }
}

poc_laws::laws! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn transactions_built_on_unpublished_ones_equal_sequential_ones(
        steps in proptest::collection::vec(step(), 1..40),
    ) {
        run(steps);
    }
}
