//! An answer reports incomplete indexes as `degraded`.

use super::*;
use poc_notes::ReadSnapshot;
use poc_store::testing::{PausableIndex, PausePoint, ResumeOnDrop};

/// A memory with an additional index that is still being built.
fn being_built() -> (TestMemory, Arc<PausableIndex>, ResumeOnDrop) {
    let slow = Arc::new(PausableIndex::paused_at(PausePoint::Feed));
    let memory = TestMemory::with_index(slow.clone(), 5001);
    while memory.store.lagging_indexes().is_empty() {
        std::thread::yield_now();
    }
    (memory, slow.clone(), ResumeOnDrop(slow))
}

#[test]
fn answers_are_degraded_while_an_index_is_being_built() {
    let (memory, slow, _release) = being_built();
    let freshness = |line| {
        let answer = json(&memory, line);
        (answer["as_of"]["seq"].clone(), answer["lag"].clone(), answer["degraded"].clone())
    };
    let all = || ["search -p all|limit:1", "get n7", "stats"].map(freshness);
    let poorer = serde_json::json!(["slow: it is still being built, so results may be incomplete"]);
    assert_eq!(all(), [(); 3].map(|()| (1.into(), 1.into(), poorer.clone())));
    insta::assert_snapshot!(text_output(&memory, "search -p all|key:n7|limit:1"), @r"
      1.000  n7  semantic  Title 7
    degraded: slow: it is still being built, so results may be incomplete
    ");
    slow.resume();
    memory.store.settle();
    assert_eq!(all(), [(); 3].map(|()| (1.into(), 0.into(), serde_json::json!([]))));
}

/// The answer is degraded because the index may have been read before or after it was complete.
#[test]
fn an_answer_is_degraded_if_an_index_was_completed_meanwhile() {
    let (memory, slow, _release) = being_built();
    let snapshot = ReadSnapshot::of(&memory, None).unwrap();
    slow.resume();
    memory.store.settle();
    assert_eq!(
        snapshot.answer_status().degraded,
        ["an index was completed while this request was running, so the answer may be incomplete"]
    );
    assert!(ReadSnapshot::of(&memory, None).unwrap().answer_status().degraded.is_empty());
}
