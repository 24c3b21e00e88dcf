//! `vault write-back`

use super::outcome::{VaultSyncOutcome, synchronize};
use crate::ops::hit::is_zero;
use crate::ops::{Access, Ctx, Op, Terminal};
use poc_graph::error::{Exit, Result};
use poc_notes::vault::{self, SyncOptions};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Write links that agents and people make in the memory, and approved replacements, into the front matter of
/// the files of a vault, from now on: at the next sync, which the daemon makes every `[daemon] reload-poll`. What a
/// person wrote is never changed.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct VaultWriteBack {
    /// Name or folder of the vault
    #[arg(value_name = "VAULT")]
    vault: String,
    /// Stop writing; what was written stays
    #[arg(long)]
    #[serde(default)]
    off: bool,
}

/// The vault, and what was written.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct VaultWriteBackOutput {
    write_back: bool,
    sync: VaultSyncOutcome,
    /// How many of the refused files the sync before refused for the same reason. They do not change the exit status.
    #[serde(default, skip_serializing_if = "is_zero")]
    refused_before: u64,
}

impl Op for VaultWriteBack {
    const NAME: &'static str = "vault write-back";
    const ACCESS: Access = Access::Person;
    const LONG_RUNNING: bool = true;
    const NAMES_COMMANDS: bool = true;
    type Output = VaultWriteBackOutput;

    fn run(self, ctx: &Ctx<'_>) -> Result<VaultWriteBackOutput> {
        let vault = vault::named(ctx.memory, &self.vault)?;
        let before = vault::last_refused(ctx.memory, &vault);
        vault::set_write_back(ctx.memory, &vault, !self.off)?;
        let sync = synchronize(ctx, &vault, &SyncOptions::default());
        let refused_before = sync.refused_again(&before);
        Ok(VaultWriteBackOutput { write_back: !self.off, sync, refused_before })
    }

    fn show(output: &VaultWriteBackOutput, _: &Terminal) -> String {
        let state = if output.write_back { "on" } else { "off" };
        format!("write-back is {state}\n{}", output.sync.text())
    }

    fn exit(output: &VaultWriteBackOutput) -> Exit {
        match output.sync.is_complete_except(output.refused_before) {
            true => Exit::Ok,
            false => Exit::Failed,
        }
    }
}
