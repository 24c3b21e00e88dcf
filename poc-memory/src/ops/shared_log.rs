//! The shared log as `stats` and `daemon status` show it.

use super::text::plural;
use poc_store::{Peer, ReadOnlyReason, Store};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The log that this memory shares with others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SharedLogOutput {
    /// The database and the name of the memory in it, without the password.
    pub address: String,
    /// Number of the last change that is known to be in it.
    pub head: u64,
    /// Number of its changes that answers do not include yet.
    pub behind: u64,
    /// Number of appends that were retried because another process appended first.
    pub conflicts: u64,
    /// Number of the last change in the newest snapshot, from which new daemons start; absent if there is
    /// none or the database was not asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<u64>,
    /// Number of its first change; absent if no earlier ones were deleted or the database was not asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<u64>,
    /// The other daemons and commands that have renewed their heartbeat in it in the last 15 seconds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<PeerOutput>,
}

/// Number of other users that a line describes.
const SHOWN_OTHERS: usize = 3;

/// Another daemon or command over the same log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PeerOutput {
    /// Its host and process.
    pub name: String,
    /// Number of the last change that it had read.
    pub head: u64,
    /// Seconds since it was seen, by the clock of the database.
    pub seconds_ago: u64,
    /// Whether it has a lease: for at most two seconds, nobody else may append. It asks for one when others have
    /// repeatedly been faster.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_lease: bool,
    /// Whether it is storing a snapshot or deleting history, so that nobody else may.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_claim: bool,
}

impl PeerOutput {
    /// Its name, and what only it may do at the moment.
    pub(crate) fn description(&self) -> String {
        let lease = if self.has_lease { " (has a lease)" } else { "" };
        let claim = if self.has_claim { " (stores a snapshot)" } else { "" };
        format!("{}{lease}{claim}", self.name)
    }
}

impl SharedLogOutput {
    /// The shared log of a store, without asking the database; `None` if the store has none.
    pub fn of(store: &Store) -> Option<SharedLogOutput> {
        let status = store.shared_log()?;
        Some(SharedLogOutput {
            address: status.address,
            head: status.head,
            behind: status.behind,
            conflicts: status.conflicts,
            snapshot: None,
            first: None,
            others: Vec::new(),
        })
    }

    /// Like [`of`](Self::of), with the snapshot, the first change and the peers, which are read from the database. They
    /// are left out if the database does not answer.
    pub fn with_others(store: &Store) -> Option<SharedLogOutput> {
        let mut output = SharedLogOutput::of(store)?;
        // A database that is known not to answer would only delay this.
        if matches!(store.read_only(), Some(ReadOnlyReason::SharedLog(_))) {
            return Some(output);
        }
        // A database that does not answer is not asked again.
        let Ok(peers) = store.peers() else { return Some(output) };
        output.others = peers
            .into_iter()
            // The database lists those that have ended for a while.
            .filter(Peer::is_alive)
            .map(|peer| PeerOutput {
                name: peer.name,
                head: peer.head,
                seconds_ago: peer.seen.as_secs(),
                has_lease: peer.has_lease,
                has_claim: peer.has_claim,
            })
            .collect();
        output.snapshot = store.newest_snapshot().ok().flatten().map(|snapshot| snapshot.seq);
        output.first = store.first_shared().ok().flatten();
        Some(output)
    }

    /// The log as one line for a person.
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
        if let Some(first) = self.first {
            line += &format!(", changes before {first} were deleted");
        }
        if !self.others.is_empty() {
            line += &format!(", also used by {}", self.users(PeerOutput::description));
        }
        line
    }

    /// The number of the other users if there are many, and the description of those that were seen last.
    pub(crate) fn users(&self, describe: impl Fn(&PeerOutput) -> String) -> String {
        let mut newest: Vec<&PeerOutput> = self.others.iter().collect();
        newest.sort_by_key(|other| other.seconds_ago);
        let shown: Vec<String> = newest.into_iter().take(SHOWN_OTHERS).map(describe).collect();
        match self.others.len().saturating_sub(SHOWN_OTHERS) {
            0 => shown.join("; "),
            more => format!("{} others: {}; and {more} more", self.others.len(), shown.join("; ")),
        }
    }
}
