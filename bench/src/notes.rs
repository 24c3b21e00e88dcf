//! Notes and questions generated from a seed, for benches that read texts.
//!
//! Words are drawn by Zipf's law, half of them from the topic of the note and half from all words, so that questions
//! contain both common and rare words. Words are syllables that end in a vowel, which stemmers and other tokenizers
//! leave unchanged: all sides of a bench see the same words.

use poc_graph::rng::{Rng, SeededRng};
use poc_graph::time::Timestamp;
use poc_graph::{
    Category, Edge, EdgeKind, Node, NodeId, NodeType, Origin, State, Tenant, Trust, content_hash, provenance,
};
use poc_notes::Memory;
use poc_store::Store;

/// The numbers of words, of topics, and of words in a topic.
const WORDS: usize = 20_000;
const TOPICS: u64 = 400;
const WORDS_PER_TOPIC: usize = 60;

/// The numbers of words in a title, a body and a question.
const TITLE_WORDS: usize = 4;
const BODY_WORDS: usize = 60;
const QUESTION_WORDS: usize = 6;

/// The number of names, and the number of names in a note. Among 13,000 notes, thirteen contain the same name.
const NAMES: u64 = 4_000;
const NAMES_PER_NOTE: usize = 4;

/// A generator of notes and questions.
pub struct Writer {
    rng: SeededRng,
    // Cumulative sums of 1 / rank, to draw ranks by Zipf's law.
    sums: Vec<f64>,
}

/// The text of a note.
#[derive(Clone, Debug)]
pub struct NoteText {
    /// Its title.
    pub title: String,
    /// Its body.
    pub body: String,
}

impl Writer {
    /// The writer for a seed.
    pub fn new(seed: u64) -> Writer {
        let sums = (1..=WORDS).scan(0.0, |sum, rank| {
            *sum += 1.0 / rank as f64;
            Some(*sum)
        });
        Writer { rng: SeededRng::new(seed), sums: sums.collect() }
    }

    /// The next note.
    pub fn note(&self) -> NoteText {
        let topic = self.rng.next_u64() % TOPICS;
        let names: Vec<String> = (0..NAMES_PER_NOTE).map(|_| self.name()).collect();
        let body = format!("{} {}.", self.words(topic, BODY_WORDS), names.join(" "));
        NoteText { title: self.words(topic, TITLE_WORDS), body }
    }

    /// A capitalised word that is used only as a name.
    fn name(&self) -> String {
        let word = word(WORDS + TOPICS as usize * WORDS_PER_TOPIC + (self.rng.next_u64() % NAMES) as usize);
        let (first, rest) = word.split_at(1);
        first.to_uppercase() + rest
    }

    /// The next question, about some topic.
    pub fn question(&self) -> String {
        self.words(self.rng.next_u64() % TOPICS, QUESTION_WORDS)
    }

    fn words(&self, topic: u64, count: usize) -> String {
        let words = (0..count).map(|at| match at % 2 {
            0 => word(self.rank(WORDS)),
            _ => word(WORDS + topic as usize * WORDS_PER_TOPIC + self.rank(WORDS_PER_TOPIC)),
        });
        words.collect::<Vec<_>>().join(" ")
    }

    /// A rank below `among`, counted from 0, by Zipf's law.
    fn rank(&self, among: usize) -> usize {
        let sums = &self.sums[..among];
        let drawn = self.rng.next_u64() as f64 / u64::MAX as f64 * sums[among - 1];
        sums.partition_point(|&sum| sum < drawn).min(among - 1)
    }
}

/// The word of a number: three syllables.
fn word(number: usize) -> String {
    const CONSONANTS: &[u8] = b"bcdfghjklmnprstvz";
    const VOWELS: &[u8] = b"aou";
    let syllables = CONSONANTS.len() * VOWELS.len();
    // Adjacent numbers give dissimilar words: the step is coprime to the number of words.
    let mut rest = number * 7919 % syllables.pow(3);
    let mut word = String::new();
    for _ in 0..3 {
        let syllable = rest % syllables;
        rest /= syllables;
        word.push(CONSONANTS[syllable / VOWELS.len()] as char);
        word.push(VOWELS[syllable % VOWELS.len()] as char);
    }
    word
}

/// Size of the vocabulary from which common keywords are taken.
const KEYWORDS: usize = 300;
/// Notes that have the same rare keyword.
pub const NOTES_PER_RARE_KEYWORD: usize = 10;

/// A note of 75 words.
pub fn long_note(writer: &Writer) -> NoteText {
    let NoteText { title, body } = writer.note();
    NoteText { title, body: format!("{body} {} Stop.", writer.question()) }
}

/// Notes of 75 words as JSON Lines, each with a number in its title. Without bodies they consist of their titles.
/// `keywords` takes the number of a note.
pub fn lines(count: usize, with_body: bool, keywords: impl Fn(usize) -> Vec<String>) -> String {
    let writer = Writer::new(5);
    let line = |number| {
        let NoteText { title, body } = long_note(&writer);
        let body = if with_body { body } else { String::new() };
        serde_json::json!({"title": format!("{title} {number}"), "text": body, "keywords": keywords(number)})
            .to_string()
            + "\n"
    };
    (0..count).map(line).collect()
}

/// The two keywords of a note: one of a fixed number of keywords, and a rare one.
pub fn two_keywords(number: usize) -> Vec<String> {
    vec![format!("topic {}", number * 7919 % KEYWORDS), rare_keyword(number / NOTES_PER_RARE_KEYWORD)]
}

/// A keyword that ten notes have.
pub fn rare_keyword(number: usize) -> String {
    format!("rare {number}")
}

/// Every how many notes one is derived from others, and from how many.
const DERIVED_STEP: usize = 10;
const SOURCES: usize = 3;

/// Stores notes with their vectors and without edges: the similarity of invented words means nothing. Returns their
/// ids. Those that [`connect`] derives from others are notes of an agent.
pub fn store(memory: &Memory, notes: &[NoteText]) -> Vec<NodeId> {
    store_in(&memory.store, memory, notes)
}

/// Like [`store`], in a store that may be another than that of the memory, which gives ids and vectors.
pub fn store_in(store: &Store, memory: &Memory, notes: &[NoteText]) -> Vec<NodeId> {
    let mut ids = Vec::with_capacity(notes.len());
    for chunk in notes.chunks(200) {
        let texts: Vec<String> = chunk
            .iter()
            .flat_map(|note| [note.title.clone(), format!("{}. {}", note.title, note.body)])
            .collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let vectors = memory.embedder.embed(&texts).unwrap();
        let written = store.transact(memory.cause("manual", "import"), |tx| {
            let mut ids = Vec::with_capacity(chunk.len());
            for (at, (note, parts)) in chunk.iter().zip(vectors.chunks(2)).enumerate() {
                let id = memory.new_node_id();
                let mut node = Node { tenant: store.tenant(), ..node(id, note, memory.now()) };
                if at % DERIVED_STEP == 0 {
                    node.provenance = provenance::of_agent("facts");
                }
                tx.put_node(&node)?;
                tx.put_vectors(id, memory.embedder.name(), parts)?;
                ids.push(id);
            }
            Ok(ids)
        });
        ids.extend(written.unwrap().value);
    }
    ids
}

/// Adds `links` links between notes drawn by chance, and makes every tenth note derived from three others.
pub fn connect(memory: &Memory, ids: &[NodeId], links: usize, seed: u64) {
    connect_in(&memory.store, memory, ids, links, seed);
}

/// Like [`connect`], in a store that may be another than that of the memory, which gives the time.
pub fn connect_in(store: &Store, memory: &Memory, ids: &[NodeId], links: usize, seed: u64) {
    let rng = SeededRng::new(seed);
    let draw = || ids[(rng.next_u64() % ids.len() as u64) as usize];
    let edge = |src, dst, kind| Edge {
        src,
        dst,
        kind,
        strength: 0.5,
        created: memory.now(),
        touched: memory.now(),
        provenance: "manual".into(),
        reason: String::new(),
    };
    let derived = ids.iter().step_by(DERIVED_STEP);
    let edges: Vec<Edge> = (0..links)
        .map(|_| edge(draw(), draw(), EdgeKind::Link))
        .chain(
            derived
                .flat_map(|&id| std::iter::repeat_n(id, SOURCES))
                .map(|id| edge(id, draw(), EdgeKind::DerivedFrom)),
        )
        .filter(|edge| edge.src != edge.dst)
        .collect();
    for chunk in edges.chunks(2000) {
        let written = store.transact(memory.cause("manual", "link"), |tx| {
            chunk.iter().try_for_each(|edge| tx.put_edge(edge))
        });
        written.unwrap();
    }
}

/// The node of a note whose key is its id.
pub fn node(id: NodeId, note: &NoteText, now: Timestamp) -> Node {
    let NoteText { title, body } = note.clone();
    Node {
        id,
        tenant: Tenant::default(),
        key: id.to_string(),
        content_hash: content_hash(&title, &body, &[]),
        title,
        body,
        node_type: NodeType("semantic".into()),
        category: Category::General,
        keywords: Vec::new(),
        provenance: "import:notes".into(),
        trust: Trust::User,
        author: None,
        source: None,
        emotion: 0.0,
        created: now,
        modified: now,
        expires: None,
        state: State::Active,
        origin: Origin::Local,
        version: 1,
        aliases: Vec::new(),
        other_names: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn words_are_distinct_and_follow_zipfs_law() {
        let last = WORDS + TOPICS as usize * WORDS_PER_TOPIC + NAMES as usize;
        assert_eq!((0..last).map(word).collect::<BTreeSet<_>>().len(), last);
        let writer = Writer::new(7);
        let ranks: Vec<usize> = (0..10_000).map(|_| writer.rank(WORDS)).collect();
        let first = ranks.iter().filter(|&&rank| rank == 0).count();
        // 1 / H(20,000) = 0.095.
        assert!((850..1050).contains(&first), "{first}");
    }

    #[test]
    fn a_seed_gives_the_same_notes() {
        let two = || (Writer::new(3), Writer::new(3));
        let (one, other) = two();
        assert_eq!(one.note().body, other.note().body);
        assert_ne!(one.note().body, one.note().body);
    }
}
