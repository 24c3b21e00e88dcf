//! Tests of single cases.

use super::*;
use crate::history::{self, RecentChange};
use crate::sync::{KeyRename, NoteSummary, PlannedChanges, PlannedConflict, SYNC_OP};
use crate::undo;
use crate::visit;
use crate::weight::current;
use crate::weight::{self, WeightChange};
use poc_graph::{Origin, State, VisitOutcome};
use poc_store::Records as _;
use poc_store::testing::MemoryLog;
use std::sync::Arc;

#[test]
fn notes_are_copied_once_in_both_directions() {
    let both = StorePair::new();
    both.local.note("ours", "The tide tables are in the drawer.");
    both.remote.note("theirs", "The lighthouse keeper is called Ann.");
    both.local.note("same", "Both wrote this down.");
    both.remote.note("equal", "Both wrote this down.");
    assert_eq!(counts(&both.sync()), (1, 0, 1));
    assert_eq!(texts(&both.local), texts(&both.remote));
    assert_eq!(texts(&both.local).len(), 3);
    let origin = |key: &str| named(&both.local, key).origin;
    assert_eq!(
        (origin("ours"), origin("theirs"), origin("same")),
        (Origin::Pushed, Origin::Remote, Origin::Local)
    );
    assert_eq!(named(&both.remote, "ours").origin, Origin::Local);
    assert_eq!(named(&both.remote, "ours").id, named(&both.local, "ours").id);
    assert_eq!(counts(&both.sync()), (0, 0, 0));
}

#[test]
fn notes_deleted_in_the_remote_are_deleted_locally_unless_never_pushed() {
    let both = StorePair::new();
    for (key, body) in [("a", "Apples keep."), ("b", "Bread does not."), ("same", "Both wrote this down.")] {
        both.local.note(key, body);
    }
    both.remote.note("c", "Cheese does.");
    both.remote.note("equal", "Both wrote this down.");
    assert_eq!(counts(&both.sync()), (1, 0, 2));
    for key in ["a", "c", "equal"] {
        delete(&both.remote, key);
    }
    both.local.note("new", "Nobody else has seen this.");
    // A note that both stores wrote independently was never pushed, so it is pushed again.
    assert_eq!(counts(&both.sync()), (0, 2, 2));
    let expected = ["Bread does not.", "Both wrote this down.", "Nobody else has seen this."];
    assert_eq!(texts(&both.local), expected.map(String::from).into());
    assert_eq!(texts(&both.remote), texts(&both.local));
    assert_eq!(counts(&both.sync()), (0, 0, 0));
}

/// Two stores in which the note `theirs` of the remote has the id of the local note `ours`.
fn with_a_taken_id() -> StorePair {
    let both = StorePair::new();
    let id = both.local.note("ours", "The tide tables are in the drawer.");
    let theirs = Node { id, key: "theirs".into(), ..poc_graph::testing::node(9) };
    both.remote.store.transact(both.remote.cause("manual", "test"), |tx| tx.put_node(&theirs)).unwrap();
    assert_eq!(counts(&both.sync()), (1, 0, 1));
    assert_ne!(named(&both.local, "theirs").id, id);
    assert_ne!(named(&both.remote, "ours").id, id);
    both
}

#[test]
fn a_local_edit_of_a_note_with_another_remote_id_creates_no_second_note() {
    let both = with_a_taken_id();
    for body in ["Cheese keeps in brine.", "Cheese keeps in oil.", "Cheese keeps in wax."] {
        for key in ["ours", "theirs"] {
            edit(&both.local, key, &format!("{body} So says {key}.")).unwrap();
        }
        assert_eq!(counts(&both.sync()), (0, 0, 2), "{body}");
        assert_eq!((texts(&both.remote), texts(&both.remote).len()), (texts(&both.local), 2));
        assert_eq!(both.sync(), SyncReport::default());
    }
}

#[test]
fn a_remote_edit_of_a_note_with_another_local_id_keeps_the_note_and_its_links() {
    let both = with_a_taken_id();
    let before = named(&both.local, "theirs");
    both.local.note("mine", "My own note on water.");
    link(&both.local, "mine", "theirs");
    both.later();
    edit(&both.remote, "theirs", "High water is at seven.").unwrap();
    let report = both.sync();
    assert_eq!((counts(&report), report.links.pushed), ((1, 1, 1), 1));
    let after = named(&both.local, "theirs");
    assert_eq!((after.id, after.version), (before.id, before.version + 1));
    assert_eq!(after.body, "High water is at seven.");
    assert_eq!((links(&both.local).len(), links(&both.local)), (1, links(&both.remote)));
    assert_eq!(both.sync(), SyncReport::default());
}

#[test]
fn notes_deleted_locally_come_back() {
    let both = StorePair::new();
    both.remote.note("c", "Cheese keeps.");
    both.sync();
    delete(&both.local, "c");
    assert_eq!(counts(&both.sync()), (1, 0, 0));
    assert_eq!(texts(&both.local), texts(&both.remote));
}

#[test]
fn a_remote_edit_becomes_a_new_local_version() {
    let both = StorePair::new();
    both.remote.note("tide", "High water is at six.");
    both.sync();
    let id = named(&both.local, "tide").id;
    both.local.note("mine", "My own note on water.");
    link(&both.local, "mine", "tide");
    let now = both.local.now();
    let visited =
        |tx: &mut poc_store::Transaction<'_>| visit::record(tx, "linker", id, VisitOutcome::Processed, now);
    both.local.store.transact(both.local.cause("manual", "visit"), visited).unwrap();
    let other_named = Node { other_names: vec!["Flood".into()], ..named(&both.local, "tide") };
    let cause = both.local.cause("manual", "vault names");
    both.local.store.transact(cause, |tx| tx.put_node(&other_named)).unwrap();
    both.later();
    edit(&both.remote, "tide", "High water is at seven.").unwrap();
    let dry = both.dry_run();
    assert_eq!(counts(&dry), (1, 1, 1));
    assert_eq!(counts(&both.sync()), (1, 1, 1));
    let node = named(&both.local, "tide");
    assert_eq!((node.id, node.body.as_str(), node.version), (id, "High water is at seven.", 2));
    assert_eq!(node.other_names, ["Flood"]);
    assert_eq!(both.local.store.visits(id).unwrap().len(), 1);
    assert!(links(&both.local).contains(&(
        "My own note on water.".into(),
        EdgeKind::Link,
        "High water is at seven.".into()
    )));
    assert_eq!(links(&both.remote), links(&both.local));
    assert_eq!(counts(&both.sync()), (0, 0, 0));
}

#[test]
fn a_local_edit_becomes_a_new_remote_version() {
    let both = StorePair::new();
    both.remote.note("tide", "High water is at six.");
    both.sync();
    edit(&both.local, "tide", "High water is at eight.").unwrap();
    assert_eq!(named(&both.local, "tide").origin, Origin::Local);
    assert_eq!(counts(&both.sync()), (0, 0, 1));
    let node = named(&both.remote, "tide");
    assert_eq!((node.body.as_str(), node.version), ("High water is at eight.", 2));
    assert_eq!(named(&both.local, "tide").origin, Origin::Pushed);
    assert_eq!(counts(&both.sync()), (0, 0, 0));
    // From now on the note counts as one of the remote.
    delete(&both.remote, "tide");
    assert_eq!(counts(&both.sync()), (0, 1, 0));
}

#[test]
fn a_local_edit_survives_a_remote_deletion() {
    let both = StorePair::new();
    both.remote.note("tide", "High water is at six.");
    both.remote.note("moon", "The moon is full.");
    link(&both.remote, "tide", "moon");
    both.sync();
    edit(&both.local, "tide", "High water is at eight.").unwrap();
    delete(&both.remote, "tide");
    assert_eq!(counts(&both.sync()), (0, 0, 1));
    assert!(texts(&both.remote).contains("High water is at eight."));
    // Its links come back, too.
    assert_eq!(links(&both.local).len(), 1);
    assert_eq!(links(&both.local), links(&both.remote));
}

#[test]
fn a_reverted_edit_changes_nothing() {
    let both = StorePair::new();
    both.local.note("ours", "The tide tables are in the drawer.");
    both.remote.note("theirs", "The lighthouse keeper is called Ann.");
    both.sync();
    for (key, text) in
        [("ours", "The tide tables are in the drawer."), ("theirs", "The lighthouse keeper is called Ann.")]
    {
        edit(&both.local, key, "Something else for a while.").unwrap();
        edit(&both.local, key, text).unwrap();
        assert_eq!(named(&both.local, key).origin, Origin::Local);
    }
    assert_eq!(both.sync(), SyncReport::default());
    for key in ["ours", "theirs"] {
        assert_eq!(named(&both.local, key).origin, Origin::Pushed, "{key}");
    }
}

/// Checks that a key names the same note with this text in both stores.
#[track_caller]
fn assert_named_alike(both: &StorePair, key: &str, body: &str) {
    let [local, remote] = [&both.local, &both.remote].map(|side| named(side, key));
    assert_eq!((local.key.as_str(), local.body.as_str()), (key, body));
    assert_eq!((remote.key.as_str(), remote.body.as_str()), (key, body));
    assert_eq!(local.id, remote.id);
}

#[test]
fn of_two_edits_of_a_note_the_later_keeps_key_and_id_in_both_stores() {
    for local_is_later in [false, true] {
        let both = StorePair::new();
        let id = both.remote.note("tide", "High water is at six.");
        both.sync();
        let (earlier, later) = match local_is_later {
            true => (&both.remote, &both.local),
            false => (&both.local, &both.remote),
        };
        edit(earlier, "tide", "High water is at eight.").unwrap();
        both.later();
        edit(later, "tide", "High water is at seven.").unwrap();
        let dry = both.dry_run();
        assert_eq!(counts(&dry), (1, 0, 1));
        assert_eq!(dry.planned.conflicts, [PlannedConflict { key: "tide".into(), edited_in_both: true }]);
        assert_eq!([&dry.planned.pulled[0].key, &dry.planned.pushed[0].key], ["tide", "tide"]);
        let report = both.sync();
        assert_eq!(counts(&report), (1, 0, 1));
        let (key, renamed) = ("tide".into(), "tide-2".into());
        assert_eq!(
            report.renamed,
            [KeyRename { pulled: local_is_later, key, renamed, edited_in_both: true }]
        );
        assert_named_alike(&both, "tide", "High water is at seven.");
        assert_named_alike(&both, "tide-2", "High water is at eight.");
        assert_eq!(named(&both.local, "tide").id, id);
        assert_eq!(both.sync(), SyncReport::default());
        let StorePair { local, remote, binding } = both;
        let turned = StorePair { local: remote, remote: local, binding };
        assert_eq!(counts(&turned.sync()), (0, 0, 0));
        assert_named_alike(&turned, "tide", "High water is at seven.");
    }
}

/// Edits at the same time are ordered by their texts, so both stores agree as well.
#[test]
fn two_edits_at_the_same_time_end_alike_in_both_stores() {
    let texts = ["High water is at eight.", "High water is at seven."];
    let winners = [texts, [texts[1], texts[0]]].map(|[ours, theirs]| {
        let both = StorePair::new();
        both.remote.note("tide", "High water is at six.");
        both.sync();
        edit(&both.local, "tide", ours).unwrap();
        edit(&both.remote, "tide", theirs).unwrap();
        both.sync();
        let winner = named(&both.local, "tide").body;
        assert_named_alike(&both, "tide", &winner);
        assert_eq!(both.sync(), SyncReport::default());
        winner
    });
    assert_eq!(winners[0], winners[1]);
}

#[test]
fn after_a_conflict_an_edit_keeps_the_links_and_versions_of_both_notes() {
    let both = StorePair::new();
    both.local.note("other", "My own note on water.");
    both.local.note("tide", "High water is at six.");
    link(&both.local, "other", "tide");
    both.sync();
    edit(&both.remote, "tide", "High water is at eight.").unwrap();
    both.later();
    edit(&both.local, "tide", "High water is at seven.").unwrap();
    both.sync();
    assert_eq!((links(&both.local).len(), links(&both.local)), (1, links(&both.remote)));
    let before = named(&both.local, "tide-2");
    link(&both.local, "other", "tide-2");
    both.later();
    edit(&both.remote, "tide-2", "High water is at nine.").unwrap();
    let report = both.sync();
    assert_eq!((counts(&report), report.links.pushed, report.renamed.len()), ((1, 1, 0), 1, 0));
    assert_named_alike(&both, "tide-2", "High water is at nine.");
    let after = named(&both.local, "tide-2");
    assert_eq!((after.id, after.version), (before.id, before.version + 1));
    assert_eq!((links(&both.local).len(), links(&both.local)), (2, links(&both.remote)));
    assert_eq!(both.sync(), SyncReport::default());
}

/// Without a common state, the notes are recognised by their ids.
#[test]
fn a_note_that_was_edited_while_detached_is_the_same_note() {
    let both = StorePair::new();
    super::super::bind(&both.local, &both.binding, "manual").unwrap();
    both.local.note("tide", "High water is at six.");
    both.sync();
    super::super::detach(&both.local, "manual").unwrap();
    edit(&both.local, "tide", "High water is at eight.").unwrap();
    both.later();
    edit(&both.remote, "tide", "High water is at seven.").unwrap();
    assert_eq!(counts(&both.sync()), (1, 0, 1));
    assert_named_alike(&both, "tide", "High water is at seven.");
    assert_named_alike(&both, "tide-2", "High water is at eight.");
    assert_eq!(both.sync(), SyncReport::default());
}

#[test]
fn a_key_of_two_new_notes_goes_to_the_older_one_in_both_stores() {
    for local_is_older in [false, true] {
        let both = StorePair::new();
        let (older, newer) = match local_is_older {
            true => (&both.local, &both.remote),
            false => (&both.remote, &both.local),
        };
        older.note("plan", "We sail on Monday.");
        both.later();
        newer.note("plan", "They sail on Tuesday.");
        let dry = both.dry_run();
        assert_eq!(dry.planned.conflicts, [PlannedConflict { key: "plan".into(), edited_in_both: false }]);
        let report = both.sync();
        assert_eq!(counts(&report), (1, 0, 1));
        let (key, renamed) = ("plan".into(), "plan-2".into());
        assert_eq!(
            report.renamed,
            [KeyRename { pulled: local_is_older, key, renamed, edited_in_both: false }]
        );
        assert_named_alike(&both, "plan", "We sail on Monday.");
        assert_named_alike(&both, "plan-2", "They sail on Tuesday.");
        assert_eq!(both.sync(), SyncReport::default());
        edit(&both.remote, "plan-2", "They sail on Friday.").unwrap();
        assert_eq!(counts(&both.sync()), (1, 1, 0));
        assert_named_alike(&both, "plan-2", "They sail on Friday.");
    }
}

#[test]
fn a_numbered_key_that_is_taken_in_one_store_becomes_the_same_in_both() {
    let both = StorePair::new();
    both.local.note("plan", "We sail on Monday.");
    both.local.note("plan-2", "We sail on Wednesday.");
    both.later();
    both.remote.note("plan", "They sail on Tuesday.");
    assert_eq!(counts(&both.sync()), (1, 0, 2));
    for (key, body) in [
        ("plan", "We sail on Monday."),
        ("plan-2", "We sail on Wednesday."),
        ("plan-3", "They sail on Tuesday."),
    ] {
        assert_named_alike(&both, key, body);
    }
    assert_eq!(both.sync(), SyncReport::default());
}

#[test]
fn a_key_that_a_renamed_note_has_left_goes_to_its_new_note() {
    for in_remote in [false, true] {
        let both = StorePair::new();
        let id = both.local.note("plan", "We sail on Monday.");
        both.sync();
        both.later();
        let side = if in_remote { &both.remote } else { &both.local };
        let rename = |tx: &mut poc_store::Transaction<'_>| {
            crate::rename::apply(tx, id, Some("plan-old"), &["plan".into()]).map(drop)
        };
        side.store.transact(side.cause("manual", "rename"), rename).unwrap();
        side.note("plan", "They sail on Tuesday.");
        both.sync();
        assert_named_alike(&both, "plan", "They sail on Tuesday.");
        assert_named_alike(&both, "plan-old", "We sail on Monday.");
        assert_eq!(both.sync(), SyncReport::default());
    }
}

/// Earlier releases left such keys after a conflict.
#[test]
fn keys_that_name_each_others_notes_are_settled() {
    let both = StorePair::new();
    both.local.note("plan", "We sail on Monday.");
    both.later();
    both.local.note("plan-2", "They sail on Tuesday.");
    both.sync();
    for (from, to) in [("plan", "third"), ("plan-2", "plan"), ("third", "plan-2")] {
        let id = named(&both.remote, from).id;
        let rename = |tx: &mut poc_store::Transaction<'_>| {
            tx.put_node(&Node { key: to.into(), ..tx.node(id)?.unwrap() })
        };
        both.remote.store.transact(both.remote.cause("manual", "test"), rename).unwrap();
    }
    assert_eq!(named(&both.remote, "plan").body, "They sail on Tuesday.");
    let keys: Vec<String> = both.dry_run().planned.conflicts.into_iter().map(|planned| planned.key).collect();
    assert_eq!(keys, ["plan", "plan-2"]);
    let report = both.sync();
    assert_eq!((counts(&report), report.renamed.len()), ((0, 0, 0), 1));
    assert_named_alike(&both, "plan", "We sail on Monday.");
    assert_named_alike(&both, "plan-2", "They sail on Tuesday.");
    assert_eq!(both.sync(), SyncReport::default());
}

/// A key that was taken only until a deletion was followed is given back.
#[test]
fn a_key_that_a_deletion_frees_is_kept() {
    let both = StorePair::new();
    both.local.note("plan", "We sail on Monday.");
    both.sync();
    delete(&both.remote, "plan");
    both.remote.note("plan", "They sail on Tuesday.");
    assert!(both.dry_run().planned.conflicts.is_empty());
    let report = both.sync();
    assert_eq!((counts(&report), report.renamed), ((1, 1, 0), Vec::new()));
    assert_named_alike(&both, "plan", "They sail on Tuesday.");
}

#[test]
fn links_added_or_removed_in_either_store_are_synchronized() {
    let both = StorePair::new();
    for (key, body) in [("a", "Apples keep."), ("b", "Bread does not."), ("c", "Cheese does.")] {
        both.local.note(key, body);
    }
    both.sync();
    link(&both.local, "a", "b");
    link(&both.remote, "b", "c");
    link(&both.local, "c", "a");
    link(&both.remote, "c", "a");
    let report = both.sync();
    assert_eq!((report.links.pulled, report.links.deleted, report.links.pushed), (1, 0, 1));
    assert_eq!(links(&both.local), links(&both.remote));
    assert_eq!(links(&both.local).len(), 3);
    unlink(&both.local, "a", "b");
    unlink(&both.remote, "b", "c");
    assert_eq!(both.sync().links.deleted, 2);
    assert_eq!(links(&both.local), links(&both.remote));
    assert_eq!(links(&both.local).len(), 1);
    // A note that comes back keeps its links.
    delete(&both.local, "a");
    let report = both.sync();
    assert_eq!((report.pulled, report.links.pulled, report.links.deleted), (1, 1, 0));
    assert_eq!(links(&both.local), links(&both.remote));
    assert_eq!(both.sync(), SyncReport::default());
}

#[test]
fn retiring_a_note_is_synchronized() {
    let both = StorePair::new();
    for (key, body) in [("old", "The key is under the mat."), ("older", "The key is in the shed.")] {
        both.local.note(key, body);
    }
    both.sync();
    both.local.note("new", "The key is with Ann.");
    supersede(&both.local, "old", "new");
    both.remote.note("newer", "The shed is gone.");
    supersede(&both.remote, "older", "newer");
    let report = both.sync();
    assert_eq!(counts(&report), (1, 0, 1));
    for side in [&both.local, &both.remote] {
        assert_eq!(named(side, "old").state, State::Superseded);
        assert_eq!(named(side, "older").state, State::Superseded);
    }
    assert_eq!(links(&both.local), links(&both.remote));
    assert_eq!(both.sync(), SyncReport::default());
    // The supersession is undone in the remote.
    let (new, old) = (named(&both.remote, "new").id, named(&both.remote, "old").id);
    let revive = |tx: &mut poc_store::Transaction<'_>| {
        tx.delete_edge(new, EdgeKind::Supersedes, old)?;
        let node = tx.node(old)?.unwrap();
        tx.put_node(&Node { state: State::Active, ..node })
    };
    both.remote.store.transact(both.remote.cause("manual", "agent undo"), revive).unwrap();
    both.sync();
    assert_eq!(named(&both.local, "old").state, State::Active);
    // Retired without a successor.
    let retire = |tx: &mut poc_store::Transaction<'_>| {
        let node = tx.node(old)?.unwrap();
        tx.put_node(&Node { state: State::Superseded, ..node })
    };
    both.remote.store.transact(both.remote.cause("manual", "test"), retire).unwrap();
    assert_eq!(both.sync().retired, 1);
    let undone = undo::undo(&both.local, changes(&both.local)[0].seq);
    let refused = undone.unwrap_err();
    assert_eq!(refused.code, Code::Conflict, "other parts of the sync changed the marks");
    assert!(refused.message.contains("is the local side of a sync, which also recorded"), "{refused}");
    assert_eq!(named(&both.local, "old").state, State::Superseded);
    assert_eq!(both.sync(), SyncReport::default());
}

#[test]
fn expired_notes_are_not_copied() {
    let both = StorePair::new();
    let expires = Some(both.local.now().plus(poc_graph::time::Span::DAY));
    both.local.insert(Draft { expires, ..draft("Milk in the fridge.") }).unwrap();
    both.remote.insert(Draft { expires, ..draft("Cream in the fridge.") }).unwrap();
    both.local.clock.advance(poc_graph::time::Span::WEEK);
    assert_eq!(counts(&both.sync()), (0, 0, 0));
}

#[test]
fn pulled_notes_keep_their_weight_and_get_limited_trust() {
    let mut both = StorePair::new();
    both.binding.trust = Trust::Agent;
    let id = both.remote.note("user", "A person wrote this.");
    let weight = &both.remote.config.weight;
    let now = both.remote.now();
    let weigh =
        |tx: &mut poc_store::Transaction<'_>| weight::change(tx, id, WeightChange::To(3.0), weight, now);
    both.remote.store.transact(both.remote.cause("manual", "weight"), weigh).unwrap();
    both.remote
        .insert(Draft { trust: Trust::Quarantined, key: Some("doubt".into()), ..draft("Who said this?") })
        .unwrap();
    both.local.note("ours", "We wrote this.");
    both.sync();
    assert_eq!(named(&both.local, "user").trust, Trust::Agent);
    assert_eq!(named(&both.local, "doubt").trust, Trust::Quarantined);
    assert_eq!(named(&both.remote, "ours").trust, Trust::User);
    let activity = both.local.store.activity(id).unwrap().unwrap();
    assert_eq!((current(&activity, 0.0, weight, now), activity.accesses), (3.0, 0));
}

#[test]
fn the_trust_of_pulled_notes_limits_the_strength_of_pulled_links() {
    for (trust, limited) in [(Trust::User, 0.8), (Trust::Agent, 0.6), (Trust::External, 0.4)] {
        let mut both = StorePair::new();
        both.binding.trust = trust;
        both.remote.note("cause", "The importer was changed on Friday.");
        both.remote.note("effect", "The release had to wait for a week.");
        link(&both.remote, "cause", "effect");
        let strength = |memory: &Memory| {
            let (src, dst) = (named(memory, "cause").id, named(memory, "effect").id);
            memory.store.edge(src, EdgeKind::Link, dst).unwrap().map(|edge| edge.strength)
        };
        // A second sync does not treat the two strengths as a difference.
        for _ in 0..2 {
            both.sync();
            assert_eq!(
                (strength(&both.local), strength(&both.remote)),
                (Some(limited), Some(0.8)),
                "{trust}"
            );
            both.later();
        }
    }
}

#[test]
fn vectors_are_computed_again_for_another_embedder() {
    let mut config = Config::defaults().unwrap();
    config.embedder.dimensions = 64;
    let both = StorePair { remote: TestMemory::apart(2, config), ..StorePair::new() };
    both.remote.note("theirs", "The lighthouse keeper is called Ann.");
    both.local.note("ours", "The tide tables are in the drawer.");
    both.sync();
    for side in [&both.local, &both.remote] {
        for node in notes(side) {
            let parts = side.store.vectors(node.id, side.embedder.name()).unwrap();
            assert!(!parts.is_empty() && parts.iter().all(|part| part.len() == side.embedder.dimensions()));
        }
    }
}

#[test]
fn a_pulled_note_gets_automatic_edges() {
    let both = StorePair::new();
    let body = "The journal is written before the pages of the B-tree are.";
    both.local.note("ours", body);
    both.remote.note("theirs", &format!("{body} So no key is lost."));
    both.sync();
    for side in [&both.local, &both.remote] {
        let edges = side.store.edges(named(side, "theirs").id).unwrap();
        assert!(edges.iter().any(|edge| edge.kind == EdgeKind::Semantic), "{edges:?}");
    }
}

#[test]
fn a_dry_run_lists_the_changes_of_a_sync_without_making_them() {
    let both = StorePair::new();
    both.local.note("gone", "It will be deleted there.");
    both.sync();
    delete(&both.remote, "gone");
    both.local.note("ours", "We wrote this.");
    both.remote.note("theirs", "They wrote this.");
    let seqs = || (both.local.store.view().seq, both.remote.store.view().seq);
    let before = seqs();
    let report = both.dry_run();
    assert_eq!(seqs(), before);
    let keys = |notes: &[NoteSummary]| notes.iter().map(|note| note.key.clone()).collect::<Vec<_>>();
    let PlannedChanges { pulled, deleted, pushed, conflicts } = &report.planned;
    assert!(conflicts.is_empty());
    assert_eq!([pulled, deleted, pushed].map(|notes| keys(notes)), [["theirs"], ["gone"], ["ours"]]);
    assert_eq!(counts(&both.sync()), counts(&report));
}

/// The syncs in the history of a store, newest first.
fn changes(memory: &Memory) -> Vec<RecentChange> {
    history::latest(memory, 100, None, &|cause| cause.op == SYNC_OP).unwrap()
}

#[test]
fn a_sync_is_one_change_of_each_store() {
    let both = StorePair::with_chunk(2);
    for number in 0..5 {
        both.local.note(&format!("ours-{number}"), &format!("Locker {number} belongs to us."));
        both.remote.note(&format!("theirs-{number}"), &format!("Their boat has the number {number}."));
    }
    link(&both.local, "ours-0", "ours-4");
    let before = texts(&both.remote);
    both.later();
    assert_eq!(counts(&both.sync()), (5, 0, 5));
    for (side, count) in [(&both.local, 10), (&both.remote, 5)] {
        let changes = changes(side);
        assert_eq!((changes.len(), changes[0].count), (1, count), "{changes:?}");
    }
    // The remote may take back all of it.
    let undone = undo::undo(&both.remote, changes(&both.remote)[0].seq).unwrap();
    assert!(undone.items.iter().all(|item| item.refused.is_none()), "{undone:?}");
    assert_eq!(texts(&both.remote), before);
}

#[test]
fn an_undo_of_a_push_leaves_a_note_that_changed_since() {
    let both = StorePair::new();
    for key in ["one", "two", "three"] {
        both.local.note(key, &format!("Berth {key} of the harbour is free."));
    }
    both.sync();
    both.later();
    edit(&both.remote, "two", "Berth two is taken.").unwrap();
    let undone = undo::undo(&both.remote, changes(&both.remote)[0].seq).unwrap();
    let left = undone.items.iter().filter(|item| item.refused.is_some()).count();
    assert_eq!((undone.items.len(), left), (2, 1), "{undone:#?}");
    assert_eq!(texts(&both.remote), BTreeSet::from(["Berth two is taken.".to_owned()]));
}

#[test]
fn a_sync_copies_many_notes_in_one_transaction() {
    let both = StorePair::new();
    for number in 0..20 {
        let keywords = Some(vec!["harbour".to_owned()]);
        let body = format!("Berth {number} of the harbour is free.");
        both.remote.insert(Draft { keywords, ..draft(&body) }).unwrap();
    }
    both.sync();
    assert_eq!(note_transactions(&both.local), 1);
}

#[test]
fn another_remote_deletes_nothing() {
    let mut both = StorePair::new();
    both.local.note("ours", "We wrote this.");
    both.remote.note("theirs", "They wrote this.");
    both.sync();
    both.remote = TestMemory::apart(3, Config::defaults().unwrap());
    assert_eq!(counts(&both.sync()), (0, 0, 2));
    assert_eq!(texts(&both.remote), texts(&both.local));
    assert_eq!(counts(&both.sync()), (0, 0, 0));
    // The notes are marked from now on.
    delete(&both.remote, "theirs");
    assert_eq!(counts(&both.sync()), (0, 1, 0));
}

#[test]
fn after_a_detach_no_note_counts_as_synchronized() {
    let both = StorePair::new();
    both.local.note("ours", "We wrote this.");
    super::super::bind(&both.local, &both.binding, "manual").unwrap();
    both.sync();
    delete(&both.remote, "ours");
    super::super::detach(&both.local, "manual").unwrap();
    assert_eq!(counts(&both.sync()), (0, 0, 1));
    assert_eq!(super::super::detach(&both.local, "manual").unwrap_err().code, Code::NotFound);
}

#[test]
fn a_sync_covers_one_tenant() {
    let both = StorePair::new();
    let ann = poc_graph::Tuple::new([("user", "ann")]).unwrap();
    let write = |memory: &Memory, key: &str, body: &str| {
        let draft = Draft { key: Some(key.into()), ..draft(body) };
        insert::insert(memory, draft, memory.cause("manual", "insert")).unwrap();
    };
    let (local, remote) = (both.local.of(&ann), both.remote.of(&ann));
    both.remote.note("everybody", "Everybody may read this.");
    write(&remote, "ann", "Ann wrote this there.");
    write(&local, "mine", "Ann wrote this here.");
    let callbacks = SyncCallbacks { progress: &|_, _, _| {}, check_cancelled: &|| Ok(()) };
    let sync = || between(&local, &remote, &both.binding, false, &callbacks).unwrap();
    assert_eq!(counts(&sync()), (1, 0, 1));
    assert_eq!(sync(), SyncReport::default());
    assert!(texts(&both.local).is_empty());
    // The marks of one tenant are independent of the other's.
    assert_eq!(counts(&both.sync()), (1, 0, 0));
    delete(&remote, "mine");
    assert_eq!(both.sync(), SyncReport::default());
    assert_eq!(counts(&sync()), (0, 1, 0));
    // A tenant that the remote does not have.
    let bob = poc_graph::Tuple::new([("user", "bob")]).unwrap();
    let (local, remote) = (both.local.of(&bob), both.remote.of(&bob));
    assert_eq!(between(&local, &remote, &both.binding, false, &callbacks).unwrap(), SyncReport::default());
    write(&local, "bob", "Bob wrote this.");
    assert_eq!(counts(&between(&local, &remote, &both.binding, false, &callbacks).unwrap()), (0, 0, 1));
    assert_eq!(texts(&remote).len(), 1);
}

#[test]
fn two_stores_can_be_remotes_of_each_other() {
    let both = StorePair::new();
    both.local.note("ours", "We wrote this.");
    both.sync();
    let StorePair { local, remote, binding } = both;
    let turned = StorePair { local: remote, remote: local, binding };
    assert_eq!(counts(&turned.sync()), (0, 0, 0));
    delete(&turned.remote, "ours");
    assert_eq!(counts(&turned.sync()), (0, 1, 0));
}

/// If another daemon has written to the shared log of the local memory, a transaction is built again.
#[test]
fn a_deletion_that_is_built_twice_counts_once() {
    let log = Arc::new(MemoryLog::default());
    let (writer, other) = (log.writer(), TestMemory::over(log.writer(), 3));
    let both = StorePair { local: TestMemory::over(writer.clone(), 1), ..StorePair::new() };
    both.remote.note("soup", "Soup is served at noon.");
    both.remote.note("bread", "The bread is in the oven.");
    both.sync();
    delete(&both.remote, "soup");
    // The local memory notices the record of the other daemon only when it appends its own.
    writer.silence(true);
    let has_written = Cell::new(false);
    let write_elsewhere = || {
        if !has_written.replace(true) {
            other.note("boat", "The boat is in the shed.");
        }
        Ok(())
    };
    let report = both.sync_with(false, &write_elsewhere).unwrap();
    assert_eq!(counts(&report), (0, 1, 0));
    assert!(both.local.find("boat").is_ok() && both.local.find("soup").is_err());
}
