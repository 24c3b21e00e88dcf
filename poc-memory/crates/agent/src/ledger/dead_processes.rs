//! Determines which processes died with runs in progress.

use poc_graph::error::Result;
use poc_notes::{Memory, instance_of};
use std::collections::BTreeSet;

/// The other processes that have claimed runs and are dead.
///
/// Without a shared log only one process opens a store at a time, so all others are dead. With a shared log,
/// a process counts as dead if it has not renewed its heartbeat recently, by the clock of the log. The
/// heartbeat is a lease: a process that is cut off loses its runs to the others. It cannot write while it is
/// cut off, and afterwards it finds its rows ended and discards its results.
pub(super) enum DeadProcesses {
    /// All processes with another instance id.
    Others(String),
    /// The processes with these instance ids.
    Of(BTreeSet<String>),
}

impl DeadProcesses {
    /// The dead ones among the processes with the given instance ids. `instances` is called only if the log is
    /// shared. A process that claims its first run afterwards does not count as dead.
    ///
    /// # Errors
    /// `unavailable` when the shared log does not answer.
    pub(super) fn among(
        memory: &Memory,
        instances: impl FnOnce() -> Result<BTreeSet<String>>,
    ) -> Result<DeadProcesses> {
        if memory.store.shared_log().is_none() {
            return Ok(DeadProcesses::Others(memory.instance.clone()));
        }
        let mut instances = instances()?;
        instances.remove(&memory.instance);
        // After an outage of the log, other processes may not have renewed their heartbeats yet.
        if instances.is_empty() || !memory.store.has_current_heartbeats()? {
            return Ok(DeadProcesses::Of(BTreeSet::new()));
        }
        for peer in memory.store.peers()?.into_iter().filter(|peer| peer.is_alive()) {
            instances.remove(&instance_of(peer.writer));
        }
        Ok(DeadProcesses::Of(instances))
    }

    /// Whether the process with this instance id is dead.
    pub(super) fn contains(&self, instance: &str) -> bool {
        match self {
            DeadProcesses::Others(own) => instance != own,
            DeadProcesses::Of(instances) => instances.contains(instance),
        }
    }
}
