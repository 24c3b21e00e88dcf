//! What an agent wants and a person has to decide: kept apart from the rows of runs, of which only the
//! newest stay, and whole, so that it can be done when the agent's file is long another.

use super::ledger::ActionState;
use super::permit::Intent;
use crate::error::Result;
use crate::graph::{NodeId, RunId};
use crate::memory::Memory;
use crate::store::{Record, Table, Tx};
use crate::time::Timestamp;
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
    pub intent: Intent,
    /// The nodes it is about and their versions when they were read.
    pub versions: Vec<(NodeId, u32)>,
    /// The place of the action it is to be done with, or not at all.
    pub with: Option<u16>,
    /// Filters of the agent's file: a node that passes one by now is left alone.
    pub protect: Vec<String>,
    /// What became of it.
    pub state: ActionState,
    /// When it was decided, and what the person said to it.
    pub decided: Option<(Timestamp, String)>,
}

impl Record for Proposal {
    const TABLE: Table = Table::Proposals;
}

impl Proposal {
    /// The record's key: run, place.
    pub fn key(&self) -> [u8; 18] {
        key(self.run, self.index)
    }

    /// Whether it waits for a person.
    pub fn is_open(&self) -> bool {
        self.state == ActionState::Proposed
    }

    /// Writes it.
    pub fn put(&self, tx: &mut Tx<'_>) -> Result<()> {
        tx.put(&self.key(), self)
    }
}

/// The proposals of one run or of all, oldest run first, each run's in their order.
pub fn proposals(memory: &Memory, run: Option<RunId>) -> Result<Vec<Proposal>> {
    let prefix: &[u8] = run.as_ref().map_or(&[], |run| run.as_bytes());
    Ok(memory.store.scan::<Proposal>(prefix)?.into_iter().map(|(_, proposal)| proposal).collect())
}

/// The proposal with a place in a run.
pub fn get(tx: &Tx<'_>, run: RunId, index: u16) -> Result<Option<Proposal>> {
    tx.get(&key(run, index))
}

fn key(run: RunId, index: u16) -> [u8; 18] {
    let mut key = [0; 18];
    let (first, last) = key.split_at_mut(16);
    first.copy_from_slice(run.as_bytes());
    last.copy_from_slice(&index.to_be_bytes());
    key
}
