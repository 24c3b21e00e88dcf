//! Proposals: permitted actions that wait for a person's decision. They are stored separately from the rows
//! of runs, of which only the newest are kept. They are stored complete, so that they can be applied after
//! the agent's file has changed. Decided proposals are deleted; the run's row records the decision.

use super::ledger::NodeVersion;
use super::permit::PermittedAction;
use poc_graph::error::{Error, Result};
use poc_graph::time::Timestamp;
use poc_graph::{NodeId, RunId, Tuple, View};
use poc_notes::Memory;
use poc_store::{Record, Table, Transaction};
use serde::{Deserialize, Serialize};

/// A permitted action that waits for approval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Proposal {
    /// The run whose reply requested it.
    pub run: RunId,
    /// Index among the run's actions, from 0.
    pub index: u16,
    /// The agent.
    pub agent: String,
    /// When it was made.
    pub made: Timestamp,
    /// Description with keys instead of handles.
    pub summary: String,
    /// Reason given by the model.
    pub why: String,
    /// The action, with ids instead of handles.
    pub permitted: PermittedAction,
    /// The nodes it names, with the versions that were read.
    pub versions: Vec<NodeVersion>,
    /// Index of the superseding action that this action is a part of. Either both are applied or neither.
    pub part_of: Option<u16>,
    /// Filters of the agent's file: a node that matches one at approval is not superseded.
    pub protect: Vec<String>,
    /// For actions that write a note: all nodes the prompt showed.
    pub read: Vec<NodeId>,
    /// The tenant of its notes.
    pub tenant: Tuple,
}

impl Record for Proposal {
    const TABLE: Table = Table::Proposals;
    const VERSION: u8 = 3;

    /// Version 1 had no `read` list, and version 2 no tenant. Each of them is a zero byte if it is empty.
    fn earlier(version: u8, body: &[u8]) -> Option<postcard::Result<Proposal>> {
        let empty: &[u8] = match version {
            1 => &[0, 0],
            2 => &[0],
            _ => return None,
        };
        Some(postcard::from_bytes(&[body, empty].concat()))
    }
}

impl Proposal {
    /// Key of the record: run id, index.
    pub fn key(&self) -> [u8; 18] {
        key(self.run, self.index)
    }

    /// Number of the action as shown to people, from 1.
    pub fn number(&self) -> u16 {
        self.index.saturating_add(1)
    }

    /// The action with the trust of its note lowered to the current minimum of the notes it was based on.
    pub fn with_current_trust(&self, now: &View) -> PermittedAction {
        let mut permitted = self.permitted.clone();
        if let Some(draft) = permitted.draft_mut() {
            let read = self.read.iter().filter_map(|&id| now.find(id)).filter(|&ix| now.is_live(ix));
            draft.trust = read.map(|ix| now.trust(ix)).fold(draft.trust, std::cmp::min);
        }
        permitted
    }

    /// Stores the proposal.
    pub fn put(&self, tx: &mut Transaction<'_>) -> Result<()> {
        tx.put(&self.key(), self)
    }

    /// Deletes the proposal, which is decided.
    pub fn close(&self, tx: &mut Transaction<'_>) -> Result<()> {
        tx.delete::<Proposal>(&self.key())
    }
}

/// The proposals of one run or of all runs, ordered by run (oldest first) and index.
pub fn proposals(memory: &Memory, run: Option<RunId>) -> Result<Vec<Proposal>> {
    let prefix: &[u8] = run.as_ref().map_or(&[], |run| run.as_bytes());
    Ok(memory.store.scan::<Proposal>(prefix)?.into_iter().map(|(_, proposal)| proposal).collect())
}

/// The run with this id or unique id prefix that has proposals.
///
/// # Errors
/// `not_found` when there is none, `invalid_argument` when there are several.
pub fn find(memory: &Memory, id: &str) -> Result<RunId> {
    let wanted = id.to_ascii_lowercase();
    let mut runs: Vec<RunId> = proposals(memory, None)?.iter().map(|proposal| proposal.run).collect();
    runs.dedup();
    runs.retain(|run| !wanted.is_empty() && run.to_string().starts_with(&wanted));
    match (runs.first(), runs.len()) {
        (Some(run), 1) => Ok(*run),
        (None, _) => Err(Error::not_found(format!("no run `{id}` has open proposals"))
            .hint("`poc-memory agent review` lists the open proposals")
            .field("run")),
        (_, more) => Err(Error::invalid(format!("`{id}` is the prefix of {more} run ids"))
            .hint("give more digits of the id")
            .field("run")),
    }
}

fn key(run: RunId, index: u16) -> [u8; 18] {
    let mut key = [0; 18];
    let (first, last) = key.split_at_mut(16);
    first.copy_from_slice(run.as_bytes());
    last.copy_from_slice(&index.to_be_bytes());
    key
}
