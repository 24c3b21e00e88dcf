//! The interface of a log that several stores share.
//!
//! With a shared log, the folder of a store is a cache: its own log is a copy of the shared one, record for record. A
//! transaction is appended to the shared log first, with the head that it was built on, and then to the copy.

use poc_graph::error::Result;
use std::time::Duration;

/// Identifies a writer of a shared log: one opening of one store.
pub type WriterId = [u8; 16];

/// A record to append.
#[derive(Clone, Copy, Debug)]
pub struct NewSharedRecord<'a> {
    /// The writer's own number for it, ascending, and never used twice by a writer.
    pub writer_seq: u64,
    /// The encoded transaction. It contains its number in the log.
    pub payload: &'a [u8],
}

/// A record of a shared log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedRecord {
    /// Its number, from 1 without gaps.
    pub seq: u64,
    /// Who wrote it.
    pub writer: WriterId,
    /// The writer's own number for it.
    pub writer_seq: u64,
    /// The encoded transaction.
    pub payload: Vec<u8>,
}

/// The outcome of an attempt to append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppendOutcome {
    /// All records are durable, and no other writer's record is between them.
    Appended,
    /// Nothing was written: the head is another than expected, or one of the records is already in the log.
    Conflict,
    /// Nothing was written: another writer has a lease on the head. The head may still be the expected one.
    Leased,
}

/// Interval at which a writer renews the time at which others see it.
pub const HEARTBEAT: Duration = Duration::from_secs(5);

/// A writer that others have not seen for this long counts as dead.
pub(super) const DEAD_AFTER: Duration = Duration::from_secs(15);

/// Another writer or reader of a shared log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Its id.
    pub writer: WriterId,
    /// Its name: the host and the process.
    pub name: String,
    /// The last record that it had when it was seen.
    pub head: u64,
    /// How long ago it was seen, by the clock of the log.
    pub seen: Duration,
}

impl Peer {
    /// Whether it may still be alive.
    pub fn is_alive(&self) -> bool {
        self.seen < DEAD_AFTER
    }
}

/// A state of a shared log that is kept beside it, so that a new store need not read the whole log. Its bytes are those of
/// a compacted segment: a state, and the last transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedSnapshot {
    /// The last record that it contains.
    pub seq: u64,
    /// In how many parts it is stored.
    pub parts: u64,
    /// Bytes of all parts.
    pub bytes: u64,
}

/// A place for the snapshots of one shared log, as one writer sees it. Errors are those of [`SharedLog`].
pub trait SnapshotStore: Send + Sync {
    /// The newest snapshot that is complete.
    fn newest(&self) -> Result<Option<SharedSnapshot>>;

    /// A part of a snapshot, counted from 0; `None` when the snapshot was deleted meanwhile.
    fn read_part(&self, seq: u64, part: u64) -> Result<Option<Vec<u8>>>;

    /// Asks that for `duration` only this writer may write a snapshot. Returns whether it was granted; otherwise another
    /// writer is writing one. Deletes incomplete snapshots.
    fn claim(&self, duration: Duration) -> Result<bool>;

    /// Writes the next part of the snapshot whose last record is `seq`, and extends the claim to `duration` from now.
    /// Returns `false`, and writes nothing, when this writer has lost the claim or the snapshot is complete.
    fn write_part(&self, seq: u64, part: u64, bytes: &[u8], duration: Duration) -> Result<bool>;

    /// Completes a snapshot whose parts were written, and deletes all but the newest two. Returns `false`, and changes
    /// nothing, when this writer has lost the claim or the log does not have the last record.
    fn complete(&self, snapshot: SharedSnapshot) -> Result<bool>;

    /// Ends the claim of this writer, if it has one.
    fn release(&self) -> Result<()>;
}

/// A log that several stores share, as one of its writers sees it.
///
/// Calls block. An error with the code `unavailable` means that the log could not be reached or did not answer in time;
/// whether an append was done is then unknown. Errors of other kinds need a person.
pub trait SharedLog: Send + Sync {
    /// Where it is, for people, without a password.
    fn address(&self) -> String;

    /// The id of this writer.
    fn writer(&self) -> WriterId;

    /// The number of its last record; 0 when it has none.
    fn head(&self) -> Result<u64>;

    /// Appends records as numbers `expected + 1` and following, all or none, if its last record is `expected`.
    fn append(&self, records: &[NewSharedRecord<'_>], expected: u64) -> Result<AppendOutcome>;

    /// The records after `after`, in order and without gaps: at least one if there is one, and then at most `limit` and
    /// about 8 MiB.
    fn read(&self, after: u64, limit: usize) -> Result<Vec<SharedRecord>>;

    /// Waits until it has a record after `after`, but not longer than `timeout`. Returns the last head it knows of.
    fn wait(&self, after: u64, timeout: Duration) -> Result<u64>;

    /// Asks that for `duration` only this writer may append, until it does. Returns whether it was granted; otherwise
    /// another writer has a lease.
    fn lease(&self, duration: Duration) -> Result<bool>;

    /// The others that were seen in the last minute. A writer is seen while it waits for records.
    fn peers(&self) -> Result<Vec<Peer>>;

    /// Where its snapshots are.
    fn snapshots(&self) -> &dyn SnapshotStore;
}
