//! Ctrl-C while a daemon runs an agent for this command. The run continues in the daemon, so the command says how to
//! follow it before it ends.

use super::command;
use super::command_context::CommandContext;
use super::output::Output;
use crate::dispatch::{self, Connection};
use crate::ops::{OpDef, Progress};
use poc_graph::cancellation::{self, CancellationToken};
use poc_graph::error::Result;
use serde_json::{Value, json};
use signal_hook::consts::SIGINT;
use signal_hook::{flag, low_level};
use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The op that runs an agent.
pub(super) const OP: &str = "agent run";

/// The exit code of a process that Ctrl-C ends, as in a shell.
const EXIT: i32 = 128 + SIGINT;

/// Calls [`OP`] in a daemon. After Ctrl-C, prints where the run can be seen, and ends this process.
pub(super) fn call(
    context: &CommandContext,
    connection: &mut Connection,
    op: &OpDef,
    args: Value,
    progress: &dyn Fn(Progress),
) -> Result<Value> {
    let agent = args.get("agent").and_then(Value::as_str).unwrap_or_default().to_owned();
    let is_dry = args.get("dry_run").and_then(Value::as_bool) == Some(true);
    let interrupt = CancellationToken::new();
    if let Err(error) = cancel_on_interrupt(&interrupt) {
        tracing::debug!("Ctrl-C ends this process without a message: {error}");
    }
    let answer = cancellation::scope(&interrupt, || connection.call(op, args, progress));
    if answer.is_ok() || !interrupt.is_cancelled() {
        return answer;
    }
    let run = if is_dry { None } else { running(context, &agent) };
    let output = Output::new(&context.globals, command::takes_tenant);
    let line = output.terminal().with_options(&line(&agent, is_dry, run.as_deref()), command::takes_tenant);
    output.message(&line);
    // The shell sees that a signal ended the process.
    let _ = low_level::emulate_default_handler(SIGINT);
    std::process::exit(EXIT)
}

/// Cancels the token at the first Ctrl-C. The second one ends this process at once.
fn cancel_on_interrupt(token: &CancellationToken) -> io::Result<()> {
    let (mut signals, sender) = UnixStream::pair()?;
    let token = token.clone();
    let wait = move || {
        if matches!(signals.read(&mut [0]), Ok(1..)) {
            token.cancel();
        }
    };
    std::thread::Builder::new().name("interrupt".into()).spawn(wait)?;
    let is_second = Arc::new(AtomicBool::new(false));
    flag::register_conditional_shutdown(SIGINT, EXIT, is_second.clone())?;
    flag::register(SIGINT, is_second)?;
    low_level::pipe::register(SIGINT, sender)?;
    Ok(())
}

/// The id of the run of an agent that is in progress; `None` if the daemon cannot say.
fn running(context: &CommandContext, agent: &str) -> Option<String> {
    let config = context.config().ok()?;
    let mut daemon = dispatch::connect(&context.paths, &config).ok()??;
    let request = json!({"agent": agent, "limit": 1, "status": ["running"]});
    let answer = daemon.call("agent history", request, &|_| {}).ok()?;
    Some(answer.get("runs")?.get(0)?.get("run")?.as_str()?.to_owned())
}

/// What becomes of the run.
fn line(agent: &str, is_dry: bool, run: Option<&str>) -> String {
    match run {
        Some(run) => {
            format!("the run {run} continues in the daemon; `poc-memory agent inspect {run}` shows it")
        }
        None if is_dry => format!("the dry run of `{agent}` continues in the daemon, which books its cost"),
        None => {
            format!(
                "the run of `{agent}` continues in the daemon; `poc-memory agent history {agent}` shows it"
            )
        }
    }
}
