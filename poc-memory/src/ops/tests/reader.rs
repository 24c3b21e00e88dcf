//! Requests of a read-only caller write nothing.

use super::*;
use poc_graph::error::Code;
use serde_json::json;

/// A request for each op that reads notes.
fn request(op: &str) -> Option<Value> {
    Some(match op {
        "search" => json!({"text": "splits", "explain": true}),
        "query" => json!({"text": "B-tree splits"}),
        "retrieve" => json!({"text": "splits"}),
        "explore" | "classify" => json!({"text": "splits"}),
        "get" | "history" => json!({"node": "btree"}),
        "stats" | "pipeline list" => json!({}),
        "pipeline check" | "pipeline explain" => json!({"pipelines": ["all"]}),
        _ => return None,
    })
}

#[test]
fn a_read_only_caller_writes_nothing() {
    let memory = filled();
    let before = memory.store.view().seq;
    for op in OPS {
        let ctx = Ctx {
            memory: &memory,
            host: &Nobody,
            actor: Principal::Person,
            may_write: false,
            progress: &|_| {},
        };
        let asked = request(op.name);
        let answer = op.run(&ctx, asked.clone().unwrap_or_else(|| json!({})));
        if op.access != Access::Read {
            assert_eq!(answer.unwrap_err().code, Code::Rejected, "{}", op.name);
        } else if asked.is_some() {
            answer.unwrap_or_else(|error| panic!("`{}`: {error}", op.name));
        }
        assert_eq!(memory.store.view().seq, before, "`{}` has written", op.name);
    }
    // The same question by a caller with write access is counted.
    assert_eq!(json(&memory, "query 'B-tree splits'")["hit"], "STRONG");
    assert_eq!(memory.store.view().seq, before + 1);
}
