//! Files that differ from their notes because a change was undone, or whose notes were deleted.

use crate::ops::Ctx;
use crate::ops::text::plural;
use poc_graph::error::Result;
use poc_notes::resolve::quoted;
use poc_notes::vault::{self, VaultStatus};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The files of a vault that still have what was undone.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(in crate::ops) struct UndoneFiles {
    /// Name of the vault.
    vault: String,
    /// Number of files that differ from their notes because a change was undone, or whose notes were deleted.
    files: u64,
}

impl UndoneFiles {
    /// The files of a vault; `None` if there are none.
    pub(super) fn of(status: &VaultStatus) -> Option<UndoneFiles> {
        let files = status.undone + status.without_note;
        (files > 0).then(|| UndoneFiles { vault: status.name.clone(), files })
    }

    /// How many files differ, and what can be done.
    pub(in crate::ops) fn text(&self) -> String {
        // A file may also have been deleted.
        let differ = if self.files == 1 { "differs" } else { "differ" };
        format!(
            "{} of the vault `{}` {differ} from the notes because of an undo or a deletion; `poc-memory vault sync {}` \
             applies the files again, and so does the daemon when such a file changes; to keep the notes as they are, \
             restore or delete the files",
            plural(self.files, "file"),
            self.vault,
            quoted(&self.vault)
        )
    }
}

/// These files of every vault that has any.
pub(in crate::ops) fn undone_files(ctx: &Ctx<'_>) -> Result<Vec<UndoneFiles>> {
    Ok(vault::status(ctx.memory)?.iter().filter_map(UndoneFiles::of).collect())
}
