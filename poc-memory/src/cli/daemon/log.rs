//! `daemon log`

use crate::cli::command_context::CommandContext;
use crate::cli::local::LocalCommand;
use crate::ops::{Terminal, tail};
use poc_graph::error::{Error, Result};
use serde::Serialize;
use std::fs::File;
use std::io::ErrorKind;

/// Show the end of the daemon's log, even if no daemon runs
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct DaemonLog {
    /// Lines to show
    #[arg(short = 'n', long, value_name = "N", default_value_t = 50)]
    lines: usize,
}

/// The answer of `daemon log`.
#[derive(Debug, Serialize)]
pub(in crate::cli) struct DaemonLogOutput {
    /// The last lines, oldest first.
    lines: Vec<String>,
}

impl LocalCommand for DaemonLog {
    const NAME: &'static str = "daemon log";
    type Output = DaemonLogOutput;

    fn run(self, context: &CommandContext) -> Result<DaemonLogOutput> {
        context.paths.must_exist()?;
        let path = context.paths.daemon_log();
        let unreadable = |error| Error::unavailable(format!("`{}` cannot be read: {error}", path.display()));
        match File::open(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                Err(Error::not_found("this memory's daemon has never run: it has no log")
                    .hint("start it with `poc-memory daemon start`"))
            }
            Err(error) => Err(unreadable(error)),
            Ok(mut file) => Ok(DaemonLogOutput { lines: tail(&mut file, self.lines).map_err(unreadable)? }),
        }
    }

    fn show(tail: &DaemonLogOutput, _: &Terminal) -> String {
        tail.lines.iter().map(|line| format!("{line}\n")).collect()
    }
}
