//! Messages are synchronised with their chunks.

use super::*;
use crate::forget;
use crate::message;
use crate::write::{self, WriteReport};
use poc_graph::{Message, MessageId};
use poc_store::{Records as _, Transaction};

const TEXT: &str = "One is a split. Two is a journal. Three is a page. Four is a key. Five is a leaf.";

fn write(memory: &Memory) -> WriteReport {
    let metadata = serde_json::json!({"session": "42"}).as_object().unwrap().clone();
    let (provenance, keywords) = ("manual".into(), Vec::new());
    let draft = write::MessageDraft { text: TEXT.into(), metadata, keywords, provenance, trust: Trust::User };
    write::write(memory, draft, memory.cause("manual", "write")).unwrap()
}

fn forget(memory: &Memory, id: MessageId) -> Result<forget::ForgetReport> {
    forget::message(memory, id, None, memory.cause("manual", "forget"))
}

/// Number of notes that claim to be chunks, and of those that the message lists.
fn chunks(memory: &Memory) -> (usize, usize) {
    let chunks: Vec<Node> = notes(memory).into_iter().filter(|node| node.source.is_some()).collect();
    let known =
        |node: &&Node| message::origin(&memory.store, node.id, node.source.as_deref()).unwrap().is_some();
    (chunks.len(), chunks.iter().filter(known).count())
}

#[test]
fn messages_are_pulled_and_pushed_with_their_chunks() {
    let both = StorePair::new();
    let (ours, theirs) = (write(&both.local), write(&both.remote));
    assert_eq!((ours.nodes.len(), counts(&both.sync())), (2, (2, 0, 2)));
    for id in [ours.message, theirs.message] {
        let record = |memory: &Memory| memory.store.message(id).unwrap().unwrap();
        assert_eq!(record(&both.local), record(&both.remote));
    }
    assert_eq!((chunks(&both.local), chunks(&both.remote)), ((4, 4), (4, 4)));
    assert_eq!(counts(&both.sync()), (0, 0, 0));
}

#[test]
fn few_notes_of_long_messages_are_copied_in_one_transaction() {
    let both = StorePair::new();
    for _ in 0..9 {
        let id = write(&both.remote).message;
        let lengthen = |tx: &mut Transaction<'_>| {
            let message = tx.message(id)?.unwrap();
            tx.put_message(&Message { text: "x".repeat(1 << 20), ..message })
        };
        both.remote.store.transact(both.remote.cause("manual", "test"), lengthen).unwrap();
    }
    assert_eq!(counts(&both.sync()), (18, 0, 0));
    // Eight notes, each with a message of 1 MiB.
    assert_eq!(note_transactions(&both.local), 3);
}

#[test]
fn a_chunk_with_a_new_id_stays_a_chunk_of_its_message() {
    let both = StorePair::new();
    let written = write(&both.local);
    let other = Node { id: written.nodes[1], ..poc_graph::testing::node(9) };
    both.remote.store.transact(both.remote.cause("manual", "test"), |tx| tx.put_node(&other)).unwrap();
    both.sync();
    assert_eq!(chunks(&both.remote), (2, 2));
    assert_eq!(forget(&both.remote, written.message).unwrap().nodes, 2);
    assert!(both.remote.store.node(other.id).unwrap().is_some());
}

#[test]
fn a_message_forgotten_locally_comes_back_and_one_forgotten_remotely_is_deleted() {
    let both = StorePair::new();
    let id = write(&both.remote).message;
    both.sync();
    assert_eq!(forget(&both.local, id).unwrap().nodes, 2);
    assert_eq!(chunks(&both.local), (0, 0));
    // Only deletions in the remote count.
    assert_eq!(counts(&both.sync()), (2, 0, 0));
    assert_eq!(chunks(&both.local), (2, 2));

    assert_eq!(forget(&both.remote, id).unwrap().nodes, 2);
    assert_eq!(counts(&both.sync()), (0, 2, 0));
    assert_eq!((chunks(&both.local), both.local.store.message(id).unwrap()), ((0, 0), None));
    assert_eq!(forget(&both.local, id).unwrap_err().code, Code::NotFound);
}

#[test]
fn a_message_stays_while_a_locally_edited_chunk_remains() {
    let both = StorePair::new();
    let written = write(&both.remote);
    both.sync();
    let key = both.local.store.node(written.nodes[0]).unwrap().unwrap().key;
    edit(&both.local, &key, "One was a split.").unwrap();
    forget(&both.remote, written.message).unwrap();
    both.sync();
    assert_eq!((chunks(&both.local), chunks(&both.remote)), ((1, 1), (1, 1)));
}

#[test]
fn both_edits_of_a_chunk_stay_chunks_of_its_message() {
    for local_is_later in [false, true] {
        let both = StorePair::new();
        let written = write(&both.remote);
        both.sync();
        let key = both.local.store.node(written.nodes[0]).unwrap().unwrap().key;
        let (earlier, later) = match local_is_later {
            true => (&both.remote, &both.local),
            false => (&both.local, &both.remote),
        };
        edit(earlier, &key, "One was a split.").unwrap();
        both.later();
        edit(later, &key, "One will be a split.").unwrap();
        both.sync();
        assert_eq!((chunks(&both.local), chunks(&both.remote)), ((3, 3), (3, 3)));
        assert_eq!(both.sync(), SyncReport::default());
        assert_eq!(forget(&both.remote, written.message).unwrap().nodes, 3);
    }
}
