//! A store opens with its view; the records and indexes open in the background.

use super::*;
use crate::testing::{PausableIndex, PausePoint, ResumeOnDrop, copy_folder};
use poc_graph::rng::{Rng, SeededRng};

/// Readers do not wait for an index that must replay this many nodes.
const MANY: u64 = 5001;

/// A closed store of nodes 1 to `count`, with its view saved.
fn closed(count: u64) -> TempDir {
    let folder = poc_graph::testing::folder();
    let store = open_in(&folder, in_memory()).unwrap();
    store.transact(cause(), |tx| (1..=count).try_for_each(|number| tx.put_node(&node(number)))).unwrap();
    store.checkpoint().unwrap();
    drop(store);
    folder
}

/// A store and its slow index.
struct StoreWithIndex {
    // The first field, because it must be dropped before the store.
    _release: ResumeOnDrop,
    slow: Arc<PausableIndex>,
    store: Store,
}

/// Opens a store with an index that pauses.
fn open_with_slow_index(folder: &TempDir, pause: PausePoint) -> StoreWithIndex {
    let slow = Arc::new(PausableIndex::paused_at(pause));
    let store = Store::open_with(folder.path(), EMBEDDER, vec![slow.clone()], in_memory()).unwrap();
    StoreWithIndex { _release: ResumeOnDrop(slow.clone()), slow, store }
}

/// A copy of the log and the view of a store, as a killed process would leave them.
fn killed(folder: &TempDir) -> TempDir {
    let copy = poc_graph::testing::folder();
    for name in ["log", "view"] {
        let from = folder.path().join(name);
        let to = copy.path().join(name);
        if from.is_dir() {
            copy_folder(&from, &to);
        } else {
            fs::copy(from, to).unwrap();
        }
    }
    copy
}

#[test]
fn readers_do_not_wait_for_an_index_with_much_to_replay() {
    let folder = closed(MANY);
    let opened = open_with_slow_index(&folder, PausePoint::Feed);
    let (slow, store) = (&opened.slow, &opened.store);
    store.shared.index_workers.wait_loaded();
    let behind =
        || store.lagging_indexes().iter().map(|(name, why)| format!("{name}: {why}")).collect::<Vec<_>>();
    assert_eq!(behind(), ["slow: it is still being built, so results may be incomplete"]);
    assert_eq!((store.lag(1), store.completed()), (1, 0));
    // Readers see a node written in the meantime, and the node survives a kill.
    assert_eq!(put(store, 9000).seq, 2);
    assert!(store.view().find(node(9000).id).is_some());
    assert_eq!((store.lag(2), slow.node_count()), (2, 0));
    let copy = killed(&folder);
    assert!(open_in(&copy, in_memory()).unwrap().view().find(node(9000).id).is_some());
    slow.resume();
    store.settle();
    assert_eq!((behind(), store.lag(2), store.completed()), (Vec::new(), 0, 1));
    assert_eq!(slow.node_count() as u64, MANY + 1);
    put(store, 9001);
    assert_eq!(slow.node_count() as u64, MANY + 2);
}

#[test]
fn nodes_deleted_while_an_index_is_fed_are_deleted_from_it() {
    let folder = closed(MANY);
    let opened = open_with_slow_index(&folder, PausePoint::Feed);
    let (slow, store) = (&opened.slow, &opened.store);
    for number in 1..=20 {
        store.transact(cause(), |tx| tx.delete_node(node(number).id)).unwrap();
    }
    slow.resume();
    store.settle();
    assert_eq!(slow.node_count() as u64, MANY - 20);
}

#[test]
fn readers_wait_for_an_index_with_little_to_replay() {
    let folder = closed(3);
    let opened = open_with_slow_index(&folder, PausePoint::Feed);
    let (slow, store) = (&opened.slow, &opened.store);
    store.shared.index_workers.wait_loaded();
    assert!(store.lagging_indexes().is_empty());
    slow.resume();
    store.settle();
    assert_eq!((slow.node_count(), store.completed()), (3, 0));
}

#[test]
fn the_log_estimates_the_bytes_after_a_record() {
    let folder = poc_graph::testing::folder();
    let store = open_in(
        &folder,
        StoreOptions { limits: LogLimits { segment: 100_000, ..LogLimits::default() }, ..in_memory() },
    )
    .unwrap();
    assert_eq!(store.shared.log.bytes_after(0), 0);
    let mut ends = vec![store.shared.log.bytes()];
    // Random letters, so that compression does not shorten the records.
    let rng = SeededRng::new(1);
    let letter = |_| char::from(b'!' + (rng.next_u64() % 90) as u8);
    for number in 1..=300 {
        let body: String = (0..if number == 300 { 5000 } else { 2000 }).map(letter).collect();
        store.transact(cause(), |tx| tx.put_node(&Node { body: body.clone(), ..node(number) })).unwrap();
        ends.push(store.shared.log.bytes());
    }
    assert!(segment_files(&folder).len() > 5);
    assert_eq!(store.shared.log.bytes_after(300), 0);
    for seq in [1, 63, 64, 150, 299] {
        let estimate = store.shared.log.bytes_after(seq) as f64;
        let actual = (ends[300] - ends[seq as usize]) as f64;
        assert!((estimate - actual).abs() <= 3200.0, "{seq}: {estimate} for {actual}");
    }
}

/// Otherwise, after a log was truncated, the saved state of an index could seem valid again as soon as the log has
/// grown to its old length.
#[test]
fn the_log_does_not_grow_before_indexes_have_read_what_they_saved() {
    let folder = closed(3);
    let opened = open_with_slow_index(&folder, PausePoint::Load);
    let (slow, store) = (&opened.slow, &opened.store);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| put(store, 4));
        while store.shared.writer.lock().borrow().seq < 2 {
            std::thread::yield_now();
        }
        assert_eq!((store.shared.log.last(), store.view().seq), (1, 1));
        slow.resume();
        assert_eq!(writer.join().unwrap().seq, 2);
    });
    store.settle();
    assert_eq!(slow.node_count(), 4);
}

#[test]
fn closing_a_store_waits_for_an_index_that_catches_up() {
    let folder = closed(MANY);
    let opened = open_with_slow_index(&folder, PausePoint::Feed);
    opened.store.shared.index_workers.wait_loaded();
    let slow = opened.slow.clone();
    // Resumes the index and then closes the store.
    drop(opened);
    assert_eq!(slow.node_count() as u64, MANY);
}

/// A test holds this lock to keep the engine from opening.
static ENGINE_GATE: Mutex<()> = Mutex::new(());

fn blocked_engine() -> StoreOptions {
    let engine = |_: &Path| -> Result<Arc<dyn Engine>> {
        drop(ENGINE_GATE.lock());
        Ok(Arc::new(InMemoryEngine::default()))
    };
    StoreOptions { engine, ..in_memory() }
}

#[test]
fn the_view_is_ready_before_the_records_and_readers_of_records_wait() {
    let folder = closed(5);
    let gate = ENGINE_GATE.lock();
    let store = open_in(&folder, blocked_engine()).unwrap();
    assert_eq!((store.view().node_count(), store.view().seq), (5, 1));
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| store.node(node(3).id).unwrap().unwrap());
        let writer = scope.spawn(|| put(&store, 6));
        drop(gate);
        assert_eq!(reader.join().unwrap(), node(3));
        assert_eq!(writer.join().unwrap().seq, 2);
    });
    assert_eq!(numbers(&store), [1, 2, 3, 4, 5, 6]);
    assert_eq!(numbers(&open_in(&killed(&folder), in_memory()).unwrap()), [1, 2, 3, 4, 5, 6]);
}

#[test]
fn records_that_cannot_be_opened_are_reported_and_nothing_is_acknowledged() {
    let folder = closed(5);
    let options = StoreOptions { engine: |_| Err(Error::internal("the disk is gone")), ..in_memory() };
    let store = open_in(&folder, options).unwrap();
    assert_eq!(store.view().node_count(), 5);
    let error = store.node(node(1).id).unwrap_err();
    insta::assert_snapshot!(error, @"the records cannot be opened: the disk is gone");
    let error = store.transact(cause(), |tx| tx.put_node(&node(6))).unwrap_err();
    insta::assert_snapshot!(error, @"the records cannot be opened: the disk is gone");
    drop(store);
    assert_eq!(numbers(&open_in(&folder, in_memory()).unwrap()), [1, 2, 3, 4, 5]);
    // Without a saved view the open itself fails.
    fs::remove_file(folder.path().join("view")).unwrap();
    let options = StoreOptions { engine: |_| panic!("boom"), ..in_memory() };
    let error = open_in(&folder, options).err().unwrap();
    insta::assert_snapshot!(error, @"the records cannot be opened: panic: boom");
}

#[test]
fn a_temporary_store_opens_again_and_reserves_no_space() {
    let folder = poc_graph::testing::folder();
    let open = || Store::open_temporary(folder.path(), EMBEDDER, Vec::new()).unwrap();
    put(&open(), 1);
    assert_eq!(numbers(&open()), [1]);
    assert!(!folder.path().join("reserve").exists());
}
