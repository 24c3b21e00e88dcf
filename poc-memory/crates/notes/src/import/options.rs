//! The options of an import.

/// Defaults for the imported notes, and what to look for.
#[derive(Clone, Debug, Default)]
pub struct ImportOptions {
    /// Type of notes without one.
    pub node_type: Option<String>,
    /// Keywords added to every note.
    pub keywords: Vec<String>,
    /// The name of the format; detected from the content if `None`.
    pub format: Option<String>,
    /// Whether secrets in conversations are stored; otherwise each is replaced by its kind.
    pub allow_secrets: bool,
    /// The provenances of bound vaults, whose notes follow their files and are not replaced by an import.
    pub vaults: Vec<String>,
}
