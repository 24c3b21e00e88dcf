//! The times to the first answers after a power cut under load.
//!
//! A process changes notes until as many changes are in no checkpoint as a daemon allows, and ends without closing the
//! store. Then the markers that say in which boot of the machine the records were opened are changed, as if the machine
//! had stopped.

use super::opening;
use super::store;
use poc_bench::measure::{Measurement, Report, median};
use poc_bench::memory;
use poc_graph::rng::{Rng as _, SeededRng};
use poc_graph::{Activity, Edge, EdgeKind, NodeId};
use poc_notes::Memory;
use poc_store::{CHECKPOINT_MIN_CHANGES, CHECKPOINT_URGENT_CHANGES};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::Command;

/// The argument that makes the bench change a store and abort.
pub(super) const CHILD: &str = "--load-in";

/// The number of power cuts.
const ROUNDS: usize = 3;

/// Number of threads that change notes. Their transactions are synced together, so the load takes seconds.
const WRITERS: usize = 16;

/// Every so many transactions, one changes the text of a note. The others change a weight and add a link.
const TEXT_EVERY: u64 = 8;

/// The signal of an abort.
const SIGABRT: i32 = 6;

/// Changes random notes, and aborts. A checkpoint in the middle makes the log longer than what must be read again.
pub(super) fn child(folder: &Path) {
    let memory = memory::open(folder);
    let view = memory.store.view();
    let ids: Vec<NodeId> = (0..view.slots()).filter_map(|ix| view.id(ix)).collect();
    let rng = SeededRng::new(u64::from(std::process::id()));
    // A checkpoint does not save an index that is still reading what the last round has left in the log.
    memory.store.settle();
    load(&memory, &ids, &rng, CHECKPOINT_MIN_CHANGES);
    memory.store.checkpoint().unwrap();
    load(&memory, &ids, &rng, CHECKPOINT_URGENT_CHANGES);
    std::process::abort();
}

/// Changes random notes until so many changes are in no checkpoint.
fn load(memory: &Memory, ids: &[NodeId], rng: &SeededRng, changes: usize) {
    std::thread::scope(|scope| {
        for _ in 0..WRITERS {
            scope.spawn(|| {
                while memory.store.unsaved() < changes {
                    let any = || ids[(rng.next_u64() % ids.len() as u64) as usize];
                    match rng.next_u64() % TEXT_EVERY {
                        0 => change_text(memory, any()),
                        _ => use_and_link(memory, any(), any()),
                    }
                }
            });
        }
    });
}

/// Adds a word to the text of a note.
fn change_text(memory: &Memory, id: NodeId) {
    let changed = memory.store.transact(memory.cause("manual", "insert"), |tx| {
        let mut node = tx.node(id)?.unwrap();
        node.body.push_str(" harbour");
        node.content_hash = node.hash();
        node.version += 1;
        let vector = memory.embedder.embed_one(&node.body)?;
        tx.put_node(&node)?;
        tx.put_vectors(id, memory.embedder.name(), &[vector])
    });
    changed.unwrap();
}

/// Changes the weight of a note and links it to another one.
fn use_and_link(memory: &Memory, from: NodeId, to: NodeId) {
    let changed = memory.store.transact(memory.cause("manual", "link"), |tx| {
        tx.put_activity(from, &Activity::new(memory.now(), 2.0))?;
        match tx.edge(from, EdgeKind::Link, to)? {
            Some(_) => Ok(()),
            None => tx.put_edge(&Edge {
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

/// Measures openings after power cuts.
pub(super) fn measure(folder: &Path, nodes: usize, report: &mut Report) {
    let mut openings = Vec::new();
    for _ in 0..ROUNDS {
        let ended = Command::new(std::env::current_exe().unwrap()).arg(CHILD).arg(folder).status().unwrap();
        assert_eq!(ended.signal(), Some(SIGABRT), "it aborts: {ended}");
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
