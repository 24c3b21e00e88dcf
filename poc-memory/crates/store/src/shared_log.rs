//! The interface of a log that several stores share.
//!
//! With a shared log, the folder of a store is a cache: its own log is a copy of the shared one, record by record. A
//! transaction is first appended to the shared log, together with the head that it was built on, and then to the copy. It
//! is acknowledged when the shared log has it on disk; the copy is synced later.

use poc_graph::error::Result;
use std::time::Duration;

/// Identifies a writer of a shared log. A store has another id each time it is opened.
pub type WriterId = [u8; 16];

/// A record to append.
#[derive(Clone, Copy, Debug)]
pub struct NewSharedRecord<'a> {
    /// The writer's own number of the record. It ascends, and a writer never uses a number twice.
    pub writer_seq: u64,
    /// The encoded transaction, which contains its sequence number.
    pub payload: &'a [u8],
}

/// A record of a shared log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedRecord {
    /// The number of the record, from 1 without gaps.
    pub seq: u64,
    /// The writer of the record.
    pub writer: WriterId,
    /// The writer's own number of the record.
    pub writer_seq: u64,
    /// The encoded transaction.
    pub payload: Vec<u8>,
}

/// The outcome of an attempt to append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppendOutcome {
    /// All records are durable and consecutive.
    Appended,
    /// Nothing was written: the head is not the expected one, or one of the records is already in the log.
    Conflict,
    /// Nothing was written: another writer has a lease on the head. The head may still be the expected one.
    Leased,
}

/// The interval at which a writer announces that it is alive.
pub const PEER_HEARTBEAT: Duration = Duration::from_secs(5);

/// The time without an announcement after which a writer counts as dead.
pub(super) const DEAD_AFTER: Duration = Duration::from_secs(15);

/// Another writer or reader of a shared log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// The id of the writer.
    pub writer: WriterId,
    /// The name of the writer: its host and process.
    pub name: String,
    /// The last record that the writer had read when it was last seen.
    pub head: u64,
    /// The time since the writer was last seen, by the clock of the log.
    pub seen: Duration,
    /// Whether it has a lease on the head.
    pub has_lease: bool,
    /// Whether it has the claim to write snapshots.
    pub has_claim: bool,
}

impl Peer {
    /// Whether the writer may still be alive.
    pub fn is_alive(&self) -> bool {
        self.seen < DEAD_AFTER
    }
}

/// A snapshot of a shared log, stored beside it so that a new store need not read the whole log. Its bytes are a
/// compacted segment: a state, and the last transaction. Files that are derived from them may be stored with it, in
/// parts from [`FIRST_FILE_PART`] on, which are not counted here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedSnapshot {
    /// The number of the last record that it contains.
    pub seq: u64,
    /// The number of parts in which it is stored.
    pub parts: u64,
    /// The total size of these parts, in bytes.
    pub bytes: u64,
}

/// The number of the first part with derived files. Programs that do not know these files read only the parts that a
/// snapshot counts.
pub const FIRST_FILE_PART: u64 = 1 << 32;

/// The beginning of a shared log that was deleted. A snapshot contains the state that it led to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeletedHistory {
    /// The number of the last deleted record; 0 for a complete log.
    pub last: u64,
    /// The number of the last record that was deleted by an erasure; 0 without any. No copy may keep history up to it.
    pub erased: u64,
    /// Identifies the log, like [`Store::log_origin`](crate::Store::log_origin), in place of its first record.
    pub origin: [u8; 16],
}

/// Storage for the snapshots of one shared log, as seen by one writer. Errors are those of [`SharedLog`].
pub trait SnapshotStore: Send + Sync {
    /// The newest complete snapshot.
    fn newest(&self) -> Result<Option<SharedSnapshot>>;

    /// The complete snapshot whose last record is `seq`; `None` if there is none.
    fn find(&self, seq: u64) -> Result<Option<SharedSnapshot>>;

    /// A part of a snapshot, counted from 0, or from [`FIRST_FILE_PART`]; `None` if there is no such part, or the
    /// snapshot was deleted in the meantime.
    fn read_part(&self, seq: u64, part: u64) -> Result<Option<Vec<u8>>>;

    /// Claims for `duration` the exclusive right to write a snapshot, and deletes incomplete snapshots. Returns `false`
    /// if another writer has the claim.
    fn claim(&self, duration: Duration) -> Result<bool>;

    /// Extends the claim of this writer to `duration` from now. Returns `false` and changes nothing if it has none any
    /// more.
    fn renew(&self, duration: Duration) -> Result<bool>;

    /// The time after which the claim of another writer ends unless that writer renews it, by the clock of the log;
    /// `None` if no other writer has a claim.
    fn claimed_for(&self) -> Result<Option<Duration>>;

    /// Writes the next part of the snapshot whose last record is `seq`, and extends the claim to `duration` from now.
    /// Returns `false` and writes nothing if this writer has lost the claim, the snapshot is complete, or the log has
    /// deleted its last record.
    fn write_part(&self, seq: u64, part: u64, bytes: &[u8], duration: Duration) -> Result<bool>;

    /// Completes a snapshot after its parts were written. Returns `false` and changes nothing if this writer has lost
    /// the claim, parts that the snapshot counts were deleted, or the log does not have the last record or has deleted
    /// it.
    fn complete(&self, snapshot: SharedSnapshot) -> Result<bool>;

    /// Deletes incomplete snapshots, and the complete ones that are not needed. The newest two are needed, and the one
    /// whose last record is `first`, the first record of the log; but no snapshot that ends before that record. Only
    /// the writer that has the claim may call this.
    fn delete_unneeded(&self, first: u64) -> Result<()>;

    /// Ends the claim of this writer, if it has one.
    fn release(&self) -> Result<()>;
}

/// A log that several stores share, as seen by one of its writers.
///
/// Calls block. An error with the code `unavailable` means that the log could not be reached, refused the login, did
/// not respond in time, or does not know what it has done; it is then unknown whether an append succeeded. After
/// another error, nothing was appended, and a person must act.
pub trait SharedLog: Send + Sync {
    /// The address of the log for people, without a password.
    fn address(&self) -> String;

    /// The id of this writer.
    fn writer(&self) -> WriterId;

    /// The number of the last record; 0 for an empty log.
    fn head(&self) -> Result<u64>;

    /// Appends all records or none, with the numbers from `expected + 1` on, if the last record is `expected`.
    fn append(&self, records: &[NewSharedRecord<'_>], expected: u64) -> Result<AppendOutcome>;

    /// The records after `after`, in order and without gaps: at least one if there is any, at most `limit`, and about 8
    /// MiB. The first one has a higher number than `after + 1` if records in between were deleted.
    fn read(&self, after: u64, limit: usize) -> Result<Vec<SharedRecord>>;

    /// Waits until there is a record after `after`, at most for `timeout`. Returns the highest known head.
    fn wait(&self, after: u64, timeout: Duration) -> Result<u64>;

    /// Requests a lease: for `duration`, or until this writer appends, no other writer may append. Returns `false` if
    /// another writer has a lease.
    fn lease(&self, duration: Duration) -> Result<bool>;

    /// The other writers that were seen in the last minute, except those that have ended in an orderly way. A writer is
    /// seen while it waits for records.
    fn peers(&self) -> Result<Vec<Peer>>;

    /// How long the log has been running, by its own clock; `None` if it does not know. Before, no writer could announce
    /// that it is alive.
    fn uptime(&self) -> Result<Option<Duration>>;

    /// Begins to copy another log into this one. If it is empty, all calls of other writers fail with `conflict` until
    /// the copy ends, because the log is not complete. Any writer can continue a copy that was interrupted.
    fn begin_copy(&self) -> Result<()>;

    /// Makes an empty log begin after `deleted.last`, because the log that is copied has no earlier records. Returns
    /// `false` and changes nothing if it is not empty. A snapshot whose last record is the first one must follow.
    fn begin_after(&self, deleted: DeletedHistory) -> Result<bool>;

    /// Ends a copy, also one that another writer has begun.
    fn end_copy(&self) -> Result<()>;

    /// Which records were deleted.
    fn deleted(&self) -> Result<DeletedHistory>;

    /// Deletes the records up to `deleted.last` for good, and remembers `deleted`. The caller has the claim to write
    /// snapshots, and there is a snapshot whose last record is the next one. Returns `false` and deletes nothing if the
    /// log does not have a later record or no later snapshot. After an error, some of the records may be deleted; the
    /// next call deletes the others.
    fn delete_until(&self, deleted: DeletedHistory) -> Result<bool>;

    /// The storage for snapshots of this log.
    fn snapshots(&self) -> &dyn SnapshotStore;
}
