//! `retrieve` in process beside its own parts (embedding the question, the nearest vectors, the best by
//! words, mentions of the best and in the question, names in common with the best) and beside SQLite with FTS5 and sqlite-vec on the same
//! notes, vectors and questions.
//!
//! `cargo bench -p poc-bench --bench retrieve [-- NOTES …]`

#![allow(missing_docs, clippy::unwrap_used, clippy::indexing_slicing, reason = "a bench")]

use poc_bench::measure::{Line, Report, asked, by_turns, once, percentile};
use poc_bench::memory;
use poc_bench::notes::{self, Text, Writer};
use poc_bench::sqlite_vec::{self, Answer};
use poc_graph::{NodeId, Visibility};
use poc_notes::Memory;
use std::hint::black_box;

const SEED: u64 = 7;
const SECONDS: f64 = 3.0;
const QUESTIONS: usize = 50;

/// Notes an answer has, and those a list names before lists are fused.
const WANTED: usize = 10;
const DEPTH: usize = 50;

fn main() {
    let mut report = Report::new("retrieve");
    for count in asked().sizes {
        let writer = Writer::new(SEED);
        let notes: Vec<Text> = (0..count).map(|_| writer.note()).collect();
        let questions: Vec<String> = (0..QUESTIONS).map(|_| writer.question()).collect();
        let folder = tempfile::tempdir().unwrap();
        let memory = memory::open(folder.path());
        notes::store(&memory, &notes);
        retrieving(&memory, &notes, &questions, &mut report);
    }
    report.save();
}

fn retrieving(memory: &Memory, notes: &[Text], questions: &[String], report: &mut Report) {
    let view = memory.store.view();
    let (retriever, visibility) = (memory.retriever(&view), Visibility::of_person(memory.now()));
    let vectors: Vec<Vec<f32>> =
        questions.iter().map(|text| memory.embedder.embed_one(text).unwrap()).collect();
    let scores = &memory.config.retrieve.scores;
    let best: Vec<Vec<NodeId>> = questions
        .iter()
        .map(|text| {
            retriever.find(text, scores.mention_from, visibility).unwrap().hits.iter().map(|hit| hit.id).collect()
        })
        .collect();
    let embed = |text: &str| black_box(memory.embedder.embed_one(text).unwrap());
    let search = |vector: &[f32]| black_box(memory.vectors.search(vector, DEPTH, &|_| true).unwrap());
    let matching = |text: &str| black_box(memory.text.search_all(text, DEPTH));
    let mentions = |text: &str, best: &[NodeId]| {
        black_box(memory.mentions.in_text(text));
        let first = &best[..best.len().min(scores.shared_from)];
        black_box(memory.mentions.sharing_names(first, scores.shared_by, text));
        best.iter().for_each(|&id| _ = black_box((memory.mentions.mentioned_by(id), memory.mentions.mentioning(id))));
    };
    let asked = || questions.iter().zip(&vectors).zip(&best);
    let [ours, parts, embedding, nearest, matched, mentioned] = by_turns(
        SECONDS,
        [
            &mut || {
                for text in questions {
                    black_box(retriever.find(text, WANTED, visibility).unwrap());
                }
            },
            // One after another, as a question needs them: what one reads is what the next finds cold.
            &mut || {
                for ((text, vector), best) in asked() {
                    embed(text);
                    search(vector);
                    matching(text);
                    mentions(text, best);
                }
            },
            &mut || questions.iter().for_each(|text| _ = embed(text)),
            &mut || vectors.iter().for_each(|vector| _ = search(vector)),
            &mut || questions.iter().for_each(|text| _ = matching(text)),
            &mut || asked().for_each(|((text, _), best)| mentions(text, best)),
        ],
    )
    .map(|seconds| seconds / questions.len() as f64);
    for (part, seconds) in [
        ("embedding", embedding),
        ("nearest vectors", nearest),
        ("best by words", matched),
        ("mentions, names in common", mentioned),
        ("the four one after another", parts),
    ] {
        report.add(Line::time(part, notes.len(), seconds));
    }
    let one_by_one = || questions.iter().map(|text| once(|| retriever.find(text, WANTED, visibility).unwrap()).0);
    let times: Vec<f64> = (0..10).flat_map(|_| one_by_one()).collect();
    for (name, share) in [("retrieve, p50", 0.5), ("retrieve, p99", 0.99)] {
        report.add(Line::time(name, notes.len(), percentile(times.clone(), share)));
    }
    let line = Line::time("retrieve", notes.len(), ours);
    let alone = embedding + nearest + matched + mentioned;
    report.add(line.clone().beside("its parts, each by itself", Some(alone)));
    report.add(line.clone().beside("its parts, one after another", Some(parts)).at_most(1.3));
    let theirs = sqlite_vec::ask(memory, notes, questions, &vectors);
    if let Some(Answer { holding, nearest, .. }) = &theirs {
        agree(memory, questions, &vectors, holding, nearest);
    }
    let theirs = theirs.map(|answer| answer.seconds);
    report.add(line.beside("FTS5 + sqlite-vec", theirs).faster(3.0).note("SQLite is given the vectors"));
}

/// As many notes hold a word of each question, and the nearest notes are as near, as far as vectors in
/// eight bits tell.
fn agree(
    memory: &Memory,
    questions: &[String],
    vectors: &[Vec<f32>],
    holding: &[usize],
    nearest: &[Vec<f64>],
) {
    for ((text, vector), (holding, nearest)) in questions.iter().zip(vectors).zip(holding.iter().zip(nearest))
    {
        assert_eq!(memory.text.scores(text).hits().count(), *holding, "{text}");
        let ours = memory.vectors.search(vector, WANTED, &|_| true).unwrap();
        assert_eq!(ours.len(), nearest.len(), "{text}");
        for (hit, theirs) in ours.iter().zip(nearest) {
            assert!((hit.cosine - theirs).abs() < 0.01, "{text}: {} and {theirs}", hit.cosine);
        }
    }
}
