//! The growth computed from the log equals the difference of two states.

use super::*;
use poc_graph::time::Timestamp;
use poc_notes::growth::{self, Growth};
use proptest::prelude::*;

/// The live notes and the edges.
fn counts(memory: &Memory) -> Growth {
    let view = memory.store.view();
    Growth { notes: view.live_count() as i64, edges: view.edges_by_kind().values().sum::<u64>() as i64 }
}

poc_laws::laws! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn growth_is_the_difference_between_two_states(picks in proptest::collection::vec(0usize..9, 1..12)) {
        let memory = filled();
        let mut states = Vec::new();
        for (number, pick) in picks.into_iter().enumerate() {
            states.push((memory.now(), counts(&memory)));
            memory.clock.advance(Span::MINUTE);
            let line = match pick {
                0 => format!("insert --title 'Page {number}' --body 'Of the B-tree {number}' -k storage"),
                1 => format!("insert --key journal --update --body 'Said anew {number}'"),
                2 => "link journal btree --strength 0.4".to_owned(),
                3 => "link btree journal --remove".to_owned(),
                4 => "reinforce journal".to_owned(),
                5 => "supersede btree journal".to_owned(),
                6 => "delete btree".to_owned(),
                7 => format!("write 'Message {number}. It has two sentences.'"),
                _ => "undo".to_owned(),
            };
            // Some changes are refused, for example those of a deleted note.
            let _ = call(&memory, &line);
            // Asked in between, so that the cache is used.
            prop_assert!(growth::since(&memory, memory.now()).unwrap() == Some(Growth::default()));
        }
        let now = counts(&memory);
        for (at, then) in states {
            let grown = Growth { notes: now.notes - then.notes, edges: now.edges - then.edges };
            prop_assert_eq!(growth::since(&memory, at).unwrap(), Some(grown));
        }
        // Nothing was stored before the first change, and another tenant has nothing.
        let long_ago = Timestamp(0);
        prop_assert_eq!(growth::since(&memory, long_ago).unwrap(), Some(now));
        let other = memory.of(&poc_graph::Tuple::new([("customer", "acme")]).unwrap());
        prop_assert_eq!(growth::since(&other, long_ago).unwrap(), Some(Growth::default()));
    }
}
