//! Records that an agent has seen a node.

use super::resolve;
use poc_graph::error::{Error, Result};
use poc_graph::time::Timestamp;
use poc_graph::{NodeId, Visit, VisitOutcome};
use poc_store::Transaction;

/// Records that `agent` has seen the node in its current version.
pub fn record(
    tx: &mut Transaction<'_>,
    agent: &str,
    id: NodeId,
    outcome: VisitOutcome,
    now: Timestamp,
) -> Result<Visit> {
    if agent.trim().is_empty() || agent.contains(char::is_control) {
        return Err(Error::invalid(format!("{agent:?} is not the name of an agent")).field("agent"));
    }
    let version = resolve::expect(tx, id)?.version;
    let visit = Visit { at: now, outcome, version };
    tx.put_visit(agent, id, &visit)?;
    Ok(visit)
}
