//! `page`, which also starts the daemon and the browser.

use super::command_context::CommandContext;
use super::daemon;
use super::local::LocalCommand;
use crate::dispatch;
use crate::ops::{PageLink, Terminal};
use poc_config::atomic_write::{Durability, write_private};
use poc_config::files;
use poc_graph::error::Result;
use poc_graph::json;
use serde_json::json;
use std::path::Path;
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
            match open(&context.paths.sign_in_file(), &link.url) {
                Ok(()) => context.print("if the browser does not show the page, open this link in it:\n")?,
                Err(error) => {
                    tracing::warn!("the browser was not opened, open the link yourself: {}", error.line());
                }
            }
        }
        Ok(link)
    }

    fn show(link: &PageLink, _: &Terminal) -> String {
        format!("{}\n", link.url)
    }
}

/// Opens a sign-in link in the user's browser. There may be none.
///
/// Other users of this machine can read the arguments of every process, and the first who opens the link is signed in.
/// The browser therefore gets the path of a file that only this user can read and that leads to the link. The daemon
/// deletes the file when the link no longer works.
///
/// # Errors
/// `unavailable` when the file cannot be written; then nothing is opened.
fn open(file: &Path, url: &str) -> Result<()> {
    write_private(file, document(url).as_bytes(), Durability::Unsynced)
        .map_err(|error| files::write_error(file, &error))?;
    let opener = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let mut command = Command::new(opener);
    command.arg(file).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if let Err(error) = command.spawn() {
        tracing::debug!("`{opener}` cannot be started: {error}");
        files::remove(file)?;
    }
    Ok(())
}

/// A document that leads to a link at once. After a refresh without a delay, it is not in the history of the tab.
fn document(url: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"refresh\" content=\"0;url={url}\">\n<title>poc-memory</title>\n\
         <p><a href=\"{url}\">Go on</a></p>\n</html>\n"
    )
}
