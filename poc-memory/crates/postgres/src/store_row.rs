//! The row of a store: its number, its head and its channel.

use postgres::Client;

/// The channel of notifications about a store.
pub(crate) fn channel(store: i64) -> String {
    format!("poc_memory_{store}")
}

/// The number of a store in the database.
pub(crate) fn find(client: &mut Client, name: &str) -> Result<Option<i64>, postgres::Error> {
    client
        .query_opt("SELECT id FROM poc_memory_store WHERE name = $1", &[&name])?
        .map(|row| row.try_get(0))
        .transpose()
}

/// The number of the last record.
pub(crate) fn head(client: &mut Client, store: i64) -> Result<u64, postgres::Error> {
    let row = client.query_one("SELECT head FROM poc_memory_store WHERE id = $1", &[&store])?;
    Ok(row.try_get::<_, i64>(0)? as u64)
}
