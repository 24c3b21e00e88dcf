//! `retrieve` in process, compared with its own parts (embedding the question, vector search, text search, mentions and
//! shared names) and with SQLite with FTS5 and sqlite-vec on the same notes, vectors and questions. The store has
//! 100,000 links, and every tenth note is derived from others.
//!
//! `cargo bench -p poc-bench --bench retrieve [-- NOTES …]`

#![allow(missing_docs, clippy::unwrap_used, clippy::indexing_slicing, reason = "a bench")]

use poc_bench::measure::{Measurement, Report, arguments, interleaved_medians, percentile, timed};
use poc_bench::memory;
use poc_bench::notes::{self, NoteText, Writer};
use poc_bench::sqlite_vec::{self, SqliteVecResult};
use poc_graph::{NodeId, Visibility};
use poc_notes::Memory;
use std::hint::black_box;

const SEED: u64 = 7;
const SECONDS: f64 = 3.0;
const QUESTIONS: usize = 50;

/// The number of links in the store.
const LINKS: usize = 100_000;

/// The number of notes in an answer, and in each list before fusion.
const WANTED: usize = 10;
const DEPTH: usize = 50;

fn main() {
    let mut report = Report::new("retrieve");
    for count in arguments().sizes {
        let writer = Writer::new(SEED);
        let notes: Vec<NoteText> = (0..count).map(|_| writer.note()).collect();
        let questions: Vec<String> = (0..QUESTIONS).map(|_| writer.question()).collect();
        let folder = tempfile::tempdir().unwrap();
        let memory = memory::open(folder.path());
        let ids = notes::store(&memory, &notes);
        notes::connect(&memory, &ids, LINKS, SEED);
        retrieving(&memory, &notes, &questions, &mut report);
    }
    report.save();
}

fn retrieving(memory: &Memory, notes: &[NoteText], questions: &[String], report: &mut Report) {
    let view = memory.store.view();
    let (retriever, visibility) = (memory.retriever(&view), Visibility::of_person(memory.now()));
    let vectors: Vec<Vec<f32>> =
        questions.iter().map(|text| memory.embedder.embed_one(text).unwrap()).collect();
    let scores = &memory.config.retrieve.scores;
    let best: Vec<Vec<NodeId>> = questions
        .iter()
        .map(|text| {
            retriever
                .find(text, scores.mention_from, visibility)
                .unwrap()
                .hits
                .iter()
                .map(|hit| hit.id)
                .collect()
        })
        .collect();
    let embed = |text: &str| black_box(memory.embedder.embed_one(text).unwrap());
    let search = |vector: &[f32]| black_box(memory.vectors.search(vector, DEPTH, &|_| true).unwrap());
    let matching = |text: &str| black_box(memory.text.search_all(text, DEPTH));
    let mentions = |text: &str, best: &[NodeId]| {
        black_box(memory.mentions.in_text(text));
        let first = &best[..best.len().min(scores.shared_from)];
        black_box(memory.mentions.sharing_names(first, scores.shared_by, text));
        best.iter().for_each(|&id| {
            _ = black_box((memory.mentions.mentioned_by(id), memory.mentions.mentioning(id)))
        });
    };
    let asked = || questions.iter().zip(&vectors).zip(&best);
    let [ours, parts, embedding, nearest, matched, mentioned] = interleaved_medians(
        SECONDS,
        [
            &mut || {
                for text in questions {
                    black_box(retriever.find(text, WANTED, visibility).unwrap());
                }
            },
            // One after another for each question, so that each part finds the CPU caches as the part before left them.
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
        report.add(Measurement::time(part, notes.len(), seconds));
    }
    let one_by_one =
        || questions.iter().map(|text| timed(|| retriever.find(text, WANTED, visibility).unwrap()).0);
    let times: Vec<f64> = (0..10).flat_map(|_| one_by_one()).collect();
    for (name, share) in [("retrieve, p50", 0.5), ("retrieve, p99", 0.99)] {
        report.add(Measurement::time(name, notes.len(), percentile(times.clone(), share)));
    }
    let line = Measurement::time("retrieve", notes.len(), ours);
    let alone = embedding + nearest + matched + mentioned;
    report.add(line.clone().with_peer("its parts, each by itself", Some(alone)));
    report.add(line.clone().with_peer("its parts, one after another", Some(parts)).at_most(1.3));
    let theirs = sqlite_vec::ask(memory, notes, questions, &vectors);
    if let Some(SqliteVecResult { holding, nearest, .. }) = &theirs {
        agree(memory, questions, &vectors, holding, nearest);
    }
    let theirs = theirs.map(|answer| answer.seconds);
    report.add(line.with_peer("FTS5 + sqlite-vec", theirs).faster(3.0).note("SQLite is given the vectors"));
}

/// Checks that the same number of notes contain a word of each question, and that the nearest notes have the same
/// cosines, up to the error of 8-bit vectors.
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
