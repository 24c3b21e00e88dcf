//! The times to the first answers after a power cut under load.
//!
//! A process changes notes, writes a checkpoint in the middle, and ends without closing the store. Then the markers
//! that say in which boot of the machine the records were opened are changed, as if the machine had stopped.

use super::opening;
use super::store;
use poc_bench::measure::{Measurement, Report, median};
use poc_bench::memory;
use poc_graph::rng::{Rng as _, SeededRng};
use poc_graph::{Activity, EdgeKind, NodeId};
use std::path::Path;
use std::process::Command;

/// The argument that makes the bench change a store and abort.
pub(super) const CHILD: &str = "--load-in";

/// Number of transactions of one change each: those of an hour with more than one per second.
const CHANGES: u64 = 5_000;

/// The number of power cuts.
const ROUNDS: usize = 3;

/// Changes weights and edges of random notes, and aborts.
pub(super) fn child(folder: &Path) {
    let memory = memory::open(folder);
    let view = memory.store.view();
    let ids: Vec<NodeId> = (0..view.slots()).filter_map(|ix| view.id(ix)).collect();
    let rng = SeededRng::new(u64::from(std::process::id()));
    let any = || ids[(rng.next_u64() % ids.len() as u64) as usize];
    for number in 0..CHANGES {
        if number == CHANGES / 2 {
            memory.store.checkpoint().unwrap();
        }
        let (from, to) = (any(), any());
        let changed = memory.store.transact(memory.cause("manual", "link"), |tx| {
            tx.put_activity(from, &Activity::new(memory.now(), 2.0))?;
            match tx.edge(from, EdgeKind::Link, to)? {
                Some(_) => Ok(()),
                None => tx.put_edge(&poc_graph::Edge {
                    src: from,
                    dst: to,
                    kind: EdgeKind::Link,
                    strength: 0.5,
                    created: memory.now(),
                    touched: memory.now(),
                    provenance: "manual".to_owned(),
                    reason: "they are about the same harbour".to_owned(),
                }),
            }
        });
        changed.unwrap();
    }
    std::process::abort();
}

/// Measures openings after power cuts.
pub(super) fn measure(folder: &Path, nodes: usize, report: &mut Report) {
    let mut openings = Vec::new();
    for _ in 0..ROUNDS {
        let ended = Command::new(std::env::current_exe().unwrap()).arg(CHILD).arg(folder).status().unwrap();
        assert!(!ended.success(), "it aborts");
        for marker in store::files(folder).iter().filter(|path| path.ends_with("open-since-boot")) {
            std::fs::write(marker, "another boot").unwrap();
        }
        openings.push(opening::opened(folder));
    }
    for (at, (moment, _)) in opening::MILESTONES.iter().enumerate() {
        let seconds = median(openings.iter().map(|times: &Vec<f64>| times[at]).collect());
        let line = Measurement::time(format!("after a power cut: {moment}"), nodes, seconds);
        // The requirement is for up to 100,000 notes.
        report.add(if nodes <= 100_000 { line.within(2.0) } else { line });
    }
}
