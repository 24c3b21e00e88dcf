//! A connection that waits for records and announces this writer to others.

use crate::database_client::DatabaseClient;
use crate::error::{DatabaseError, failure, retry_rolled_back, supported};
use crate::location::LogLocation;
use crate::statements::{IS_ALIVE, NOTIFY};
use crate::store_row;
use poc_graph::error::Result;
use poc_store::{PEER_HEARTBEAT, WriterId};
use std::time::{Duration, Instant};

/// The connection that waits for records of other writers, and announces this writer meanwhile.
pub(crate) struct Listener {
    client: DatabaseClient,
    /// The number that identifies the store in the database.
    store: i64,
    /// The highest head seen so far.
    head: u64,
    /// The interval at which the head is queried, because notifications may be lost or not supported.
    poll: Duration,
    /// When the head was last queried.
    polled: Option<Instant>,
    /// When this writer was last announced.
    announced: Option<Instant>,
    /// Whether another process was seen at the last announcement, or has begun to listen since.
    has_peers: bool,
    /// The notification by which this listener has told the others that it listens.
    greeting: String,
}

impl Listener {
    /// Opens a connection, subscribes to the notifications of the store, announces this writer, which has read record
    /// `head`, and notifies other listeners that it listens.
    ///
    /// # Errors
    /// `invalid_config` if the database lacks the store, and errors of the database.
    pub(crate) fn open(location: &LogLocation, head: u64, writer: &WriterId, name: &str) -> Result<Listener> {
        let to_error = |error: DatabaseError| failure(location, &error);
        let mut client = location.connect()?;
        let store = store_row::get(&mut client, location)?;
        let channel = store_row::channel(store);
        // A database that does not support it is polled.
        supported(client.batch_execute(&format!("LISTEN {channel}")), location)?;
        // Rows of writers that have not been seen for a day are removed.
        let removed = retry_rolled_back(|| {
            client.execute(
                "DELETE FROM poc_memory_writer WHERE store = $1 AND seen < now() - INTERVAL '1 day'",
                &[&store],
            )
        });
        removed.map_err(to_error)?;
        // It is announced after it has subscribed and before it notifies the others, so that of two processes that
        // start at the same time, each learns of the other one.
        let (poll, greeting) = (location.poll(), format!("listening {:032x}", u128::from_be_bytes(*writer)));
        let mut listener = Listener {
            client,
            store,
            head: 0,
            poll,
            polled: None,
            announced: None,
            has_peers: true,
            greeting,
        };
        listener.announce(head, writer, name).map_err(to_error)?;
        supported(listener.client.execute(NOTIFY, &[&channel, &listener.greeting]), location)?;
        Ok(listener)
    }

    /// Announces this writer, which has read record `head`, and looks for others.
    fn announce(&mut self, head: u64, writer: &WriterId, name: &str) -> Result<(), DatabaseError> {
        announce(&mut self.client, self.store, head, writer, name)?;
        self.announced = Some(Instant::now());
        self.has_peers = has_live_peers(&mut self.client, self.store, writer)?;
        Ok(())
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    /// Whether another process may be following the store.
    pub(crate) fn has_peers(&self) -> bool {
        self.has_peers
    }

    /// Limits the time of the statements of the next wait.
    pub(crate) fn limit_calls(&mut self, limit: Duration) {
        self.client.limit_calls(limit);
    }

    /// Waits until there is a record after `after`, at most for `timeout`, and returns the highest head seen so far.
    pub(crate) fn wait(
        &mut self,
        after: u64,
        timeout: Duration,
        writer: &WriterId,
        name: &str,
    ) -> Result<u64, DatabaseError> {
        let is_due = |last: Option<Instant>, every| last.is_none_or(|last| last.elapsed() >= every);
        if is_due(self.announced, PEER_HEARTBEAT) {
            self.announce(after, writer, name)?;
        }
        if is_due(self.polled, self.poll) {
            self.head = self.head.max(store_row::head(&mut self.client, self.store)?);
            self.polled = Some(Instant::now());
        }
        if self.head <= after {
            self.client.wait_for_notifications(timeout.min(self.poll))?;
        }
        // They are taken even if there was no wait. Otherwise they would pile up while the store does not read the
        // records, for example because its disk is full.
        for notification in self.client.take_notifications() {
            match notification.parse::<u64>() {
                Ok(head) => self.head = self.head.max(head),
                // The greeting of a listener, perhaps its own one.
                Err(_) => self.has_peers |= notification != self.greeting,
            }
        }
        Ok(self.head)
    }
}

/// Announces to other writers that this writer is alive, and the last record that it has read.
pub(crate) fn announce(
    client: &mut DatabaseClient,
    store: i64,
    head: u64,
    writer: &WriterId,
    name: &str,
) -> Result<(), DatabaseError> {
    retry_rolled_back(|| {
        client.execute(
            "INSERT INTO poc_memory_writer (store, writer, name, head, seen) VALUES ($1, $2, $3, $4, now()) \
             ON CONFLICT (store, writer) DO UPDATE \
             SET head = greatest(poc_memory_writer.head, excluded.head), seen = excluded.seen",
            &[&store, &writer.as_slice(), &name, &(head as i64)],
        )
    })?;
    Ok(())
}

/// Whether another writer may still run.
///
/// This is not part of the statement that announces. Serializable transactions that write their own row and read those
/// of others would roll each other back, and CockroachDB refuses a `WITH` that inserts and returns nothing.
fn has_live_peers(client: &mut DatabaseClient, store: i64, writer: &WriterId) -> Result<bool, DatabaseError> {
    let statement = format!(
        "SELECT EXISTS (SELECT 1 FROM poc_memory_writer WHERE store = $1 AND writer <> $2 AND {IS_ALIVE})"
    );
    let row = retry_rolled_back(|| client.query_one(statement.as_str(), &[&store, &writer.as_slice()]))?;
    Ok(row.try_get(0)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PostgresLog;
    use crate::schema::init;
    use crate::testing::TestServer;
    use crate::tests::{MINUTE, WAIT_TIMEOUT, admin, append, location, log, log_without_polling};
    use poc_store::{AppendOutcome, SharedLog};

    /// The heads of which listeners of the first store of a server were notified since the last call.
    fn notified(listening: &mut DatabaseClient) -> Vec<u64> {
        // It arrives after all notifications that were sent before.
        listening.batch_execute(&format!("NOTIFY {}, '0'", store_row::channel(1))).unwrap();
        let mut heads: Vec<u64> = Vec::new();
        while !heads.contains(&0) {
            listening.wait_for_notifications(WAIT_TIMEOUT).unwrap();
            let texts = listening.take_notifications();
            assert!(!texts.is_empty(), "no notification arrives");
            heads.extend(texts.iter().filter_map(|text| text.parse::<u64>().ok()));
        }
        heads.retain(|head| *head != 0);
        heads
    }

    /// Waits until listeners are notified of a head. Makes a call before each look.
    fn wait_until_notified(listening: &mut DatabaseClient, head: u64, call: impl Fn()) {
        let deadline = Instant::now() + WAIT_TIMEOUT;
        while !notified(listening).contains(&head) {
            assert!(Instant::now() < deadline, "there was no notification of record {head}");
            call();
        }
    }

    /// Appends records that have the numbers after `head` up to `last`.
    fn append_until(log: &PostgresLog, head: u64, last: u64) {
        (head..last).for_each(|head| assert_eq!(append(log, head + 1, head), AppendOutcome::Appended));
    }

    fn set_announced(log: &PostgresLog, announced: Option<Instant>) {
        log.listener.lock().as_mut().unwrap().announced = announced;
    }

    /// Announces the writer of a log, as it does at intervals.
    fn announce_again(log: &PostgresLog) {
        set_announced(log, None);
        log.wait(0, Duration::ZERO).unwrap();
    }

    #[test]
    fn notifications_are_sent_only_while_another_process_follows_the_store() {
        let Some(server) = TestServer::start() else { return };
        init(&location(&server, "a")).unwrap();
        init(&location(&server, "b")).unwrap();
        let other = PostgresLog::new(location(&server, "b"), [3; 16], "another store".into());
        other.wait(0, Duration::ZERO).unwrap();
        let (first, mut listening) = (log(&server, 2), admin(&server));
        listening.batch_execute(&format!("LISTEN {}", store_row::channel(1))).unwrap();
        let none: Vec<u64> = Vec::new();

        append_until(&first, 0, 1);
        wait_until_notified(&mut listening, 1, || ());
        // From now on, it has a listener and knows that it is alone.
        assert_eq!(first.wait(0, Duration::ZERO).unwrap(), 1);
        append_until(&first, 1, 20);
        assert_eq!(notified(&mut listening), none);

        // It learns of the second one before its next announcement, and then sends the notification that was skipped.
        set_announced(&first, Some(Instant::now() + MINUTE));
        let second = log_without_polling(&server);
        assert_eq!((second.head().unwrap(), second.wait(0, Duration::ZERO).unwrap()), (20, 20));
        wait_until_notified(&mut listening, 20, || assert!(first.wait(20, WAIT_TIMEOUT).unwrap() <= 20));
        append_until(&first, 20, 21);
        let deadline = Instant::now() + WAIT_TIMEOUT;
        while second.wait(20, WAIT_TIMEOUT).unwrap() < 21 {
            assert!(Instant::now() < deadline, "the second process was not notified");
        }

        drop(second);
        announce_again(&first);
        notified(&mut listening);
        append_until(&first, 21, 30);
        assert_eq!(notified(&mut listening), none, "the second process has ended");

        let killed = "INSERT INTO poc_memory_writer VALUES (1, '\\x09', 'killed', 0, now())";
        listening.batch_execute(killed).unwrap();
        announce_again(&first);
        append_until(&first, 30, 31);
        wait_until_notified(&mut listening, 31, || ());
        let expired = "UPDATE poc_memory_writer SET seen = seen - INTERVAL '1 minute' WHERE name = 'killed'";
        listening.batch_execute(expired).unwrap();
        announce_again(&first);
        append_until(&first, 31, 40);
        assert_eq!(notified(&mut listening), none, "it was not seen for a minute");
    }

    #[test]
    fn a_database_without_notifications_is_polled() {
        let Some(server) = TestServer::start() else { return };
        init(&location(&server, "a")).unwrap();
        server.execute("ALTER FUNCTION pg_notify(TEXT, TEXT) RENAME TO another_notify");
        let (reading, writing) = (log(&server, 1), log(&server, 2));
        for log in [&reading, &writing] {
            assert_eq!(log.wait(0, Duration::ZERO).unwrap(), 0);
        }
        append_until(&writing, 0, 1);
        let deadline = Instant::now() + WAIT_TIMEOUT;
        while reading.wait(0, WAIT_TIMEOUT).unwrap() < 1 {
            assert!(Instant::now() < deadline, "the head is not polled");
        }
    }

    #[test]
    fn announcements_that_the_database_rolls_back_are_repeated() {
        let Some(server) = TestServer::start() else { return };
        init(&location(&server, "a")).unwrap();
        server.execute("ALTER DATABASE postgres SET default_transaction_isolation = 'serializable'");
        // A process announces itself on two connections.
        std::thread::scope(|scope| {
            for _ in 0..2 {
                let mut client = admin(&server);
                scope.spawn(move || {
                    for head in 0..200 {
                        announce(&mut client, 1, head, &[1; 16], "a").unwrap();
                        assert!(!has_live_peers(&mut client, 1, &[1; 16]).unwrap());
                    }
                });
            }
        });
    }

    #[test]
    fn notifications_are_taken_while_a_known_record_is_not_read() {
        let Some(server) = TestServer::start() else { return };
        let location = location(&server, "a");
        init(&location).unwrap();
        let mut listener = Listener::open(&location, 0, &[1; 16], "a").unwrap();
        listener.head = 1;
        server.execute(&format!("NOTIFY {}, '7'", store_row::channel(listener.store)));
        let deadline = Instant::now() + WAIT_TIMEOUT;
        loop {
            // An announcement also receives what has arrived.
            listener.announced = None;
            listener.limit_calls(WAIT_TIMEOUT);
            if listener.wait(0, WAIT_TIMEOUT, &[1; 16], "a").unwrap() == 7 {
                return;
            }
            assert!(Instant::now() < deadline, "the notification was not taken");
        }
    }
}
