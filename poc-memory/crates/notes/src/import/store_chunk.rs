//! Stores the notes of a chunk in one transaction.

use super::copies::name_after_file;
use super::restore::{self, Restore};
use super::run::{Import, PendingEdges, SessionNote};
use super::stored::{StoreOutcome, StoredNote};
use super::{ParsedNote, SourceLocation, kept_keywords, outdated, source};
use crate::automatic_edges::EdgeCounts;
use crate::batch::separate_note_errors;
use crate::insert::{self, PreparedNote};
use crate::interchange::Note;
use crate::markdown_frame::{MarkdownFrame, Properties};
use crate::samples::InsertSamples;
use crate::{Draft, supersede};
use poc_graph::error::{Error, Result};
use poc_graph::time::Timestamp;
use poc_graph::{Node, NodeId, escape_line, normal_key};
use poc_store::Transaction;
use std::path::Path;

/// A note of a chunk, ready to be stored.
enum ReadyNote {
    Restore(Box<Restore>),
    Insert(PreparedNote),
}

impl ReadyNote {
    /// Whether it is stored after the others of its chunk: see [`PreparedNote::follows_change`].
    fn follows_change(&self) -> bool {
        matches!(self, ReadyNote::Insert(prepared) if prepared.follows_change())
    }
}

/// The treatment of a note that is past `expires`.
enum ExpiredNote {
    /// Skip it, because the node does not exist or already has this date.
    Skip,
    /// Set this date on the existing node.
    Expire(NodeId, Timestamp),
}

/// A note of a chunk, apart from its content.
struct ChunkEntry {
    location: SourceLocation,
    /// The key that its source gives it.
    key: Option<String>,
    edges: PendingEdges,
    /// Whether this program has exported it. Its content is then in [`SortedChunk::exported`], else in `drafts`.
    is_exported: bool,
    /// Its place in a session.
    turn: Option<ChunkTurn>,
    frame: Option<MarkdownFrame>,
    /// The keywords that the note keeps although its source does not contain them.
    kept_keywords: Vec<String>,
}

/// The place of a note in a session.
struct ChunkTurn {
    session: String,
    /// When it was written, if that is known.
    created: Option<Timestamp>,
    /// Its number in the session, if the source has one.
    position: Option<f64>,
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

impl Import<'_> {
    /// Stores a chunk in one transaction.
    pub(super) fn store(&mut self, chunk: Vec<(SourceLocation, ParsedNote)>) -> Result<()> {
        let sorted = self.sort(chunk)?;
        let expiring = sorted.expiring.clone();
        let ready = self.prepare(sorted)?;
        let cause = self.cause();
        let now = cause.at;
        self.report.updated += expiring.len() as u64;
        let stored = self.memory.store.transact(cause, |tx| {
            let mut samples = InsertSamples::default();
            expiring.iter().try_for_each(|&(id, expires)| set_expiry(tx, id, expires, now))?;
            let (last, first): (Vec<_>, Vec<_>) =
                ready.iter().enumerate().partition(|(_, (_, note))| note.follows_change());
            let mut stored = Vec::with_capacity(ready.len());
            for (place, (entry, note)) in first.into_iter().chain(last) {
                self.replace_copy(tx, entry, note, now)?;
                let outcome = separate_note_errors(store_one(tx, note, now, &mut samples))?;
                let mut other_file = None;
                if let (Ok(stored), Some(frame)) = (&outcome, &entry.frame) {
                    other_file = self.put_frame(tx, stored.id, frame, &entry.kept_keywords)?;
                    name_after_file(tx, stored, entry.key.as_deref(), frame)?;
                }
                stored.push((place, outcome, other_file));
            }
            stored.sort_by_key(|(place, ..)| *place);
            samples.store(tx, self.memory.embedder.name())?;
            Ok(stored)
        })?;
        for ((entry, _), (_, stored, other_file)) in ready.into_iter().zip(stored.value) {
            match stored {
                Ok(stored) => {
                    let is_updated = stored.outcome == StoreOutcome::Updated;
                    if let Some(other) = other_file.filter(|_| is_updated) {
                        self.report.warnings.push((entry.location.clone(), changed_note_of(&other)));
                    }
                    self.record(entry, &stored, now);
                }
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
                        kept_keywords: Vec::new(),
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
                    if foreign.frame.is_some() {
                        self.keep_names_of_copies(&mut foreign.draft)?;
                    }
                    let mut kept = Vec::new();
                    if let Some(stored) = self.updated_note(&foreign.draft)? {
                        let removed = self.removed_keywords(&stored, &foreign)?;
                        if outdated::is_outdated(self.memory, &stored, &foreign.draft, &removed)? {
                            self.report.warnings.push((location.clone(), unchanged_source()));
                            let Draft { key, other_names, provenance, trust, .. } = foreign.draft;
                            foreign.draft =
                                Draft { key, other_names, update: true, ..Draft::new(provenance, trust) };
                            foreign.frame = None;
                        } else {
                            kept = kept_keywords::keep(&mut foreign.draft, &stored, &removed);
                        }
                    }
                    for field in &foreign.ignored {
                        *self.report.ignored.entry(field.clone()).or_default() += 1;
                    }
                    sorted.entries.push(ChunkEntry {
                        location,
                        key: foreign.draft.key.clone(),
                        edges: PendingEdges::foreign(foreign.names, foreign.aliases, foreign.links),
                        is_exported: false,
                        turn: foreign.session.map(|session| ChunkTurn {
                            session,
                            created: foreign.draft.created,
                            position: foreign.session_position,
                        }),
                        frame: foreign.frame,
                        kept_keywords: kept,
                    });
                    sorted.drafts.push(foreign.draft);
                }
            }
        }
        Ok(sorted)
    }

    /// The stored note that a draft updates.
    fn updated_note(&self, draft: &Draft) -> Result<Option<Node>> {
        let Some(key) = draft.key.as_deref().filter(|_| draft.update) else { return Ok(None) };
        let store = &self.memory.store;
        let id = store.find_key(&normal_key(key))?;
        Ok(id.map(|id| store.node(id)).transpose()?.flatten())
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

    /// Stores the frame of a note, and deletes frames of files that no longer exist in the same folder. Returns the path of
    /// another file that has the note if the file of the frame did not have it.
    fn put_frame(
        &self,
        tx: &mut Transaction<'_>,
        id: NodeId,
        frame: &MarkdownFrame,
        kept_keywords: &[String],
    ) -> Result<Option<String>> {
        let (gone, others): (Vec<_>, Vec<_>) =
            MarkdownFrame::all(tx, id)?.into_iter().partition(|old| self.is_gone(old));
        gone.iter().try_for_each(|old| old.delete(tx, id))?;
        let Some(node) = tx.node(id)? else { return Ok(None) };
        let mut imported = Properties::of(&node);
        // An export writes these into the file, which does not contain them.
        imported.keywords.retain(|word| !kept_keywords.contains(word));
        MarkdownFrame { imported, ..frame.clone() }.put(tx, id)?;
        // A file with the same path in another folder may be the same file, which was moved with its folder.
        let has_path = others.iter().any(|other| other.path == frame.path);
        Ok(others.into_iter().map(|other| other.path).next().filter(|_| !has_path))
    }

    /// Whether the file of a frame belonged to the folder that is read, and no longer exists there.
    pub(super) fn is_gone(&self, frame: &MarkdownFrame) -> bool {
        let path = Path::new(&frame.path);
        let is_unknown = self.unread_folders.iter().any(|folder| path.starts_with(folder));
        let is_missing = !self.files.is_empty() && !self.files.contains(&frame.path) && !is_unknown;
        frame.provenance == self.provenance() && path.starts_with(&self.below) && is_missing
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
        if let Some(ChunkTurn { session, created, position }) = turn {
            let created = created.unwrap_or(now);
            let turn = SessionNote { id: stored.id, location: location.clone(), created, position };
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

/// The warning that a note keeps a change that was made in the memory.
fn unchanged_source() -> Error {
    Error::conflict("the note has changed since it was imported, but its source has not")
        .hint("the note stays as it is; change the source, or delete the note, to import it again")
}

/// The warning that a file has changed the note that another file had alone until then.
fn changed_note_of(other: &str) -> Error {
    Error::conflict(format!("it changed the note of `{}`, which has the same key", escape_line(other)))
        .hint("if it is another note, undo the import and give the file a key of its own")
}

/// Sets `expires` of a node that is past it; its text stays.
fn set_expiry(tx: &mut Transaction<'_>, id: NodeId, expires: Timestamp, now: Timestamp) -> Result<()> {
    let Some(node) = tx.node(id)? else { return Ok(()) };
    let version = node.version.saturating_add(1);
    tx.put_node(&Node { expires: Some(expires), modified: now, version, ..node })
}

fn store_one(
    tx: &mut Transaction<'_>,
    note: &ReadyNote,
    now: Timestamp,
    samples: &mut InsertSamples,
) -> Result<StoredNote> {
    match note {
        ReadyNote::Restore(restore) => restore::apply(tx, restore, now),
        ReadyNote::Insert(prepared) => {
            let inserted = insert::apply_with(tx, prepared, now, samples)?;
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
