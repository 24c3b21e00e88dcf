//! Imports files and folders of the formats in [`format`].
//!
//! Notes are read one by one and stored in chunks, one transaction each. An invalid note is reported with its
//! location and does not stop the import. Edges between notes are created after all notes are stored. Notes
//! that were imported before are recognised, so an interrupted import can simply be repeated.

mod capture;
mod conversation;
mod copies;
mod document;
mod edges;
mod foreign;
mod format;
#[cfg(any(fuzzing, test))]
pub mod fuzzing;
mod imported_notes;
mod kept_keywords;
mod link_candidates;
mod location;
mod note_link;
mod options;
mod outdated;
pub(crate) mod references;
mod restore;
mod rows;
mod run;
mod sessions;
mod skipped;
mod source;
mod source_file;
mod store_chunk;
mod stored;
#[cfg(test)]
mod tests;
mod transcript;
mod turns;
mod vault_note;
mod warnings;
mod wikilinks;

pub use capture::{CaptureOptions, CaptureReport, assistant_of, capture, session_key};
pub(crate) use copies::copy_rank;
pub use format::transcripts::is_machine_text;
pub use location::SourceLocation;
pub(crate) use note_link::NoteLink;
pub use options::ImportOptions;
pub(crate) use run::{IMPORT_OP, PROVENANCE};
pub use run::{ImportReport, UnresolvedImportLink};
pub use skipped::{SkippedAmount, SkippedCounts};
pub use source::ImportSource;
pub use transcript::TranscriptSource;
pub(crate) use vault_note::{VaultNote, read_vault_note};
pub(crate) use wikilinks::{folded, last_part, without_heading};

use super::batch::Chunk;
use super::draft::known_type;
use super::interchange::Note;
use super::markdown_frame::MarkdownFrame;
use super::{Draft, Memory, secrets};
use foreign::ForeignNote;
use poc_graph::error::{Code, Error, Result};
use poc_graph::{cancellation, content_hash, normal_key, plural, title_of};
use run::{Import, KeyUse};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;

/// A note as read from its source.
enum ParsedNote {
    /// A note that export wrote.
    Exported(Box<Note>),
    /// A note of another tool.
    Foreign(Box<ForeignNote>),
}

/// The names of the fields of notes of other tools.
pub fn fields() -> impl Iterator<Item = &'static str> {
    foreign::FIELDS.iter().flat_map(|field| field.names).copied()
}

/// All names of the field that has a name; none if no field has it.
pub(crate) fn names_of_field(name: &str) -> &'static [&'static str] {
    let field = foreign::FIELDS.iter().find(|field| field.names.contains(&name));
    field.map(|field| field.names).unwrap_or_default()
}

/// The names of the formats, each with a description in a few words.
pub fn formats() -> impl Iterator<Item = (&'static str, &'static str)> {
    format::FORMATS.iter().map(|format| (format.name(), format.about()))
}

/// Imports all notes of a source. Calls `progress` after each transaction with the number of finished notes and
/// the total, if known.
///
/// # Errors
/// `invalid_argument` if the type in `options` is unknown, and `unavailable` when it is cancelled. It stops between two
/// transactions then: what it has stored stays, and the same import continues it.
pub fn import(
    memory: &Memory,
    source: &ImportSource,
    options: &ImportOptions,
    progress: &dyn Fn(u64, Option<u64>),
) -> Result<ImportReport> {
    if let Some(name) = &options.node_type {
        // Every note without a type would fail with the same error.
        known_type(name, &memory.config)?;
    }
    let mut import = Import::new(memory, &source.provenance(), options, progress);
    match source.read(&mut import).and_then(|()| import.store_rest()) {
        Ok(()) => Ok(import.report),
        Err(error) => {
            let stored = import.report.inserted + import.report.updated;
            let is_cancelled = error.code == Code::Unavailable && cancellation::is_requested();
            Err(if is_cancelled && stored > 0 { interrupted(stored) } else { error })
        }
    }
}

/// The error for an import that was cancelled after it had stored notes.
fn interrupted(stored: u64) -> Error {
    let stored = plural(stored, "new or changed note");
    Error::unavailable(format!(
        "the import was interrupted after {stored}: the client disconnected, or the daemon is stopping"
    ))
    .hint("these notes are stored; run the same import again to continue")
}

impl<'a> Import<'a> {
    /// An import that has read nothing yet. `progress` is called with the number of finished notes and the total, if
    /// known.
    pub(super) fn new(
        memory: &'a Memory,
        provenance: &str,
        options: &'a ImportOptions,
        progress: &'a dyn Fn(u64, Option<u64>),
    ) -> Import<'a> {
        Import {
            memory,
            options,
            cause: memory.cause(provenance, IMPORT_OP),
            report: ImportReport::default(),
            chunk: Chunk::of(memory.config.import.chunk),
            deferred: Vec::new(),
            done: 0,
            total: None,
            progress,
            pending: Vec::new(),
            sessions: BTreeMap::new(),
            detached: Vec::new(),
            files: HashSet::new(),
            unread_folders: Vec::new(),
            below: PathBuf::new(),
            imported_notes: None,
            ids: HashMap::new(),
            locations: HashMap::new(),
            turns: HashMap::new(),
        }
    }

    /// Adds a note of `bytes` bytes, or its error. Stores the pending chunk when it is full. A file waits for the end of
    /// the source if it has the key of the note of another file, or the text of a note that a later file may change.
    pub(super) fn add_note(
        &mut self,
        location: SourceLocation,
        bytes: usize,
        note: Result<ParsedNote>,
    ) -> Result<()> {
        cancellation::check()?;
        self.done += 1;
        let note = note.map(|note| self.without_faults(&location, note));
        match note {
            Ok(note) if !self.files_with_key(&note)?.is_empty() || self.is_copy_of_stored(&note)? => {
                self.deferred.push((location, bytes, note));
                Ok(())
            }
            note => self.add_in_order(location, bytes, note),
        }
    }

    /// Like [`Import::add_note`], for a note that does not wait.
    fn add_in_order(
        &mut self,
        location: SourceLocation,
        bytes: usize,
        note: Result<ParsedNote>,
    ) -> Result<()> {
        self.chunk.add_bytes(bytes);
        match note.and_then(|note| self.check_key(&location, note)) {
            Ok(Some(note)) => self.chunk.push((location, note)),
            Ok(None) => self.report.duplicates += 1,
            Err(error) => self.report.failed.push((location, error)),
        }
        if self.chunk.is_full() {
            let chunk = self.chunk.take();
            self.store(chunk)?;
            (self.progress)(self.done, self.total);
        }
        Ok(())
    }

    /// Completes the import.
    pub(super) fn finish(mut self) -> Result<ImportReport> {
        self.store_rest()?;
        Ok(self.report)
    }

    /// Stores the pending chunk, then creates the edges between the notes.
    fn store_rest(&mut self) -> Result<()> {
        self.add_deferred()?;
        let chunk = self.chunk.take();
        if !chunk.is_empty() {
            self.store(chunk)?;
        }
        self.create_edges()?;
        self.link_sessions()?;
        (self.progress)(self.done, self.total.or(Some(self.done)));
        // The failures of a chunk are only known when it is stored.
        self.report.failed.sort_by(|a, b| a.0.order().cmp(&b.0.order()));
        Ok(())
    }

    /// Adds the files that have waited. One with the key of a file that could not be read is refused, because that file
    /// may still have the key.
    fn add_deferred(&mut self) -> Result<()> {
        let deferred = std::mem::take(&mut self.deferred);
        if deferred.is_empty() {
            return Ok(());
        }
        let failed: HashSet<SourceLocation> =
            self.report.failed.iter().map(|(location, _)| location.clone()).collect();
        for (location, bytes, note) in deferred {
            let mut others = self.files_with_key(&note)?.into_iter().map(SourceLocation::File);
            let note = match others.find(|other| failed.contains(other)) {
                Some(other) => Err(Error::conflict(format!("its key belongs to the note of {other}"))
                    .hint("give each note a key of its own")),
                None => Ok(note),
            };
            self.add_in_order(location, bytes, note)?;
        }
        Ok(())
    }

    /// Maximum number of bytes of a note in its source. JSON needs up to six bytes for one byte of text, and the note
    /// may have edges and visits.
    pub(super) fn max_note_bytes(&self) -> u64 {
        self.memory.config.insert.max_node_bytes.saturating_mul(8) as u64
    }

    /// A text without its secrets, unless they are allowed.
    pub(super) fn scrubbed(&mut self, text: &str) -> String {
        match self.options.allow_secrets {
            true => text.to_owned(),
            false => secrets::scrub(text, &mut self.report.secrets).into_owned(),
        }
    }

    /// The provenance of the notes.
    pub(super) fn provenance(&self) -> &str {
        &self.cause.actor
    }

    /// Refuses a second note with the same key, which would silently replace the first. Returns `None` for a note that
    /// is not stored again: an earlier one has the same text and another key of the same stored note, as after an
    /// import of two equal files.
    fn check_key(&mut self, location: &SourceLocation, read: ParsedNote) -> Result<Option<ParsedNote>> {
        let (key, content) = match &read {
            ParsedNote::Exported(note) => (Some(note.key.clone()), None),
            ParsedNote::Foreign(foreign) => (foreign.draft.key.clone(), Some(draft_hash(&foreign.draft))),
        };
        let Some(given) = key else { return Ok(Some(read)) };
        let key = self.current_key(&given);
        if let Some(first) = self.locations.get(&key) {
            if first.key != given && content.is_some() && first.content == content {
                return Ok(None);
            }
            let first = &first.location;
            return Err(Error::conflict(format!("the key `{key}` was already used at {first}"))
                .hint("give each note a key of its own"));
        }
        self.locations.insert(key, KeyUse { location: location.clone(), key: given, content });
        Ok(Some(read))
    }

    /// If an earlier import made the note with the key of a file from other files of the folder, those of them that still
    /// exist. They keep their note as long as they have the key, whatever the order of the names of the files.
    fn files_with_key(&self, read: &ParsedNote) -> Result<Vec<String>> {
        let ParsedNote::Foreign(foreign) = read else { return Ok(Vec::new()) };
        let (Some(key), Some(frame)) = (&foreign.draft.key, &foreign.frame) else { return Ok(Vec::new()) };
        if self.files.is_empty() {
            return Ok(Vec::new());
        }
        let store = &self.memory.store;
        let Some(id) = store.find_key(&normal_key(key))? else { return Ok(Vec::new()) };
        let mut frames = MarkdownFrame::all(store, id)?;
        frames.retain(|other| other.provenance == frame.provenance && self.files.contains(&other.path));
        let is_own = frames.iter().any(|other| other.path == frame.path);
        Ok(if is_own { Vec::new() } else { frames.into_iter().map(|other| other.path).collect() })
    }

    /// Whether a file of a folder has no note yet, and the text of a stored note.
    fn is_copy_of_stored(&self, read: &ParsedNote) -> Result<bool> {
        let ParsedNote::Foreign(foreign) = read else { return Ok(false) };
        let Some(key) = foreign.draft.key.as_deref().filter(|_| foreign.frame.is_some()) else {
            return Ok(false);
        };
        let (store, config) = (&self.memory.store, &self.memory.config);
        if self.files.is_empty() || store.find_key(&normal_key(key))?.is_some() {
            return Ok(false);
        }
        // An invalid draft is reported when it is prepared.
        let Ok(mut draft) = foreign.draft.clone().checked(config, self.memory.now()) else {
            return Ok(false);
        };
        let title = draft.title.take().or_else(|| title_of(draft.body.as_deref().unwrap_or_default()));
        Ok(store.find_hash(&draft_hash(&Draft { title, ..draft }))?.is_some())
    }

    /// Whether a note of this import has already used a key.
    fn is_key_used(&self, key: &str) -> bool {
        self.locations.contains_key(&self.current_key(key))
    }

    /// The current key of the note with a key or former key; the key itself if no note has it.
    fn current_key(&self, key: &str) -> String {
        let view = self.memory.store.view();
        view.find_key(&normal_key(key)).map_or_else(|| key.to_owned(), |ix| view.key(ix).to_owned())
    }
}

/// The hash of the content that a draft gives its note.
fn draft_hash(draft: &Draft) -> [u8; 32] {
    let Draft { title, body, keywords, .. } = draft;
    let (title, body) = (title.as_deref().unwrap_or_default(), body.as_deref().unwrap_or_default());
    content_hash(title, body, keywords.as_deref().unwrap_or_default())
}
