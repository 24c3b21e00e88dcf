//! What an agent wants and a person has to decide: kept apart from the rows of runs, of which only the
//! newest stay, and whole, so that it can be done when the agent's file is long another. What is decided
//! is kept no longer: the run's row says what became of it.

use super::permit::PermittedAction;
use poc_graph::error::{Error, Result};
use poc_graph::time::Timestamp;
use poc_graph::{NodeId, RunId, View};
use poc_notes::Memory;
use poc_store::{Record, Table, Tx};
use serde::{Deserialize, Serialize};

/// One action that was permitted and is left for a person.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Proposal {
    /// The run whose reply asked for it.
    pub run: RunId,
    /// Its place among the run's actions, from 0.
    pub index: u16,
    /// The agent.
    pub agent: String,
    /// When it was made.
    pub made: Timestamp,
    /// In words, with keys in place of handles.
    pub summary: String,
    /// Why, in the model's words.
    pub why: String,
    /// What is to be done, with ids in place of handles.
    pub permitted: PermittedAction,
    /// The nodes it is about and their versions when they were read.
    pub versions: Vec<(NodeId, u32)>,
    /// The place of the action it is to be done with, or not at all.
    pub part_of: Option<u16>,
    /// Filters of the agent's file: a node that passes one by now is left alone.
    pub protect: Vec<String>,
    /// For one that writes a note: whatever the prompt showed something of.
    pub read: Vec<NodeId>,
}

impl Record for Proposal {
    const TABLE: Table = Table::Proposals;
    const VERSION: u8 = 2;

    /// The first version did not tell what was read, which is an empty list at the end.
    fn earlier(version: u8, body: &[u8]) -> Option<postcard::Result<Proposal>> {
        (version == 1).then(|| postcard::from_bytes(&[body, &[0]].concat()))
    }
}

impl Proposal {
    /// The record's key: run, place.
    pub fn key(&self) -> [u8; 18] {
        key(self.run, self.index)
    }

    /// Its number in the run, as people are shown it, from 1.
    pub fn number(&self) -> u16 {
        self.index.saturating_add(1)
    }

    /// What is to be done, judged again: a note is trusted no more than the least trusted of what it was made
    /// from, by what was known then and by what is known now.
    pub fn with_current_trust(&self, now: &View) -> PermittedAction {
        let mut permitted = self.permitted.clone();
        if let Some(draft) = permitted.draft_mut() {
            let read = self.read.iter().filter_map(|&id| now.find(id)).filter(|&ix| now.is_live(ix));
            draft.trust = read.map(|ix| now.trust(ix)).fold(draft.trust, std::cmp::min);
        }
        permitted
    }

    /// Puts it on the list.
    pub fn put(&self, tx: &mut Tx<'_>) -> Result<()> {
        tx.put(&self.key(), self)
    }

    /// Takes it off the list: it is decided.
    pub fn close(&self, tx: &mut Tx<'_>) -> Result<()> {
        tx.delete::<Proposal>(&self.key())
    }
}

/// The proposals of one run or of all, oldest run first, each run's in their order.
pub fn proposals(memory: &Memory, run: Option<RunId>) -> Result<Vec<Proposal>> {
    let prefix: &[u8] = run.as_ref().map_or(&[], |run| run.as_bytes());
    Ok(memory.store.scan::<Proposal>(prefix)?.into_iter().map(|(_, proposal)| proposal).collect())
}

/// The run with an id, or with the only id that starts so, that has proposals.
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
        (None, _) => Err(Error::not_found(format!("no run `{id}` waits for a decision"))
            .hint("`poc-memory agent review` lists what does")
            .field("run")),
        (_, more) => Err(Error::invalid(format!("`{id}` is the start of {more} run ids"))
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
