//! Imports a folder of Markdown, a Markdown file, or JSON Lines.
//!
//! Notes are read one by one and stored in chunks, one transaction each. An invalid note is reported with its
//! location and does not stop the import. Edges between notes are created after all notes are stored. Notes
//! that were imported before are recognised, so an interrupted import can simply be repeated.

mod edges;
mod foreign;
mod restore;
mod run;
mod sessions;
mod source;
mod stored;
#[cfg(test)]
mod tests;
mod wikilinks;

pub use run::ImportReport;
pub use source::{ImportOptions, ImportSource, SourceLocation};

use super::automatic_edges::EdgeCounts;
use super::batch::{Chunk, separate_note_errors};
use super::insert::{self, PreparedNote};
use super::interchange::Note;
use super::{Draft, Memory};
use poc_graph::error::{Error, Result};
use poc_graph::time::Timestamp;
use poc_graph::{Node, NodeId, normal_key};
use poc_store::{Cause, Tx};
use restore::Restore;
use run::{Import, PendingEdges, SessionNote};
use source::{ParsedNote, SourceNotes};
use std::collections::BTreeMap;
use std::collections::HashMap;
use stored::{Outcome, StoredNote};

/// A note of a chunk, ready to be stored.
enum ReadyNote {
    Restore(Box<Restore>),
    Insert(PreparedNote),
}

/// What to do with a note that is past `expires`.
enum ExpiredNote {
    /// Skip it: it does not exist, or has this date already.
    Skip,
    /// Set this date on the existing node.
    Expire(NodeId, Timestamp),
}

/// The names of the fields of notes of other tools.
pub fn fields() -> impl Iterator<Item = &'static str> {
    foreign::FIELDS.iter().flat_map(|field| field.names).copied()
}

/// Imports all notes of a source. Calls `progress` after each transaction with the number of finished notes and
/// the total, if known.
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
        locations: HashMap::new(),
    };
    let SourceNotes { total, notes, left_out } = source.open(&memory.config)?;
    import.report.left_out = left_out;
    let mut chunk = Chunk::of(memory.config.import.chunk);
    let mut done = 0;
    for (location, text) in notes {
        done += 1;
        let read = text.and_then(|text| {
            chunk.add_bytes(text.content.len());
            text.read(options, &import.cause.actor)
        });
        match read.and_then(|read| import.check_key(&location, read)) {
            Ok(read) => chunk.push((location, read)),
            Err(error) => import.report.failed.push((location, error)),
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
    // The failures of a chunk are only known when it is stored.
    import.report.failed.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(import.report)
}

impl Import<'_> {
    /// Refuses a second note with the same key, which would silently replace the first.
    fn check_key(&mut self, location: &SourceLocation, read: ParsedNote) -> Result<ParsedNote> {
        let key = match &read {
            ParsedNote::Exported(note) => Some(note.key.clone()),
            ParsedNote::Foreign(foreign) => foreign.draft.key.clone(),
        };
        if let Some(key) = key {
            // A former key names the same note as its key.
            let view = self.memory.store.view();
            let key = view.find_key(&normal_key(&key)).map_or(key, |ix| view.key(ix).to_owned());
            if let Some(first) = self.locations.get(&key) {
                return Err(Error::conflict(format!("the key `{key}` was given at {first} already"))
                    .hint("give each note a key of its own"));
            }
            self.locations.insert(key, location.clone());
        }
        Ok(read)
    }

    /// What to do with a draft that is past `expires`; `None` if it is not.
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

    /// Stores a chunk in one transaction.
    fn store(&mut self, chunk: Vec<(SourceLocation, ParsedNote)>) -> Result<()> {
        let mut drafts: Vec<Draft> = Vec::new();
        let mut notes: Vec<Note> = Vec::new();
        let mut order = Vec::with_capacity(chunk.len());
        let mut expiring = Vec::new();
        let now = self.memory.now();
        for (location, read) in chunk {
            match read {
                ParsedNote::Exported(note) => {
                    let edges = PendingEdges::Exported { id: note.id, edges: note.edges.clone() };
                    order.push((location, edges, true, None));
                    notes.push(*note);
                }
                ParsedNote::Foreign(foreign) => {
                    // The file of an expired note stays in its folder, so it must not be an error.
                    match self.expired(&foreign.draft, now)? {
                        Some(ExpiredNote::Skip) => {
                            self.report.expired.push(location);
                            continue;
                        }
                        Some(ExpiredNote::Expire(id, expires)) => {
                            expiring.push((id, expires));
                            continue;
                        }
                        None => {}
                    }
                    for field in &foreign.ignored {
                        *self.report.ignored.entry(field.clone()).or_default() += 1;
                    }
                    let turn = foreign.session.map(|session| (session, foreign.draft.created));
                    order.push((location, PendingEdges::foreign(foreign.names, foreign.links), false, turn));
                    drafts.push(foreign.draft);
                }
            }
        }
        let mut restores = restore::prepare_all(self.memory, notes)?.into_iter();
        let mut inserts = insert::prepare_all(self.memory, drafts)?.into_iter();
        let mut ready = Vec::with_capacity(order.len());
        for (location, edges, own, turn) in order {
            let note = if own {
                restores.next().map(|restore| restore.map(|restore| ReadyNote::Restore(Box::new(restore))))
            } else {
                inserts.next().map(|prepared| prepared.map(ReadyNote::Insert))
            };
            match note {
                Some(Ok(note)) => ready.push((location, edges, turn, note)),
                Some(Err(error)) => self.report.failed.push((location, error)),
                None => return Err(Error::internal("a note of the import got lost")),
            }
        }

        let cause = Cause { at: self.memory.now(), ..self.cause.clone() };
        let now = cause.at;
        self.report.updated += expiring.len() as u64;
        let stored = self.memory.store.transact(cause, |tx| {
            expiring.iter().try_for_each(|&(id, expires)| set_expiry(tx, id, expires, now))?;
            ready
                .iter()
                .map(|(.., note)| separate_note_errors(store_one(tx, note, now)))
                .collect::<Result<Vec<_>>>()
        })?;
        for ((location, mut edges, turn, _), stored) in ready.into_iter().zip(stored.value) {
            match stored {
                Ok(stored) => {
                    match stored.outcome {
                        Outcome::Inserted => self.report.inserted += 1,
                        Outcome::Updated => self.report.updated += 1,
                        Outcome::Duplicate => self.report.duplicates += 1,
                    }
                    self.report.keyword_edges += stored.edge_counts.keyword as u64;
                    self.report.semantic_edges += stored.edge_counts.semantic as u64;
                    if let Some(id) = edges.stored(&stored) {
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
                Err(error) => self.report.failed.push((location, error)),
            }
        }
        Ok(())
    }
}

/// Sets `expires` of a node that is past it; its text stays.
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
            let edge_counts =
                EdgeCounts { keyword: inserted.keyword_edges, semantic: inserted.semantic_edges };
            Ok(StoredNote { id: inserted.id, key: inserted.key, outcome, edge_counts })
        }
    }
}
