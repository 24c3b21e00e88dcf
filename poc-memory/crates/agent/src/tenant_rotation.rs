//! Determines the tenant that a run of an agent works for. A slot belongs to the agent; its batches visit the
//! tenants round-robin, so that a tenant with many notes does not delay the others.

use super::budget::BudgetStatus;
use super::definition::{TenantBudget, TenantPatterns};
use super::idle_tenants::{IdleTenant, IdleTenants};
use super::ledger::{self, RowOutcome, Run, Spending, Status, StatusReason, TriggerKind};
use super::run::RunOptions;
use super::{Definition, selection};
use chrono_tz::Tz;
use poc_graph::Tuple;
use poc_graph::error::{Code, Result};
use poc_graph::time::{Span, Timestamp};
use poc_notes::Memory;
use std::cmp::Ordering;

/// After how long a pipeline that failed for a tenant is tried again although the tenant has not changed.
const RETRY_FAILED_AFTER: Span = Span::DAY;

/// The tenants with notes whose names the settings and the agent allow, sorted by name, but beginning after the tenant
/// that had the last turn. A tenant whose run could not begin, for example because the budget was used up, keeps its
/// turn.
///
/// # Errors
/// Those of the store.
pub(crate) fn in_turn(memory: &Memory, definition: &Definition) -> Result<Vec<Tuple>> {
    let mut tenants = with_notes(memory, &definition.schedule.tenants)?;
    if let Some(LastTurn { tenant, is_over }) = ledger::newest(memory, &definition.name, last_turn)? {
        let comes_before = |other: &Tuple| match other.pairs().cmp(tenant.pairs()) {
            Ordering::Less => true,
            Ordering::Equal => is_over,
            Ordering::Greater => false,
        };
        let first = tenants.partition_point(comes_before);
        tenants.rotate_left(first);
    }
    Ok(tenants)
}

/// The tenant of a run, and whether its turn is over.
struct LastTurn {
    tenant: Tuple,
    is_over: bool,
}

/// The turn of a run; `None` if the row is of no turn: a person started the run, or nothing was run.
fn last_turn(row: &Run) -> Option<LastTurn> {
    let is_over = match (row.trigger, row.status, row.reason) {
        (TriggerKind::Manual, _, _) | (_, Status::Missed, _) => return None,
        // A row without a run names no tenant.
        (_, Status::Skipped, Some(StatusReason::OverBudget)) if row.fingerprint.is_empty() => return None,
        // A run that has selected notes, but whose call does not fit into the budget, must not keep others waiting.
        (_, Status::Skipped, Some(StatusReason::OverBudget | StatusReason::ProviderDown)) => {
            !row.selected.is_empty()
        }
        (_, Status::Skipped, _) => return None,
        _ => true,
    };
    Some(LastTurn { tenant: row.tenant.clone(), is_over })
}

/// Why nothing is left today of the budget that the agent has for a tenant; `None` if there is something left. `zone`
/// is that of agents without one; `None` is the machine's.
///
/// # Errors
/// Those of the store.
pub(crate) fn used_up(
    memory: &Memory,
    definition: &Definition,
    tenant: &Tuple,
    zone: Option<Tz>,
) -> Result<Option<String>> {
    let (budget, agent) = (definition.budget, definition.name.as_str());
    if budget.per_tenant == TenantBudget::default() {
        return Ok(None);
    }
    let today = definition.budget_day(memory.now(), zone);
    let Spending { runs, cost } = ledger::spending_of_tenant(memory, agent, tenant, &today)?;
    let (tenant_runs, tenant_day, tenant) = (runs, cost, Some(tenant));
    let budget_status =
        BudgetStatus { budget, tenant_runs, tenant_day, agent, tenant, ..BudgetStatus::default() };
    Ok(budget_status.used_up_by_tenant())
}

/// What an agent would find in a tenant.
pub(crate) enum TenantWork {
    /// It has something to do. The number is that of the stale results that existed before an instant and were not
    /// visited since.
    Some(Box<Memory>, usize),
    /// It has nothing to do.
    Nothing,
    /// Its pipeline fails.
    Fails,
}

/// What an agent would find in a tenant, which is not loaded if it was idle and has not changed since.
pub(crate) fn work_of(
    memory: &Memory,
    definition: &Definition,
    tenant: &Tuple,
    since: Timestamp,
    idle: &IdleTenants,
) -> TenantWork {
    let (agent, version, now) = (&definition.name, &definition.fingerprint, memory.now());
    let store = memory.store.for_tenant(tenant);
    // Changes after this number are found by the next scan.
    let seq = store.counts().seq;
    if let Some(known) = idle.get(memory, agent, version, store.tenant(), seq) {
        return if known.fails { TenantWork::Fails } else { TenantWork::Nothing };
    }
    let own = memory.of(tenant);
    let put = |seen: u64, until: Option<Timestamp>, fails: bool| {
        // A view that could not be loaded is empty and has another number. An index that is incomplete may hide work.
        if seen == seq && own.store.lagging_indexes().is_empty() {
            let found = IdleTenant { seq, since: now, until, fails };
            idle.put(memory, agent, version, store.tenant(), found);
        }
    };
    match selection::outlook(&own, definition, since) {
        Ok(outlook) if outlook.has_work => TenantWork::Some(Box::new(own), outlook.left),
        Ok(outlook) => {
            put(outlook.seq, outlook.due, false);
            TenantWork::Nothing
        }
        Err(error) => {
            tracing::warn!(agent, %tenant, "its pipeline fails: {error}");
            if matches!(error.code, Code::NotFound | Code::InvalidArgument) {
                put(own.store.view().seq, Some(now.plus(RETRY_FAILED_AFTER)), true);
            }
            TenantWork::Fails
        }
    }
}

/// The tenant that a due run works for.
pub(crate) enum FirstTurn {
    /// This tenant.
    Of(Box<Memory>),
    /// None: the row of the slot has this outcome.
    Nobody(RowOutcome),
}

/// The first tenant in turn that the agent has something to do for. If there is none, this is the default tenant,
/// because its run then reports what would help, or no tenant if the agent does not run for the default one. A tenant
/// for which the pipeline fails is chosen only if there is no other. A tenant whose budget is used up is never chosen.
///
/// # Errors
/// Those of the store.
pub(crate) fn first(memory: &Memory, definition: &Definition, options: &RunOptions) -> Result<FirstTurn> {
    let idle = &options.idle_tenants;
    let tenants = in_turn(memory, definition)?;
    let mut failing = None;
    let mut held = Vec::new();
    for tenant in &tenants {
        if let Some(why) = used_up(memory, definition, tenant, options.zone)? {
            held.push((tenant, why));
            continue;
        }
        match work_of(memory, definition, tenant, memory.now(), idle) {
            TenantWork::Some(memory, _) => return Ok(FirstTurn::Of(memory)),
            TenantWork::Nothing => {}
            TenantWork::Fails => failing = failing.or(Some(tenant)),
        }
    }
    for (tenant, why) in held {
        if let TenantWork::Some(..) = work_of(memory, definition, tenant, memory.now(), idle) {
            let reason = Some(StatusReason::OverBudget);
            return Ok(FirstTurn::Nobody(RowOutcome { status: Status::Skipped, reason, message: Some(why) }));
        }
    }
    let default = Tuple::default();
    let patterns = &definition.schedule.tenants;
    if let Some(tenant) = failing.or_else(|| patterns.matches(&default).then_some(&default)) {
        return Ok(FirstTurn::Of(Box::new(memory.of(tenant))));
    }
    let (reason, message) = match tenants.is_empty() {
        true => (
            StatusReason::TooFewResults,
            format!("no tenant with notes matches `schedule.tenants` ({patterns})"),
        ),
        false => (
            StatusReason::NotStale,
            format!("no tenant that matches `schedule.tenants` ({patterns}) has anything to do"),
        ),
    };
    let message = Some(message);
    Ok(FirstTurn::Nobody(RowOutcome { status: Status::Skipped, reason: Some(reason), message }))
}

/// Number of tenants up to which their stale results are counted. Each of them is loaded for that.
const MAX_COUNTED: usize = 200;

/// Number of stale results of an agent: for the default tenant those of all tenants that the agent runs for, for any
/// other its own. `None` if [`selection::backlog_of_scan`] returns `None` for each of them, or if the agent runs for
/// more than `MAX_COUNTED` tenants with notes.
///
/// # Errors
/// Those of the store.
pub fn backlog_of_scan(memory: &Memory, definition: &Definition) -> Result<Option<usize>> {
    let patterns = &definition.schedule.tenants;
    let mut tenants = match memory.store.tenant().is_default() {
        true => with_notes(memory, patterns)?,
        false => vec![memory.store.tuple().clone()],
    };
    if tenants.len() > MAX_COUNTED {
        return Ok(None);
    }
    if tenants.is_empty() {
        if !patterns.matches(&Tuple::default()) {
            return Ok(Some(0));
        }
        tenants.push(Tuple::default());
    }
    let backlogs = tenants.iter().map(|tenant| selection::backlog_of_scan(&memory.of(tenant), definition));
    Ok(backlogs.flatten().fold(None, |sum, backlog| Some(sum.unwrap_or(0) + backlog)))
}

/// How many tenants have notes, and how many of them an agent runs for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TenantsWithNotes {
    /// Tenants that the agent runs for by its schedule.
    pub matching: usize,
    /// All tenants whose names the settings allow.
    pub all: usize,
}

/// Counts the tenants that an agent runs for by its schedule. No tenant is loaded.
///
/// # Errors
/// Those of the store.
pub fn count_tenants(memory: &Memory, definition: &Definition) -> Result<TenantsWithNotes> {
    let all = with_notes(memory, &TenantPatterns::default())?;
    let matching = all.iter().filter(|tenant| definition.schedule.tenants.matches(tenant)).count();
    Ok(TenantsWithNotes { matching, all: all.len() })
}

/// The tenants with notes whose names match and the settings allow, sorted by name. Nobody can access the notes of
/// those that the settings exclude.
fn with_notes(memory: &Memory, patterns: &TenantPatterns) -> Result<Vec<Tuple>> {
    let schema = &memory.config.tenant_schema;
    let tenants = memory.store.tenants()?.into_iter();
    let with_notes = tenants.filter(|named| named.counts.nodes > 0).map(|named| named.tuple);
    Ok(with_notes.filter(|tenant| patterns.matches(tenant) && schema.validate(tenant).is_ok()).collect())
}
