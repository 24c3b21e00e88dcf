//! Followers reach the log's end from wherever they are.

use super::*;

/// Keeps the bodies of nodes and the vectors it was fed.
#[derive(Default)]
struct Probe {
    state: Mutex<(u64, BTreeMap<NodeId, String>, BTreeMap<(NodeId, u16), Arc<[f32]>>)>,
    resets: AtomicU64,
    fails: AtomicBool,
}

impl Follower for Probe {
    fn name(&self) -> &'static str {
        "probe"
    }
    fn applied(&self) -> u64 {
        self.state.lock().0
    }
    fn reset(&self) -> Result<()> {
        self.resets.fetch_add(1, Ordering::SeqCst);
        *self.state.lock() = Default::default();
        Ok(())
    }
    fn apply(&self, seq: u64, deltas: &[Delta]) -> Result<()> {
        if self.fails.load(Ordering::SeqCst) {
            return Err(Error::internal("the probe fails"));
        }
        let mut state = self.state.lock();
        for delta in deltas {
            match delta {
                Delta::Node(node) => drop(state.1.insert(node.id, node.body.clone())),
                Delta::NodeGone(id) => drop(state.1.remove(id)),
                Delta::Vector(id, part, vector) => drop(state.2.insert((*id, *part), vector.clone())),
                Delta::VectorGone(id, part) => drop(state.2.remove(&(*id, *part))),
                _ => {}
            }
        }
        state.0 = seq;
        Ok(())
    }
    fn checkpoint(&self) -> Result<()> {
        Ok(())
    }
}

fn with(folder: &TempDir, probe: &Arc<Probe>) -> Store {
    open(folder.path(), EMBEDDER, vec![probe.clone()], in_memory()).unwrap()
}

fn change_things(store: &Store, from: u64) {
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
}

#[test]
fn live_caught_up_and_fed_from_scratch_are_alike() {
    let folder = tempfile::tempdir().unwrap();
    let live = Arc::new(Probe::default());
    let store = with(&folder, &live);
    change_things(&store, 1);
    drop(store);
    let late = Arc::new(Probe::default());
    drop(with(&folder, &late));
    let store = with(&folder, &live);
    change_things(&store, 11);
    drop(store);
    drop(with(&folder, &late));
    let fresh = Arc::new(Probe::default());
    drop(with(&folder, &fresh));
    assert_eq!(live.state.lock().0, 14);
    assert_eq!(*live.state.lock(), *late.state.lock());
    assert_eq!(*live.state.lock(), *fresh.state.lock());
    assert_eq!(live.state.lock().2.len(), 14);
}

#[test]
fn a_follower_ahead_of_the_log_starts_again() {
    let folder = tempfile::tempdir().unwrap();
    let probe = Arc::new(Probe::default());
    drop(with(&folder, &probe));
    probe.apply(5, &[Delta::Node(Arc::new(node(77)))]).unwrap();
    let store = with(&folder, &probe);
    put(&store, 1);
    assert_eq!(probe.resets.load(Ordering::SeqCst), 1);
    assert_eq!((probe.applied(), probe.state.lock().1.len()), (1, 1));
}

#[test]
fn a_follower_that_fails_is_named_and_catches_up_at_the_next_open() {
    let folder = tempfile::tempdir().unwrap();
    let probe = Arc::new(Probe::default());
    let store = with(&folder, &probe);
    put(&store, 1);
    probe.fails.store(true, Ordering::SeqCst);
    put(&store, 2);
    probe.fails.store(false, Ordering::SeqCst);
    put(&store, 3);
    let behind: Vec<_> = store.behind().iter().map(|(name, error)| format!("{name}: {error}")).collect();
    assert_eq!(behind, ["probe: the probe fails"]);
    assert_eq!(probe.applied(), 1);
    drop(store);
    let store = with(&folder, &probe);
    assert!(store.behind().is_empty());
    assert_eq!((probe.applied(), probe.state.lock().1.len()), (3, 3));
}
