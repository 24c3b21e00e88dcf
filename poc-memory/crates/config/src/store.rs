//! The section `[store]`.

use super::section::section;
use poc_graph::time::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where a new copy of a shared log starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CopyStartSetting {
    /// At the newest snapshot in the database, if there is one. The copy has no history before it.
    Snapshot,
    /// At the first change, so that the copy has the whole history.
    History,
}

section!(
    /// The location of the log.
    StoreConfig {
        /// The address of a database, without a password, or empty for files in the folder of the profile.
        log: String,
        /// The name of the memory in the database.
        name: String,
        /// The environment variable with the database password.
        password_env: String,
        /// A file with the database password; empty for none.
        password_file: String,
        /// A file with certificates of trusted authorities in PEM format; empty for the public ones.
        ca_file: String,
        /// Time limit for establishing a connection.
        connect_timeout: Span,
        /// Time limit for a statement.
        timeout: Span,
        /// How often the database is queried for changes if it sends no notifications.
        poll: Span,
        /// Where the copy in a new folder starts.
        begin_with: CopyStartSetting,
        /// Approximate memory for views and indexes of tenants other than the default one, in bytes.
        tenant_memory: u64,
        /// Number of changes after which the daemon stores a snapshot in the database; 0 for never.
        snapshot_every: u64,
    }
);
