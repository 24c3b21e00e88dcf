//! The saved form of the mention index: its words and notes. Words that no note contains any more are omitted.

use super::packed;
use super::postings::{MentionPostings, NumberedNote};
use crate::error::IndexError;
use poc_graph::NodeId;
use poc_graph::error::Result;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Snapshot {
    words: Vec<String>,
    notes: Vec<SavedNote>,
}

#[derive(Serialize, Deserialize)]
struct SavedNote {
    id: [u8; 16],
    // The words of each name.
    names: Vec<Vec<u32>>,
    // The words of the body, packed.
    body: Vec<u8>,
}

/// Encodes the index.
pub(super) fn encode(postings: &MentionPostings) -> Result<Vec<u8>> {
    let vocabulary = postings.vocabulary();
    let mut used = vec![false; vocabulary.len()];
    for NumberedNote { names, body, .. } in postings.notes() {
        for number in names.into_iter().flatten().chain(body.into_iter().map(|(number, _)| number)) {
            if let Some(used) = used.get_mut(number as usize) {
                *used = true;
            }
        }
    }
    // Used words are renumbered in order.
    let mut next = 0;
    let mut numbers = vec![0; used.len()];
    let mut words = Vec::new();
    for ((old, used), number) in (0u32..).zip(&used).zip(&mut numbers) {
        if *used {
            *number = next;
            next += 1;
            words.push(vocabulary.word(old).to_owned());
        }
    }
    let renumbered = |old: u32| numbers.get(old as usize).copied().unwrap_or(u32::MAX);
    let note = |words: NumberedNote| {
        let mut body = Vec::new();
        words
            .body
            .iter()
            .for_each(|&(number, spelling)| packed::push(&mut body, (renumbered(number), spelling)));
        let renumbered = |name: Vec<u32>| name.into_iter().map(renumbered).collect();
        let names = words.names.into_iter().map(renumbered).collect();
        SavedNote { id: *words.id.as_bytes(), names, body }
    };
    let notes = postings.notes().map(note).collect();
    postcard::to_allocvec(&Snapshot { words, notes })
        .map_err(|problem| IndexError::Encode { what: "mention index", problem }.into())
}

/// Decodes the index; `None` if the bytes are invalid.
pub(super) fn decode(bytes: &[u8]) -> Option<MentionPostings> {
    let Snapshot { words, notes } = postcard::from_bytes(bytes).ok()?;
    let mut postings = MentionPostings::default();
    for (number, word) in (0u32..).zip(&words) {
        if postings.word_number(word) != number {
            return None;
        }
    }
    let known = |number: u32| (number as usize) < words.len();
    for SavedNote { id, names, body } in notes {
        let body: Vec<packed::PackedWord> = packed::words(&body).collect();
        if !names.iter().flatten().copied().chain(body.iter().map(|(number, _)| *number)).all(known) {
            return None;
        }
        postings.load(NodeId::from_bytes(id), &names, &body);
    }
    Some(postings)
}

/// The saved form of a decoded index.
#[cfg(any(fuzzing, test))]
pub(crate) fn saved_again(bytes: &[u8]) -> Option<Vec<u8>> {
    encode(&decode(bytes)?).ok()
}
