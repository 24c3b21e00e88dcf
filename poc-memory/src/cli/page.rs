//! `page`, which also starts the daemon and the browser.

use super::local::LocalCommand;
use super::profile;
use super::session::Session;
use crate::client::Client;
use crate::dispatch;
use crate::ops::PageLink;
use poc_config::Config;
use poc_graph::error::{Error, Result};
use serde_json::json;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long a daemon may take until it answers. Repairs of a large store take longest.
const START_TIMEOUT: Duration = Duration::from_secs(60);

/// How often it is asked meanwhile.
const POLL: Duration = Duration::from_millis(20);

/// Open the page in the browser: what the memory knows, what its agents did, and what waits for your decision
///
/// Starts the daemon if none runs. The link signs one browser in, once and within a minute. With `--read-only` the
/// browser may only read.
#[derive(Debug, clap::Args)]
pub(super) struct Page {
    /// Print the link instead of opening the browser
    #[arg(long)]
    print: bool,
    /// Sign in for reading only
    #[arg(long)]
    read_only: bool,
}

impl LocalCommand for Page {
    const NAME: &'static str = "page";
    type Output = PageLink;

    fn run(self, session: &Session) -> Result<PageLink> {
        profile::must_exist(session)?;
        let mut daemon = connect_or_start(session, &session.config()?)?;
        let link = daemon.call(Self::NAME, json!({ "read_only": self.read_only }), &|_| {})?;
        let link: PageLink = serde_json::from_value(link)
            .map_err(|error| Error::internal(format!("the daemon's answer is not understood: {error}")))?;
        // Without a browser, the printed link is what the user needs.
        if !self.print && !session.globals.json {
            open(&link.url);
        }
        Ok(link)
    }

    fn show(link: &PageLink) -> String {
        format!("{}\n", link.url)
    }
}

/// The daemon of the profile, which is started if none runs.
#[expect(clippy::disallowed_methods, reason = "a daemon that becomes ready sends no signal")]
fn connect_or_start(session: &Session, config: &Config) -> Result<Client> {
    if let Some(client) = dispatch::connect(&session.paths, config)? {
        return Ok(client);
    }
    let mut daemon = start(session)?;
    let begun = Instant::now();
    while begun.elapsed() < START_TIMEOUT {
        if let Some(client) = dispatch::connect(&session.paths, config)? {
            return Ok(client);
        }
        if let Ok(Some(status)) = daemon.try_wait() {
            return Err(Error::unavailable(format!("the daemon ended at once: {status}"))
                .hint("start `poc-daemon` to see why"));
        }
        std::thread::sleep(POLL);
    }
    Err(Error::unavailable("the daemon does not answer").hint("`poc-memory daemon log` shows why"))
}

/// Starts the daemon, which outlives this process and its terminal.
fn start(session: &Session) -> Result<Child> {
    let program = program();
    let mut command = Command::new(&program);
    if let Some(profile) = &session.globals.profile {
        command.args(["--profile", profile]);
    }
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0).spawn().map_err(
        |error| {
            Error::unavailable(format!("`{}` cannot be started: {error}", program.display()))
                .hint("install `poc-daemon` beside `poc-memory`")
        },
    )
}

/// The daemon of the same installation, or the one on the search path.
fn program() -> PathBuf {
    let name = "poc-daemon";
    let beside = std::env::current_exe().ok().map(|own| own.with_file_name(name));
    beside.filter(|path| path.is_file()).unwrap_or_else(|| name.into())
}

/// Opens an address in the user's browser. There may be none.
fn open(url: &str) {
    let opener = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let mut command = Command::new(opener);
    command.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if let Err(error) = command.spawn() {
        tracing::debug!("`{opener}` cannot be started: {error}");
    }
}
