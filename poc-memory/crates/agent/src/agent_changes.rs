//! The changes of an agent.

use super::ledger;
use poc_graph::error::Result;
use poc_notes::Memory;
use std::collections::BTreeSet;

/// The numbers of the changes by the stored runs of an agent, of approvals of their proposals, and of undos of both.
pub fn agent_changes(memory: &Memory, agent: &str) -> Result<BTreeSet<u64>> {
    let mut numbers = BTreeSet::new();
    for run in ledger::rows(memory, Some(agent), usize::MAX)? {
        if !ledger::is_visible(memory, &run) {
            continue;
        }
        let memory = memory.of(&run.tenant);
        numbers.extend(run.seq);
        let mut open: Vec<u64> = run.actions.iter().filter_map(|action| action.seq).collect();
        while let Some(seq) = open.pop() {
            // The record of an action has its last transaction. If that is an undo, its cause names the
            // transaction that it undid.
            if numbers.insert(seq)
                && let Some(txn) = memory.store.transaction(seq)?
            {
                open.extend(txn.cause.undoes);
            }
        }
    }
    Ok(numbers)
}
