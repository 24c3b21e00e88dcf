//! Asks the daemon of a profile whether it runs.

use crate::client::Client;
use crate::dispatch;
use crate::ops::DaemonStatus;
use poc_config::Config;
use poc_config::paths::Paths;
use poc_graph::error::Result;
use poc_graph::json;
use serde_json::{Map, Value};

/// How to make a daemon read its settings again.
pub(super) const RESTART: &str = "`poc-memory daemon restart`";

/// The daemon of a profile and its status; `None` when none runs.
pub(super) fn ask(paths: &Paths, config: Option<&Config>) -> Result<Option<(Client, DaemonStatus)>> {
    let defaults = Config::defaults()?;
    let Some(mut client) = dispatch::connect(paths, config.unwrap_or(&defaults))? else {
        return Ok(None);
    };
    let status = client.call("daemon status", Value::Object(Map::new()), &|_| {})?;
    let status = json::decode_answer("daemon status", &status).map_err(|error| error.hint(RESTART))?;
    Ok(Some((client, status)))
}
