//! Permanently deletes messages, with their chunks.

use super::erasure::ErasedTexts;
use super::{Memory, derivation};
use poc_graph::error::{Code, Error, Result};
use poc_graph::time::Timestamp;
use poc_graph::{ChunkRef, Message, MessageId, cancellation};
use poc_store::{Cause, Transaction};
use serde::{Deserialize, Serialize};

/// Number of changed records after which a transaction takes no further message.
const RECORDS_PER_TXN: usize = 100;

/// The result of a deletion of messages.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForgetReport {
    /// Number of deleted messages.
    pub messages: usize,
    /// Number of their deleted chunks.
    pub nodes: usize,
    /// Number of deleted notes that agents had derived from the chunks alone.
    #[serde(default)]
    pub derived: usize,
    /// Number of deleted edges of the chunks.
    pub edges: usize,
    /// Number of deleted vectors of the chunks.
    pub vectors: usize,
    /// The transactions that deleted something.
    #[serde(default)]
    pub changes: Vec<u64>,
    /// The deleted texts, which an erasure then looks for in the files of the memory.
    #[serde(skip)]
    pub texts: ErasedTexts,
}

impl ForgetReport {
    /// Adds what another transaction deleted.
    fn add(&mut self, other: ForgetReport) {
        self.messages += other.messages;
        self.nodes += other.nodes;
        self.derived += other.derived;
        self.edges += other.edges;
        self.vectors += other.vectors;
        self.changes.extend(other.changes);
        self.texts.append(other.texts);
    }
}

/// Deletes one message. With an author, the message must have that provenance.
///
/// # Errors
/// `not_found` if there is no message with this id; `rejected` if somebody else wrote it.
pub fn message(memory: &Memory, id: MessageId, author: Option<&str>, cause: Cause) -> Result<ForgetReport> {
    let now = cause.at;
    let done = memory.store.transact(cause, |tx| {
        if let Some(message) = tx.message(id)?
            && !is_by(tx, &message, author)?
        {
            return Err(Error::new(
                Code::Rejected,
                format!("the message `{id}` was not written by models alone"),
            )
            .hint("ask the user to forget it")
            .field("message_id"));
        }
        let mut report = ForgetReport::default();
        if forget(tx, id, author, now, &mut report)? {
            return Ok(report);
        }
        Err(Error::not_found(format!("there is no message `{id}`"))
            .hint("`poc-memory get` of a chunk shows the id of its message")
            .field("message_id"))
    })?;
    let mut report = done.value;
    report.changes.push(done.seq);
    Ok(report)
}

/// Deletes the messages written strictly before an instant, a few whole messages per transaction; with an
/// author, only those with that provenance. Calls `progress` with the number of finished messages and the
/// total.
pub fn before(
    memory: &Memory,
    before: Timestamp,
    author: Option<&str>,
    cause: &Cause,
    progress: &dyn Fn(u64, u64),
) -> Result<ForgetReport> {
    let ids = memory.store.messages_before(before)?;
    let mut report = ForgetReport::default();
    let mut rest = ids.as_slice();
    while !rest.is_empty() {
        cancellation::check()?;
        let done = memory.store.transact(cause.clone(), |tx| {
            let mut rest = rest;
            let mut part = ForgetReport::default();
            while let Some((&id, behind)) = rest.split_first() {
                // A missing message was deleted by somebody else in the meantime.
                forget(tx, id, author, cause.at, &mut part)?;
                rest = behind;
                if tx.write_count() >= RECORDS_PER_TXN {
                    break;
                }
            }
            Ok((rest, part))
        })?;
        let (left, mut part) = done.value;
        if part.messages > 0 {
            part.changes.push(done.seq);
        }
        rest = left;
        report.add(part);
        progress((ids.len() - rest.len()) as u64, ids.len() as u64);
    }
    Ok(report)
}

/// Deletes a message and the notes that agents derived from it alone. Returns whether a message by the author
/// existed. Keeps nodes that are no longer its chunks because their source was changed.
fn forget(
    tx: &mut Transaction<'_>,
    id: MessageId,
    author: Option<&str>,
    now: Timestamp,
    report: &mut ForgetReport,
) -> Result<bool> {
    let Some(message) = tx.message(id)? else { return Ok(false) };
    if !is_by(tx, &message, author)? {
        return Ok(false);
    }
    report.texts.add_message(&message);
    for &chunk in &message.chunks {
        let Some(node) = tx.node(chunk)? else { continue };
        let source = node.source.clone();
        if ChunkRef::from_source(source.as_deref()).is_none_or(|of| of.message != id) {
            continue;
        }
        report.nodes += 1;
        report.edges += tx.edges(chunk)?.len();
        report.vectors += tx.count_vectors(chunk)?;
        report.texts.add_note(&node);
        let derived = derivation::source_deleted(tx, chunk, now)?;
        derived.iter().for_each(|note| report.texts.add_note(note));
        report.derived += derived.len();
        tx.delete_node(chunk)?;
    }
    report.messages += 1;
    tx.delete_message(id)?;
    Ok(true)
}

/// Whether an author wrote a message, and nobody else has changed a chunk of it since.
fn is_by(tx: &Transaction<'_>, message: &Message, author: Option<&str>) -> Result<bool> {
    let Some(author) = author else { return Ok(true) };
    for &chunk in &message.chunks {
        if tx.node(chunk)?.is_some_and(|node| node.provenance != author) {
            return Ok(false);
        }
    }
    Ok(message.provenance == author)
}
