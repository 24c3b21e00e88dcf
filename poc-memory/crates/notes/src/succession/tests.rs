//! Tests of the data that successors take over and of its undo.

use super::*;
use crate::link::{self, Link};
use crate::testing::{TestMemory, draft};
use crate::{Draft, insert, sequence, supersede, undo, visit, weight};
use poc_graph::time::Span;
use poc_graph::{State, VisitOutcome};
use poc_store::Transaction;

fn change<T>(memory: &TestMemory, act: impl Fn(&mut Transaction<'_>) -> Result<T>) -> T {
    memory.store.transact(memory.cause("manual", "test"), act).unwrap().value
}

/// A session of `keys`, in this order.
fn session(memory: &TestMemory, keys: &[&str]) {
    let ids: Vec<NodeId> = keys.iter().map(|key| memory.note(key, &format!("What {key} says."))).collect();
    let edges = sequence::edges(&ids, 1.0, memory.now(), "manual");
    change(memory, |tx| edges.iter().try_for_each(|edge| tx.put_edge(edge)));
}

fn replace(memory: &TestMemory, old: &str, new: &str) {
    let (old, new) = (memory.find(old).unwrap().id, memory.find(new).unwrap().id);
    change(memory, |tx| supersede::apply(tx, old, new, "manual", "", &memory.config, memory.now()));
}

/// Everything stored about notes.
fn everything(memory: &TestMemory) -> Vec<String> {
    let mut all = Vec::new();
    for (_, node) in memory.store.scan::<Node>(&[]).unwrap() {
        let id = node.id;
        let (activity, visits) = (memory.store.activity(id).unwrap(), memory.store.visits(id).unwrap());
        all.push(format!("{node:?} {:?} {activity:?} {visits:?}", memory.store.edges(id).unwrap()));
    }
    all
}

#[test]
fn a_successor_takes_the_place_in_the_session() {
    let memory = TestMemory::new();
    session(&memory, &["a", "b", "c", "d"]);
    memory.note("better", "What b says, only better.");
    let before = everything(&memory);
    replace(&memory, "b", "better");
    let order = |memory: &TestMemory| ["a", "better", "c"].map(|key| memory.session_neighbors(key));
    assert_eq!(order(&memory), [vec!["better"], vec!["a", "c"], vec!["better", "d"]]);
    // If a neighbour in the session replaces the note, the gap in the sequence closes.
    replace(&memory, "c", "better");
    assert_eq!(memory.session_neighbors("better"), ["a", "d"]);
    let seq = memory.store.last_seq();
    assert_eq!(undo::undo_single(&memory, seq).unwrap().refused, None);
    assert_eq!(undo::undo_single(&memory, seq - 1).unwrap().refused, None);
    assert_eq!(everything(&memory), before);
}

#[test]
fn a_successor_with_a_place_of_its_own_keeps_it() {
    let memory = TestMemory::new();
    session(&memory, &["a", "b", "c"]);
    session(&memory, &["x", "y", "z"]);
    replace(&memory, "b", "y");
    assert_eq!(
        [memory.session_neighbors("y"), memory.session_neighbors("a"), memory.session_neighbors("c")],
        [vec!["x", "z"], vec!["c"], vec!["a"]]
    );
}

#[test]
fn a_successor_takes_over_activity_and_learned_edges_and_uses_since_survive_an_undo() {
    let memory = TestMemory::new();
    let old = memory.note("old", "The journal is cut at a checkpoint.");
    let new = memory.note("new", "At a checkpoint the journal is cut, and the pages are written.");
    let friend = memory.note("friend", "Soup.");
    let now = memory.now();
    let replayed = Some(now.minus(Span::DAY));
    change(&memory, |tx| {
        let mut activity = tx.activity(old)?.unwrap();
        (activity.weight, activity.accesses) = (3.0, 5);
        (activity.replay_interval, activity.replayed) = (7, replayed);
        tx.put_activity(old, &activity)?;
        let learned = Edge { kind: EdgeKind::CoRetrieval, ..sequence::edge(old, friend, 0.5, now, "manual") };
        tx.put_edge(&learned)
    });
    let before = everything(&memory);
    replace(&memory, "old", "new");
    let replacement = memory.store.last_seq();
    let activity = memory.store.activity(new).unwrap().unwrap();
    assert_eq!((activity.weight, activity.accesses), (3.0, 5));
    assert_eq!((activity.replay_interval, activity.replayed), (7, replayed));
    assert!(memory.store.edge(new, EdgeKind::CoRetrieval, friend).unwrap().is_some());

    // Used and judged since, by a recall and by an agent.
    change(&memory, |tx| {
        weight::change(tx, new, weight::WeightChange::By(0.5), &memory.config.weight, now)?;
        let edge = tx.edge(new, EdgeKind::CoRetrieval, friend)?.unwrap();
        tx.put_edge(&Edge { strength: 0.9, ..edge })
    });
    assert_eq!(undo::undo_single(&memory, replacement).unwrap().refused, None);
    let activity = memory.store.activity(new).unwrap().unwrap();
    assert!((activity.weight - 1.5).abs() < 1e-9, "{activity:?}");
    assert_eq!((activity.accesses, activity.replay_interval, activity.replayed), (0, 0, None));
    let learned = memory.store.edge(new, EdgeKind::CoRetrieval, friend).unwrap().unwrap();
    assert_eq!(learned.strength, 0.9);
    assert_eq!(memory.store.edges(friend).unwrap().len(), 2);

    // Without uses in between, everything is as before.
    let other = TestMemory::new();
    for (key, text) in [("old", "One."), ("new", "Two.")] {
        other.note(key, text);
    }
    let before_replacement = everything(&other);
    replace(&other, "old", "new");
    assert_eq!(undo::undo_single(&other, other.store.last_seq()).unwrap().refused, None);
    assert_eq!(everything(&other), before_replacement);
    assert_ne!(before, everything(&memory));
}

#[test]
fn a_visit_counts_for_a_successor_with_the_same_text() {
    let memory = TestMemory::new();
    let text = "The journal is cut at a checkpoint.";
    memory.note("old", text);
    // The same text with other keywords is another note.
    let twin = Draft { key: Some("twin".into()), keywords: Some(vec!["log".into()]), ..draft(text) };
    let twin = memory.insert(twin).unwrap().id;
    let other = memory.note("other", "Something else.");
    for agent in ["linker", "transfer"] {
        let old = memory.find("old").unwrap().id;
        change(&memory, |tx| visit::record(tx, agent, old, VisitOutcome::Processed, memory.now()));
    }
    memory.clock.advance(Span::DAY);
    change(&memory, |tx| visit::record(tx, "transfer", twin, VisitOutcome::Modified, memory.now()));
    replace(&memory, "old", "twin");
    let replacement = memory.store.last_seq();
    let visits = memory.store.visits(twin).unwrap();
    let outcomes: Vec<_> = visits.iter().map(|(agent, visit)| (agent.as_str(), visit.outcome)).collect();
    assert_eq!(outcomes, [("linker", VisitOutcome::Processed), ("transfer", VisitOutcome::Modified)]);
    // A visit since then stays when the replacement is undone.
    change(&memory, |tx| visit::record(tx, "linker", twin, VisitOutcome::Skipped, memory.now()));
    assert_eq!(undo::undo_single(&memory, replacement).unwrap().refused, None);
    assert_eq!(memory.store.visits(twin).unwrap()[0].1.outcome, VisitOutcome::Skipped);
    assert_eq!(memory.find("old").unwrap().state, State::Active);
    // A changed text counts as unread.
    replace(&memory, "old", "other");
    assert_eq!(memory.store.visits(other).unwrap(), []);
}

#[test]
fn keyword_edges_follow_the_keywords_of_the_successor() {
    let memory = TestMemory::new();
    let note = |key: &str, body: &str, words: &[&str]| {
        let keywords = Some(words.iter().map(|word| (*word).to_owned()).collect());
        memory.insert(Draft { key: Some(key.into()), keywords, ..draft(body) }).unwrap().id
    };
    let (old, tea, oven) =
        (note("old", "One.", &[]), note("tea", "Two.", &["tea"]), note("oven", "Three.", &["oven"]));
    let new = note("new", "Four.", &["tea"]);
    change(&memory, |tx| {
        [tea, oven].iter().try_for_each(|&to| {
            let edge = sequence::edge(old, to, 0.6, memory.now(), "manual");
            tx.put_edge(&Edge { kind: EdgeKind::Keyword, reason: "tea, oven".into(), ..edge })
        })
    });
    // Automatic edges of the insert are removed: this test is not about them.
    change(&memory, |tx| {
        tx.delete_edge(new, EdgeKind::Keyword, tea)?;
        tx.delete_edge(tea, EdgeKind::Keyword, new)
    });
    replace(&memory, "old", "new");
    assert_eq!(memory.store.edge(new, EdgeKind::Keyword, tea).unwrap().unwrap().reason, "tea");
    assert!(memory.store.edge(new, EdgeKind::Keyword, oven).unwrap().is_none());
}

#[test]
fn a_new_text_takes_over_weight_and_replay_state_unless_it_has_its_own_weight() {
    let memory = TestMemory::new();
    let put = |key: &str, weight| {
        let old = memory.note(key, &format!("What {key} said."));
        change(&memory, |tx| {
            let activity = tx.activity(old)?.unwrap();
            tx.put_activity(old, &Activity { weight: 4.0, replay_interval: 3, ..activity })
        });
        let next = Draft { supersedes: Some(old), weight, ..draft(&format!("What {key} says by now.")) };
        let new = insert::insert(&memory, next, memory.cause("manual", "insert")).unwrap().id;
        let activity = memory.store.activity(new).unwrap().unwrap();
        (activity.weight, activity.replay_interval)
    };
    assert_eq!(put("one", None), (4.0, 3));
    assert_eq!(put("two", Some(0.5)), (0.5, 3));
}

#[test]
fn parts_take_over_the_sources_and_the_nearest_part_takes_over_the_derived_notes() {
    let memory = TestMemory::new();
    let source = memory.note("source", "Minutes of the meeting.");
    let whole = memory.note("whole", "The journal is cut at a checkpoint. Compaction merges old segments.");
    let fact = memory.note("fact", "Compaction merges the old segments of the store.");
    change(&memory, |tx| {
        derivation::add_sources(tx, whole, &[source], "manual", "", memory.now())?;
        derivation::add_sources(tx, fact, &[whole], "agent:facts", "", memory.now())?;
        let activity = tx.activity(whole)?.unwrap();
        tx.put_activity(whole, &Activity { weight: 2.0, replay_interval: 14, accesses: 3, ..activity })
    });
    let parts = [
        memory.note("journal", "The journal is cut at a checkpoint."),
        memory.note("compaction", "Compaction merges old segments."),
    ];
    let overview = memory.note("overview", "Journal and compaction.");
    replace(&memory, "whole", "overview");
    let embedder = memory.embedder.name().to_owned();
    change(&memory, |tx| apply_to_parts(tx, whole, &parts, &embedder, &memory.config, memory.now()));
    let view = memory.store.view();
    let sources = |id: NodeId| {
        let mut keys: Vec<String> =
            view.sources(view.find(id).unwrap()).map(|ix| view.key(ix).to_owned()).collect();
        keys.sort();
        keys
    };
    assert_eq!([sources(parts[0]), sources(parts[1])], [vec!["source"], vec!["source"]]);
    assert_eq!(sources(fact), ["compaction", "overview", "whole"]);
    for part in parts {
        let activity = memory.store.activity(part).unwrap().unwrap();
        assert_eq!((activity.weight, activity.replay_interval, activity.accesses), (2.0, 14, 0));
    }
    assert_eq!(sources(overview), ["source"]);
}

#[test]
fn a_link_to_itself_is_not_taken_over() {
    let memory = TestMemory::new();
    let (old, new) = (memory.note("old", "One."), memory.note("new", "Two."));
    let reason = String::new();
    let link =
        Link { src: old, dst: new, kind: EdgeKind::Link, strength: 0.5, reason, provenance: "manual".into() };
    change(&memory, |tx| link::add(tx, &link, memory.now()));
    replace(&memory, "old", "new");
    assert!(memory.store.edges(new).unwrap().iter().all(|edge| edge.src != edge.dst));
}
