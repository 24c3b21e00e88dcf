//! `vault sync`

use super::outcome::{VaultSyncOutcome, selected_bindings, synchronize};
use crate::ops::{Access, Ctx, Op, Terminal};
use poc_graph::error::{Exit, Result};
use poc_notes::vault::SyncOptions;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Update the notes from the files of a vault, or of all vaults, now. The daemon does it by itself. Files whose last
/// sync was undone or whose notes were deleted are read again, too; the daemon leaves them alone until they change.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct VaultSyncRequest {
    /// Name or folder of the vault; all of them if omitted
    #[arg(value_name = "VAULT")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    vault: Option<String>,
    /// If the folder is empty, retire the notes of the files that were in it
    #[arg(long)]
    #[serde(default)]
    emptied: bool,
}

/// The results of the syncs.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct VaultSyncOutput {
    vaults: Vec<VaultSyncOutcome>,
}

impl Op for VaultSyncRequest {
    const NAME: &'static str = "vault sync";
    const ACCESS: Access = Access::Person;
    const LONG_RUNNING: bool = true;
    const NAMES_COMMANDS: bool = true;
    type Output = VaultSyncOutput;

    fn run(self, ctx: &Ctx<'_>) -> Result<VaultSyncOutput> {
        let options = SyncOptions { allow_empty: self.emptied, redo_undone: true };
        let vaults = selected_bindings(ctx, self.vault.as_deref())?;
        Ok(VaultSyncOutput { vaults: vaults.iter().map(|vault| synchronize(ctx, vault, &options)).collect() })
    }

    fn show(output: &VaultSyncOutput, _: &Terminal) -> String {
        match output.vaults.as_slice() {
            [] => "there is no vault; `poc-memory vault add FOLDER` binds a folder\n".into(),
            vaults => vaults.iter().map(VaultSyncOutcome::text).collect(),
        }
    }

    fn exit(output: &VaultSyncOutput) -> Exit {
        match output.vaults.iter().all(VaultSyncOutcome::is_complete) {
            true => Exit::Ok,
            false => Exit::Failed,
        }
    }
}
