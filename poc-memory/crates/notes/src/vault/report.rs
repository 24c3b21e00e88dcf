//! What a sync did.

use poc_graph::error::Error;
use poc_graph::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a sync of a vault did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VaultReport {
    /// Files with a note.
    pub files: u64,
    /// New notes.
    pub added: u64,
    /// Notes with a new version.
    pub updated: u64,
    /// Files that have another path, and their notes another name.
    pub renamed: Vec<RenamedFile>,
    /// Notes that were retired because their files were deleted.
    pub retired: u64,
    /// Notes that are in use again because their files are back.
    pub revived: u64,
    /// Notes that were replaced, because their files now have the text of another file.
    pub merged: u64,
    /// New links.
    pub links_added: u64,
    /// Links that no file has any more.
    pub links_removed: u64,
    /// Files that could not be read. A note that was made from such a file stays as it was.
    pub refused: Vec<FileProblem>,
    /// Properties that were left out because of their value, and keys that are taken.
    pub warnings: Vec<FileProblem>,
    /// Links to names that several notes have.
    pub ambiguous: Vec<AmbiguousLink>,
    /// Links to notes that do not exist yet.
    pub unresolved: Vec<UnresolvedVaultLink>,
    /// Files into which links or replacements were written.
    pub written: Vec<String>,
    /// Files without text, which have no note.
    pub empty: u64,
    /// Files whose `expires` has passed, which have no note.
    pub expired: u64,
    /// Symbolic links out of the folder, which were not followed.
    pub outside: u64,
    /// Files that changed while they were read. The next sync reads them.
    pub busy: u64,
}

impl VaultReport {
    /// Whether anything in the memory changed.
    pub fn is_changed(&self) -> bool {
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
pub struct FileProblem {
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
    /// Files or keys of the notes that have the name.
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

/// What is remembered of the last sync.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct SyncSummary {
    pub(super) at: Timestamp,
    pub(super) files: u64,
    pub(super) refused: Vec<FileProblem>,
    pub(super) ambiguous: Vec<AmbiguousLink>,
    pub(super) unresolved: Vec<UnresolvedVaultLink>,
    /// The last transaction that the sync has seen.
    pub(super) seq: u64,
}
