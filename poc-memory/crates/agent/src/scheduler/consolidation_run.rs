//! One scheduled run of consolidation.

use crate::consolidation::NAME;
use crate::idle_tenants::{IdleTenant, IdleTenants};
use crate::ledger::{self, Run, Status, Trigger};
use crate::run::panic_message;
use poc_graph::error::{Error, Result};
use poc_notes::Memory;
use poc_notes::consolidate::{ConsolidationReport, consolidate};
use poc_store::NamedTenant;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The version of consolidation for [`IdleTenants`], which compares its settings.
const VERSION: &str = "";

/// Consolidates every tenant and writes the ledger row of the slot; its message summarises the result. A row that only
/// records an overlap is returned unchanged.
///
/// # Errors
/// `conflict` when the slot was already claimed, and those of [`consolidate`]; then the row ends as failed.
pub(super) fn run(memory: &Memory, trigger: Trigger, idle: &IdleTenants) -> Result<Run> {
    let row = ledger::claim_for(memory, Run::for_trigger(memory, NAME, trigger), trigger)?;
    if row.status != Status::Running {
        return Ok(row);
    }
    let run = row.id;
    let ended = finish(memory, row, idle);
    ledger::end_run(memory, run);
    ended
}

/// Consolidates, and ends the row.
fn finish(memory: &Memory, mut row: Run, idle: &IdleTenants) -> Result<Run> {
    // A row that is never ended would block consolidation in this process.
    let done = catch_unwind(AssertUnwindSafe(|| consolidate_all(memory, idle)));
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

/// Consolidates every tenant, one after the other. A tenant in which nothing was to be done is not loaded again until
/// it has changed or something is due.
fn consolidate_all(memory: &Memory, idle: &IdleTenants) -> Result<ConsolidationReport> {
    let mut all = ConsolidationReport::default();
    for NamedTenant { tuple: tenant, counts } in memory.store.tenants()? {
        let (id, seq, now) = (tenant.id(), counts.seq, memory.now());
        if idle.get(memory, NAME, VERSION, id, seq).is_some() {
            continue;
        }
        let own = memory.of(&tenant);
        let done = consolidate(&own, &own.cause("daemon", "consolidate"), false, &|_, _, _| ())?;
        // A view that could not be loaded is empty and has another number.
        if done.changes.is_empty() && done.seen == seq {
            let found = IdleTenant { seq, since: now, until: done.due, fails: false };
            idle.put(memory, NAME, VERSION, id, found);
        }
        all.add(done.report);
    }
    Ok(all)
}
