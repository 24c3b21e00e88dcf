//! Point-in-time reads: the current records, overlaid with the before-images of later transactions.
//!
//! A transaction logs the previous value of each record it changes. Applied from newest to oldest, these before-images
//! rebuild an earlier state, so the cost is proportional to the number of changes since then. A snapshot belongs to one
//! tenant and ignores the changes of others.
//!
//! The engine keeps changing during a read. Each read therefore reads the engine first and then the log, which is ahead
//! of the engine, and prefers the before-images of transactions that were logged in between.

use super::Store;
use super::delta;
use super::engine::Engine;
use super::log::Log;
use super::logged_transaction::LoggedTransaction;
use super::logged_transaction::Write;
use super::record_encoding::Record;
use super::records::{Records, TenantRecords};
use super::table::Table;
use parking_lot::Mutex;
use poc_graph::error::{Error, Result};
use poc_graph::time::Timestamp;
use poc_graph::{Delta, Node, Tenant, View};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

/// The op of transactions that replace all vectors with those of another embedder.
pub const MIGRATION_OP: &str = "embed_migrate";

/// Number of transactions read at once when the log is read backwards.
const STRIDE: u64 = 64;

/// A past state of the store, by its last transaction of a tenant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PastState {
    /// The state after the last transaction at or before an instant.
    At(Timestamp),
    /// The state after the last transaction with this sequence number or a lower one.
    AfterChange(u64),
}

impl PastState {
    /// Whether it includes a transaction, if it includes all earlier ones.
    fn includes(self, seq: u64, made: Timestamp) -> bool {
        match self {
            PastState::At(at) => made <= at,
            PastState::AfterChange(last) => seq <= last,
        }
    }
}

impl From<Timestamp> for PastState {
    fn from(at: Timestamp) -> PastState {
        PastState::At(at)
    }
}

impl fmt::Display for PastState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PastState::At(at) => write!(f, "{at}"),
            PastState::AfterChange(seq) => write!(f, "change {seq}"),
        }
    }
}

/// The state of the store, as seen by a tenant, after one of the tenant's transactions.
pub struct PastSnapshot {
    tenant: Tenant,
    seq: u64,
    at: Timestamp,
    view: Arc<View>,
    engine: Arc<dyn Engine>,
    log: Arc<Log>,
    embedder: String,
    later: Mutex<BeforeImages>,
}

/// The before-images of the transactions after a snapshot.
#[derive(Default)]
struct BeforeImages {
    /// The sequence number of the last transaction read.
    last: u64,
    /// The earliest time of all transactions of the tenant that were read.
    earliest: Option<Timestamp>,
    /// The lowest sequence number of these transactions.
    first: Option<u64>,
    /// The value of each changed record before its first change.
    images: BTreeMap<RecordKey, Option<Vec<u8>>>,
    /// The keys of vectors that were written by a migration to another embedder.
    migrated: BTreeSet<RecordKey>,
}

/// A table and a key within it.
type RecordKey = (Table, Vec<u8>);

impl BeforeImages {
    /// Adds the time and the number of a transaction.
    fn add_position(&mut self, txn: &LoggedTransaction, tenant: Tenant) {
        let at = txn.cause.at;
        if txn.tenant == tenant {
            self.earliest = Some(self.earliest.map_or(at, |earliest| earliest.min(at)));
            self.first = Some(self.first.map_or(txn.seq, |first| first.min(txn.seq)));
        }
    }

    /// Adds a transaction that is older than all added before.
    fn prepend(&mut self, txn: LoggedTransaction, tenant: Tenant) {
        self.add_position(&txn, tenant);
        let migrated = is_migration(&txn);
        for write in visible_writes(txn, tenant) {
            let record_key = (write.table, write.key);
            match migrated {
                true => drop(self.migrated.insert(record_key)),
                false => drop(self.images.insert(record_key, write.before)),
            }
        }
    }

    /// Whether transactions that were not read yet have been deleted from the log.
    fn has_gap(&self, log: &Log) -> bool {
        log.base().is_some_and(|base| self.last < base.seq)
    }

    /// Adds the transactions that were logged since the last read.
    fn catch_up(&mut self, log: &Log, tenant: Tenant) -> Result<()> {
        if log.last() == self.last {
            return Ok(());
        }
        if self.has_gap(log) {
            return Err(NoStateError::Deleted.into());
        }
        log.replay(self.last + 1, log.last(), &mut |txn, _| {
            self.add_position(&txn, tenant);
            self.last = txn.seq;
            if is_migration(&txn) {
                return Ok(());
            }
            for write in visible_writes(txn, tenant) {
                self.images.entry((write.table, write.key)).or_insert(write.before);
            }
            Ok(())
        })
    }
}

/// The writes of a transaction that a tenant can see.
fn visible_writes(txn: LoggedTransaction, tenant: Tenant) -> impl Iterator<Item = Write> {
    let own = txn.tenant == tenant;
    txn.writes.into_iter().filter(move |write| own || write.table.is_shared())
}

/// Whether a transaction only replaced vectors of unchanged texts. Such vectors are also valid in the past.
fn is_migration(txn: &LoggedTransaction) -> bool {
    txn.cause.op == MIGRATION_OP && txn.writes.iter().all(|write| write.table == Table::Vectors)
}

impl PastSnapshot {
    /// A past state, or an earlier one that equals it. `newest` is the tenant's published view, and `is_copy` says whether
    /// the log is a copy of a shared one.
    pub(super) fn open(
        engine: Arc<dyn Engine>,
        log: Arc<Log>,
        tenant: Tenant,
        newest: &View,
        embedder: &str,
        state: PastState,
        is_copy: bool,
    ) -> Result<PastSnapshot> {
        let mut later = BeforeImages { last: log.last(), ..BeforeImages::default() };
        let Some((seq, time)) = walk_back(&log, tenant, state, &mut later)? else {
            return Err(NoStateError::new(&log, state, &later, is_copy).into());
        };
        let past = PastSnapshot {
            tenant,
            seq,
            at: time,
            view: Arc::default(),
            engine,
            log,
            embedder: embedder.to_owned(),
            later: Mutex::new(later),
        };
        past.drop_vectors_of_newer_texts()?;
        // Every transaction in the view was read above, because it is logged before it is published.
        let mut view = newest.fork();
        view.apply(seq, &past.deltas()?);
        Ok(PastSnapshot { view: Arc::new(view), ..past })
    }

    /// Hides the vectors that a migration computed from texts newer than the snapshot.
    fn drop_vectors_of_newer_texts(&self) -> Result<()> {
        let mut later = self.later.lock();
        let mut removed = Vec::new();
        for ((table, key), image) in &later.images {
            let (Table::Nodes, Some(image)) = (table, image) else { continue };
            let (then, now) = (Node::decode(image)?, self.current().raw(*table, key)?);
            let now = now.as_deref().map(Node::decode).transpose()?;
            if now.is_none_or(|now| now.content_hash == then.content_hash) {
                continue;
            }
            let from = (Table::Vectors, then.id.as_bytes().to_vec());
            let own = later.migrated.range(from..).take_while(|(_, key)| key.starts_with(then.id.as_bytes()));
            removed.extend(own.cloned());
        }
        for record_key in removed {
            later.images.entry(record_key).or_insert(None);
        }
        Ok(())
    }

    /// The tenant of the snapshot.
    pub fn tenant(&self) -> Tenant {
        self.tenant
    }

    /// The sequence number of the last transaction in the snapshot.
    pub fn seq(&self) -> u64 {
        self.seq
    }

    /// When that transaction was made.
    pub fn at(&self) -> Timestamp {
        self.at
    }

    /// The view of the graph.
    pub fn view(&self) -> &Arc<View> {
        &self.view
    }

    /// Whether the snapshot is a past state, given the transactions logged since it was opened.
    pub fn is_as_of(&self, state: impl Into<PastState>) -> Result<bool> {
        let mut later = self.later.lock();
        if later.has_gap(&self.log) {
            return Ok(false);
        }
        later.catch_up(&self.log, self.tenant)?;
        Ok(match state.into() {
            PastState::At(at) => self.at <= at && later.earliest.is_none_or(|earliest| at < earliest),
            PastState::AfterChange(seq) => self.seq <= seq && later.first.is_none_or(|first| seq < first),
        })
    }

    /// The changes that turn any newer state into this one.
    pub fn deltas(&self) -> Result<Vec<Delta>> {
        let mut later = self.later.lock();
        later.catch_up(&self.log, self.tenant)?;
        let mut writes = Vec::new();
        for ((table, key), image) in &later.images {
            // The current value of a node tells whether the change makes the node live again.
            let before = if *table == Table::Nodes { self.current().raw(*table, key)? } else { None };
            writes.push(Write { table: *table, key: key.clone(), before, after: image.clone() });
        }
        drop(later);
        delta::deltas(&writes, &self.embedder, self)
    }

    fn current(&self) -> TenantRecords<'_> {
        TenantRecords { engine: self.engine.as_ref(), tenant: self.tenant }
    }
}

impl Records for PastSnapshot {
    fn raw(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let now = self.current().raw(table, key)?;
        let mut later = self.later.lock();
        later.catch_up(&self.log, self.tenant)?;
        Ok(later.images.get(&(table, key.to_vec())).map_or(now, Clone::clone))
    }

    fn raw_range(&self, table: Table, prefix: &[u8]) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
        let mut found: BTreeMap<Vec<u8>, Vec<u8>> =
            self.current().raw_range(table, prefix)?.into_iter().collect();
        let mut later = self.later.lock();
        later.catch_up(&self.log, self.tenant)?;
        let images = later.images.range((table, prefix.to_vec())..);
        for ((_, key), image) in images.take_while(|((of, key), _)| *of == table && key.starts_with(prefix)) {
            match image {
                Some(value) => found.insert(key.clone(), value.clone()),
                None => found.remove(key),
            };
        }
        Ok(found.into_iter().collect())
    }
}

/// Walks back from the newest transaction to the tenant's last one in a past state, and returns its sequence number and
/// time. Adds every later transaction to `later`.
fn walk_back(
    log: &Log,
    tenant: Tenant,
    state: PastState,
    later: &mut BeforeImages,
) -> Result<Option<(u64, Timestamp)>> {
    let mut end = later.last;
    while end > 0 && end >= log.first() {
        let start = end.saturating_sub(STRIDE - 1).max(log.first());
        let mut txns = Vec::new();
        log.replay(start, end, &mut |txn, _| {
            txns.push(txn);
            Ok(())
        })?;
        for txn in txns.into_iter().rev() {
            if txn.tenant == tenant && state.includes(txn.seq, txn.cause.at) {
                return Ok(Some((txn.seq, txn.cause.at)));
            }
            later.prepend(txn, tenant);
        }
        end = start - 1;
    }
    // The state at which the history begins is not a transaction of a tenant.
    Ok(log.base().filter(|base| state.includes(base.seq, base.at)).map(|base| (base.seq, base.at)))
}

/// Why a past state cannot be read. The states in a message are both given by an instant or both by a number.
#[derive(Debug, thiserror::Error)]
enum NoStateError {
    #[error("nothing has been stored yet")]
    Empty,
    #[error("nothing was stored yet at {state}")]
    BeforeFirst { state: PastState, first: PastState },
    #[error("the history begins {}, so the state at {state} cannot be read", beginning(base))]
    BeforeBase { state: PastState, base: PastState, is_copy: bool },
    #[error("the history was compacted during this request")]
    Deleted,
    #[error("the log has no history as old as {state}")]
    NotReached { state: PastState, first: Option<PastState> },
}

/// Where the history begins if `base` is the earliest state in it.
fn beginning(base: &PastState) -> String {
    match base {
        PastState::At(at) => format!("at {at}"),
        PastState::AfterChange(seq) => format!("after change {seq}"),
    }
}

/// A hint about history before the beginning of that of a store.
fn missing_history_hint(is_copy: bool) -> &'static str {
    match is_copy {
        true => {
            "this copy of the shared log began with a snapshot, or a compaction or an erasure deleted earlier history: a \
             copy in an empty folder with `begin-with = \"history\"` has all that is left in the database, and a backup may \
             have more"
        }
        false => "earlier history was deleted by a compaction or an erasure; a backup may still contain it",
    }
}

impl Store {
    /// What a person can do to read history from before [`Store::history_base`].
    pub fn missing_history_hint(&self) -> &'static str {
        missing_history_hint(self.shared.shared_log.is_some())
    }
}

impl NoStateError {
    /// Determines the reason. `later` has the transactions after the state.
    fn new(log: &Log, state: PastState, later: &BeforeImages, is_copy: bool) -> NoStateError {
        let position = |seq: u64, at: Timestamp| match state {
            PastState::At(_) => PastState::At(at),
            PastState::AfterChange(_) => PastState::AfterChange(seq),
        };
        if let Some(base) = log.base() {
            return NoStateError::BeforeBase { state, base: position(base.seq, base.at), is_copy };
        }
        let is_complete = log.first() <= 1;
        match later.first.zip(later.earliest).map(|(seq, at)| position(seq, at)) {
            None if is_complete => NoStateError::Empty,
            Some(first) if is_complete => NoStateError::BeforeFirst { state, first },
            first => NoStateError::NotReached { state, first },
        }
    }
}

impl From<NoStateError> for Error {
    fn from(error: NoStateError) -> Error {
        let converted = Error::not_found(error.to_string());
        match error {
            NoStateError::BeforeFirst { first: PastState::At(first), .. } => {
                converted.hint(format!("the first change was made at {first}"))
            }
            NoStateError::BeforeFirst { first: PastState::AfterChange(first), .. } => {
                converted.hint(format!("the first change is {first}"))
            }
            NoStateError::NotReached { first: Some(PastState::At(first)), .. } => {
                converted.hint(format!("the oldest change is from {first}"))
            }
            NoStateError::NotReached { first: Some(PastState::AfterChange(first)), .. } => {
                converted.hint(format!("the oldest change is {first}"))
            }
            NoStateError::BeforeBase { is_copy, .. } => converted.hint(missing_history_hint(is_copy)),
            NoStateError::Deleted => converted.hint("try again"),
            NoStateError::Empty | NoStateError::NotReached { first: None, .. } => converted,
        }
    }
}
