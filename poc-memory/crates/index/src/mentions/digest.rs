//! Hashes of the mention index's data about each note.

use super::packed;
use super::postings::MentionPostings;
use poc_store::NoteDigests;
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};

impl MentionPostings {
    /// A hash of each note's names and of the words of its body. Words are hashed as text, because their numbers depend
    /// on the order in which they were added.
    pub(super) fn digests(&self) -> NoteDigests {
        let vocabulary = self.vocabulary();
        let digest = |names: Vec<Vec<u32>>, body: Vec<packed::PackedWord>| {
            let mut hasher = FxHasher::default();
            let mut names: Vec<Vec<&str>> = names
                .iter()
                .map(|name| name.iter().map(|number| vocabulary.word(*number)).collect())
                .collect();
            names.sort_unstable();
            names.hash(&mut hasher);
            for (number, spelling) in body {
                vocabulary.word(number).hash(&mut hasher);
                format!("{spelling:?}").hash(&mut hasher);
            }
            hasher.finish()
        };
        self.notes().map(|(_, note)| (note.id, digest(note.names, note.body))).collect()
    }
}
