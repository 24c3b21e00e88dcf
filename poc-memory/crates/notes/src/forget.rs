//! Permanently deletes messages, with their chunks.

use super::erase::ErasedTexts;
use super::{Memory, derivation};
use poc_graph::error::{Error, Result};
use poc_graph::time::Timestamp;
use poc_graph::{ChunkRef, MessageId};
use poc_store::{Cause, Tx};
use serde::{Deserialize, Serialize};

/// Number of changed records after which a transaction takes no further message.
const RECORDS_PER_TXN: usize = 100;

/// What was deleted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForgetReport {
    /// Messages.
    pub messages: usize,
    /// Their chunks.
    pub nodes: usize,
    /// Notes that agents derived from the chunks alone.
    #[serde(default)]
    pub derived: usize,
    /// Edges of the chunks.
    pub edges: usize,
    /// Vectors of the chunks.
    pub vectors: usize,
    /// What was deleted, for an erasure.
    #[serde(skip)]
    pub texts: ErasedTexts,
}

/// Deletes one message.
///
/// # Errors
/// `not_found` if there is no message with this id.
pub fn message(memory: &Memory, id: MessageId, cause: Cause) -> Result<ForgetReport> {
    let mut report = ForgetReport::default();
    let now = cause.at;
    memory.store.transact(cause, |tx| {
        if forget(tx, id, now, &mut report)? {
            return Ok(());
        }
        Err(Error::not_found(format!("there is no message `{id}`"))
            .hint("`poc-memory get` of a chunk shows the id of its message")
            .field("message_id"))
    })?;
    Ok(report)
}

/// Deletes the messages written strictly before an instant, a few whole messages per transaction. Calls
/// `progress` with the number of finished messages and the total.
pub fn before(
    memory: &Memory,
    before: Timestamp,
    cause: &Cause,
    progress: &dyn Fn(u64, u64),
) -> Result<ForgetReport> {
    let ids = memory.store.messages_before(before)?;
    let mut report = ForgetReport::default();
    let mut rest = ids.as_slice();
    while !rest.is_empty() {
        rest = memory
            .store
            .transact(cause.clone(), |tx| {
                let mut rest = rest;
                while let Some((&id, behind)) = rest.split_first() {
                    // A missing message was deleted by somebody else meanwhile.
                    forget(tx, id, cause.at, &mut report)?;
                    rest = behind;
                    if tx.write_count() >= RECORDS_PER_TXN {
                        break;
                    }
                }
                Ok(rest)
            })?
            .value;
        progress((ids.len() - rest.len()) as u64, ids.len() as u64);
    }
    Ok(report)
}

/// Deletes a message, and the notes that agents derived from it alone, and returns whether it existed. Keeps nodes that are no longer its chunks because their
/// source was changed.
fn forget(tx: &mut Tx<'_>, id: MessageId, now: Timestamp, report: &mut ForgetReport) -> Result<bool> {
    let Some(message) = tx.message(id)? else { return Ok(false) };
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
