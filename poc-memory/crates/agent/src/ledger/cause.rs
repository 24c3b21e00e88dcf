//! The cause recorded in the log for transactions that write rows.

use crate::definition::provenance;
use poc_graph::RunId;
use poc_notes::Memory;
use poc_store::Cause;

/// The cause of a transaction for an agent, and for one of its runs.
pub(super) fn cause(memory: &Memory, agent: &str, run: Option<RunId>) -> Cause {
    Cause { run, ..memory.cause(&provenance(agent), "agent run") }
}
