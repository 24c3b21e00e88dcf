//! A connection that reads and appends.

use crate::append::{APPEND, append_and_notify};
use crate::error::{failure, no_store};
use crate::location::LogLocation;
use crate::schema;
use poc_graph::error::Result;
use postgres::{Client, Statement};

/// Records after a number. Parameters: store, number, the maximum number of records, the bytes after which there are no more.
const READ: &str = "\
    SELECT seq, writer, writer_seq, payload FROM ( \
      SELECT seq, writer, writer_seq, payload, \
        sum(octet_length(payload)) OVER (ORDER BY seq) - octet_length(payload) AS preceding \
      FROM (SELECT seq, writer, writer_seq, payload FROM poc_memory_log \
        WHERE store = $1 AND seq > $2 ORDER BY seq LIMIT $3) AS page) AS sized \
    WHERE preceding < $4::INT8 ORDER BY seq";

/// A connection to the database of a store.
pub(crate) struct Session {
    pub(crate) client: Client,
    /// The number of the store in the database.
    pub(crate) store: i64,
    /// Whether appends notify.
    pub(crate) has_notify: bool,
    pub(crate) append: Statement,
    pub(crate) read: Statement,
}

impl Session {
    /// # Errors
    /// `unavailable` when the database is not reached, `invalid_config` when it lacks the schema or the store,
    /// `conflict` when a newer release made the schema.
    pub(crate) fn open(location: &LogLocation) -> Result<Session> {
        let client = location.connect()?;
        Session::prepare(client, location)
    }

    fn prepare(mut client: Client, location: &LogLocation) -> Result<Session> {
        let of = |error: postgres::Error| failure(location, &error);
        schema::check(&mut client, location)?;
        let store = store(&mut client, location.store()).map_err(of)?.ok_or_else(|| no_store(location))?;
        // A commit that is not on disk when it is answered could be lost.
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
        Ok(Session { client, store, has_notify, append, read })
    }

    /// The number of the last record.
    pub(crate) fn head(&mut self) -> Result<u64, postgres::Error> {
        head(&mut self.client, self.store)
    }

    /// The channel of notifications about the store.
    pub(crate) fn channel(&self) -> String {
        channel(self.store)
    }
}

pub(crate) fn channel(store: i64) -> String {
    format!("poc_memory_{store}")
}

/// The number of a store in the database.
pub(crate) fn store(client: &mut Client, name: &str) -> Result<Option<i64>, postgres::Error> {
    client
        .query_opt("SELECT id FROM poc_memory_store WHERE name = $1", &[&name])?
        .map(|row| row.try_get(0))
        .transpose()
}

pub(crate) fn head(client: &mut Client, store: i64) -> Result<u64, postgres::Error> {
    let row = client.query_one("SELECT head FROM poc_memory_store WHERE id = $1", &[&store])?;
    Ok(row.try_get::<_, i64>(0)? as u64)
}
