//! `vault list`

use crate::ops::text::{minute, plural};
use crate::ops::{Access, Ctx, Op, Route, Terminal, table};
use poc_graph::error::Result;
use poc_graph::escape_line;
use poc_notes::vault::{self, FileChanges, FolderState, VaultStatus};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// List the vaults: the folders of Markdown that are bound to the memory, and how far each is behind its files.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct VaultList {}

/// The vaults.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct VaultListOutput {
    /// The vaults, sorted by name.
    vaults: Vec<VaultStatus>,
}

impl Op for VaultList {
    const NAME: &'static str = "vault list";
    const ACCESS: Access = Access::Read;
    const ROUTE: Option<Route> = Route::get("/v1/vault/list");
    const NAMES_COMMANDS: bool = true;
    type Output = VaultListOutput;

    fn run(self, ctx: &Ctx<'_>) -> Result<VaultListOutput> {
        Ok(VaultListOutput { vaults: vault::status(ctx.memory)? })
    }

    fn show(output: &VaultListOutput, _: &Terminal) -> String {
        if output.vaults.is_empty() {
            return "there is no vault; `poc-memory vault add FOLDER` binds a folder\n".into();
        }
        let row = |vault: &VaultStatus| {
            vec![
                vault.name.clone(),
                plural(vault.files, "file"),
                lag(vault),
                minute(vault.synchronised),
                escape_line(&vault.folder).into_owned(),
            ]
        };
        table(&output.vaults.iter().map(row).collect::<Vec<_>>())
    }
}

/// How far a vault is behind its files.
pub(crate) fn lag(vault: &VaultStatus) -> String {
    if vault.state == FolderState::Missing {
        return "folder missing".into();
    }
    let mut parts = Vec::new();
    if vault.behind > 0 {
        let FileChanges { new, changed, moved, deleted } = vault.changes;
        let kinds = [(new, "new"), (changed, "changed"), (moved, "moved"), (deleted, "deleted")];
        let kinds =
            kinds.iter().filter(|(count, _)| *count > 0).map(|(count, kind)| format!("{count} {kind}"));
        let kinds = kinds.collect::<Vec<_>>().join(", ");
        parts.push(format!("{} behind ({kinds})", plural(vault.behind, "file")));
    }
    if vault.undone > 0 {
        // One undone sync may have changed several files.
        parts.push(format!("{} with an undone change", plural(vault.undone, "file")));
    }
    if vault.without_note > 0 {
        // Several of these files may have had one note.
        parts.push(format!("{} whose note was deleted", plural(vault.without_note, "file")));
    }
    if parts.is_empty() {
        parts.push("up to date".into());
    }
    if vault.edited > 0 {
        parts.push(format!("{} edited in the memory", plural(vault.edited, "note")));
    }
    if vault.write_back_due {
        parts.push("write-back at the next sync".into());
    }
    if !vault.refused.is_empty() {
        parts.push(format!("{} refused", vault.refused.len()));
    }
    if !vault.warnings.is_empty() {
        parts.push(plural(vault.warnings.len() as u64, "warning"));
    }
    parts.join(", ")
}
