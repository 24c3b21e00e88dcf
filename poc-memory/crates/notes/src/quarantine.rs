//! Restores what the quarantine has, into which opening and repairing a damaged store move unusable files.

mod record_kinds;
mod tenant_restore;
#[cfg(test)]
mod tests;

pub use record_kinds::NO_NOTE;

use super::Memory;
use poc_graph::error::{Error, Result};
use poc_graph::{NodeId, Tenant, Tuple, plural};
use poc_store::{quarantine_contents, quarantine_lost_notes, quarantine_names};
use record_kinds::AcceptedRecords;
use std::collections::BTreeMap;
use std::path::Path;
use tenant_restore::{RecordCounts, TenantRestore};

/// The op of the transactions.
pub(super) const OP: &str = "quarantine restore";

/// What was restored, or in a dry run what would be.
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
    /// Numbers of other restored records by kind, such as `visit`.
    pub records: BTreeMap<&'static str, u64>,
    /// Numbers of other records that the memory lacks and that are not restored, by kind and reason.
    pub left_out: BTreeMap<&'static str, u64>,
    /// The notes of the records that are left out with the reason [`NO_NOTE`]: the name of each, or its id if the
    /// quarantine has no name.
    pub lost_notes: BTreeMap<NodeId, String>,
    /// The changes that were made, in ascending order, each with its tenant; empty in a dry run.
    pub changes: Vec<(Tuple, u64)>,
}

impl QuarantineReport {
    fn add(&mut self, counts: RecordCounts) {
        self.lost_notes.extend(counts.lost_notes.into_iter().map(|id| (id, id.to_string())));
        for (all, some) in [(&mut self.records, counts.restored), (&mut self.left_out, counts.left_out)] {
            for (name, count) in some {
                *all.entry(name).or_default() += count;
            }
        }
    }
}

/// Restores the notes, edges and other records that a part of the quarantine has and the memory lacks: of all tenants,
/// or only of the memory's tenant if that is not the default one. If the store has lost the name of that tenant, it
/// is recorded again. Nothing that the memory has is changed, and the quarantine stays.
///
/// # Errors
/// `not_found` when the quarantine has no such part or no files of it any more, or the part nothing of the tenant.
pub fn restore(memory: &Memory, part: &str, actor: &str, dry_run: bool) -> Result<QuarantineReport> {
    let mut report = QuarantineReport::default();
    let named = memory.store.tenants()?.into_iter();
    let known: BTreeMap<Tenant, Tuple> = named.map(|named| (named.tuple.id(), named.tuple)).collect();
    let store = memory.paths.store();
    let mut contents = quarantine_contents(&store, part)?;
    require_files(&store, part)?;
    let wanted = Some(memory.store.tuple()).filter(|tuple| !tuple.is_default());
    if let Some(wanted) = wanted {
        // The part may have another spelling of the name, of a tenant that the memory has lost.
        let lost = [wanted.composed().id(), wanted.decomposed().id()]
            .into_iter()
            .filter(|tenant| !known.contains_key(tenant));
        let found = std::iter::once(wanted.id()).chain(lost).find(|tenant| contents.contains_key(tenant));
        contents.retain(|tenant, _| Some(*tenant) == found);
        if contents.is_empty() {
            return Err(Error::not_found(format!("`{part}` has nothing of the tenant `{wanted}`"))
                .hint(format!("`poc-memory doctor quarantine show {part} --json` names its tenants"))
                .field("tenant"));
        }
    }
    for (tenant, own) in contents {
        let Some(tuple) = wanted.or(own.tuple.as_ref()).or(known.get(&tenant)) else {
            report.conflicts.push(format!(
                "the data of a tenant whose name is unknown, with {}: the same command with its `--tenant KEY=VALUE` \
                 restores it",
                plural(own.notes.len() as u64, "note")
            ));
            continue;
        };
        let restore = TenantRestore {
            memory: &memory.of(tuple),
            actor,
            dry_run,
            accepted: AcceptedRecords::default(),
            report: &mut report,
        };
        restore.run(own)?;
    }
    if !report.lost_notes.is_empty() {
        for note in quarantine_lost_notes(&store, part)? {
            if let (Some(shown), Some(name)) = (report.lost_notes.get_mut(&note.id), note.name) {
                *shown = name;
            }
        }
    }
    Ok(report)
}

/// Refuses a part of the quarantine of the store in a folder if only the list of its moves is left.
///
/// # Errors
/// `not_found` if the part has no files any more, `unavailable` if the quarantine cannot be read.
pub fn require_files(store: &Path, part: &str) -> Result<()> {
    if quarantine_names(store)?.iter().any(|name| name == part) {
        return Ok(());
    }
    Err(Error::not_found(format!(
        "`{part}` has no files in the quarantine any more: its repair was undone, or they were deleted"
    )))
}
