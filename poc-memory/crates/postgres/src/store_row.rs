//! The row of a store: its number, its head and its notification channel.

use crate::database_client::DatabaseClient;
use crate::error::{DatabaseError, failure};
use crate::location::LogLocation;
use poc_graph::error::Error;

/// The notification channel of a store.
pub(crate) fn channel(store: i64) -> String {
    format!("poc_memory_{store}")
}

/// The number that identifies a store in the database, by name; `None` if there is no such store.
pub(crate) fn find(client: &mut DatabaseClient, name: &str) -> Result<Option<i64>, DatabaseError> {
    let row = client.query_opt("SELECT id FROM poc_memory_store WHERE name = $1", &[&name])?;
    Ok(row.map(|row| row.try_get(0)).transpose()?)
}

/// The number that identifies the store of a location.
///
/// # Errors
/// `invalid_config` if the database does not have the store, or an error of the database.
pub(crate) fn get(client: &mut DatabaseClient, location: &LogLocation) -> Result<i64, Error> {
    let found = find(client, location.store()).map_err(|error| failure(location, &error))?;
    found.ok_or_else(|| {
        Error::config(format!("the database `{location}` has no store `{}`", location.store()))
            .hint("add it with `poc-memory store init`")
    })
}

/// Fails if another log is being copied into the store, or if such a copy was interrupted.
///
/// # Errors
/// `conflict` if the store is not complete, or an error of the database.
pub(crate) fn require_complete(
    client: &mut DatabaseClient,
    store: i64,
    location: &LogLocation,
) -> Result<(), Error> {
    let row = client.query_one("SELECT copying FROM poc_memory_store WHERE id = $1", &[&store]);
    let copying = row.and_then(|row| Ok(row.try_get::<_, bool>(0)?));
    let copying = copying.map_err(|error| failure(location, &error))?;
    if copying { Err(incomplete(location)) } else { Ok(()) }
}

/// The error of a log that another one is being copied into.
pub(crate) fn incomplete(location: &LogLocation) -> Error {
    Error::conflict(format!(
        "the memory `{}` in `{location}` is not complete: it is being copied",
        location.store()
    ))
    .hint("wait until the copy ends; if it was interrupted, repeat `poc-memory store copy`")
}

/// The number of the store's last record.
pub(crate) fn head(client: &mut DatabaseClient, store: i64) -> Result<u64, DatabaseError> {
    let row = client.query_one("SELECT head FROM poc_memory_store WHERE id = $1", &[&store])?;
    Ok(row.try_get::<_, i64>(0)? as u64)
}
