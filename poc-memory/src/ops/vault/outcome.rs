//! The outcome of a sync, as `vault add` and `vault sync` return it.

use crate::ops::text::plural;
use crate::ops::{Ctx, Progress};
use poc_graph::error::{Error, Result};
use poc_graph::escape_line;
use poc_notes::resolve::quoted;
use poc_notes::vault::{
    self, AmbiguousLink, FileError, RenamedFile, SyncOptions, UnresolvedVaultLink, VaultBinding, VaultReport,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

/// Maximum number of files listed one by one in the text for a person.
const SHOWN_FILES: usize = 10;

/// The result of a sync of one vault.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct VaultSyncOutcome {
    vault: String,
    /// Number of files that have a note.
    files: u64,
    /// New notes.
    added: u64,
    /// Notes that got a new version.
    updated: u64,
    /// Files that were moved and whose notes got another key.
    renamed: Vec<RenamedFile>,
    /// Notes that were retired because their files were deleted. `undo` brings them back.
    retired: u64,
    /// The files of these notes, which are gone, empty or past their `expires`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    retired_files: Vec<String>,
    /// Notes that are in use again because their files are back.
    revived: u64,
    /// Notes that were superseded because their files now have the text of another file.
    merged: u64,
    /// New links.
    links_added: u64,
    /// Links that were removed because no file has them any more.
    links_removed: u64,
    /// Files that could not be read. A note that was made from such a file stays as it was.
    refused: Vec<FileError>,
    /// Properties that were left out because of their value or occur several times, keys that another note already has,
    /// and texts that were changed in the memory and that a file has replaced.
    warnings: Vec<FileError>,
    /// Links that are ambiguous because several notes have the name.
    ambiguous: Vec<AmbiguousLink>,
    /// Links to notes that do not exist. Each becomes an edge when its note does.
    unresolved: Vec<UnresolvedVaultLink>,
    /// Files into which links or replacements were written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    written: Vec<String>,
    /// Number of files without text, which have no note.
    empty: u64,
    /// Number of files whose `expires` is in the past.
    expired: u64,
    /// Number of symbolic links that lead out of the folder, which are not followed.
    outside: u64,
    /// Number of files that changed while they were read. The next sync reads them again.
    busy: u64,
    /// Why the vault could not be synchronised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<Error>,
}

impl VaultSyncOutcome {
    /// Whether every file of the vault was synchronised.
    pub(super) fn is_complete(&self) -> bool {
        self.is_complete_except(0)
    }

    /// Whether every file of the vault was synchronised, apart from `refused` files.
    pub(super) fn is_complete_except(&self, refused: u64) -> bool {
        self.error.is_none() && self.refused.len() as u64 == refused
    }

    /// The number of refused files that were refused `before` for the same reason.
    pub(super) fn refused_again(&self, before: &[FileError]) -> u64 {
        self.refused.iter().filter(|problem| before.contains(problem)).count() as u64
    }

    /// The outcome as text for a person.
    pub(super) fn text(&self) -> String {
        if let Some(error) = &self.error {
            return format!("`{}` was not synchronised: {}\n", self.vault, error.line());
        }
        let mut parts = vec![format!("{} added", self.added), format!("{} updated", self.updated)];
        let renamed = self.renamed.len() as u64;
        // Files with the same text have one note.
        let retired_files = self.retired_files.len() as u64;
        let retired = match retired_files > self.retired {
            true => format!("retired with {retired_files} files"),
            false => "retired".to_owned(),
        };
        for (count, what) in [
            (renamed, "renamed"),
            (self.retired, retired.as_str()),
            (self.revived, "brought back"),
            (self.merged, "replaced"),
        ] {
            parts.extend((count > 0).then(|| format!("{count} {what}")));
        }
        let links = match (self.links_added, self.links_removed) {
            (added, 0) => format!("{} added", plural(added, "link")),
            (added, removed) => format!("{} added, {removed} removed", plural(added, "link")),
        };
        let mut text =
            format!("{}: {}: {}; {links}\n", self.vault, plural(self.files, "file"), parts.join(", "));
        for file in self.renamed.iter().take(SHOWN_FILES) {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "renamed    {} → {}", escape_line(&file.from), escape_line(&file.to));
        }
        for file in self.retired_files.iter().take(SHOWN_FILES) {
            let file = escape_line(file);
            let _ = writeln!(text, "retired    {file}: the file is gone, empty or past its `expires`");
        }
        for file in self.written.iter().take(SHOWN_FILES) {
            let _ = writeln!(text, "written    {}", escape_line(file));
        }
        // The same command again would fail or do something else.
        let all = format!("`poc-memory vault status {} --json`", quoted(&self.vault));
        text += &problems_text(&self.refused, &self.warnings, &self.ambiguous, &self.unresolved, &all);
        for (count, what) in [
            (self.empty, "empty files"),
            (self.expired, "expired files"),
            (self.outside, "symbolic links out of the folder"),
        ] {
            if count > 0 {
                let _ = writeln!(text, "left out   {what}: {count}");
            }
        }
        if self.busy > 0 {
            let _ = writeln!(
                text,
                "left out   files that were being written: {}; the next sync reads them",
                self.busy
            );
        }
        text
    }
}

/// The files and links that have problems, as lines for a person. `all` is what lists those that are left out.
pub(super) fn problems_text(
    refused: &[FileError],
    warnings: &[FileError],
    ambiguous: &[AmbiguousLink],
    unresolved: &[UnresolvedVaultLink],
    all: &str,
) -> String {
    let mut text = String::new();
    for (what, problems) in [("refused", refused), ("warning", warnings)] {
        for problem in problems.iter().take(SHOWN_FILES) {
            let (file, error) = (escape_line(&problem.file), problem.error.line());
            let _ = writeln!(text, "{what:<10} {file}: {error}");
        }
    }
    for link in ambiguous.iter().take(SHOWN_FILES) {
        let (file, candidates) = (escape_line(&link.file), link.candidates.join(", "));
        let _ = writeln!(text, "ambiguous  {file}: [[{}]] may be {candidates}", escape_line(&link.link));
    }
    for link in unresolved.iter().take(SHOWN_FILES) {
        let _ = writeln!(text, "unresolved {}: [[{}]]", escape_line(&link.file), escape_line(&link.link));
    }
    let lists = [refused.len(), warnings.len(), ambiguous.len(), unresolved.len()];
    let left_out: usize = lists.iter().map(|listed| listed.saturating_sub(SHOWN_FILES)).sum();
    if left_out > 0 {
        let _ = writeln!(text, "… and {left_out} more: {all} shows them all");
    }
    text
}

/// Synchronises a vault.
pub(super) fn synchronize(ctx: &Ctx<'_>, vault: &VaultBinding, options: &SyncOptions) -> VaultSyncOutcome {
    let synced = vault::sync(ctx.memory, vault, options, &|done, total| {
        (ctx.progress)(Progress { what: "notes".into(), done, total: Some(total) });
    });
    let (report, error) = match synced {
        Ok(report) => (report, None),
        Err(error) => (VaultReport::default(), Some(error)),
    };
    VaultSyncOutcome {
        vault: vault.name.clone(),
        files: report.files,
        added: report.added,
        updated: report.updated,
        renamed: report.renamed,
        retired: report.retired,
        retired_files: report.retired_files,
        revived: report.revived,
        merged: report.merged,
        links_added: report.links_added,
        links_removed: report.links_removed,
        refused: report.refused,
        warnings: report.warnings,
        ambiguous: report.ambiguous,
        unresolved: report.unresolved,
        written: report.written,
        empty: report.empty,
        expired: report.expired,
        outside: report.outside,
        busy: report.busy,
        error,
    }
}

/// The vaults with a name or folder, or all.
pub(super) fn selected_bindings(ctx: &Ctx<'_>, name: Option<&str>) -> Result<Vec<VaultBinding>> {
    match name {
        Some(name) => Ok(vec![vault::named(ctx.memory, name)?]),
        None => vault::bindings(ctx.memory),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_files_that_are_not_shown_are_listed_by_another_command() {
        let link = |number: usize| json!({"file": format!("{number}.md"), "link": "missing"});
        let unresolved: Vec<_> = (0..12).map(link).collect();
        let outcome = json!({
            "vault": "my notes", "files": 12, "added": 12, "updated": 0, "renamed": [], "retired": 0, "revived": 0,
            "merged": 0, "links_added": 0, "links_removed": 0, "refused": [], "warnings": [], "ambiguous": [],
            "unresolved": unresolved, "empty": 0, "expired": 0, "outside": 0, "busy": 0,
        });
        let outcome: VaultSyncOutcome = serde_json::from_value(outcome).unwrap();
        let text = outcome.text();
        let last = "… and 2 more: `poc-memory vault status 'my notes' --json` shows them all\n";
        assert!(text.ends_with(last), "{text}");
    }
}
