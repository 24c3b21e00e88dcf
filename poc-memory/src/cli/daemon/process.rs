//! Starts the daemon's process in the background.

use super::program::{arguments, program};
use super::service::ServiceManager;
use poc_config::paths::Paths;
use poc_graph::error::{Error, Result};
use poc_models::AGENT_VARIABLE;
use serde::Serialize;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// How the daemon is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(in crate::cli) enum StartMethod {
    /// The service manager, because `daemon install` registered it.
    Service,
    /// This process.
    Process,
}

/// Asks the service manager to start the daemon of a profile if it is registered there, and otherwise starts its
/// process. Does not wait until it answers. Returns the process, if it is a child of this one.
///
/// # Errors
/// `unavailable` when it cannot be started.
pub(in crate::cli) fn start(paths: &Paths) -> Result<(StartMethod, Option<Child>)> {
    if let Some(manager) = ServiceManager::of_system()
        && manager.is_registered(paths)
        && manager.start(paths).is_ok()
    {
        return Ok((StartMethod::Service, None));
    }
    let program = program();
    let started = Command::new(&program)
        .args(arguments(paths))
        .envs(Paths::variables()?)
        // A daemon started by an agent's model must not inherit the agent's restrictions.
        .env_remove(AGENT_VARIABLE)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .current_dir(Path::new("/"))
        // The daemon gets its own process group, so that signals to this process or its terminal do not end
        // it.
        .process_group(0)
        .spawn();
    started.map(|child| (StartMethod::Process, Some(child))).map_err(|error| {
        Error::unavailable(format!("`{}` cannot be started: {error}", program.display()))
            .hint("put `poc-daemon` next to `poc-memory` or into a folder of `PATH`")
    })
}
