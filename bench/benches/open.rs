//! Opening a store of notes with texts, vectors and ties, the first answers from it, and how long an
//! answer takes while an import is running.
//!
//! `cargo bench -p poc-bench --bench open [-- NODES …]`. The files are in the page cache.

#![allow(missing_docs, clippy::unwrap_used, clippy::indexing_slicing, reason = "a bench")]

use poc_bench::graph;
use poc_bench::measure::{Bar, Report, asked, once};
use poc_bench::memory;
use poc_memory::graph::{Delta, Trust};
use poc_memory::memory::{Draft, Memory, insert};
use poc_memory::query::Pipeline;
use std::sync::atomic::{AtomicBool, Ordering};

const SEED: u64 = 7;
const LINKER: &str = "all | type:episodic | not-visited:linker,7d | sort:priority | limit:20";

fn main() {
    let mut report = Report::new("open");
    for nodes in asked().sizes {
        let folder = tempfile::tempdir().unwrap();
        fill(&memory::open(folder.path()), nodes);
        let (seconds, memory) = once(|| memory::open(folder.path()));
        report.time("open a store", nodes, seconds, "–", None, Bar::Absolute(1.0));
        for pipeline in [LINKER, "match:'ba fabo' | limit:10", "similar:'ba fabo' | limit:10"] {
            let (seconds, found) = once(|| run(&memory, pipeline));
            assert!(found > 0, "`{pipeline}` finds something");
            report.time(&format!("first {pipeline}"), nodes, seconds, "–", None, Bar::None);
        }
        answers_during_import(&memory, nodes, &mut report);
    }
    report.save();
}

fn run(memory: &Memory, pipeline: &str) -> usize {
    let view = memory.store.view();
    Pipeline::parse(pipeline, &memory.names.load())
        .unwrap()
        .run(&memory.sources(&view))
        .unwrap()
        .0
        .items
        .len()
}

/// Fills a store as imports of chunks would.
fn fill(memory: &Memory, nodes: usize) {
    let shape = graph::shape(nodes, SEED);
    let ids = graph::ids(nodes, SEED);
    let cause = || memory.cause("manual", "import");
    let all: Vec<Vec<Delta>> = graph::fields(&shape, &ids, SEED).collect();
    for chunk in all.chunks(200) {
        let written = memory.store.transact(cause(), |tx| {
            for delta in chunk.iter().flatten() {
                match delta {
                    Delta::Node(node) => {
                        let vector = memory.embedder.embed_one(&node.body)?;
                        tx.put_node(node)?;
                        tx.put_vectors(node.id, memory.embedder.name(), &[vector])?;
                    }
                    Delta::Activity(id, activity) => tx.put_activity(*id, activity)?,
                    Delta::Visit(agent, id, visit) => tx.put_visit(agent, *id, visit)?,
                    _ => {}
                }
            }
            Ok(())
        });
        written.unwrap();
    }
    let edges: Vec<_> = graph::edges(&shape, &ids).collect();
    for chunk in edges.chunks(2000) {
        let written =
            memory.store.transact(cause(), |tx| chunk.iter().try_for_each(|edge| tx.put_edge(edge)));
        written.unwrap();
    }
}

/// The linker's pipeline again and again, alone and while another thread inserts notes.
fn answers_during_import(memory: &Memory, nodes: usize, report: &mut Report) {
    const ANSWERS: usize = 2000;
    let answers = || {
        let mut times: Vec<f64> = (0..ANSWERS).map(|_| once(|| run(memory, LINKER)).0).collect();
        times.sort_unstable_by(f64::total_cmp);
        (times[ANSWERS / 2], times[ANSWERS * 99 / 100])
    };
    let alone = answers();
    let done = AtomicBool::new(false);
    let (during, inserted) = std::thread::scope(|scope| {
        let importer = scope.spawn(|| {
            let mut inserted = 0;
            while !done.load(Ordering::Relaxed) {
                let draft = Draft {
                    body: Some(format!("Imported note {inserted} of {nodes}: ba fabo gelo.")),
                    ..Draft::new("import:bench", Trust::External)
                };
                insert::insert(memory, draft, memory.cause("import:bench", "import")).unwrap();
                inserted += 1;
            }
            inserted
        });
        let during = answers();
        done.store(true, Ordering::Relaxed);
        (during, importer.join().unwrap())
    });
    let note = format!("{inserted} notes inserted meanwhile");
    let (p50, p99) = ("linker, p50 during an import", "linker, p99 during an import");
    report.add(p50, nodes, during.0, "s", "p50 alone", Some(alone.0), Bar::None, note);
    report.time(p99, nodes, during.1, "p99 alone", Some(alone.1), Bar::None);
}
