//! The sections for the daemon, its agents and the Model Context Protocol.

use super::section::section;
use poc_graph::time::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

section!(
    /// The server for the Model Context Protocol.
    McpConfig {
        /// Which tools models see.
        tools: ToolSet,
        /// Whether a model may delete notes.
        delete: bool,
        /// Whether a model may delete messages that models wrote.
        forget: bool,
        /// Whether the daemon serves MCP over HTTP, at the address of `[rest]`.
        http: bool,
        /// Maximum number of concurrent HTTP sessions.
        max_sessions: usize,
        /// Idle time after which an HTTP session ends.
        session_timeout: Span,
    }
);

/// The tools that models see over MCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ToolSet {
    /// The six default tools.
    Default,
    /// The six default tools, and a tool `memory_OP` for every other op that models may call.
    All,
    /// The tools under names with the prefix `graft_`, for clients whose prompts use those names.
    Seed,
}

section!(
    /// Settings shared by all agents.
    AgentsConfig {
        /// Maximum number of agents that run at the same time.
        max_concurrent_runs: usize,
        /// The period over which the daemon spreads missed runs.
        catch_up_spread: Span,
        /// How long notes must be unchanged before agents triggered by changes run.
        change_quiet: Span,
        /// Maximum delay of these agents after the first change, even if further changes follow.
        change_latest: Span,
        /// Number of latest runs per agent whose prompt and reply are kept.
        keep_bodies: usize,
        /// Number of latest runs per agent whose record is kept.
        keep_rows: usize,
        /// Number of link candidates shown with each note of a prompt.
        candidates: usize,
        /// Maximum number of characters of a candidate's text in a prompt.
        candidate_chars: usize,
        /// Size of the context, in tokens, up to which a model counts as small.
        small_context: usize,
        /// Maximum number of notes in a prompt for a small model.
        small_nodes: usize,
        /// Number of link candidates shown with each note of a prompt for a small model.
        small_candidates: usize,
        /// Maximum time to render a prompt.
        render_timeout: Span,
        /// Maximum size of a rendered prompt, in bytes.
        render_max_bytes: usize,
    }
);
section!(
    /// The daemon process and its socket.
    DaemonConfig {
        /// Maximum size of a frame on the socket, in bytes.
        max_frame_bytes: usize,
        /// Maximum number of concurrent connections to the socket.
        max_connections: usize,
        /// Maximum number of concurrent requests on one connection.
        max_in_flight: usize,
        /// Maximum time for the handshake of a connection.
        handshake_timeout: Span,
        /// Time after which a connection without a request in progress is closed.
        idle_timeout: Span,
        /// How long a starting daemon waits for a command that has locked the store.
        lock_timeout: Span,
        /// How long running work may continue during shutdown.
        shutdown_grace: Span,
        /// How long the store must be unchanged before the daemon writes a checkpoint, which makes the next start
        /// faster: the log need not be replayed.
        checkpoint_quiet: Span,
        /// How long no file event must arrive before files are reloaded.
        reload_quiet: Span,
        /// Maximum delay of a reload after the first file event.
        reload_latest: Span,
        /// How often files are scanned without any file event.
        reload_poll: Span,
        /// How often the scheduler checks for due work.
        heartbeat: Span,
        /// Size of a log file, in bytes, at which the daemon starts a new one.
        log_max_bytes: usize,
        /// Number of log files to keep, including the current one.
        log_files: usize,
        /// The agents that this daemon runs.
        runs_agents: RunnableAgents,
    }
);

/// The agents that a daemon runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "must be `true`, `false` or a list of names, such as [\"linker\"]")]
pub enum RunnableAgents {
    /// `true` for all agents, `false` for none.
    All(bool),
    /// The agents with these names.
    Named(Vec<String>),
}

impl RunnableAgents {
    /// Whether the daemon runs an agent.
    pub fn includes(&self, agent: &str) -> bool {
        match self {
            RunnableAgents::All(all) => *all,
            RunnableAgents::Named(names) => names.iter().any(|name| name == agent),
        }
    }

    /// Whether the daemon runs no agents.
    pub fn is_empty(&self) -> bool {
        match self {
            RunnableAgents::All(all) => !all,
            RunnableAgents::Named(names) => names.is_empty(),
        }
    }
}

section!(
    /// Notifications to a person about problems of the daemon.
    NotifyConfig {
        /// A program and its arguments, which gets the problems as JSON on its standard input; empty for none.
        command: Vec<String>,
        /// A URL to which the problems are posted as JSON; empty for none.
        webhook: String,
        /// Time limit for the program and for the webhook.
        timeout: Span,
        /// The minimum time between two notifications about the same problem.
        every: Span,
        /// Number of unprocessed notes from which an agent's backlog is reported; 0 for never.
        backlog: usize,
    }
);

section!(
    /// The budget that all agents share.
    BudgetConfig {
        /// Maximum cost of the runs that start on one day, in US dollars.
        max_usd_per_day: f64,
    }
);
