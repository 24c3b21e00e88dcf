//! Indexes catch up with the log from any state.

use super::*;

#[derive(Debug, Default, PartialEq)]
struct IndexContents {
    seq: u64,
    bodies: BTreeMap<NodeId, String>,
    vectors: BTreeMap<(NodeId, u16), Arc<[f32]>>,
}

/// Keeps the bodies and vectors of live nodes.
#[derive(Default)]
struct RecordingIndex {
    state: Mutex<IndexContents>,
    resets: AtomicU64,
    checkpoints: AtomicU64,
    fails: AtomicBool,
}

impl DerivedIndex for RecordingIndex {
    fn name(&self) -> &'static str {
        "index"
    }
    fn applied(&self) -> u64 {
        self.state.lock().seq
    }
    fn reset(&self) -> Result<()> {
        self.resets.fetch_add(1, Ordering::SeqCst);
        *self.state.lock() = Default::default();
        Ok(())
    }
    fn apply(&self, seq: u64, _: Tenant, deltas: &[Delta]) -> Result<()> {
        if self.fails.load(Ordering::SeqCst) {
            return Err(Error::internal("the index fails"));
        }
        let mut state = self.state.lock();
        for delta in deltas {
            match delta {
                Delta::Node(node) if node.state.is_live() => {
                    state.bodies.insert(node.id, node.body.clone());
                }
                Delta::Node(_) | Delta::NodeDeleted(_) => {
                    let id = &node_id(delta);
                    state.bodies.remove(id);
                    state.vectors.retain(|(of, _), _| of != id);
                }
                Delta::Vector(id, part, vector) if state.bodies.contains_key(id) => {
                    state.vectors.insert((*id, *part), vector.clone());
                }
                Delta::VectorDeleted(id, part) => drop(state.vectors.remove(&(*id, *part))),
                _ => {}
            }
        }
        state.seq = seq;
        Ok(())
    }
    fn checkpoint(&self) -> Result<()> {
        self.checkpoints.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }
}

/// The id of a node that was written or deleted.
fn node_id(delta: &Delta) -> NodeId {
    match delta {
        Delta::Node(node) => node.id,
        Delta::NodeDeleted(id) => *id,
        other => panic!("{other:?}"),
    }
}

fn open_with(folder: &TempDir, index: &Arc<RecordingIndex>) -> Store {
    let store = Store::open_with(folder.path(), EMBEDDER, vec![index.clone()], in_memory()).unwrap();
    store.settle();
    store
}

fn write_changes(store: &Store, from: u64) {
    for number in from..from + 5 {
        store
            .transact(cause(), |tx| {
                tx.put_node(&node(number))?;
                tx.put_vectors(node(number).id, "other", &[vec![1.0]])?;
                tx.put_vectors(node(number).id, EMBEDDER, &[vec![1.0, number as f32], vec![0.0, 1.0]])
            })
            .unwrap();
    }
    store.transact(cause(), |tx| tx.delete_node(node(from).id)).unwrap();
    store
        .transact(cause(), |tx| {
            tx.put_node(&Node { body: "changed".into(), ..node(from + 1) })?;
            tx.put_vectors(node(from + 1).id, EMBEDDER, &[vec![3.0, 4.0]])
        })
        .unwrap();
    let set = |number, state| {
        store.transact(cause(), |tx| tx.put_node(&Node { state, ..node(number) })).unwrap();
    };
    set(from + 2, State::Superseded);
    set(from + 3, State::Expired);
    set(from + 3, State::Active);
}

#[test]
fn live_caught_up_and_rebuilt_indexes_are_equal() {
    let folder = poc_graph::testing::folder();
    let live = Arc::new(RecordingIndex::default());
    let store = open_with(&folder, &live);
    write_changes(&store, 1);
    drop(store);
    let late = Arc::new(RecordingIndex::default());
    drop(open_with(&folder, &late));
    let store = open_with(&folder, &live);
    write_changes(&store, 11);
    drop(store);
    drop(open_with(&folder, &late));
    let fresh = Arc::new(RecordingIndex::default());
    drop(open_with(&folder, &fresh));
    assert_eq!(live.state.lock().seq, 20);
    assert_eq!(*live.state.lock(), *late.state.lock());
    assert_eq!(*live.state.lock(), *fresh.state.lock());
    assert_eq!(live.state.lock().vectors.len(), 10);
}

#[test]
fn an_index_ahead_of_the_log_is_reset() {
    let folder = poc_graph::testing::folder();
    let index = Arc::new(RecordingIndex::default());
    drop(open_with(&folder, &index));
    index.apply(5, Tenant::default(), &[Delta::Node(Arc::new(node(77)))]).unwrap();
    let store = open_with(&folder, &index);
    put(&store, 1);
    assert_eq!(index.resets.load(Ordering::SeqCst), 1);
    assert_eq!((index.applied(), index.state.lock().bodies.len()), (1, 1));
}

#[test]
fn a_failed_index_is_reported_and_catches_up_at_the_next_open() {
    let folder = poc_graph::testing::folder();
    let index = Arc::new(RecordingIndex::default());
    let store = open_with(&folder, &index);
    put(&store, 1);
    let ann = super::tenants::tuple(1).id();
    let unload = || {
        let synced = store.shared.log.keep_synced().unwrap();
        store.shared.index_workers.unload(ann, &synced).unwrap()
    };
    assert!(unload());
    index.fails.store(true, Ordering::SeqCst);
    put(&store, 2);
    assert!(!unload(), "its content is incomplete");
    index.fails.store(false, Ordering::SeqCst);
    put(&store, 3);
    let behind: Vec<_> =
        store.lagging_indexes().iter().map(|(name, error)| format!("{name}: {error}")).collect();
    assert_eq!(behind, ["index: the index fails"]);
    assert_eq!(index.applied(), 1);
    drop(store);
    let store = open_with(&folder, &index);
    assert!(store.lagging_indexes().is_empty());
    assert_eq!((index.applied(), index.state.lock().bodies.len()), (3, 3));
}

/// Its files have texts that the log has lost.
#[test]
fn a_failed_index_keeps_nothing_when_history_is_deleted() {
    let folder = poc_graph::testing::folder();
    let index = Arc::new(RecordingIndex::default());
    let store = open_with(&folder, &index);
    put(&store, 1);
    index.fails.store(true, Ordering::SeqCst);
    put(&store, 2);
    put(&store, 3);
    index.fails.store(false, Ordering::SeqCst);
    store.compact(None, &QUIET_COMPACTION).unwrap();
    assert_eq!(index.state.lock().bodies.len(), 1);
    store.compact(Some(Timestamp::LATEST), &QUIET_COMPACTION).unwrap();
    assert_eq!(*index.state.lock(), IndexContents::default());
    drop(store);
    let store = open_with(&folder, &index);
    assert_eq!((index.state.lock().bodies.len(), store.lagging_indexes().len()), (3, 0));
}

/// Storing one note must not write all indexes, and the replay at open must stay bounded.
#[test]
fn closing_writes_a_checkpoint_after_enough_changes() {
    let folder = poc_graph::testing::folder();
    let saved = |index: &RecordingIndex| index.checkpoints.load(Ordering::SeqCst);
    let live = Arc::new(RecordingIndex::default());
    let store = open_with(&folder, &live);
    put(&store, 1);
    drop(store);
    assert_eq!(saved(&live), 0);
    let store = open_with(&folder, &live);
    store.transact(cause(), |tx| (2..1000).try_for_each(|number| tx.put_node(&node(number)))).unwrap();
    drop(store);
    assert_eq!(saved(&live), 0, "998 changes since the open, one before");
    let late = Arc::new(RecordingIndex::default());
    let store = open_with(&folder, &late);
    put(&store, 1000);
    drop(store);
    assert_eq!(saved(&late), 1, "changes that an open catches up with count, too");
    drop(open_with(&folder, &late));
    assert_eq!(saved(&late), 1, "nothing new");
}

#[test]
fn a_long_text_counts_as_many_changes() {
    let folder = poc_graph::testing::folder();
    let store = open_in(&folder, in_memory()).unwrap();
    put(&store, 1);
    assert!(store.unsaved() < 10);
    let body = "x".repeat(1 << 20);
    store.transact(cause(), |tx| tx.put_node(&Node { body: body.clone(), ..node(2) })).unwrap();
    assert!(store.unsaved() >= CHECKPOINT_MIN_CHANGES);
    store.checkpoint().unwrap();
    assert_eq!(store.unsaved(), 0);
}
