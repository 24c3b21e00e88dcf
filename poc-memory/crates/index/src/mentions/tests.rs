//! After any history, the index agrees with a comparison of all texts.

use super::postings::MAX_NOTES_PER_NAME;
use super::vocabulary::MAX_BODIES;
use super::words::Spelling;
use super::*;
use crate::testing::for_each_damage;
use crate::testing::history::{apply_history, history};
use poc_graph::{Node, testing};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

fn open(directory: &Path) -> MentionIndex {
    let index = MentionIndex::closed(directory);
    index.load();
    index.release();
    index
}

fn note(number: u64, title: &str, body: &str) -> Node {
    let key = format!("node-{number}");
    Node { title: title.into(), body: body.into(), key, ..testing::node(number) }
}

fn put(node: &Node) -> Delta {
    Delta::Node(Arc::new(node.clone()))
}

fn filled(notes: &[Node]) -> MentionIndex {
    let index = open(Path::new("/nonexistent"));
    index.apply(1, &notes.iter().map(put).collect::<Vec<_>>()).unwrap();
    index
}

/// The numbers of notes.
fn numbers(ids: &[NodeId]) -> Vec<u64> {
    ids.iter().map(|id| u64::from_be_bytes(id.as_bytes()[8..].try_into().unwrap())).collect()
}

/// Whether a text contains a name of a note, word by word.
fn contains_name(node: &Node, text: &str) -> bool {
    let text = FoldedWords::of(text);
    let text: Vec<_> = text.iter().collect();
    words::names(node.titles(), node.names()).iter().any(|name| {
        let name: Vec<_> = name.iter().collect();
        let same =
            |at: &[(&str, Spelling)]| at[0].1.begins_name && at.iter().zip(&name).all(|(a, b)| a.0 == b.0);
        text.windows(name.len()).any(same)
    })
}

/// All mentions, by comparing all texts.
fn naive(notes: &BTreeMap<u64, Node>) -> Vec<(u64, u64)> {
    let named = |from: &Node, to: &Node| from.id != to.id && contains_name(to, &from.body);
    let pairs = notes.iter().flat_map(|(a, from)| notes.iter().map(move |(b, to)| (*a, from, *b, to)));
    pairs.filter(|(_, from, _, to)| named(from, to)).map(|(a, _, b, _)| (a, b)).collect()
}

fn all(index: &MentionIndex, notes: &BTreeMap<u64, Node>) -> [Vec<(u64, u64)>; 2] {
    let mut to: Vec<(u64, u64)> = notes
        .iter()
        .flat_map(|(b, node)| numbers(&index.mentioning(node.id)).into_iter().map(move |a| (a, *b)))
        .collect();
    to.sort_unstable();
    let from = notes
        .iter()
        .flat_map(|(a, node)| numbers(&index.mentioned_by(node.id)).into_iter().map(move |b| (*a, b)));
    [from.collect(), to]
}

/// The pairs of notes that share a name, with the number of notes that contain the rarest, by comparing all texts.
fn naive_sharing(notes: &BTreeMap<u64, Node>, max: usize, text: &str) -> BTreeMap<(u64, u64), usize> {
    let words = |text: &str| -> Vec<(String, Spelling)> {
        FoldedWords::of(text).iter().map(|(word, spelling)| (word.to_owned(), spelling)).collect()
    };
    let bodies: BTreeMap<u64, Vec<(String, Spelling)>> =
        notes.iter().map(|(number, note)| (*number, words(&note.body))).collect();
    let excluded = words(text);
    let has = |body: &[(String, Spelling)], word: &str| body.iter().any(|(other, _)| other == word);
    let mut sharing_names = BTreeMap::new();
    for (a, body) in &bodies {
        for (name, _) in body.iter().filter(|(word, _)| !has(&excluded, word)) {
            let with: Vec<u64> = bodies.iter().filter(|(_, body)| has(body, name)).map(|(b, _)| *b).collect();
            let within = |b: &u64, begins_name| {
                bodies[b].contains(&(name.clone(), Spelling { begins_name, is_evidence: true }))
            };
            let names = with.iter().filter(|b| within(b, true)).count();
            let plain = with.iter().filter(|b| within(b, false) && !within(b, true)).count();
            let long = name.chars().filter(|c| c.is_alphanumeric()).count() > 2;
            if !long || name == "the" || name == "may" || with.len() > max || names < 1 || names < 3 * plain {
                continue;
            }
            for b in with.iter().filter(|b| *b != a) {
                let min = sharing_names.entry((*a, *b)).or_insert(with.len());
                *min = with.len().min(*min);
            }
        }
    }
    sharing_names
}

fn sharing_names(
    index: &MentionIndex,
    notes: &BTreeMap<u64, Node>,
    max: usize,
    text: &str,
) -> BTreeMap<(u64, u64), usize> {
    let ids: Vec<NodeId> = notes.values().map(|note| note.id).collect();
    let found = notes.keys().zip(index.sharing_names(&ids, max, text));
    let mut sharing_names = BTreeMap::new();
    for (a, b, count) in
        found.flat_map(|(a, found)| found.into_iter().map(|(b, count)| (*a, numbers(&[b])[0], count)))
    {
        assert_eq!(sharing_names.insert((a, b), count), None, "each once");
    }
    sharing_names
}

const WORDS: [&str; 15] = [
    "New",
    "York",
    "City",
    "york",
    "city",
    "of",
    "Émile",
    "Zola (writer)",
    "The",
    "node-3",
    "NODE-4",
    "City.",
    "\n# York",
    "\nNew",
    "May",
];

fn text(max: usize) -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(&WORDS[..]), 0..max).prop_map(|words| words.join(" "))
}

poc_laws::laws! {
    // Few cases, because each one waits for the disk.
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn mentions_after_any_history_agree_with_the_remaining_notes(steps in history(0..7, text(4), text(9)), excluded in text(9)) {
        let directory = poc_graph::testing::folder();
        let (index, notes) = apply_history(steps, &note, &|| open(directory.path()));
        let expected = naive(&notes);
        let [from, to] = all(&index, &notes);
        prop_assert_eq!(&from, &expected);
        prop_assert_eq!(&to, &expected);
        let fresh = filled(&notes.values().cloned().collect::<Vec<_>>());
        prop_assert_eq!(all(&fresh, &notes), [from, to]);
        let named: Vec<u64> = notes
            .iter()
            .filter(|(_, node)| contains_name(node, &excluded))
            .map(|(number, _)| *number)
            .collect();
        prop_assert_eq!(numbers(&index.in_text(&excluded)), named);
        for max in [2, 3, 20] {
            prop_assert_eq!(sharing_names(&index, &notes, max, &excluded), naive_sharing(&notes, max, &excluded));
        }
    }
}

/// Notes had other titles in its revision, so a store is not searched with it after an update.
#[test]
fn a_snapshot_of_an_earlier_revision_is_not_used() {
    let index = filled(&[note(1, "The best soup", "The **best** [soup](soup.md)")]);
    let directory = poc_graph::testing::folder();
    let path = directory.path().join("snapshot");
    for (words, is_used) in [(4, false), (5, true)] {
        let fingerprint = Fingerprint::of(&format!("mention index 4, words {words}"));
        let bytes = snapshot::encode(&index.0.read()).unwrap();
        poc_store::atomic_file::write(&path, fingerprint, 7, &[&bytes]).unwrap();
        let opened = open(directory.path());
        let expected = if is_used { (7, Some(7)) } else { (0, None) };
        assert_eq!((opened.applied(), opened.claimed_seq()), expected);
    }
}

#[test]
fn shared_names_are_rare_and_have_a_capital() {
    let notes = [
        note(
            1,
            "",
            "Rivers: the Bubye flows through Zimbabwe; see src/river.rs, store_open and Go. I'm here at 7:30pm, well-known",
        ),
        note(2, "", "These falls are between Zambia and Zimbabwe; the Bubye is far. Rivers"),
        note(3, "", "Of zimbabwe. It is in src/river.rs. Go. I'm here at 7:30pm. That is well-known"),
        note(4, "Zimbabwe", "Rivers, in Zimbabwe, and the rest: store_open, rivers"),
    ];
    let index = filled(&notes);
    let with = |excluded: &str, max| {
        let [found]: [_; 1] = index.sharing_names(&[notes[0].id], max, excluded).try_into().unwrap();
        let mut found: Vec<_> = found.into_iter().map(|(id, count)| (numbers(&[id])[0], count)).collect();
        found.sort_unstable();
        found
    };
    // `Rivers` is also a plain word, `Go` is too short, and `I'm` is too common.
    assert_eq!(with("", 4), [(2, 2), (3, 2), (4, 2)]);
    assert_eq!(with("what is Bubye's store_open and src/river.rs?", 4), [(2, 4), (3, 4), (4, 4)]);
    assert_eq!(with("what is bubye, store_open and src/river.rs?", 3), []);
    assert_eq!(
        with("what is bubye?", 4),
        [(2, 4), (3, 2), (4, 2)],
        "a name in the question is not a shared name"
    );
    assert_eq!(with("", 1), []);
    assert_eq!(index.sharing_names(&[testing::node(9).id], 3, ""), [[]]);
    let shared =
        |one: usize, other: usize| index.names_between([notes[one].id, notes[other].id], 3, "the Bubye");
    assert_eq!(shared(0, 3), ["store_open"]);
    assert_eq!((shared(0, 2), shared(1, 2)), (vec!["src/river.rs".to_owned()], Vec::new()));
    assert_eq!(index.names_between([notes[0].id, testing::node(9).id], 3, ""), Vec::<String>::new());
}

#[test]
fn ticket_prefixes_and_labels_are_not_shared_names() {
    let ticket = |number: u64, name: &str| {
        let body = format!(
            "# INC-30{number}: Late\n\nOwner: {name} of INC-30{number}, told on Monday\n\n\
             Severity: SEV1, on 2026-11-21, ask the API team\n\n## **Next Steps**\n\n- Call {name}. It is Monday's. However, see INC-300.\nDecision: Wait for API-1."
        );
        note(number, "", &body)
    };
    let notes = [ticket(1, "Ann"), ticket(2, "Bob"), ticket(3, "Ann")];
    let index = filled(&notes);
    let shared = |one: usize, other: usize| index.names_between([notes[one].id, notes[other].id], 3, "");
    assert_eq!(shared(0, 1), ["inc-300", "api-1"]);
    assert_eq!(shared(0, 2), ["ann", "inc-300", "api-1"]);
}

#[test]
fn a_title_is_found_in_older_and_newer_notes() {
    let notes = [
        note(1, "", "In Lisbon she met Émile Zola, who knew the harbour of Porto."),
        note(2, "Lisbon", "A harbour."),
        note(3, "Emile Zola (writer)", "He wrote. Of lisbon he said nothing; Lisbon's light he loved."),
        note(4, "Harbour", "Where ships are."),
        note(5, "Soup", "Soup without Lisbon is soup."),
    ];
    let index = filled(&notes);
    assert_eq!(numbers(&index.mentioned_by(notes[0].id)), [2, 3]);
    assert_eq!(numbers(&index.mentioning(notes[1].id)), [1, 3, 5]);
    assert_eq!(
        numbers(&index.mentioning(notes[3].id)),
        Vec::<u64>::new(),
        "a word in lower case is not a mention"
    );
    assert_eq!(numbers(&index.mentioned_by(notes[4].id)), [2], "a note does not mention itself");
    assert_eq!(numbers(&index.in_text("Was Zola ever in Lisbon? Émile Zola, I mean")), [2, 3]);
    assert_eq!(index.in_text(""), []);
    assert_eq!(index.mentioned_by(testing::node(9).id), []);
}

#[test]
fn keys_of_several_parts_and_identifier_titles_are_mentioned_exactly() {
    let keyed =
        |number, key: &str, title: &str, body: &str| Node { key: key.into(), ..note(number, title, body) };
    let notes = [
        keyed(1, "retry-policy", "Retrying", "Three times at most."),
        keyed(2, "journal", "", "What happened."),
        keyed(3, "opening", "store_open", "Opens the store."),
        keyed(4, "a-call", "", "By the Retry-Policy, store_open() is called anew; see the journal."),
        keyed(5, "a-plan", "", "Our retry policy: open the store."),
    ];
    let index = filled(&notes);
    assert_eq!(numbers(&index.mentioned_by(notes[3].id)), [1, 3]);
    assert_eq!(numbers(&index.mentioned_by(notes[4].id)), Vec::<u64>::new());
    assert_eq!(numbers(&index.mentioning(notes[0].id)), [4]);
    assert_eq!(numbers(&index.in_text("what does retry-policy say?")), [1]);
    // Separate identifiers of a text do not form a title.
    let notes = [
        note(1, "JavaScript TypeScript", "Two languages."),
        note(2, "", "JavaScript is older than TypeScript. It is."),
        note(3, "", "From JavaScript TypeScript came."),
    ];
    assert_eq!(numbers(&filled(&notes).mentioning(notes[0].id)), [3]);
}

#[test]
fn another_name_is_mentioned_like_a_title_until_it_is_removed() {
    let named = |number, names: &[&str]| Node {
        other_names: names.iter().map(|name| (*name).to_owned()).collect(),
        ..note(number, "Roadmap", "What comes first.")
    };
    let notes =
        [named(1, &["Zebra Plan", "PLAN-7"]), named(2, &["Zebra Plan"]), note(3, "", "It is in PLAN-7.")];
    let index = filled(&notes);
    assert_eq!(numbers(&index.in_text("what is in the Zebra Plan?")), [1, 2]);
    assert_eq!(numbers(&index.mentioning(notes[0].id)), [3]);
    index.apply(2, &[put(&named(1, &["PLAN-7"]))]).unwrap();
    assert_eq!(numbers(&index.in_text("what is in the Zebra Plan?")), [2]);
    assert_eq!(numbers(&index.mentioning(notes[0].id)), [3]);
}

/// The name of a file is often the only place that has the name of a person.
#[test]
fn a_key_that_is_written_like_a_title_is_mentioned_like_one() {
    let person = Node { key: "people/Freya Lund".into(), ..note(1, "", "Agent in Copenhagen.") };
    let notes = [person, note(2, "", "Call Freya Lund."), note(3, "", "Call freya.")];
    let index = filled(&notes);
    assert_eq!(numbers(&index.mentioning(notes[0].id)), [2]);
    index.apply(2, &[put(&note(1, "", "Agent in Copenhagen."))]).unwrap();
    assert_eq!(index.mentioning(notes[0].id), []);
}

#[test]
fn a_too_common_name_is_ignored_until_it_is_rarer() {
    let many = MAX_BODIES as u64 * 2 + 10;
    let mut notes: Vec<Node> = (1..=many).map(|number| note(number, "", "In the Year of the Pig")).collect();
    notes.push(note(many + 1, "Year", "One of many"));
    notes.push(note(many + 2, "Year of the Rat", "Another"));
    notes.push(note(many + 3, "", "It was the Year of the Rat"));
    let index = filled(&notes);
    let (common, rare, last) =
        (notes[notes.len() - 3].id, notes[notes.len() - 2].id, notes[notes.len() - 1].id);
    assert_eq!((index.mentioning(common).len(), index.mentioning(rare).len()), (0, 1));
    assert_eq!(index.mentioned_by(last), [rare]);
    let delete = |range: std::ops::Range<usize>| {
        let deltas: Vec<Delta> = notes[range].iter().map(|node| Delta::NodeDeleted(node.id)).collect();
        index.apply(2, &deltas).unwrap();
    };
    let remaining = MAX_BODIES - 1;
    delete(0..many as usize - remaining - 1);
    assert_eq!((index.mentioning(common).len(), index.mentioned_by(last).len()), (0, 1));
    delete(many as usize - remaining - 1..many as usize - remaining);
    assert_eq!((index.mentioning(common).len(), index.mentioned_by(last).len()), (MAX_BODIES, 2));
}

#[test]
fn a_title_of_too_many_notes_is_ignored() {
    let counts = |same_title: usize| {
        let mut notes: Vec<Node> = (1..=same_title as u64)
            .map(|number| note(number, "Meeting notes", &format!("Talk {number}")))
            .collect();
        notes.push(note(0, "", "See Meeting notes"));
        let index = filled(&notes);
        (
            index.mentioned_by(notes[same_title].id).len(),
            index.mentioning(notes[0].id).len(),
            index.in_text("Meeting notes?").len(),
        )
    };
    assert_eq!(counts(MAX_NOTES_PER_NAME), (MAX_NOTES_PER_NAME, 1, MAX_NOTES_PER_NAME));
    assert_eq!(counts(MAX_NOTES_PER_NAME + 1), (0, 0, 0));
}

#[test]
fn damaged_snapshots_are_not_loaded() {
    let directory = poc_graph::testing::folder();
    let index = open(directory.path());
    let notes: Vec<Node> = (0..20).map(|number| note(number, "Harbour", "In Lisbon")).collect();
    index.apply(5, &notes.iter().map(put).collect::<Vec<_>>()).unwrap();
    index.checkpoint().unwrap();
    let path = directory.path().join("snapshot");
    for_each_damage(&path, |damage| {
        let opened = open(directory.path());
        assert_eq!((opened.applied(), opened.in_text("The Harbour").len()), (0, 0), "damage {damage}");
    });
    assert_eq!(open(directory.path()).in_text("The Harbour").len(), 20);
    index.reset().unwrap();
    assert_eq!((index.applied(), open(directory.path()).applied()), (0, 0));
}

/// Prints the memory use of an index of many notes. Run it with `cargo test -p poc-index --release --lib
/// mentions::tests::memory_use_of_many_notes -- --ignored --nocapture`. `POC_MEMORY_NOTES` changes the number of notes
/// from 9,000.
#[test]
#[ignore = "a measurement"]
fn memory_use_of_many_notes() {
    use std::time::Instant;
    let many: u64 =
        std::env::var("POC_MEMORY_NOTES").ok().and_then(|text| text.parse().ok()).unwrap_or(9_000);
    // Words follow Zipf's law: ninety in a body, three in a title.
    let mut state = 7u64;
    let mut below = |max: f64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 11) as f64 / (1u64 << 53) as f64 * max.ln()).exp() as u64
    };
    let mut word = |first: bool| {
        let number = below(400_000.0);
        if first || number % 6 == 0 { format!("W{number:x}") } else { format!("w{number:x}") }
    };
    let notes: Vec<Delta> = (0..many)
        .map(|number| {
            let title: Vec<String> = (0..3).map(|at| word(at == 0)).collect();
            let body: Vec<String> = (0..90).map(|_| word(false)).collect();
            put(&note(number, &title.join(" "), &body.join(" ")))
        })
        .collect();
    let index = open(Path::new("/nonexistent"));
    let started = Instant::now();
    notes.iter().for_each(|delta| index.apply(1, std::slice::from_ref(delta)).unwrap());
    let insertion = started.elapsed();
    let started = Instant::now();
    let bytes = snapshot::encode(&index.0.read()).unwrap();
    let (encoded, saved) = (started.elapsed(), bytes.len());
    let started = Instant::now();
    snapshot::decode(bytes).unwrap();
    let decoded = started.elapsed();
    let ids: Vec<NodeId> = (0..many).map(|number| testing::node(number).id).collect();
    let started = Instant::now();
    let edges: usize = ids.iter().map(|id| index.mentioned_by(*id).len()).sum();
    let from = started.elapsed();
    let sampled = ids.len().min(9_000);
    let started = Instant::now();
    let back: usize = ids[..sampled].iter().map(|id| index.mentioning(*id).len()).sum();
    let to = started.elapsed();
    println!(
        "{many} notes: {:.1} us an insert, {edges} mentions; from {:.1} us, to {:.1} us ({back}); saved {} bytes a note in {encoded:?}, read in {decoded:?}; in memory {} bytes a note",
        insertion.as_secs_f64() * 1e6 / many as f64,
        from.as_secs_f64() * 1e6 / many as f64,
        to.as_secs_f64() * 1e6 / sampled as f64,
        saved as u64 / many,
        index.0.read().bytes() as u64 / many,
    );
}
