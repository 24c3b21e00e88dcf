//! `daemon stop`

use crate::ops::{Access, Ctx, Op, TenantScope, Terminal};
use poc_graph::error::Result;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Stops the daemon: it begins nothing new, lets what runs end within `shutdown-grace`, and closes
/// the store.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct DaemonStop {}

/// The answer of `daemon stop`.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct DaemonStopOutput {
    /// Process id of the daemon.
    pub(crate) pid: u32,
    /// Runs that the daemon finishes before it stops.
    pub(crate) running: Vec<String>,
}

impl Op for DaemonStop {
    const NAME: &'static str = "daemon stop";
    const ACCESS: Access = Access::Person;
    const NEEDS_DAEMON: bool = true;
    const TENANT_SCOPE: TenantScope = TenantScope::All;
    type Output = DaemonStopOutput;

    fn run(self, ctx: &Ctx<'_>) -> Result<DaemonStopOutput> {
        let daemon = ctx.host.daemon()?;
        let status = daemon.status();
        daemon.stop();
        Ok(DaemonStopOutput { pid: status.pid, running: status.running })
    }

    // Shown by the command line, once the daemon has exited.
    fn show(stopping: &DaemonStopOutput, _: &Terminal) -> String {
        match stopping.running.as_slice() {
            [] => format!("the daemon (pid {}) has stopped\n", stopping.pid),
            running => format!(
                "the daemon (pid {}) has stopped, after waiting for: {}\n",
                stopping.pid,
                running.join(", ")
            ),
        }
    }
}
