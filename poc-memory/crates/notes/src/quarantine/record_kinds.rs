//! Which records of a quarantine can be restored without the changes that were lost.

use poc_graph::error::Result;
use poc_graph::{NodeId, Visit};
use poc_store::{QuarantineRecord, Record as _, Table, Transaction};
use rustc_hash::{FxHashMap, FxHashSet};

/// The notes and runs that were restored so far.
#[derive(Clone, Default)]
pub(super) struct AcceptedRecords {
    /// The versions of the notes.
    pub(super) versions: FxHashMap<NodeId, u32>,
    /// The ids of the runs.
    pub(super) runs: FxHashSet<[u8; ID]>,
}

impl AcceptedRecords {
    /// Whether a record belongs to a note that the memory lacked and that is restored. The memory then counts as having
    /// no such record. In a dry run, a record of this key may still exist, which the restoration would delete first.
    pub(super) fn has_note_of(&self, record: &QuarantineRecord) -> bool {
        let is_of_note = matches!(record.table, Table::Visits | Table::Activity | Table::Frames);
        let id = record.key.first_chunk::<ID>().map(|id| NodeId::from_bytes(*id));
        is_of_note && id.is_some_and(|id| self.versions.contains_key(&id))
    }
}

/// The length of an id in bytes.
pub(super) const ID: usize = 16;

/// The reason for which records of notes are left out that neither the memory nor the part has.
pub const NO_NOTE: &str = "data of notes that the memory does not have";
// The reasons for which other records are left out.
pub(super) const LATER_VISITS: &str = "visits of later versions of notes than the memory has";
pub(super) const OTHER_PROPOSALS: &str = "proposals whose runs are not restored: they may have been decided";
pub(super) const AGENT_STATES: &str =
    "states of agents: they name changes by numbers that other changes may have now";
pub(super) const RESERVATIONS: &str = "budgets that were reserved for calls of models: the calls have ended";
pub(super) const SYNC_RECORDS: &str = "records of syncs: a sync would delete from the remote what this memory lacks, \
     so `poc-memory profile remote bind` must bind it again";
pub(super) const VAULT_RECORDS: &str = "records of vaults: a sync would take notes that this memory lacks for deleted \
     ones, so `poc-memory vault add` must bind the folder again";

/// The name of a record that can be restored, or in the inner error why it is left out.
pub(super) fn classify(
    tx: &Transaction<'_>,
    record: &QuarantineRecord,
    accepted: &AcceptedRecords,
) -> Result<std::result::Result<&'static str, &'static str>> {
    let key = record.key.as_slice();
    let version = || -> Result<Option<u32>> {
        let Some(id) = key.first_chunk::<ID>().map(|id| NodeId::from_bytes(*id)) else { return Ok(None) };
        match accepted.versions.get(&id) {
            Some(version) => Ok(Some(*version)),
            None => Ok(tx.node(id)?.map(|node| node.version)),
        }
    };
    Ok(match record.table {
        Table::Visits => match version()? {
            Some(version) if Visit::decode(&record.value)?.version <= version => Ok("visit"),
            Some(_) => Err(LATER_VISITS),
            None => Err(NO_NOTE),
        },
        Table::Activity => version()?.map(|_| "weight").ok_or(NO_NOTE),
        Table::Frames => version()?.map(|_| "Markdown frame").ok_or(NO_NOTE),
        Table::Messages => Ok("message"),
        Table::Samples => Ok("cosine histogram"),
        Table::Runs => Ok("run"),
        Table::Occurrences => Ok("scheduled run"),
        // The row of a run that the memory has says what became of its proposals.
        Table::Proposals => match key.first_chunk::<ID>() {
            Some(run) if accepted.runs.contains(run) => Ok("proposal"),
            _ => Err(OTHER_PROPOSALS),
        },
        Table::Agents | Table::AgentStates | Table::TenantSpending => Err(AGENT_STATES),
        Table::Reservations => Err(RESERVATIONS),
        Table::Meta => Err(SYNC_RECORDS),
        Table::Vaults => Err(VAULT_RECORDS),
        Table::Nodes
        | Table::Edges
        | Table::EdgesIn
        | Table::Vectors
        | Table::Keys
        | Table::Hashes
        | Table::Keywords
        | Table::Changes
        | Table::Tenants => Err("records that are derived from others"),
    })
}
