//! Many notes, so many at a time: one transaction for each chunk.

use super::insert::{self, InsertReport};
use super::{Draft, Memory};
use poc_graph::error::{Code, Error, Result};
use poc_graph::normal_key;
use poc_store::Cause;
use rustc_hash::FxHashSet;

/// Bytes of text after which a chunk is closed before it has as many notes as it may.
const BYTES: usize = 8 << 20;

/// Stores notes in their order; each may be tied to those before it, and may name them. `draft` makes
/// of a note what is to be stored. Tells what became of each: a note that is wrong does not hinder the
/// others. `progress` is told how many are through after each transaction.
///
/// # Errors
/// Those of the store and of the embedder. The chunks before are stored then; they are recognised when
/// all is repeated.
pub fn insert_all<N>(
    memory: &Memory,
    notes: &[N],
    draft: impl Fn(&N) -> Result<Draft>,
    cause: &Cause,
    progress: &dyn Fn(u64),
) -> Result<Vec<Result<InsertReport>>> {
    let mut stored = Vec::new();
    let mut chunk = Chunk::of(memory.config.import.chunk);
    let mut pending = PendingNotes::default();
    for note in notes {
        let mut made = draft(note);
        if pending.may_be_named_by(&made) {
            stored.extend(store(memory, chunk.take(), cause)?);
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
            stored.extend(store(memory, chunk.take(), cause)?);
            progress(stored.len() as u64);
            pending = PendingNotes::default();
        }
    }
    stored.extend(store(memory, chunk.take(), cause)?);
    progress(stored.len() as u64);
    Ok(stored)
}

/// What a later note can be about before it is stored.
#[derive(Default)]
struct PendingNotes {
    keys: FxHashSet<String>,
    /// Whether one of them takes the place of a note that is stored.
    retires: bool,
}

impl PendingNotes {
    fn add(&mut self, draft: &Draft) {
        self.keys.extend(draft.likely_key());
        self.retires |= draft.supersedes.is_some();
    }

    /// Whether a note may be about one that waits: then that must be stored first.
    fn may_be_named_by(&self, made: &Result<Draft>) -> bool {
        match made {
            // What it names by a key may have lost that to another.
            Ok(draft) if draft.supersedes.is_some() => self.retires,
            Ok(draft) => {
                let key = draft.key.as_ref().filter(|_| draft.update);
                key.is_some_and(|key| self.retires || self.keys.contains(normal_key(key).as_ref()))
            }
            Err(error) => error.code == Code::NotFound && !self.keys.is_empty(),
        }
    }
}

/// Stores a chunk in one transaction.
fn store(memory: &Memory, chunk: Vec<Result<Draft>>, cause: &Cause) -> Result<Vec<Result<InsertReport>>> {
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
    let cause = Cause { at: memory.now(), ..cause.clone() };
    let now = cause.at;
    let done = memory.store.transact(cause, |tx| {
        let apply = |note: Result<insert::PreparedNote>| match note {
            Ok(note) => separate_note_errors(insert::apply(tx, &note, now)),
            Err(error) => Ok(Err(error)),
        };
        prepared.into_iter().map(apply).collect::<Result<Vec<_>>>()
    })?;
    let mut done = done.value.into_iter();
    let lost = || Err(Error::internal("a note of the batch got lost"));
    Ok(wrong.into_iter().map(|wrong| wrong.map_or_else(|| done.next().unwrap_or_else(lost), Err)).collect())
}

/// Notes that wait to be stored together.
pub(super) struct Chunk<T> {
    notes: Vec<T>,
    bytes: usize,
    most: usize,
}

impl<T> Chunk<T> {
    /// One that is full with so many notes, at least one.
    pub(super) fn of(most: usize) -> Self {
        Chunk { notes: Vec::new(), bytes: 0, most: most.max(1) }
    }

    /// Puts a note into it.
    pub(super) fn push(&mut self, note: T) {
        self.notes.push(note);
    }

    /// Counts text that was read for it.
    pub(super) fn add_bytes(&mut self, bytes: usize) {
        self.bytes += bytes;
    }

    /// Whether it should be stored before anything else is put into it.
    pub(super) fn is_full(&self) -> bool {
        self.notes.len() >= self.most || self.bytes >= BYTES
    }

    /// What is in it; it is empty then.
    pub(super) fn take(&mut self) -> Vec<T> {
        self.bytes = 0;
        std::mem::take(&mut self.notes)
    }
}

/// Tells an error of one note, which the others survive, from one of the store, which they do not.
pub(super) fn separate_note_errors<T>(result: Result<T>) -> Result<Result<T>> {
    match result {
        Err(error) if !is_note_error(&error) => Err(error),
        result => Ok(result),
    }
}

fn is_note_error(error: &Error) -> bool {
    matches!(error.code, Code::InvalidArgument | Code::Conflict | Code::NotFound | Code::Rejected)
}
