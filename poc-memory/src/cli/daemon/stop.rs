//! `daemon stop`, which waits for the daemon's end.

use crate::cli::command_context::CommandContext;
use crate::cli::local::LocalCommand;
use crate::ops::Terminal;
use crate::{dispatch, ops};
use poc_config::Config;
use poc_graph::error::{Error, Result};
use poc_store::Store;
use serde_json::{Map, Value};
use std::path::Path;
use std::time::{Duration, Instant};

/// Stop the daemon: it finishes what runs, closes the store and exits before this returns
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct DaemonStop {}

impl LocalCommand for DaemonStop {
    const NAME: &'static str = "daemon stop";
    type Output = Value;

    fn run(self, context: &CommandContext) -> Result<Value> {
        stop(context)
    }

    fn show(stopping: &Value, terminal: &Terminal) -> String {
        let output = ops::find(Self::NAME).and_then(|op| (op.decode)(stopping).ok());
        output.map(|output| output.show(terminal).to_string()).unwrap_or_default()
    }
}

/// Time limit for closing the store after the daemon has closed its connections, and the interval of the
/// checks.
const STORE_CLOSE_TIMEOUT: Duration = Duration::from_secs(30);
const STORE_POLL: Duration = Duration::from_millis(20);

/// Waits until the process that holds a store has released it.
#[expect(clippy::disallowed_methods, reason = "a store that becomes free sends no signal")]
fn wait_for_store(store: &Path) {
    let holder = || Store::holder(store).ok().flatten();
    let (first, started) = (holder(), Instant::now());
    while first.is_some() && holder() == first && started.elapsed() < STORE_CLOSE_TIMEOUT {
        std::thread::sleep(STORE_POLL);
    }
}

/// Stops the daemon of a profile and returns its answer once it has exited.
///
/// # Errors
/// `unavailable` when none runs.
pub(super) fn stop(context: &CommandContext) -> Result<Value> {
    // A running daemon can be stopped even if the settings are invalid now.
    let config = context.config().or_else(|_| Config::defaults())?;
    let Some(mut client) = dispatch::connect(&context.paths, &config)? else {
        return Err(Error::unavailable("no daemon runs for this store")
            .hint("`poc-memory profile list` shows the daemons of all profiles"));
    };
    let stopping = client.call(DaemonStop::NAME, Value::Object(Map::new()), &|_| {})?;
    client.wait_for_end();
    wait_for_store(&context.paths.store());
    if Path::exists(&context.paths.socket()) {
        return Err(Error::unavailable("the daemon closed the connection but its socket is still there")
            .hint("`poc-memory daemon log` shows why"));
    }
    Ok(stopping)
}
