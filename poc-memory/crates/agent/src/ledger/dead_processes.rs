//! Which processes have died with runs in progress.

use poc_graph::error::Result;
use poc_notes::{Memory, boot_of};
use std::collections::BTreeSet;

/// The other processes that have claimed runs and are dead.
///
/// Without a shared log only one process opens a store at a time, so all others are dead. With a shared log, a process is
/// dead if it has not renewed its heartbeat lately, by the clock of the log. The heartbeat is a lease: a process that is
/// cut off loses its runs to the others. It cannot write meanwhile, and when it can again, it finds its rows ended and
/// discards what it has done.
pub(super) enum DeadProcesses {
    /// All with another boot.
    Others(String),
    /// Those with these boots.
    Of(BTreeSet<String>),
}

impl DeadProcesses {
    /// Those among the processes with these boots, which are only read with a shared log. A process that claims its first
    /// run afterwards does not count as dead.
    ///
    /// # Errors
    /// `unavailable` when the shared log does not answer.
    pub(super) fn among(
        memory: &Memory,
        boots: impl FnOnce() -> Result<BTreeSet<String>>,
    ) -> Result<DeadProcesses> {
        let Some(log) = memory.store.shared_log() else {
            return Ok(DeadProcesses::Others(memory.boot.clone()));
        };
        let mut boots = boots()?;
        boots.remove(&memory.boot);
        // After an outage of the log, the others may not have renewed theirs yet.
        if boots.is_empty() || !log.is_steady {
            return Ok(DeadProcesses::Of(BTreeSet::new()));
        }
        for peer in memory.store.peers()?.into_iter().filter(|peer| peer.is_alive()) {
            boots.remove(&boot_of(peer.writer));
        }
        Ok(DeadProcesses::Of(boots))
    }

    /// Whether the process with this boot is dead.
    pub(super) fn contains(&self, boot: &str) -> bool {
        match self {
            DeadProcesses::Others(own) => boot != own,
            DeadProcesses::Of(boots) => boots.contains(boot),
        }
    }
}
