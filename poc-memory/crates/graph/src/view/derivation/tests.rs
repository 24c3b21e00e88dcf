//! Sources of sources, compared with a naive definition.

use super::*;
use crate::{Delta, Node, State, testing};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Nodes with these numbers, each derived from the listed ones. Superseded notes are not visible.
fn view(nodes: &[Node], derived: &[(u64, u64)]) -> View {
    let mut deltas: Vec<Delta> = nodes.iter().map(|node| Delta::Node(Arc::new(node.clone()))).collect();
    let edge = |&(from, to): &(u64, u64)| Delta::from(testing::edge(from, to, EdgeKind::DerivedFrom, 1.0));
    deltas.extend(derived.iter().map(edge));
    let mut view = View::new();
    view.apply(1, &deltas);
    view
}

/// A note of an agent.
fn fact(number: u64) -> Node {
    Node { provenance: provenance::of_agent("facts"), ..testing::node(number) }
}

fn chain(length: u64) -> View {
    let nodes: Vec<Node> = (0..length).map(fact).collect();
    view(&nodes, &(1..length).map(|number| (number, number - 1)).collect::<Vec<_>>())
}

fn ix(view: &View, number: u64) -> Ix {
    view.find(testing::node(number).id).unwrap()
}

fn number(view: &View, at: Ix) -> u64 {
    (0..1_000).find(|&number| view.find(testing::node(number).id) == Some(at)).unwrap()
}

fn ancestors(view: &View, of: u64) -> Vec<(u64, usize)> {
    let found = view.ancestors(ix(view, of), &|at| view.is_live(at));
    found.into_iter().map(|(at, steps)| (number(view, at), steps)).collect()
}

fn representatives(view: &View, of: u64) -> Vec<u64> {
    let found = view.representatives(ix(view, of), &|at| view.is_live(at));
    numbers(view, &found)
}

/// The live notes that are represented by others.
fn represented(view: &View) -> Vec<u64> {
    let representation = Representation::default();
    let mut found: Vec<Ix> = (0..view.slots()).filter(|&at| view.is_live(at)).collect();
    found.retain(|&at| representation.is_represented(view, at, &|source| view.is_live(source)));
    numbers(view, &found)
}

fn numbers(view: &View, found: &[Ix]) -> Vec<u64> {
    let mut numbers: Vec<u64> = found.iter().map(|&at| number(view, at)).collect();
    numbers.sort_unstable();
    numbers
}

#[test]
fn the_first_note_of_a_chain_represents_the_next_eight() {
    let view = chain(12);
    assert_eq!(represented(&view), [1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(ancestors(&view, 3), [(2, 1), (1, 2), (0, 3)]);
    assert_eq!(ancestors(&view, 11).last(), Some(&(3, 8)));
    assert_eq!(representatives(&view, 8), [0]);
    assert!(representatives(&view, 9).is_empty());
}

#[test]
fn a_cycle_is_represented_only_by_a_note_outside_of_it() {
    let nodes: Vec<Node> = (0..4).map(fact).collect();
    // 1 and 2 were derived from each other, and 3 from 2.
    let cycle = view(&nodes, &[(1, 2), (2, 1), (3, 2)]);
    assert!(represented(&cycle).is_empty());
    assert_eq!(ancestors(&cycle, 1), [(2, 1)]);
    let with_root = view(&nodes, &[(1, 2), (2, 1), (3, 2), (1, 0)]);
    assert_eq!(represented(&with_root), [1, 2, 3]);
    assert_eq!(representatives(&with_root, 3), [0]);
}

#[test]
fn only_notes_of_agents_are_represented() {
    for (provenance, expected) in [("manual", vec![2]), ("mcp", vec![2]), ("agent:facts", vec![1, 2])] {
        let middle = Node { provenance: provenance.into(), ..testing::node(1) };
        // 1 was derived from 0, and 2 from 1.
        let view = view(&[testing::node(0), middle, fact(2)], &[(1, 0), (2, 1)]);
        assert_eq!(represented(&view), expected, "{provenance}");
        assert_eq!(representatives(&view, 1).is_empty(), expected.len() == 1, "{provenance}");
        // A note that is a hit itself represents those derived from it.
        let roots = if expected.len() == 1 { vec![0, 1] } else { vec![0] };
        assert_eq!(representatives(&view, 2), roots, "{provenance}");
    }
}

#[test]
fn a_confirmed_question_represents_nothing() {
    let question = Node { node_type: NodeType(NodeType::QUESTION.into()), ..testing::node(1) };
    let answer = |state| Node { state, ..testing::node(0) };
    for (state, expected) in [(State::Active, vec![1, 2]), (State::Superseded, vec![])] {
        let view = view(&[answer(state), question.clone(), fact(2)], &[(1, 0), (2, 1)]);
        assert_eq!(represented(&view), expected);
    }
}

#[test]
fn a_confirmed_question_without_notes_is_known_by_its_key() {
    let question = Node { node_type: NodeType(NodeType::QUESTION.into()), ..testing::node(0) };
    let key = question.question_key();
    for (key, expected) in [
        (key.clone(), true),
        (format!("{key}-2"), true),
        (format!("{key}0"), false),
        ("question-of-the-day".into(), false),
        ("question-".into(), false),
    ] {
        let view = view(&[Node { key: key.clone(), ..question.clone() }, testing::node(1)], &[]);
        assert_eq!(view.is_confirmed_question(ix(&view, 0)), expected, "{key}");
        let note = view.find(testing::node(1).id).unwrap();
        assert!(!view.is_confirmed_question(note));
    }
}

#[test]
fn a_quotation_has_a_source_and_was_written_by_an_agent() {
    let key = crate::quotation_key("Ann, 1 May", "“I moved.”");
    let note = |key: &str, provenance: &str| Node {
        key: key.into(),
        provenance: provenance.into(),
        ..testing::node(0)
    };
    let numbered = format!("{key}-2");
    for (note, edges, expected) in [
        (note(&key, "agent:facts"), vec![(0, 1)], true),
        (note(&numbered, "agent:facts"), vec![(0, 1)], true),
        (note(&key, "manual"), vec![(0, 1)], false),
        (note("quote-of-the-day", "agent:facts"), vec![(0, 1)], false),
        (note(&key, "agent:facts"), vec![], false),
    ] {
        let view = view(&[note, testing::node(1)], &edges);
        let quotation = ix(&view, 0);
        assert_eq!([view.is_quotation(quotation), view.is_pointer(quotation)], [expected; 2]);
        assert!(!view.is_pointer(ix(&view, 1)));
    }
}

#[test]
fn the_number_of_edges_that_are_followed_is_bounded() {
    // Two rows of 60 notes; each note of the second was derived from all of the first, and the last note from them.
    let nodes: Vec<Node> = (0..121).map(testing::node).collect();
    let rows = (60..120).flat_map(|note| (0..60).map(move |source| (note, source)));
    let derived: Vec<(u64, u64)> = rows.chain((60..120).map(|source| (120, source))).collect();
    let view = view(&nodes, &derived);
    assert_eq!(ancestors(&view, 120).len(), 120);
    // All sources of the note itself are found, and of their sources as many as edges may be followed.
    let nodes: Vec<Node> = (0..1_202).map(testing::node).collect();
    let derived: Vec<(u64, u64)> = (0..1_200).map(|source| (1_200, source)).chain([(1_201, 1_200)]).collect();
    let view = self::view(&nodes, &derived);
    assert_eq!(view.ancestors(ix(&view, 1_201), &|_| true).len(), 1 + MAX_FURTHER_EDGES);
    assert_eq!(view.ancestors(ix(&view, 1_200), &|_| true).len(), 1_200);
}

poc_laws::laws! {
    #[test]
    fn representation_equals_its_definition(
        derived in proptest::collection::btree_set((0u64..14, 0u64..14), 0..24),
        superseded in proptest::collection::btree_set(0u64..14, 0..3),
        manual in proptest::collection::btree_set(0u64..14, 0..4),
        question in 0u64..14,
    ) {
        let derived: Vec<(u64, u64)> = derived.into_iter().filter(|(note, source)| note != source).collect();
        let node = |number: u64| {
            let state = if superseded.contains(&number) { State::Superseded } else { State::Active };
            let node = if manual.contains(&number) { testing::node(number) } else { fact(number) };
            let node = Node { state, ..node };
            let question_type = NodeType(NodeType::QUESTION.into());
            if number == question { Node { node_type: question_type, ..node } } else { node }
        };
        let view = view(&(0..14).map(node).collect::<Vec<_>>(), &derived);
        let of = |note: u64| derived.iter().filter(move |(derived, _)| *derived == note).map(|(_, source)| *source);
        let visible_of = |note: u64| of(note).filter(|source| !superseded.contains(source));
        let is_question = |note: u64| note == question && of(note).next().is_some();
        let may_be_represented = |note: u64| !manual.contains(&note) || is_question(note);
        let is_root = |note: u64| {
            !is_question(note) && (!may_be_represented(note) || visible_of(note).next().is_none())
        };
        let mut expected = BTreeSet::new();
        for note in (0..14u64).filter(|note| !superseded.contains(note)) {
            // The notes that exactly this number of steps leads to.
            let mut row = BTreeSet::from([note]);
            let mut nearest: BTreeMap<u64, usize> = BTreeMap::new();
            for steps in 1..=MAX_STEPS {
                row = row.iter().flat_map(|&at| visible_of(at)).collect();
                row.iter().for_each(|&at| {
                    nearest.entry(at).or_insert(steps);
                });
                if may_be_represented(note) && row.iter().any(|&at| is_root(at)) {
                    expected.insert(note);
                }
            }
            nearest.remove(&note);
            let found = ancestors(&view, note);
            prop_assert!(found.is_sorted_by_key(|(_, steps)| *steps));
            prop_assert_eq!(found.iter().copied().collect::<BTreeMap<_, _>>(), nearest.clone());
            prop_assert_eq!(found.len(), nearest.len());
            let mut roots: BTreeSet<u64> = nearest.into_keys().filter(|&at| is_root(at)).collect();
            if !may_be_represented(note) {
                roots.clear();
            }
            prop_assert_eq!(roots.is_empty(), !expected.contains(&note));
            prop_assert_eq!(representatives(&view, note), roots.into_iter().collect::<Vec<_>>());
        }
        prop_assert_eq!(represented(&view), expected.into_iter().collect::<Vec<_>>());
    }
}
