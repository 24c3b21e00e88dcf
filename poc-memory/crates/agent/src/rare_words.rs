//! Which words are rare enough to relate two notes.

/// A word in at most this many notes is rare even in a small memory.
const RARE_NOTES: usize = 3;

/// Maximum number of notes with a rare word, in a memory with `notes` notes. `shared_by` is the maximum number of notes
/// with a name that retrieval follows from one note to another.
pub(super) fn limit(notes: usize, shared_by: usize) -> usize {
    shared_by.min((notes / 10).max(RARE_NOTES))
}
