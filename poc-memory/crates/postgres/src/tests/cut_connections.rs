//! A connection is cut at any message between a writer and the database. Whatever the message was, every acknowledged
//! record is in the log once, no record is in it twice, and the writer continues with a new connection.

use super::*;
use crate::testing::{Cut, CutPoint, CuttingProxy};
use poc_graph::Node;
use poc_graph::testing::node;
use poc_graph::time::Timestamp;
use poc_store::{Cause, CompactionCallbacks, CopyStart, Store};
use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;

/// How many histories run at the same time. They mostly wait for the database, the disk and the delay after a failure.
const PARALLEL: usize = 8;

/// A location of a store that is reached through a proxy. Readers are woken by notifications only.
fn through(proxy: &CuttingProxy, server: &TestServer, store: &str) -> LogLocation {
    let settings =
        LogSettings { address: proxy.address(), poll: Duration::from_secs(3600), ..settings(server, store) };
    LogLocation::new(settings).unwrap()
}

/// Makes a call that may fail because its connection was cut, and then makes it again. Only one connection is cut.
fn retry_once<T>(mut call: impl FnMut() -> Result<T>) -> T {
    call()
        .or_else(|error| {
            assert_eq!(error.code, Code::Unavailable, "{error}");
            call()
        })
        .unwrap()
}

/// A writer whose connection may be cut, and what it knows about its records.
struct CutWriter {
    log: PostgresLog,
    /// Whether it appends a record again if it got no answer. Otherwise it continues with the next record.
    retries: bool,
    next: u64,
    acknowledged: BTreeSet<u64>,
    unknown: BTreeSet<u64>,
}

impl CutWriter {
    fn new(log: PostgresLog, retries: bool) -> CutWriter {
        CutWriter { log, retries, next: 1, acknowledged: BTreeSet::new(), unknown: BTreeSet::new() }
    }

    /// Appends records in one call, after whatever the log contains.
    fn append(&mut self, count: u64) {
        let numbers = self.next..self.next + count;
        self.next += count;
        let payloads: Vec<[u8; 8]> = numbers.clone().map(u64::to_le_bytes).collect();
        let records: Vec<NewSharedRecord<'_>> = numbers
            .clone()
            .zip(&payloads)
            .map(|(writer_seq, payload)| NewSharedRecord { writer_seq, payload })
            .collect();
        let mut is_unsure = false;
        let mut head = retry_once(|| self.log.head());
        loop {
            match self.log.append(&records, head) {
                Ok(AppendOutcome::Appended) => break,
                Ok(AppendOutcome::Leased) => panic!("no other writer has a lease"),
                // A call without an answer may have appended the records, or may still do so.
                Ok(AppendOutcome::Conflict) => {
                    let found = retry_once(|| self.log.read(head, 1));
                    if found.iter().any(|next| (next.writer, next.writer_seq) == ([1; 16], numbers.start)) {
                        assert!(is_unsure, "an append that was reported as a conflict was made");
                        break;
                    }
                    head = retry_once(|| self.log.head());
                }
                Err(error) => {
                    assert_eq!(error.code, Code::Unavailable, "{error}");
                    assert!(!is_unsure, "one connection was cut");
                    is_unsure = true;
                    if !self.retries {
                        self.unknown.extend(numbers);
                        return;
                    }
                }
            }
        }
        self.acknowledged.extend(numbers);
    }

    /// Checks the log against what the writer knows, by reading it on another connection.
    fn check(&self, other: &PostgresLog, other_count: u64, cut: Option<Cut>) {
        let records = other.read(0, 1000).unwrap();
        let numbers: Vec<u64> = records.iter().map(|record| record.seq).collect();
        assert_eq!(numbers, (1..=records.len() as u64).collect::<Vec<_>>(), "{cut:?}: a gap");
        assert_eq!(other.head().unwrap(), records.len() as u64, "{cut:?}");
        let mut found: BTreeMap<u64, u64> = BTreeMap::new();
        for record in records.iter().filter(|record| record.writer == [1; 16]) {
            assert_eq!(record.payload, record.writer_seq.to_le_bytes(), "{cut:?}");
            *found.entry(record.writer_seq).or_default() += 1;
        }
        assert!(found.values().all(|times| *times == 1), "{cut:?}: a record is in the log twice: {found:?}");
        for number in &self.acknowledged {
            assert!(found.contains_key(number), "{cut:?}: record {number} was acknowledged and is lost");
        }
        for number in found.keys() {
            assert!(self.acknowledged.contains(number) || self.unknown.contains(number), "{cut:?}: {number}");
        }
        // The log contains all of a batch or nothing.
        let unknown = self.unknown.iter().filter(|number| found.contains_key(number)).count();
        assert!(unknown == 0 || unknown == self.unknown.len(), "{cut:?}: a part of {:?}", self.unknown);
        assert_eq!(records.len() as u64, found.len() as u64 + other_count, "{cut:?}");
    }
}

/// Appends a record of the other writer, whose connection is not cut. A lease that was requested by a call without an
/// answer may begin late, and then it ends by itself.
fn append_other(other: &PostgresLog, number: u64) {
    while append(other, number, other.head().unwrap()) != AppendOutcome::Appended {}
}

/// Runs a history of calls to one log, and cuts a connection. Returns the number of messages.
fn run_calls(server: &TestServer, store: &str, cut: Option<Cut>, retries: bool) -> u64 {
    init(&location(server, store)).unwrap();
    let proxy = CuttingProxy::start(server);
    proxy.plan(cut);
    let other = PostgresLog::new(location(server, store), [2; 16], "other".into());
    let log = PostgresLog::new(through(&proxy, server, store), [1; 16], "cut".into());
    let mut writer = CutWriter::new(log, retries);

    writer.append(1);
    writer.append(3);
    let head = retry_once(|| writer.log.head());
    assert!(retry_once(|| writer.log.wait(head, Duration::ZERO)) <= head);
    append_other(&other, 1);
    let written = other.head().unwrap();
    // A connection that ends while it waits has nothing to report; the next call opens another one.
    let waited = (0..3).any(|_| retry_once(|| writer.log.wait(written - 1, WAIT_TIMEOUT)) == written);
    assert!(waited, "{cut:?}: record {written} was not seen");
    let read = retry_once(|| writer.log.read(0, 1000));
    assert_eq!(read, other.read(0, 1000).unwrap(), "{cut:?}");
    assert!(retry_once(|| writer.log.peers()).iter().any(|peer| peer.writer == [2; 16]), "{cut:?}");

    assert!(retry_once(|| writer.log.lease(MINUTE)), "{cut:?}");
    assert_eq!(append(&other, 2, other.head().unwrap()), AppendOutcome::Leased, "{cut:?}");
    writer.append(2);
    if !writer.unknown.is_empty() {
        // Perhaps the lease has not ended with the record.
        writer.append(1);
    }
    append_other(&other, 3);
    writer.check(&other, 2, cut);

    let seq = other.head().unwrap();
    let snapshot = SharedSnapshot { seq, parts: 2, bytes: 6 };
    assert!(retry_once(|| writer.log.claim(MINUTE)), "{cut:?}");
    for (part, bytes) in [(0, b"one"), (1, b"two")] {
        assert!(retry_once(|| writer.log.write_part(seq, part, bytes, MINUTE)), "{cut:?}");
    }
    match writer.log.complete(snapshot) {
        Ok(is_complete) => assert!(is_complete, "{cut:?}"),
        Err(error) => {
            assert_eq!(error.code, Code::Unavailable, "{cut:?}: {error}");
            // A snapshot that may be complete is looked for before it is written again. Even then, the first call may
            // complete it in between.
            if writer.log.newest().unwrap().is_none()
                && let Err(error) = writer.log.complete(snapshot)
            {
                assert!(other.newest().unwrap().is_some(), "{cut:?}: {error}");
            }
        }
    }
    assert_eq!(retry_once(|| writer.log.newest()), Some(snapshot), "{cut:?}");
    assert_eq!(retry_once(|| writer.log.read_part(seq, 1)), Some(b"two".to_vec()), "{cut:?}");

    let deleted = DeletedHistory { last: seq - 1, erased: 0, origin: [9; 16] };
    assert!(retry_once(|| writer.log.delete_until(deleted)), "{cut:?}");
    assert_eq!(retry_once(|| writer.log.deleted()), deleted, "{cut:?}");
    retry_once(|| writer.log.delete_unneeded(seq));
    retry_once(|| writer.log.release());
    let kept: Vec<u64> = other.read(0, 1000).unwrap().iter().map(|record| record.seq).collect();
    assert_eq!(kept, [seq], "{cut:?}");
    assert!(other.claim(MINUTE).unwrap(), "{cut:?}: the claim was released");
    let messages = proxy.messages();
    // A connection of which only the last messages are cut fails in the next call.
    writer.retries = true;
    writer.append(1);
    assert_eq!(other.head().unwrap(), seq + 1, "{cut:?}");
    messages
}

/// Which messages of a history are cut.
#[derive(Clone, Copy)]
struct CutSelection {
    /// The interval between two messages that are cut.
    every: u64,
    /// Whether each of them is cut at every [`CutPoint`], each in a history of its own. Otherwise, each is cut at one
    /// point, in turn.
    all_points: bool,
}

/// Cuts connections of a history, each in a run of its own.
fn cut_everywhere(cuts: CutSelection, run: impl Fn(&TestServer, &str, Option<Cut>, bool) -> u64 + Sync) {
    let Some(server) = TestServer::start() else { return };
    let messages = run(&server, "uncut", None, true);
    assert!(messages > 100, "the history has only {messages} messages");
    let points = if cuts.all_points { CutPoint::ALL.len() as u64 } else { 1 };
    let next = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..PARALLEL {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let message = 1 + at / points * cuts.every;
                    if message > messages {
                        return;
                    }
                    let point = CutPoint::ALL[(at / points + at) as usize % CutPoint::ALL.len()];
                    let cut = Cut { message, point };
                    run(&server, &format!("cut-{at}"), Some(cut), at.is_multiple_of(2));
                }
            });
        }
    });
}

#[test]
fn calls_lose_and_repeat_nothing_wherever_a_connection_is_cut() {
    cut_everywhere(CutSelection { every: 4, all_points: false }, run_calls);
}

#[test]
fn stores_lose_and_repeat_nothing_wherever_a_connection_is_cut() {
    cut_everywhere(CutSelection { every: 10, all_points: false }, run_stores);
}

#[test]
#[ignore = "cuts two histories at every message in three ways, which takes minutes; `just reliability full R22` runs it"]
fn calls_and_stores_lose_and_repeat_nothing_however_a_connection_is_cut() {
    cut_everywhere(CutSelection { every: 1, all_points: true }, run_calls);
    cut_everywhere(CutSelection { every: 1, all_points: true }, run_stores);
}

fn open(folder: &std::path::Path, log: Arc<PostgresLog>) -> Result<Store> {
    Store::open_shared(folder, "", Vec::new(), log, CopyStart::Snapshot)
}

/// Notes that were written, and those of which this is not known.
#[derive(Default)]
struct WrittenNotes {
    acknowledged: BTreeSet<u64>,
    unknown: BTreeSet<u64>,
}

impl WrittenNotes {
    /// Writes notes at the same time, each in a transaction of its own, which the store appends in groups.
    fn write(&mut self, store: &Store, numbers: std::ops::RangeInclusive<u64>) {
        let put = |number: u64| {
            let cause = Cause::new(Timestamp(7), "manual", "test");
            store.transact(cause, |tx| tx.put_node(&node(number)))
        };
        let results: Vec<(u64, Result<()>)> = std::thread::scope(|scope| {
            let running: Vec<_> =
                numbers.map(|number| (number, scope.spawn(move || put(number).map(|_| ())))).collect();
            running.into_iter().map(|(number, thread)| (number, thread.join().unwrap())).collect()
        });
        for (number, result) in results {
            match result {
                Ok(()) => self.acknowledged.insert(number),
                Err(error) => {
                    assert_eq!(error.code, Code::Unavailable, "{error}");
                    self.unknown.insert(number)
                }
            };
        }
    }

    /// Checks that a store has every acknowledged note, and no note that was not written.
    fn check(&self, store: &Store, cut: Option<Cut>) -> u64 {
        let found: BTreeSet<u64> =
            store.scan::<Node>(&[]).unwrap().iter().map(|(_, node)| node.key[1..].parse().unwrap()).collect();
        let lost: Vec<&u64> = self.acknowledged.difference(&found).collect();
        assert!(lost.is_empty(), "{cut:?}: {lost:?} were acknowledged and are lost");
        let more: Vec<&u64> = found.difference(&self.acknowledged).collect();
        assert!(more.iter().all(|number| self.unknown.contains(number)), "{cut:?}: {more:?}");
        found.len() as u64
    }
}

/// Waits until a store accepts writes and has the records up to a number.
fn wait_until_writable(store: &Store, seq: u64, cut: Option<Cut>) {
    assert!(
        store.wait_published(seq, WAIT_TIMEOUT),
        "{cut:?}: it does not catch up: {:?}",
        store.read_only()
    );
    let deadline = std::time::Instant::now() + WAIT_TIMEOUT;
    while let Some(reason) = store.read_only() {
        assert!(std::time::Instant::now() < deadline, "{cut:?}: it does not recover: {reason:?}");
        std::thread::yield_now();
    }
}

/// Makes a call to a store whose connection may be cut, until the store has recovered. The store may notice the cut only
/// while the call is made again, so it may fail more than once.
fn retry_until_recovered<T>(store: &Store, cut: Option<Cut>, call: impl Fn() -> Result<T>) -> T {
    let deadline = std::time::Instant::now() + WAIT_TIMEOUT;
    loop {
        match call() {
            Ok(value) => return value,
            Err(error) => {
                assert_eq!(error.code, Code::Unavailable, "{cut:?}: {error}");
                assert!(std::time::Instant::now() < deadline, "{cut:?}: it does not recover: {error}");
            }
        }
        wait_until_writable(store, store.published_seq(), cut);
    }
}

/// Runs a history of two stores over one log, and cuts a connection of the first one. Returns the number of messages.
fn run_stores(server: &TestServer, name: &str, cut: Option<Cut>, _: bool) -> u64 {
    init(&location(server, name)).unwrap();
    let proxy = CuttingProxy::start(server);
    proxy.plan(cut);
    let callbacks = CompactionCallbacks { progress: &|_, _| {}, check_cancelled: &|| Ok(()) };
    let folders = [(); 3].map(|()| poc_graph::testing::folder());
    let log = |number: u8, location: LogLocation| {
        Arc::new(PostgresLog::new(location, [number; 16], format!("store {number}")))
    };
    let other = open(folders[1].path(), log(2, location(server, name))).unwrap();
    let cut_log = log(1, through(&proxy, server, name));
    let first = retry_once(|| open(folders[0].path(), cut_log.clone()));
    let mut written = WrittenNotes::default();
    let head = || log(9, location(server, name)).head().unwrap();

    written.write(&first, 1..=1);
    wait_until_writable(&first, head(), cut);
    written.write(&first, 2..=5);
    wait_until_writable(&first, head(), cut);
    written.write(&other, 6..=6);
    wait_until_writable(&first, head(), cut);
    retry_once(|| cut_log.lease(Duration::from_secs(2)));
    written.write(&first, 7..=7);
    wait_until_writable(&first, head(), cut);
    written.write(&other, 8..=8);
    wait_until_writable(&first, head(), cut);

    let made = retry_until_recovered(&first, cut, || first.make_snapshot(1, &callbacks));
    // A first call without an answer may have made it.
    assert!(
        made.is_some() || retry_until_recovered(&first, cut, || first.newest_snapshot()).is_some(),
        "{cut:?}: {made:?}"
    );
    written.write(&other, 9..=9);
    wait_until_writable(&first, head(), cut);
    wait_until_writable(&other, head(), cut);
    // As many records as notes: none was applied twice.
    assert_eq!(written.check(&other, cut), head(), "{cut:?}");
    let deleted =
        retry_until_recovered(&first, cut, || first.delete_shared_history(Timestamp::LATEST, 1, &callbacks));
    let begins = retry_until_recovered(&first, cut, || first.first_shared());
    assert!(deleted.is_some() || begins.is_some(), "{cut:?}: no history was deleted");
    written.write(&first, 10..=10);
    wait_until_writable(&first, head(), cut);
    wait_until_writable(&other, head(), cut);
    let messages = proxy.messages();

    let notes = written.check(&first, cut);
    assert_eq!((written.check(&other, cut), notes), (notes, head()), "{cut:?}");
    // A new store begins with what is left of the log.
    let new = open(folders[2].path(), log(3, location(server, name))).unwrap();
    assert_eq!(written.check(&new, cut), notes, "{cut:?}");
    messages
}
