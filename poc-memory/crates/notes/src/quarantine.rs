//! Restores notes from the quarantine, into which opening and repairing a damaged store move unusable files.

use super::{Memory, insert_plan};
use poc_graph::error::Result;
use poc_graph::{Edge, Node, NodeId};
use poc_store::{QuarantineNote, QuarantineTenant, Transaction, quarantine_contents};
use rustc_hash::FxHashSet;

/// Number of notes that are embedded together.
const BATCH: usize = 32;

/// Maximum size of the bodies that are stored in one transaction, in bytes.
const MAX_BYTES: usize = 16 << 20;

/// The restored notes and edges, or in a dry run those that would be restored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QuarantineReport {
    /// The keys of the notes that the memory lacked.
    pub restored: Vec<String>,
    /// Number of restored edges: those that the memory lacked, between notes that it has.
    pub edges: u64,
    /// Number of notes that the memory already has, in any version. They are not changed.
    pub present: u64,
    /// The keys of the notes that the memory already has, but that have another key, title or text in the quarantine.
    pub different: Vec<String>,
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
            Some(present) => {
                report.present += 1;
                let is_same =
                    (&present.key, &present.title, &present.body) == (&node.key, &node.title, &node.body);
                if !deleted && !is_same {
                    report.different.push(present.key);
                }
            }
            None if deleted => report.deleted += 1,
            None => lacking.push(node),
        }
    }
    let mut embedded = Vec::with_capacity(lacking.len());
    for batch in lacking.chunks(BATCH) {
        let vectors = insert_plan::embed(memory, &batch.iter().collect::<Vec<_>>())?;
        embedded.extend(batch.iter().zip(vectors));
    }
    let mut accepted: FxHashSet<NodeId> = FxHashSet::default();
    let mut rest = embedded.as_slice();
    // One transaction, so that one `undo` reverts it, unless there is too much for one.
    loop {
        let mut bytes = 0;
        let fits = |(node, _): &&(&Node, _)| {
            bytes += node.body.len();
            bytes <= MAX_BYTES
        };
        let count = rest.iter().take_while(fits).count().max(1).min(rest.len());
        let (group, later) = rest.split_at(count);
        let is_last = later.is_empty();
        let stored = memory.store.transact(memory.cause(actor, OP), |tx| {
            let (mut outcomes, mut accepted) = (Vec::new(), accepted.clone());
            for (node, vectors) in group {
                let conflict = conflict(tx, node)?;
                if conflict.is_none() {
                    accepted.insert(node.id);
                    if !dry_run {
                        tx.put_node(node)?;
                        tx.put_vectors(node.id, memory.embedder.name(), vectors)?;
                    }
                }
                outcomes.push(conflict);
            }
            let edges = if is_last { restore_edges(tx, &own.edges, &accepted, dry_run)? } else { 0 };
            Ok((outcomes, accepted, edges))
        })?;
        let (outcomes, now_accepted, edges) = stored.value;
        for ((node, _), conflict) in group.iter().zip(outcomes) {
            match conflict {
                None => report.restored.push(node.key.clone()),
                Some(conflict) => report.conflicts.push(conflict),
            }
        }
        accepted = now_accepted;
        report.edges += edges;
        rest = later;
        if is_last {
            return Ok(());
        }
    }
}

/// Restores the edges that the memory lacks, between notes that it has or that are in `accepted`. Returns their number.
fn restore_edges(
    tx: &mut Transaction<'_>,
    edges: &[Edge],
    accepted: &FxHashSet<NodeId>,
    dry_run: bool,
) -> Result<u64> {
    let mut count = 0;
    for edge in edges {
        let mut exist = true;
        for end in [edge.src, edge.dst] {
            exist &= accepted.contains(&end) || tx.node(end)?.is_some();
        }
        if exist && tx.edge(edge.src, edge.kind, edge.dst)?.is_none() {
            count += 1;
            if !dry_run {
                tx.put_edge(edge)?;
            }
        }
    }
    Ok(count)
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
