//! `daemon start` and `daemon restart`

use super::process::{self, StartMethod};
use super::stop;
use crate::cli::command_context::CommandContext;
use crate::cli::daemon_client;
use crate::cli::first_process;
use crate::cli::local::LocalCommand;
use crate::dispatch;
use crate::ops::{DaemonStatus, Terminal};
use poc_config::{Config, token_files};
use poc_graph::error::{Code, Error, Exit, Result};
use poc_store::Store;
use serde::Serialize;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

/// Time limit for the answer of a daemon that another process started.
const LOCK_LIMIT: Duration = Duration::from_secs(10);

/// Time limit for the start of the daemon. It is long because opening a store after a crash reads its log.
const LIMIT: Duration = Duration::from_secs(120);

/// Time between two checks of whether the daemon waits for the store. The first one is this long after the start.
const HOLDER_CHECK: Duration = Duration::from_millis(500);

/// Maximum number of bytes of the log that are searched for the error of a failed start.
const READ_BYTES: u64 = 1 << 20;

/// Start the daemon in the background, unless it runs; returns when it answers
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct DaemonStart {}

/// The answer of `daemon start` and `daemon restart`.
#[derive(Debug, Serialize)]
pub(in crate::cli) struct DaemonStartOutput {
    /// Process id.
    pub(super) pid: u32,
    /// Whether the daemon was already running.
    was_running: bool,
    /// How the daemon was started; absent if it was already running.
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<StartMethod>,
}

impl LocalCommand for DaemonStart {
    const NAME: &'static str = "daemon start";
    type Output = DaemonStartOutput;

    fn run(self, context: &CommandContext) -> Result<DaemonStartOutput> {
        context.paths.must_exist()?;
        start(context)
    }

    fn show(started: &DaemonStartOutput, _: &Terminal) -> String {
        match started.was_running {
            true => format!("the daemon is already running (pid {})\n", started.pid),
            false => format!("the daemon is running (pid {})\n", started.pid),
        }
    }
}

/// Stop the daemon, if it runs, and start it again: it reads the settings when it starts
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct DaemonRestart {}

impl LocalCommand for DaemonRestart {
    const NAME: &'static str = "daemon restart";
    type Output = DaemonStartOutput;

    fn run(self, context: &CommandContext) -> Result<DaemonStartOutput> {
        context.paths.must_exist()?;
        restart(context)
    }

    fn show(started: &DaemonStartOutput, terminal: &Terminal) -> String {
        DaemonStart::show(started, terminal)
    }
}

/// Stops the daemon, if it runs, and starts it.
///
/// # Errors
/// Those of [`start`]. The daemon is not stopped if it could not start again: with invalid settings or unusable tokens,
/// and as the first process of a container (`unavailable`).
pub(in crate::cli) fn restart(context: &CommandContext) -> Result<DaemonStartOutput> {
    let config = context.config()?;
    dispatch::shared_log(&config.store)
        .map_err(|error| Config::locate(&context.paths.config_file(), error))?;
    if let Some(problem) = token_files::start_problems(&context.paths, &config).into_iter().next() {
        return Err(problem);
    }
    if status(context).is_some_and(|status| status.pid == first_process::ID) {
        return Err(Error::unavailable(
            "the daemon is the first process of its container, which ends with it",
        )
        .hint("restart the container instead"));
    }
    match stop::stop(context) {
        Err(error) if error.code != Code::Unavailable => return Err(error),
        _ => {}
    }
    start(context)
}

/// Whether a daemon answers.
pub(in crate::cli) fn is_running(context: &CommandContext) -> bool {
    status(context).is_some()
}

fn status(context: &CommandContext) -> Option<DaemonStatus> {
    let config = context.config().ok();
    daemon_client::connect_with_status(&context.paths, config.as_ref())
        .ok()
        .flatten()
        .map(|(_, status)| status)
}

/// Starts the daemon unless it runs, and waits until it answers.
///
/// # Errors
/// `unavailable` when it ends before it answers, or does not answer in time; `invalid_config` when the settings are
/// invalid.
pub(in crate::cli) fn start(context: &CommandContext) -> Result<DaemonStartOutput> {
    context.config()?;
    if let Some(status) = status(context) {
        return Ok(DaemonStartOutput { pid: status.pid, was_running: true, by: None });
    }
    let log = LogEnd::of(context);
    let (by, child) = process::start(&context.paths)?;
    Ok(DaemonStartOutput { by: Some(by), ..wait_for(context, child, &log)? })
}

/// Waits until a daemon that something else has started answers.
///
/// # Errors
/// `unavailable` when none answers in time.
pub(super) fn wait(context: &CommandContext) -> Result<DaemonStartOutput> {
    wait_for(context, None, &LogEnd::of(context))
}

#[expect(clippy::disallowed_methods, reason = "a socket that appears sends no signal")]
fn wait_for(context: &CommandContext, mut child: Option<Child>, log: &LogEnd) -> Result<DaemonStartOutput> {
    let start = Instant::now();
    let mut next_check = Some(HOLDER_CHECK);
    loop {
        // Another process may have started a daemon at the same time, so that the daemon of this process
        // ended.
        if let Some(status) = status(context) {
            return Ok(DaemonStartOutput { pid: status.pid, was_running: false, by: None });
        }
        match child.as_mut().and_then(|child| ended(child, log)) {
            // Another daemon may hold the store and answer soon.
            Some(DaemonEnd::Unavailable) if start.elapsed() < LOCK_LIMIT => {}
            Some(ended) => return Err(ended.error()),
            None if start.elapsed() > LIMIT => {
                return Err(Error::unavailable("the daemon was started but does not answer")
                    .hint("`poc-memory daemon log` shows what it does"));
            }
            None if next_check.is_some_and(|at| start.elapsed() >= at) => {
                let holder = child.as_ref().and_then(|child| other_holder(context, child));
                if let Some(holder) = &holder {
                    tracing::warn!("the daemon waits: the store is held by {holder}");
                }
                // One message is enough.
                next_check = holder.is_none().then(|| start.elapsed() + HOLDER_CHECK);
            }
            None => {}
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The process that holds the store, unless it is the daemon itself or unknown.
fn other_holder(context: &CommandContext, daemon: &Child) -> Option<String> {
    let pid = Store::holder(&context.paths.store()).ok()??;
    (pid != daemon.id()).then(|| Store::holder_name(pid))
}

/// The log of the daemon, and its length before a start.
struct LogEnd {
    path: PathBuf,
    length: u64,
}

impl LogEnd {
    fn of(context: &CommandContext) -> LogEnd {
        let path = context.paths.daemon_log();
        let length = std::fs::metadata(&path).map_or(0, |found| found.len());
        LogEnd { path, length }
    }

    /// Why the log cannot be written, if so: the daemon's other files are in the same folder or on the same disk.
    fn write_error(&self) -> Option<String> {
        let opened = File::options().append(true).create(true).open(&self.path);
        opened.err().map(|error| format!("`{}` cannot be written: {error}", self.path.display()))
    }

    /// The last error that was logged since the start.
    fn error(&self) -> Option<String> {
        let mut file = File::open(&self.path).ok()?;
        // A shorter file is a new one: the log was rotated.
        let start = if file.metadata().ok()?.len() < self.length { 0 } else { self.length };
        file.seek(SeekFrom::Start(start)).ok()?;
        let mut bytes = Vec::new();
        file.take(READ_BYTES).read_to_end(&mut bytes).ok()?;
        let text = String::from_utf8_lossy(&bytes);
        let message = text.lines().rev().find_map(|line| line.split_once(" ERROR "));
        message.map(|(_, message)| message.to_owned())
    }
}

/// How the daemon's process ended.
enum DaemonEnd {
    /// Another process holds the store, or a file cannot be read or written.
    Unavailable,
    /// It ended with an error in its log, and with a status.
    Failed(String, ExitStatus),
    /// Its log cannot be written, so its socket probably cannot be created either.
    Unwritable(String),
    /// It ended without an error in its log.
    Status(ExitStatus),
}

impl DaemonEnd {
    fn error(&self) -> Error {
        let why = match self {
            DaemonEnd::Unavailable => {
                "another process holds the store, or a file cannot be read or written".to_owned()
            }
            DaemonEnd::Failed(why, _) | DaemonEnd::Unwritable(why) => why.clone(),
            DaemonEnd::Status(status) => status.to_string(),
        };
        let hint = match self {
            DaemonEnd::Unwritable(_) => {
                "the daemon needs a writable folder for its log and its socket; without a daemon, commands still read the \
                 memory"
            }
            DaemonEnd::Failed(..) => "`poc-memory daemon log` shows what happened before",
            DaemonEnd::Unavailable | DaemonEnd::Status(_) => {
                "run `poc-daemon` in the foreground to see the reason; `poc-memory daemon log` shows what happened before"
            }
        };
        let code = match self {
            DaemonEnd::Failed(_, status) | DaemonEnd::Status(status) if has_status(*status, Exit::Config) => {
                Code::InvalidConfig
            }
            _ => Code::Unavailable,
        };
        Error::new(code, format!("the daemon ended before it answered: {why}")).hint(hint)
    }
}

/// Whether a process ended with an exit status.
fn has_status(status: ExitStatus, exit: Exit) -> bool {
    status.code() == Some(i32::from(exit as u8))
}

/// How the process ended; `None` while it runs.
fn ended(child: &mut Child, log: &LogEnd) -> Option<DaemonEnd> {
    let status = child.try_wait().ok().flatten()?;
    // A daemon writes to its log only if no other process holds the store, so an error in it comes from this start.
    if let Some(why) = log.error() {
        return Some(DaemonEnd::Failed(why, status));
    }
    if !has_status(status, Exit::Unavailable) {
        return Some(DaemonEnd::Status(status));
    }
    Some(log.write_error().map_or(DaemonEnd::Unavailable, DaemonEnd::Unwritable))
}
