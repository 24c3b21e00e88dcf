//! A connection that runs statements, other than the one that waits and the one that notifies.

use crate::database_client::DatabaseClient;
use crate::error::{DatabaseError, failure, supported};
use crate::location::LogLocation;
use crate::schema;
use crate::statements::{APPEND, READ};
use crate::store_row;
use poc_graph::error::Result;
use tokio_postgres::Statement;

/// A connection to the database of a store, with its prepared statements.
pub(crate) struct StoreConnection {
    pub(crate) client: DatabaseClient,
    /// The number that identifies the store in the database.
    pub(crate) store: i64,
    pub(crate) append: Statement,
    pub(crate) read: Statement,
}

impl StoreConnection {
    /// Prepares a new connection.
    ///
    /// # Errors
    /// `unavailable` if the database cannot be reached, `invalid_config` if it lacks the schema or the store, and
    /// `conflict` if a newer release created the schema.
    pub(crate) fn prepare(mut client: DatabaseClient, location: &LogLocation) -> Result<StoreConnection> {
        let of = |error: DatabaseError| failure(location, &error);
        schema::check(&mut client, location)?;
        let store = store_row::get(&mut client, location)?;
        // With asynchronous commits, an append that was reported as successful could be lost.
        let commits =
            client.query_one("SHOW synchronous_commit", &[]).and_then(|row| Ok(row.try_get::<_, String>(0)?));
        if supported(commits, location)?.is_some_and(|commits| commits == "off") {
            client.batch_execute("SET synchronous_commit = on").map_err(of)?;
        }
        let append = client.prepare(APPEND).map_err(of)?;
        let read = client.prepare(READ).map_err(of)?;
        Ok(StoreConnection { client, store, append, read })
    }

    /// The number of the store's last record.
    pub(crate) fn head(&mut self) -> Result<u64, DatabaseError> {
        store_row::head(&mut self.client, self.store)
    }
}
