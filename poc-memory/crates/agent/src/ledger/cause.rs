//! The cause recorded in the log for transactions that write rows.

use poc_graph::{RunId, provenance};
use poc_notes::Memory;
use poc_store::Cause;

/// The cause of a transaction for an agent, and for one of its runs.
pub(super) fn cause(memory: &Memory, agent: &str, run: Option<RunId>) -> Cause {
    Cause { run, ..memory.cause(&provenance::of_agent(agent), "agent run") }
}
