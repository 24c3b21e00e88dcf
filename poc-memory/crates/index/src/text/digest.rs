//! Hashes of the text index's data about each note.

use super::postings::Postings;
use poc_store::NoteDigests;
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = FxHasher::default();
    value.hash(&mut hasher);
    hasher.finish()
}

impl Postings {
    /// For each note, the sum of the hashes of its terms, its lengths and its word sketch. It does not depend on the
    /// order in which notes and terms were added.
    pub(super) fn digests(&self) -> NoteDigests {
        let documents = self.documents();
        let mut sums: Vec<u64> = Vec::new();
        let mut ids = Vec::new();
        for (slot, id, lengths, sketch) in documents {
            let slot = slot as usize;
            sums.resize(sums.len().max(slot + 1), 0);
            if let Some(sum) = sums.get_mut(slot) {
                *sum = hash(&(lengths.title, lengths.body, format!("{sketch:?}")));
            }
            ids.push((slot, id));
        }
        for term in self.terms() {
            for posting in term.postings.each() {
                if let Some(sum) = sums.get_mut(posting.document as usize) {
                    *sum = sum.wrapping_add(hash(&(term.name.as_ref(), posting.title, posting.body)));
                }
            }
        }
        ids.into_iter().filter_map(|(slot, id)| Some((id, *sums.get(slot)?))).collect()
    }
}
