//! Which words are rare enough to relate two notes.

use poc_config::ScoreFusionConfig;

/// A word in at most this many notes is rare even in a small memory.
pub(super) const RARE_NOTES: usize = 3;

/// Maximum number of notes with a rare word, in a memory with `notes` notes: the number of notes with an identifier
/// that retrieval follows from one note to another.
pub(super) fn limit(notes: usize, config: &ScoreFusionConfig) -> usize {
    config.max_sharing(notes, RARE_NOTES)
}
