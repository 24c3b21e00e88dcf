//! The SQL statements for reading and appending.

/// Reads the records after a number. Parameters: store, number, maximum number of records, maximum bytes.
pub(crate) const READ: &str = "\
    SELECT seq, writer, writer_seq, payload FROM ( \
      SELECT seq, writer, writer_seq, payload, \
        sum(octet_length(payload)) OVER (ORDER BY seq) - octet_length(payload) AS preceding \
      FROM (SELECT seq, writer, writer_seq, payload FROM poc_memory_log \
        WHERE store = $1 AND seq > $2 ORDER BY seq LIMIT $3) AS page) AS sized \
    WHERE preceding < $4::INT8 ORDER BY seq";

/// Inserts records and moves the head, if the head has the expected value, no other writer has a lease and no other log
/// is being copied. This also ends the writer's own lease. Parameters: store, expected head, writer, the writer's
/// number of the first record, records, whether the writer copies another log. Changes as many rows of the log as it
/// inserts records, or none.
pub(crate) const APPEND: &str = "\
    WITH moved AS ( \
      UPDATE poc_memory_store \
      SET head = head + array_length($5::BYTEA[], 1), lease_writer = NULL, lease_until = NULL \
      WHERE id = $1 AND head = $2 AND (lease_writer IS NULL OR lease_writer = $3 OR lease_until < now()) \
        AND (NOT copying OR $6::BOOL) \
      RETURNING head) \
    INSERT INTO poc_memory_log (store, seq, writer, writer_seq, payload) \
    SELECT $1::INT8, $2::INT8 + record.number, $3::BYTEA, $4::INT8 + record.number - 1, record.payload \
    FROM moved, unnest($5::BYTEA[]) WITH ORDINALITY AS record (payload, number)";

/// The condition that the writer of a row of `poc_memory_writer` may still run: it was seen in the last minute.
pub(crate) const IS_ALIVE: &str = "seen > now() - INTERVAL '1 minute'";

/// Notifies a channel of a new head, or that a process listens to it. Parameters: the channel, the text.
///
/// A transaction that notifies holds a lock of the whole server until its commit is durable, so a notification within
/// [`APPEND`] would limit all stores together to one append for each disk sync. This transaction contains nothing that
/// must be durable, so its commit does not wait for the disk. It may wait for the lock, so no append waits for it.
pub(crate) const NOTIFY: &str = "SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, $2)";
