//! Lists the vaults and how far they are behind their files.

use crate::dispatch::Connection;
use crate::ops::checks::{CheckResult, CheckState};
use crate::ops::{self, lag, plural};
use poc_graph::error::{Code, Result};
use poc_graph::escape_line;
use poc_graph::json;
use poc_notes::resolve::quoted;
use poc_notes::vault::{FileError, FolderState, VaultStatus};
use serde_json::{Map, Value};

const CHECK: &str = "vaults";

pub(super) fn check(memory: &mut Connection) -> Vec<CheckResult> {
    match list(memory) {
        Ok(vaults) => vaults.iter().map(read).collect(),
        // With a schema that demands a tenant, the default tenant has no vaults.
        Err(error) if error.code == Code::TenantMissingRequired => Vec::new(),
        Err(error) => vec![CheckResult::of(CHECK, CheckState::Failed, &error)],
    }
}

fn list(memory: &mut Connection) -> Result<Vec<VaultStatus>> {
    let Some(op) = ops::find("vault list") else { return Ok(Vec::new()) };
    let answer = memory.call(op, Value::Object(Map::new()), &|_| {})?;
    json::decode_answer(op.name, answer.get("vaults").unwrap_or(&Value::Null))
}

fn read(vault: &VaultStatus) -> CheckResult {
    let name = quoted(&vault.name);
    let (files, folder) = (plural(vault.files, "file"), escape_line(&vault.folder));
    let message = format!("`{}`: {files}, {} (`{folder}`)", vault.name, lag(vault));
    let result = |state| CheckResult::new(CHECK, state, message.clone());
    // The conflicts among the warnings are about changes that a sync has made, and not about the files.
    let warning = vault.warnings.iter().find(|warning| warning.error.code != Code::Conflict);
    let listed = |problem: &FileError| {
        result(CheckState::Warning).hint(format!(
            "`{}`: {}; `poc-memory vault status {name}` lists all",
            escape_line(&problem.file),
            problem.error.line()
        ))
    };
    match (vault.state, vault.behind, vault.refused.first()) {
        (FolderState::Missing, ..) => result(CheckState::Warning)
            .hint(format!("mount or restore the folder, or unbind it: `poc-memory vault remove {name}`")),
        (_, 1.., _) => result(CheckState::Warning).hint(format!(
            "a running daemon follows the changes; without one, run `poc-memory vault sync {name}`"
        )),
        (_, 0, None) if vault.undone > 0 => result(CheckState::Warning).hint(format!(
            "a change was undone, and the files still have it: restore them, or run `poc-memory vault sync {name}`"
        )),
        (_, 0, None) if vault.without_note > 0 => result(CheckState::Warning).hint(format!(
            "notes were deleted, and their files are still there: delete the files, or run `poc-memory vault sync \
             {name}`, which makes the notes again"
        )),
        (_, _, Some(problem)) => listed(problem),
        _ => warning.map_or_else(|| result(CheckState::Ok), listed),
    }
}
