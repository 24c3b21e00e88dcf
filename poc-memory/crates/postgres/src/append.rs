//! Appends, and the lease that lets a writer append that has lost to others.

use crate::session::Session;
use poc_store::{AppendOutcome, NewSharedRecord, WriterId};
use postgres::Error;
use postgres::error::SqlState;
use std::time::Duration;

/// Moves the head if it is the expected one and nobody else has a lease, and inserts the records. A lease ends with it.
/// Parameters: store, expected head, writer, the writer's number of the first record, records. Returns their numbers.
pub(crate) const APPEND: &str = "\
    WITH moved AS ( \
      UPDATE poc_memory_store \
      SET head = head + array_length($5::BYTEA[], 1), lease_writer = NULL, lease_until = NULL \
      WHERE id = $1 AND head = $2 AND (lease_writer IS NULL OR lease_writer = $3 OR lease_until < now()) \
      RETURNING head) \
    INSERT INTO poc_memory_log (store, seq, writer, writer_seq, payload) \
    SELECT $1::INT8, $2::INT8 + record.number, $3::BYTEA, $4::INT8 + record.number - 1, record.payload \
    FROM moved, unnest($5::BYTEA[]) WITH ORDINALITY AS record (payload, number) \
    RETURNING seq";

/// [`APPEND`] with a notification of the head.
/// Parameters after those of it: the channel.
pub(crate) fn append_and_notify() -> String {
    format!("{APPEND}, pg_notify($6, ($2::INT8 + array_length($5::BYTEA[], 1))::TEXT)")
}

pub(crate) fn append(
    session: &mut Session,
    writer: &WriterId,
    records: &[NewSharedRecord<'_>],
    expected: u64,
) -> Result<AppendOutcome, Error> {
    let Some(first) = records.first() else { return Ok(AppendOutcome::Appended) };
    let (expected, number) = (expected as i64, first.writer_seq as i64);
    let payloads: Vec<&[u8]> = records.iter().map(|record| record.payload).collect();
    let writer = writer.as_slice();
    let channel = session.channel();
    let inserted = if session.has_notify {
        let parameters: [&(dyn postgres::types::ToSql + Sync); 6] =
            [&session.store, &expected, &writer, &number, &payloads, &channel];
        session.client.query(&session.append, &parameters)
    } else {
        session.client.query(&session.append, &[&session.store, &expected, &writer, &number, &payloads])
    };
    match inserted {
        Ok(rows) if rows.is_empty() => {
            let row = session.client.query_one(
                "SELECT lease_writer IS NOT NULL AND lease_writer <> $2 AND lease_until >= now() \
                 FROM poc_memory_store WHERE id = $1 AND head = $3 \
                 UNION ALL SELECT FALSE LIMIT 1",
                &[&session.store, &writer, &expected],
            )?;
            Ok(if row.try_get(0)? { AppendOutcome::Leased } else { AppendOutcome::Conflict })
        }
        Ok(_) => Ok(AppendOutcome::Appended),
        Err(error) if error.code().is_some_and(is_conflict) => Ok(AppendOutcome::Conflict),
        Err(error) => Err(error),
    }
}

/// Whether a statement was undone because of another transaction.
fn is_conflict(state: &SqlState) -> bool {
    [&SqlState::UNIQUE_VIOLATION, &SqlState::T_R_SERIALIZATION_FAILURE, &SqlState::T_R_DEADLOCK_DETECTED]
        .contains(&state)
}

pub(crate) fn lease(session: &mut Session, writer: &WriterId, duration: Duration) -> Result<bool, Error> {
    let (writer, seconds) = (writer.as_slice(), duration.as_secs_f64());
    let leased = session.client.execute(
        "UPDATE poc_memory_store \
         SET lease_writer = $2, lease_until = now() + $3::FLOAT8 * INTERVAL '1 second' \
         WHERE id = $1 AND (lease_writer IS NULL OR lease_writer = $2 OR lease_until < now())",
        &[&session.store, &writer, &seconds],
    )?;
    Ok(leased > 0)
}
