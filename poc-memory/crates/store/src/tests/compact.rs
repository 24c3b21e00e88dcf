//! Compaction: from its base on, a compacted store equals one that was never compacted. An interruption at any step
//! leaves one state or the other.

use super::*;
use crate::testing::copy_folder;
use poc_graph::Edge;
use proptest::prelude::*;
use std::cell::RefCell;

#[derive(Clone, Debug)]
enum Event {
    Put {
        tenant: u8,
        number: u64,
        version: u32,
    },
    Link {
        tenant: u8,
        from: u64,
        to: u64,
    },
    Delete {
        tenant: u8,
        number: u64,
    },
    Checkpoint,
    Reopen,
    /// Drops history older than this share of the elapsed time.
    Compact(Option<u8>),
}

fn event() -> impl Strategy<Value = Event> {
    let (tenant, number) = (0u8..3, 1u64..12);
    prop_oneof![
        10 => (tenant.clone(), number.clone(), 1u32..9)
            .prop_map(|(tenant, number, version)| Event::Put { tenant, number, version }),
        4 => (tenant.clone(), number.clone(), number.clone())
            .prop_map(|(tenant, from, to)| Event::Link { tenant, from, to }),
        2 => (tenant, number).prop_map(|(tenant, number)| Event::Delete { tenant, number }),
        1 => Just(Event::Checkpoint),
        1 => Just(Event::Reopen),
        2 => proptest::option::weighted(0.8, 0u8..=100).prop_map(Event::Compact),
    ]
}

fn tuple(tenant: u8) -> Tuple {
    if tenant == 0 { Tuple::default() } else { Tuple::new([("t", tenant.to_string().as_str())]).unwrap() }
}

/// A node of a tenant. Nodes of different tenants have different ids.
fn tenant_node(tenant: u8, number: u64) -> Node {
    node(number + 100 * u64::from(tenant))
}

fn at(seconds: i64) -> Cause {
    Cause { at: Timestamp(seconds), ..cause() }
}

/// The contents of all tables of a tenant but the index of changes, as bytes.
fn records(store: &impl Records) -> BTreeMap<(u8, Vec<u8>), Vec<u8>> {
    let tables = Table::ALL.into_iter().filter(|table| *table != Table::Changes);
    let of = |table: Table| {
        let found = store.raw_range(table, &[]).unwrap().into_iter();
        found.map(move |(key, value)| ((table as u8, key), value))
    };
    tables.flat_map(of).collect()
}

/// Like [`records`], without tables that all tenants share.
fn own_records(store: &impl Records) -> BTreeMap<(u8, Vec<u8>), Vec<u8>> {
    let mut own = records(store);
    own.retain(|(table, _), _| !Table::try_from(*table).unwrap().is_shared());
    own
}

/// Two stores with the same transactions, of which one is compacted.
struct Pair {
    folder: TempDir,
    store: Option<Store>,
    twin: Store,
    _twin_folder: TempDir,
    now: i64,
}

fn options() -> StoreOptions {
    StoreOptions {
        limits: LogLimits { segment: 3000, ..LogLimits::default() },
        disk: Arc::new(FaultyDisk::default()),
        buffer: 3000,
        ..StoreOptions::default()
    }
}

impl Pair {
    fn new() -> Pair {
        let (folder, twin_folder) = (poc_graph::testing::folder(), poc_graph::testing::folder());
        let store = Some(open_in(&folder, options()).unwrap());
        let twin = open_in(&twin_folder, in_memory()).unwrap();
        Pair { folder, store, twin, _twin_folder: twin_folder, now: 100 }
    }

    fn store(&self) -> &Store {
        self.store.as_ref().unwrap()
    }

    /// Runs the same transaction in both stores.
    fn transact(&mut self, tenant: u8, build: impl Fn(&mut Transaction) -> Result<()>) {
        self.now += 10;
        for store in [self.store(), &self.twin] {
            store.for_tenant(&tuple(tenant)).transact(at(self.now), &build).unwrap();
        }
    }

    /// Checks that a store, which is this one or a copy of it, equals the twin.
    fn check(&self, store: &Store) {
        assert_eq!(store.damage(), None);
        assert!(store.recovery().messages.is_empty(), "{:?}", store.recovery());
        assert_eq!(store.last_seq(), self.twin.last_seq());
        assert_eq!(store.log_origin().unwrap(), self.twin.log_origin().unwrap());
        let base = store.history_base();
        for tenant in 0..3 {
            let (own, twin) = (store.for_tenant(&tuple(tenant)), self.twin.for_tenant(&tuple(tenant)));
            assert!(records(&own) == records(&twin));
            assert!(own.view().encode().unwrap() == twin.view().encode().unwrap());
            for seconds in (100..=self.now + 10).step_by(10) {
                let (past, of_twin) =
                    (own.snapshot_at(Timestamp(seconds)), twin.snapshot_at(Timestamp(seconds)));
                if base.is_some_and(|base| Timestamp(seconds) < base.at) {
                    let error = past.err().unwrap();
                    assert_eq!(error.code, Code::NotFound);
                    assert!(error.message.starts_with("the history begins at "), "{error}");
                } else if let Ok(of_twin) = of_twin {
                    let past = past.unwrap();
                    // The base may be a later transaction of another tenant that changed shared tables.
                    assert!(own_records(&past) == own_records(&of_twin), "at {seconds}");
                    assert_eq!(past.view().node_count(), of_twin.view().node_count());
                } else {
                    // The uncompacted store knows that the tenant had not written anything yet.
                    assert!(past.is_err() || own_records(&past.unwrap()).is_empty());
                }
            }
            for number in 1..12 {
                let after = |changes: Vec<LoggedChange>| -> Vec<LoggedChange> {
                    let base = base.map_or(0, |base| base.seq);
                    changes.into_iter().filter(|change| change.seq > base).collect()
                };
                let id = tenant_node(tenant, number).id;
                let (own, twin) = (own.history(id).unwrap(), twin.history(id).unwrap());
                assert_eq!(after(own), after(twin));
            }
        }
        let base = base.map_or(0, |base| base.seq);
        for seq in 1..=store.last_seq() {
            let expected = self.twin.transaction_of_any_tenant(seq).unwrap().filter(|_| seq > base);
            assert_eq!(store.transaction_of_any_tenant(seq).unwrap(), expected, "{seq}");
        }
    }

    /// Compacts, and checks what a kill at every step would have left.
    fn compact(&mut self, before: Option<Timestamp>) {
        let copies: RefCell<Vec<TempDir>> = RefCell::default();
        let steps = RefCell::new(0);
        let check_cancelled = || {
            *steps.borrow_mut() += 1;
            let copy = poc_graph::testing::folder();
            copy_folder(self.folder.path(), copy.path());
            copies.borrow_mut().push(copy);
            Ok(())
        };
        let callbacks = CompactionCallbacks { progress: &|_, _| {}, check_cancelled: &check_cancelled };
        let base_before = self.store().shared.log.base_seq();
        let deletable = self.store().deletable_history(before, &|| Ok(())).unwrap();
        let done = self.store().compact(before, &callbacks).unwrap();
        assert_eq!(done.base.map_or(0, |base| base.seq), base_before + done.deleted);
        // It deletes what was announced, or nothing.
        if done.deleted > 0 {
            let announced = deletable.map(|history| (Some(history.until), history.transactions));
            assert_eq!(announced, Some((done.base.map(|base| base.at), done.deleted)));
        }
        for copy in copies.into_inner() {
            let store = open_in(&copy, options()).unwrap();
            self.check(&store);
            // The store can continue from there.
            store.compact(before, &QUIET_COMPACTION).unwrap();
            self.check(&store);
            drop(store);
            self.check(&open_in(&copy, options()).unwrap());
        }
    }
}

poc_laws::laws! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn a_compacted_store_equals_one_that_never_was(events in proptest::collection::vec(event(), 5..60)) {
        let mut pair = Pair::new();
        for event in events {
            match event {
                Event::Put { tenant, number, version } => pair.transact(tenant, |tx| {
                    let body = format!("version {version} {}", "x".repeat(60));
                    tx.put_node(&Node { version, body, tenant: tuple(tenant).id(), ..tenant_node(tenant, number) })
                }),
                Event::Link { tenant, from, to } => pair.transact(tenant, |tx| {
                    let (from, to) = (tenant_node(tenant, from).id, tenant_node(tenant, to).id);
                    if tx.node(from)?.is_none() || tx.node(to)?.is_none() {
                        return Ok(());
                    }
                    tx.put_edge(&Edge { src: from, dst: to, ..edge(1, 2, EdgeKind::Link, 0.5) })
                }),
                Event::Delete { tenant, number } => pair.transact(tenant, |tx| tx.delete_node(tenant_node(tenant, number).id)),
                Event::Checkpoint => pair.store().checkpoint().unwrap(),
                Event::Reopen => {
                    pair.store = None;
                    pair.store = Some(open_in(&pair.folder, options()).unwrap());
                }
                Event::Compact(share) => {
                    let span = pair.now - 90;
                    pair.compact(share.map(|share| Timestamp(100 + span * i64::from(share) / 100)));
                }
            }
        }
        pair.compact(Some(Timestamp(pair.now + 1)));
        pair.check(pair.store());
        pair.store = None;
        pair.check(&open_in(&pair.folder, options()).unwrap());
        // Everything but the log can still be deleted.
        fs::remove_dir_all(pair.folder.path().join("records")).unwrap();
        fs::remove_file(pair.folder.path().join("view")).ok();
        pair.check(&open_in(&pair.folder, options()).unwrap());
    }
}

#[test]
fn compaction_makes_the_log_and_the_records_smaller_and_says_by_how_much() {
    let folder = poc_graph::testing::folder();
    let store = open_in(&folder, StoreOptions::default()).unwrap();
    for round in 1..=300i64 {
        store
            .transact(at(round), |tx| {
                (1..=20).try_for_each(|number| {
                    tx.put_node(&Node { body: format!("round {round} of {number}"), ..node(number) })
                })
            })
            .unwrap();
    }
    store.checkpoint().unwrap();
    let done = store.compact(Some(Timestamp(200)), &QUIET_COMPACTION).unwrap();
    assert_eq!((done.deleted, done.base.unwrap().at), (199, Timestamp(199)));
    assert!(done.after.log < done.before.log / 2, "{done:?}");
    // sled's file has a minimum size.
    assert!(done.after.records <= done.before.records.max(1 << 20), "{done:?}");
    let names: Vec<String> = segment_files(&folder)
        .iter()
        .map(|path| path.file_name().unwrap().to_string_lossy().into_owned())
        .collect();
    assert_eq!(names, ["00000000000000000199.log", "00000000000000000301.log"]);
    for left in ["compact", "records.old", "log/compacted.partial"] {
        assert!(!folder.path().join(left).exists(), "{left}");
    }
    // A second compaction has nothing to do.
    assert_eq!(store.compact(Some(Timestamp(200)), &QUIET_COMPACTION).unwrap().deleted, 0);
    assert_eq!(store.transaction(199).unwrap(), None);
    assert_eq!(store.transaction(200).unwrap().unwrap().seq, 200);
    let error = store.snapshot_at(Timestamp(150)).err().unwrap();
    insta::assert_snapshot!(error, @"the history begins at 1970-01-01T00:00:00.199Z, so the state at 1970-01-01T00:00:00.150Z cannot be read");
    let error = store.snapshot_at(PastState::AfterChange(150)).err().unwrap();
    insta::assert_snapshot!(error, @"the history begins after change 199, so the state at change 150 cannot be read");
    assert_eq!(store.snapshot_at(PastState::AfterChange(199)).unwrap().seq(), 199);
    put(&store, 30);
}

#[test]
fn a_segment_that_is_being_read_is_deleted_later() {
    let folder = poc_graph::testing::folder();
    let store = open_in(
        &folder,
        StoreOptions { limits: LogLimits { segment: 2000, ..LogLimits::default() }, ..in_memory() },
    )
    .unwrap();
    for round in 1..=60 {
        store.transact(at(round), |tx| tx.put_node(&node(round as u64 % 5 + 1))).unwrap();
    }
    let snapshot = store.log_snapshot();
    store.compact(Some(Timestamp(50)), &QUIET_COMPACTION).unwrap();
    for segment in &snapshot.segments {
        assert!(matches!(
            check_segment(&segment.path, segment.first, segment.last).unwrap(),
            SegmentState::Intact { .. }
        ));
    }
    drop(snapshot);
    let before = segment_files(&folder).len();
    store.checkpoint().unwrap();
    assert!(segment_files(&folder).len() < before);
    assert_eq!(numbers(&store).len(), 5);
}

/// A note that was written to one table and deleted in another is in no table after a compaction.
#[test]
fn compacted_records_have_no_value_of_a_deleted_note() {
    let folder = poc_graph::testing::folder();
    let options = StoreOptions { engine: with_small_tables, buffer: 2_000, ..StoreOptions::default() };
    let store = open_in(&folder, options).unwrap();
    let secret = Node { body: "Zanzibarquetzal".to_owned(), ..node(1) };
    store.transact(cause(), |tx| tx.put_node(&secret)).unwrap();
    for number in 2..=60 {
        put(&store, number);
    }
    store.transact(cause(), |tx| tx.delete_node(secret.id)).unwrap();
    put(&store, 61);
    let is_in_tables = || {
        let mut is_in = false;
        for file in files(&folder.path().join("records")) {
            lsm::each_intact_record(&file, watchdog::HEARTBEAT_TIMEOUT, &mut |_, _, value| {
                is_in |= value.is_some_and(|value| String::from_utf8_lossy(value).contains(&secret.body));
            })
            .unwrap();
        }
        is_in
    };
    store.checkpoint().unwrap();
    assert!(is_in_tables());
    store.compact(Some(Timestamp(i64::MAX)), &QUIET_COMPACTION).unwrap();
    assert!(!is_in_tables());
    assert_eq!(numbers(&store), (2..=61).collect::<Vec<_>>());
}
