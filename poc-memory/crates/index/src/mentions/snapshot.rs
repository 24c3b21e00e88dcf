//! The saved form of the mention index: its words, with the bodies that contain each, and its notes. Words that no note
//! contains any more are omitted. The words of the bodies and the slots of the bodies stay packed when the index is
//! loaded.

use super::postings::{IndexedNote, MentionPostings, NumberedNote, packed_note};
use super::vocabulary::{MentionVocabulary, WordBodies};
use crate::error::IndexError;
use crate::packed_list::{PackedList, SharedBytes, pack};
use poc_graph::NodeId;
use poc_graph::error::Result;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

#[derive(Serialize, Deserialize)]
struct SavedWord<'a> {
    word: &'a str,
    /// The number of bodies that contain it.
    count: u32,
    /// The number of bodies with evidence that it is a name, and with evidence that it is a plain word.
    names: u32,
    plain: u32,
    /// The slots of the bodies; empty if there were too many to store.
    #[serde(with = "serde_bytes", borrow)]
    slots: &'a [u8],
}

#[derive(Serialize)]
struct SavedNote<'a> {
    id: [u8; 16],
    /// The words of the names and of the body.
    #[serde(with = "serde_bytes")]
    words: &'a [u8],
}

/// Encodes the index: the number of words, the words, the number of notes, the notes.
pub(super) fn encode(postings: &MentionPostings) -> Result<Vec<u8>> {
    write(postings).map_err(|problem| IndexError::Encode { what: "mention index", problem }.into())
}

fn write(postings: &MentionPostings) -> postcard::Result<Vec<u8>> {
    let vocabulary = postings.vocabulary();
    let mut used = vec![false; vocabulary.len()];
    // Notes get slots without gaps.
    let mut slots: Vec<u32> = Vec::new();
    let mut count = 0u32;
    for (slot, NumberedNote { names, body, .. }) in postings.notes() {
        slots.resize(slot as usize + 1, u32::MAX);
        if let Some(last) = slots.last_mut() {
            *last = count;
        }
        count += 1;
        for number in names.into_iter().flatten().chain(body.into_iter().map(|(number, _)| number)) {
            if let Some(used) = used.get_mut(number as usize) {
                *used = true;
            }
        }
    }
    let slot = |old: u32| slots.get(old as usize).copied().unwrap_or(u32::MAX);
    // Used words are renumbered in order.
    let mut numbers = vec![u32::MAX; used.len()];
    let kept = || (0u32..).zip(&used).filter(|(_, used)| **used).map(|(old, _)| old);
    let mut bytes = postcard::to_extend(&(kept().count() as u32), Vec::new())?;
    for (number, old) in (0u32..).zip(kept()) {
        if let Some(new) = numbers.get_mut(old as usize) {
            *new = number;
        }
        let Some(bodies) = vocabulary.bodies_with(old) else { continue };
        let packed = if bodies.has_slots() { pack(bodies.slots.each().map(slot)) } else { Vec::new() };
        let WordBodies { count, names, plain, .. } = *bodies;
        let saved = SavedWord { word: vocabulary.word(old), count, names, plain, slots: &packed };
        bytes = postcard::to_extend(&saved, bytes)?;
    }
    let renumbered = |old: u32| numbers.get(old as usize).copied().unwrap_or(u32::MAX);
    bytes = postcard::to_extend(&count, bytes)?;
    for (_, NumberedNote { id, names, body }) in postings.notes() {
        let names: Vec<Vec<u32>> =
            names.into_iter().map(|name| name.into_iter().map(renumbered).collect()).collect();
        let body = body.into_iter().map(|(number, spelling)| (renumbered(number), spelling));
        let note = SavedNote { id: *id.as_bytes(), words: &packed_note(&names, body) };
        bytes = postcard::to_extend(&note, bytes)?;
    }
    Ok(bytes)
}

/// Decodes the index; `None` if the bytes are invalid. What is packed is not read, except the names.
pub(super) fn decode(snapshot: Vec<u8>) -> Option<MentionPostings> {
    let snapshot = Arc::new(snapshot);
    // The part of the snapshot that ends where `rest` begins.
    let part = |part: &[u8], rest: &[u8]| {
        SharedBytes::part(&snapshot, part, snapshot.len() - rest.len() - part.len())
    };
    let (words, mut bytes) = postcard::take_from_bytes::<u32>(&snapshot).ok()?;
    // Every word and every note takes at least one byte.
    let size = (words as usize).min(bytes.len());
    let saved = (0..words).map_while(|_| {
        let (saved, rest) = postcard::take_from_bytes::<SavedWord<'_>>(bytes).ok()?;
        bytes = rest;
        let length = if saved.slots.is_empty() { 0 } else { saved.count };
        let slots = PackedList::packed(length, part(saved.slots, rest));
        let SavedWord { word, count, names, plain, .. } = saved;
        Some((word, WordBodies { count, names, plain, slots }))
    });
    let vocabulary = MentionVocabulary::restore_words(saved, size)?;
    let (notes, mut bytes) = postcard::take_from_bytes::<u32>(bytes).ok()?;
    let size = (notes as usize).min(bytes.len());
    let saved = (0..notes).map_while(|_| {
        // The bytes of an id are stored as they are, and faster to read at once.
        let (id, after) = bytes.split_first_chunk()?;
        let (words, rest) = postcard::take_from_bytes::<&[u8]>(after).ok()?;
        bytes = rest;
        Some(IndexedNote { id: NodeId::from_bytes(*id), words: part(words, rest) })
    });
    let postings = MentionPostings::restore(vocabulary, saved, size)?;
    let is_complete = postings.vocabulary().len() == words as usize && postings.len() == notes as usize;
    (bytes.is_empty() && is_complete).then_some(postings)
}

/// The saved form of a decoded index.
#[cfg(any(fuzzing, test))]
pub(crate) fn saved_again(bytes: &[u8]) -> Option<Vec<u8>> {
    encode(&decode(bytes.to_vec())?).ok()
}
