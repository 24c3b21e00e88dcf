//! The changes of an agent.

use super::ledger::{self, Run};
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
        let mut open = transactions_of_actions(&run);
        while let Some(seq) = open.pop() {
            // The row names only the last transaction of each action. The log of that transaction has the earlier row,
            // which names the transaction before it.
            if numbers.insert(seq)
                && let Some(txn) = memory.store.transaction(seq)?
            {
                open.extend(&txn.cause.undoes);
                open.extend(ledger::row_before(&txn, run.id)?.iter().flat_map(transactions_of_actions));
            }
        }
    }
    Ok(numbers)
}

/// The last transaction of each action of a run.
fn transactions_of_actions(run: &Run) -> Vec<u64> {
    run.actions.iter().filter_map(|action| action.seq).collect()
}
