//! A connection that reads and appends.

use crate::error::failure;
use crate::location::LogLocation;
use crate::schema;
use crate::statements::{APPEND, READ, append_and_notify};
use crate::store_row;
use poc_graph::error::Result;
use postgres::{Client, Statement};

/// A connection to the database of a store, with its prepared statements.
pub(crate) struct StoreConnection {
    pub(crate) client: Client,
    /// The number that identifies the store in the database.
    pub(crate) store: i64,
    /// Whether appends send a notification.
    pub(crate) has_notify: bool,
    pub(crate) append: Statement,
    pub(crate) read: Statement,
}

impl StoreConnection {
    /// # Errors
    /// `unavailable` if the database cannot be reached, `invalid_config` if it lacks the schema or the store, and
    /// `conflict` if a newer release created the schema.
    pub(crate) fn open(location: &LogLocation) -> Result<StoreConnection> {
        let client = location.connect()?;
        StoreConnection::prepare(client, location)
    }

    fn prepare(mut client: Client, location: &LogLocation) -> Result<StoreConnection> {
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
        let with_notify = if has_notify { client.prepare(&append_and_notify()).ok() } else { None };
        let has_notify = with_notify.is_some();
        let append = with_notify.map_or_else(|| client.prepare(APPEND), Ok).map_err(of)?;
        let read = client.prepare(READ).map_err(of)?;
        Ok(StoreConnection { client, store, has_notify, append, read })
    }

    /// The number of the store's last record.
    pub(crate) fn head(&mut self) -> Result<u64, postgres::Error> {
        store_row::head(&mut self.client, self.store)
    }

    /// The notification channel of the store.
    pub(crate) fn channel(&self) -> String {
        store_row::channel(self.store)
    }
}
