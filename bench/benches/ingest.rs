//! The cost of imports and inserts.
//!
//! Generated notes of 75 words are imported at each size: without keywords, with two, with one keyword on every note,
//! with titles only, and with one text in every note. The figures are seconds of processor time of all threads, with
//! the embedding and closing the store, and the size of the files, both beside SQLite with FTS5 and sqlite-vec, which
//! stores the same notes and vectors. Single notes are inserted next, with up to four rare keywords, with a thousand
//! keywords, and with a body of a megabyte. In a memory of the smallest size, one client inserts beside appends of as
//! many bytes with a sync each, and 32 and 100 clients insert at once.
//!
//! Folders in the form that `poc-memory eval` takes are imported. In the same run, each part of an import is measured
//! alone on the same notes: embedding, vector index (exact and HNSW), text index, mentions, and appends to the log with
//! a sync each. The number of edges depends on how much real notes have in common.
//!
//! Environment variables choose the embedder, for example `POC_MEMORY__EMBEDDER__KIND=candle` with
//! `POC_MEMORY__EMBEDDER__MODEL=FOLDER`.
//!
//! `cargo bench -p poc-bench --bench ingest -- NODES … FOLDER …`

#![allow(
    missing_docs,
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a bench"
)]

use poc_bench::measure::{
    Measurement, Report, arguments, interleaved_medians, median, processor_seconds, timed,
};
use poc_bench::memory;
use poc_bench::notes::{
    NOTES_PER_RARE_KEYWORD, NoteText, Writer, lines, long_note, rare_keyword, two_keywords,
};
use poc_bench::sqlite_vec;
use poc_config::{Config, VectorsConfig};
use poc_graph::{Delta, Node, NodeId, Trust};
use poc_index::{Index, MentionIndex, TextIndex, VectorIndex};
use poc_notes::import::{ImportOptions, ImportSource, import};
use poc_notes::{Draft, Memory, insert};
use std::cell::Cell;
use std::fs::File;
use std::hint::black_box;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn main() {
    let named = std::env::args().skip(1).any(|argument| argument.parse::<usize>().is_ok());
    let arguments = arguments();
    let mut report = Report::new("ingest");
    let sizes = arguments.sizes;
    if named || arguments.sets.is_empty() {
        imports(&mut report, &sizes);
        inserts(&mut report, &sizes);
        durable(&mut report, sizes[0]);
    }
    for set in arguments.sets {
        import_set(&mut report, &set);
    }
    report.save();
}

fn open(folder: &Path) -> Memory {
    // The file does not exist: these are the defaults with the environment's settings.
    memory::open_with(folder, Config::load(&folder.join("config.toml")).unwrap())
}

/// The kind of import that has bounds.
const TWO_KEYWORDS: &str = "import, two keywords";

fn imports(report: &mut Report, sizes: &[usize]) {
    type Keywords = fn(usize) -> Vec<String>;
    let kinds: [(&str, bool, Keywords); 4] = [
        ("import without keywords", true, |_| Vec::new()),
        (TWO_KEYWORDS, true, two_keywords),
        ("import, a keyword on every note", true, |_| vec!["everywhere".into()]),
        ("import, titles only", false, |_| Vec::new()),
    ];
    for (kind, with_body, keywords) in kinds {
        for &count in sizes {
            let source = ImportSource::Text(lines(count, with_body, keywords));
            import_lines(report, kind, count, &source);
        }
        let exponent = report.last(kind).and_then(|line| line.exponent);
        if let Some(exponent) = exponent {
            let max = *sizes.iter().max().unwrap();
            let line = Measurement::amount(format!("{kind}: n to the power of"), max, exponent, "");
            report.add(line.within(1.1));
        }
    }
    for &count in sizes {
        import_lines(report, "import, one text in every note", count, &ImportSource::Text(same_text(count)));
    }
}

/// Notes that differ only in their keywords, so that all their cosines are 1.
fn same_text(count: usize) -> String {
    let NoteText { title, body } = long_note(&Writer::new(5));
    let line = |number| {
        let keywords = [rare_keyword(number)];
        serde_json::json!({"title": title, "text": body, "keywords": keywords}).to_string() + "\n"
    };
    (0..count).map(line).collect()
}

/// Imports notes into an empty memory, beside SQLite.
fn import_lines(report: &mut Report, kind: &str, count: usize, source: &ImportSource) {
    let folder = tempfile::tempdir().unwrap();
    let before = processor_seconds("self");
    let (wall, edges) = timed(|| {
        let memory = open(folder.path());
        let done = import(&memory, source, &ImportOptions::default(), &|_, _| {}).unwrap();
        assert_eq!(done.inserted as usize, count);
        done.keyword_edges + done.semantic_edges
    });
    let cpu = processor_seconds("self") - before;
    let disk = bytes_under(folder.path()) as f64 / 1e6;
    let theirs = sqlite_vec::fill(&open(folder.path()));
    let note = format!("processor time; {wall:.1} s in all, {edges} edges; SQLite is given the vectors");
    let line = Measurement::time(kind, count, cpu).note(note);
    let line = line.with_peer("FTS5 + sqlite-vec", theirs.map(|filling| filling.seconds));
    let files = Measurement::amount(format!("{kind}: files"), count, disk, "MB");
    let files = files.with_peer("FTS5 + sqlite-vec", theirs.map(|filling| filling.bytes / 1e6));
    if kind != TWO_KEYWORDS {
        report.add(line);
        report.add(files);
        return;
    }
    let of_ten_thousand = count as f64 / 10_000.0;
    // The bound at 100,000 notes allows for a growth of a little more than n.
    let seconds = if count <= 10_000 { 2.5 } else { 4.5 };
    report.add(line.within(seconds * of_ten_thousand));
    report.add(files.within(45.0 * of_ten_thousand));
}

fn bytes_under(folder: &Path) -> u64 {
    let entries = folder.read_dir().unwrap().map(|entry| entry.unwrap());
    let size = |path: PathBuf| match path.is_dir() {
        true => bytes_under(&path),
        false => path.metadata().map_or(0, |found| found.len()),
    };
    entries.map(|entry| size(entry.path())).sum()
}

fn inserts(report: &mut Report, sizes: &[usize]) {
    for &count in sizes {
        let folder = tempfile::tempdir().unwrap();
        let memory = open(folder.path());
        let source = ImportSource::Text(lines(count, true, two_keywords));
        import(&memory, &source, &ImportOptions::default(), &|_, _| {}).unwrap();
        let (writer, number) = (Writer::new(6), Cell::new(0));
        let store = |body: Option<String>, keywords: Vec<String>| {
            let NoteText { title, body: words } = long_note(&writer);
            let body = Some(body.unwrap_or(words));
            let (title, keywords) = (Some(title), Some(keywords));
            let draft = Draft { title, body, keywords, ..Draft::new("manual", Trust::User) };
            insert::insert(&memory, draft, memory.cause("manual", "insert")).unwrap();
        };
        let with = |keywords: usize| {
            let next = || {
                number.set(number.get() + 1);
                rare_keyword(number.get() * 31 % (count / NOTES_PER_RARE_KEYWORD))
            };
            store(None, (0..keywords).map(|_| next()).collect());
        };
        let works: [&mut dyn FnMut(); 4] =
            [&mut || with(0), &mut || with(1), &mut || with(2), &mut || with(4)];
        let [none, one, two, four] = interleaved_medians(4.0, works);
        report.add(Measurement::time("insert without keywords", count, none).within(4e-3));
        for (work, seconds) in [("one", one), ("two", two), ("four", four)] {
            let line = Measurement::time(format!("insert, {work} rare keywords"), count, seconds);
            report.add(line.with_peer("without keywords", Some(none)).at_most(1.3));
        }
        let [thousand, everywhere, megabyte] = interleaved_medians(
            4.0,
            [
                &mut || store(None, (0..1000).map(|word| format!("topic {word}")).collect()),
                &mut || store(None, vec!["topic 0".into()]),
                &mut || {
                    let mut body = String::new();
                    while body.len() < 1_000_000 {
                        body += &long_note(&writer).body;
                    }
                    store(Some(body), Vec::new());
                },
            ],
        );
        report.add(Measurement::time("insert, a thousand keywords", count, thousand));
        report.add(Measurement::time("insert, a common keyword", count, everywhere));
        report.add(Measurement::time("insert, a body of a megabyte", count, megabyte));
    }
}

/// Acknowledged inserts of one client and of many, beside what the disk can do.
fn durable(report: &mut Report, count: usize) {
    let folder = tempfile::tempdir().unwrap();
    let memory = open(folder.path());
    let source = ImportSource::Text(lines(count, true, two_keywords));
    import(&memory, &source, &ImportOptions::default(), &|_, _| {}).unwrap();
    let insert = |writer: &Writer| {
        let NoteText { title, body } = long_note(writer);
        let draft = Draft { title: Some(title), body: Some(body), ..Draft::new("manual", Trust::User) };
        insert::insert(&memory, draft, memory.cause("manual", "insert")).unwrap();
    };
    let writer = Writer::new(7);
    let before = memory.store.sizes().unwrap().log;
    (0..20).for_each(|_| insert(&writer));
    let bytes = vec![7u8; (memory.store.sizes().unwrap().log - before) as usize / 20];
    let mut file = File::create(folder.path().join("appended")).unwrap();
    let mut append = || {
        file.write_all(&bytes).unwrap();
        file.sync_data().unwrap();
    };
    let [one, appended] = interleaved_medians(6.0, [&mut || insert(&writer), &mut append]);
    let line = Measurement::time("insert, one client", count, one);
    report.add(line.with_peer("append + fdatasync", Some(appended)).at_most(2.0));
    for (clients, inserts) in [(32u64, 40), (100, 20)] {
        let (seconds, times) = timed(|| {
            std::thread::scope(|scope| {
                let insert = &insert;
                let client = |number| {
                    scope.spawn(move || {
                        let writer = Writer::new(100 + number);
                        (0..inserts).map(|_| timed(|| insert(&writer)).0).collect::<Vec<f64>>()
                    })
                };
                let clients: Vec<_> = (0..clients).map(client).collect();
                clients.into_iter().flat_map(|client| client.join().unwrap()).collect::<Vec<f64>>()
            })
        });
        let each = seconds / times.len() as f64;
        let line = Measurement::time(format!("insert, {clients} clients, seconds per note"), count, each);
        report.add(line.with_peer("one client", Some(one)).faster(5.0));
        let line = Measurement::time(format!("insert, {clients} clients, p50"), count, median(times));
        report.add(if clients == 100 { line.within(60e-3) } else { line });
    }
}

/// Imports a folder and compares that with the parts of an import.
fn import_set(report: &mut Report, set: &Path) {
    let folder = tempfile::tempdir().unwrap();
    let memory = open(folder.path());
    let source = ImportSource::Path(set.join("docs.jsonl"));
    let (ours, done) = timed(|| import(&memory, &source, &ImportOptions::default(), &|_, _| {}).unwrap());
    let count = done.inserted as usize;

    let parts = parts(&memory);
    let (slowest, max) = parts.iter().copied().max_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
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
    report
        .add(Measurement::time("import", count, ours).with_peer(slowest, Some(max)).at_most(2.0).note(rate));
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
