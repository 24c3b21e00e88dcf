//! The command line.

/// Owns a memory, runs its agents on time and answers on a socket, and over HTTP where `[rest]` of
/// config.toml says so, until SIGTERM or SIGINT; SIGHUP reads agents and prompts anew.
///
/// Exit codes: 0 stopped as asked, 1 failed, 2 usage, 5 another process holds the store,
/// 78 invalid configuration.
#[derive(Debug, clap::Parser)]
#[command(name = "poc-daemon", version)]
pub(crate) struct Arguments {
    /// The profile to serve: a memory of its own, with its own store and socket
    #[arg(long, value_name = "NAME")]
    pub(crate) profile: Option<String>,
    /// Log as JSON, one object a line
    #[arg(long)]
    pub(crate) log_json: bool,
    /// Log more: once for debugging, twice for everything
    #[arg(short, long, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
    /// Stay in the foreground, which it always does: systemd and launchd want it so
    #[arg(long)]
    pub(crate) foreground: bool,
}
