//! Import, compared with each of its parts alone on the same notes in the same run: embedding, vector index (exact and
//! HNSW), text index, mentions, and appends to the log with a sync each.
//!
//! Notes come from a folder as for `poc-memory eval`, because the number of edges depends on how much real notes have in
//! common. Environment variables choose the embedder, for example `POC_MEMORY__EMBEDDER__KIND=candle` with
//! `POC_MEMORY__EMBEDDER__MODEL=FOLDER`.
//!
//! `cargo bench -p poc-bench --bench ingest -- FOLDER …`

#![allow(
    missing_docs,
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a bench"
)]

use poc_bench::measure::{Measurement, Report, arguments, timed};
use poc_bench::memory;
use poc_config::{Config, VectorsConfig};
use poc_graph::{Delta, Node, NodeId};
use poc_index::{Index, MentionIndex, TextIndex, VectorIndex};
use poc_notes::Memory;
use poc_notes::import::{ImportOptions, ImportSource, import};
use std::fs::File;
use std::hint::black_box;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

fn main() {
    let sets = arguments().sets;
    if sets.is_empty() {
        println!("no folder with a `docs.jsonl` is named: `just bench ingest FOLDER`");
        return;
    }
    let mut report = Report::new("ingest");
    for set in sets {
        let folder = tempfile::tempdir().unwrap();
        // The file does not exist: these are the defaults with the environment's settings.
        let config = Config::load(&folder.path().join("config.toml")).unwrap();
        let memory = memory::open_with(folder.path(), config);
        let source = ImportSource::Path(set.join("docs.jsonl"));
        let (ours, done) = timed(|| import(&memory, &source, &ImportOptions::default(), &|_, _| {}).unwrap());
        let count = done.inserted as usize;

        let parts = parts(&memory);
        let (slowest, most) = parts.iter().copied().max_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
        for (part, seconds) in parts {
            report.add(Measurement::time(part, count, seconds));
        }
        let rate = format!(
            "{:.0} notes a second, {} edges, {}",
            count as f64 / ours,
            done.keyword_edges + done.semantic_edges,
            memory.embedder.name()
        );
        // An import may take twice as long as its slowest part.
        report.add(
            Measurement::time("import", count, ours).beside(slowest, Some(most)).at_most(2.0).note(rate),
        );
    }
    report.save();
}

/// The seconds of each part alone.
fn parts(memory: &Memory) -> Vec<(&'static str, f64)> {
    let batch = memory.config.import.chunk;
    let view = memory.store.view();
    let ids: Vec<NodeId> = (0..view.slots()).filter_map(|ix| view.id(ix)).collect();
    let nodes: Vec<Arc<Node>> =
        ids.iter().map(|&id| Arc::new(memory.store.node(id).unwrap().unwrap())).collect();
    let titled: Vec<[String; 2]> =
        nodes.iter().map(|node| [node.title.clone(), format!("{}. {}", node.title, node.body)]).collect();
    let (embedded, ()) = timed(|| {
        for texts in titled.chunks(batch) {
            let texts: Vec<&str> = texts.iter().flatten().map(String::as_str).collect();
            black_box(memory.embedder.embed(&texts).unwrap());
        }
    });
    let texts: Vec<Delta> = nodes.iter().map(|node| Delta::Node(node.clone())).collect();
    let name = memory.embedder.name();
    let parts: Vec<Delta> = ids
        .iter()
        .flat_map(|&id| {
            (0..).zip(memory.store.vectors(id, name).unwrap()).map(move |(part, vector)| (id, part, vector))
        })
        .map(|(id, part, vector)| Delta::Vector(id, part, vector.into()))
        .collect();

    let config = &memory.config;
    let folder = tempfile::tempdir().unwrap();
    let vectors = |name: &str, exact_below| {
        let config = VectorsConfig { exact_below, ..config.vectors.clone() };
        let (name, length) = (folder.path().join(name), memory.embedder.dimensions());
        let index = VectorIndex::open(&name, &config, memory.embedder.name(), length).unwrap();
        // Vectors without their note are not searched.
        fed(&index, &texts, batch);
        fed(&index, &parts, batch)
    };
    let text = TextIndex::open(&folder.path().join("text"), &config.text).unwrap();
    let mentions = MentionIndex::closed(&folder.path().join("mentions"));
    vec![
        ("embedding", embedded),
        ("vectors, exact", vectors("exact", usize::MAX)),
        ("vectors, HNSW", vectors("hnsw", 0)),
        ("text index", fed(&text, &texts, batch)),
        ("mentions", fed(&mentions, &texts, batch)),
        ("log", logged(&memory.paths.store().join("log"), nodes.len().div_ceil(batch))),
    ]
}

fn fed(index: &impl Index, deltas: &[Delta], batch: usize) -> f64 {
    let feed = || (1..).zip(deltas.chunks(batch)).for_each(|(seq, deltas)| index.apply(seq, deltas).unwrap());
    timed(feed).0
}

/// Writes as many bytes as the log has in the given number of appends.
fn logged(log: &Path, appends: usize) -> f64 {
    let sizes = log.read_dir().unwrap().map(|entry| entry.unwrap().metadata().unwrap().len());
    let bytes = vec![7u8; (sizes.sum::<u64>() as usize).div_ceil(appends)];
    let folder = tempfile::tempdir_in(log).unwrap();
    let mut file = File::create(folder.path().join("appended")).unwrap();
    timed(|| {
        for _ in 0..appends {
            file.write_all(&bytes).unwrap();
            file.sync_data().unwrap();
        }
    })
    .0
}
