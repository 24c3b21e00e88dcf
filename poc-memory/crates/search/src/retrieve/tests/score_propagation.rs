//! A hit passes part of its score on to notes that are linked with it, are its origins, follow it in a session, are
//! similar, or are mentioned.

use super::*;
use poc_graph::provenance;
use proptest::prelude::*;
use std::collections::BTreeSet;

#[test]
fn a_note_linked_with_a_good_note_gets_a_share_of_its_score() {
    let bodies = ["The harbour at night", "Soup and lemon", "Bread and butter", "Nobody answered", "Oil"];
    let notes: Vec<Node> = (0..).zip(bodies).map(|(number, body)| note(number, "", body)).collect();
    let with = |links: &[(u64, u64, EdgeKind)]| {
        let mut world = World::of(&notes, &[]);
        let links = links.iter().map(|&(from, to, kind)| Delta::from(testing::edge(from, to, kind, 0.8)));
        world.view.apply(2, &links.collect::<Vec<_>>());
        world.find("the harbour at night", 5)
    };
    let share_of = |found: &Retrieval, at: u64| {
        let hit = found.hits.iter().find(|hit| number(hit.id) == at).unwrap();
        (share(hit, "link"), hit.linked_from)
    };
    let good = with(&[]).hits[0].score;
    let found = with(&[(0, 3, EdgeKind::Link), (4, 0, EdgeKind::Link), (0, 1, EdgeKind::Contradicts)]);
    for linked in [3, 4] {
        let (share, from) = share_of(&found, linked);
        assert!((share - 0.5 * 0.8 * good).abs() < 1e-6);
        assert_eq!(from, Some(testing::node(0).id));
    }
    assert_eq!(share_of(&found, 1), (0.0, None));
    // Notes that are not asked for pass nothing on.
    assert_eq!(share_of(&with(&[(1, 2, EdgeKind::Link)]), 2), (0.0, None));
}

#[test]
fn links_of_quarantined_and_superseded_notes_pass_nothing() {
    let good = || note(0, "", "The harbour at night");
    let linked = || note(1, "", "Soup and lemon");
    let share_between = |first: Node, second: Node, kind: EdgeKind| {
        let others = [note(2, "", "Bread and butter"), note(3, "", "Nobody answered")];
        let mut world = World::of(&[others.as_slice(), &[first, second]].concat(), &[]);
        world.view.apply(2, &[Delta::from(testing::edge(0, 1, kind, 0.8))]);
        // A person sees quarantined notes.
        let found = world.find("the harbour at night", 5);
        found.hits.iter().map(|hit| share(hit, "link")).sum::<f64>()
    };
    let quarantined = |note: Node| Node { trust: Trust::Quarantined, ..note };
    assert!(share_between(good(), linked(), EdgeKind::Link) > 0.0);
    assert_eq!(share_between(good(), quarantined(linked()), EdgeKind::Link), 0.0);
    assert_eq!(share_between(quarantined(good()), linked(), EdgeKind::Link), 0.0);
    let retired = Node { state: State::Superseded, ..linked() };
    assert_eq!(share_between(good(), retired, EdgeKind::Link), 0.0);
    for kind in [EdgeKind::Contradicts, EdgeKind::Supersedes] {
        assert_eq!(share_between(good(), linked(), kind), 0.0);
    }
}

/// A note of an agent.
fn of_agent(number: u64, body: &str) -> Node {
    Node { provenance: provenance::of_agent("facts"), ..note(number, "", body) }
}

/// Notes 0 to 4, where 4 was derived from 1 and 2.
fn with_fact(origins: [Node; 2], fact: Node) -> World {
    let [one, two] = origins;
    let others = [note(0, "", "Soup and lemon"), note(3, "", "The harbour at night")];
    let mut world = World::of(&[others.as_slice(), &[one, two, fact]].concat(), &[]);
    let derived = |origin| Delta::from(testing::edge(4, origin, EdgeKind::DerivedFrom, 1.0));
    world.view.apply(2, &[derived(1), derived(2)]);
    world
}

#[test]
fn a_derived_note_leads_to_its_origins_and_is_represented_by_them() {
    let origins = || [note(1, "", "Yes, I moved in May"), note(2, "", "It is nicer there")];
    let fact = || of_agent(4, "Lin lives in Lisbon");
    let world = with_fact(origins(), fact());
    let find = |world: &World, list: bool| {
        let retriever = world.retriever().listing_derived(list);
        retriever.find("where does Lin live, in Lisbon?", 5, Visibility::of_person(Timestamp(0))).unwrap()
    };
    let represented = find(&world, false);
    let listed = find(&world, true);
    assert_eq!(numbers(&listed)[0], 4);
    assert_eq!(listed.hits[0].derived, None);
    let place_of = |found: &Retrieval, at: u64| found.hits.iter().position(|hit| number(hit.id) == at);
    assert_eq!(place_of(&represented, 4), None);
    for origin in [1, 2] {
        let hit = &represented.hits[place_of(&represented, origin).unwrap()];
        assert_eq!(hit.derived, Some(testing::node(4).id));
        assert!((share(hit, "derived") - 0.5 * listed.hits[0].score).abs() < 1e-9);
        assert!(place_of(&represented, origin) < Some(2));
    }
    assert_eq!(represented.hits.len(), 4);

    // The note is treated like others if none of its sources can be found, or if it is requested by its key.
    let retired = origins().map(|note| Node { state: State::Superseded, ..note });
    assert_eq!(numbers(&find(&with_fact(retired, fact()), false))[0], 4);
    let key = world.view.key(world.view.find(testing::node(4).id).unwrap()).to_owned();
    assert_eq!(numbers(&world.find(&key, 5))[0], 4);
    // A single visible source is enough.
    let [one, two] = origins();
    let world = with_fact([Node { trust: Trust::Quarantined, ..one }, two], fact());
    let found = world.seen("where does Lin live, in Lisbon?", 5, Visibility::of_model(Timestamp(0)));
    assert_eq!(numbers(&found)[0], 2);
    assert!(!numbers(&found).contains(&4));
}

#[test]
fn a_note_that_no_agent_wrote_stays_a_hit() {
    let origins = || [note(1, "", "Yes, I moved in May"), note(2, "", "It is nicer there")];
    for provenance in ["manual", "mcp", "import:web"] {
        let fact = Node { provenance: provenance.into(), ..note(4, "", "Lin lives in Lisbon") };
        let found = with_fact(origins(), fact).find("where does Lin live, in Lisbon?", 5);
        assert_eq!(numbers(&found)[0], 4, "{provenance}");
    }
}

#[test]
fn derived_notes_that_pass_no_score_are_hits_like_others() {
    let origins = [note(1, "", "Yes, I moved in May"), note(2, "", "It is nicer there")];
    let mut world = with_fact(origins, of_agent(4, "Lin lives in Lisbon"));
    world.config.retrieve.scores.derived_weight = 0.0;
    let question = "where does Lin live, in Lisbon?";
    let found = world.find(question, 5);
    assert_eq!(numbers(&found)[0], 4);
    assert!(found.hits.iter().all(|hit| hit.derived.is_none()));
    // Fusion by ranks passes no score along edges.
    assert_eq!(numbers(&world.by_ranks().find(question, 5))[0], 4);
}

/// Notes of an agent with words of their own, each derived from the given ones.
fn derived_from(derived: &[(u64, u64)]) -> World {
    let bodies =
        ["A grey pebble", "Lentil soup", "Harbour lights", "Winter coats", "Oak table", "Blue kites"];
    let notes: Vec<Node> = (0..).zip(bodies).map(|(number, body)| of_agent(number, body)).collect();
    let mut world = World::of(&notes, &[]);
    let edge =
        |&(note, source): &(u64, u64)| Delta::from(testing::edge(note, source, EdgeKind::DerivedFrom, 1.0));
    world.view.apply(2, &derived.iter().map(edge).collect::<Vec<_>>());
    world
}

fn listed(world: &World, text: &str) -> Retrieval {
    let retriever = world.retriever().listing_derived(true);
    retriever.find(text, 6, Visibility::of_person(Timestamp(0))).unwrap()
}

#[test]
fn a_note_derived_from_a_derived_note_leads_to_the_source_of_that_note() {
    let world = derived_from(&[(1, 0), (2, 1), (3, 2)]);
    let text = "winter coats";
    let own = listed(&world, text).hits[0].score;
    let found = world.find(text, 6);
    assert_eq!(numbers(&found).first(), Some(&0));
    assert!(numbers(&found).iter().all(|at| ![1, 2, 3].contains(at)));
    assert_eq!(found.hits[0].derived, Some(testing::node(3).id));
    assert!((share(&found.hits[0], "derived") - 0.125 * own).abs() < 1e-9);
}

#[test]
fn notes_that_were_derived_from_each_other_are_found_themselves() {
    let world = derived_from(&[(1, 2), (2, 1), (3, 2)]);
    for (text, expected) in [("lentil soup", 1), ("harbour lights", 2), ("winter coats", 3)] {
        assert_eq!(numbers(&world.find(text, 6)).first(), Some(&expected), "{text}");
    }
    // Unless one of them was also derived from another note.
    let world = derived_from(&[(1, 2), (2, 1), (3, 2), (2, 0)]);
    let mut found = numbers(&world.find("lentil soup", 6));
    assert_eq!(found.first(), Some(&0));
    found.sort();
    assert_eq!(found, [0, 4, 5]);
}

poc_laws::laws! {
    #[test]
    fn shares_of_derived_notes_equal_their_definition(
        derived in proptest::collection::btree_set((0u64..6, 0u64..6), 0..10),
        asked in 0usize..6,
    ) {
        let derived: Vec<(u64, u64)> = derived.into_iter().filter(|(note, source)| note != source).collect();
        let world = derived_from(&derived);
        let text = ["grey pebble", "lentil soup", "harbour lights", "winter coats", "oak table", "blue kites"];
        let found = listed(&world, text[asked]);
        prop_assert_eq!(found.hits.len(), 6);
        let base = |hit: &RetrievalHit| {
            ["meaning", "words", "named", "identifier"].iter().map(|signal| share(hit, signal)).sum::<f64>()
        };
        let sources = |note: u64| derived.iter().filter(move |(of, _)| *of == note).map(|(_, source)| *source);
        for hit in &found.hits {
            let mut expected = 0.0f64;
            for other in found.hits.iter().filter(|other| other.id != hit.id) {
                let mut row = BTreeSet::from([number(other.id)]);
                for steps in 1..=8 {
                    row = row.iter().flat_map(|&note| sources(note)).collect();
                    if row.contains(&number(hit.id)) {
                        expected = expected.max(base(other) * 0.5f64.powi(steps));
                    }
                }
            }
            prop_assert!((share(hit, "derived") - expected).abs() < 1e-9);
        }
    }
}

#[test]
fn a_quarantined_derived_note_leads_nowhere() {
    let fact = Node { trust: Trust::Quarantined, ..of_agent(4, "Lin lives in Lisbon") };
    let world = with_fact([note(1, "", "Yes, I moved in May"), note(2, "", "It is nicer there")], fact);
    let found = world.seen("where does Lin live?", 5, Visibility::of_model(Timestamp(0)));
    assert!(found.hits.iter().all(|hit| hit.derived.is_none() && share(hit, "derived") == 0.0));
}

#[test]
fn neighbors_in_a_session_are_found_too() {
    let notes: Vec<Node> =
        ["Good morning", "Did you see the lighthouse?", "Yes, yesterday", "Nice", "Soup then"]
            .iter()
            .enumerate()
            .map(|(number, body)| note(number as u64, "", body))
            .collect();
    let mut world = World::of(&notes, &[(0, 4)]);
    let found = world.find("who saw the lighthouse", 5);
    assert_eq!(numbers(&found)[0], 1);
    let of = |found: &Retrieval, at: u64| found.hits.iter().find(|hit| number(hit.id) == at).unwrap().clone();
    assert!((share(&of(&found, 2), "order") - 0.25 * found.hits[0].score).abs() < 0.2 * found.hits[0].score);
    assert!(share(&of(&found, 3), "order") > 0.0);
    assert_eq!(share(&of(&found, 4), "order"), 0.0);
    world.config.retrieve.graph = false;
    assert!(world.find("who saw the lighthouse", 5).hits.iter().all(|hit| share(hit, "order") == 0.0));
}

#[test]
fn similar_notes_are_found_if_there_are_no_links() {
    let notes: Vec<Node> = (0..)
        .zip([
            "the keeper of the lighthouse at the harbour",
            "the keepers of a lighthouse at a harbour",
            "lentils and lemon",
            "the keeper of the lighthouse at a harbour",
            "so it is",
        ])
        .map(|(number, body)| note(number, "", body))
        .collect();
    let share_of = |world: &World, at: u64| {
        let found = world.find("who keeps the lighthouse at the harbour", 5);
        share(found.hits.iter().find(|hit| number(hit.id) == at).unwrap(), "alike")
    };
    let mut world = World::of(&notes, &[(3, 4)]).contextual();
    assert!(share_of(&world, 0) > 0.0 && share_of(&world, 1) > 0.0);
    // The note has no similar note, but is part of a session.
    assert_eq!((share_of(&world, 2), share_of(&world, 3)), (0.0, 0.0));
    world.config.retrieve.scores.alike_weight = 0.0;
    assert_eq!(share_of(&world, 0), 0.0);
    world.config.retrieve.scores.alike_weight = 0.75;
    world.config.retrieve.scores.alike_cosine = 1.0;
    assert_eq!(share_of(&world, 0), 0.0);
    world.config.retrieve.scores.alike_cosine = 0.6;
    world.config.retrieve.graph = false;
    assert_eq!(share_of(&world, 0), 0.0);
    assert_eq!(share_of(&World::of(&notes, &[]), 0), 0.0);
}

#[test]
fn notes_that_a_hit_mentions_or_is_mentioned_by_are_found_too() {
    let mut world = World::new(&[
        ("Ann Lee", "The keeper of the lighthouse was born in Port Albert."),
        ("Port Albert", "A town by the sea with a quay."),
        ("Soup", "Lentils, as Ann Lee made them."),
        ("Bread", "Flour and water."),
        ("Rain", "It falls."),
    ]);
    let found = world.find("where was the keeper of the lighthouse born", 5);
    let share = |found: &Retrieval, at: u64, signal| {
        share(found.hits.iter().find(|hit| number(hit.id) == at).unwrap(), signal)
    };
    assert_eq!(numbers(&found)[0], 0);
    assert!(share(&found, 1, "mention") > share(&found, 2, "mention") && share(&found, 2, "mention") > 0.0);
    assert_eq!(share(&found, 3, "mention"), 0.0);
    assert!(share(&world.find("what is Port Albert like", 5), 1, "named") > 0.0);
    assert_eq!(share(&world.find("what is a port like", 5), 1, "named"), 0.0);
    world.config.retrieve.graph = false;
    assert_eq!(share(&world.find("where was the keeper of the lighthouse born", 5), 1, "mention"), 0.0);
}
