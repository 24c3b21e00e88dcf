//! Snapshots in the database: a row for each, with its parts in a separate table.

use crate::PostgresLog;
use crate::error::DatabaseError;
use poc_graph::error::Result;
use poc_store::{SharedSnapshot, SnapshotStore};
use std::time::Duration;
use tokio_postgres::Row;

/// The number of complete snapshots to keep. A store may still be reading the older one.
const KEPT: i64 = 2;
/// Maximum number of parts that one statement deletes, so that it finishes within its time limit.
const DELETED_AT_ONCE: i64 = 64;

/// The snapshot of a row with its last record, number of parts and size.
fn snapshot(row: &Row) -> Result<SharedSnapshot, DatabaseError> {
    let number = |at: usize| row.try_get::<_, i64>(at).map(|number| number as u64);
    Ok(SharedSnapshot { seq: number(0)?, parts: number(1)?, bytes: number(2)? })
}

impl SnapshotStore for PostgresLog {
    fn newest(&self) -> Result<Option<SharedSnapshot>> {
        self.with(|connection| {
            let row = connection.client.query_opt(
                "SELECT seq, parts, bytes FROM poc_memory_snapshot WHERE store = $1 ORDER BY seq DESC LIMIT 1",
                &[&connection.store],
            )?;
            row.as_ref().map(snapshot).transpose()
        })
    }

    fn find(&self, seq: u64) -> Result<Option<SharedSnapshot>> {
        self.with(move |connection| {
            let row = connection.client.query_opt(
                "SELECT seq, parts, bytes FROM poc_memory_snapshot WHERE store = $1 AND seq = $2",
                &[&connection.store, &(seq as i64)],
            )?;
            row.as_ref().map(snapshot).transpose()
        })
    }

    fn read_part(&self, seq: u64, part: u64) -> Result<Option<Vec<u8>>> {
        self.with(move |connection| {
            let row = connection.client.query_opt(
                "SELECT bytes FROM poc_memory_snapshot_part WHERE store = $1 AND seq = $2 AND part = $3",
                &[&connection.store, &(seq as i64), &(part as i64)],
            )?;
            Ok(row.map(|row| row.try_get(0)).transpose()?)
        })
    }

    fn claim(&self, duration: Duration) -> Result<bool> {
        let writer = self.writer;
        let is_claimed = self.maintain(move |connection| {
            let (writer, seconds) = (writer.as_slice(), duration.as_secs_f64());
            let claimed = connection.client.execute(
                "INSERT INTO poc_memory_snapshot_claim AS claim (store, writer, until) \
                 VALUES ($1, $2, now() + $3::FLOAT8 * INTERVAL '1 second') \
                 ON CONFLICT (store) DO UPDATE SET writer = excluded.writer, until = excluded.until \
                 WHERE claim.writer = excluded.writer OR claim.until < now()",
                &[&connection.store, &writer, &seconds],
            )?;
            Ok(claimed > 0)
        })?;
        if !is_claimed {
            self.end_maintenance();
        } else if let Err(error) = self.delete_incomplete(0) {
            tracing::debug!("incomplete snapshots cannot be deleted: {error}");
        }
        Ok(is_claimed)
    }

    fn renew(&self, duration: Duration) -> Result<bool> {
        let writer = self.writer;
        let renewed = self.maintain(move |connection| {
            let (writer, seconds) = (writer.as_slice(), duration.as_secs_f64());
            connection.client.execute(
                "UPDATE poc_memory_snapshot_claim SET until = now() + $3::FLOAT8 * INTERVAL '1 second' \
                 WHERE store = $1 AND writer = $2",
                &[&connection.store, &writer, &seconds],
            )
        })?;
        Ok(renewed > 0)
    }

    fn claimed_for(&self) -> Result<Option<Duration>> {
        let writer = self.writer;
        let seconds: Option<f64> = self.with(move |connection| {
            let row = connection.client.query_opt(
                "SELECT extract(epoch FROM until - now())::FLOAT8 FROM poc_memory_snapshot_claim \
                 WHERE store = $1 AND writer <> $2 AND until >= now()",
                &[&connection.store, &writer.as_slice()],
            )?;
            Ok(row.map(|row| row.try_get(0)).transpose()?)
        })?;
        Ok(seconds.map(|seconds| Duration::try_from_secs_f64(seconds).unwrap_or_default()))
    }

    fn write_part(&self, seq: u64, part: u64, bytes: &[u8], duration: Duration) -> Result<bool> {
        let writer = self.writer;
        self.maintain(move |connection| {
            let (writer, seconds) = (writer.as_slice(), duration.as_secs_f64());
            let written = connection.client.execute(
                "WITH claimed AS ( \
                   UPDATE poc_memory_snapshot_claim SET until = now() + $3::FLOAT8 * INTERVAL '1 second' \
                   WHERE store = $1 AND writer = $2 RETURNING store) \
                 INSERT INTO poc_memory_snapshot_part (store, seq, part, bytes) \
                 SELECT store, $4::INT8, $5::INT8, $6::BYTEA FROM claimed \
                 WHERE NOT EXISTS (SELECT 1 FROM poc_memory_snapshot WHERE store = $1 AND seq = $4) \
                 AND EXISTS (SELECT 1 FROM poc_memory_store WHERE id = $1 AND dropped < $4) \
                 ON CONFLICT (store, seq, part) DO UPDATE SET bytes = excluded.bytes",
                &[&connection.store, &writer, &seconds, &(seq as i64), &(part as i64), &bytes],
            )?;
            Ok(written > 0)
        })
    }

    fn complete(&self, snapshot: SharedSnapshot) -> Result<bool> {
        let writer = self.writer;
        self.maintain(move |connection| {
            let writer = writer.as_slice();
            let [seq, parts, bytes] =
                [snapshot.seq, snapshot.parts, snapshot.bytes].map(|number| number as i64);
            // In some databases, the sum of integers is a decimal number, and a parameter that is compared with it would
            // be one, too. The cast makes it an integer.
            let completed = connection.client.execute(
                "INSERT INTO poc_memory_snapshot (store, seq, parts, bytes) \
                 SELECT id, $3::INT8, $4::INT8, $5::INT8 FROM poc_memory_store \
                 WHERE id = $1 AND head >= $3 AND dropped < $3 AND EXISTS ( \
                   SELECT 1 FROM poc_memory_snapshot_claim WHERE store = $1 AND writer = $2) \
                 AND EXISTS ( \
                   SELECT 1 FROM poc_memory_snapshot_part WHERE store = $1 AND seq = $3 AND part < $4 \
                   HAVING count(*) = $4 AND sum(octet_length(bytes)) = $5::INT8)",
                &[&connection.store, &writer, &seq, &parts, &bytes],
            )?;
            Ok(completed > 0)
        })
    }

    fn delete_unneeded(&self, first: u64) -> Result<()> {
        self.maintain(move |connection| {
            connection.client.execute(
                "DELETE FROM poc_memory_snapshot WHERE store = $1 AND seq <> $3::INT8 AND (seq < $3::INT8 OR seq NOT IN \
                 (SELECT seq FROM poc_memory_snapshot WHERE store = $1 ORDER BY seq DESC LIMIT $2))",
                &[&connection.store, &KEPT, &(first as i64)],
            )
        })?;
        self.delete_incomplete(first)
    }

    fn release(&self) -> Result<()> {
        let writer = self.writer;
        let released = self.maintain(move |connection| {
            connection.client.execute(
                "DELETE FROM poc_memory_snapshot_claim WHERE store = $1 AND writer = $2",
                &[&connection.store, &writer.as_slice()],
            )?;
            Ok(())
        });
        self.end_maintenance();
        released
    }
}

impl PostgresLog {
    /// Deletes the parts of incomplete snapshots that end before record `first`, because they can no longer be
    /// completed. If this writer has the claim, deletes those of all incomplete snapshots; otherwise, others may be
    /// writing them. Parts that cannot be deleted now are deleted after the next claim.
    fn delete_incomplete(&self, first: u64) -> Result<()> {
        let writer = self.writer;
        self.delete_in_parts(move |connection| {
            connection.client.execute(
                "DELETE FROM poc_memory_snapshot_part WHERE store = $1 AND (seq, part) IN ( \
                   SELECT seq, part FROM poc_memory_snapshot_part WHERE store = $1 AND seq NOT IN \
                   (SELECT seq FROM poc_memory_snapshot WHERE store = $1) ORDER BY seq, part LIMIT $2) \
                 AND (seq < $4::INT8 \
                   OR EXISTS (SELECT 1 FROM poc_memory_snapshot_claim WHERE store = $1 AND writer = $3))",
                &[&connection.store, &DELETED_AT_ONCE, &writer.as_slice(), &(first as i64)],
            )
        })
    }
}
