//! The sections of the daemon, its agents and the Model Context Protocol.

use super::section::section;
use poc_graph::time::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

section!(
    /// The Model Context Protocol.
    McpConfig {
        /// Which tools models see.
        tools: ToolSet,
        /// Whether a model may permanently delete notes.
        delete: bool,
        /// Whether a model may permanently delete messages that models wrote.
        forget: bool,
        /// Whether the daemon serves it over HTTP, at the address of `[rest]`.
        http: bool,
        /// Sessions at once over HTTP.
        max_sessions: usize,
        /// How long a session may be idle.
        session_timeout: Span,
    }
);

/// The tools that models see over MCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ToolSet {
    /// The six default tools.
    Default,
    /// The six default tools, and every other op that models may call. Such an op is the tool `memory_OP`.
    All,
    /// The tools with the prefix `graft_`, for clients with prompts that name them.
    Seed,
}

section!(
    /// Agents as a whole.
    AgentsConfig {
        /// Greatest number of agents running at the same time.
        max_concurrent_runs: usize,
        /// The period over which missed runs are spread.
        catch_up_spread: Span,
        /// How long notes must be unchanged before agents triggered by changes run.
        change_quiet: Span,
        /// These agents run at the latest this long after the first change.
        change_latest: Span,
        /// Runs per agent whose prompt and reply are kept.
        keep_bodies: usize,
        /// Runs per agent whose record is kept.
        keep_rows: usize,
        /// Link candidates shown with each note of a prompt.
        candidates: usize,
        /// Characters of a candidate's text in a prompt.
        candidate_chars: usize,
        /// A model with at most this many tokens of context counts as small.
        small_context: usize,
        /// Maximum number of notes in a prompt for a small model.
        small_nodes: usize,
        /// Link candidates shown with each note of such a prompt.
        small_candidates: usize,
        /// How long rendering a prompt may take.
        render_timeout: Span,
        /// Bytes a rendered prompt may have.
        render_max_bytes: usize,
    }
);
section!(
    /// The daemon.
    DaemonConfig {
        /// Greatest frame on the socket.
        max_frame_bytes: usize,
        /// Connections at once.
        max_connections: usize,
        /// Requests at once on one connection.
        max_in_flight: usize,
        /// How long the handshake of a connection may take.
        handshake_timeout: Span,
        /// How long a connection without a request in progress stays open.
        idle_timeout: Span,
        /// How long a starting daemon waits for a command that holds the store.
        lock_timeout: Span,
        /// How long running work may continue at shutdown.
        shutdown_grace: Span,
        /// How long the store must be unchanged before the daemon writes a checkpoint, which saves the next start
        /// from replaying the log.
        checkpoint_quiet: Span,
        /// Quiet time after a file event before a reload.
        reload_quiet: Span,
        /// A reload starts at most this long after the first event.
        reload_latest: Span,
        /// A scan happens this often without any event.
        reload_poll: Span,
        /// How often the scheduler looks for due work.
        heartbeat: Span,
        /// Bytes after which a log file is closed and the next one begins.
        log_max_bytes: usize,
        /// Log files that are kept, with the current one.
        log_files: usize,
        /// Which agents it runs.
        runs_agents: RunnableAgents,
    }
);

/// The agents that a daemon runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "must be `true`, `false` or a list of names, such as [\"linker\"]")]
pub enum RunnableAgents {
    /// All or none.
    All(bool),
    /// Those with these names.
    Named(Vec<String>),
}

impl RunnableAgents {
    /// Whether they include an agent.
    pub fn includes(&self, agent: &str) -> bool {
        match self {
            RunnableAgents::All(all) => *all,
            RunnableAgents::Named(names) => names.iter().any(|name| name == agent),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        match self {
            RunnableAgents::All(all) => !all,
            RunnableAgents::Named(names) => names.is_empty(),
        }
    }
}

section!(
    /// Messages to a person about problems of the daemon.
    NotifyConfig {
        /// A program with its arguments, which gets the problems as JSON on its standard input; empty for none.
        command: Vec<String>,
        /// An address to which the problems are posted as JSON; empty for none.
        webhook: String,
        /// How long the program or the server may take.
        timeout: Span,
        /// The minimum time between two messages about the same problem.
        every: Span,
        /// An agent with at least this many notes to read is reported; 0: none.
        backlog: usize,
    }
);
section!(
    /// What all agents together may spend.
    BudgetConfig {
        /// US dollars of the runs that begin on one day.
        max_usd_per_day: f64,
    }
);
