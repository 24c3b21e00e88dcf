//! Connects to the daemon of a profile and reads its status.

use crate::client::Client;
use crate::dispatch;
use crate::ops::DaemonStatus;
use poc_config::Config;
use poc_config::paths::Paths;
use poc_graph::error::Result;
use poc_graph::json;
use serde_json::{Map, Value};

/// The command that restarts the daemon, for hints.
pub(super) const RESTART: &str = "`poc-memory daemon restart`";

/// The daemon of a profile and its status; `None` when none runs.
pub(super) fn connect_with_status(
    paths: &Paths,
    config: Option<&Config>,
) -> Result<Option<(Client, DaemonStatus)>> {
    let defaults = Config::defaults()?;
    let Some(mut client) = dispatch::connect(paths, config.unwrap_or(&defaults))? else {
        return Ok(None);
    };
    let status = client.call("daemon status", Value::Object(Map::new()), &|_| {})?;
    let status = json::decode_answer("daemon status", &status).map_err(|error| error.hint(RESTART))?;
    Ok(Some((client, status)))
}

/// Whether a running daemon must be restarted for settings to take effect; `None` if none runs or answers.
pub(super) fn needs_restart(paths: &Paths, config: &Config) -> Option<bool> {
    // An unreachable daemon is not an error of the settings.
    let (_, status) = connect_with_status(paths, Some(config)).ok().flatten()?;
    Some(status.settings != config.startup_fingerprint())
}
