//! The section `[store]`.

use super::section::section;
use poc_graph::time::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the copy of a log in a database begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BeginWith {
    /// The newest snapshot in the database, if there is one. The copy has no history before it.
    Snapshot,
    /// The first change: the copy has the whole history.
    History,
}

section!(
    /// Where the log is.
    StoreConfig {
        /// Empty for files in the folder of the profile, or the address of a database without a password.
        log: String,
        /// The name of the memory in the database.
        name: String,
        /// The environment variable with the password.
        password_env: String,
        /// A file with the password; empty for none.
        password_file: String,
        /// Certificates of authorities in PEM format; empty for the public ones.
        ca_file: String,
        /// How long a connection may take.
        connect_timeout: Span,
        /// How long a statement may take.
        timeout: Span,
        /// How often the database is asked for news if it does not notify.
        poll: Span,
        /// What the copy in a new folder begins with.
        begin_with: BeginWith,
        /// After how many changes the daemon stores a snapshot in the database; 0 for never.
        snapshot_every: u64,
    }
);

impl StoreConfig {
    /// These settings without a shared log, for memories that are made for a moment.
    #[must_use]
    pub fn local(&self) -> StoreConfig {
        StoreConfig { log: String::new(), ..self.clone() }
    }
}
