//! A shared log in memory, with faults.

use crate::shared_log::{AppendOutcome, NewSharedRecord, Peer, SharedLog, SharedRecord, WriterId};
use parking_lot::{Condvar, Mutex};
use poc_graph::error::{Error, Result};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// A wait is not longer than this, so that stores close soon.
const WAIT: Duration = Duration::from_millis(5);

/// What happens to a call of a writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFault {
    /// The log is not reached.
    Unreachable,
    /// The log does what it is asked, but the answer is lost.
    AnswerLost,
}

#[derive(Default)]
struct Contents {
    records: Vec<SharedRecord>,
    lease: Option<WriterId>,
    writers: u128,
    alive: BTreeSet<WriterId>,
}

/// A log that the writers of one process share.
#[derive(Default)]
pub struct MemoryLog {
    contents: Mutex<Contents>,
    grown: Condvar,
}

impl MemoryLog {
    /// A new writer.
    pub fn writer(self: &Arc<Self>) -> Arc<MemoryLogWriter> {
        let id = {
            let mut contents = self.contents.lock();
            contents.writers += 1;
            let id = u128::to_le_bytes(contents.writers);
            contents.alive.insert(id);
            id
        };
        let log = self.clone();
        Arc::new(MemoryLogWriter { log, id, faults: Mutex::default(), is_silent: Mutex::new(false) })
    }

    /// Forgets the records after a number, as a replica that did not have them yet.
    pub fn forget_after(&self, seq: u64) {
        self.contents.lock().records.truncate(seq as usize);
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
    /// For the next calls; `None` succeeds. Without entries all succeed.
    faults: Mutex<Vec<Option<LogFault>>>,
    /// Whether it hears of new records only when it reads.
    is_silent: Mutex<bool>,
}

impl MemoryLogWriter {
    /// Plans faults of the next calls, the last one first.
    pub fn plan(&self, faults: Vec<Option<LogFault>>) {
        *self.faults.lock() = faults;
    }

    /// Lets others see it as dead.
    pub fn die(&self) {
        self.log.contents.lock().alive.remove(&self.id);
    }

    /// Whether it hears of new records only when it reads.
    pub fn silence(&self, is_silent: bool) {
        *self.is_silent.lock() = is_silent;
    }

    fn call<T>(&self, act: impl FnOnce(&mut Contents) -> T) -> Result<T> {
        let fault = self.faults.lock().pop().flatten();
        if fault == Some(LogFault::Unreachable) {
            return Err(Error::unavailable("the log is not reached"));
        }
        let done = act(&mut self.log.contents.lock());
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
        self.call(|contents| contents.records.len() as u64)
    }

    fn append(&self, records: &[NewSharedRecord<'_>], expected: u64) -> Result<AppendOutcome> {
        let outcome = self.call(|contents| {
            if contents.records.len() as u64 != expected {
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
        self.call(|contents| contents.records.iter().skip(after as usize).take(limit).cloned().collect())
    }

    fn wait(&self, after: u64, timeout: Duration) -> Result<u64> {
        // It may become silent while this waits.
        let is_silent = || *self.is_silent.lock();
        let mut contents = self.log.contents.lock();
        self.log.grown.wait_while_for(
            &mut contents,
            |contents| is_silent() || contents.records.len() as u64 <= after,
            timeout.min(WAIT),
        );
        Ok(if is_silent() { after } else { contents.records.len() as u64 })
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
            let head = contents.records.len() as u64;
            let peer = |writer: &WriterId| Peer {
                writer: *writer,
                name: format!("writer {}", u128::from_le_bytes(*writer)),
                head,
                seen: Duration::ZERO,
            };
            others.map(peer).collect()
        })
    }
}
