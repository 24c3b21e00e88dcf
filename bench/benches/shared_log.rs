//! Writes to a shared log in PostgreSQL, compared with plain inserts of the same number of bytes into a table of the
//! same server.
//!
//! Stores over one log insert small records with 1, 8 and 32 clients in all. The peer commits the same bytes with an
//! `INSERT` of as many rows as the store's groups have on average, on one connection. A second peer has no
//! store: as many clients as write to one store hand their bytes to a thread, which inserts all waiting ones together,
//! and wait for its answer. The bench then measures the time from a commit of one store until another store shows it, compared
//! with `NOTIFY` and the receipt of the notification, and how fast a new store follows. Finally, it measures how long a
//! new memory takes to begin with a snapshot until it is complete, compared with copying the bytes of the snapshot,
//! including its derived files, into a file.
//!
//! `cargo bench -p poc-bench --bench shared_log [-- WRITES [NOTES]]`, with the notes of the snapshot

#![allow(
    missing_docs,
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a bench"
)]

use poc_bench::graph::NOW;
use poc_bench::measure::{Measurement, Report, median, percentile, timed};
use poc_bench::notes::{self, Writer};
use poc_config::Config;
use poc_config::paths::Paths;
use poc_graph::rng::SeededRng;
use poc_graph::testing::node;
use poc_graph::time::{ManualClock, Timestamp};
use poc_notes::Memory;
use poc_postgres::testing::TestServer;
use poc_postgres::{LogLocation, LogSettings, PostgresLog, init};
use poc_store::{Cause, CompactionCallbacks, CopyStart, FIRST_FILE_PART, SnapshotStore, Store};
use std::fs::File;
use std::future::poll_fn;
use std::io::Write;
use std::iter::once;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio_postgres::{AsyncMessage, Client, NoTls, Statement};

const TIMEOUT: Duration = Duration::from_secs(60);
/// Notes of the log that a new store reads, and clients that write them.
const FOLLOWED: u64 = 20_000;
const CLIENTS: u64 = 32;
/// Notes that are made and embedded at once for the snapshot.
const CHUNK: u64 = 2000;
/// Rounds of the measurement of visibility.
const ROUNDS: u64 = 300;

fn main() {
    let Some(server) = TestServer::start_with(true) else { return };
    let mut numbers = std::env::args().skip(1).filter_map(|argument| argument.parse().ok());
    let writes: u64 = numbers.next().unwrap_or(2000);
    let snapshot_notes: u64 = numbers.next().unwrap_or(FOLLOWED);
    let mut report = Report::new("shared_log");
    for stores in [1, 2, 4] {
        for clients in [1, 8, 32] {
            if clients >= stores {
                appends(&mut report, &server, stores, clients, writes);
            }
        }
    }
    visibility(&mut report, &server);
    beginning(&mut report, &server, snapshot_notes);
    report.save();
}

fn location(server: &TestServer, name: &str) -> LogLocation {
    let settings = LogSettings {
        address: server.address(),
        store: name.into(),
        password: None,
        password_file: None,
        ca_file: None,
        connect_timeout: TIMEOUT,
        timeout: TIMEOUT,
        poll: Duration::from_secs(1),
    };
    LogLocation::new(settings).unwrap()
}

/// Stores over the log of a name.
fn open(server: &TestServer, name: &str, count: usize) -> Vec<(TempDir, Store)> {
    init(&location(server, name)).unwrap();
    let one = |number: usize| {
        let folder = tempfile::tempdir().unwrap();
        let log = PostgresLog::new(location(server, name), [number as u8; 16], number.to_string());
        let store =
            Store::open_shared(folder.path(), "", Vec::new(), Arc::new(log), CopyStart::History).unwrap();
        (folder, store)
    };
    (0..count).map(one).collect()
}

fn put(store: &Store, number: u64) -> u64 {
    let cause = Cause::new(Timestamp(7), "manual", "bench");
    store.transact(cause, |tx| tx.put_node(&node(number))).unwrap().seq
}

fn appends(report: &mut Report, server: &TestServer, stores: usize, clients: usize, writes: u64) {
    let name = format!("appends-{stores}-{clients}");
    let all = open(server, &name, stores);
    let (next, slow) = (AtomicU64::new(1), Mutex::new(Vec::new()));
    let (seconds, ()) = timed(|| {
        std::thread::scope(|scope| {
            for client in 0..clients {
                let (next, slow, store) = (&next, &slow, &all[client % stores].1);
                scope.spawn(move || {
                    let mut own = Vec::new();
                    loop {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        if number > writes {
                            break;
                        }
                        own.push(timed(|| put(store, number)).0);
                    }
                    slow.lock().unwrap().extend(own);
                });
            }
        });
    });
    let bytes = all[0].1.sizes().unwrap().log / writes;
    let group = (clients / stores).max(1);
    let peer = inserts(server, &name, writes, group, bytes as usize);
    let grouped = grouped_inserts(server, &name, writes, clients / stores, bytes as usize);
    let conflicts: u64 = all.iter().map(|(_, store)| store.shared_log().unwrap().conflicts).sum();
    let p99 = percentile(slow.into_inner().unwrap(), 0.99) * 1e3;
    let work = format!("{clients} clients over {stores} stores");
    let speed = writes as f64 / seconds;
    let note = format!(
        "p99 {p99:.1} ms, {conflicts} conflicts, peer in groups of {group}, {bytes} bytes each; {:.2} of {grouped:.0} \
         inserts/s by {} clients without a store",
        speed / grouped,
        clients / stores
    );
    let line = Measurement::amount(work, writes as usize, speed, "writes/s");
    report.add(line.with_peer("INSERT", Some(peer)).note(note));
}

/// A runtime of the calling thread, for bare connections.
fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

/// A bare connection to the server. The receiver gets a value for each notification.
async fn connect(server: &TestServer) -> (Client, UnboundedReceiver<()>) {
    let (client, mut connection) = tokio_postgres::connect(&server.address(), NoTls).await.unwrap();
    let (sender, receiver) = unbounded_channel();
    tokio::spawn(async move {
        while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
            if matches!(message, AsyncMessage::Notification(_)) {
                // Nobody waits for the notifications of a connection that inserts.
                let _ = sender.send(());
            }
        }
    });
    (client, receiver)
}

/// A connection to a new table of rows with a number and bytes, and the statement that inserts rows after a number.
async fn create_table(server: &TestServer, name: &str) -> (Client, Statement) {
    let table = name.replace('-', "_");
    let (client, _) = connect(server).await;
    let create = format!("CREATE TABLE {table} (id INT8 PRIMARY KEY, payload BYTEA NOT NULL)");
    client.batch_execute(&create).await.unwrap();
    let insert =
        format!("INSERT INTO {table} SELECT $1 + n, p FROM unnest($2::BYTEA[]) WITH ORDINALITY AS r (p, n)");
    let insert = client.prepare(&insert).await.unwrap();
    (client, insert)
}

/// Rows a second that bare inserts of groups of rows commit.
fn inserts(server: &TestServer, name: &str, rows: u64, group: usize, bytes: usize) -> f64 {
    let runtime = runtime();
    let (client, insert) = runtime.block_on(create_table(server, &format!("bare-{name}")));
    let payload = vec![7u8; bytes];
    let payloads: Vec<&[u8]> = vec![payload.as_slice(); group];
    let groups = rows as usize / group;
    let (seconds, ()) = timed(|| {
        runtime.block_on(async {
            for number in 0..groups {
                client.execute(&insert, &[&((number * group) as i64), &payloads]).await.unwrap();
            }
        });
    });
    (groups * group) as f64 / seconds
}

/// Rows a second that threads commit through one connection, each one row at a time. A thread that inserts takes all rows
/// that wait.
fn grouped_inserts(server: &TestServer, name: &str, rows: u64, clients: usize, bytes: usize) -> f64 {
    let runtime = runtime();
    let (client, insert) = runtime.block_on(create_table(server, &format!("grouped-{name}")));
    let payload = vec![7u8; bytes];
    let (queue, waiting) = channel();
    let next = AtomicU64::new(1);
    let (seconds, ()) = timed(|| {
        std::thread::scope(|scope| {
            for _ in 0..clients {
                let (next, queue) = (&next, queue.clone());
                scope.spawn(move || {
                    let (answer, answered) = channel();
                    while next.fetch_add(1, Ordering::Relaxed) <= rows {
                        queue.send(answer.clone()).unwrap();
                        answered.recv().unwrap();
                    }
                });
            }
            drop(queue);
            let mut inserted = 0;
            while let Ok(first) = waiting.recv() {
                let group: Vec<Sender<()>> = once(first).chain(waiting.try_iter()).collect();
                let payloads = vec![payload.as_slice(); group.len()];
                runtime.block_on(client.execute(&insert, &[&inserted, &payloads])).unwrap();
                inserted += group.len() as i64;
                group.iter().for_each(|answer| answer.send(()).unwrap());
            }
        });
    });
    rows as f64 / seconds
}

fn visibility(report: &mut Report, server: &TestServer) {
    let all = open(server, "visibility", 2);
    let (writer, reader) = (&all[0].1, &all[1].1);
    let mut seen = Vec::new();
    for number in 1..=ROUNDS {
        let seq = put(writer, number);
        // From the acknowledgement on.
        seen.push(timed(|| assert!(reader.wait_published(seq, TIMEOUT))).0);
    }
    let mut notified = Vec::new();
    runtime().block_on(async {
        let ((listening, mut notifications), (notifying, _)) = (connect(server).await, connect(server).await);
        listening.batch_execute("LISTEN bench").await.unwrap();
        for _ in 0..ROUNDS {
            let started = Instant::now();
            notifying.batch_execute("NOTIFY bench").await.unwrap();
            tokio::time::timeout(TIMEOUT, notifications.recv()).await.unwrap().unwrap();
            notified.push(started.elapsed().as_secs_f64());
        }
    });
    let p99 = percentile(seen.clone(), 0.99) * 1e3;
    let line =
        Measurement::amount("from a commit to visible in another", ROUNDS as usize, median(seen) * 1e3, "ms");
    report.add(line.with_peer("NOTIFY", Some(median(notified) * 1e3)).note(format!("p99 {p99:.1} ms")));
    std::thread::scope(|scope| {
        for client in 0..CLIENTS {
            let own = client * FOLLOWED / CLIENTS..(client + 1) * FOLLOWED / CLIENTS;
            scope.spawn(move || own.for_each(|number| assert!(put(writer, 1000 + number) > 0)));
        }
    });
    let (seconds, fresh) = timed(|| open(server, "visibility", 1));
    let changes = fresh[0].1.last_seq();
    report.add(Measurement::amount(
        "a new store reads the log",
        changes as usize,
        changes as f64 / seconds,
        "changes/s",
    ));
}

/// Times until a new memory has begun with a snapshot of `count` notes, accepts a write and has all indexes.
fn beginning(report: &mut Report, server: &TestServer, count: u64) {
    let name = "beginning";
    init(&location(server, name)).unwrap();
    let memory = |folder: &TempDir, number: u8| {
        let log = Arc::new(PostgresLog::new(location(server, name), [number; 16], number.to_string()));
        let (paths, clock) = (Paths::in_folder(folder.path()), Arc::new(ManualClock::new(NOW)));
        let rng = Arc::new(SeededRng::new(u64::from(number)));
        Memory::open_shared(paths, Config::defaults().unwrap(), clock, rng, log).unwrap()
    };
    let folder = tempfile::tempdir().unwrap();
    let first = memory(&folder, 1);
    let writer = Writer::new(7);
    for _ in 0..count.div_ceil(CHUNK) {
        let written: Vec<_> = (0..CHUNK).map(|_| writer.note()).collect();
        notes::store(&first, &written);
    }
    let callbacks = CompactionCallbacks { progress: &|_, _| {}, check_cancelled: &|| Ok(()) };
    let (making, made) = timed(|| first.store.make_snapshot(1, &callbacks).unwrap().unwrap());
    drop(first);

    let log = PostgresLog::new(location(server, name), [9; 16], "bench".into());
    let copied = tempfile::tempdir().unwrap();
    let (copying, bytes) = timed(|| {
        let mut file = File::create(copied.path().join("snapshot")).unwrap();
        let parts = (0..made.parts).chain(FIRST_FILE_PART..);
        for part in parts.map_while(|part| log.read_part(made.seq, part).unwrap()) {
            file.write_all(&part).unwrap();
        }
        file.sync_all().unwrap();
        file.metadata().unwrap().len()
    });
    let folder = tempfile::tempdir().unwrap();
    let (reading, second) = timed(|| memory(&folder, 2));
    let (writing, _) = timed(|| put(&second.store, 1));
    let (completing, ()) = timed(|| second.store.settle());
    let (all, segment) = (bytes >> 20, made.bytes >> 20);
    let total = reading + writing + completing;
    let line = Measurement::time("a new memory begins with a snapshot", count as usize, total);
    let note = format!(
        "{all} MiB, {segment} MiB without files; opened in {reading:.1} s, writable after {:.1} s, made in {making:.1} s",
        reading + writing
    );
    report.add(line.with_peer("copy", Some(copying)).within(60.0).note(note));
}
