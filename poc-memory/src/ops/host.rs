//! The process in which an op runs.

use super::PageLink;
use super::shared_log::SharedLogOutput;
use poc_agent::model::ModelRegistry;
use poc_agent::run_limiter::RunLimiter;
use poc_agent::{Catalog, CatalogChange};
use poc_graph::Tuple;
use poc_graph::cancellation::CancellationToken;
use poc_graph::error::Result;
use poc_graph::time::Timestamp;
use poc_notes::vault::VaultStatus;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::Arc;

/// The progress of a long op.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// The unit being counted: `notes`.
    pub what: String,
    /// Number of units done so far.
    pub done: u64,
    /// Total number of units, if known.
    pub total: Option<u64>,
}

/// The process around the memory.
pub trait Host: Sync {
    /// The agents as last loaded.
    fn catalog(&self) -> Result<Arc<Catalog>>;

    /// Reads the files of agents and prompts now. Returns the agents from now on and how they changed.
    fn reload(&self) -> Result<(Arc<Catalog>, Vec<CatalogChange>)>;

    /// Cancels the model calls of runs when this process stops.
    fn calls(&self) -> CancellationToken;

    /// The models of this process.
    fn models(&self) -> ModelRegistry;

    /// Limits how many agents run at once in this process.
    fn run_limiter(&self) -> RunLimiter;

    /// The daemon, if this process is one; otherwise `unavailable` with the command that starts one.
    fn daemon(&self) -> Result<&dyn Daemon>;
}

/// Operations on the daemon itself.
pub trait Daemon: Sync {
    /// Its status.
    fn status(&self) -> DaemonStatus;

    /// Makes a link that signs a browser in to the notes of a tenant on the page, and starts to serve the
    /// page if it is not served yet.
    ///
    /// # Errors
    /// `unavailable` when the settings switch the page off or its address cannot be used.
    fn page_link(&self, read_only: bool, tenant: &Tuple) -> Result<PageLink>;

    /// Asks the daemon to stop after the running work has finished. Returns immediately.
    fn stop(&self);

    /// Captures the transcript of a session, now and whenever it changes. Returns immediately.
    fn follow(&self, transcript: &Path);

    /// What failed in the last capture of a transcript, as a line; `None` if nothing failed.
    fn capture_failure(&self, transcript: &Path) -> Option<String>;

    /// Watches the folders that are bound now. Returns immediately.
    fn vaults_changed(&self);
}

/// The status of a daemon.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DaemonStatus {
    /// Process id.
    pub pid: u32,
    /// Version of the program.
    pub version: String,
    /// When it started.
    pub started: Timestamp,
    /// The store it owns.
    pub store: String,
    /// The log that it shares with other daemons.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared_log: Option<SharedLogOutput>,
    /// The socket it serves.
    pub socket: String,
    /// The address of REST, if served: `http://127.0.0.1:9977`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rest: Option<String>,
    /// The address of MCP over HTTP, if served: `http://127.0.0.1:9977/mcp`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mcp: Option<String>,
    /// The address of the page, if served: `http://127.0.0.1:9977`. `poc-memory page` signs a browser in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page: Option<String>,
    /// Number of loaded agents by state.
    pub agents: std::collections::BTreeMap<String, usize>,
    /// Runs in progress.
    pub running: Vec<String>,
    /// The agent that is due next, and when.
    pub next: Option<(String, Timestamp)>,
    /// When agents were last reloaded.
    pub reloaded: Option<Timestamp>,
    /// The folders of Markdown that are bound, of all tenants.
    #[serde(default)]
    pub vaults: Vec<VaultStatus>,
    /// Problems, one line each; empty if there are none.
    pub problems: Vec<String>,
    /// Decisions that wait for a person, one line each: proposals, and agents that a person paused.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waiting: Vec<String>,
    /// Number of notes that each agent has yet to read. Agents without any are omitted.
    #[serde(default, skip_serializing_if = "std::collections::BTreeMap::is_empty")]
    pub backlog: std::collections::BTreeMap<String, usize>,
    /// What it found when it opened the store: damage, and how it was repaired, and that the last daemon was killed.
    #[serde(default)]
    pub recovered: Vec<String>,
    /// Fingerprint of the settings that it reads only when it starts.
    #[serde(default)]
    pub settings: String,
}
