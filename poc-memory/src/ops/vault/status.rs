//! `vault status`

use super::list::lag;
use super::outcome::{problems_text, selected_bindings};
use super::undone::UndoneFiles;
use crate::ops::text::{plural, second};
use crate::ops::{Access, Ctx, Op, Terminal};
use poc_graph::error::Result;
use poc_graph::escape_line;
use poc_notes::vault::{self, VaultStatus};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

/// Show the state of a vault, or of all: how far it is behind its files, how many files differ from their notes because
/// of an undo, a deletion or an edit in the memory, which files were refused, and which links lead to no note or may mean
/// several.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct VaultStatusRequest {
    /// Name or folder of the vault; all of them if omitted
    #[arg(value_name = "VAULT")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    vault: Option<String>,
}

/// The state of the vaults.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct VaultStatusOutput {
    /// The vaults, sorted by name.
    vaults: Vec<VaultStatus>,
}

impl Op for VaultStatusRequest {
    const NAME: &'static str = "vault status";
    const ACCESS: Access = Access::Read;
    const NAMES_COMMANDS: bool = true;
    type Output = VaultStatusOutput;

    fn run(self, ctx: &Ctx<'_>) -> Result<VaultStatusOutput> {
        let names: Vec<String> =
            selected_bindings(ctx, self.vault.as_deref())?.into_iter().map(|vault| vault.name).collect();
        let vaults = vault::status(ctx.memory)?.into_iter().filter(|vault| names.contains(&vault.name));
        Ok(VaultStatusOutput { vaults: vaults.collect() })
    }

    fn show(output: &VaultStatusOutput, _: &Terminal) -> String {
        if output.vaults.is_empty() {
            return "there is no vault; `poc-memory vault add FOLDER` binds a folder\n".into();
        }
        let mut text = String::new();
        for vault in &output.vaults {
            let last = vault.synchronised.map_or_else(|| "never".to_owned(), second);
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{}: {}, {}", vault.name, plural(vault.files, "file"), lag(vault));
            let _ = writeln!(text, "folder     {}", escape_line(&vault.folder));
            let _ = writeln!(text, "last sync  {last}");
            if let Some(undone) = UndoneFiles::of(vault) {
                let _ = writeln!(text, "undone     {}", undone.text());
            }
            if vault.edited > 0 {
                let _ = writeln!(
                    text,
                    "edited     {}: the next change of its file replaces the text of the note",
                    plural(vault.edited, "note")
                );
            }
            if vault.write_back_due {
                let _ =
                    writeln!(text, "write-back the next sync writes links that were made since the last one");
            }
            text += &problems_text(
                &vault.refused,
                &vault.warnings,
                &vault.ambiguous,
                &vault.unresolved,
                "`--json`",
            );
        }
        text
    }
}
