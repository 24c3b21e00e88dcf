//! One scheduled run of consolidation.

use crate::consolidation::NAME;
use crate::ledger::{self, Run, Status, Trigger};
use crate::run::panic_message;
use poc_graph::error::{Error, Result};
use poc_notes::Memory;
use poc_notes::consolidate::{ConsolidationReport, consolidate};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Consolidates every tenant and writes the ledger row of the slot; its message summarises the result. A row that only
/// records an overlap is returned unchanged.
///
/// # Errors
/// `conflict` when the slot was already claimed, and those of [`consolidate`]; then the row ends as failed.
pub(super) fn run(memory: &Memory, trigger: Trigger) -> Result<Run> {
    let row = ledger::claim_for(memory, Run::for_trigger(memory, NAME, trigger), trigger)?;
    if row.status != Status::Running {
        return Ok(row);
    }
    let run = row.id;
    let ended = finish(memory, row);
    ledger::end_run(memory, run);
    ended
}

/// Consolidates, and ends the row.
fn finish(memory: &Memory, mut row: Run) -> Result<Run> {
    // A row that is never ended would block consolidation in this process.
    let done = catch_unwind(AssertUnwindSafe(|| consolidate_all(memory)));
    let done = done.unwrap_or_else(|panic| {
        Err(Error::internal(format!("the consolidation panicked: {}", panic_message(&*panic))))
    });
    let report = done.inspect_err(|error| {
        let ended = ledger::abandon(memory, |running| running.id == row.id, Status::Failed, &error.line());
        if let Err(error) = ended {
            tracing::error!(run = %row.id, "the row of the consolidation could not be ended: {error}");
        }
    })?;
    let status = if report == ConsolidationReport::default() { Status::Noop } else { Status::Ok };
    row.message = Some(report.line(false));
    row.finish(memory, status, None);
    ledger::close(memory, &row)?;
    Ok(row)
}

/// Consolidates every tenant, one after the other.
fn consolidate_all(memory: &Memory) -> Result<ConsolidationReport> {
    let mut all = ConsolidationReport::default();
    for (tenant, _) in memory.store.tenants()? {
        let memory = memory.of(&tenant);
        let done = consolidate(&memory, &memory.cause("daemon", "consolidate"), false, &|_, _, _| ())?;
        all.add(done.report);
    }
    Ok(all)
}
