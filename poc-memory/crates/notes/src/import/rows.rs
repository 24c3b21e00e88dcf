//! Adds the notes of a file that has one note in each row.

use super::ParsedNote;
use super::imported_notes::{ImportedNotes, RowNames};
use super::location::SourceLocation;
use super::run::Import;
use super::source_file::SourceFile;
use poc_graph::error::Result;

/// The callback for a row: its location, its size in bytes, and its note.
pub(super) type RowCallback<'f, 'i> =
    dyn FnMut(&mut Import<'i>, SourceLocation, usize, Result<ParsedNote>) -> Result<()> + 'f;

/// Calls a callback with all rows of a file.
type RowReader<'r, 'i> = dyn Fn(&mut Import<'i>, &mut RowCallback<'_, 'i>) -> Result<()> + 'r;

impl<'i> Import<'i> {
    /// Adds the notes that `read` reads from a file. A row that has changed since an earlier import updates its note,
    /// if it can be recognised. `is_listed_table` is true for a table that only lists its columns.
    pub(super) fn add_rows(
        &mut self,
        file: &SourceFile<'_>,
        is_listed_table: bool,
        read: &RowReader<'_, 'i>,
    ) -> Result<()> {
        let mut imported = self.take_imported_notes(file)?;
        let mut names: Option<RowNames> = None;
        let added = read(self, &mut |import, place, bytes, mut note| {
            if let Ok(ParsedNote::Foreign(note)) = &mut note
                && let Some(earlier) =
                    imported.find(import.memory, note, is_listed_table, &|key| import.is_key_used(key))?
            {
                // Most imports find no earlier note, so the file need not be read twice.
                let names = names.get_or_insert_with(|| names_of(import, read));
                if names.identify(note, &earlier) {
                    imported.update(note, earlier);
                }
            }
            import.add_note(place, bytes, note)
        });
        self.imported_notes = Some(imported);
        added
    }

    /// The notes of earlier imports of the source. Texts without a file need not have the same source.
    fn take_imported_notes(&mut self, file: &SourceFile<'_>) -> Result<ImportedNotes> {
        if let Some(imported) = self.imported_notes.take() {
            return Ok(imported);
        }
        if file.key().is_none() {
            return Ok(ImportedNotes::none(self.provenance()));
        }
        // The notes of other files of this import must not count as notes of an earlier one.
        let pending = self.chunk.take();
        if !pending.is_empty() {
            self.store(pending)?;
        }
        let stored = self.report.nodes.iter().map(|(_, id)| *id).collect();
        ImportedNotes::of(self.memory, self.provenance(), &stored)
    }
}

/// The names of all rows of a file.
fn names_of<'i>(import: &mut Import<'i>, read: &RowReader<'_, 'i>) -> RowNames {
    let mut names = RowNames::default();
    // The reading that adds the rows reports the errors.
    let _ = read(import, &mut |_, _, _, note| {
        if let Ok(ParsedNote::Foreign(note)) = &note {
            names.add(note);
        }
        Ok(())
    });
    names
}
