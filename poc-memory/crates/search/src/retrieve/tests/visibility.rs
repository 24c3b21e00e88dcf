//! Notes that must not be found affect neither hits nor scores.

use super::*;
use crate::retrieve::retriever::DEPTH;
use poc_graph::NoteSet;
use proptest::prelude::*;

#[test]
fn an_excluded_note_does_not_affect_ranks_or_means() {
    let all: Vec<Node> =
        (0..60).map(|number| note(number, &format!("harbour {number}"), "harbour and quay")).collect();
    let hidden = |note: &Node| number(note.id).is_multiple_of(2);
    let quarantined = |note: &Node| Node {
        trust: if hidden(note) { Trust::Quarantined } else { Trust::User },
        ..note.clone()
    };
    let expired = |note: &Node| Node { expires: hidden(note).then_some(Timestamp(0)), ..note.clone() };
    let some: Vec<Node> = all.iter().filter(|note| !hidden(note)).cloned().collect();
    let model = Visibility::of_model(Timestamp(0));
    let alone = World::of(&some, &[]).seen("harbour 7", MAX_HITS, model);
    for half in [all.iter().map(quarantined).collect::<Vec<_>>(), all.iter().map(expired).collect()] {
        let world = World::of(&half, &[]);
        let found = world.seen("harbour 7", MAX_HITS, model);
        assert_eq!((numbers(&found), &found.named), (numbers(&alone), &alone.named));
        // The index includes the excluded note in document frequencies and lengths, so BM25 itself differs.
        assert!((share(&found.hits[0], "meaning") - share(&alone.hits[0], "meaning")).abs() < 1e-6);
        assert_eq!(
            world.by_ranks().seen("harbour", MAX_HITS, model).named,
            [("meaning", 30), ("title", 30), ("text", 30)]
        );
    }
    let world = World::of(&all, &[]);
    assert_eq!(
        world.find("harbour", MAX_HITS).named,
        [("meaning", 60); 1].into_iter().chain([("words", 60)]).collect::<Vec<_>>()
    );
    assert_eq!(world.find("harbour", 7).named, [("meaning", DEPTH), ("words", DEPTH)]);
}

#[test]
fn retired_notes_are_not_found() {
    let retired = Node { state: State::Superseded, ..note(0, "Harbour", "harbour") };
    let world = World::of(&[retired, note(1, "Harbour", "quay")], &[]);
    assert_eq!(numbers(&world.find("harbour", 9)), [1]);
}

#[test]
fn a_hidden_note_is_in_no_window() {
    let session = |trust| {
        let mut notes: Vec<Node> =
            (0..4).map(|number| Node { trust, ..note(number, "", "nobody answered the door") }).collect();
        notes[0] = note(0, "", "the harbour at night");
        notes.extend((4..9).map(|number| note(number, "", "soup")));
        World::of(&notes, &[(0, 3)]).seen("harbour", 1, Visibility::of_model(Timestamp(0)))
    };
    assert!(share(&session(Trust::User).hits[0], "window") > 0.0);
    assert_eq!(share(&session(Trust::Quarantined).hits[0], "window"), 0.0);
}

#[test]
fn notes_missing_from_the_view_are_left_out() {
    let notes: Vec<Node> = (0..400).map(|number| note(number, "", "the keeper of the harbour")).collect();
    let mut world = World::of(&notes, &[]);
    let mut deltas: Vec<Delta> =
        notes[390..].iter().map(|note| Delta::Node(Arc::new(note.clone()))).collect();
    let retired = Node { state: State::Superseded, ..notes[3].clone() };
    deltas.push(Delta::Node(Arc::new(retired)));
    world.view = View::new();
    world.view.apply(1, &deltas);
    let found = world.find("harbour", 20);
    assert_eq!(numbers(&found), (390..400).collect::<Vec<_>>());
    assert_eq!(found.named, [("meaning", 10), ("words", 10)]);
}

poc_laws::laws! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    /// A set of notes gives the same answers as the set of all others that are hidden.
    #[test]
    fn the_notes_inside_a_set_are_found_as_if_the_others_were_hidden(
        inside in proptest::collection::vec(any::<bool>(), 60),
        quarantined in 0u64..60,
        contextual in any::<bool>(),
        by_ranks in any::<bool>(),
    ) {
        let topics = ["the keeper of the harbour", "a quay", "soup and bread", "harbour and quay at night"];
        let notes: Vec<Node> = (0..60)
            .map(|number| Node {
                trust: if number == quarantined { Trust::Quarantined } else { Trust::User },
                ..note(number, &format!("Harbour {number}"), topics[number as usize % topics.len()])
            })
            .collect();
        let mut world = World::of(&notes, &[(0, 9), (20, 24)]);
        if contextual {
            world = world.contextual();
        }
        if by_ranks {
            world = world.by_ranks();
        }
        let ids = |wanted: bool| {
            let some = notes.iter().zip(&inside).filter(move |(_, inside)| **inside == wanted);
            some.map(|(note, _)| note.id).collect()
        };
        let found = |set: NoteSet| {
            let retriever = world.retriever().within(Some(&set));
            retriever.find("harbour 7", 9, Visibility::of_model(Timestamp(0))).unwrap()
        };
        let (only, all_but) = (found(NoteSet::Only(ids(true))), found(NoteSet::AllBut(ids(false))));
        prop_assert_eq!(&only.hits, &all_but.hits);
        prop_assert_eq!((&only.named, only.cosine), (&all_but.named, all_but.cosine));
        let is_allowed = |id| inside[number(id) as usize] && number(id) != quarantined;
        prop_assert!(only.hits.iter().all(|hit| is_allowed(hit.id)));
    }
}
