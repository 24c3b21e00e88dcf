//! `verify`

use super::text::second;
use super::{Access, Ctx, Op, Progress, TenantScope, Terminal};
use poc_graph::error::{Code, Error, Exit, Result};
use poc_graph::time::Timestamp;
use poc_notes::verification::{self, DamagedFile, Verification};
use poc_store::VerifyCallbacks;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Compare everything that this memory has on disk with its log: every segment, record, view and index of all tenants.
/// The memory can be used while it runs. The result is saved, records with a damaged file are rebuilt from the log, and
/// damaged saved views of tenants that are not in memory are deleted, because they can be built again; nothing else is
/// changed. Files that were damaged when this memory was opened, and were rebuilt, are listed once. If the log is
/// damaged, the memory accepts no writes from then on. The daemon does the same once a week and lists what it finds
/// among its problems. `doctor --deep` adds this to its other checks.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct Verify {}

/// The result of a verification.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct VerifyOutput {
    /// When the verification ended.
    pub(crate) at: Timestamp,
    /// Files and folders that are damaged or differ from the log, or that were rebuilt because they were damaged; empty
    /// if there are none.
    #[serde(rename = "findings")]
    pub(crate) damaged: Vec<DamagedFile>,
}

impl Op for Verify {
    const NAME: &'static str = "verify";
    const ACCESS: Access = Access::Person;
    const TENANT_SCOPE: TenantScope = TenantScope::All;
    const LONG_RUNNING: bool = true;
    const OUTLIVES_CALLER: bool = false;
    type Output = VerifyOutput;

    fn run(self, ctx: &Ctx<'_>) -> Result<VerifyOutput> {
        let stop = ctx.host.calls();
        let callbacks = VerifyCallbacks {
            progress: &|what, done, total| (ctx.progress)(Progress { what: what.to_owned(), done, total }),
            check_cancelled: &|| {
                poc_graph::cancellation::check()?;
                match stop.is_cancelled() {
                    true => Err(Error::new(
                        Code::Unavailable,
                        "the daemon is stopping: the verification was not completed",
                    )),
                    false => Ok(()),
                }
            },
        };
        let Verification { at, damaged } = verification::verify(ctx.memory, &callbacks)?;
        Ok(VerifyOutput { at, damaged })
    }

    fn show(output: &VerifyOutput, _: &Terminal) -> String {
        if output.damaged.is_empty() {
            return format!("log, records, views and indexes agree ({})\n", second(output.at));
        }
        let lines = output.damaged.iter().map(|DamagedFile { path, message, hint, .. }| {
            format!("`{}`: {message}\n  hint: {hint}\n", path.display())
        });
        lines.collect()
    }

    fn exit(output: &VerifyOutput) -> Exit {
        if output.damaged.is_empty() { Exit::Ok } else { Exit::Failed }
    }
}
