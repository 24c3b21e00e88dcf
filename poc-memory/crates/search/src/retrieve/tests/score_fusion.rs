//! Fusion by standard scores, compared with a direct implementation of its definition over all notes.

use super::*;
use crate::retrieve::candidates::RetrievalQuery;
use poc_rank::standard_score::Moments;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// A direct implementation of the fusion's definition, over all notes.
fn naive(world: &World, text: &str, notes: &[Node], sessions: &[(u64, u64)]) -> Vec<(u64, f64)> {
    let vector = world.embedder.embed_one(text).unwrap();
    let (words, near) = (world.text.scores(text), world.vectors.cosine_scores(&vector).unwrap());
    let live: Vec<&Node> = notes.iter().filter(|note| note.state == State::Active).collect();
    let scale = |of: &dyn Fn(NodeId) -> f64| {
        let mut sums = Moments::default();
        live.iter().for_each(|note| sums.add(of(note.id)));
        sums.scale(live.len())
    };
    let bm25 = |id| words.hits().find(|hit| hit.id == id).map_or(0.0, |hit| hit.score);
    let cosine = |id| near.nearest_passage(id).map_or(0.0, |hit| hit.cosine);
    let (by_words, by_meaning) = (scale(&bm25), scale(&cosine));
    // The weight of the meaning, by the clarity of the words.
    let clearest = live.iter().map(|note| bm25(note.id)).fold(0.0, f64::max);
    let clarity = (clearest * by_words.standard(clearest).max(0.0)).sqrt();
    let weight = if world.embedder.contextual { 0.5 * (12.0 / clarity).clamp(1.0, 4.0) } else { 0.6 };
    let mut own: BTreeMap<u64, f64> = live
        .iter()
        .map(|note| {
            let (a, b) = (by_words.standard(bm25(note.id)), by_meaning.standard(cosine(note.id)));
            (number(note.id), a + weight * b * b.abs())
        })
        .collect();
    let best = own.values().copied().fold(0.0, f64::max);
    for id in words.terms().nodes_with_names() {
        if let Some(own) = own.get_mut(&number(id)) {
            *own += best;
        }
    }
    for id in world.mentions.in_text(text) {
        if let Some(own) = own.get_mut(&number(id)) {
            *own += 0.75 * best;
        }
    }
    let mut best_ten: Vec<(u64, f64)> =
        own.iter().map(|(at, own)| (*at, *own)).filter(|(_, own)| *own > 0.0).collect();
    best_ten.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    best_ten.truncate(10);
    let five: Vec<NodeId> = best_ten.iter().take(5).map(|(at, _)| testing::node(*at).id).collect();
    // In a small store a rare name may occur in a tenth of the notes.
    let max = (live.len() / 10).clamp(2, 20);
    let sharing = world.mentions.sharing_names(&five, max, text);
    let by_name = |at: u64| {
        let paths = best_ten.iter().zip(&sharing).flat_map(|((_, own), sharing)| {
            let with = sharing.iter().filter(|(id, _)| number(*id) == at);
            with.map(move |(_, count)| 0.38 * own * (max + 2 - count) as f64 / max as f64)
        });
        paths.fold(0.0, f64::max)
    };
    let by_mention = |at: u64| {
        let best = |ids: Vec<NodeId>| {
            let ids: Vec<u64> = ids.into_iter().map(number).collect();
            let near = best_ten.iter().filter(|(other, _)| ids.contains(other));
            near.map(|(_, own)| *own).fold(0.0, f64::max)
        };
        let id = testing::node(at).id;
        (0.35 * best(world.mentions.mentioning(id)))
            .max(0.30 * best(world.mentions.mentioned_by(id)))
            .max(by_name(at))
    };
    let worth = |number: Option<u64>, of: u64| {
        let session =
            |number: u64| sessions.iter().position(|(first, last)| (*first..=*last).contains(&number));
        let there = number.filter(|&number| session(number).is_some() && session(number) == session(of));
        there.and_then(|number| own.get(&number)).map_or(0.0, |own| own.max(0.0))
    };
    let is_linked = |at: u64| {
        let id = testing::node(at).id;
        let in_session = sessions.iter().any(|(first, last)| first < last && (*first..=*last).contains(&at));
        in_session || !world.mentions.mentioning(id).is_empty() || !world.mentions.mentioned_by(id).is_empty()
    };
    let by_likeness = |at: u64| {
        if !world.embedder.contextual || is_linked(at) {
            return 0.0;
        }
        let near = own.iter().filter(|(other, own)| **other != at && **own > 0.0);
        let mut near: Vec<(f64, f64)> = near
            .filter_map(|(other, own)| {
                Some((world.vectors.similarity(testing::node(at).id, testing::node(*other).id)?, *own))
            })
            .filter(|(cosine, _)| *cosine > 0.6)
            .collect();
        near.sort_by(|a, b| b.0.total_cmp(&a.0));
        near.into_iter().take(5).map(|(cosine, own)| 0.5 / 5.0 * cosine * own).sum()
    };
    // Every run of five notes of a session, or the whole session if it is shorter, with a note that scores.
    let mut windows: Vec<(u64, u64, f64)> = Vec::new();
    for &(first, last) in sessions.iter().filter(|(first, last)| first < last) {
        for start in first..=last.saturating_sub(4).max(first) {
            let window = start..=(start + 4).min(last);
            let ids: Vec<NodeId> = window.clone().map(|at| testing::node(at).id).collect();
            let words = by_words.standard(words.joined().of(&ids));
            let mean = ids.iter().map(|id| cosine(*id)).sum::<f64>() / ids.len() as f64;
            let meaning = by_meaning.standard(mean);
            if window.clone().any(|at| own.get(&at).is_some_and(|own| *own > 0.0)) {
                windows.push((*window.start(), *window.end(), words + weight * meaning * meaning.abs()));
            }
        }
    }
    let by_window = |at: u64| {
        let around = windows.iter().filter(|(first, last, _)| (*first..=*last).contains(&at));
        around.map(|(.., score)| 0.8 * score).fold(0.0, f64::max)
    };
    let mut found: Vec<(u64, f64)> = own
        .iter()
        .map(|(&at, own)| {
            let beside = worth(at.checked_sub(1), at) + worth(Some(at + 1), at);
            let further = worth(at.checked_sub(2), at) + worth(Some(at + 2), at);
            (at, own + by_mention(at) + 0.25 * beside + 0.20 * further + by_window(at) + by_likeness(at))
        })
        .collect();
    found.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    found
}

const WORDS: [&str; 10] =
    ["Harbour", "harbour", "quay", "INC-7", "INC-8", "store_open", "lemon", "the", "soup", "lighthouse"];

fn text() -> impl Strategy<Value = String> {
    proptest::collection::vec(proptest::sample::select(&WORDS[..]), 1..6).prop_map(|words| words.join(" "))
}

poc_laws::laws! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The result agrees with scoring every note, each score is the sum of its shares, and a shorter result is a
    /// prefix of a longer one.
    #[test]
    fn score_fusion_agrees_with_its_definition(
        texts in proptest::collection::vec((text(), text()), 1..30), query in text(), cut in 0u64..30, wanted in 1usize..40,
        rest in any::<bool>(), contextual in any::<bool>(),
    ) {
        let notes: Vec<Node> = (0..).zip(&texts).map(|(number, (title, body))| note(number, title, body)).collect();
        let last = notes.len() as u64 - 1;
        let cut = cut.min(last);
        let mut sessions = vec![(0, cut)];
        if cut < last && rest {
            sessions.push((cut + 1, last));
        }
        let world = World::of(&notes, &sessions);
        let world = if contextual { world.contextual() } else { world };
        let found = world.find(&query, wanted);
        let expected = naive(&world, &query, &notes, &sessions);
        prop_assert_eq!(found.hits.len(), wanted.min(notes.len()));
        for (hit, (_, score)) in found.hits.iter().zip(&expected) {
            prop_assert!((hit.score - score).abs() < 1e-6, "{:?} {:?}", hit, expected);
            let shares: f64 = hit.shares.iter().map(|(_, share)| share).sum();
            prop_assert!((hit.score - shares).abs() < 1e-9);
        }
        prop_assert_eq!(&world.find(&query, 1).hits[..], &found.hits[..1]);
    }
}

poc_laws::laws! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// The same test with more notes than candidates, where names lead to further notes.
    #[test]
    fn score_fusion_of_many_notes_agrees_with_its_definition(
        picks in proptest::collection::vec((0usize..30, 0usize..30, 0usize..200, 0usize..200), 80..300),
        query in proptest::collection::vec(0usize..30, 1..3), wanted in 1usize..80,
    ) {
        let word = |at: usize| ["b", "d", "f", "g", "k", "l"][at % 6].repeat(1 + at / 6) + "o";
        let query = query.into_iter().map(word).collect::<Vec<_>>().join(" ");
        let text = |&(one, two, name, other)| format!("{} {} Name{name} Name{other}", word(one), word(two));
        let notes: Vec<Node> = (0..).zip(&picks).map(|(number, picks)| note(number, "", &text(picks))).collect();
        let world = World::of(&notes, &[]);
        let (found, expected) = (world.find(&query, wanted), naive(&world, &query, &notes, &[]));
        prop_assert_eq!(found.hits.len(), wanted);
        for (hit, (_, score)) in found.hits.iter().zip(&expected) {
            prop_assert!((hit.score - score).abs() < 1e-6, "{:?} {:?}", hit, expected);
        }
    }
}

poc_laws::laws! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The best notes by both scores agree with scoring every note, whatever their rank in either list, with or without
    /// a vector. Hidden notes are not among them.
    #[test]
    fn no_note_among_many_is_missed(
        bodies in proptest::collection::vec(proptest::collection::vec((0u32..400, 0u32..3), 0..12), 20..90),
        query in proptest::collection::vec(0u32..60, 1..6), pool in 1usize..20, hidden in proptest::collection::vec(0usize..90, 0..20),
    ) {
        // Small numbers stand for common words.
        let text = |words: &[(u32, u32)]| {
            let letter = |number: u32| char::from(b"bcdfghjklmnpqrstvwxz"[number as usize % 20]);
            let words = words.iter().map(|&(number, times)| number >> (2 * times));
            words.map(|number| format!("{}a{}u ", letter(number / 20), letter(number))).collect::<String>()
        };
        let notes: Vec<Node> = (0..).zip(&bodies).map(|(number, words)| note(number, "", &text(words))).collect();
        let world = World::of(&notes, &[]);
        let except: Vec<NodeId> = hidden.iter().filter_map(|at| Some(notes.get(*at)?.id)).collect();
        let query = text(&query.iter().map(|&number| (number, 0)).collect::<Vec<_>>());
        let vector = world.embedder.embed_one(&query).unwrap();
        let retriever = world.retriever().without(&except);
        let question = RetrievalQuery::of(&retriever, &query, &vector, Visibility::of_person(Timestamp(0))).unwrap();
        let found = question.lists(5, pool).pool;

        let seen = || notes.iter().map(|note| note.id).filter(|id| !except.contains(id));
        let (words, near) = (world.text.scores(&query), world.vectors.cosine_scores(&vector).unwrap());
        let mut nearest: Vec<NodeId> = seen().filter(|id| near.of(*id).is_some()).collect();
        nearest.sort_by(|a, b| near.of(*b).unwrap().total_cmp(&near.of(*a).unwrap()).then(a.cmp(b)));
        nearest.truncate(pool);
        let mut expected: Vec<(f64, NodeId)> = seen()
            .filter(|id| words.of(*id) > 0.0 || nearest.contains(id))
            .map(|id| (question.score(question.base_score(words.of(id), near.of(id).unwrap_or(0.0))), id))
            .collect();
        expected.sort_by(|(a, x), (b, y)| b.total_cmp(a).then(x.cmp(y)));
        expected.truncate(pool);
        prop_assert_eq!(found.iter().map(|found| (found.score, found.id)).collect::<Vec<_>>(), expected);
    }
}

#[test]
fn a_text_without_content_finds_nothing() {
    let world = World::new(&[("Journal", "Lemon")]);
    assert_eq!(world.find("…", 9).hits, []);
    assert_eq!(world.by_ranks().find("…", 9).hits, []);
}

/// If all notes have the words of a question, the vector score weighs more with a contextual embedder. Rare words and
/// other embedders leave its weight unchanged.
#[test]
fn meaning_weighs_more_where_the_words_are_common() {
    let bodies: Vec<String> = (0..100)
        .map(|number| format!("The card payment was declined {number} times at shop {}", number % 7))
        .collect();
    let mut notes: Vec<(&str, &str)> = bodies.iter().map(|body| ("", body.as_str())).collect();
    notes.push(("", "Zebras graze beside the quarry near Ulaanbaatar"));
    let plain = World::new(&notes);
    let mut contextual = World::new(&notes).contextual();
    contextual.config.retrieve.scores.alike_weight = 0.0;
    contextual.config.retrieve.scores.contextual_weight = plain.config.retrieve.scores.meaning_weight;
    let factors = |world: &World, text: &str| -> Vec<f64> {
        let (before, after) = (plain.find(text, 5), world.find(text, 50));
        let of = |hit: &RetrievalHit| {
            let same = after.hits.iter().find(|other| other.id == hit.id).unwrap();
            assert_eq!(share(same, "words"), share(hit, "words"));
            share(same, "meaning") / share(hit, "meaning")
        };
        before.hits.iter().map(of).collect()
    };
    let are = |factors: Vec<f64>, expected: f64| {
        assert!(factors.iter().all(|factor| (factor - expected).abs() < 1e-9), "{factors:?}");
    };
    are(factors(&contextual, "card payment declined"), 4.0);
    are(factors(&contextual, "zebras graze beside the quarry near Ulaanbaatar"), 1.0);
    contextual.config.retrieve.scores.meaning_factor = 1.5;
    are(factors(&contextual, "card payment declined"), 1.5);
    contextual.config.retrieve.scores.clear_words = 0.0;
    are(factors(&contextual, "card payment declined"), 1.0);
}
