//! Erasures that are refused or cancelled.

use super::*;
use poc_graph::cancellation;
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

#[test]
fn an_erasure_of_no_message_deletes_no_history() {
    let memory = filled();
    let forget = |request: Value| {
        let ctx = Ctx {
            memory: &memory,
            host: &Nobody,
            actor: Principal::Person,
            may_write: true,
            progress: &|_| {},
        };
        let op = find("forget").unwrap();
        let answer = op.run(&ctx, request).unwrap();
        let output = (op.decode)(&answer).unwrap();
        (answer["messages"].clone(), answer.get("erasure").is_some(), output.exit())
    };
    let (first, last) = (memory.store.first_seq(), memory.store.last_seq());
    let erase = json!({"before": "2d", "erase": true});
    assert_eq!(forget(erase.clone()), (json!(0), false, Exit::NothingToDo));
    assert_eq!((memory.store.first_seq(), memory.store.last_seq()), (first, last));
    assert_eq!(unfinished_erasures(&memory.paths).unwrap(), []);
    assert_eq!(forget(json!({"before": "2d"})), (json!(0), false, Exit::Ok));
    json(&memory, "write 'The watch saw a sail.'");
    memory.clock.advance(Span::DAY);
    memory.clock.advance(Span::DAY);
    memory.clock.advance(Span::DAY);
    assert_eq!(forget(erase), (json!(1), true, Exit::Ok));
}

#[test]
fn an_erasure_is_unfinished_only_if_something_was_deleted_before_it_was_cancelled() {
    let memory = TestMemory::new();
    // More than one transaction deletes.
    for number in 0..100 {
        json(&memory, &format!("write 'The watch of hour {number} saw a sail.'"));
    }
    memory.clock.advance(Span::HOUR);
    let forget = |token: &CancellationToken| {
        let ctx = Ctx {
            memory: &memory,
            host: &Nobody,
            actor: Principal::Person,
            may_write: true,
            progress: &|_| token.cancel(),
        };
        let request = json!({"before": "0s", "recent": true, "erase": true});
        cancellation::scope(token, || find("forget").unwrap().run(&ctx, request)).unwrap_err()
    };
    let before = memory.store.last_seq();
    let cancelled = CancellationToken::new();
    cancelled.cancel();
    assert!(cancellation::is_cancellation(&forget(&cancelled)));
    assert_eq!((memory.store.last_seq(), unfinished_erasures(&memory.paths).unwrap()), (before, Vec::new()));
    // The progress is reported after the first deletion.
    assert!(cancellation::is_cancellation(&forget(&CancellationToken::new())));
    assert_eq!(memory.store.last_seq(), before + 1);
    let unfinished = unfinished_erasures(&memory.paths).unwrap();
    assert!(matches!(&unfinished[..], [erasure] if erasure.at == memory.now()), "{unfinished:?}");
}
