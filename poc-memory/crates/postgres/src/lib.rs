//! A log in PostgreSQL that several stores share.
//!
//! One database holds the logs of many stores, each with its own name. A store is a row with its head, which is the
//! number of its last record. The records are rows of a single append-only table. An append is one statement: it
//! inserts the records and moves the head, provided that the head has the expected value. A database sequence cannot
//! number the records: its numbers may become visible out of order, and a reader would skip records that commit late.
//!
//! Databases that speak the PostgreSQL protocol but have no `LISTEN` are polled for their head.

mod append;
mod database_client;
mod error;
mod listener;
mod location;
mod notifier;
mod schema;
mod snapshots;
mod statements;
mod store_connection;
mod store_row;
#[doc(hidden)]
pub mod testing;
#[cfg(test)]
mod tests;
mod tls;

pub use location::{LogLocation, LogSettings};
pub use schema::{InitReport, init};

use error::{DatabaseError, failure, retry_rolled_back};
use listener::{Listener, announce};
use notifier::Notifier;
use parking_lot::Mutex;
use poc_graph::error::{Code, Result};
use poc_store::{
    AppendOutcome, DeletedHistory, NewSharedRecord, Peer, SharedLog, SharedRecord, SnapshotStore, WriterId,
};
use statements::IS_ALIVE;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use store_connection::StoreConnection;
use tokio_postgres::Row;
use tokio_postgres::error::SqlState;

/// Size in bytes after which a read returns no more records.
const READ_BYTES: i64 = 8 << 20;

/// Maximum number of records that one statement deletes, so that it finishes within its time limit.
const DELETED_AT_ONCE: i64 = 1000;

/// The log of one store in a database, as seen by one writer. It opens connections when it needs them: one reads and
/// appends, one waits for notifications, one notifies others of appends, and one stores snapshots and deletes history.
pub struct PostgresLog {
    location: LogLocation,
    writer: WriterId,
    /// The name of this writer, which other writers can see.
    name: String,
    connection: Mutex<Option<StoreConnection>>,
    /// The connection for snapshots and deletions, which may take long or wait for a lock. It is closed when the claim
    /// on a snapshot ends.
    maintenance: Mutex<Option<StoreConnection>>,
    listener: Mutex<Option<Listener>>,
    notifier: Notifier,
    /// Whether this writer copies another log into this one, which is not complete until then.
    is_copier: AtomicBool,
}

impl PostgresLog {
    /// Creates the log at a location, for a writer with a new random id and a name. Does not connect.
    pub fn new(location: LogLocation, writer: WriterId, name: String) -> PostgresLog {
        let (connection, maintenance, listener) = (Mutex::default(), Mutex::default(), Mutex::default());
        let (notifier, is_copier) = (Notifier::default(), AtomicBool::default());
        PostgresLog { location, writer, name, connection, maintenance, listener, notifier, is_copier }
    }

    /// Runs work on the connection that reads and appends; see [`PostgresLog::run`].
    fn with<T>(&self, work: impl FnMut(&mut StoreConnection) -> Result<T, DatabaseError>) -> Result<T> {
        self.run(&self.connection, work)
    }

    /// Runs work on the connection for snapshots and deletions; see [`PostgresLog::run`].
    fn maintain<T>(&self, work: impl FnMut(&mut StoreConnection) -> Result<T, DatabaseError>) -> Result<T> {
        self.run(&self.maintenance, work)
    }

    /// Closes the connection for snapshots and deletions.
    fn end_maintenance(&self) {
        *self.maintenance.lock() = None;
    }

    /// Runs work on a connection and opens it first if necessary. If the database rolls the work back because of
    /// concurrent transactions, it is run again; see [`retry_rolled_back`]. After another failure, the next call opens
    /// a new connection. Work that takes longer than the time limit of a statement counts as failed.
    fn run<T>(
        &self,
        connection: &Mutex<Option<StoreConnection>>,
        mut work: impl FnMut(&mut StoreConnection) -> Result<T, DatabaseError>,
    ) -> Result<T> {
        let mut kept = connection.lock();
        let mut connection = match kept.take() {
            Some(connection) if !connection.client.is_closed() => connection,
            _ => self.open_session()?,
        };
        connection.client.limit_calls(self.location.time_limit());
        match retry_rolled_back(|| work(&mut connection)) {
            Ok(done) => {
                *kept = Some(connection);
                Ok(done)
            }
            Err(error) => {
                let failure = failure(&self.location, &error);
                if failure.code != Code::Unavailable {
                    *kept = Some(connection);
                }
                Err(failure)
            }
        }
    }

    /// Runs a statement that deletes a limited number of rows, until it deletes none. Each part finishes within the
    /// time limit of a statement.
    fn delete_in_parts(
        &self,
        delete: impl Fn(&mut StoreConnection) -> Result<u64, DatabaseError> + Copy,
    ) -> Result<()> {
        while self.maintain(delete)? > 0 {}
        Ok(())
    }
}

impl PostgresLog {
    /// Opens a connection and announces this writer: other writers must know that it is alive before its first record.
    fn open_session(&self) -> Result<StoreConnection> {
        let location = &self.location;
        let mut connection = StoreConnection::prepare(location.connect()?, location)?;
        let (client, store) = (&mut connection.client, connection.store);
        if !self.is_copier.load(Ordering::Relaxed) {
            store_row::require_complete(client, store, location)?;
        }
        let announced = announce(client, store, 0, &self.writer, &self.name);
        announced.map_err(|error| failure(location, &error))?;
        Ok(connection)
    }
}

impl Drop for PostgresLog {
    /// Removes this writer from the list that others see. Without an open connection, its row expires by itself.
    fn drop(&mut self) {
        let kept = self.connection.get_mut().take();
        let Some(mut connection) = kept.filter(|connection| !connection.client.is_closed()) else { return };
        connection.client.limit_calls(self.location.time_limit());
        let left = retry_rolled_back(|| {
            connection.client.execute(
                "DELETE FROM poc_memory_writer WHERE store = $1 AND writer = $2",
                &[&connection.store, &self.writer.as_slice()],
            )
        });
        if let Err(error) = left {
            tracing::debug!("the database still lists this process: {}", failure(&self.location, &error));
        }
    }
}

impl SharedLog for PostgresLog {
    fn address(&self) -> String {
        self.location.to_string()
    }

    fn writer(&self) -> WriterId {
        self.writer
    }

    fn head(&self) -> Result<u64> {
        self.with(|connection| connection.head())
    }

    fn append(&self, records: &[NewSharedRecord<'_>], expected: u64) -> Result<AppendOutcome> {
        let Some(first) = records.first() else { return Ok(AppendOutcome::Appended) };
        let payloads: Vec<&[u8]> = records.iter().map(|record| record.payload).collect();
        let (number, is_copier) = (first.writer_seq, self.is_copier.load(Ordering::Relaxed));
        let (outcome, store) = self.with(|connection| {
            let outcome = append::append(connection, &self.writer, number, &payloads, expected, is_copier)?;
            Ok((outcome, connection.store))
        })?;
        if outcome == Some(AppendOutcome::Appended) {
            self.notifier.notify(&self.location, store, expected + records.len() as u64);
        }
        outcome.ok_or_else(|| store_row::incomplete(&self.location))
    }

    fn read(&self, after: u64, limit: usize) -> Result<Vec<SharedRecord>> {
        self.with(move |connection| {
            let (after, limit) = (after as i64, i64::try_from(limit).unwrap_or(i64::MAX));
            let rows = connection
                .client
                .query(&connection.read, &[&connection.store, &after, &limit, &READ_BYTES])?;
            let record = |row: &Row| {
                let writer: &[u8] = row.try_get(1)?;
                Ok(SharedRecord {
                    seq: row.try_get::<_, i64>(0)? as u64,
                    writer: writer.try_into().unwrap_or_default(),
                    writer_seq: row.try_get::<_, i64>(2)? as u64,
                    payload: row.try_get(3)?,
                })
            };
            rows.iter().map(record).collect()
        })
    }

    fn wait(&self, after: u64, timeout: Duration) -> Result<u64> {
        let mut kept = self.listener.lock();
        let taken = kept.take().filter(|listener| !listener.is_closed());
        let mut listener = match taken {
            Some(listener) => listener,
            None => {
                // Without a listener, it is not known whether another process follows the store.
                self.notifier.set_alone(&self.location, false);
                Listener::open(&self.location, after, &self.writer, &self.name)?
            }
        };
        listener.limit_calls(self.location.time_limit());
        let head = listener.wait(after, timeout, &self.writer, &self.name);
        self.notifier.set_alone(&self.location, head.is_ok() && !listener.has_peers());
        let head = head.map_err(|error| failure(&self.location, &error))?;
        *kept = Some(listener);
        Ok(head)
    }

    fn lease(&self, duration: Duration) -> Result<bool> {
        self.with(|connection| append::lease(connection, &self.writer, duration))
    }

    fn peers(&self) -> Result<Vec<Peer>> {
        let writer = self.writer;
        self.with(move |connection| {
            let writer = writer.as_slice();
            let statement = format!(
                "SELECT writer, name, head, extract(epoch FROM now() - seen)::FLOAT8, \
                   EXISTS (SELECT 1 FROM poc_memory_store \
                     WHERE id = $1 AND lease_writer = peer.writer AND lease_until >= now()), \
                   EXISTS (SELECT 1 FROM poc_memory_snapshot_claim AS claim \
                     WHERE claim.store = $1 AND claim.writer = peer.writer AND until >= now()) \
                 FROM poc_memory_writer AS peer \
                 WHERE store = $1 AND writer <> $2 AND {IS_ALIVE} ORDER BY name"
            );
            let rows = connection.client.query(statement.as_str(), &[&connection.store, &writer])?;
            let peer = |row: &Row| {
                let (writer, seen) = (row.try_get::<_, &[u8]>(0)?, row.try_get::<_, f64>(3)?);
                Ok(Peer {
                    writer: writer.try_into().unwrap_or_default(),
                    name: row.try_get(1)?,
                    head: row.try_get::<_, i64>(2)? as u64,
                    seen: Duration::try_from_secs_f64(seen).unwrap_or_default(),
                    has_lease: row.try_get(4)?,
                    has_claim: row.try_get(5)?,
                })
            };
            rows.iter().map(peer).collect()
        })
    }

    fn uptime(&self) -> Result<Option<Duration>> {
        let seconds = self.with(|connection| {
            let row = connection
                .client
                .query_one("SELECT extract(epoch FROM now() - pg_postmaster_start_time())::FLOAT8", &[]);
            match row.and_then(|row| Ok(row.try_get::<_, f64>(0)?)) {
                Err(error) if error.code() == Some(&SqlState::UNDEFINED_FUNCTION) => Ok(None),
                seconds => seconds.map(Some),
            }
        })?;
        // It is negative if the clock of the server was set back.
        Ok(seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()))
    }

    fn begin_copy(&self) -> Result<()> {
        self.is_copier.store(true, Ordering::Relaxed);
        self.with(|connection| {
            connection.client.execute(
                "UPDATE poc_memory_store SET copying = TRUE WHERE id = $1 AND head = 0",
                &[&connection.store],
            )
        })?;
        Ok(())
    }

    fn begin_after(&self, deleted: DeletedHistory) -> Result<bool> {
        let begun = self.with(move |connection| {
            connection.client.execute(
                "UPDATE poc_memory_store SET head = $2::INT8, dropped = $2::INT8, origin = $3::BYTEA \
                 WHERE id = $1 AND head = 0",
                &[&connection.store, &(deleted.last as i64), &deleted.origin.as_slice()],
            )
        })?;
        Ok(begun > 0)
    }

    fn end_copy(&self) -> Result<()> {
        self.with(|connection| {
            connection.client.execute(
                "UPDATE poc_memory_store SET copying = FALSE WHERE id = $1 AND copying",
                &[&connection.store],
            )
        })?;
        Ok(())
    }

    fn deleted(&self) -> Result<DeletedHistory> {
        self.with(|connection| {
            let row = connection.client.query_one(
                "SELECT dropped, erased, origin FROM poc_memory_store WHERE id = $1",
                &[&connection.store],
            )?;
            let origin: Option<&[u8]> = row.try_get(2)?;
            Ok(DeletedHistory {
                last: row.try_get::<_, i64>(0)? as u64,
                erased: row.try_get::<_, i64>(1)? as u64,
                origin: origin.and_then(|origin| origin.try_into().ok()).unwrap_or_default(),
            })
        })
    }

    fn delete_until(&self, deleted: DeletedHistory) -> Result<bool> {
        let [last, erased] = [deleted.last, deleted.erased].map(|number| number as i64);
        let noted = self.maintain(move |connection| {
            connection.client.execute(
                "UPDATE poc_memory_store \
                 SET dropped = greatest(dropped, $2::INT8), erased = greatest(erased, $3::INT8), origin = $4::BYTEA \
                 WHERE id = $1 AND head > $2::INT8 AND EXISTS ( \
                   SELECT 1 FROM poc_memory_snapshot WHERE store = $1 AND seq > $2::INT8)",
                &[&connection.store, &last, &erased, &deleted.origin.as_slice()],
            )
        })?;
        if noted == 0 {
            return Ok(false);
        }
        // The first records are deleted first, so that a reader never finds a gap between two records.
        self.delete_in_parts(move |connection| {
            connection.client.execute(
                "DELETE FROM poc_memory_log WHERE store = $1 AND seq IN ( \
                   SELECT seq FROM poc_memory_log WHERE store = $1 AND seq <= $2::INT8 ORDER BY seq LIMIT $3)",
                &[&connection.store, &last, &DELETED_AT_ONCE],
            )
        })?;
        Ok(true)
    }

    fn snapshots(&self) -> &dyn SnapshotStore {
        self
    }
}
