//! The command line of the program `poc-daemon`. It is here because `man` writes its manual page, too.

/// Owns a memory, runs its agents on schedule, and serves requests on a socket.
///
/// It serves HTTP too if `[rest]` or `[mcp]` in config.toml enables it. SIGTERM and SIGINT stop it;
/// SIGHUP reloads agents and prompts.
///
/// Exit codes: 0 stopped on request, 1 failed, 2 usage, 5 another process holds the store,
/// 78 invalid configuration.
#[derive(Debug, clap::Parser)]
#[command(name = "poc-daemon", version)]
pub struct DaemonArguments {
    /// The profile to serve: each profile has its own store and socket
    #[arg(long, value_name = "NAME")]
    pub profile: Option<String>,
    /// Log as JSON, one object per line
    #[arg(long)]
    pub log_json: bool,
    /// Log more: once for debug messages, twice for everything
    #[arg(short, long, action = clap::ArgAction::Count)]
    pub verbose: u8,
    /// Stay in the foreground (always the case; service managers expect the option)
    #[arg(long)]
    pub foreground: bool,
}
