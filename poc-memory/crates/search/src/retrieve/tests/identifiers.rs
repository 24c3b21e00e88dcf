//! Names are found by their exact spelling among similar names.

use super::{World, note, numbers};
use poc_graph::{Node, State};

/// A hundred names of each kind. The second half are similar to the first.
fn names() -> Vec<(&'static str, String, String)> {
    let mut names = Vec::new();
    for at in 0..25u32 {
        let (ticket, error, hash) = (90_000 + at * 37, 1000 + at * 13, 0x3f9a_c000u32 + at * 7919);
        let file = ["store", "codec", "frame", "query", "index"][at as usize % 5];
        let verb = ["open", "parse", "merge", "flush", "split"][at as usize / 5];
        names.push(("ticket", format!("INC-{ticket}"), format!("INC-{}", ticket + 1)));
        names.push(("error", format!("E{error}"), format!("E{}", error + 1)));
        names.push(("hash", format!("{hash:08x}a7"), format!("{hash:08x}a8")));
        names.push(("file", format!("src/{file}/{verb}.rs"), format!("src/{file}/{verb}_test.rs")));
        names.push(("symbol", format!("{file}_{verb}_all"), format!("{file}_{verb}_any")));
        let hump = format!("{verb}{}{}", file[..1].to_uppercase(), &file[1..]);
        names.push(("symbol", format!("{hump}Fast"), format!("{hump}Slow")));
        names.push(("date", format!("2026-03-{:02}", at + 1), format!("2026-04-{:02}", at + 1)));
    }
    names
}

const PROSE: [&str; 5] = [
    "came up again when the queue was drained before the writers were done",
    "was looked at by the whole team and nobody knew why it had been there",
    "is described in the handover of last week together with its cause",
    "breaks the nightly build whenever the cache is cold and the disk is slow",
    "should be mentioned to whoever is on call, together with the workaround",
];

/// Notes with one name each, in title or text. Half of the names are similar to another one.
fn notes(kinds: &[&str]) -> (Vec<Node>, Vec<(String, u64)>) {
    let (mut notes, mut probes) = (Vec::new(), Vec::new());
    for (at, (kind, name, alike)) in names().into_iter().enumerate() {
        if !kinds.contains(&kind) {
            continue;
        }
        let prose = PROSE[at % PROSE.len()];
        for (which, name) in [name, alike].into_iter().enumerate() {
            let number = notes.len() as u64;
            probes.push((name.clone(), number));
            notes.push(if (at + which) % 2 == 0 {
                note(number, &format!("About {name}"), &format!("It {prose}."))
            } else {
                note(number, &format!("Note {number}"), &format!("We saw that {name} {prose}."))
            });
        }
    }
    (notes, probes)
}

#[test]
fn a_bare_name_finds_its_note_first() {
    for kinds in
        [&["ticket", "error"][..], &["file", "symbol"], &["hash", "date"], &["symbol", "ticket", "file"]]
    {
        let (notes, probes) = notes(kinds);
        let world = World::of(&notes, &[]);
        for (probe, expected) in &probes {
            let found = world.find(probe, 5);
            assert_eq!(numbers(&found)[0], *expected, "{probe} of {}", probes.len());
            // Also inside a longer query.
            let found = world.find(&format!("what do we know about {probe}?"), 5);
            assert_eq!(numbers(&found)[0], *expected, "{probe}");
        }
    }
}

#[test]
fn parts_of_an_identifier_are_found_too() {
    let (notes, probes) = notes(&["symbol"]);
    let world = World::of(&notes, &[]);
    let (symbol, at) = probes.iter().find(|(name, _)| name == "store_parse_all").unwrap();
    let found = world.find(&symbol.replace('_', " "), 8);
    assert!(numbers(&found).contains(at), "{found:?}");
}

#[test]
fn a_note_named_by_its_key_comes_first() {
    let keyed = |number, key: &str, body: &str| Node { key: key.into(), ..note(number, "", body) };
    // Another note is next to it, mentions it, and has more words of the query.
    let notes = [
        keyed(0, "handbook", "on call: people/lin, see retry-policy"),
        keyed(1, "people/lin", "storage"),
        keyed(2, "retry-policy", "thrice"),
    ];
    for count in [2, 3] {
        for sessions in [&[][..], &[(0, count as u64 - 1)]] {
            let world = World::of(&notes[..count], sessions);
            for (asked, number) in
                [("people/lin", 1), ("who is on call, people/lin?", 1), ("handbook", 0), ("retry-policy", 2)]
            {
                if number < count as u64 {
                    let found = world.find(asked, 4);
                    assert_eq!(numbers(&found)[0], number, "{asked} of {count}: {found:?}");
                    assert!(found.hits[0].by_key && found.hits[1..].iter().all(|hit| !hit.by_key));
                }
            }
        }
    }
    for asked in ["the handbook", "see retry-policy"] {
        assert!(World::of(&notes, &[]).find(asked, 4).hits.iter().all(|hit| !hit.by_key), "{asked}");
    }
    // Common spellings.
    let spelling = [
        ("People/Lin", 1),
        ("what leads People/Lin’s team", 1),
        ("see https://wiki/people/lin.md#team", 1),
        ("“Handbook”?", 0),
        ("retry-policy.md", 2),
    ];
    for (asked, number) in spelling {
        let found = World::of(&notes, &[]).find(asked, 4);
        assert!(numbers(&found)[0] == number && found.hits[0].by_key, "{asked}: {found:?}");
    }
    // A slug does not have the form of a name, whatever its words are.
    let sites = [keyed(0, "youtube", "videos"), keyed(1, "cats", "what cats do on YouTube")];
    for asked in ["what do cats on YouTube?", "see https://cats/YouTube", "C#"] {
        assert!(World::of(&sites, &[]).find(asked, 2).hits.iter().all(|hit| !hit.by_key), "{asked}");
    }
    // A note that must not be found does not hide others.
    let gone = Node { state: State::Superseded, ..keyed(0, "people/lin", "left") };
    let found = World::of(&[gone, keyed(1, "People/Lin", "storage")], &[]).find("people/lin", 2);
    assert!(numbers(&found) == [1] && found.hits[0].by_key, "{found:?}");
    // The best match of several comes first, but after the note whose key is the whole query.
    let several =
        [keyed(0, "day 2026-11-21", "soup"), keyed(1, "2026-11-21", "rain"), keyed(2, "INC-7", "rain, rain")];
    let world = World::of(&several, &[]);
    assert_eq!(numbers(&world.find("day 2026-11-21", 3))[..2], [0, 1]);
    assert_eq!(numbers(&world.find("rain of INC-7 or 2026-11-21", 3))[..2], [2, 1]);
    let mut without = World::of(&notes, &[]);
    without.config.retrieve.scores.identifier_weight = 0.0;
    assert!(without.find("people/lin", 4).hits.iter().all(|hit| !hit.by_key));
    let world = World::of(
        &[
            keyed(0, "handbook", "who is on call: people/lin, then chat-013"),
            keyed(1, "people/lin", "leads the storage team"),
            keyed(2, "chat-013", "the disk is full"),
            keyed(3, "soup", "lentils and lemon"),
        ],
        &[],
    );
    for (asked, number) in [("people/lin", 1), ("what says chat-013?", 2)] {
        assert_eq!(numbers(&world.find(asked, 4))[0], number, "{asked}");
    }
}
