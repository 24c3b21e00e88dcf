//! Determines the tenant that a run of an agent works for. A slot belongs to the agent; its batches visit the
//! tenants round-robin, so that a tenant with many notes does not delay the others.

use super::ledger::{self, Status};
use super::{Definition, selection};
use poc_graph::error::Result;
use poc_graph::{RunId, Tenant, Tuple};
use poc_notes::Memory;
use std::collections::HashMap;

/// The tenants with notes whose names the settings allow. Those whose last run of the agent is longest ago come
/// first; tenants without a stored run come before them, by name.
///
/// # Errors
/// The store's.
pub(crate) fn in_turn(memory: &Memory, agent: &str) -> Result<Vec<Tuple>> {
    let mut last: HashMap<Tenant, RunId> = HashMap::new();
    // The newest run first.
    for row in ledger::rows(memory, Some(agent), usize::MAX)? {
        if !matches!(row.status, Status::Skipped | Status::Missed) {
            last.entry(row.tenant.id()).or_insert(row.id);
        }
    }
    let mut tenants = with_notes(memory)?;
    tenants.sort_by_cached_key(|tenant| (last.get(&tenant.id()).copied(), tenant.to_string()));
    Ok(tenants)
}

/// The memory of the first tenant in turn that the agent has something to do for; that of the default tenant if
/// there is none. A tenant for which the pipeline fails is chosen only if there is no other.
///
/// # Errors
/// The store's.
pub(crate) fn first(memory: &Memory, definition: &Definition) -> Result<Memory> {
    let mut failing = None;
    for tenant in in_turn(memory, &definition.name)? {
        let memory = memory.of(&tenant);
        match selection::has_work(&memory, definition) {
            Ok(true) => return Ok(memory),
            Ok(false) => {}
            Err(_) => failing = failing.or(Some(memory)),
        }
    }
    Ok(failing.unwrap_or_else(|| memory.of(&Tuple::default())))
}

/// Number of tenants up to which their stale results are counted. Each of them is loaded for that.
const MAX_COUNTED: usize = 200;

/// Number of stale results of an agent: for the default tenant those of all tenants, for any other its own. `None` if
/// [`selection::backlog_at_hand`] returns `None` for each of them, or if more than `MAX_COUNTED` tenants have notes.
///
/// # Errors
/// The store's.
pub fn backlog_at_hand(memory: &Memory, definition: &Definition) -> Result<Option<usize>> {
    let mut tenants = match memory.store.tenant().is_default() {
        true => with_notes(memory)?,
        false => vec![memory.store.tuple().clone()],
    };
    if tenants.len() > MAX_COUNTED {
        return Ok(None);
    }
    if tenants.is_empty() {
        tenants.push(Tuple::default());
    }
    let backlogs = tenants.iter().map(|tenant| selection::backlog_at_hand(&memory.of(tenant), definition));
    Ok(backlogs.flatten().fold(None, |sum, backlog| Some(sum.unwrap_or(0) + backlog)))
}

/// The tenants with notes whose names the settings allow. Nobody can access the notes of the others.
fn with_notes(memory: &Memory) -> Result<Vec<Tuple>> {
    let schema = &memory.config.tenant_schema;
    let tenants = memory.store.tenants()?.into_iter();
    let reachable = tenants.filter(|(tenant, counts)| counts.nodes > 0 && schema.validate(tenant).is_ok());
    Ok(reachable.map(|(tenant, _)| tenant).collect())
}
