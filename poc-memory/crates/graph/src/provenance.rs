//! The provenance of nodes and edges: who wrote them.

/// Prefix of the provenance of agents; the agent's name follows.
const AGENT: &str = "agent:";

/// The provenance of notes and edges that the agent `name` writes.
pub fn of_agent(name: &str) -> String {
    format!("{AGENT}{name}")
}

/// Whether a provenance, or an actor in the log, is an agent.
pub fn is_agent(provenance: &str) -> bool {
    provenance.starts_with(AGENT)
}
