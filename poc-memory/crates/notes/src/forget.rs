//! Taking messages back for good, with everything that was made of them.

use super::Memory;
use poc_graph::error::{Error, Result};
use poc_graph::time::Timestamp;
use poc_graph::{ChunkOf, MessageId};
use poc_store::{Cause, Tx};
use serde::{Deserialize, Serialize};

/// Records one transaction may change before it takes no further message.
const RECORDS_PER_TXN: usize = 100;

/// What was forgotten.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForgetReport {
    /// Messages.
    pub messages: usize,
    /// Their chunks.
    pub nodes: usize,
    /// Edges at those.
    pub edges: usize,
    /// Their vectors.
    pub vectors: usize,
}

/// Forgets one message.
///
/// # Errors
/// `not_found` when there is none with this id.
pub fn message(memory: &Memory, id: MessageId, cause: Cause) -> Result<ForgetReport> {
    let mut report = ForgetReport::default();
    memory.store.transact(cause, |tx| {
        if forget(tx, id, &mut report)? {
            return Ok(());
        }
        Err(Error::not_found(format!("there is no message `{id}`"))
            .hint("`poc-memory get` of a chunk shows the id of its message")
            .field("message_id"))
    })?;
    Ok(report)
}

/// Forgets the messages written strictly before an instant: each whole or not at all, a few in one
/// transaction. `progress` is told how many are done, and how many there are.
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
                    // One that is gone meanwhile was forgotten by another.
                    forget(tx, id, &mut report)?;
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

/// Forgets a message; whether there was one. A node that is one of its chunks no more, since somebody
/// gave it another source, stays.
fn forget(tx: &mut Tx<'_>, id: MessageId, report: &mut ForgetReport) -> Result<bool> {
    let Some(message) = tx.message(id)? else { return Ok(false) };
    for &chunk in &message.chunks {
        let source = tx.node(chunk)?.and_then(|node| node.source);
        if ChunkOf::source(source.as_deref()).is_none_or(|of| of.message != id) {
            continue;
        }
        report.nodes += 1;
        report.edges += tx.edges(chunk)?.len();
        report.vectors += tx.count_vectors(chunk)?;
        tx.delete_node(chunk)?;
    }
    report.messages += 1;
    tx.delete_message(id)?;
    Ok(true)
}
