//! The counts in `stats` after thousands of random requests, compared with a full scan of the records.

use super::*;
use poc_graph::rng::{Rng, SeededRng};
use poc_store::testing::{count_by_scan, counts_of_view};
use serde_json::json;
use std::collections::BTreeMap;

const REQUESTS: usize = 2000;

/// A random request, which usually succeeds.
fn request(draw: &mut impl FnMut(u64) -> u64, now: poc_graph::time::Timestamp) -> (&'static str, Value) {
    let key = format!("k{}", draw(40));
    let other = format!("k{}", draw(40));
    let word = || ["storage", "recovery", "food", "rain"];
    let text =
        format!("About {} and {} number {}", word()[draw(4) as usize], word()[draw(4) as usize], draw(30));
    let keywords = json!([word()[draw(4) as usize], format!("w{}", draw(12))]);
    let kind = ["semantic", "episodic", "daily"][draw(3) as usize];
    let note = json!({"key": key, "title": text, "keywords": keywords, "type": kind});
    let expires = now.plus(Span((1 + draw(60) as i64) * Span::SECOND.0));
    match draw(20) {
        0..=4 => ("insert", note),
        5 => ("insert", json!({"key": key, "update": true, "body": text, "keywords": keywords})),
        6 => ("insert", json!({"title": text, "supersedes": key})),
        7 => ("insert", json!({"title": text, "keywords": keywords, "expires": expires})),
        8 => ("insert", json!({"notes": [note, {"title": format!("{text} again")}]})),
        9 => (
            "import",
            json!({"from": {"text": format!("{note}\n{}\n", json!({"body": text, "type": kind}))}}),
        ),
        10 | 11 => ("delete", json!({"node": key})),
        12 if draw(2) == 0 => {
            ("rename", json!({"node": key, "key": format!("{other} renamed {}", draw(40))}))
        }
        12 => ("supersede", json!({"old": key, "new": other})),
        13..=15 => ("link", json!({"from": key, "to": other, "strength": 0.5})),
        16 => ("link", json!({"from": key, "to": other, "kind": "contradicts"})),
        17 => ("weight", json!({"node": key, "value": "+0.5"})),
        18 => ("write", json!({"text": format!("{text}. It rains. It stops. Nothing else is said.")})),
        _ => ("consolidate", json!({})),
    }
}

#[test]
fn stats_equal_a_full_scan_after_thousands_of_requests() {
    let mut memory = TestMemory::new();
    let rng = SeededRng::new(20261122);
    let mut draw = |below: u64| rng.next_u64() % below;
    let (mut done, mut pasts) = (BTreeMap::new(), Vec::new());
    for number in 0..REQUESTS {
        memory.clock.advance(Span::SECOND);
        let (op, request) = request(&mut draw, memory.now());
        let ctx = Ctx {
            memory: &memory,
            host: &Nobody,
            actor: Principal::Person,
            may_write: true,
            progress: &|_| {},
        };
        if find(op).unwrap().run(&ctx, request).is_ok() {
            *done.entry(op).or_insert(0) += 1;
        }
        if number % 100 == 0 {
            let by_hand = count_by_scan(&memory.store);
            assert_eq!(counts_of_view(&memory.store.view()), by_hand, "after {number} requests");
            pasts.push((memory.now(), by_hand));
        }
        if number == REQUESTS / 2 {
            memory.store.checkpoint().unwrap();
        }
        if number == REQUESTS / 2 + 50 {
            memory = memory.reopened();
        }
    }
    assert!(done.len() == 9 && done.values().all(|count| *count > 10), "{done:?}");
    for (at, by_hand) in pasts {
        assert_eq!(counts_of_view(memory.store.snapshot_at(at).unwrap().view()), by_hand, "at {at}");
    }
    let newest = counts_of_view(&memory.store.view());
    assert_eq!(newest, count_by_scan(&memory.store));
    let stats = json(&memory, "stats");
    let sums = ["nodes", "live", "edges", "keywords"].map(|name| stats[name].as_u64().unwrap());
    assert_eq!(sums, newest.0);
}
