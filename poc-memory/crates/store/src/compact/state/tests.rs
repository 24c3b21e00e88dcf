//! A compaction that is cancelled stops while it reads the state.

use super::*;
use crate::engine::memory::InMemoryEngine;
use poc_graph::NodeId;
use poc_graph::error::{Code, Error};
use poc_graph::time::Timestamp;
use std::cell::Cell;

const BASE: LogBase = LogBase { seq: 9_000, at: Timestamp(7), origin: [0; 16] };

fn key(table: Table, number: u64) -> Vec<u8> {
    let mut id = [0; 16];
    id[8..].copy_from_slice(&number.to_be_bytes());
    let key = if table == Table::Changes { keys::change(NodeId::from_bytes(id), 1) } else { id.to_vec() };
    table.engine_key(Tenant::default(), &key)
}

/// The records of 3,000 nodes, and changes of as many other nodes that were deleted.
fn engine() -> InMemoryEngine {
    let engine = InMemoryEngine::default();
    let nodes = (0..3_000).map(|number| (key(Table::Nodes, number), Some(vec![1; 10])));
    let changes = (3_000..6_000).map(|number| (key(Table::Changes, number), Some(Vec::new())));
    engine.apply(nodes.chain(changes).collect::<Vec<Put>>().into(), watermark(BASE.seq)).unwrap();
    engine
}

fn watermark(seq: u64) -> Watermark {
    Watermark { seq, checksum: 1 }
}

fn records(engine: &InMemoryEngine) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut records = Vec::new();
    let scanned = engine.scan(&[], &mut |key, value| {
        records.push((key.to_vec(), value.to_vec()));
        Ok(())
    });
    scanned.unwrap();
    records
}

type Pass = fn(&BaseState<'_>) -> Result<()>;

#[test]
fn every_pass_over_the_state_can_be_cancelled() {
    let passes: [(&str, Pass); 4] = [
        ("first", |state| state.first().map(drop)),
        ("count", |state| state.count().map(drop)),
        ("prune", |state| state.prune(watermark(BASE.seq + 1))),
        ("each_txn", |state| state.each_txn(&mut |_, _| Ok(()))),
    ];
    for (name, pass) in passes {
        for calls in 1..=5 {
            let engine = engine();
            let before = records(&engine);
            let made = Cell::new(0);
            let check_cancelled = || {
                made.set(made.get() + 1);
                if made.get() == calls { Err(Error::unavailable("cancelled")) } else { Ok(()) }
            };
            let error = pass(&BaseState::new(&engine, BASE, &check_cancelled)).unwrap_err();
            assert_eq!((error.code, made.get()), (Code::Unavailable, calls), "{name}");
            assert!(records(&engine) == before, "{name}");
            assert_eq!(engine.watermark().unwrap(), watermark(BASE.seq), "{name}");
        }
    }
}

#[test]
fn a_pass_that_is_not_cancelled_reads_everything() {
    let engine = engine();
    let check_cancelled = || Ok(());
    let state = BaseState::new(&engine, BASE, &check_cancelled);
    assert_eq!(state.count().unwrap(), 3_000);
    assert_eq!(state.first().unwrap(), Some(BASE.seq));
    state.prune(watermark(BASE.seq + 1)).unwrap();
    assert_eq!(records(&engine).len(), 3_000);
    assert_eq!(engine.watermark().unwrap(), watermark(BASE.seq + 1));
}
