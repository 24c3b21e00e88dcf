//! Imports files and folders of the formats in [`format`].
//!
//! Notes are read one by one and stored in chunks, one transaction each. An invalid note is reported with its
//! location and does not stop the import. Edges between notes are created after all notes are stored. Notes
//! that were imported before are recognised, so an interrupted import can simply be repeated.

mod capture;
mod conversation;
mod document;
mod edges;
mod foreign;
mod format;
#[cfg(any(fuzzing, test))]
pub mod fuzzing;
mod location;
mod note_link;
mod options;
mod outdated;
pub(crate) mod references;
mod restore;
mod run;
mod sessions;
mod skipped;
mod source;
mod source_file;
mod stored;
#[cfg(test)]
mod tests;
mod transcript;
mod vault_note;
mod warnings;
mod wikilinks;

pub use capture::{CaptureOptions, CaptureReport, assistant_of, capture, session_key};
pub use location::SourceLocation;
pub(crate) use note_link::NoteLink;
pub use options::ImportOptions;
pub use run::ImportReport;
pub(crate) use run::{IMPORT_OP, PROVENANCE};
pub use skipped::{SkippedAmount, SkippedCounts};
pub use source::ImportSource;
pub use transcript::TranscriptSource;
pub(crate) use vault_note::{VaultNote, read_vault_note};
pub(crate) use wikilinks::without_heading;

use super::automatic_edges::EdgeCounts;
use super::batch::{Chunk, separate_note_errors};
use super::draft::known_type;
use super::insert::{self, PreparedNote};
use super::interchange::Note;
use super::markdown_frame::{MarkdownFrame, Properties};
use super::{Draft, Memory, secrets, supersede};
use conversation::{Conversation, Turn};
use foreign::ForeignNote;
use poc_graph::error::{Code, Error, Result};
use poc_graph::time::Timestamp;
use poc_graph::{Node, NodeId, cancellation, content_hash, normal_key, plural};
use poc_store::Transaction;
use restore::Restore;
use run::{Import, KeyUse, PendingEdges, SessionNote};
use source_file::SourceFile;
use std::collections::BTreeMap;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use stored::{StoreOutcome, StoredNote};
use transcript::Transcript;

/// A note as read from its source.
enum ParsedNote {
    /// A note that export wrote.
    Exported(Box<Note>),
    /// A note of another tool.
    Foreign(Box<ForeignNote>),
}

/// A note of a chunk, ready to be stored.
enum ReadyNote {
    Restore(Box<Restore>),
    Insert(PreparedNote),
}

/// The treatment of a note that is past `expires`.
enum ExpiredNote {
    /// Skip it, because the node does not exist or already has this date.
    Skip,
    /// Set this date on the existing node.
    Expire(NodeId, Timestamp),
}

/// The names of the fields of notes of other tools.
pub fn fields() -> impl Iterator<Item = &'static str> {
    foreign::FIELDS.iter().flat_map(|field| field.names).copied()
}

/// The names of the formats.
pub fn formats() -> impl Iterator<Item = &'static str> {
    format::FORMATS.iter().map(|format| format.name())
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
            done: 0,
            total: None,
            progress,
            pending: Vec::new(),
            sessions: BTreeMap::new(),
            detached: Vec::new(),
            files: HashSet::new(),
            unread_folders: Vec::new(),
            below: PathBuf::new(),
            ids: HashMap::new(),
            locations: HashMap::new(),
            turns: HashMap::new(),
        }
    }

    /// Adds a note of `bytes` bytes, or its error. Stores the pending chunk when it is full.
    pub(super) fn add_note(
        &mut self,
        location: SourceLocation,
        bytes: usize,
        note: Result<ParsedNote>,
    ) -> Result<()> {
        cancellation::check()?;
        self.done += 1;
        self.chunk.add_bytes(bytes);
        let note = note.map(|note| self.without_faults(&location, note));
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

    /// Adds the turns of a transcript.
    pub(super) fn add_transcript(&mut self, file: &SourceFile<'_>, read: Transcript) -> Result<()> {
        let Transcript { conversation, turns, abandoned, skipped, failed, .. } = read;
        self.report.skipped.merge(&skipped);
        for turn in &abandoned {
            let whole = conversation.whole_key(turn);
            let is_stored = self.memory.store.find_key(&normal_key(&whole))?.is_some();
            self.detached.push(if is_stored { whole } else { conversation.key(turn) });
        }
        for (line, error) in failed {
            self.add_note(file.line(line), 0, Err(error))?;
        }
        turns
            .iter()
            .try_for_each(|placed| self.add_turn(file.line(placed.place.line), &conversation, &placed.turn))
    }

    /// Adds a turn of a conversation.
    pub(super) fn add_turn(
        &mut self,
        location: SourceLocation,
        conversation: &Conversation,
        turn: &Turn,
    ) -> Result<()> {
        let provenance = self.cause.actor.clone();
        let note = conversation.note(turn, self.options, &provenance, &mut self.report.secrets);
        let Some(mut note) = note else { return Ok(()) };
        note.draft.key = Some(self.turn_key(conversation, &turn.id, &note.draft)?);
        let bytes = note.draft.body.as_deref().map_or(0, str::len);
        self.add_note(location, bytes, Ok(ParsedNote::Foreign(Box::new(note))))
    }

    /// The key of the note of a turn. It shows a part of the id, or the whole id if another turn has the same part:
    /// an earlier one of this source, or one that is stored, which has another time and begins with another line.
    fn turn_key(&mut self, conversation: &Conversation, turn: &str, draft: &Draft) -> Result<String> {
        let (key, whole) = (conversation.key(turn), conversation.whole_key(turn));
        if key == whole {
            return Ok(key);
        }
        let store = &self.memory.store;
        let first = self.turns.entry(key.clone()).or_insert_with(|| turn.to_owned());
        if first.as_str() != turn || store.find_key(&normal_key(&whole))?.is_some() {
            return Ok(whole);
        }
        let stored = store.find_key(&normal_key(&key))?.map(|id| store.node(id)).transpose()?.flatten();
        let is_of_other = stored.is_some_and(|stored| {
            let body = draft.body.as_deref().unwrap_or_default();
            draft.created.is_some_and(|created| created != stored.created)
                && body.lines().next() != stored.body.lines().next()
        });
        Ok(if is_of_other { whole } else { key })
    }

    /// Adds a turn that is already stored, so that the next turn is linked to it.
    pub(super) fn continue_session(&mut self, conversation: &Conversation, turn: &str) -> Result<()> {
        let store = &self.memory.store;
        let stored = match store.find_key(&normal_key(&conversation.whole_key(turn)))? {
            Some(id) => Some(id),
            None => store.find_key(&normal_key(&conversation.key(turn)))?,
        };
        if let Some(id) = stored {
            let before = SessionNote { id, location: SourceLocation::Line(0), created: Timestamp(0) };
            self.sessions.entry(conversation.session()).or_default().push(before);
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
        // A former key and the current key name the same note.
        let view = self.memory.store.view();
        let key =
            view.find_key(&normal_key(&given)).map_or_else(|| given.clone(), |ix| view.key(ix).to_owned());
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

    /// The treatment of a draft that is past `expires`; `None` if it is not.
    fn expired(&self, draft: &Draft, now: Timestamp) -> Result<Option<ExpiredNote>> {
        let Some(expires) = draft.expires.filter(|expires| *expires <= now) else { return Ok(None) };
        let store = &self.memory.store;
        let key = draft.key.as_deref().map(normal_key);
        let existing = key.map(|key| store.find_key(&key)).transpose()?.flatten();
        let existing = existing.map(|id| store.node(id)).transpose()?.flatten();
        Ok(Some(match existing.filter(|existing| existing.expires != Some(expires)) {
            Some(existing) => ExpiredNote::Expire(existing.id, expires),
            None => ExpiredNote::Skip,
        }))
    }

    /// Stores the frame of a note, and deletes frames of files that no longer exist in the same folder.
    fn put_frame(&self, tx: &mut Transaction<'_>, id: NodeId, frame: &MarkdownFrame) -> Result<()> {
        for old in MarkdownFrame::all(tx, id)? {
            let is_unknown =
                self.unread_folders.iter().any(|folder| Path::new(&old.path).starts_with(folder));
            let is_gone = !self.files.is_empty() && !self.files.contains(&old.path) && !is_unknown;
            let is_read = Path::new(&old.path).starts_with(&self.below);
            if old.provenance == frame.provenance && is_read && is_gone {
                old.delete(tx, id)?;
            }
        }
        let Some(node) = tx.node(id)? else { return Ok(()) };
        MarkdownFrame { imported: Properties::of(&node), ..frame.clone() }.put(tx, id)
    }

    /// An earlier import of a subfolder may have made another note from the same file. If that copy has the text that
    /// the note of the file gets now, the note replaces it. A copy that cannot be replaced stays, and the note is then
    /// reported as having the text of another note.
    fn replace_copy(
        &self,
        tx: &mut Transaction<'_>,
        entry: &ChunkEntry,
        note: &ReadyNote,
        now: Timestamp,
    ) -> Result<()> {
        let (Some(frame), Some(key), ReadyNote::Insert(prepared)) = (&entry.frame, &entry.key, note) else {
            return Ok(());
        };
        let id = tx.find_key(&normal_key(key))?;
        let node = id.map(|id| tx.node(id)).transpose()?.flatten().filter(|node| node.state.is_live());
        let (Some(node), Some(same)) = (node, prepared.existing_note(tx)?) else { return Ok(()) };
        let frames = MarkdownFrame::all(tx, same)?;
        let is_copy = same != node.id && frames.iter().any(|other| source::is_below(frame, other));
        let is_bound = frames.iter().any(|other| self.options.vaults.contains(&other.provenance));
        if is_copy && !is_bound {
            let reason = "it was imported from the same file";
            let (provenance, config) = (self.provenance(), &self.memory.config);
            let replaced = supersede::apply(tx, same, node.id, provenance, reason, config, now);
            if let Err(error) = separate_note_errors(replaced)? {
                tracing::debug!("a copy of `{}` was not replaced: {}", node.key, error.line());
            }
        }
        Ok(())
    }

    /// Stores a chunk in one transaction.
    fn store(&mut self, chunk: Vec<(SourceLocation, ParsedNote)>) -> Result<()> {
        let sorted = self.sort(chunk)?;
        let expiring = sorted.expiring.clone();
        let ready = self.prepare(sorted)?;
        let cause = self.cause();
        let now = cause.at;
        self.report.updated += expiring.len() as u64;
        let stored = self.memory.store.transact(cause, |tx| {
            expiring.iter().try_for_each(|&(id, expires)| set_expiry(tx, id, expires, now))?;
            ready
                .iter()
                .map(|(entry, note)| {
                    self.replace_copy(tx, entry, note, now)?;
                    let stored = separate_note_errors(store_one(tx, note, now))?;
                    if let (Ok(stored), Some(frame)) = (&stored, &entry.frame) {
                        self.put_frame(tx, stored.id, frame)?;
                    }
                    Ok(stored)
                })
                .collect::<Result<Vec<_>>>()
        })?;
        for ((entry, _), stored) in ready.into_iter().zip(stored.value) {
            match stored {
                Ok(stored) => self.record(entry, &stored, now),
                Err(error) => self.report.failed.push((entry.location, error)),
            }
        }
        Ok(())
    }

    /// Sorts the notes of a chunk by what happens to them. Notes that are skipped are only reported.
    fn sort(&mut self, chunk: Vec<(SourceLocation, ParsedNote)>) -> Result<SortedChunk> {
        let mut sorted = SortedChunk::default();
        let now = self.memory.now();
        for (location, read) in chunk {
            match read {
                ParsedNote::Exported(note) => {
                    let edges = PendingEdges::Exported { id: note.id, edges: note.edges.clone() };
                    sorted.entries.push(ChunkEntry {
                        location,
                        key: Some(note.key.clone()),
                        edges,
                        is_exported: true,
                        turn: None,
                        frame: None,
                    });
                    sorted.exported.push(*note);
                }
                ParsedNote::Foreign(mut foreign) => {
                    // The file of an expired note stays in its folder, so it must not be an error.
                    match self.expired(&foreign.draft, now)? {
                        Some(ExpiredNote::Skip) => {
                            self.report.expired.push(location);
                            continue;
                        }
                        Some(ExpiredNote::Expire(id, expires)) => {
                            sorted.expiring.push((id, expires));
                            continue;
                        }
                        None => {}
                    }
                    if outdated::is_outdated(self.memory, &foreign.draft)? {
                        let error = Error::conflict("the note has changed since it was imported, but its source has not")
                            .hint("the note stays as it is; change the source, or delete the note, to import it again");
                        self.report.warnings.push((location.clone(), error));
                        let Draft { key, other_names, provenance, trust, .. } = foreign.draft;
                        foreign.draft =
                            Draft { key, other_names, update: true, ..Draft::new(provenance, trust) };
                        foreign.frame = None;
                    }
                    for field in &foreign.ignored {
                        *self.report.ignored.entry(field.clone()).or_default() += 1;
                    }
                    sorted.entries.push(ChunkEntry {
                        location,
                        key: foreign.draft.key.clone(),
                        edges: PendingEdges::foreign(foreign.names, foreign.aliases, foreign.links),
                        is_exported: false,
                        turn: foreign.session.map(|session| (session, foreign.draft.created)),
                        frame: foreign.frame,
                    });
                    sorted.drafts.push(foreign.draft);
                }
            }
        }
        Ok(sorted)
    }

    /// Embeds the notes of a chunk. Those that cannot be stored are reported.
    fn prepare(&mut self, sorted: SortedChunk) -> Result<Vec<(ChunkEntry, ReadyNote)>> {
        let mut restores = restore::prepare_all(self.memory, sorted.exported)?.into_iter();
        let mut inserts = insert::prepare_all(self.memory, sorted.drafts)?.into_iter();
        let mut ready = Vec::with_capacity(sorted.entries.len());
        for entry in sorted.entries {
            let note = if entry.is_exported {
                restores.next().map(|restore| restore.map(|restore| ReadyNote::Restore(Box::new(restore))))
            } else {
                inserts.next().map(|prepared| prepared.map(ReadyNote::Insert))
            };
            match note {
                Some(Ok(note)) => ready.push((entry, note)),
                Some(Err(error)) => self.report.failed.push((entry.location, error)),
                None => return Err(Error::internal("a note of the import is missing")),
            }
        }
        Ok(ready)
    }

    /// Reports a stored note, and keeps its edges and its place in a session for the end of the import.
    fn record(&mut self, entry: ChunkEntry, stored: &StoredNote, now: Timestamp) {
        let ChunkEntry { location, key, mut edges, turn, .. } = entry;
        match stored.outcome {
            StoreOutcome::Inserted => self.report.inserted += 1,
            StoreOutcome::Updated => self.report.updated += 1,
            StoreOutcome::Duplicate => {
                self.report.duplicates += 1;
                if key.is_some_and(|key| !self.is_key_of(&key, stored.id)) {
                    self.report.same_content.push((location.clone(), stored.key.clone()));
                }
            }
        }
        self.report.keyword_edges += stored.edge_counts.keyword as u64;
        self.report.semantic_edges += stored.edge_counts.semantic as u64;
        if let Some(id) = edges.stored(stored) {
            self.ids.insert(id, stored.id);
        }
        if let Some((session, created)) = turn {
            let created = created.unwrap_or(now);
            let turn = SessionNote { id: stored.id, location: location.clone(), created };
            self.sessions.entry(session).or_default().push(turn);
        }
        self.report.nodes.push((location.clone(), stored.id));
        self.pending.push((location, edges));
    }

    /// Whether a key is the key of a node or a former one.
    fn is_key_of(&self, key: &str, id: NodeId) -> bool {
        let view = self.memory.store.view();
        view.find_key(&normal_key(key)).and_then(|ix| view.id(ix)) == Some(id)
    }
}

/// A note of a chunk, apart from its content.
struct ChunkEntry {
    location: SourceLocation,
    /// The key that its source gives it.
    key: Option<String>,
    edges: PendingEdges,
    /// Whether this program has exported it. Its content is then in [`SortedChunk::exported`], else in `drafts`.
    is_exported: bool,
    /// The session that it belongs to, and when it was written, if that is known.
    turn: Option<(String, Option<Timestamp>)>,
    frame: Option<MarkdownFrame>,
}

/// The notes of a chunk by what happens to them.
#[derive(Default)]
struct SortedChunk {
    /// The notes that are stored.
    entries: Vec<ChunkEntry>,
    /// The contents of exported notes, in the order of their entries.
    exported: Vec<Note>,
    /// The contents of all others, in the order of their entries.
    drafts: Vec<Draft>,
    /// Existing notes that expire, and when.
    expiring: Vec<(NodeId, Timestamp)>,
}

/// The hash of the content that a draft gives its note.
fn draft_hash(draft: &Draft) -> [u8; 32] {
    let Draft { title, body, keywords, .. } = draft;
    let (title, body) = (title.as_deref().unwrap_or_default(), body.as_deref().unwrap_or_default());
    content_hash(title, body, keywords.as_deref().unwrap_or_default())
}

/// Sets `expires` of a node that is past it; its text stays.
fn set_expiry(tx: &mut Transaction<'_>, id: NodeId, expires: Timestamp, now: Timestamp) -> Result<()> {
    let Some(node) = tx.node(id)? else { return Ok(()) };
    let version = node.version.saturating_add(1);
    tx.put_node(&Node { expires: Some(expires), modified: now, version, ..node })
}

fn store_one(tx: &mut Transaction<'_>, note: &ReadyNote, now: Timestamp) -> Result<StoredNote> {
    match note {
        ReadyNote::Restore(restore) => restore::apply(tx, restore, now),
        ReadyNote::Insert(prepared) => {
            let inserted = insert::apply(tx, prepared, now)?;
            let outcome = match (inserted.duplicate, inserted.updated) {
                (true, _) => StoreOutcome::Duplicate,
                (_, true) => StoreOutcome::Updated,
                _ => StoreOutcome::Inserted,
            };
            let edge_counts =
                EdgeCounts { keyword: inserted.keyword_edges, semantic: inserted.semantic_edges };
            Ok(StoredNote { id: inserted.id, key: inserted.key, outcome, edge_counts })
        }
    }
}
