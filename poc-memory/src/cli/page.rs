//! `page`, which also starts the daemon and the browser.

use super::command_context::CommandContext;
use super::daemon;
use super::local::LocalCommand;
use crate::dispatch;
use crate::ops::{PageLink, Terminal};
use poc_graph::error::Result;
use poc_graph::json;
use serde_json::json;
use std::process::{Command, Stdio};

/// Open the page in the browser: notes, work of the agents, and pending decisions
///
/// Starts the daemon if none runs. The link signs one browser in, once and within a minute. With `--read-only` the
/// browser may only read, and with `--tenant` it sees the notes of that tenant.
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
    const TENANTS: bool = true;
    type Output = PageLink;

    fn run(self, context: &CommandContext) -> Result<PageLink> {
        context.paths.must_exist()?;
        daemon::start_and_wait(context)?;
        let mut client = dispatch::connect_daemon(&context.paths, &context.config()?)?;
        let request = context.with_global_arguments(json!({ "read_only": self.read_only }))?;
        let link = client.call(Self::NAME, request, &|_| {})?;
        let link: PageLink = json::decode_answer(Self::NAME, &link)?;
        // Without a browser, the printed link is what the user needs.
        if !self.print && !context.globals.json {
            open(&link.url);
        }
        Ok(link)
    }

    fn show(link: &PageLink, _: &Terminal) -> String {
        format!("{}\n", link.url)
    }
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
