//! Past snapshots.

use super::changes::{apply, op};
use super::*;
use poc_graph::testing;
use proptest::prelude::*;

fn at(millis: i64) -> Cause {
    Cause { at: Timestamp(millis), ..cause() }
}

/// The contents of all tables that are not derived.
fn records<R: Records>(records: &R) -> Vec<(Table, Vec<u8>, Vec<u8>)> {
    let mut all = Vec::new();
    for table in Table::ALL.into_iter().filter(|table| *table != Table::Changes) {
        for (key, value) in records.raw_range(table, &[]).unwrap() {
            assert_eq!(records.raw(table, &key).unwrap().as_ref(), Some(&value));
            all.push((table, key, value));
        }
    }
    all
}

/// A state that was recorded while it was the newest.
struct RecordedState {
    seq: u64,
    at: i64,
    records: Vec<(Table, Vec<u8>, Vec<u8>)>,
    contents: Vec<String>,
}

poc_laws::laws! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// A snapshot at a time equals the state after the last transaction at or before it, and a snapshot after a change
    /// equals the state right after that change. Times of transactions may be out of order, and the store may change
    /// while the snapshot is read.
    #[test]
    fn a_past_snapshot_equals_the_store_at_that_time(
        txns in proptest::collection::vec((proptest::collection::vec(op(), 1..8), 0i64..12), 1..30),
        early in any::<proptest::sample::Index>(),
    ) {
        let folder = poc_graph::testing::folder();
        let store = open_in(&folder, in_memory()).unwrap();
        let early = early.index(txns.len());
        let mut seen: Vec<RecordedState> = Vec::new();
        let mut kept = None;
        for (number, (ops, millis)) in txns.iter().enumerate() {
            let done = store.transact(at(*millis), |tx| {
                // Changes that fail are skipped.
                ops.iter().for_each(|op| drop(apply(tx, op)));
                Ok(())
            });
            let seq = done.unwrap().seq;
            if seq > seen.last().map_or(0, |seen| seen.seq) {
                let (records, contents) = (records(&store), testing::contents(&store.view()));
                seen.push(RecordedState { seq, at: *millis, records, contents });
            }
            if number == early && !seen.is_empty() {
                let newest = seen.len() - 1;
                kept = Some((newest, store.snapshot_at(Timestamp(seen[newest].at)).unwrap()));
            }
        }
        for millis in -1..13 {
            let then = seen.iter().rev().find(|seen| seen.at <= millis);
            let past = store.snapshot_at(Timestamp(millis));
            prop_assert_eq!(past.is_ok(), then.is_some());
            let (Ok(past), Some(then)) = (past, then) else { continue };
            prop_assert_eq!(past.seq(), then.seq);
            prop_assert_eq!(&records(&past), &then.records);
            prop_assert_eq!(&testing::contents(past.view()), &then.contents);
            for other in -1..13 {
                let same = seen.iter().rev().find(|seen| seen.at <= other).is_some_and(|seen| seen.seq == then.seq);
                prop_assert_eq!(past.is_as_of(Timestamp(other)).unwrap(), same);
            }
        }
        let end = seen.last().map_or(0, |seen| seen.seq) + 2;
        for seq in 0..end {
            let then = seen.iter().rev().find(|seen| seen.seq <= seq);
            let past = store.snapshot_at(PastState::AfterChange(seq));
            prop_assert_eq!(past.is_ok(), then.is_some());
            let (Ok(past), Some(then)) = (past, then) else { continue };
            prop_assert_eq!((past.seq(), past.at()), (then.seq, Timestamp(then.at)));
            prop_assert_eq!(&records(&past), &then.records);
            prop_assert_eq!(&testing::contents(past.view()), &then.contents);
            for other in 0..end {
                let same = seen.iter().rev().find(|seen| seen.seq <= other).is_some_and(|seen| seen.seq == then.seq);
                prop_assert_eq!(past.is_as_of(PastState::AfterChange(other)).unwrap(), same);
            }
        }
        // A snapshot that was opened early has not changed.
        if let Some((number, past)) = kept {
            prop_assert_eq!(past.seq(), seen[number].seq);
            prop_assert_eq!(&records(&past), &seen[number].records);
            prop_assert_eq!(&testing::contents(past.view()), &seen[number].contents);
        }
    }
}

#[test]
fn states_before_the_first_change_are_not_found() {
    let folder = poc_graph::testing::folder();
    let store = open_in(
        &folder,
        StoreOptions { limits: LogLimits { segment: 600, ..LogLimits::default() }, ..in_memory() },
    )
    .unwrap();
    let refused = |state: PastState| {
        let error = store.snapshot_at(state).err().unwrap();
        assert_eq!(error.code, Code::NotFound);
        format!("{}\n{}", error.message, error.hint.unwrap_or_default())
    };
    let contents = |millis| refused(PastState::At(Timestamp(millis)));
    insta::assert_snapshot!(contents(9), @"nothing has been stored yet");
    for number in 1..=20 {
        store.transact(at(number * 1000), |tx| tx.put_node(&node(number as u64))).unwrap();
    }
    insta::assert_snapshot!(contents(999), @r"
    nothing was stored yet at 1970-01-01T00:00:00.999Z
    the first change was made at 1970-01-01T00:00:01.000Z
    ");
    insta::assert_snapshot!(refused(PastState::AfterChange(0)), @r"
    nothing was stored yet at change 0
    the first change is 1
    ");
    assert_eq!(store.snapshot_at(Timestamp(7999)).unwrap().seq(), 7);
    store.shared.log.forget_before(12);
    let first = store.shared.log.first();
    assert!(first > 1 && first <= 12, "{first}");
    insta::assert_snapshot!(contents(999), @r"
    the log has no history as old as 1970-01-01T00:00:00.999Z
    the oldest change is from 1970-01-01T00:00:11.000Z
    ");
    insta::assert_snapshot!(refused(PastState::AfterChange(5)), @r"
    the log has no history as old as change 5
    the oldest change is 11
    ");
    assert_eq!(store.snapshot_at(Timestamp(first as i64 * 1000)).unwrap().seq(), first);
    assert_eq!(numbers(&store).len(), 20);
}

/// Numbers count the changes of all tenants.
#[test]
fn the_state_after_a_change_of_another_tenant_is_that_after_the_last_own_one() {
    let folder = poc_graph::testing::folder();
    let store = open_in(&folder, in_memory()).unwrap();
    let other = store.for_tenant(&poc_graph::Tuple::new([("who", "other")]).unwrap());
    put(&store, 1);
    other.transact(cause(), |tx| tx.put_node(&Node { tenant: other.tenant(), ..node(2) })).unwrap();
    put(&store, 3);
    let after = |store: &Store, seq: u64| store.snapshot_at(PastState::AfterChange(seq));
    assert_eq!((1..=3).map(|seq| after(&store, seq).unwrap().seq()).collect::<Vec<_>>(), [1, 1, 3]);
    assert_eq!(after(&other, 3).unwrap().seq(), 2);
    let error = after(&other, 1).err().unwrap();
    insta::assert_snapshot!(error, @"nothing was stored yet at change 1");
}

#[test]
fn a_past_snapshot_is_stable_while_the_store_changes() {
    let folder = poc_graph::testing::folder();
    let store = open_in(&folder, in_memory()).unwrap();
    for number in 1..=50 {
        store.transact(at(number), |tx| tx.put_node(&node(number as u64))).unwrap();
    }
    let then = records(&store);
    std::thread::scope(|scope| {
        let store = &store;
        scope.spawn(move || {
            for round in 0..200u64 {
                let changed = Node { version: 2 + round as u32, ..node(1 + round % 50) };
                store.transact(at(100), |tx| tx.put_node(&changed)).unwrap();
                store.transact(at(101), |tx| tx.delete_node(node(1 + (round * 7) % 50).id)).unwrap();
            }
        });
        for _ in 0..20 {
            let past = store.snapshot_at(Timestamp(60)).unwrap();
            assert_eq!(past.view().node_count(), 50);
            assert!(records(&past) == then, "the past has changed");
        }
    });
}
