//! A connection that runs statements, other than the one that waits.

use crate::error::failure;
use crate::location::LogLocation;
use crate::schema;
use crate::statements::{APPEND, NOTIFY, READ};
use crate::store_row;
use poc_graph::error::Result;
use postgres::{Client, Statement};

/// A connection to the database of a store, with its prepared statements.
pub(crate) struct StoreConnection {
    pub(crate) client: Client,
    /// The number that identifies the store in the database.
    pub(crate) store: i64,
    pub(crate) append: Statement,
    /// `None` if the database does not support notifications.
    notify: Option<Statement>,
    pub(crate) read: Statement,
}

impl StoreConnection {
    /// Prepares a new connection.
    ///
    /// # Errors
    /// `unavailable` if the database cannot be reached, `invalid_config` if it lacks the schema or the store, and
    /// `conflict` if a newer release created the schema.
    pub(crate) fn prepare(mut client: Client, location: &LogLocation) -> Result<StoreConnection> {
        let of = |error: postgres::Error| failure(location, &error);
        schema::check(&mut client, location)?;
        let store = store_row::get(&mut client, location)?;
        // With asynchronous commits, an append that was reported as successful could be lost.
        let commits: String = client
            .query_one("SHOW synchronous_commit", &[])
            .and_then(|row| row.try_get(0))
            .unwrap_or_default();
        if commits == "off" {
            client.batch_execute("SET synchronous_commit = on").map_err(of)?;
        }
        let has_notify = client
            .query("SELECT 1 FROM pg_proc WHERE proname = 'pg_notify'", &[])
            .is_ok_and(|rows| !rows.is_empty());
        let notify = if has_notify { client.prepare(NOTIFY).ok() } else { None };
        let append = client.prepare(APPEND).map_err(of)?;
        let read = client.prepare(READ).map_err(of)?;
        Ok(StoreConnection { client, store, append, notify, read })
    }

    /// The number of the store's last record.
    pub(crate) fn head(&mut self) -> Result<u64, postgres::Error> {
        store_row::head(&mut self.client, self.store)
    }

    /// Wakes the readers of the store. A failure is ignored, because readers also query the head at intervals.
    pub(crate) fn notify(&mut self, head: u64) {
        let Some(notify) = &self.notify else { return };
        let (channel, head) = (store_row::channel(self.store), head.to_string());
        if let Err(error) = self.client.execute(notify, &[&channel, &head]) {
            tracing::debug!("readers were not notified of record {head}: {error}");
        }
    }
}
