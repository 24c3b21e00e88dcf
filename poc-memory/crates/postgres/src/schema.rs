//! The database schema, which is created and upgraded in versions.

use crate::database_client::DatabaseClient;
use crate::error::{ATTEMPTS, DatabaseError, failure, is_rolled_back};
use crate::location::LogLocation;
use crate::store_row;
use poc_graph::error::{Error, Result};
use tokio_postgres::error::SqlState;

/// The statements that upgrade the schema from each version to the next. Releases only append to this list and never
/// change an entry.
const MIGRATIONS: &[&str] = &[
    "\
    CREATE TABLE poc_memory_store ( \
      id INT8 NOT NULL PRIMARY KEY, name TEXT NOT NULL UNIQUE, head INT8 NOT NULL, \
      lease_writer BYTEA, lease_until TIMESTAMPTZ); \
    CREATE TABLE poc_memory_log ( \
      store INT8 NOT NULL, seq INT8 NOT NULL, writer BYTEA NOT NULL, writer_seq INT8 NOT NULL, \
      payload BYTEA NOT NULL, PRIMARY KEY (store, seq), UNIQUE (store, writer, writer_seq)); \
    CREATE TABLE poc_memory_writer ( \
      store INT8 NOT NULL, writer BYTEA NOT NULL, name TEXT NOT NULL, head INT8 NOT NULL, \
      seen TIMESTAMPTZ NOT NULL, PRIMARY KEY (store, writer));",
    "\
    CREATE TABLE poc_memory_snapshot_claim ( \
      store INT8 NOT NULL PRIMARY KEY, writer BYTEA NOT NULL, until TIMESTAMPTZ NOT NULL); \
    CREATE TABLE poc_memory_snapshot ( \
      store INT8 NOT NULL, seq INT8 NOT NULL, parts INT8 NOT NULL, bytes INT8 NOT NULL, PRIMARY KEY (store, seq)); \
    CREATE TABLE poc_memory_snapshot_part ( \
      store INT8 NOT NULL, seq INT8 NOT NULL, part INT8 NOT NULL, bytes BYTEA NOT NULL, \
      PRIMARY KEY (store, seq, part));",
    "\
    ALTER TABLE poc_memory_store ADD COLUMN dropped INT8 NOT NULL DEFAULT 0; \
    ALTER TABLE poc_memory_store ADD COLUMN erased INT8 NOT NULL DEFAULT 0; \
    ALTER TABLE poc_memory_store ADD COLUMN origin BYTEA; \
    ALTER TABLE poc_memory_store ADD COLUMN copying BOOL NOT NULL DEFAULT FALSE;",
];

/// The result of [`init`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InitReport {
    /// The version of the schema before the call; 0 if there was none.
    pub from: i64,
    /// The version of the schema after the call.
    pub to: i64,
    /// Whether the call created the store.
    pub is_new: bool,
    /// The number of the store's last record; 0 for an empty store.
    pub head: u64,
}

/// Creates the tables or upgrades them to the version of this release, and adds the store if it is missing. A second
/// call changes nothing.
///
/// # Errors
/// `unavailable` if the database cannot be reached or does not answer in time, and `conflict` if a newer release
/// created the tables.
pub fn init(location: &LogLocation) -> Result<InitReport> {
    let client = &mut location.connect()?;
    let to_error = |error: DatabaseError| failure(location, &error);
    let mut attempts = 1;
    let (from, added) = loop {
        let from = version(client, location)?;
        match upgrade(client, location.store(), from) {
            Ok(added) => break (from, added),
            Err(error) if attempts < ATTEMPTS && is_simultaneous(&error) => attempts += 1,
            Err(error) => return Err(to_error(error)),
        }
    };
    let store = store_row::find(client, location.store()).map_err(to_error)?.unwrap_or_default();
    let head = store_row::head(client, store).map_err(to_error)?;
    Ok(InitReport { from, to: MIGRATIONS.len() as i64, is_new: added > 0, head })
}

/// Upgrades the schema from a version, and adds a store if it is missing. Returns the number of added stores.
fn upgrade(client: &mut DatabaseClient, store: &str, from: i64) -> Result<u64, DatabaseError> {
    client.batch_execute("BEGIN")?;
    let upgraded = upgrade_in_transaction(client, store, from);
    if upgraded.is_err() {
        // If this fails, too, the connection has ended, and its transaction with it.
        let _ = client.batch_execute("ROLLBACK");
    }
    upgraded
}

fn upgrade_in_transaction(client: &mut DatabaseClient, store: &str, from: i64) -> Result<u64, DatabaseError> {
    client
        .batch_execute("CREATE TABLE IF NOT EXISTS poc_memory_schema (version INT8 NOT NULL PRIMARY KEY)")?;
    for (version, migration) in (1i64..).zip(MIGRATIONS).skip(usize::try_from(from).unwrap_or_default()) {
        client.batch_execute(migration)?;
        client.execute("INSERT INTO poc_memory_schema (version) VALUES ($1)", &[&version])?;
    }
    let added = client.execute(
        "INSERT INTO poc_memory_store (id, name, head) \
         SELECT coalesce(max(id), 0) + 1, $1, 0 FROM poc_memory_store \
         HAVING NOT EXISTS (SELECT 1 FROM poc_memory_store WHERE name = $1)",
        &[&store],
    )?;
    client.batch_execute("COMMIT")?;
    Ok(added)
}

/// Whether an upgrade failed because another process did the same or added a store at the same time.
fn is_simultaneous(error: &DatabaseError) -> bool {
    let states = [
        &SqlState::UNIQUE_VIOLATION,
        &SqlState::DUPLICATE_TABLE,
        // The type of the rows of a table.
        &SqlState::DUPLICATE_OBJECT,
        &SqlState::DUPLICATE_COLUMN,
    ];
    is_rolled_back(error) || error.code().is_some_and(|state| states.contains(&state))
}

/// Fails if the schema is missing, or older or newer than this release requires.
pub(crate) fn check(client: &mut DatabaseClient, location: &LogLocation) -> Result<()> {
    match version(client, location)? {
        0 => Err(Error::config(format!("the database `{location}` has no memory yet"))
            .hint("create one with `poc-memory store init`")),
        version if version < MIGRATIONS.len() as i64 => {
            Err(Error::config(format!("the database `{location}` has the tables of an earlier release"))
                .hint("upgrade them with `poc-memory store init`"))
        }
        _ => Ok(()),
    }
}

/// The version of the schema; 0 if there is none.
fn version(client: &mut DatabaseClient, location: &LogLocation) -> Result<i64> {
    let found = client.query_one("SELECT coalesce(max(version), 0)::INT8 FROM poc_memory_schema", &[]);
    let version = match found.and_then(|row| Ok(row.try_get::<_, i64>(0)?)) {
        Err(error) if error.code() == Some(&SqlState::UNDEFINED_TABLE) => 0,
        found => found.map_err(|error| failure(location, &error))?,
    };
    let newest = MIGRATIONS.len() as i64;
    if version > newest {
        let message = format!(
            "the database `{location}` has schema {version}, this release knows schemas up to {newest}"
        );
        return Err(Error::conflict(message).hint("use the release that made it, or a newer one"));
    }
    Ok(version)
}
