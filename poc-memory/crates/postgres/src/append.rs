//! Appends records, and leases that let a writer append after repeatedly losing to others.

use crate::error::DatabaseError;
use crate::store_connection::StoreConnection;
use poc_store::{AppendOutcome, WriterId};
use std::time::Duration;
use tokio_postgres::error::SqlState;

/// Appends records. `number` is the writer's number of the first one. Returns `None` and appends nothing if another log
/// is being copied into this one, unless it `is_copier`: the writer that does so.
pub(crate) fn append(
    connection: &mut StoreConnection,
    writer: &WriterId,
    number: u64,
    payloads: &[&[u8]],
    expected: u64,
    is_copier: bool,
) -> Result<Option<AppendOutcome>, DatabaseError> {
    let (expected, number) = (expected as i64, number as i64);
    let writer = writer.as_slice();
    let inserted = connection.client.execute(
        &connection.append,
        &[&connection.store, &expected, &writer, &number, &payloads, &is_copier],
    );
    match inserted {
        Ok(0) => {
            let row = connection.client.query_one(
                "SELECT head = $3 AND lease_writer IS NOT NULL AND lease_writer <> $2 AND lease_until >= now(), copying \
                 FROM poc_memory_store WHERE id = $1",
                &[&connection.store, &writer, &expected],
            )?;
            if row.try_get::<_, bool>(1)? && !is_copier {
                return Ok(None);
            }
            Ok(Some(if row.try_get(0)? { AppendOutcome::Leased } else { AppendOutcome::Conflict }))
        }
        Ok(_) => Ok(Some(AppendOutcome::Appended)),
        // Two writers have inserted the same number.
        Err(error) if error.code() == Some(&SqlState::UNIQUE_VIOLATION) => Ok(Some(AppendOutcome::Conflict)),
        // A statement that was rolled back is no conflict, because the head may not have moved. The connection repeats
        // it, and if the head has moved, it then inserts nothing.
        Err(error) => Err(error),
    }
}

/// Requests a lease on the head. Returns `false` if another writer has one.
pub(crate) fn lease(
    connection: &mut StoreConnection,
    writer: &WriterId,
    duration: Duration,
) -> Result<bool, DatabaseError> {
    let (writer, seconds) = (writer.as_slice(), duration.as_secs_f64());
    let leased = connection.client.execute(
        "UPDATE poc_memory_store \
         SET lease_writer = $2, lease_until = now() + $3::FLOAT8 * INTERVAL '1 second' \
         WHERE id = $1 AND (lease_writer IS NULL OR lease_writer = $2 OR lease_until < now())",
        &[&connection.store, &writer, &seconds],
    )?;
    Ok(leased > 0)
}
