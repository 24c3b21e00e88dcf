//! Divides notes whose texts a sync keeps, but whose records it changes, into chunks: one transaction each.

use poc_graph::{NodeId, View};

/// Number of notes of one transaction. It is small in tests, so that their syncs have several transactions.
pub(super) const CHUNK_NOTES: usize = if cfg!(test) { 8 } else { 1000 };

/// Number of characters of the texts of these notes. The log has each text twice, before and after the change, and
/// limits the length of a transaction.
const CHUNK_CHARS: usize = if cfg!(test) { 10_000 } else { 4 << 20 };

/// Joins groups of notes, or of changes of one note each, into chunks of about [`CHUNK_NOTES`] notes and
/// [`CHUNK_CHARS`] characters. Each group comes with the number of its characters, and is not divided.
pub(super) fn chunks_of<T>(groups: impl IntoIterator<Item = (Vec<T>, usize)>) -> Vec<Vec<T>> {
    let mut chunks: Vec<Vec<T>> = Vec::new();
    let mut chars = 0;
    for (group, more) in groups {
        let fits = chars + more <= CHUNK_CHARS;
        match chunks.last_mut().filter(|chunk| fits && chunk.len() + group.len() <= CHUNK_NOTES) {
            Some(chunk) => {
                chunk.extend(group);
                chars += more;
            }
            None => {
                chunks.push(group);
                chars = more;
            }
        }
    }
    chunks
}

/// The number of characters of the text of a note; 0 if it does not exist.
pub(super) fn text_chars(view: &View, id: NodeId) -> usize {
    view.find(id).map_or(0, |ix| view.body_len(ix) as usize)
}
