//! Inserts many notes in chunks, one transaction each.

use super::insert::{self, InsertReport};
use super::{Draft, Memory};
use poc_graph::error::{Code, Error, Result};
use poc_graph::{cancellation, normal_key};
use poc_store::Cause;
use rustc_hash::FxHashSet;

/// Number of bytes of text at which a chunk is closed even if it has fewer notes than the maximum.
const BYTES: usize = 8 << 20;

/// Stores notes in order; each may refer to those before it. `draft` turns a note into the draft to store.
/// Returns one result per note: an invalid note does not affect the others. Calls `progress` with the number of
/// finished notes after each transaction.
///
/// # Errors
/// `unavailable` when the embedder cannot be reached, `read_only` when the disk fails a write. Earlier chunks stay
/// stored, and repeating the call recognises their notes as duplicates.
pub fn insert_all<N>(
    memory: &Memory,
    notes: &[N],
    draft: impl Fn(&N) -> Result<Draft>,
    cause: &Cause,
    progress: &dyn Fn(u64),
) -> Result<Vec<Result<InsertReport>>> {
    let finish = |chunk, stored: &mut Vec<Result<InsertReport>>| -> Result<()> {
        let place = stored.len();
        for (done, note) in store(memory, chunk, cause)?.into_iter().zip(notes.iter().skip(place)) {
            stored.push(match done.transpose() {
                Some(done) => done,
                // Another writer was faster, so the note is prepared again.
                None => {
                    let cause = cause.part(memory.now());
                    let done = insert::commit(memory, || draft(note), cause);
                    separate_note_errors(done)?
                }
            });
        }
        Ok(())
    };
    let mut stored = Vec::new();
    let mut chunk = Chunk::of(memory.config.import.chunk);
    let mut pending = PendingNotes::default();
    for note in notes {
        cancellation::check()?;
        let mut made = draft(note);
        if pending.may_be_named_by(&made) {
            finish(chunk.take(), &mut stored)?;
            progress(stored.len() as u64);
            pending = PendingNotes::default();
            made = draft(note);
        }
        if let Ok(draft) = &made {
            pending.add(draft);
            let texts = [&draft.title, &draft.body].into_iter().flatten();
            chunk.add_bytes(texts.map(String::len).sum());
        }
        chunk.push(made);
        if chunk.is_full() {
            finish(chunk.take(), &mut stored)?;
            progress(stored.len() as u64);
            pending = PendingNotes::default();
        }
    }
    finish(chunk.take(), &mut stored)?;
    progress(stored.len() as u64);
    Ok(stored)
}

/// The notes of the current chunk that a later note may refer to.
#[derive(Default)]
struct PendingNotes {
    keys: FxHashSet<String>,
    /// Whether a pending note supersedes a stored note.
    retires: bool,
}

impl PendingNotes {
    fn add(&mut self, draft: &Draft) {
        self.keys.extend(draft.likely_key());
        self.retires |= draft.supersedes.is_some();
    }

    /// Whether a note may refer to a pending one, which must then be stored first.
    fn may_be_named_by(&self, made: &Result<Draft>) -> bool {
        match made {
            // The key that the draft names may belong to another note after a pending supersession.
            Ok(draft) if draft.supersedes.is_some() => self.retires,
            Ok(draft) => {
                let key = draft.key.as_ref().filter(|_| draft.update);
                key.is_some_and(|key| self.retires || self.keys.contains(normal_key(key).as_ref()))
            }
            Err(error) => error.code == Code::NotFound && !self.keys.is_empty(),
        }
    }
}

/// Stores a chunk in one transaction. The result is `None` for notes that must be prepared again.
fn store(
    memory: &Memory,
    chunk: Vec<Result<Draft>>,
    cause: &Cause,
) -> Result<Vec<Result<Option<InsertReport>>>> {
    let mut wrong: Vec<Option<Error>> = Vec::with_capacity(chunk.len());
    let mut drafts = Vec::new();
    for draft in chunk {
        match draft {
            Ok(draft) => {
                drafts.push(draft);
                wrong.push(None);
            }
            Err(error) => wrong.push(Some(error)),
        }
    }
    let prepared = insert::prepare_all(memory, drafts)?;
    let cause = cause.part(memory.now());
    let now = cause.at;
    let done = memory.store.transact(cause, |tx| {
        let apply = |note: &Result<insert::PreparedNote>| match note {
            Ok(note) if note.is_outdated(tx)? => Ok(Ok(None)),
            Ok(note) => separate_note_errors(insert::apply(tx, note, now).map(Some)),
            Err(error) => Ok(Err(error.clone())),
        };
        prepared.iter().map(apply).collect::<Result<Vec<_>>>()
    })?;
    let mut done = done.value.into_iter();
    let lost = || Err(Error::internal("a note of the batch is missing"));
    Ok(wrong.into_iter().map(|wrong| wrong.map_or_else(|| done.next().unwrap_or_else(lost), Err)).collect())
}

/// Notes to be stored in one transaction.
pub(super) struct Chunk<T> {
    notes: Vec<T>,
    bytes: usize,
    max: usize,
}

impl<T> Chunk<T> {
    /// An empty chunk for at most `max` notes, at least one.
    pub(super) fn of(max: usize) -> Self {
        Chunk { notes: Vec::new(), bytes: 0, max: max.max(1) }
    }

    /// Adds a note.
    pub(super) fn push(&mut self, note: T) {
        self.notes.push(note);
    }

    /// Counts bytes of text towards the limit.
    pub(super) fn add_bytes(&mut self, bytes: usize) {
        self.bytes += bytes;
    }

    /// Whether it must be stored before another note is added.
    pub(super) fn is_full(&self) -> bool {
        self.notes.len() >= self.max || self.bytes >= BYTES
    }

    /// Takes the notes out and leaves the chunk empty.
    pub(super) fn take(&mut self) -> Vec<T> {
        self.bytes = 0;
        std::mem::take(&mut self.notes)
    }
}

/// Separates the errors of a single note (inner result), which do not stop the batch, from those of the store
/// (outer result), which do.
pub(super) fn separate_note_errors<T>(result: Result<T>) -> Result<Result<T>> {
    match result {
        Err(error) if !is_note_error(&error) => Err(error),
        result => Ok(result),
    }
}

fn is_note_error(error: &Error) -> bool {
    matches!(error.code, Code::InvalidArgument | Code::Conflict | Code::NotFound | Code::Rejected)
}
