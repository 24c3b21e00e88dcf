//! Tests of what transactions read and write.

use super::*;
use crate::engine::{Put, Visitor, Watermark};
use crate::overlay::Overlay;
use poc_graph::{Tenant, View};
use std::borrow::Cow;

#[test]
fn a_preview_writes_nothing_and_sees_its_own_changes() {
    let folder = poc_graph::testing::folder();
    let store = open_in(&folder, in_memory()).unwrap();
    put(&store, 1);
    let before = store.last_seq();
    let seen = store.preview(|tx| {
        tx.put_node(&node(2))?;
        Ok((tx.node(node(1).id)?.is_some(), tx.node(node(2).id)?.is_some()))
    });
    assert_eq!(seen.unwrap(), (true, true));
    assert_eq!((store.last_seq(), store.node(node(2).id).unwrap()), (before, None));
    let nested = store.preview(|_| store.preview(|_| Ok(())));
    assert_eq!(nested.unwrap_err().code, Code::Internal);
}

#[test]
fn writes_survive_reopening() {
    let folder = poc_graph::testing::folder();
    let visit = Visit { at: Timestamp(3), outcome: VisitOutcome::Processed, version: 1 };
    let before = {
        let store = open_in(&folder, StoreOptions::default()).unwrap();
        let made = store
            .transact(cause(), |tx| {
                for number in 1..=3 {
                    tx.put_node(&node(number))?;
                    tx.put_activity(node(number).id, &Activity::new(Timestamp(1), 2.0))?;
                    tx.put_vectors(node(number).id, EMBEDDER, &[vec![1.0, number as f32]])?;
                }
                tx.put_edge(&edge(1, 2, EdgeKind::Link, 0.5))?;
                tx.put_edge(&edge(3, 1, EdgeKind::Supersedes, 1.0))?;
                tx.put_visit("linker", node(2).id, &visit)
            })
            .unwrap();
        assert_eq!(made.seq, 1);
        contents(&store)
    };
    let store = open_in(&folder, StoreOptions::default()).unwrap();
    assert_eq!(contents(&store), before);
    assert!(store.recovery().messages.is_empty(), "{:?}", store.recovery());
    assert_eq!(numbers(&store), [1, 2, 3]);
    let view = store.view();
    let at = |number| view.find(node(number).id).unwrap();
    assert_eq!((view.seq, view.edge_count(), view.stored_weight(at(2))), (1, 1, 2.0));
    assert_eq!(view.visit("linker", at(2)), Some(visit));
    let edges = store.edges(node(1).id).unwrap();
    assert_eq!(edges, [edge(1, 2, EdgeKind::Link, 0.5), edge(3, 1, EdgeKind::Supersedes, 1.0)]);
    assert_eq!(store.visits(node(2).id).unwrap(), [("linker".to_owned(), visit)]);
}

#[test]
fn a_transaction_that_fails_or_changes_nothing_leaves_no_trace() {
    let folder = poc_graph::testing::folder();
    let store = open_in(&folder, in_memory()).unwrap();
    put(&store, 1);
    let before = (contents(&store), store.sizes().unwrap());
    let failed = store.transact(cause(), |tx| {
        tx.put_node(&node(2))?;
        Err::<(), _>(Error::invalid("no"))
    });
    assert_eq!(failed.unwrap_err().message, "no");
    let idle = store
        .transact(cause(), |tx| {
            tx.put_node(&node(1))?;
            tx.put_node(&node(9))?;
            tx.delete_node(node(9).id)?;
            tx.delete_node(node(8).id)
        })
        .unwrap();
    assert_eq!(idle.seq, 1);
    assert_eq!((contents(&store), store.sizes().unwrap()), before);
}

#[test]
fn a_nested_transaction_is_an_error() {
    let folder = poc_graph::testing::folder();
    let store = open_in(&folder, in_memory()).unwrap();
    let other = store.for_tenant(&Tuple::default());
    let outer = store.transact(cause(), |tx| {
        let inner = other.transact(cause(), |tx| tx.put_node(&node(1))).unwrap_err();
        tx.put_node(&node(2))?;
        Ok(inner)
    });
    let inner = outer.unwrap().value;
    assert_eq!(inner.code, Code::Internal);
    insta::assert_snapshot!(inner, @"a transaction was begun inside a transaction of the same store");
    assert_eq!(numbers(&store), [2]);
    put(&store, 3);
}

#[test]
fn a_panic_in_a_transaction_leaves_the_store_usable() {
    let folder = poc_graph::testing::folder();
    let store = open_in(&folder, in_memory()).unwrap();
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        store.transact(cause(), |tx| {
            tx.put_node(&node(1))?;
            panic!("in the closure");
            #[allow(unreachable_code)]
            Ok(())
        })
    }));
    assert!(panicked.is_err());
    assert_eq!(put(&store, 2).seq, 1);
    assert_eq!(numbers(&store), [2]);
}

#[test]
fn a_key_of_another_node_is_a_conflict() {
    let folder = poc_graph::testing::folder();
    let store = open_in(&folder, in_memory()).unwrap();
    put(&store, 1);
    let second = Node { key: "n1".into(), ..node(2) };
    let error = store.transact(cause(), |tx| tx.put_node(&second)).unwrap_err();
    assert_eq!(error.code, Code::Conflict);
    insta::assert_snapshot!(error, @"the key `n1` belongs to note `00000000000000000000000000000001`");
}

#[test]
fn the_entries_of_a_node_that_is_lost_are_ignored() {
    let folder = poc_graph::testing::folder();
    let store = open_in(&folder, in_memory()).unwrap();
    put(&store, 1);
    store.transact(cause(), |tx| tx.put_raw(Table::Nodes, node(1).id.as_bytes(), None)).unwrap();
    let again = Node { key: "n1".into(), content_hash: node(1).content_hash, ..node(2) };
    let found =
        |store: &Store| (store.find_key("n1").unwrap(), store.find_hash(&again.content_hash).unwrap());
    assert_eq!(found(&store), (None, None));
    store.transact(cause(), |tx| tx.put_node(&again)).unwrap();
    assert_eq!(found(&store), (Some(again.id), Some(again.id)));
    // The entry of a text that the node had at another time.
    let other = keys::hash(&[9; 32], again.id);
    store.transact(cause(), |tx| tx.put_raw(Table::Hashes, &other, Some(Vec::new()))).unwrap();
    assert_eq!(store.find_hash(&[9; 32]).unwrap(), None);
}

#[test]
fn index_entries_follow_the_state_of_a_node() {
    let folder = poc_graph::testing::folder();
    let store = open_in(&folder, in_memory()).unwrap();
    let found = |key: &str, hash: &[u8; 32], word: &str| {
        store
            .transact(cause(), |tx| {
                let key = tx.find_key(key)?.is_some();
                let hash = tx.find_hash(hash)?.is_some();
                Ok((key, hash, tx.nodes_with_keyword(word)?.len()))
            })
            .unwrap()
            .value
    };
    let mut it = Node { keywords: vec!["old".into(), "kept".into()], ..node(1) };
    let old_hash = it.content_hash;
    let save = |it: &Node| store.transact(cause(), |tx| tx.put_node(it)).unwrap();
    save(&it);
    assert_eq!(found("n1", &old_hash, "old"), (true, true, 1));
    it.key = "renamed".into();
    it.keywords = vec!["kept".into(), "new".into()];
    it.content_hash = [9; 32];
    save(&it);
    assert_eq!(found("n1", &old_hash, "old"), (false, false, 0));
    assert_eq!(found("renamed", &[9; 32], "new"), (true, true, 1));
    it.state = State::Superseded;
    save(&it);
    assert_eq!(found("renamed", &[9; 32], "kept"), (true, false, 0));
    it.state = State::Stale;
    save(&it);
    assert_eq!(found("renamed", &[9; 32], "kept"), (true, true, 1));
    let twin = Node { content_hash: [9; 32], ..node(2) };
    save(&twin);
    store.transact(cause(), |tx| tx.delete_node(it.id)).unwrap();
    assert_eq!(found("renamed", &[9; 32], "kept"), (false, true, 0));
}

#[test]
fn deleting_a_node_deletes_everything_but_its_history() {
    let folder = poc_graph::testing::folder();
    let store = open_in(&folder, in_memory()).unwrap();
    put(&store, 1);
    let only_one = contents(&store);
    let visit = Visit { at: Timestamp(3), outcome: VisitOutcome::Skipped, version: 1 };
    let full = Node { keywords: vec!["word".into()], ..node(2) };
    store
        .transact(cause(), |tx| {
            tx.put_node(&full)?;
            tx.put_activity(full.id, &Activity::new(Timestamp(0), 1.0))?;
            tx.put_vectors(full.id, EMBEDDER, &[vec![1.0], vec![-1.0]])?;
            tx.put_edge(&edge(1, 2, EdgeKind::Link, 0.5))?;
            tx.put_edge(&edge(2, 1, EdgeKind::Contradicts, 1.0))?;
            tx.put_edge(&edge(2, 2, EdgeKind::Link, 1.0))?;
            tx.put_visit("linker", full.id, &visit)
        })
        .unwrap();
    assert_eq!(store.edges(full.id).unwrap().len(), 3);
    store.transact(cause(), |tx| tx.delete_node(full.id)).unwrap();
    let mut left = contents(&store);
    left.retain(|key, _| key[0] != Table::Changes as u8);
    let mut expected = only_one;
    expected.retain(|key, _| key[0] != Table::Changes as u8);
    assert_eq!(left, expected);
    let kinds: Vec<_> = store.history(full.id).unwrap().into_iter().map(|change| change.kind).collect();
    assert_eq!(kinds, [LoggedChangeKind::Created(full.version), LoggedChangeKind::Deleted(Box::new(full))]);
}

#[test]
fn history_and_past_transactions_come_from_the_log() {
    let folder = poc_graph::testing::folder();
    let options =
        || StoreOptions { limits: LogLimits { segment: 600, ..LogLimits::default() }, ..in_memory() };
    let store = open_in(&folder, options()).unwrap();
    for version in 1..=200 {
        let body = format!("version {version}");
        store.transact(cause(), |tx| tx.put_node(&Node { version, body: body.clone(), ..node(1) })).unwrap();
    }
    let check = |store: &Store| {
        let history = store.history(node(1).id).unwrap();
        let version = |change: &LoggedChange| match &change.kind {
            LoggedChangeKind::Created(version) => (0, *version),
            LoggedChangeKind::Changed { before, after } => (before.version, after.version),
            LoggedChangeKind::Deleted(_) => panic!("it was not deleted"),
        };
        let versions: Vec<_> = history.iter().map(version).collect();
        assert_eq!(versions, (1..=200).map(|after| (after - 1, after)).collect::<Vec<_>>());
        assert!(history.iter().all(|change| change.cause == cause()));
        for seq in 1..=200 {
            assert_eq!(store.transaction(seq).unwrap().unwrap().seq, seq);
        }
        assert_eq!((store.transaction(0).unwrap(), store.transaction(201).unwrap()), (None, None));
    };
    check(&store);
    assert!(segment_files(&folder).len() > 50);
    drop(store);
    check(&open_in(&folder, options()).unwrap());
}

#[test]
fn a_record_written_again_keeps_its_position() {
    let folder = poc_graph::testing::folder();
    let store = open_in(&folder, in_memory()).unwrap();
    put(&store, 1);
    let done = store
        .transact(cause(), |tx| {
            tx.put_node(&Node { title: "for a moment".into(), ..node(1) })?;
            let start = tx.write_count();
            tx.put_activity(node(1).id, &Activity::new(Timestamp(0), 3.0))?;
            let end = tx.write_count();
            // Restoring the old value must not move later writes.
            tx.put_node(&node(1))?;
            tx.put_activity(node(1).id, &Activity::new(Timestamp(0), 4.0))?;
            assert_eq!(tx.write_count(), end);
            Ok(start..end)
        })
        .unwrap();
    let txn = store.transaction(done.seq).unwrap().unwrap();
    let tables: Vec<_> = txn.writes[done.value].iter().map(|write| write.table).collect();
    assert_eq!(tables, [Table::Activity]);
}

#[test]
fn vectors_of_an_old_text_are_deleted_for_every_embedder() {
    let folder = poc_graph::testing::folder();
    let store = open_in(&folder, in_memory()).unwrap();
    put(&store, 1);
    let id = node(1).id;
    store
        .transact(cause(), |tx| {
            tx.put_vectors(id, EMBEDDER, &[vec![1.0], vec![1.0], vec![1.0]])?;
            tx.add_vectors(id, "other", &[vec![1.0], vec![1.0]])
        })
        .unwrap();
    store.transact(cause(), |tx| tx.put_vectors(id, EMBEDDER, &[vec![2.0, 0.0]])).unwrap();
    let left: Vec<_> = store
        .raw_range(Table::Vectors, &[])
        .unwrap()
        .iter()
        .map(|(key, _)| {
            let (_, part, of) = keys::read_vector(key).unwrap();
            (part, String::from_utf8(of.to_vec()).unwrap())
        })
        .collect();
    assert_eq!(left, [(0, "test".to_owned())]);
}

#[test]
fn edges_and_activity_need_their_nodes() {
    let folder = poc_graph::testing::folder();
    let store = open_in(&folder, in_memory()).unwrap();
    put(&store, 1);
    let error = store.transact(cause(), |tx| tx.put_edge(&edge(1, 2, EdgeKind::Link, 0.5))).unwrap_err();
    insta::assert_snapshot!(error, @"there is no note `00000000000000000000000000000002`");
    let activity = Activity::new(Timestamp(0), 1.0);
    assert!(store.transact(cause(), |tx| tx.put_activity(node(2).id, &activity)).is_err());
    assert!(store.transact(cause(), |tx| tx.put_vectors(node(2).id, EMBEDDER, &[])).is_err());
}

#[test]
fn a_node_without_an_activity_record_has_the_initial_activity() {
    let folder = poc_graph::testing::folder();
    let store = open_in(&folder, in_memory()).unwrap();
    put(&store, 1);
    let contents = || poc_graph::testing::contents(&store.view())[1..].to_vec();
    let initial = contents();
    let id = node(1).id;
    store.transact(cause(), |tx| tx.put_activity(id, &Activity::new(Timestamp(9), 3.0))).unwrap();
    assert_ne!(contents(), initial);
    // Undo deletes the record in the same way.
    store.transact(cause(), |tx| tx.put_raw(Table::Activity, id.as_bytes(), None)).unwrap();
    assert_eq!(contents(), initial);
}

/// A memory engine that records which keys were read.
#[derive(Default)]
struct ReadEngine {
    records: InMemoryEngine,
    read: Mutex<Vec<Vec<u8>>>,
}

impl Engine for ReadEngine {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.read.lock().push(key.to_vec());
        self.records.get(key)
    }
    fn scan(&self, prefix: &[u8], each: &mut Visitor) -> Result<()> {
        self.records.scan(prefix, each)
    }
    fn apply(&self, changes: Cow<'_, [Put]>, watermark: Watermark) -> Result<()> {
        self.records.apply(changes, watermark)
    }
    fn watermark(&self) -> Result<Watermark> {
        self.records.watermark()
    }
    fn size(&self) -> Result<u64> {
        self.records.size()
    }
    fn flush(&self) -> Result<()> {
        self.records.flush()
    }
}

#[test]
fn records_are_read_ahead_once_and_in_the_order_of_their_keys() {
    let engine = ReadEngine::default();
    let full = |key: u8| Table::Meta.engine_key(Tenant::default(), &[key]);
    let stored: Vec<Put> = [1, 2].map(|key| (full(key), Some(vec![key]))).into();
    engine.apply(stored.into(), Watermark::default()).unwrap();
    let (overlay, view) = (Overlay::default(), View::new());
    let mut tx = Transaction::new(&engine, Tenant::default(), 1, &overlay, &view);
    let wanted = [[3], [1], [2], [1]];
    tx.read_ahead(wanted.iter().map(|key| (Table::Meta, key.as_slice()))).unwrap();
    assert_eq!(std::mem::take(&mut *engine.read.lock()), [full(1), full(2), full(3)]);

    assert_eq!(tx.get_raw(Table::Meta, &[1]).unwrap(), Some(vec![1]));
    tx.put_raw(Table::Meta, &[1], None).unwrap();
    tx.put_raw(Table::Meta, &[2], Some(vec![2])).unwrap();
    tx.put_raw(Table::Meta, &[3], Some(vec![9])).unwrap();
    let now = [1, 2, 3].map(|key| tx.get_raw(Table::Meta, &[key]).unwrap());
    assert_eq!(now, [None, Some(vec![2]), Some(vec![9])]);
    assert!(engine.read.lock().is_empty(), "they are read only once");
    let (writes, _) = tx.into_parts();
    let images: Vec<_> = writes.into_iter().map(|write| (write.key, write.before, write.after)).collect();
    assert_eq!(images, [(vec![1], Some(vec![1]), None), (vec![3], None, Some(vec![9]))]);
}
