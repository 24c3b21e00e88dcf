//! Snapshots in the database: a row for each, and its parts in a table of their own.

use crate::PostgresLog;
use poc_graph::error::Result;
use poc_store::{SharedSnapshot, SnapshotStore};
use std::time::Duration;

/// How many complete snapshots stay: a store may be reading the last but one.
const KEPT: i64 = 2;

impl SnapshotStore for PostgresLog {
    fn newest(&self) -> Result<Option<SharedSnapshot>> {
        self.with(|session| {
            let row = session.client.query_opt(
                "SELECT seq, parts, bytes FROM poc_memory_snapshot WHERE store = $1 ORDER BY seq DESC LIMIT 1",
                &[&session.store],
            )?;
            let number = |row: &postgres::Row, at: usize| Ok(row.try_get::<_, i64>(at)? as u64);
            let snapshot = |row: postgres::Row| {
                Ok(SharedSnapshot {
                    seq: number(&row, 0)?,
                    parts: number(&row, 1)?,
                    bytes: number(&row, 2)?,
                })
            };
            row.map(snapshot).transpose()
        })
    }

    fn read_part(&self, seq: u64, part: u64) -> Result<Option<Vec<u8>>> {
        self.with(|session| {
            let row = session.client.query_opt(
                "SELECT bytes FROM poc_memory_snapshot_part WHERE store = $1 AND seq = $2 AND part = $3",
                &[&session.store, &(seq as i64), &(part as i64)],
            )?;
            row.map(|row| row.try_get(0)).transpose()
        })
    }

    fn claim(&self, duration: Duration) -> Result<bool> {
        self.with(|session| {
            let (writer, seconds) = (self.writer.as_slice(), duration.as_secs_f64());
            let mut transaction = session.client.transaction()?;
            let claimed = transaction.execute(
                "UPDATE poc_memory_store \
                 SET snapshot_writer = $2, snapshot_until = now() + $3::FLOAT8 * INTERVAL '1 second' \
                 WHERE id = $1 \
                 AND (snapshot_writer IS NULL OR snapshot_writer = $2 OR snapshot_until < now())",
                &[&session.store, &writer, &seconds],
            )?;
            if claimed > 0 {
                transaction.execute(
                    "DELETE FROM poc_memory_snapshot_part WHERE store = $1 \
                     AND seq NOT IN (SELECT seq FROM poc_memory_snapshot WHERE store = $1)",
                    &[&session.store],
                )?;
            }
            transaction.commit()?;
            Ok(claimed > 0)
        })
    }

    fn write_part(&self, seq: u64, part: u64, bytes: &[u8], duration: Duration) -> Result<bool> {
        self.with(|session| {
            let (writer, seconds) = (self.writer.as_slice(), duration.as_secs_f64());
            let written = session.client.execute(
                "WITH claimed AS ( \
                   UPDATE poc_memory_store SET snapshot_until = now() + $3::FLOAT8 * INTERVAL '1 second' \
                   WHERE id = $1 AND snapshot_writer = $2 RETURNING id) \
                 INSERT INTO poc_memory_snapshot_part (store, seq, part, bytes) \
                 SELECT id, $4::INT8, $5::INT8, $6::BYTEA FROM claimed \
                 ON CONFLICT (store, seq, part) DO UPDATE SET bytes = excluded.bytes",
                &[&session.store, &writer, &seconds, &(seq as i64), &(part as i64), &bytes],
            )?;
            Ok(written > 0)
        })
    }

    fn complete(&self, snapshot: SharedSnapshot) -> Result<bool> {
        self.with(|session| {
            let writer = self.writer.as_slice();
            let [seq, parts, bytes] =
                [snapshot.seq, snapshot.parts, snapshot.bytes].map(|number| number as i64);
            let mut transaction = session.client.transaction()?;
            let ended = transaction.execute(
                "UPDATE poc_memory_store SET snapshot_writer = NULL, snapshot_until = NULL \
                 WHERE id = $1 AND snapshot_writer = $2",
                &[&session.store, &writer],
            )?;
            if ended == 0 {
                return Ok(false);
            }
            transaction.execute(
                "INSERT INTO poc_memory_snapshot (store, seq, parts, bytes) VALUES ($1, $2, $3, $4) \
                 ON CONFLICT (store, seq) DO UPDATE SET parts = excluded.parts, bytes = excluded.bytes",
                &[&session.store, &seq, &parts, &bytes],
            )?;
            transaction.execute(
                "DELETE FROM poc_memory_snapshot WHERE store = $1 AND seq NOT IN \
                 (SELECT seq FROM poc_memory_snapshot WHERE store = $1 ORDER BY seq DESC LIMIT $2)",
                &[&session.store, &KEPT],
            )?;
            transaction.execute(
                "DELETE FROM poc_memory_snapshot_part WHERE store = $1 \
                 AND seq NOT IN (SELECT seq FROM poc_memory_snapshot WHERE store = $1)",
                &[&session.store],
            )?;
            transaction.commit()?;
            Ok(true)
        })
    }
}
