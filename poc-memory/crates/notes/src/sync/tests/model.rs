//! Random histories of both stores, checked against a naive model of the rules.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// A change of one store; numbers choose among its notes.
#[derive(Clone, Debug)]
enum Step {
    Insert(usize),
    /// A text, and one of few keys.
    InsertAs(usize, usize),
    Edit(usize, usize),
    Delete(usize),
    Link(usize, usize),
    Unlink(usize),
    Sync,
    /// A sync that ends after a number of transactions, then a whole one.
    Killed(usize),
}

fn step() -> impl Strategy<Value = (bool, Step)> {
    let number = 0usize..12;
    let step = prop_oneof![
        4 => number.clone().prop_map(Step::Insert),
        2 => (number.clone(), 0usize..3).prop_map(|(text, key)| Step::InsertAs(text, key)),
        4 => (number.clone(), number.clone()).prop_map(|(note, text)| Step::Edit(note, text)),
        2 => number.clone().prop_map(Step::Delete),
        2 => (number.clone(), number.clone()).prop_map(|(from, to)| Step::Link(from, to)),
        1 => number.clone().prop_map(Step::Unlink),
        3 => Just(Step::Sync),
        1 => number.prop_map(Step::Killed),
    ];
    (any::<bool>(), step)
}

fn body(number: usize) -> String {
    format!("Text {number} speaks of {}.", ["tides", "ropes", "sails", "lamps"][number % 4])
}

fn chosen(memory: &Memory, number: usize) -> Option<Node> {
    let all = notes(memory);
    (!all.is_empty()).then(|| all[number % all.len()].clone())
}

fn act(side: &TestMemory, step: &Step) {
    match *step {
        Step::Insert(text) => drop(side.insert(draft(&body(text)))),
        // Refused if another note has the key.
        Step::InsertAs(text, key) => {
            drop(side.insert(Draft { key: Some(format!("key-{key}")), ..draft(&body(text)) }));
        }
        // Refused if another note has the same text.
        Step::Edit(note, text) => {
            if let Some(node) = chosen(side, note) {
                drop(edit(side, &node.key, &body(text)));
            }
        }
        Step::Delete(note) => {
            if let Some(node) = chosen(side, note) {
                delete(side, &node.key);
            }
        }
        Step::Link(from, to) => {
            if let (Some(from), Some(to)) = (chosen(side, from), chosen(side, to))
                && from.id != to.id
            {
                link(side, &from.key, &to.key);
            }
        }
        Step::Unlink(number) => {
            let all: Vec<_> = links(side).into_iter().collect();
            if let Some((from, _, to)) = all.get(number % all.len().max(1)) {
                let key = |body: &str| notes(side).into_iter().find(|node| node.body == body).unwrap().key;
                unlink(side, &key(from), &key(to));
            }
        }
        Step::Sync | Step::Killed(_) => {}
    }
}

/// The texts by key.
fn texts_by_key(memory: &Memory) -> BTreeMap<String, String> {
    notes(memory).into_iter().map(|node| (node.key, node.body)).collect()
}

/// The ids of the notes that each link of a person connects.
fn linked_ids(memory: &Memory) -> BTreeSet<(NodeId, NodeId)> {
    let edges = notes(memory).into_iter().flat_map(|node| memory.store.edges(node.id).unwrap());
    edges.filter(|edge| edge.kind == EdgeKind::Link).map(|edge| (edge.src, edge.dst)).collect()
}

/// Texts by id.
type TextsById = BTreeMap<NodeId, String>;

fn texts_by_id(memory: &Memory) -> TextsById {
    notes(memory).into_iter().map(|node| (node.id, node.body)).collect()
}

/// Notes that both stores have, by local id: remote id and text.
type Common = BTreeMap<NodeId, (NodeId, String)>;

/// The rules: the texts of both stores after a sync, and the number of notes pulled, deleted and pushed.
fn expected(local: &TextsById, remote: &TextsById, common: &Common) -> (BTreeSet<String>, (u64, u64, u64)) {
    let has_text = |side: &TextsById, text: &str| side.values().any(|other| other == text);
    let was_in_both = |id: &NodeId, text: &String| {
        common.get(id).is_some_and(|(_, synced_text)| synced_text == text) || remote.get(id) == Some(text)
    };
    let mut after: BTreeSet<String> = BTreeSet::new();
    let mut counts = (0, 0, 0);
    // The remote still has the old text of a local note, and no other local note has it: the remote gets the new text.
    let edited: BTreeSet<&String> = local
        .iter()
        .filter(|(id, text)| !was_in_both(id, text) && !has_text(remote, text))
        .filter_map(|(id, _)| common.get(id))
        .filter_map(|(there, synced_text)| {
            remote.get(there).filter(|old| *old == synced_text && !has_text(local, old))
        })
        .collect();
    for (id, text) in local {
        if has_text(remote, text) {
            after.insert(text.clone());
        } else if was_in_both(id, text) {
            counts.1 += 1;
        } else if after.insert(text.clone()) {
            counts.2 += 1;
        }
    }
    for text in remote.values() {
        if !has_text(local, text) && !edited.contains(text) && after.insert(text.clone()) {
            counts.0 += 1;
        }
    }
    (after, counts)
}

poc_laws::laws! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn a_sync_follows_the_rules_and_is_idempotent(
        history in proptest::collection::vec(step(), 1..40),
    ) {
        let both = StorePair::with_chunk(2);
        // The notes that both stores had after the last sync.
        let mut common = Common::new();
        // The local links after the last sync.
        let mut linked = BTreeSet::new();
        for (here, step) in &history {
            act(if *here { &both.local } else { &both.remote }, step);
            both.later();
            if let Step::Killed(transactions) = step {
                both.killed_after(*transactions);
            }
            if !matches!(step, Step::Sync | Step::Killed(_)) {
                continue;
            }
            let (local, remote) = (texts_by_id(&both.local), texts_by_id(&both.remote));
            let (texts_after, counted) = expected(&local, &remote, &common);
            let new_links: Vec<(NodeId, NodeId)> =
                linked_ids(&both.local).difference(&linked).copied().collect();
            let report = both.sync();
            // Work that an interrupted sync has done is not repeated.
            if matches!(step, Step::Sync) {
                prop_assert_eq!(counts(&report), counted, "{:?} {:?} {:?}", local, remote, common);
                prop_assert_eq!(&texts(&both.local), &texts_after);
            }
            prop_assert_eq!(texts(&both.remote), texts(&both.local));
            prop_assert_eq!(links(&both.remote), links(&both.local));
            prop_assert_eq!(both.sync(), SyncReport::default());
            let there = texts_by_key(&both.remote);
            for (key, text) in texts_by_key(&both.local) {
                let named = there.get(&key).unwrap_or(&text);
                prop_assert_eq!(named, &text, "the key {} names another text in the remote", key);
            }
            linked = linked_ids(&both.local);
            let kept = texts_by_id(&both.local);
            for (src, dst) in new_links.iter().filter(|(src, dst)| kept.contains_key(src) && kept.contains_key(dst)) {
                prop_assert!(linked.contains(&(*src, *dst)), "a link from {} was lost", kept[src]);
            }
            let marks = crate::sync::binding::marks(&both.local.store, Default::default()).unwrap();
            let remote = notes(&both.remote);
            let has_text = |body: &str| remote.iter().find(|other| other.body == body).unwrap().id;
            common = notes(&both.local)
                .into_iter()
                .filter(|node| marks.get(&node.id).is_some_and(|mark| mark.hash == node.content_hash))
                .map(|node| {
                    // As long as its text is the same, it stays paired with the same note: another note may
                    // have that text by now.
                    let before = common.get(&node.id).filter(|(_, synced_text)| *synced_text == node.body);
                    let there = before.map_or_else(|| has_text(&node.body), |(there, _)| *there);
                    (node.id, (there, node.body))
                })
                .collect();
            // Only synchronised notes are marked: others have the same text by coincidence.
            for node in notes(&both.local) {
                let marked = common.contains_key(&node.id);
                prop_assert_eq!(marked, node.origin != poc_graph::Origin::Local, "{}", node.body);
            }
        }
    }
}
