//! The shared log as `stats` and `daemon status` show it.

use super::text::plural;
use poc_store::Store;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The log that this memory shares with others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SharedLogOutput {
    /// The database and the name of the memory in it, without the password.
    pub address: String,
    /// The last change that is known to be in it.
    pub head: u64,
    /// How many of its changes answers do not show yet.
    pub behind: u64,
    /// How many appends had to be made again because another daemon was faster.
    pub conflicts: u64,
    /// The last change of the newest snapshot, with which new daemons begin; absent if there is none or the database was not asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<u64>,
    /// The other daemons and commands that used it in the last minute.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<PeerOutput>,
}

/// Another daemon or command over the same log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PeerOutput {
    /// Its host and process.
    pub name: String,
    /// The last change that it had.
    pub head: u64,
    /// Seconds since it was seen, by the clock of the database.
    pub seconds_ago: u64,
}

impl SharedLogOutput {
    /// That of a store; `None` if it has none. Does not ask the database.
    pub fn of(store: &Store) -> Option<SharedLogOutput> {
        let status = store.shared_log()?;
        Some(SharedLogOutput {
            address: status.address,
            head: status.head,
            behind: status.behind,
            conflicts: status.conflicts,
            snapshot: None,
            others: Vec::new(),
        })
    }

    /// The same with the snapshot and the others, for which the database is asked. Without them when it does not answer.
    pub fn with_others(store: &Store) -> Option<SharedLogOutput> {
        let mut output = SharedLogOutput::of(store)?;
        // A database that does not answer is waited for once.
        let Ok(peers) = store.peers() else { return Some(output) };
        output.others = peers
            .into_iter()
            .map(|peer| PeerOutput { name: peer.name, head: peer.head, seconds_ago: peer.seen.as_secs() })
            .collect();
        output.snapshot = store.newest_snapshot().ok().flatten().map(|snapshot| snapshot.seq);
        Some(output)
    }

    /// One line for people.
    pub(crate) fn line(&self) -> String {
        let mut line = format!("{}, change {}", self.address, self.head);
        if self.behind > 0 {
            line += &format!(", {} behind", self.behind);
        }
        if self.conflicts > 0 {
            line += &format!(", {}", plural(self.conflicts, "conflict"));
        }
        if let Some(snapshot) = self.snapshot {
            line += &format!(", newest snapshot at change {snapshot}");
        }
        if !self.others.is_empty() {
            let names: Vec<&str> = self.others.iter().map(|other| other.name.as_str()).collect();
            line += &format!(", also used by {}", names.join("; "));
        }
        line
    }
}
