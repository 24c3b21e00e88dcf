//! The memory of a graph's view, per node and per edge, counted by the allocator.
//!
//! `cargo bench -p poc-bench --bench memory [-- NODES …]`

#![allow(missing_docs, reason = "a bench")]

use peak_alloc::PeakAlloc;
use poc_bench::graph;
use poc_bench::measure::{Measurement, Report, arguments};

const SEED: u64 = 7;

#[global_allocator]
static ALLOCATED: PeakAlloc = PeakAlloc;

fn main() {
    let mut report = Report::new("memory");
    for nodes in arguments().sizes {
        let shape = graph::shape(nodes, SEED);
        let ids = graph::ids(nodes, SEED);
        let (bare, bare_view) = allocated_bytes(|| graph::nodes(&shape, &ids, SEED).finish(1));
        let keys: usize = (0..bare_view.slots()).map(|ix| bare_view.key(ix).len()).sum();
        drop(bare_view);
        let (whole, view) = allocated_bytes(|| graph::view(&shape, SEED));
        let per_node = Measurement::amount("the view, by node", nodes, bare / nodes as f64, "B");
        let key = keys as f64 / nodes as f64;
        let note = format!("keys of {key:.0} bytes, five keywords, a third visited");
        report.add(per_node.within(200.0).note(note));
        let edges = view.edge_count() as f64;
        report.add(Measurement::amount("the view, by edge", nodes, (whole - bare) / edges, "B").within(16.0));
        report.add(Measurement::amount("the view in all", nodes, whole / 1e6, "MB"));
    }
    report.save();
}

/// The bytes that the result of `work` occupies.
fn allocated_bytes<T>(work: impl FnOnce() -> T) -> (f64, T) {
    let before = ALLOCATED.current_usage();
    let value = work();
    ((ALLOCATED.current_usage() - before) as f64, value)
}
