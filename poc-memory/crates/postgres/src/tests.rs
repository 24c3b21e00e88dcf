//! Tests of the log with a real server; skipped if PostgreSQL is not installed.

use super::testing::{Proxy, TestServer};
use super::*;
use crate::database_client::DatabaseClient;
use poc_graph::error::Code;
use poc_store::{FIRST_FILE_PART, SharedSnapshot};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

mod cut_connections;
mod other_clock;

pub(super) const MINUTE: Duration = Duration::from_secs(60);

fn settings(server: &TestServer, store: &str) -> LogSettings {
    LogSettings { address: server.address(), ..settings_without_address(store) }
}

pub(super) fn settings_without_address(store: &str) -> LogSettings {
    LogSettings {
        address: String::new(),
        store: store.into(),
        password: None,
        password_file: None,
        ca_file: None,
        connect_timeout: Duration::from_secs(10),
        timeout: Duration::from_secs(10),
        poll: Duration::from_millis(500),
    }
}

pub(super) fn location(server: &TestServer, store: &str) -> LogLocation {
    LogLocation::new(settings(server, store)).unwrap()
}

pub(super) fn log(server: &TestServer, writer: u8) -> PostgresLog {
    PostgresLog::new(location(server, "a"), [writer; 16], format!("writer {writer}"))
}

/// A log whose waiting reader is woken by notifications only.
pub(super) fn log_without_polling(server: &TestServer) -> PostgresLog {
    let settings = LogSettings { poll: Duration::from_secs(3600), ..settings(server, "a") };
    PostgresLog::new(LogLocation::new(settings).unwrap(), [1; 16], "waiting".into())
}

/// A connection for statements of the test, as long as the test needs it.
pub(super) fn admin(server: &TestServer) -> DatabaseClient {
    let mut client = location(server, "a").connect().unwrap();
    client.limit_calls(MINUTE);
    client
}

/// Appends one record. Its payload is its number, which is also the writer's own number of it.
pub(super) fn append(log: &PostgresLog, number: u64, expected: u64) -> AppendOutcome {
    let payload = number.to_le_bytes();
    log.append(&[NewSharedRecord { writer_seq: number, payload: &payload }], expected).unwrap()
}

/// Maximum time that a test waits for the server.
pub(super) const WAIT_TIMEOUT: Duration = Duration::from_secs(20);

#[test]
fn the_schema_is_made_once_and_a_newer_one_is_refused() {
    let Some(server) = TestServer::start() else { return };
    let missing = log(&server, 1).head().unwrap_err();
    assert_eq!(missing.code, Code::InvalidConfig);
    assert!(missing.hint.unwrap().contains("store init"));
    let made = init(&location(&server, "a")).unwrap();
    assert_eq!(made, InitReport { from: 0, to: 3, is_new: true, head: 0 });
    append(&log(&server, 1), 1, 0);
    let again = init(&location(&server, "a")).unwrap();
    assert_eq!(again, InitReport { from: 3, to: 3, is_new: false, head: 1 });
    assert_eq!(init(&location(&server, "b")).unwrap(), InitReport { is_new: true, head: 0, ..again });
    let other = PostgresLog::new(location(&server, "c"), [1; 16], String::new());
    assert!(other.head().unwrap_err().message.contains("no store `c`"));
    server.execute("INSERT INTO poc_memory_schema (version) VALUES (9)");
    let newer = init(&location(&server, "a")).unwrap_err();
    assert_eq!(newer.code, Code::Conflict);
    assert_eq!(log(&server, 2).head().unwrap_err().code, Code::Conflict);
}

#[test]
fn stores_are_added_at_the_same_time() {
    let Some(server) = TestServer::start() else { return };
    let names: Vec<String> = (0..16).map(|number| format!("store-{}", number / 2)).collect();
    let reports: Vec<InitReport> = std::thread::scope(|scope| {
        let running: Vec<_> =
            names.iter().map(|name| scope.spawn(|| init(&location(&server, name)).unwrap())).collect();
        running.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(reports.iter().filter(|report| report.is_new).count(), 8, "{reports:?}");
    for name in names.iter().step_by(2) {
        let log = PostgresLog::new(location(&server, name), [1; 16], String::new());
        assert_eq!(append(&log, 1, 0), AppendOutcome::Appended, "{name}");
    }
}

#[test]
fn only_the_expected_head_is_appended_to() {
    let Some(server) = TestServer::start() else { return };
    init(&location(&server, "a")).unwrap();
    init(&location(&server, "b")).unwrap();
    let (first, second) = (log(&server, 1), log(&server, 2));
    assert_eq!(append(&first, 1, 0), AppendOutcome::Appended);
    assert_eq!(append(&second, 1, 0), AppendOutcome::Conflict);
    assert_eq!(append(&second, 1, 2), AppendOutcome::Conflict);
    let payloads: Vec<Vec<u8>> = (2u64..=4).map(|number| number.to_le_bytes().to_vec()).collect();
    let records: Vec<NewSharedRecord<'_>> =
        (2..).zip(&payloads).map(|(writer_seq, payload)| NewSharedRecord { writer_seq, payload }).collect();
    assert_eq!(second.append(&records, 1).unwrap(), AppendOutcome::Appended);
    // This repeats an append whose response was lost.
    assert_eq!(second.append(&records, 1).unwrap(), AppendOutcome::Conflict);
    assert_eq!(second.append(&records, 4).unwrap(), AppendOutcome::Conflict, "no number is used twice");
    assert_eq!(first.head().unwrap(), 4);
    let read = first.read(1, 2).unwrap();
    assert_eq!(
        read.iter().map(|record| (record.seq, record.writer_seq)).collect::<Vec<_>>(),
        [(2, 2), (3, 3)]
    );
    assert_eq!((read[0].writer, &read[0].payload), ([2; 16], &payloads[0]));
    assert_eq!(first.read(4, 10).unwrap(), []);
    let other = PostgresLog::new(location(&server, "b"), [1; 16], String::new());
    assert_eq!(other.read(0, 10).unwrap(), [], "another store of the database");
}

#[test]
fn a_page_ends_after_its_bytes_and_has_at_least_one_record() {
    let Some(server) = TestServer::start() else { return };
    init(&location(&server, "a")).unwrap();
    let log = log(&server, 1);
    let payload = vec![7; 5 << 20];
    for number in 1..=4 {
        log.append(&[NewSharedRecord { writer_seq: number, payload: &payload }], number - 1).unwrap();
    }
    let count = |after| log.read(after, 100).unwrap().len();
    assert_eq!([count(0), count(2), count(3), count(4)], [2, 2, 1, 0]);
}

#[test]
fn a_lease_lets_one_writer_append() {
    let Some(server) = TestServer::start() else { return };
    init(&location(&server, "a")).unwrap();
    let (first, second) = (log(&server, 1), log(&server, 2));
    assert!(first.lease(MINUTE).unwrap());
    assert!(!second.lease(MINUTE).unwrap());
    assert_eq!(append(&second, 1, 0), AppendOutcome::Leased);
    assert_eq!(append(&first, 1, 0), AppendOutcome::Appended);
    assert_eq!(append(&second, 2, 1), AppendOutcome::Appended, "an append ends the lease");
    assert!(second.lease(Duration::from_nanos(1)).unwrap());
    assert_eq!(append(&first, 2, 2), AppendOutcome::Appended, "a lease ends by the clock of the database");
}

#[test]
fn a_waiting_writer_is_woken_and_seen_by_others() {
    let Some(server) = TestServer::start() else { return };
    init(&location(&server, "a")).unwrap();
    let waiting = log_without_polling(&server);
    assert_eq!(waiting.wait(0, Duration::ZERO).unwrap(), 0);
    let writing = log(&server, 2);
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| waiting.wait(0, WAIT_TIMEOUT).unwrap());
        append(&writing, 1, 0);
        assert_eq!(thread.join().unwrap(), 1);
    });
    let peers = writing.peers().unwrap();
    let seen = peers.iter().map(|peer| (peer.writer, peer.name.as_str(), peer.head, peer.is_alive()));
    assert_eq!(seen.collect::<Vec<_>>(), [([1; 16], "waiting", 0, true)]);
    let rights = || -> Vec<(bool, bool)> {
        writing.peers().unwrap().iter().map(|peer| (peer.has_lease, peer.has_claim)).collect()
    };
    assert_eq!(rights(), [(false, false)]);
    assert!(waiting.lease(WAIT_TIMEOUT).unwrap());
    assert_eq!(rights(), [(true, false)]);
    assert!(waiting.claim(WAIT_TIMEOUT).unwrap());
    append(&waiting, 1, 1);
    assert_eq!(rights(), [(false, true)]);
    waiting.release().unwrap();
    assert_eq!(rights(), [(false, false)]);
}

#[test]
fn a_writer_that_ends_is_not_listed_any_more() {
    let Some(server) = TestServer::start() else { return };
    init(&location(&server, "a")).unwrap();
    let (first, second) = (log(&server, 1), log(&server, 2));
    assert_eq!((first.head().unwrap(), second.wait(0, Duration::ZERO).unwrap()), (0, 0));
    assert_eq!(append(&second, 1, 0), AppendOutcome::Appended);
    assert_eq!(first.peers().unwrap().len(), 1);
    drop(second);
    assert_eq!(first.peers().unwrap(), []);
}

#[test]
fn the_database_says_how_long_it_has_been_running() {
    let Some(server) = TestServer::start() else { return };
    init(&location(&server, "a")).unwrap();
    let log = log(&server, 1);
    assert!(log.uptime().unwrap().is_some());
    server.execute("ALTER FUNCTION pg_postmaster_start_time() RENAME TO another_start_time");
    assert_eq!(log.uptime().unwrap(), None, "the database has no such function");
    let start = |time: &str| {
        server.execute(&format!(
            "CREATE OR REPLACE FUNCTION pg_postmaster_start_time() RETURNS TIMESTAMPTZ LANGUAGE sql \
             AS $$ SELECT {time} $$"
        ));
    };
    start("now() - INTERVAL '1 minute'");
    assert_eq!(log.uptime().unwrap(), Some(MINUTE));
    start("now() + INTERVAL '1 minute'");
    assert_eq!(log.uptime().unwrap(), None, "the clock was set back");
}

/// The reader does not poll, so it would wait in vain without a notification.
#[test]
fn readers_are_notified_after_the_connection_for_notifications_was_cut() {
    let Some(server) = TestServer::start() else { return };
    init(&location(&server, "a")).unwrap();
    let waiting = log_without_polling(&server);
    assert_eq!(waiting.wait(0, Duration::ZERO).unwrap(), 0);
    let writing = log(&server, 2);
    for number in 1..=4 {
        assert_eq!(append(&writing, number, number - 1), AppendOutcome::Appended);
        assert_eq!(waiting.wait(number - 1, WAIT_TIMEOUT).unwrap(), number);
        server.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
             WHERE query LIKE '%pg_notify(%' AND pid <> pg_backend_pid()",
        );
    }
}

#[test]
fn writers_that_compete_leave_no_gap_and_lose_nothing() {
    let Some(server) = TestServer::start() else { return };
    init(&location(&server, "a")).unwrap();
    let logs: Vec<Arc<PostgresLog>> = (1..=4).map(|writer| Arc::new(log(&server, writer))).collect();
    std::thread::scope(|scope| {
        for log in &logs {
            scope.spawn(|| {
                for number in 1..=50 {
                    while append(log, number, log.head().unwrap()) != AppendOutcome::Appended {}
                }
            });
        }
    });
    let records = logs[0].read(0, 1000).unwrap();
    assert_eq!(records.iter().map(|record| record.seq).collect::<Vec<_>>(), (1..=200).collect::<Vec<_>>());
    let own: BTreeSet<_> = records.iter().map(|record| (record.writer, record.writer_seq)).collect();
    assert_eq!(own.len(), 200);
}

/// Databases such as CockroachDB run every statement in a serializable transaction, and roll some of them back.
#[test]
fn statements_that_the_database_rolls_back_are_repeated() {
    let Some(server) = TestServer::start() else { return };
    init(&location(&server, "a")).unwrap();
    server.execute("ALTER DATABASE postgres SET default_transaction_isolation = 'serializable'");
    let logs: Vec<Arc<PostgresLog>> = (1..=4).map(|writer| Arc::new(log(&server, writer))).collect();
    std::thread::scope(|scope| {
        for log in &logs {
            scope.spawn(|| {
                for number in 1..=30 {
                    while append(log, number, log.head().unwrap()) != AppendOutcome::Appended {}
                    if log.claim(MINUTE).unwrap() {
                        // Another writer may have completed one of this number.
                        write_snapshot(log, log.head().unwrap());
                        log.release().unwrap();
                    }
                    log.lease(Duration::from_nanos(1)).unwrap();
                }
            });
        }
    });
    let records = logs[0].read(0, 1000).unwrap();
    assert_eq!(records.iter().map(|record| record.seq).collect::<Vec<_>>(), (1..=120).collect::<Vec<_>>());
    assert!(logs[0].newest().unwrap().is_some());
}

/// Such databases also roll a statement back if the head has not moved. As a conflict, it would make the store build its
/// transactions again, and after a few of them accept no writes.
#[test]
fn an_append_that_the_database_rolls_back_is_no_conflict() {
    let Some(server) = TestServer::start() else { return };
    init(&location(&server, "a")).unwrap();
    // The values of a sequence are not rolled back.
    server.execute(
        "CREATE SEQUENCE attempts; \
         CREATE FUNCTION roll_back() RETURNS TRIGGER LANGUAGE plpgsql AS $$ BEGIN \
           IF nextval('attempts') <= 5 THEN \
             RAISE EXCEPTION 'rolled back' USING ERRCODE = 'serialization_failure'; \
           END IF; \
           RETURN NEW; \
         END $$; \
         CREATE TRIGGER roll_back BEFORE INSERT ON poc_memory_log FOR EACH ROW EXECUTE FUNCTION roll_back()",
    );
    let log = log(&server, 1);
    assert_eq!(append(&log, 1, 0), AppendOutcome::Appended);
    assert_eq!(append(&log, 2, 0), AppendOutcome::Conflict);
    assert_eq!(log.head().unwrap(), 1);
}

/// Writes a snapshot of two parts, and a part with files.
fn write_snapshot(log: &PostgresLog, seq: u64) -> bool {
    log.write_part(seq, 0, b"one", MINUTE).unwrap()
        && log.write_part(seq, 1, b"two", MINUTE).unwrap()
        && log.write_part(seq, FIRST_FILE_PART, b"files", MINUTE).unwrap()
        && log.complete(SharedSnapshot { seq, parts: 2, bytes: 6 }).unwrap()
        && log.delete_unneeded(1).is_ok()
}

#[test]
fn the_newest_two_snapshots_stay_and_an_incomplete_one_does_not_count() {
    let Some(server) = TestServer::start() else { return };
    init(&location(&server, "a")).unwrap();
    init(&location(&server, "b")).unwrap();
    let log = log(&server, 1);
    (0..12).for_each(|head| assert_eq!(append(&log, head + 1, head), AppendOutcome::Appended));
    assert_eq!(log.newest().unwrap(), None);
    for seq in [3, 5, 9] {
        assert!(log.claim(MINUTE).unwrap());
        assert!(write_snapshot(&log, seq));
        log.release().unwrap();
        assert_eq!(log.newest().unwrap(), Some(SharedSnapshot { seq, parts: 2, bytes: 6 }));
    }
    let part = |seq, part| log.read_part(seq, part).unwrap();
    assert_eq!((part(3, 0), part(9, 1), part(9, 2)), (None, Some(b"two".to_vec()), None));
    let files = [3, 9].map(|seq| part(seq, FIRST_FILE_PART));
    assert_eq!(files, [None, Some(b"files".to_vec())], "they are deleted with their snapshot");
    assert_eq!(part(5, 0), Some(b"one".to_vec()), "a store may be reading it");
    assert!(log.claim(MINUTE).unwrap());
    assert!(log.write_part(12, 0, b"one", MINUTE).unwrap());
    assert_eq!(log.newest().unwrap().unwrap().seq, 9);
    assert!(log.claim(MINUTE).unwrap());
    assert_eq!(part(12, 0), None, "leftovers of an interrupted attempt are deleted");
    let other = PostgresLog::new(location(&server, "b"), [1; 16], String::new());
    assert_eq!(other.newest().unwrap(), None, "another store of the database");
    assert_eq!(other.read_part(9, 0).unwrap(), None);
}

#[test]
fn one_writer_writes_a_snapshot_at_a_time() {
    let Some(server) = TestServer::start() else { return };
    init(&location(&server, "a")).unwrap();
    let (first, second) = (log(&server, 1), log(&server, 2));
    (0..5).for_each(|head| assert_eq!(append(&first, head + 1, head), AppendOutcome::Appended));
    assert!(first.claim(MINUTE).unwrap());
    assert!(!second.claim(MINUTE).unwrap());
    assert!(!write_snapshot(&second, 4));
    assert!(!second.complete(SharedSnapshot { seq: 4, parts: 2, bytes: 6 }).unwrap());
    assert_eq!(second.newest().unwrap(), None);
    // The claim expires by the clock of the database, and each part extends it.
    assert!(first.write_part(4, 0, b"one", Duration::from_nanos(1)).unwrap());
    assert_eq!(second.claimed_for().unwrap(), None, "it has ended");
    assert!(first.renew(MINUTE).unwrap());
    let left = second.claimed_for().unwrap().unwrap();
    assert!(left <= MINUTE && left > MINUTE / 2, "{left:?}");
    assert_eq!(first.claimed_for().unwrap(), None, "its own claim");
    assert!(!second.claim(MINUTE).unwrap());
    assert_eq!(first.read_part(4, 0).unwrap(), Some(b"one".to_vec()), "a renewal keeps what is stored");
    assert!(first.renew(Duration::from_nanos(1)).unwrap());
    assert!(second.claim(MINUTE).unwrap());
    assert!(!first.renew(MINUTE).unwrap());
    assert!(!write_snapshot(&first, 4), "the first one is too late");
    assert!(write_snapshot(&second, 4));
    assert!(!first.claim(MINUTE).unwrap());
    first.release().unwrap();
    assert!(!first.claim(MINUTE).unwrap(), "the claim of another writer stays");
    second.release().unwrap();
    assert!(first.claim(MINUTE).unwrap());
    assert!(!first.write_part(4, 0, b"two", MINUTE).unwrap(), "a complete snapshot does not change");
    assert_eq!(first.read_part(4, 0).unwrap(), Some(b"one".to_vec()));
    assert!(first.write_part(9, 0, b"one", MINUTE).unwrap());
    let beyond = SharedSnapshot { seq: 9, parts: 1, bytes: 3 };
    assert!(!first.complete(beyond).unwrap(), "the log does not have this record");
    assert_eq!(first.newest().unwrap().unwrap().seq, 4);
}

#[test]
fn appends_and_reads_do_not_wait_for_a_snapshot() {
    let Some(server) = TestServer::start() else { return };
    init(&location(&server, "a")).unwrap();
    let log = log(&server, 1);
    (0..2).for_each(|head| assert_eq!(append(&log, head + 1, head), AppendOutcome::Appended));
    assert!(log.claim(MINUTE).unwrap());
    // `VACUUM FULL` takes this lock, too.
    let mut admin = admin(&server);
    admin.batch_execute("BEGIN; LOCK TABLE poc_memory_snapshot_part IN ACCESS EXCLUSIVE MODE").unwrap();
    std::thread::scope(|scope| {
        let writing = scope.spawn(|| log.write_part(2, 0, b"one", MINUTE));
        let waiting = "SELECT EXISTS (SELECT 1 FROM pg_locks WHERE NOT granted)";
        while !admin.query_one(waiting, &[]).unwrap().get::<_, bool>(0) {
            assert!(!writing.is_finished(), "it does not wait for the lock");
        }
        assert_eq!(append(&log, 3, 2), AppendOutcome::Appended);
        assert_eq!((log.head().unwrap(), log.read(2, 10).unwrap().len()), (3, 1));
        assert!(!writing.is_finished(), "they have waited");
        admin.batch_execute("COMMIT").unwrap();
        assert!(writing.join().unwrap().unwrap());
    });
    assert!(log.complete(SharedSnapshot { seq: 2, parts: 1, bytes: 3 }).unwrap());
}

#[test]
fn a_snapshot_leaves_no_connection_behind() {
    let Some(server) = TestServer::start() else { return };
    init(&location(&server, "a")).unwrap();
    let (first, second) = (log(&server, 1), log(&server, 2));
    (0..3).for_each(|head| assert_eq!(append(&first, head + 1, head), AppendOutcome::Appended));
    assert!(first.claim(MINUTE).unwrap());
    assert!(!second.claim(MINUTE).unwrap());
    assert!(write_snapshot(&first, 2));
    first.release().unwrap();
    assert_eq!(second.head().unwrap(), 3);
    let mut admin = admin(&server);
    let count = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'poc-memory'";
    let mut connections = || admin.query_one(count, &[]).unwrap().get::<_, i64>(0);
    // The server removes a connection from its list shortly after it has closed it. The others are those of the two
    // writers, of the notifications of the first one, and of this question.
    let deadline = Instant::now() + WAIT_TIMEOUT;
    while connections() != 4 {
        assert!(Instant::now() < deadline, "{} connections", connections());
    }
}

#[test]
fn tables_of_the_first_version_are_upgraded() {
    let Some(server) = TestServer::start() else { return };
    init(&location(&server, "a")).unwrap();
    append(&log(&server, 1), 1, 0);
    server.execute("DROP TABLE poc_memory_snapshot");
    server.execute("DROP TABLE poc_memory_snapshot_part");
    server.execute("DROP TABLE poc_memory_snapshot_claim");
    server
        .execute("ALTER TABLE poc_memory_store DROP COLUMN dropped, DROP COLUMN erased, DROP COLUMN origin, DROP COLUMN copying");
    server.execute("DELETE FROM poc_memory_schema WHERE version >= 2");
    let old = log(&server, 1).head().unwrap_err();
    assert_eq!(old.code, Code::InvalidConfig);
    assert!(old.hint.unwrap().contains("store init"));
    let done = init(&location(&server, "a")).unwrap();
    assert_eq!(done, InitReport { from: 1, to: 3, is_new: false, head: 1 });
    assert_eq!(log(&server, 1).newest().unwrap(), None);
    assert_eq!(log(&server, 1).deleted().unwrap(), DeletedHistory::default());
}

#[test]
fn a_log_is_not_used_before_a_copy_into_it_is_complete() {
    let Some(server) = TestServer::start() else { return };
    init(&location(&server, "a")).unwrap();
    let (first, second, other) = (log(&server, 1), log(&server, 2), log(&server, 3));
    first.begin_copy().unwrap();
    assert_eq!(append(&first, 1, 0), AppendOutcome::Appended);
    assert_eq!(other.head().unwrap_err().code, Code::Conflict);
    drop(first);
    second.begin_copy().unwrap();
    assert_eq!(append(&second, 1, 1), AppendOutcome::Appended);
    second.end_copy().unwrap();
    assert_eq!(other.head().unwrap(), 2);
    // A writer that has opened the empty log before does not append between the records of the copy.
    init(&location(&server, "c")).unwrap();
    let of_c = |writer| PostgresLog::new(location(&server, "c"), [writer; 16], String::new());
    let (early, copier) = (of_c(1), of_c(2));
    assert_eq!(early.head().unwrap(), 0);
    copier.begin_copy().unwrap();
    let payload = [7];
    let refused = early.append(&[NewSharedRecord { writer_seq: 1, payload: &payload }], 0).unwrap_err();
    assert_eq!(refused.code, Code::Conflict, "{refused}");
    assert_eq!(append(&copier, 1, 0), AppendOutcome::Appended);
    copier.end_copy().unwrap();
    assert_eq!(append(&early, 1, 1), AppendOutcome::Appended);
    // The log of a store that has deleted its history begins later.
    init(&location(&server, "b")).unwrap();
    let later = PostgresLog::new(location(&server, "b"), [1; 16], String::new());
    let deleted = DeletedHistory { last: 70, erased: 0, origin: [9; 16] };
    later.begin_copy().unwrap();
    assert!(later.begin_after(deleted).unwrap() && !later.begin_after(deleted).unwrap());
    assert_eq!((later.head().unwrap(), later.deleted().unwrap()), (70, deleted));
    assert_eq!(append(&later, 1, 70), AppendOutcome::Appended);
    assert_eq!(later.read(0, 9).unwrap()[0].seq, 71);
    // A log that has records is complete.
    log(&server, 4).begin_copy().unwrap();
    assert_eq!(log(&server, 5).head().unwrap(), 2);
}

#[test]
fn deleted_records_cannot_be_read_and_others_stay() {
    let Some(server) = TestServer::start() else { return };
    init(&location(&server, "a")).unwrap();
    init(&location(&server, "b")).unwrap();
    let log = log(&server, 1);
    let payload = [7; 40];
    let records: Vec<NewSharedRecord<'_>> =
        (1..=2500).map(|writer_seq| NewSharedRecord { writer_seq, payload: &payload }).collect();
    assert_eq!(log.append(&records, 0).unwrap(), AppendOutcome::Appended);
    let other = PostgresLog::new(location(&server, "b"), [1; 16], String::new());
    assert_eq!(other.append(&records[..3], 0).unwrap(), AppendOutcome::Appended);
    assert!(log.claim(MINUTE).unwrap());
    for seq in [7, 2101, 2400, 2450] {
        assert!(log.write_part(seq, 0, b"one", MINUTE).unwrap());
        assert!(log.complete(SharedSnapshot { seq, parts: 1, bytes: 3 }).unwrap());
    }
    let deleted = DeletedHistory { last: 2100, erased: 0, origin: [9; 16] };
    assert!(log.delete_until(deleted).unwrap());
    assert_eq!(log.deleted().unwrap(), deleted);
    log.delete_unneeded(2101).unwrap();
    let found = |seq| log.find(seq).unwrap().is_some();
    assert_eq!([7, 2101, 2400, 2450].map(found), [false, true, true, true]);
    assert_eq!(
        (log.read_part(7, 0).unwrap(), log.read_part(2101, 0).unwrap()),
        (None, Some(b"one".to_vec()))
    );
    let read = log.read(0, 10_000).unwrap();
    assert_eq!((read[0].seq, read.len(), log.head().unwrap()), (2101, 400, 2500));
    assert!(!log.delete_until(DeletedHistory { last: 2500, ..deleted }).unwrap(), "a record must stay");
    let erased = DeletedHistory { last: 2200, erased: 2200, ..deleted };
    assert!(log.delete_until(erased).unwrap());
    assert!(log.delete_until(DeletedHistory { last: 2150, erased: 0, ..deleted }).unwrap());
    assert_eq!(log.deleted().unwrap(), erased, "the numbers never decrease");
    log.delete_unneeded(2201).unwrap();
    assert_eq!([2101, 2400, 2450].map(found), [false, true, true]);
    assert!(!log.delete_until(DeletedHistory { last: 2450, ..erased }).unwrap(), "no snapshot has the state");
    assert_eq!(log.deleted().unwrap(), erased);
    // A writer that was suspended for a long time cannot complete a snapshot that may contain erased texts or lacks a
    // part.
    assert!(!log.write_part(2200, 0, b"one", MINUTE).unwrap());
    server.execute("INSERT INTO poc_memory_snapshot_part VALUES (1, 2200, 0, 'one')");
    assert!(!log.complete(SharedSnapshot { seq: 2200, parts: 1, bytes: 3 }).unwrap());
    assert!(log.write_part(2460, 0, b"one", MINUTE).unwrap());
    for (parts, bytes) in [(2, 6), (1, 4)] {
        assert!(!log.complete(SharedSnapshot { seq: 2460, parts, bytes }).unwrap());
    }
    let late = PostgresLog::new(location(&server, "a"), [2; 16], String::new());
    late.delete_unneeded(2201).unwrap();
    assert_eq!(log.read_part(2200, 0).unwrap(), None, "nobody can complete it");
    let last = SharedSnapshot { seq: 2460, parts: 1, bytes: 3 };
    assert!(log.complete(last).unwrap(), "only the writer with the claim deletes these parts");
    assert_eq!(append(&log, 2501, 2500), AppendOutcome::Appended);
    assert_eq!(other.read(0, 10).unwrap().len(), 3, "another store of the database");
    assert_eq!(other.deleted().unwrap(), DeletedHistory::default());
}

#[test]
fn a_server_that_crashes_is_reached_again() {
    let Some(server) = TestServer::start() else { return };
    init(&location(&server, "a")).unwrap();
    let log = log(&server, 1);
    append(&log, 1, 0);
    log.wait(0, Duration::ZERO).unwrap();
    server.crash();
    for failed in [log.head().map(drop), log.wait(1, Duration::ZERO).map(drop)] {
        let error = failed.unwrap_err();
        assert_eq!(error.code, Code::Unavailable);
        assert!(error.message.starts_with("log unreachable: `postgres://"), "{error}");
    }
    server.resume();
    assert_eq!(log.head().unwrap(), 1);
    assert_eq!(log.wait(0, Duration::ZERO).unwrap(), 1);
    assert_eq!(append(&log, 2, 1), AppendOutcome::Appended);
}

#[test]
fn the_certificate_of_a_server_is_checked() {
    let Some(server) = TestServer::start_with_tls() else { return };
    let location = |ca_file| {
        let settings = LogSettings { address: server.tls_address(), ca_file, ..settings(&server, "a") };
        LogLocation::new(settings).unwrap()
    };
    let known = location(Some(server.authority()));
    assert!(init(&known).unwrap().is_new);
    let log = PostgresLog::new(known, [1; 16], "one".into());
    assert_eq!(append(&log, 1, 0), AppendOutcome::Appended);
    server.execute(
        "DO $$ BEGIN ASSERT (SELECT bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) \
         WHERE application_name = 'poc-memory'); END $$",
    );
    let error = init(&location(None)).unwrap_err();
    assert_eq!(error.code, Code::Unavailable);
    assert!(error.message.contains("certificate"), "{error}");
    assert!(error.hint.unwrap().contains("`ca-file`"));
}

/// A server of Debian has a certificate that no authority has signed.
#[test]
fn a_server_on_this_machine_is_reached_without_its_authority() {
    let Some(server) = TestServer::start_with_tls() else { return };
    let init_with = |mode: &str, ca_file| {
        let address = server.tls_address().replace("?sslmode=require", mode);
        init(&LogLocation::new(LogSettings { address, ca_file, ..settings(&server, "a") }).unwrap())
    };
    assert!(init_with("", None).unwrap().is_new);
    for mode in ["", "?sslmode=verify-full", "?sslmode=verify-ca"] {
        assert!(!init_with(mode, Some(server.authority())).unwrap().is_new, "{mode}");
    }
    for mode in ["?sslmode=verify-full", "?sslmode=verify-ca"] {
        assert!(init_with(mode, None).unwrap_err().message.contains("certificate"), "{mode}");
    }
}

#[test]
fn a_password_is_read_from_its_file_for_each_connection() {
    let Some(server) = TestServer::start() else { return };
    let folder = poc_graph::testing::folder();
    let file = folder.path().join("password");
    let location = |password: Option<&str>, password_file: Option<PathBuf>| {
        let password = password.map(str::to_owned);
        LogLocation::new(LogSettings { password, password_file, ..settings(&server, "a") }).unwrap()
    };
    init(&location(None, None)).unwrap();
    server.require_password("hunter2");
    for (wrong, why) in [(None, "password missing"), (Some("hunter3"), "authentication failed")] {
        let error = location(wrong, None).connect().err().unwrap();
        assert_eq!(error.code, Code::Unavailable);
        assert!(error.message.contains(why) && !error.line().contains("hunter"), "{error}");
        assert!(error.hint.unwrap().contains("`password-env`"));
    }
    let log = PostgresLog::new(location(None, Some(file.clone())), [1; 16], String::new());
    for (content, why) in [("\n", "password missing"), ("hunter3\n", "authentication failed")] {
        std::fs::write(&file, content).unwrap();
        let error = log.head().unwrap_err();
        assert!(error.message.contains(why), "{error}");
    }
    std::fs::write(&file, "hunter2\n").unwrap();
    assert_eq!(log.head().unwrap(), 0);
    std::fs::remove_file(&file).unwrap();
    let unreadable = location(None, Some(file)).connect().err().unwrap();
    assert_eq!(unreadable.code, Code::Unavailable);
    assert_eq!(unreadable.at.unwrap().field.unwrap(), "store.password-file");
}

#[test]
fn a_server_that_never_answers_counts_as_unreachable() {
    let Some(server) = TestServer::start() else { return };
    init(&location(&server, "a")).unwrap();
    let proxy = Proxy::start(&server);
    let second = Duration::from_secs(1);
    let settings = LogSettings {
        address: proxy.address(),
        connect_timeout: second,
        timeout: second,
        ..settings(&server, "a")
    };
    let log = PostgresLog::new(LogLocation::new(settings).unwrap(), [1; 16], "one".into());
    assert_eq!(append(&log, 1, 0), AppendOutcome::Appended);
    assert_eq!(log.wait(0, Duration::ZERO).unwrap(), 1);
    proxy.silence(true);
    // A statement, a new connection, and the connection that waits.
    for failed in [log.head(), log.head(), log.wait(1, Duration::ZERO)] {
        let error = failed.unwrap_err();
        assert_eq!(error.code, Code::Unavailable);
        assert!(
            error.message.starts_with("log unreachable: `") && error.message.contains("no answer"),
            "{error}"
        );
    }
    proxy.silence(false);
    assert_eq!(log.head().unwrap(), 1);
    assert_eq!(log.wait(0, Duration::ZERO).unwrap(), 1);
    assert_eq!(append(&log, 2, 1), AppendOutcome::Appended);
}

/// The server closes a connection at once after it has said why.
#[test]
fn an_error_says_why_the_server_has_ended_a_connection() {
    let Some(server) = TestServer::start() else { return };
    for _ in 0..20 {
        let mut client = location(&server, "a").connect().unwrap();
        let error = client.batch_execute("SELECT pg_terminate_backend(pg_backend_pid())").unwrap_err();
        assert_eq!(error.code(), Some(&SqlState::ADMIN_SHUTDOWN), "{error:?}");
        assert!(client.batch_execute("SELECT 1").is_err() && client.is_closed());
    }
}

#[test]
fn a_call_that_was_interrupted_does_not_count_as_unsupported() {
    let Some(server) = TestServer::start() else { return };
    let location = location(&server, "a");
    let mut client = location.connect().unwrap();
    let unknown = error::supported(client.batch_execute("SHOW unknown"), &location);
    assert_eq!(unknown.unwrap(), None);
    client.batch_execute("SET statement_timeout = 1").unwrap();
    let interrupted = error::supported(client.batch_execute("SELECT pg_sleep(60)"), &location);
    assert_eq!(interrupted.unwrap_err().code, Code::Unavailable);
}

/// A runtime cannot run within another one, and the daemon may drop its memory on a thread of its own runtime.
#[test]
fn a_log_can_be_used_and_dropped_on_a_thread_that_runs_a_runtime() {
    let Some(server) = TestServer::start() else { return };
    init(&location(&server, "a")).unwrap();
    let other = log(&server, 2);
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
        let log = log(&server, 1);
        assert_eq!(append(&log, 1, 0), AppendOutcome::Appended);
        assert_eq!(log.wait(0, Duration::ZERO).unwrap(), 1);
        assert!(log.claim(MINUTE).unwrap());
        log.release().unwrap();
        assert_eq!(other.peers().unwrap().len(), 1);
        drop(log);
    });
    assert_eq!(other.peers().unwrap(), []);
}

#[test]
fn no_message_has_a_password() {
    let settings = |address: &str| LogSettings {
        address: address.into(),
        store: "a".into(),
        password: Some("hunter2".into()),
        password_file: None,
        ca_file: None,
        connect_timeout: Duration::from_millis(200),
        timeout: Duration::from_millis(200),
        poll: Duration::from_secs(1),
    };
    let refused = LogLocation::new(settings("postgres://me:hunter2@127.0.0.1/db")).unwrap_err();
    assert_eq!(refused.code, Code::InvalidConfig);
    assert!(!refused.line().contains("hunter2"));
    for wrong in ["mysql://me@127.0.0.1/db", "postgres://me@/db", "postgres://me@h/db?port=x"] {
        assert_eq!(LogLocation::new(settings(wrong)).unwrap_err().code, Code::InvalidConfig, "{wrong}");
    }
    let unknown = LogLocation::new(settings("postgres://me@h/db?sslrootcert=/ca.pem")).unwrap_err();
    assert!(unknown.hint.unwrap().contains("`ca-file`"));
    for (wrong, why) in [("?port=x", "option `port`"), ("?sslmode=foo", "option `sslmode`")] {
        let error = LogLocation::new(settings(&format!("postgres://me@h/db{wrong}"))).unwrap_err();
        assert!(error.message.contains(why), "{error}");
    }
    let location = LogLocation::new(settings("postgres://me@127.0.0.1:1/db?options=x")).unwrap();
    assert_eq!(location.to_string(), "postgres://me@127.0.0.1:1/db#a");
    assert!(!format!("{location:?}").contains("hunter2"));
    let socket = "postgres://me@/db?sslmode=disable&host=/run/postgresql&port=5433";
    let socket = LogLocation::new(settings(socket)).unwrap();
    assert_eq!(socket.to_string(), "postgres://me@/db?host=/run/postgresql&port=5433#a");
    let error = PostgresLog::new(location, [1; 16], String::new()).head().unwrap_err();
    assert_eq!(error.code, Code::Unavailable);
    assert!(!error.line().contains("hunter2"), "{error}");
    assert!(error.hint.as_deref().is_some_and(|hint| hint.contains("the server runs")), "{error:?}");
}
