//! The erasures that have begun and are not finished, in a file next to the log.
//!
//! An erasure takes several transactions and the rewriting of files, so a process can end in the middle of it. The
//! deletion then looks like any other, and its texts stay in the history. The entry is written before the deletion and
//! removed when everything is done. It does not contain the texts. They can be read from the log as long as it has
//! them. The log itself has no such entry, because it would have to be erased from there, too.

use super::ErasedTexts;
use crate::Memory;
use crate::resolve::quoted;
use poc_config::paths::Paths;
use poc_graph::error::{Error, Result};
use poc_graph::time::Timestamp;
use poc_graph::{Message, MessageId, Node, NodeId, Tuple, cancellation};
use poc_store::{LoggedTransaction, Record as _, Records as _, Table, atomic_file};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;

/// What an erasure deletes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ErasureTarget {
    /// A note.
    Note(NodeId),
    /// A message with its chunks.
    Message(MessageId),
    /// All messages that were written before a time.
    MessagesBefore {
        /// The time.
        time: Timestamp,
        /// Whether messages are included that are younger than `[forget] min-age`.
        recent: bool,
    },
}

impl ErasureTarget {
    /// The name of the op that deletes it.
    pub(super) fn op(&self) -> &'static str {
        match self {
            ErasureTarget::Note(_) => "delete",
            ErasureTarget::Message(_) | ErasureTarget::MessagesBefore { .. } => "forget",
        }
    }

    /// Whether it is a note or a message that the memory has.
    pub(super) fn exists(&self, memory: &Memory) -> Result<bool> {
        match self {
            ErasureTarget::Note(id) => Ok(memory.store.node(*id)?.is_some()),
            ErasureTarget::Message(id) => Ok(memory.store.message(*id)?.is_some()),
            ErasureTarget::MessagesBefore { .. } => Ok(false),
        }
    }
}

/// An erasure that has begun. It is stored in a file of JSON and, without field names, in a record of the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnfinishedErasure {
    /// What it deletes.
    pub target: ErasureTarget,
    /// The tenant.
    pub tenant: Tuple,
    /// When it began. It is the time of its deletions.
    pub at: Timestamp,
    /// The last transaction before it.
    after: u64,
}

impl UnfinishedErasure {
    /// The command that completes it.
    pub fn command(&self) -> String {
        let tenant: String = self
            .tenant
            .pairs()
            .map(|(key, value)| format!("--tenant {} ", quoted(&format!("{key}={value}"))))
            .collect();
        let arguments = match &self.target {
            ErasureTarget::Note(id) => format!("delete {id}"),
            ErasureTarget::Message(id) => format!("forget --message-id {id}"),
            ErasureTarget::MessagesBefore { time, recent } => {
                format!("forget --before {time}{}", if *recent { " --recent" } else { "" })
            }
        };
        format!("poc-memory {tenant}{arguments} --erase")
    }

    /// Whether another erasure has the same target.
    fn is_repeated_by(&self, other: &UnfinishedErasure) -> bool {
        (&self.target, &self.tenant) == (&other.target, &other.tenant)
    }

    /// Whether a transaction is its deletion, or one of them.
    fn is_deletion(&self, txn: &LoggedTransaction) -> bool {
        if (txn.cause.op.as_str(), txn.cause.at) != (self.target.op(), self.at) {
            return false;
        }
        // Another deletion may have the same time.
        let deletes = |table: Table, id: &[u8; 16]| {
            txn.writes.iter().any(|write| write.table == table && write.key == id && write.after.is_none())
        };
        match &self.target {
            ErasureTarget::Note(id) => deletes(Table::Nodes, id.as_bytes()),
            ErasureTarget::Message(id) => deletes(Table::Messages, id.as_bytes()),
            ErasureTarget::MessagesBefore { .. } => true,
        }
    }

    /// Whether it has deleted something since it began.
    pub(super) fn has_deletion(&self, memory: &Memory) -> Result<bool> {
        let memory = memory.of(&self.tenant);
        let store = &memory.store;
        for seq in store.first_seq().max(self.after + 1)..=store.last_seq() {
            if store.transaction(seq)?.is_some_and(|txn| self.is_deletion(&txn)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether it may have a deletion to complete.
    fn may_have_deletion(&self, memory: &Memory) -> Result<bool> {
        let own = memory.of(&self.tenant);
        if self.target.exists(&own)? {
            return Ok(false);
        }
        match &self.target {
            // It may have been deleted before the erasure began.
            ErasureTarget::Note(_) | ErasureTarget::Message(_) => Ok(true),
            // A compaction may have removed the deletion from the history.
            ErasureTarget::MessagesBefore { .. } => {
                Ok(own.store.first_seq() > self.after + 1 || self.has_deletion(memory)?)
            }
        }
    }

    /// Adds the texts that it has deleted, as far as the log still has them.
    pub(super) fn add_texts(&self, memory: &Memory, texts: &mut ErasedTexts) -> Result<()> {
        let memory = memory.of(&self.tenant);
        let store = &memory.store;
        if let ErasureTarget::Note(id) = self.target {
            // It may have been deleted before the erasure began.
            texts.add_history(&memory, id)?;
        }
        let first = store.first_seq().max(self.after + 1);
        for seq in first..=store.last_seq() {
            cancellation::check()?;
            let Some(txn) = store.transaction(seq)? else { continue };
            if !self.is_deletion(&txn) {
                continue;
            }
            for write in txn.writes {
                match (write.table, write.before, write.after) {
                    (Table::Nodes, Some(before), None) => {
                        let node = Node::decode(&before)?;
                        // The deletion may have been undone since.
                        if store.node(node.id)?.is_none() {
                            texts.add_note(&node);
                            texts.add_history(&memory, node.id)?;
                        }
                    }
                    (Table::Messages, Some(before), None) => {
                        let message = Message::decode(&before)?;
                        if store.message(message.id)?.is_none() {
                            texts.add_message(&message);
                        }
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }
}

/// The erasures of a memory that are not finished, of all tenants. They were interrupted, unless one is in progress.
///
/// # Errors
/// `unavailable` when the file with their list cannot be read, `damaged` when it does not contain such a list.
pub fn unfinished_erasures(paths: &Paths) -> Result<Vec<UnfinishedErasure>> {
    let file = file(paths);
    let message = |error: &dyn std::fmt::Display| {
        format!("the list of unfinished erasures, `{}`, cannot be read: {error}", file.display())
    };
    match fs::read(&file) {
        Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| {
            Error::damaged(message(&error))
                .hint("an erasure may have been interrupted: repeat it, after deleting this file")
        }),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(Error::unavailable(message(&error))),
    }
}

/// The unfinished erasures of all tenants, without those whose note or message exists: they deleted nothing, or the
/// deletion was undone.
pub(super) fn without_undone(memory: &Memory) -> Result<Vec<UnfinishedErasure>> {
    let mut rest = Vec::new();
    for own in unfinished_erasures(&memory.paths)? {
        if !own.target.exists(&memory.of(&own.tenant))? {
            rest.push(own);
        }
    }
    Ok(rest)
}

/// Removes the erasures that have nothing to complete: the process ended before their deletion, or the deletion was
/// undone. No erasure may be running.
///
/// # Errors
/// As [`unfinished_erasures`], and `read_only` or `unavailable` if the rest cannot be saved.
pub(crate) fn remove_without_deletion(memory: &Memory) -> Result<()> {
    let all = unfinished_erasures(&memory.paths)?;
    let mut rest = Vec::new();
    for own in &all {
        if own.may_have_deletion(memory)? {
            rest.push(own.clone());
        }
    }
    if rest.len() < all.len() { write(&memory.paths, &rest) } else { Ok(()) }
}

/// Adds an erasure, before its deletion. Removes those whose deletion was undone. If an erasure of the same note or
/// message was interrupted, returns that one: there is nothing else to delete. Also returns whether it is a new one.
pub(super) fn add(
    memory: &Memory,
    target: ErasureTarget,
    at: Timestamp,
) -> Result<(UnfinishedErasure, bool)> {
    let mut all = without_undone(memory)?;
    let (tenant, after) = (memory.store.tuple().clone(), memory.store.last_seq());
    let added = UnfinishedErasure { target, tenant, at, after };
    let is_single = !matches!(added.target, ErasureTarget::MessagesBefore { .. });
    if let Some(earlier) = all.iter().find(|own| is_single && own.is_repeated_by(&added)) {
        return Ok((earlier.clone(), false));
    }
    all.push(added.clone());
    write(&memory.paths, &all)?;
    Ok((added, true))
}

/// Removes an erasure that has deleted nothing itself, if an earlier one of the same target is not finished: that one has
/// all texts.
pub(super) fn remove_repeated(memory: &Memory, last: &UnfinishedErasure) -> Result<()> {
    let mut all = unfinished_erasures(&memory.paths)?;
    let is_repeated = all.iter().any(|own| own != last && own.is_repeated_by(last));
    if !is_repeated || last.has_deletion(memory)? {
        return Ok(());
    }
    all.retain(|own| own != last);
    write(&memory.paths, &all)
}

/// Removes the erasure that was added last.
pub(super) fn remove_last(paths: &Paths) -> Result<()> {
    let mut all = unfinished_erasures(paths)?;
    all.pop();
    write(paths, &all)
}

/// Removes all erasures.
pub(super) fn remove_all(paths: &Paths) -> Result<()> {
    write(paths, &[])
}

/// Whether an erasure of a target was interrupted.
pub(super) fn contains(memory: &Memory, target: &ErasureTarget) -> Result<bool> {
    let all = unfinished_erasures(&memory.paths)?;
    Ok(all.iter().any(|own| own.target == *target && own.tenant == *memory.store.tuple()))
}

/// The texts that all unfinished erasures have deleted.
pub(super) fn texts(memory: &Memory) -> Result<ErasedTexts> {
    let mut texts = ErasedTexts::default();
    without_undone(memory)?.iter().try_for_each(|own| own.add_texts(memory, &mut texts))?;
    Ok(texts)
}

/// Whether the log may lack the texts of an unfinished erasure, because it was interrupted after it had deleted the
/// history.
pub(super) fn may_lack_texts(memory: &Memory) -> Result<bool> {
    let first = memory.store.first_seq();
    Ok(without_undone(memory)?.iter().any(|own| first > own.after + 1))
}

fn file(paths: &Paths) -> PathBuf {
    paths.store().join("erasures.json")
}

fn write(paths: &Paths, all: &[UnfinishedErasure]) -> Result<()> {
    if all.is_empty() {
        return atomic_file::remove(&file(paths));
    }
    let bytes = serde_json::to_vec_pretty(all)
        .map_err(|error| Error::internal(format!("the list of erasures cannot be encoded: {error}")))?;
    atomic_file::write_plain(&file(paths), &[&bytes])
}
