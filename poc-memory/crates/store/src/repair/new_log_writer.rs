//! A log while a repair writes it, and the state that it leads to.

use crate::disk::SystemDisk;
use crate::engine::buffered::{BUFFER_BYTES, BufferedEngine};
use crate::engine::lsm::LsmEngine;
use crate::engine::temporary_folder::TemporaryFolder;
use crate::engine::{Engine, Watermark, changes, temporary_write_error};
use crate::index_entries;
use crate::keys;
use crate::log::{Appender, Log, LogLimits, frame};
use crate::logged_transaction::{Cause, LoggedTransaction, MAX_RECORD, Write};
use crate::table::Table;
use poc_graph::error::{Error, Result};
use poc_graph::time::Timestamp;
use poc_graph::{EdgeId, Tenant};
use rustc_hash::FxHashSet;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

/// The op of the transactions with which a repair replaces lost ones. They cannot be undone.
pub const REPAIR_OP: &str = "repair";
/// Size of the records that are written with one sync, in bytes.
const BATCH_BYTES: usize = 4 << 20;

/// Ids of nodes, each with its tenant.
pub(super) type NodeIds = FxHashSet<(Tenant, Vec<u8>)>;

/// Whether two engines have the same records, except those derived from transaction numbers and those with the keys
/// `ignored`.
fn equals(a: &dyn Engine, b: &dyn Engine, ignored: &FxHashSet<Vec<u8>>) -> bool {
    let is_derived =
        |key: &[u8]| Table::split_engine_key(key).is_some_and(|(_, table, _)| table == Table::Changes);
    let is_within = |a: &dyn Engine, b: &dyn Engine| {
        let checked = a.scan(&[], &mut |key, value| {
            if is_derived(key) || ignored.contains(key) || b.get(key)?.as_deref() == Some(value) {
                return Ok(());
            }
            Err(failed("a record differs", &""))
        });
        checked.is_ok()
    };
    is_within(a, b) && is_within(b, a)
}

/// The new log while it is being written, and the state after its last transaction.
pub(super) struct NewLogWriter {
    log: Arc<Log>,
    appender: Appender,
    /// The state after the last transaction that was added.
    pub(super) state: BufferedEngine,
    /// The nodes in the state.
    nodes: NodeIds,
    /// The keys of records that a view of the log may lack, although they are in the state.
    unseen: BTreeSet<Vec<u8>>,
    /// The number of the next transaction.
    pub(super) next: u64,
    /// The records that are not written yet, each with its number.
    buffer: Vec<(u64, Vec<u8>)>,
    /// The size of the records in `buffer`.
    buffer_bytes: usize,
    // This must be the last field, so that it is deleted after the engine is closed.
    _temporary_folder: TemporaryFolder,
}

impl NewLogWriter {
    pub(super) fn new(folder: &Path) -> Result<NewLogWriter> {
        let log = Arc::new(Log::empty(folder));
        let mut appender = Appender::new(log.clone(), Arc::new(SystemDisk), LogLimits::default(), None);
        appender.resume().map_err(|error| unwritten("it cannot be opened", &error))?;
        let temporary_folder = TemporaryFolder::create()?;
        let state =
            BufferedEngine::new(Arc::new(LsmEngine::open_copy(temporary_folder.path())?), BUFFER_BYTES)?;
        Ok(NewLogWriter {
            log,
            appender,
            state,
            nodes: NodeIds::default(),
            unseen: BTreeSet::new(),
            next: 1,
            buffer: Vec::new(),
            buffer_bytes: 0,
            _temporary_folder: temporary_folder,
        })
    }

    /// Adds a transaction. If `expected` is given, the checksum of its record must match.
    pub(super) fn add(
        &mut self,
        txn: &LoggedTransaction,
        payload: &[u8],
        expected: Option<u32>,
    ) -> Result<()> {
        let (record, checksum) = frame(txn.seq, payload);
        if txn.seq != self.next || expected.is_some_and(|expected| expected != checksum) {
            return Err(failed("a record changed while it was copied", &txn.seq));
        }
        let applied = self.state.apply(changes(txn)?.into(), Watermark { seq: txn.seq, checksum });
        applied.map_err(|error| temporary_write_error(&error))?;
        self.find_unseen(txn)?;
        self.next += 1;
        self.buffer_bytes += record.len();
        self.buffer.push((txn.seq, record));
        if self.buffer_bytes >= BATCH_BYTES { self.flush() } else { Ok(()) }
    }

    /// Adds a transaction of the repair itself. `place` describes where in the log it is.
    pub(super) fn add_own(
        &mut self,
        at: Timestamp,
        tenant: Tenant,
        writes: Vec<Write>,
        place: &str,
    ) -> Result<()> {
        let cause = Cause::new(at, "manual", REPAIR_OP);
        let txn = LoggedTransaction { seq: self.next, tenant, cause, base: None, writes };
        let payload = txn.encode()?;
        if payload.len() > MAX_RECORD {
            return Err(failed("a gap in the log changed more than its transactions can hold", &place));
        }
        self.add(&txn, &payload, None)
    }

    /// Updates the records that a view ignores or drops when it applies a transaction. The state already contains it.
    fn find_unseen(&mut self, txn: &LoggedTransaction) -> Result<()> {
        for write in txn.writes.iter().filter(|write| write.table == Table::Nodes) {
            let node = (txn.tenant, write.key.clone());
            if write.after.is_some() {
                self.nodes.insert(node);
            } else {
                self.nodes.remove(&node);
                self.find_dropped(txn.tenant, &write.key)?;
            }
        }
        let viewed = [Table::Edges, Table::Visits, Table::Activity];
        for write in txn.writes.iter().filter(|write| viewed.contains(&write.table)) {
            let full = write.table.engine_key(txn.tenant, &write.key);
            let is_seen = write.after.as_ref().is_none_or(|after| {
                index_entries::owners(write.table, &write.key, after)
                    .all(|id| self.nodes.contains(&(txn.tenant, id.to_vec())))
            });
            if is_seen {
                self.unseen.remove(&full);
            } else {
                self.unseen.insert(full);
            }
        }
        Ok(())
    }

    /// Adds the records that a view drops together with a deleted node.
    fn find_dropped(&mut self, tenant: Tenant, node: &[u8]) -> Result<()> {
        let NewLogWriter { state, unseen, .. } = self;
        for table in [Table::Edges, Table::EdgesIn, Table::Visits, Table::Activity] {
            state.scan(&table.engine_key(tenant, node), &mut |full, _| {
                let edge = Table::split_engine_key(full)
                    .filter(|(_, table, _)| *table == Table::EdgesIn)
                    .map(|(_, _, key)| keys::read_edge(key).map(EdgeId::reversed))
                    .transpose()?;
                unseen.insert(match edge {
                    // A view reads only the edge itself, not its mirror.
                    Some(EdgeId { src, kind, dst }) => {
                        Table::Edges.engine_key(tenant, &keys::edge(src, kind, dst))
                    }
                    None => full.to_vec(),
                });
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Writes that make a view of the log have the records that it may lack and whose nodes exist.
    pub(super) fn unseen_writes(&self) -> Result<Vec<(Tenant, Write)>> {
        let mut writes = Vec::new();
        for full in &self.unseen {
            let Some((tenant, table, key)) = Table::split_engine_key(full) else { continue };
            let Some(value) = self.state.get(full)? else { continue };
            let exist = index_entries::owners(table, key, &value)
                .all(|id| self.nodes.contains(&(tenant, id.to_vec())));
            if exist {
                let (before, after) = (Some(value.clone()), Some(value));
                writes.push((tenant, Write { table, key: key.to_vec(), before, after }));
            }
        }
        Ok(writes)
    }

    fn flush(&mut self) -> Result<()> {
        let records: Vec<(u64, &[u8])> =
            self.buffer.iter().map(|(seq, record)| (*seq, record.as_slice())).collect();
        self.appender.append(&records).map_err(|error| unwritten("it cannot be written", &error))?;
        self.buffer.clear();
        self.buffer_bytes = 0;
        Ok(())
    }

    /// Writes the remaining records and checks the whole log. Returns whether it ends with the last transaction that
    /// was added and leads to the target state, except for records with the keys `ignored`.
    pub(super) fn finish(
        mut self,
        target: Option<&dyn Engine>,
        ignored: &FxHashSet<Vec<u8>>,
    ) -> Result<bool> {
        self.flush()?;
        self.log.verify()?;
        let is_whole = self.log.last() + 1 == self.next;
        Ok(is_whole && target.is_none_or(|target| equals(&self.state, target, ignored)))
    }
}

/// The error for a disk that cannot write the new log.
fn unwritten(what: &str, why: &std::io::Error) -> Error {
    Error::unavailable(format!("the new log cannot be used: {what} ({why})")).hint(
        "the store is unchanged: make space on its disk and in the temporary folder (`TMPDIR`), or make them writable, and \
         repeat the command",
    )
}

pub(super) fn failed(what: &str, why: &dyn std::fmt::Display) -> Error {
    Error::internal(format!("the new log cannot be used: {what} ({why})")).hint(
        "the store is unchanged; another choice of `poc-memory repair` may work, and `poc-memory doctor quarantine` \
         restores what it leaves out",
    )
}
