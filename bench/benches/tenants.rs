//! What many tenants of 50 notes cost: the time of an open, the memory, and the first question to a tenant that is not
//! in memory.
//!
//! `cargo bench -p poc-bench --bench tenants [-- TENANTS …]`

#![allow(missing_docs, clippy::unwrap_used, reason = "a bench")]

use peak_alloc::PeakAlloc;
use poc_bench::measure::{Measurement, Report, percentile, sizes, timed};
use poc_bench::memory;
use poc_bench::notes::{self, NoteText, Writer};
use poc_config::Config;
use poc_config::paths::Paths;
use poc_graph::{Tuple, Visibility};
use poc_notes::Memory;
use poc_store::Store;
use std::path::Path;

const SEED: u64 = 7;
const NOTES: usize = 50;
const LINKS: usize = 200;
/// Number of tenants that are asked, at most.
const ASKED: usize = 1_000;
const WANTED: usize = 10;
/// The limit of the memory for tenants, in bytes. It is enough for a part of the tenants that are asked.
const TENANT_MEMORY: u64 = 64 << 20;
/// Number of threads that write. Their transactions share syncs.
const WRITERS: usize = 8;

#[global_allocator]
static ALLOCATED: PeakAlloc = PeakAlloc;

fn main() {
    let mut report = Report::new("tenants");
    for tenants in sizes(&[10, 1_000, 100_000]) {
        let folder = tempfile::tempdir().unwrap();
        let (seconds, ()) = timed(|| fill(folder.path(), tenants));
        report.add(Measurement::time("writing one tenant", tenants, seconds / tenants as f64));
        measure(folder.path(), tenants, "built", &mut report);
        measure(folder.path(), tenants, "saved", &mut report);
    }
    report.save();
}

fn tuple(number: usize) -> Tuple {
    Tuple::new([("user", number.to_string())]).unwrap()
}

/// Fills a store without indexes, which takes a fraction of the time.
fn fill(folder: &Path, tenants: usize) {
    // This creates the store, and then serves as the source of ids and vectors.
    drop(memory::open(folder));
    let other = tempfile::tempdir().unwrap();
    let source = memory::open(other.path());
    let store = Store::open(&Paths::in_folder(folder).store(), source.embedder.name(), Vec::new()).unwrap();
    store.limit_tenant_memory(TENANT_MEMORY);
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (store, source) = (&store, &source);
            scope.spawn(move || {
                let texts = Writer::new(SEED + writer as u64);
                for number in (writer..tenants).step_by(WRITERS) {
                    let own = store.for_tenant(&tuple(number));
                    let written: Vec<NoteText> = (0..NOTES).map(|_| texts.note()).collect();
                    let ids = notes::store_in(&own, source, &written);
                    notes::connect_in(&own, source, &ids, LINKS, SEED);
                }
            });
        }
    });
    store.checkpoint().unwrap();
}

/// Opens the memory and asks tenants that are not in memory. Their indexes are either built from their notes or saved.
/// At the end, the indexes of these tenants are saved.
fn measure(folder: &Path, tenants: usize, indexes: &str, report: &mut Report) {
    let mut config = Config::defaults().unwrap();
    config.store.tenant_memory = TENANT_MEMORY;
    let empty = ALLOCATED.current_usage();
    let (seconds, memory) = timed(|| memory::open_with(folder, config));
    report.add(Measurement::time("opening", tenants, seconds).note(format!("indexes {indexes}")));
    let (seconds, ()) = timed(|| ask(&memory, &Tuple::default(), "records"));
    report.add(Measurement::time("first question without a tenant", tenants, seconds));
    memory.store.settle();
    let opened = ALLOCATED.current_usage();
    let megabytes = |from: usize, to: usize| to.saturating_sub(from) as f64 / 1e6;
    report.add(Measurement::amount("memory after opening", tenants, megabytes(empty, opened), "MB"));
    let writer = Writer::new(SEED);
    let step = (tenants / ASKED).max(1);
    let asked: Vec<usize> = (0..tenants).step_by(step).collect();
    let questions: Vec<String> = asked.iter().map(|_| writer.question()).collect();
    let first: Vec<f64> = asked
        .iter()
        .zip(&questions)
        .map(|(number, question)| timed(|| ask(&memory, &tuple(*number), question)).0)
        .collect();
    for (name, share) in [("first question to a tenant, p50", 0.5), ("first question to a tenant, p99", 0.99)]
    {
        let time = Measurement::time(name, tenants, percentile(first.clone(), share));
        report.add(time.note(format!("indexes {indexes}")));
    }
    let loaded = memory.store.loaded_tenants();
    let more = megabytes(opened, ALLOCATED.current_usage());
    let note = format!("{} loaded, estimated as {:.0} MB", loaded.count, loaded.bytes as f64 / 1e6);
    report.add(Measurement::amount("memory of the tenants", tenants, more, "MB").note(note));
    memory.store.checkpoint().unwrap();
}

fn ask(memory: &Memory, tenant: &Tuple, question: &str) {
    let own = memory.of(tenant);
    let view = own.store.view();
    own.retriever(&view).find(question, WANTED, Visibility::of_person(memory.now())).unwrap();
}
