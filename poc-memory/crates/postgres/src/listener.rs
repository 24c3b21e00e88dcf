//! A connection that waits for records and announces this writer to others.

use crate::database_client::DatabaseClient;
use crate::error::{DatabaseError, failure, supported};
use crate::location::LogLocation;
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
}

impl Listener {
    /// Opens a connection and subscribes to the notifications of the store.
    ///
    /// # Errors
    /// `invalid_config` if the database lacks the store, and errors of the database.
    pub(crate) fn open(location: &LogLocation) -> Result<Listener> {
        let to_error = |error: DatabaseError| failure(location, &error);
        let mut client = location.connect()?;
        let store = store_row::get(&mut client, location)?;
        // A database that does not support it is polled.
        supported(client.batch_execute(&format!("LISTEN {}", store_row::channel(store))), location)?;
        // Rows of writers that have not been seen for a day are removed.
        client
            .execute(
                "DELETE FROM poc_memory_writer WHERE store = $1 AND seen < now() - INTERVAL '1 day'",
                &[&store],
            )
            .map_err(to_error)?;
        let poll = location.poll();
        Ok(Listener { client, store, head: 0, poll, polled: None, announced: None })
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.client.is_closed()
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
            announce(&mut self.client, self.store, after, writer, name)?;
            self.announced = Some(Instant::now());
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
        let heads = self.client.take_notifications();
        self.head = heads.iter().filter_map(|head| head.parse::<u64>().ok()).fold(self.head, u64::max);
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
    client.execute(
        "INSERT INTO poc_memory_writer (store, writer, name, head, seen) VALUES ($1, $2, $3, $4, now()) \
         ON CONFLICT (store, writer) DO UPDATE \
         SET head = greatest(poc_memory_writer.head, excluded.head), seen = excluded.seen",
        &[&store, &writer.as_slice(), &name, &(head as i64)],
    )?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::init;
    use crate::testing::TestServer;
    use crate::tests::{WAIT_TIMEOUT, location};

    #[test]
    fn notifications_are_taken_while_a_known_record_is_not_read() {
        let Some(server) = TestServer::start() else { return };
        let location = location(&server, "a");
        init(&location).unwrap();
        let mut listener = Listener::open(&location).unwrap();
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
