//! Measures the time to open a store of notes with texts, vectors and edges, the time to the first answers (also after
//! a power cut), and the time of answers while an import is running.
//!
//! `cargo bench -p poc-bench --bench open [-- NODES …]`

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::unimplemented,
    reason = "a bench"
)]

mod during;
mod opening;
mod power_cut;
mod store;

use poc_bench::measure::{Measurement, Report, arguments, timed};
use poc_notes::Memory;
use poc_search::query::Pipeline;

fn main() {
    let mut words = std::env::args().skip(1);
    match words.next().as_deref() {
        Some(opening::CHILD) => return opening::child(words.next().unwrap().as_ref()),
        Some(power_cut::CHILD) => return power_cut::child(words.next().unwrap().as_ref()),
        _ => {}
    }
    let mut report = Report::new("open");
    for nodes in arguments().sizes {
        let folder = tempfile::tempdir_in(poc_bench::measure::folder()).unwrap();
        let (seconds, ()) = timed(|| store::fill(folder.path(), nodes));
        report.add(
            Measurement::time("filling it", nodes, seconds).note("1,000 notes in a transaction, on disk"),
        );
        opening::measure(folder.path(), nodes, &mut report);
        during::measure(folder.path(), nodes, &mut report);
        power_cut::measure(folder.path(), nodes, &mut report);
    }
    report.save();
}

/// The number of notes that a pipeline finds. Parsing is included, as it is for users.
fn found(memory: &Memory, pipeline: &str) -> usize {
    let view = memory.store.view();
    let pipeline = Pipeline::parse(pipeline, &memory.names.load()).unwrap();
    pipeline.run(&memory.sources(&view)).unwrap().0.items.len()
}
