//! Notes and questions made from a seed, for what reads texts.
//!
//! Words are drawn by Zipf's law, half of a note's from its topic and half from all: questions hold words
//! that many notes hold and words that few hold. A word is syllables that end in a vowel, which a stemmer
//! and another tokenizer leave as they are: every side of a bench sees the same words.

use poc_graph::rng::{Rng, SeededRng};
use poc_graph::time::Timestamp;
use poc_graph::{Category, Node, NodeId, NodeType, Origin, State, Tenant, Trust, content_hash};
use poc_notes::Memory;

/// Words there are, topics, and words of a topic.
const WORDS: usize = 20_000;
const TOPICS: u64 = 400;
const OF_TOPIC: usize = 60;

/// Words of a title, of a body, and of a question.
const TITLE: usize = 4;
const BODY: usize = 60;
const QUESTION: usize = 6;

/// Names that notes speak of, and how many a note does: at 13,000 notes a name ties thirteen.
const NAMES: u64 = 4_000;
const OF_NOTE: usize = 4;

/// Words by their frequency, and the dice.
pub struct Writer {
    dice: SeededRng,
    // Sums of 1 / rank, to draw a rank by.
    sums: Vec<f64>,
}

/// A note.
#[derive(Clone, Debug)]
pub struct Text {
    /// Its title.
    pub title: String,
    /// Its body.
    pub body: String,
}

impl Writer {
    /// The writer that belongs to a seed.
    pub fn new(seed: u64) -> Writer {
        let sums = (1..=WORDS).scan(0.0, |sum, rank| {
            *sum += 1.0 / rank as f64;
            Some(*sum)
        });
        Writer { dice: SeededRng::new(seed), sums: sums.collect() }
    }

    /// The next note.
    pub fn note(&self) -> Text {
        let topic = self.dice.next_u64() % TOPICS;
        let names: Vec<String> = (0..OF_NOTE).map(|_| self.name()).collect();
        let body = format!("{} {}.", self.words(topic, BODY), names.join(" "));
        Text { title: self.words(topic, TITLE), body }
    }

    /// A word with a capital that is nothing else.
    fn name(&self) -> String {
        let word = word(WORDS + TOPICS as usize * OF_TOPIC + (self.dice.next_u64() % NAMES) as usize);
        let (first, rest) = word.split_at(1);
        first.to_uppercase() + rest
    }

    /// The next question, about some topic.
    pub fn question(&self) -> String {
        self.words(self.dice.next_u64() % TOPICS, QUESTION)
    }

    fn words(&self, topic: u64, count: usize) -> String {
        let words = (0..count).map(|at| match at % 2 {
            0 => word(self.rank(WORDS)),
            _ => word(WORDS + topic as usize * OF_TOPIC + self.rank(OF_TOPIC)),
        });
        words.collect::<Vec<_>>().join(" ")
    }

    /// A rank from 0 among the first so many, the n-th half as likely as the one at n / 2.
    fn rank(&self, among: usize) -> usize {
        let sums = &self.sums[..among];
        let drawn = self.dice.next_u64() as f64 / u64::MAX as f64 * sums[among - 1];
        sums.partition_point(|&sum| sum < drawn).min(among - 1)
    }
}

/// Three syllables for a number.
fn word(number: usize) -> String {
    const CONSONANTS: &[u8] = b"bcdfghjklmnprstvz";
    const VOWELS: &[u8] = b"aou";
    let syllables = CONSONANTS.len() * VOWELS.len();
    // Numbers side by side are words unlike each other: the step shares no factor with their count.
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

/// Stores notes with their vectors, without ties: words made up are all alike in meaning.
pub fn store(memory: &Memory, notes: &[Text]) {
    for chunk in notes.chunks(200) {
        let texts: Vec<String> = chunk
            .iter()
            .flat_map(|note| [note.title.clone(), format!("{}. {}", note.title, note.body)])
            .collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let vectors = memory.embedder.embed(&texts).unwrap();
        let written = memory.store.transact(memory.cause("manual", "import"), |tx| {
            for (note, parts) in chunk.iter().zip(vectors.chunks(2)) {
                let id = memory.new_node_id();
                tx.put_node(&node(id, note, memory.now()))?;
                tx.put_vectors(id, memory.embedder.name(), parts)?;
            }
            Ok(())
        });
        written.unwrap();
    }
}

fn node(id: NodeId, note: &Text, now: Timestamp) -> Node {
    let Text { title, body } = note.clone();
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
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn words_are_different_and_some_are_frequent() {
        let last = WORDS + TOPICS as usize * OF_TOPIC + NAMES as usize;
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
