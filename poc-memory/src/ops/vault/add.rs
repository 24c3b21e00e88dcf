//! `vault add`

use super::outcome::{VaultSyncOutcome, synchronize};
use crate::ops::{Access, Ctx, Op, Terminal, argument};
use poc_graph::error::{Exit, Result};
use poc_graph::escape_line;
use poc_notes::vault::{self, SyncOptions};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Bind a folder of Markdown to the memory. Its files become notes, and the daemon keeps the notes up to date with
/// them: edits, new files, deletions, renames and moves follow within two seconds. Without a daemon, `vault sync` does
/// it.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct VaultAdd {
    /// The folder
    #[arg(value_name = "FOLDER", value_parser = argument::path)]
    folder: PathBuf,
    /// Name of the vault [default: the name of the folder]
    #[arg(long)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// Write links that agents and people make in the memory, and approved replacements, into the front
    /// matter of the files
    #[arg(long)]
    #[serde(default)]
    write_back: bool,
}

/// A new vault, and what its first sync did.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct VaultAddOutput {
    /// Name of the vault, unique in the tenant.
    name: String,
    folder: PathBuf,
    sync: VaultSyncOutcome,
}

impl Op for VaultAdd {
    const NAME: &'static str = "vault add";
    const ACCESS: Access = Access::Person;
    const LONG_RUNNING: bool = true;
    const CREATES_PROFILE: bool = true;
    const NAMES_COMMANDS: bool = true;
    type Output = VaultAddOutput;

    fn run(self, ctx: &Ctx<'_>) -> Result<VaultAddOutput> {
        let vault = vault::add(ctx.memory, &self.folder, self.name.as_deref(), self.write_back)?;
        let sync = synchronize(ctx, &vault, &SyncOptions::default());
        if let Ok(daemon) = ctx.host.daemon() {
            daemon.vaults_changed();
        }
        Ok(VaultAddOutput { name: vault.name, folder: vault.folder, sync })
    }

    fn show(added: &VaultAddOutput, _: &Terminal) -> String {
        let folder = added.folder.to_string_lossy();
        format!("bound `{}` as the vault `{}`\n{}", escape_line(&folder), added.name, added.sync.text())
    }

    fn exit(added: &VaultAddOutput) -> Exit {
        if added.sync.is_complete() { Exit::Ok } else { Exit::Failed }
    }
}
