//! Erasures that are refused.

use super::*;
use poc_graph::error::Code;
use poc_notes::erasure::unfinished_erasures;
use serde_json::json;

#[test]
fn a_refused_erasure_is_not_unfinished() {
    let memory = filled();
    let refused = |op: &str, request: Value| {
        let ctx = Ctx {
            memory: &memory,
            host: &Nobody,
            actor: Principal::Person,
            may_write: true,
            progress: &|_| {},
        };
        find(op).unwrap().run(&ctx, request).unwrap_err().code
    };
    let unknown = memory.new_message_id().to_string();
    assert_eq!(refused("forget", json!({"message_id": unknown, "erase": true})), Code::NotFound);
    assert_eq!(refused("delete", json!({"node": "btree", "if_version": 9, "erase": true})), Code::Conflict);
    assert_eq!(refused("delete", json!({"node": "unknown", "erase": true})), Code::NotFound);
    assert_eq!(unfinished_erasures(&memory.paths).unwrap(), []);
    assert!(memory.find("btree").is_ok());
}
