//! Restores notes from the quarantine, into which opening and repairing a damaged store move unusable files.

use super::{Memory, insert_plan};
use poc_graph::Node;
use poc_graph::error::Result;
use poc_store::{QuarantineNote, QuarantineTenant, Transaction, quarantine_contents};

/// Number of notes that are embedded and stored together.
const BATCH: usize = 32;

/// The restored notes and edges, or in a dry run those that would be restored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QuarantineReport {
    /// The keys of the notes that the memory lacked.
    pub restored: Vec<String>,
    /// Number of restored edges: those that the memory lacked, between notes that it has.
    pub edges: u64,
    /// Number of notes that the memory already has, in any version. They are not changed.
    pub present: u64,
    /// Number of notes that were deleted before they were quarantined. They are not restored.
    pub deleted: u64,
    /// Notes that cannot be restored, with the reason.
    pub conflicts: Vec<String>,
}

/// Restores the notes and edges that a part of the quarantine has and the memory lacks, of all tenants.
/// Nothing that the memory has is changed, and the quarantine stays.
///
/// # Errors
/// `not_found` when the quarantine has no such part.
pub fn restore(memory: &Memory, part: &str, actor: &str, dry_run: bool) -> Result<QuarantineReport> {
    let mut report = QuarantineReport::default();
    let known = memory.store.tenants()?;
    for (tenant, own) in quarantine_contents(&memory.paths.store(), part)? {
        let in_store = known.iter().map(|(tuple, _)| tuple).find(|tuple| tuple.id() == tenant);
        let Some(tuple) = own.tuple.as_ref().or(in_store) else {
            let notes = own.notes.len();
            report.conflicts.push(format!("{notes} notes belong to a tenant whose name is unknown"));
            continue;
        };
        restore_tenant(&memory.of(tuple), own, actor, dry_run, &mut report)?;
    }
    Ok(report)
}

fn restore_tenant(
    memory: &Memory,
    own: QuarantineTenant,
    actor: &str,
    dry_run: bool,
    report: &mut QuarantineReport,
) -> Result<()> {
    let mut lacking = Vec::new();
    for QuarantineNote { node, deleted } in own.notes {
        match memory.store.node(node.id)? {
            Some(_) => report.present += 1,
            None if deleted => report.deleted += 1,
            None => lacking.push(node),
        }
    }
    for batch in lacking.chunks(BATCH) {
        let parts = insert_plan::embed(memory, &batch.iter().collect::<Vec<_>>())?;
        let stored = memory.store.transact(memory.cause(actor, OP), |tx| {
            let mut outcomes = Vec::new();
            for (node, parts) in batch.iter().zip(&parts) {
                let conflict = conflict(tx, node)?;
                if conflict.is_none() && !dry_run {
                    tx.put_node(node)?;
                    tx.put_vectors(node.id, memory.embedder.name(), parts)?;
                }
                outcomes.push(conflict);
            }
            Ok(outcomes)
        })?;
        for (node, conflict) in batch.iter().zip(stored.value) {
            match conflict {
                None => report.restored.push(node.key.clone()),
                Some(conflict) => report.conflicts.push(conflict),
            }
        }
    }
    let is_restored = |key: &str| report.restored.iter().any(|restored| restored == key);
    let edges = memory.store.transact(memory.cause(actor, OP), |tx| {
        let mut count = 0;
        for edge in &own.edges {
            let mut exist = true;
            for end in [edge.src, edge.dst] {
                let is_new = dry_run && lacking.iter().any(|node| node.id == end && is_restored(&node.key));
                exist &= is_new || tx.node(end)?.is_some();
            }
            if exist && tx.edge(edge.src, edge.kind, edge.dst)?.is_none() {
                count += 1;
                if !dry_run {
                    tx.put_edge(edge)?;
                }
            }
        }
        Ok(count)
    })?;
    report.edges += edges.value;
    Ok(())
}

/// The op of the transactions.
const OP: &str = "quarantine restore";

/// Why a note cannot be restored.
fn conflict(tx: &Transaction<'_>, node: &Node) -> Result<Option<String>> {
    for name in node.names() {
        if let Some(owner) = tx.find_key(name)?
            && let Some(owner) = tx.node(owner)?
        {
            return Ok(Some(format!(
                "`{}`: the name `{name}` now belongs to the note `{}`",
                node.key, owner.key
            )));
        }
    }
    if node.state.is_live()
        && let Some(same) = tx.find_hash(&node.content_hash)?
        && let Some(same) = tx.node(same)?
    {
        return Ok(Some(format!("`{}`: the note `{}` has the same text", node.key, same.key)));
    }
    Ok(None)
}
