//! A sync that ends after any of its transactions is completed by the next.

use super::*;
use poc_graph::Origin;
use std::collections::BTreeMap;

/// Two stores for which a sync needs every kind of step.
fn much() -> StorePair {
    let both = StorePair::with_chunk(4);
    let many = |side: &Memory, from: usize, count: usize| {
        let drafts = (from..from + count).map(|number| Draft {
            key: Some(format!("note-{number}")),
            keywords: Some(vec![format!("word{}", number % 5), "common".into()]),
            ..draft(&format!(
                "Note {number} is about the number {number} and its friend {}.",
                number * 7919 % 1000
            ))
        });
        for prepared in insert::prepare_all(side, drafts.collect()).unwrap() {
            let prepared = prepared.unwrap();
            let now = side.now();
            let cause = side.cause("manual", "insert");
            side.store.transact(cause, |tx| insert::apply(tx, &prepared, now)).unwrap();
        }
    };
    many(&both.local, 0, 6);
    many(&both.remote, 6, 6);
    link(&both.local, "note-0", "note-1");
    link(&both.remote, "note-6", "note-7");
    both.sync();
    // Edited locally, edited remotely, edited in both, deleted remotely, deleted locally.
    edit(&both.local, "note-2", "An edit of ours.").unwrap();
    edit(&both.remote, "note-3", "An edit of theirs.").unwrap();
    edit(&both.local, "note-8", "Our side of it.").unwrap();
    edit(&both.remote, "note-8", "Their side of it.").unwrap();
    // The later edit of one is that of the remote, and of the other that of the local store.
    edit(&both.local, "note-6", "Our side of six.").unwrap();
    edit(&both.remote, "note-7", "Their side of seven.").unwrap();
    both.later();
    edit(&both.remote, "note-6", "Their side of six.").unwrap();
    edit(&both.local, "note-7", "Our side of seven.").unwrap();
    delete(&both.remote, "note-4");
    delete(&both.remote, "note-9");
    delete(&both.local, "note-10");
    // New in each store, once with the same key.
    many(&both.local, 20, 8);
    many(&both.remote, 27, 8);
    both.local.insert(Draft { key: Some("note-30".into()), ..draft("A taken key.") }).unwrap();
    link(&both.local, "note-20", "note-21");
    link(&both.remote, "note-31", "note-32");
    unlink(&both.local, "note-0", "note-1");
    unlink(&both.remote, "note-6", "note-7");
    supersede(&both.remote, "note-11", "note-31");
    both
}

/// The state that must be the same however often a sync was interrupted.
type State = (BTreeMap<String, (NodeId, String, Origin, String)>, BTreeSet<(String, EdgeKind, String)>);

fn state(memory: &Memory) -> State {
    let of = |node: Node| {
        let state = node.state.to_string();
        (node.body, (node.id, node.key, node.origin, state))
    };
    (notes(memory).into_iter().map(of).collect(), links(memory))
}

#[test]
fn an_interrupted_sync_is_completed_by_the_next() {
    let whole = much();
    let report = whole.sync();
    assert!(report.pulled > 8 && report.deleted == 3 && report.pushed > 8, "{report:?}");
    assert_eq!(texts(&whole.local), texts(&whole.remote));
    let expected = (state(&whole.local), state(&whole.remote));
    let mut boundaries = 0;
    loop {
        let both = much();
        let before = texts(&both.local);
        if both.killed_after(boundaries) {
            break;
        }
        boundaries += 1;
        let kept: BTreeSet<String> = texts(&both.local).union(&texts(&both.remote)).cloned().collect();
        let lost: Vec<&String> = before.difference(&kept).collect();
        // Only notes that the remote deleted or changed may be missing by now.
        assert!(lost.len() <= 3, "after {boundaries}: {lost:?}");
        both.sync();
        assert_eq!((state(&both.local), state(&both.remote)), expected, "killed after {boundaries}");
        assert_eq!(both.sync(), SyncReport::default(), "killed after {boundaries}");
    }
    assert!(boundaries > 10, "only {boundaries} transactions");
}

#[test]
fn a_sync_that_is_interrupted_repeatedly_completes() {
    let whole = much();
    whole.sync();
    let both = much();
    let mut rounds = 0;
    while !both.killed_after(3) {
        rounds += 1;
        assert!(rounds < 200, "the sync makes no progress");
    }
    assert_eq!((state(&both.local), state(&both.remote)), (state(&whole.local), state(&whole.remote)));
}

#[test]
fn a_note_edited_between_push_and_mark_becomes_the_next_version() {
    let both = StorePair::new();
    both.local.note("ours", "The first text.");
    // The remote gets its id, then the note; the mark is missing.
    let mut transactions = 0;
    while texts(&both.remote).is_empty() {
        assert!(!both.killed_after(transactions));
        transactions += 1;
    }
    assert_eq!(named(&both.local, "ours").origin, Origin::Local);
    edit(&both.local, "ours", "The second text.").unwrap();
    both.sync();
    assert!(texts(&both.local).contains("The second text."));
    assert_eq!(texts(&both.local), texts(&both.remote));
    assert_eq!(both.sync(), SyncReport::default());
}
