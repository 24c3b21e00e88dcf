//! A shared log in memory that can simulate faults.

use super::{segment_contains, transaction_contains};
use crate::shared_log::{
    AppendOutcome, DeletedHistory, FIRST_FILE_PART, NewSharedRecord, Peer, SharedLog, SharedRecord,
    SharedSnapshot, SnapshotStore, WriterId,
};
use parking_lot::{Condvar, Mutex};
use poc_graph::error::{Error, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

/// Maximum duration of a wait for new records, so that stores close quickly.
const MAX_WAIT: Duration = Duration::from_millis(5);

/// The time after which every claim to write a snapshot is said to end.
const CLAIM_LEFT: Duration = Duration::from_secs(23);

/// A fault in a call of a writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFault {
    /// The log cannot be reached.
    Unreachable,
    /// The log executes the call, but its response is lost.
    AnswerLost,
}

/// The parts of a snapshot, by their numbers.
type SnapshotParts = BTreeMap<u64, Vec<u8>>;

#[derive(Default)]
struct LogContents {
    records: Vec<SharedRecord>,
    lease: Option<WriterId>,
    writers: u128,
    alive: BTreeSet<WriterId>,
    /// The parts of snapshots by their last record, and the description given when they were completed.
    snapshots: BTreeMap<u64, (SnapshotParts, Option<SharedSnapshot>)>,
    /// The writer that has claimed to write a snapshot.
    claim: Option<WriterId>,
    /// Number of renewals of a claim.
    renewals: u64,
    /// The records that were deleted from the beginning of `records`.
    deleted: DeletedHistory,
    /// Whether another log is being copied into it, which was empty.
    is_copying: bool,
    /// How long it has been running; `None` if it does not know.
    uptime: Option<Duration>,
}

impl LogContents {
    fn head(&self) -> u64 {
        self.deleted.last + self.records.len() as u64
    }
}

/// A log that the writers of one process share.
#[derive(Default)]
pub struct MemoryLog {
    contents: Mutex<LogContents>,
    grown: Condvar,
}

impl MemoryLog {
    /// Creates a writer.
    pub fn writer(self: &Arc<Self>) -> Arc<MemoryLogWriter> {
        let id = {
            let mut contents = self.contents.lock();
            contents.writers += 1;
            let id = u128::to_le_bytes(contents.writers);
            contents.alive.insert(id);
            id
        };
        let log = self.clone();
        let (faults, is_silent, is_copier) = (Mutex::default(), Mutex::default(), Mutex::default());
        Arc::new(MemoryLogWriter { log, id, faults, is_silent, is_copier })
    }

    /// Removes the records after a number, like the failover to a replica that had not received them.
    pub fn remove_after(&self, seq: u64) {
        let mut contents = self.contents.lock();
        let kept = seq.saturating_sub(contents.deleted.last);
        contents.records.truncate(kept as usize);
    }

    /// Flips a bit of the byte at a position of every snapshot. The derived files follow the segment.
    pub fn damage_snapshots(&self, position: usize) {
        for (parts, _) in self.contents.lock().snapshots.values_mut() {
            let damaged = parts.values_mut().flatten().nth(position);
            damaged.into_iter().for_each(|byte| *byte ^= 1);
        }
    }

    /// Deletes a part of every snapshot.
    pub fn lose_part(&self, part: u64) {
        for (parts, _) in self.contents.lock().snapshots.values_mut() {
            parts.remove(&part);
        }
    }

    /// Deletes the derived files of every snapshot, as if earlier versions had made them.
    pub fn lose_files(&self) {
        for (parts, _) in self.contents.lock().snapshots.values_mut() {
            parts.retain(|part, _| *part < FIRST_FILE_PART);
        }
    }

    /// The size of the derived files of the newest snapshot, in bytes.
    pub fn file_bytes(&self) -> usize {
        let contents = self.contents.lock();
        let newest = contents.snapshots.values().next_back();
        newest.map_or(0, |(parts, _)| parts.range(FIRST_FILE_PART..).map(|(_, part)| part.len()).sum())
    }

    /// Ends the claim to write a snapshot, as if it had expired.
    pub fn expire_claim(&self) {
        self.contents.lock().claim = None;
    }

    /// The number of times that a claim was renewed.
    pub fn renewals(&self) -> u64 {
        self.contents.lock().renewals
    }

    /// Sets how long the log says that it has been running.
    pub fn set_uptime(&self, uptime: Option<Duration>) {
        self.contents.lock().uptime = uptime;
    }

    /// Whether a writer claims to be writing a snapshot.
    pub fn is_claimed(&self) -> bool {
        self.contents.lock().claim.is_some()
    }

    /// The number of the last record.
    pub fn head(&self) -> u64 {
        self.contents.lock().head()
    }

    /// The last records of its snapshots, including incomplete ones.
    pub fn snapshots(&self) -> Vec<u64> {
        self.contents.lock().snapshots.keys().copied().collect()
    }

    /// Whether a transaction or a snapshot contains a text. In tables of records, only a text that is too short to be
    /// compressed is found.
    pub fn has_text(&self, text: &[u8]) -> bool {
        let contents = self.contents.lock();
        let concat = |parts: &SnapshotParts, range: Range<u64>| -> Vec<u8> {
            parts.range(range).flat_map(|(_, part)| part).copied().collect()
        };
        contents.records.iter().any(|record| transaction_contains(&record.payload, text))
            || contents.snapshots.values().any(|(parts, _)| {
                let files = concat(parts, FIRST_FILE_PART..u64::MAX);
                segment_contains(&concat(parts, 0..FIRST_FILE_PART), text)
                    || files.windows(text.len()).any(|window| window == text)
            })
    }

    /// All records.
    pub fn records(&self) -> Vec<SharedRecord> {
        self.contents.lock().records.clone()
    }
}

/// A writer of a [`MemoryLog`].
pub struct MemoryLogWriter {
    log: Arc<MemoryLog>,
    id: WriterId,
    /// The faults of the next calls; `None` means success. Calls without an entry succeed.
    faults: Mutex<Vec<Option<LogFault>>>,
    /// Whether it notices new records only when it reads.
    is_silent: Mutex<bool>,
    /// Whether it copies another log.
    is_copier: Mutex<bool>,
}

impl MemoryLogWriter {
    /// Plans the faults of the next calls, in reverse order.
    pub fn plan(&self, faults: Vec<Option<LogFault>>) {
        *self.faults.lock() = faults;
    }

    /// Makes this writer appear terminated to the other writers.
    pub fn terminate(&self) {
        self.log.contents.lock().alive.remove(&self.id);
    }

    /// Sets whether this writer notices new records only when it reads.
    pub fn silence(&self, is_silent: bool) {
        *self.is_silent.lock() = is_silent;
    }

    fn call<T>(&self, act: impl FnOnce(&mut LogContents) -> T) -> Result<T> {
        let fault = self.faults.lock().pop().flatten();
        if fault == Some(LogFault::Unreachable) {
            return Err(Error::unavailable("the log cannot be reached"));
        }
        let mut contents = self.log.contents.lock();
        if contents.is_copying && !*self.is_copier.lock() {
            return Err(Error::conflict("the log is being copied"));
        }
        let done = act(&mut contents);
        if fault == Some(LogFault::AnswerLost) {
            return Err(Error::unavailable("the answer is lost"));
        }
        Ok(done)
    }
}

impl SharedLog for MemoryLogWriter {
    fn address(&self) -> String {
        "memory".into()
    }

    fn writer(&self) -> WriterId {
        self.id
    }

    fn head(&self) -> Result<u64> {
        self.call(|contents| contents.head())
    }

    fn append(&self, records: &[NewSharedRecord<'_>], expected: u64) -> Result<AppendOutcome> {
        let outcome = self.call(|contents| {
            if contents.head() != expected {
                return AppendOutcome::Conflict;
            }
            if contents.lease.is_some_and(|holder| holder != self.id) {
                return AppendOutcome::Leased;
            }
            contents.lease = None;
            for (seq, record) in (expected + 1..).zip(records) {
                let (writer_seq, payload) = (record.writer_seq, record.payload.to_vec());
                let is_new = |other: &SharedRecord| (other.writer, other.writer_seq) != (self.id, writer_seq);
                assert!(contents.records.iter().all(is_new), "a record is appended twice");
                contents.records.push(SharedRecord { seq, writer: self.id, writer_seq, payload });
            }
            AppendOutcome::Appended
        });
        self.log.grown.notify_all();
        outcome
    }

    fn read(&self, after: u64, limit: usize) -> Result<Vec<SharedRecord>> {
        self.call(|contents| {
            let skipped = after.saturating_sub(contents.deleted.last) as usize;
            contents.records.iter().skip(skipped).take(limit).cloned().collect()
        })
    }

    fn wait(&self, after: u64, timeout: Duration) -> Result<u64> {
        // It may become silent during this wait.
        let is_silent = || *self.is_silent.lock();
        let mut contents = self.log.contents.lock();
        self.log.grown.wait_while_for(
            &mut contents,
            |contents| is_silent() || contents.head() <= after,
            timeout.min(MAX_WAIT),
        );
        Ok(if is_silent() { after } else { contents.head() })
    }

    fn lease(&self, _: Duration) -> Result<bool> {
        self.call(|contents| {
            let is_free = contents.lease.is_none_or(|holder| holder == self.id);
            if is_free {
                contents.lease = Some(self.id);
            }
            is_free
        })
    }

    fn peers(&self) -> Result<Vec<Peer>> {
        self.call(|contents| {
            let others = contents.alive.iter().filter(|writer| **writer != self.id);
            let (head, lease, claim) = (contents.head(), contents.lease, contents.claim);
            let peer = |writer: &WriterId| Peer {
                writer: *writer,
                name: format!("writer {}", u128::from_le_bytes(*writer)),
                head,
                seen: Duration::ZERO,
                has_lease: lease == Some(*writer),
                has_claim: claim == Some(*writer),
            };
            others.map(peer).collect()
        })
    }

    fn uptime(&self) -> Result<Option<Duration>> {
        Ok(self.log.contents.lock().uptime)
    }

    fn begin_copy(&self) -> Result<()> {
        *self.is_copier.lock() = true;
        self.call(|contents| contents.is_copying |= contents.records.is_empty())
    }

    fn begin_after(&self, deleted: DeletedHistory) -> Result<bool> {
        self.call(|contents| {
            let is_empty = contents.head() == 0;
            if is_empty {
                contents.deleted = deleted;
            }
            is_empty
        })
    }

    fn end_copy(&self) -> Result<()> {
        self.call(|contents| contents.is_copying = false)
    }

    fn deleted(&self) -> Result<DeletedHistory> {
        self.call(|contents| contents.deleted)
    }

    fn delete_until(&self, deleted: DeletedHistory) -> Result<bool> {
        self.call(|contents| {
            let mut later = contents.snapshots.iter().filter(|(seq, _)| **seq > deleted.last);
            if contents.head() <= deleted.last || !later.any(|(_, (_, complete))| complete.is_some()) {
                return false;
            }
            let count = deleted.last.saturating_sub(contents.deleted.last);
            contents.records.drain(..count as usize);
            contents.deleted = DeletedHistory {
                last: deleted.last.max(contents.deleted.last),
                erased: deleted.erased.max(contents.deleted.erased),
                origin: deleted.origin,
            };
            true
        })
    }

    fn snapshots(&self) -> &dyn SnapshotStore {
        self
    }
}

impl SnapshotStore for MemoryLogWriter {
    fn newest(&self) -> Result<Option<SharedSnapshot>> {
        self.call(|contents| contents.snapshots.values().rev().find_map(|(_, complete)| *complete))
    }

    fn find(&self, seq: u64) -> Result<Option<SharedSnapshot>> {
        self.call(|contents| contents.snapshots.get(&seq)?.1)
    }

    fn read_part(&self, seq: u64, part: u64) -> Result<Option<Vec<u8>>> {
        self.call(|contents| contents.snapshots.get(&seq)?.0.get(&part).cloned())
    }

    fn claim(&self, _: Duration) -> Result<bool> {
        self.call(|contents| {
            let is_free = contents.claim.is_none_or(|holder| holder == self.id);
            if is_free {
                contents.claim = Some(self.id);
                contents.snapshots.retain(|_, (_, complete)| complete.is_some());
            }
            is_free
        })
    }

    fn renew(&self, _: Duration) -> Result<bool> {
        self.call(|contents| {
            let is_own = contents.claim == Some(self.id);
            contents.renewals += u64::from(is_own);
            is_own
        })
    }

    fn claimed_for(&self) -> Result<Option<Duration>> {
        self.call(|contents| contents.claim.filter(|holder| *holder != self.id).map(|_| CLAIM_LEFT))
    }

    fn write_part(&self, seq: u64, part: u64, bytes: &[u8], _: Duration) -> Result<bool> {
        self.call(|contents| {
            if contents.claim != Some(self.id) || seq <= contents.deleted.last {
                return false;
            }
            let (parts, complete) = contents.snapshots.entry(seq).or_default();
            if complete.is_some() {
                return false;
            }
            let next = parts.last_key_value().map_or(0, |(last, _)| last + 1);
            assert!(part == next || part == FIRST_FILE_PART, "part {part} follows part {next}");
            parts.insert(part, bytes.to_vec());
            true
        })
    }

    fn complete(&self, snapshot: SharedSnapshot) -> Result<bool> {
        self.call(|contents| {
            let is_in_log = snapshot.seq > contents.deleted.last && snapshot.seq <= contents.head();
            if contents.claim != Some(self.id) || !is_in_log {
                return false;
            }
            let (parts, complete) = contents.snapshots.entry(snapshot.seq).or_default();
            let has_parts = parts.range(..snapshot.parts).count() as u64 == snapshot.parts;
            if has_parts {
                *complete = Some(snapshot);
            }
            has_parts
        })
    }

    fn delete_unneeded(&self, first: u64) -> Result<()> {
        self.call(|contents| {
            contents.snapshots.retain(|_, (_, complete)| complete.is_some());
            let newest: Vec<u64> = contents.snapshots.keys().rev().take(2).copied().collect();
            contents.snapshots.retain(|seq, _| *seq == first || *seq > first && newest.contains(seq));
        })
    }

    fn release(&self) -> Result<()> {
        self.call(|contents| {
            if contents.claim == Some(self.id) {
                contents.claim = None;
            }
        })
    }
}
