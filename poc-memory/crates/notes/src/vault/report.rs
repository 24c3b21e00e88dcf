//! The result of a sync.

use poc_graph::error::Error;
use poc_graph::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The result of a sync of a vault.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VaultReport {
    /// Number of files that have a note.
    pub files: u64,
    /// Number of new notes.
    pub added: u64,
    /// Number of notes that got a new version.
    pub updated: u64,
    /// Files that were moved and whose notes got another name.
    pub renamed: Vec<RenamedFile>,
    /// Number of notes that were retired because their files were deleted.
    pub retired: u64,
    /// The files of these notes, which are gone, empty or past their `expires`.
    pub retired_files: Vec<String>,
    /// Number of notes that were revived because their files exist again.
    pub revived: u64,
    /// Number of notes that were superseded because their files now have the text of another file.
    pub merged: u64,
    /// Number of new edges for links.
    pub links_added: u64,
    /// Number of removed edges whose links no file has any more.
    pub links_removed: u64,
    /// Files that could not be read. A note that was made from such a file stays as it was.
    pub refused: Vec<FileError>,
    /// Properties that were left out because of their value or occur several times, keys that another note already has,
    /// and texts that were changed in the memory and that a file has replaced.
    pub warnings: Vec<FileError>,
    /// Links that are ambiguous because several notes have the name.
    pub ambiguous: Vec<AmbiguousLink>,
    /// Links to notes that do not exist yet.
    pub unresolved: Vec<UnresolvedVaultLink>,
    /// Files into which links or replacements were written.
    pub written: Vec<String>,
    /// Number of files without text, which have no note.
    pub empty: u64,
    /// Number of files whose `expires` is in the past, which have no note.
    pub expired: u64,
    /// Number of symbolic links that lead out of the folder, which were not followed.
    pub outside: u64,
    /// Number of files that changed while they were read. The next sync reads them again.
    pub busy: u64,
}

impl VaultReport {
    /// Whether anything in the memory changed.
    pub fn has_changes(&self) -> bool {
        self.added
            + self.updated
            + self.retired
            + self.revived
            + self.merged
            + self.links_added
            + self.links_removed
            > 0
            || !self.renamed.is_empty()
    }

    /// The part of the report that is stored. `kept` are the warnings of earlier syncs that still apply, `at` is the time
    /// when the sync ended, `seq` the last transaction that it has seen.
    pub(super) fn summary(&self, kept: Vec<FileError>, at: Timestamp, seq: u64) -> SyncSummary {
        let mut warnings = self.warnings.clone();
        warnings.extend(kept.into_iter().filter(|warning| !self.warnings.contains(warning)));
        warnings.sort_by(|one, other| one.file.cmp(&other.file));
        SyncSummary {
            at,
            files: self.files,
            refused: self.refused.clone(),
            warnings,
            ambiguous: self.ambiguous.clone(),
            unresolved: self.unresolved.clone(),
            seq,
        }
    }
}

/// A file with another path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RenamedFile {
    /// Its path before.
    pub from: String,
    /// Its path now.
    pub to: String,
}

/// A file with a problem.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FileError {
    /// Its path in the vault.
    pub file: String,
    /// What is wrong.
    pub error: Error,
}

/// A link to a name that several notes have. It becomes an edge when the link or one of the names is changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AmbiguousLink {
    /// The file with the link.
    pub file: String,
    /// The link.
    pub link: String,
    /// Files or keys of the notes that have the name, at most 100.
    pub candidates: Vec<String>,
}

/// A link to a note that does not exist. It becomes an edge when the note does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnresolvedVaultLink {
    /// The file with the link.
    pub file: String,
    /// The link.
    pub link: String,
}

/// The summary of the last sync that is stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct SyncSummary {
    pub(super) at: Timestamp,
    pub(super) files: u64,
    pub(super) refused: Vec<FileError>,
    /// The warnings of this sync, and those of earlier ones for files that have not changed since.
    // Earlier releases did not store it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) warnings: Vec<FileError>,
    pub(super) ambiguous: Vec<AmbiguousLink>,
    pub(super) unresolved: Vec<UnresolvedVaultLink>,
    /// The last transaction that the sync has seen.
    pub(super) seq: u64,
}
