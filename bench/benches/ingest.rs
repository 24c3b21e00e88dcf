//! Taking notes in: an import with the embedder of the settings, beside each of its parts alone on the
//! same notes in the same run: embedding, vector index (exact and HNSW), text index, mentions, and the
//! log's appends with a sync each.
//!
//! `cargo bench -p poc-bench --bench ingest [-- NOTES …]`

#![allow(missing_docs, clippy::unwrap_used, clippy::indexing_slicing, reason = "a bench")]

use poc_bench::measure::{Line, Report, asked, once};
use poc_bench::memory;
use poc_bench::notes::{Text, Writer, lines};
use poc_memory::config::{Config, Vectors};
use poc_memory::graph::{Delta, NodeId};
use poc_memory::index::{Index, MentionIndex, TextIndex, VectorIndex};
use poc_memory::memory::Memory;
use poc_memory::memory::import::{Options, Source, import};
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

const SEED: u64 = 7;

/// Deltas an index is given at once, as many notes as an import stores in one transaction.
const BATCH: usize = 32;

fn main() {
    let mut report = Report::new("ingest");
    for count in asked().sizes {
        let writer = Writer::new(SEED);
        let notes: Vec<Text> = (0..count).map(|_| writer.note()).collect();
        let folder = tempfile::tempdir().unwrap();
        let memory = memory::open(folder.path());
        let source = Source::Text(lines(&notes));
        let (ours, done) = once(|| import(&memory, &source, &Options::default(), &|_, _| {}).unwrap());
        assert_eq!((done.inserted as usize, done.failed.len()), (count, 0));

        let parts = parts(&memory, &notes);
        let (slowest, most) = parts.iter().copied().max_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
        for (part, seconds) in parts {
            report.add(Line::time(part, count, seconds));
        }
        let rate = format!("{:.0} notes a second, {} ties", count as f64 / ours, done.semantic_edges);
        // Half the speed of the slowest part alone.
        report.add(Line::time("import", count, ours).beside(slowest, Some(most)).at_most(2.0).note(rate));
    }
    report.save();
}

/// Seconds of each part alone.
fn parts(memory: &Memory, notes: &[Text]) -> Vec<(&'static str, f64)> {
    let (embedded, vectors) = once(|| {
        let texts: Vec<&str> = notes.iter().flat_map(|note| [note.title.as_str(), &note.body]).collect();
        texts.chunks(2 * BATCH).flat_map(|texts| memory.embedder.embed(texts).unwrap()).collect::<Vec<_>>()
    });
    let view = memory.store.view();
    let ids: Vec<NodeId> = (0..view.slots()).filter_map(|ix| view.id(ix)).collect();
    let texts: Vec<Delta> =
        ids.iter().map(|&id| Delta::Node(Arc::new(memory.store.node(id).unwrap().unwrap()))).collect();
    let parts: Vec<Delta> = ids
        .iter()
        .zip(vectors.chunks(2))
        .flat_map(|(&id, parts)| [(id, 0, &parts[0]), (id, 1, &parts[1])])
        .map(|(id, part, vector)| Delta::Vector(id, part, vector.as_slice().into()))
        .collect();

    let config = Config::defaults().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let vectors = |name: &str, exact_below| {
        let config = Vectors { exact_below, ..config.vectors.clone() };
        let (name, length) = (folder.path().join(name), memory.embedder.dimensions());
        let index = VectorIndex::open(&name, &config, memory.embedder.name(), length).unwrap();
        // A vector is searched once its note is there.
        fed(&index, &texts);
        fed(&index, &parts)
    };
    let text = TextIndex::open(&folder.path().join("text"), &config.text).unwrap();
    let mentions = MentionIndex::closed(&folder.path().join("mentions"));
    vec![
        ("embedding", embedded),
        ("vectors, exact", vectors("exact", usize::MAX)),
        ("vectors, HNSW", vectors("hnsw", 0)),
        ("text index", fed(&text, &texts)),
        ("mentions", fed(&mentions, &texts)),
        ("log", logged(&memory.paths.store().join("log"), notes.len().div_ceil(BATCH))),
    ]
}

fn fed(index: &impl Index, deltas: &[Delta]) -> f64 {
    let feed = || (1..).zip(deltas.chunks(BATCH)).for_each(|(seq, deltas)| index.apply(seq, deltas).unwrap());
    once(feed).0
}

/// As many bytes as the log has, in so many appends.
fn logged(log: &Path, appends: usize) -> f64 {
    let sizes = log.read_dir().unwrap().map(|entry| entry.unwrap().metadata().unwrap().len());
    let bytes = vec![7u8; (sizes.sum::<u64>() as usize).div_ceil(appends)];
    let folder = tempfile::tempdir_in(log).unwrap();
    let mut file = File::create(folder.path().join("appended")).unwrap();
    once(|| {
        for _ in 0..appends {
            file.write_all(&bytes).unwrap();
            file.sync_data().unwrap();
        }
    })
    .0
}
