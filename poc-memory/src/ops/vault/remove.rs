//! `vault remove`

use crate::ops::text::plural;
use crate::ops::{Access, Ctx, Op, Terminal};
use poc_graph::error::Result;
use poc_notes::vault;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Unbind a folder. Its notes stay, and changes of its files no longer reach them.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct VaultRemove {
    /// Name or folder of the vault
    #[arg(value_name = "VAULT")]
    vault: String,
}

/// The vault that was unbound.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct VaultRemoveOutput {
    name: String,
    /// Number of files of the vault whose notes were kept.
    files: u64,
}

impl Op for VaultRemove {
    const NAME: &'static str = "vault remove";
    const ACCESS: Access = Access::Person;
    type Output = VaultRemoveOutput;

    fn run(self, ctx: &Ctx<'_>) -> Result<VaultRemoveOutput> {
        let vault = vault::named(ctx.memory, &self.vault)?;
        let files = vault::remove(ctx.memory, &vault)?;
        if let Ok(daemon) = ctx.host.daemon() {
            daemon.vaults_changed();
        }
        Ok(VaultRemoveOutput { name: vault.name, files })
    }

    fn show(removed: &VaultRemoveOutput, _: &Terminal) -> String {
        let files = plural(removed.files, "file");
        format!("unbound the vault `{}`; the notes of its {files} stay\n", removed.name)
    }
}
