//! A single file of a vault as a note, read as import reads it.

use super::ParsedNote;
use super::format;
use super::location::SourceLocation;
use super::note_link::NoteLink;
use super::options::ImportOptions;
use super::run::Import;
use super::source_file::SourceFile;
use crate::markdown_frame::MarkdownFrame;
use crate::{Draft, Memory};
use poc_graph::error::{Error, Result};
use std::path::Path;

/// A file of a vault as a note.
pub(crate) struct VaultNote {
    /// The note. Its key is the one in the front matter, or else the path of the file without the extension.
    pub(crate) draft: Draft,
    /// Whether the key comes from the front matter.
    pub(crate) has_own_key: bool,
    /// Other names that links may use for it.
    pub(crate) names: Vec<String>,
    /// Its links.
    pub(crate) links: Vec<NoteLink>,
    /// The session that it belongs to.
    pub(crate) session: Option<String>,
    /// Properties with a value that was left out, with the reason.
    pub(crate) warnings: Vec<Error>,
    /// The frame: everything in the file around its text.
    pub(crate) frame: Option<MarkdownFrame>,
}

/// Reads the text of the file at `path`. `name` is its path in the folder of the vault.
///
/// # Errors
/// `invalid_argument` if the file cannot become a note.
pub(crate) fn read_vault_note(
    memory: &Memory,
    path: &Path,
    name: &str,
    text: &str,
    provenance: &str,
) -> Result<VaultNote> {
    let options = ImportOptions::default();
    let mut import = Import::new(memory, provenance, &options, &|_, _| {});
    let file = SourceFile::at(path, name.to_owned())?;
    let key = match name.to_lowercase().ends_with(".canvas") {
        true => file.key().map(|key| format!("{key}.canvas")),
        false => file.key(),
    };
    let note = format::vault_note(text, &file, &import)?;
    let note = import.without_faults(&SourceLocation::File(name.to_owned()), note);
    let ParsedNote::Foreign(mut note) = note else {
        return Err(Error::invalid("it was written by `export --markdown`, with ids of a memory")
            .hint("import it once, or write a folder for editors with `export --vault`"));
    };
    let has_own_key = note.draft.key.is_some() && note.draft.key != key;
    note.draft.key = note.draft.key.take().or(key);
    let warnings = import.report.warnings.into_iter().map(|(_, error)| error).collect();
    Ok(VaultNote {
        has_own_key,
        warnings,
        draft: note.draft,
        names: note.aliases.into_iter().chain(note.names).collect(),
        links: note.links,
        session: note.session,
        frame: note.frame,
    })
}
