//! Taking notes in: a folder of Markdown, one Markdown file, or JSON Lines.
//!
//! Notes are read one by one and stored chunk by chunk, one transaction each; a note that is wrong
//! is reported with its place and the rest goes on. Edges between notes are made when all notes are
//! in. What was imported before is recognised, so an import that was broken off is simply repeated.

mod edges;
mod foreign;
mod restore;
mod sessions;
mod source;
#[cfg(test)]
mod tests;
mod wikilinks;

pub use source::ImportSource;

use super::batch::{Chunk, separate_note_errors};
use super::derived_edges::EdgeCounts;
use super::insert::{self, PreparedNote};
use super::interchange::Note;
use super::{Draft, Memory};
use edges::PendingEdges;
use poc_graph::error::{Error, Result};
use poc_graph::time::Timestamp;
use poc_graph::{Node, NodeId, normal_key};
use poc_store::{Cause, Tx};
use restore::Restore;
use sessions::SessionNote;
use source::SourceNotes;
use std::collections::BTreeMap;
use std::collections::HashMap;

/// What applies to notes that do not say otherwise.
#[derive(Clone, Debug, Default)]
pub struct ImportOptions {
    /// Type of notes that name none.
    pub node_type: Option<String>,
    /// Keywords added to every note.
    pub keywords: Vec<String>,
}

/// Where a note stands in its source.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SourceLocation {
    /// A line of JSON Lines, from 1.
    Line(u64),
    /// A file, relative to the folder.
    File(String),
}

/// What became of an import.
#[derive(Clone, Debug, Default)]
pub struct ImportReport {
    /// New nodes.
    pub inserted: u64,
    /// Nodes with a new version.
    pub updated: u64,
    /// Notes that were there already.
    pub duplicates: u64,
    /// Edges that the notes themselves named and that are new.
    pub edges: u64,
    /// Edges made to notes that share a keyword.
    pub keyword_edges: u64,
    /// Edges made to notes alike in meaning.
    pub semantic_edges: u64,
    /// Notes, or edges of notes, that could not be taken, and why.
    pub failed: Vec<(SourceLocation, Error)>,
    /// Links to notes that are not there.
    pub unresolved: Vec<(SourceLocation, String)>,
    /// Fields no meaning is known for, and how many notes had them.
    pub ignored: BTreeMap<String, u64>,
    /// Notes of other tools that are past their date and were not taken; what was there already stays.
    pub expired: Vec<SourceLocation>,
    /// Files of JSON Lines that stand in the folder beside its Markdown, and were not read.
    pub left_out: Vec<String>,
    /// The node that each note became or was already, in the order of the source.
    pub nodes: Vec<(SourceLocation, NodeId)>,
}

/// A note as read from its source.
enum ParsedNote {
    /// One that export wrote.
    Exported(Box<Note>),
    /// Any other.
    Foreign(Box<foreign::ForeignNote>),
}

/// A note of a chunk, ready to be stored.
enum ReadyNote {
    Restore(Box<Restore>),
    Insert(PreparedNote),
}

/// A note that is past its date.
enum ExpiredNote {
    /// It is not there, or with that date.
    Skip,
    /// It is there and gets that date.
    Expire(NodeId, Timestamp),
}

/// What storing a note did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Inserted,
    Updated,
    Duplicate,
}

/// A stored note.
struct StoredNote {
    id: NodeId,
    key: String,
    outcome: Outcome,
    /// Ties made by themselves.
    derived: EdgeCounts,
}

/// The names of the fields that notes of other tools may have.
pub fn fields() -> impl Iterator<Item = &'static str> {
    foreign::FIELDS.iter().flat_map(|field| field.names).copied()
}

/// Imports everything from a source. `progress` is told how many notes are through, and how many
/// there are in all when that is known, after each transaction.
pub fn import(
    memory: &Memory,
    source: &ImportSource,
    options: &ImportOptions,
    progress: &dyn Fn(u64, Option<u64>),
) -> Result<ImportReport> {
    let mut import = Import {
        memory,
        cause: memory.cause(&source.provenance(), "import"),
        report: ImportReport::default(),
        pending: Vec::new(),
        sessions: BTreeMap::new(),
        ids: HashMap::new(),
        places: HashMap::new(),
    };
    let SourceNotes { total, notes, left_out } = source.open(&memory.config)?;
    import.report.left_out = left_out;
    let mut chunk = Chunk::of(memory.config.import.chunk);
    let mut done = 0;
    for (place, text) in notes {
        done += 1;
        let read = text.and_then(|text| {
            chunk.add_bytes(text.content.len());
            text.read(options, &import.cause.actor)
        });
        match read.and_then(|read| import.check_key(&place, read)) {
            Ok(read) => chunk.push((place, read)),
            Err(error) => import.report.failed.push((place, error)),
        }
        if chunk.is_full() {
            import.store(chunk.take())?;
            progress(done, total);
        }
    }
    import.store(chunk.take())?;
    import.create_edges()?;
    import.link_sessions()?;
    progress(done, total.or(Some(done)));
    // A chunk finds its own failures only when it is stored.
    import.report.failed.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(import.report)
}

struct Import<'a> {
    memory: &'a Memory,
    cause: Cause,
    report: ImportReport,
    /// Edges to make when all notes are in.
    pending: Vec<(SourceLocation, PendingEdges)>,
    /// The notes of each session, in the order of the source.
    sessions: BTreeMap<String, Vec<SessionNote>>,
    /// Where an id of the source lives now, when not under that id.
    ids: HashMap<NodeId, NodeId>,
    /// Where each key of the source was first seen.
    places: HashMap<String, SourceLocation>,
}

impl Import<'_> {
    /// Refuses a second note with one key: the later would silently replace the earlier.
    fn check_key(&mut self, place: &SourceLocation, read: ParsedNote) -> Result<ParsedNote> {
        let key = match &read {
            ParsedNote::Exported(note) => Some(note.key.clone()),
            ParsedNote::Foreign(foreign) => foreign.draft.key.clone(),
        };
        if let Some(key) = key {
            if let Some(first) = self.places.get(&key) {
                return Err(Error::conflict(format!("the key `{key}` was given at {first} already"))
                    .hint("give each note a key of its own"));
            }
            self.places.insert(key, place.clone());
        }
        Ok(read)
    }

    /// What a note is to be that is past its date; `None` when it is not.
    fn expired(&self, draft: &Draft, now: Timestamp) -> Result<Option<ExpiredNote>> {
        let Some(expires) = draft.expires.filter(|expires| *expires <= now) else { return Ok(None) };
        let store = &self.memory.store;
        let key = draft.key.as_deref().map(normal_key);
        let there = key.map(|key| store.find_key(&key)).transpose()?.flatten();
        let there = there.map(|id| store.node(id)).transpose()?.flatten();
        Ok(Some(match there.filter(|there| there.expires != Some(expires)) {
            Some(there) => ExpiredNote::Expire(there.id, expires),
            None => ExpiredNote::Skip,
        }))
    }

    /// Stores a chunk in one transaction.
    fn store(&mut self, chunk: Vec<(SourceLocation, ParsedNote)>) -> Result<()> {
        let mut drafts: Vec<Draft> = Vec::new();
        let mut notes: Vec<Note> = Vec::new();
        let mut order = Vec::with_capacity(chunk.len());
        let mut ending = Vec::new();
        let now = self.memory.now();
        for (place, read) in chunk {
            match read {
                ParsedNote::Exported(note) => {
                    let edges = PendingEdges::Exported { id: note.id, edges: note.edges.clone() };
                    order.push((place, edges, true, None));
                    notes.push(*note);
                }
                ParsedNote::Foreign(foreign) => {
                    // Its file stays in its folder, so every import would fail on it.
                    match self.expired(&foreign.draft, now)? {
                        Some(ExpiredNote::Skip) => {
                            self.report.expired.push(place);
                            continue;
                        }
                        Some(ExpiredNote::Expire(id, expires)) => {
                            ending.push((id, expires));
                            continue;
                        }
                        None => {}
                    }
                    for field in &foreign.ignored {
                        *self.report.ignored.entry(field.clone()).or_default() += 1;
                    }
                    let turn = foreign.session.map(|session| (session, foreign.draft.created));
                    order.push((place, PendingEdges::foreign(foreign.names, foreign.links), false, turn));
                    drafts.push(foreign.draft);
                }
            }
        }
        let mut restores = restore::prepare_all(self.memory, notes)?.into_iter();
        let mut inserts = insert::prepare_all(self.memory, drafts)?.into_iter();
        let mut ready = Vec::with_capacity(order.len());
        for (place, edges, own, turn) in order {
            let note = if own {
                restores.next().map(|restore| restore.map(|restore| ReadyNote::Restore(Box::new(restore))))
            } else {
                inserts.next().map(|prepared| prepared.map(ReadyNote::Insert))
            };
            match note {
                Some(Ok(note)) => ready.push((place, edges, turn, note)),
                Some(Err(error)) => self.report.failed.push((place, error)),
                None => return Err(Error::internal("a note of the import got lost")),
            }
        }

        let cause = Cause { at: self.memory.now(), ..self.cause.clone() };
        let now = cause.at;
        self.report.updated += ending.len() as u64;
        let stored = self.memory.store.transact(cause, |tx| {
            ending.iter().try_for_each(|&(id, expires)| set_expiry(tx, id, expires, now))?;
            ready
                .iter()
                .map(|(.., note)| separate_note_errors(store_one(tx, note, now)))
                .collect::<Result<Vec<_>>>()
        })?;
        for ((place, mut edges, turn, _), stored) in ready.into_iter().zip(stored.value) {
            match stored {
                Ok(stored) => {
                    match stored.outcome {
                        Outcome::Inserted => self.report.inserted += 1,
                        Outcome::Updated => self.report.updated += 1,
                        Outcome::Duplicate => self.report.duplicates += 1,
                    }
                    self.report.keyword_edges += stored.derived.keyword as u64;
                    self.report.semantic_edges += stored.derived.semantic as u64;
                    if let Some(id) = edges.stored(&stored) {
                        self.ids.insert(id, stored.id);
                    }
                    if let Some((session, created)) = turn {
                        let created = created.unwrap_or(now);
                        let turn = SessionNote { id: stored.id, place: place.clone(), created };
                        self.sessions.entry(session).or_default().push(turn);
                    }
                    self.report.nodes.push((place.clone(), stored.id));
                    self.pending.push((place, edges));
                }
                Err(error) => self.report.failed.push((place, error)),
            }
        }
        Ok(())
    }
}

/// Gives a note the date it is past; its text stays.
fn set_expiry(tx: &mut Tx<'_>, id: NodeId, expires: Timestamp, now: Timestamp) -> Result<()> {
    let Some(node) = tx.node(id)? else { return Ok(()) };
    let version = node.version.saturating_add(1);
    tx.put_node(&Node { expires: Some(expires), modified: now, version, ..node })
}

fn store_one(tx: &mut Tx<'_>, note: &ReadyNote, now: Timestamp) -> Result<StoredNote> {
    match note {
        ReadyNote::Restore(restore) => restore::apply(tx, restore, now),
        ReadyNote::Insert(prepared) => {
            let inserted = insert::apply(tx, prepared, now)?;
            let outcome = match (inserted.duplicate, inserted.updated) {
                (true, _) => Outcome::Duplicate,
                (_, true) => Outcome::Updated,
                _ => Outcome::Inserted,
            };
            let derived = EdgeCounts { keyword: inserted.keyword_edges, semantic: inserted.semantic_edges };
            Ok(StoredNote { id: inserted.id, key: inserted.key, outcome, derived })
        }
    }
}

impl std::fmt::Display for SourceLocation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            SourceLocation::Line(line) => write!(f, "line {line}"),
            SourceLocation::File(file) => write!(f, "`{file}`"),
        }
    }
}
