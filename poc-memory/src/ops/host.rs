//! The process an op runs in.

use poc_agent::model::{CancellationToken, ModelRegistry};
use poc_agent::run_limiter::RunLimiter;
use poc_agent::{Catalog, Change};
use poc_graph::error::Result;
use poc_graph::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// How far a long op has come.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// What is being counted: `notes`.
    pub what: String,
    /// Done so far.
    pub done: u64,
    /// In all, once known.
    pub total: Option<u64>,
}

/// The process around the memory.
pub trait Host: Sync {
    /// The agents as last loaded.
    fn catalog(&self) -> Result<Arc<Catalog>>;

    /// Looks at the files of agents and prompts now and believes what it sees: the agents from here on, and
    /// how they differ from before.
    fn reload(&self) -> Result<(Arc<Catalog>, Vec<Change>)>;

    /// Cancels the model calls of runs when this process is to end.
    fn calls(&self) -> CancellationToken;

    /// The models of this process.
    fn models(&self) -> ModelRegistry;

    /// Limits how many agents run at once in this process.
    fn run_limiter(&self) -> RunLimiter;

    /// The daemon, when this process is one; else `unavailable`, with the command that starts it.
    fn daemon(&self) -> Result<&dyn Daemon>;
}

/// What a daemon can be asked about itself.
pub trait Daemon: Sync {
    /// How it is.
    fn status(&self) -> DaemonStatus;

    /// Asks it to finish what runs and stop. Returns at once.
    fn stop(&self);
}

/// How a daemon is.
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
    /// The socket it serves.
    pub socket: String,
    /// Where it serves REST, when it does: `http://127.0.0.1:9977`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rest: Option<String>,
    /// Where it serves MCP over HTTP, when it does: `http://127.0.0.1:9977/mcp`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mcp: Option<String>,
    /// Agents loaded, by state.
    pub agents: std::collections::BTreeMap<String, usize>,
    /// Runs in progress.
    pub running: Vec<String>,
    /// The agent that is due next, and when.
    pub next: Option<(String, Timestamp)>,
    /// When agents were last reloaded.
    pub reloaded: Option<Timestamp>,
    /// What is wrong, one line each; empty when all is well.
    pub problems: Vec<String>,
    /// What was found damaged when it opened the store, and what became of it.
    #[serde(default)]
    pub recovered: Vec<String>,
    /// Tells the settings it started with from others.
    #[serde(default)]
    pub settings: String,
}
