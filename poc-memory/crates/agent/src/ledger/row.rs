//! The row of one run.

use super::key::run_key;
use super::{Run, Status};
use poc_graph::RunId;
use poc_graph::error::{Error, Result};
use poc_notes::Memory;
use poc_store::{LoggedTransaction, Record, Table, Transaction};

/// The row of a run, if it is still stored.
pub(crate) fn row(tx: &Transaction<'_>, agent: &str, run: RunId) -> Result<Option<Run>> {
    tx.get(&run_key(agent, run))
}

/// Like [`row`], outside of a transaction.
pub(crate) fn stored_row(memory: &Memory, agent: &str, run: RunId) -> Result<Option<Run>> {
    memory.store.get(&run_key(agent, run))
}

/// The row of a run before a transaction that wrote it.
pub(crate) fn row_before(txn: &LoggedTransaction, run: RunId) -> Result<Option<Run>> {
    for write in txn.writes.iter().filter(|write| write.table == Table::Runs) {
        let before = write.before.as_deref().map(Run::decode).transpose()?;
        if let Some(before) = before.filter(|before| before.id == run) {
            return Ok(Some(before));
        }
    }
    Ok(None)
}

/// The current row of a run.
pub(crate) fn get(tx: &Transaction<'_>, run: &Run) -> Result<Run> {
    tx.get::<Run>(&run.key())?
        .ok_or_else(|| Error::not_found(format!("the row of the run `{}` is no longer stored", run.id)))
}

/// Fails with `conflict` when the run was ended in the meantime.
pub(crate) fn expect_running(tx: &Transaction<'_>, run: &Run) -> Result<()> {
    let status = get(tx, run)?.status;
    if status == Status::Running {
        return Ok(());
    }
    Err(Error::conflict(format!("the run `{}` was ended as {} in the meantime", run.id, status.name())))
}
