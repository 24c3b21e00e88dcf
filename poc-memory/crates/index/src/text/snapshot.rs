//! The saved form of the inverted index: the documents, and the terms with their packed postings, which stay packed
//! when the index is loaded.

use super::postings::{Lengths, Posting, Postings, Term};
use crate::error::IndexError;
use crate::packed_list::{PackedList, SharedBytes, pack};
use poc_graph::NodeId;
use poc_graph::error::Result;
use poc_rank::lookalike::WordSketch;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The id, the length of the title, the length of the body, and the digest of the words.
type SavedDocument = ([u8; 16], u32, u32, WordSketch);

#[derive(Serialize, Deserialize)]
struct SavedTerm<'a> {
    name: &'a str,
    /// The number of postings.
    count: u32,
    /// The number of postings with the term in that field.
    titles: u32,
    bodies: u32,
    #[serde(with = "serde_bytes", borrow)]
    postings: &'a [u8],
}

/// Encodes the index: the number of documents, the documents, the number of terms, the terms.
pub(super) fn encode(postings: &Postings) -> Result<Vec<u8>> {
    write(postings).map_err(|problem| IndexError::Encode { what: "text index", problem }.into())
}

fn write(postings: &Postings) -> postcard::Result<Vec<u8>> {
    let mut bytes = postcard::to_extend(&(postings.len() as u32), Vec::new())?;
    // Documents are numbered again without gaps.
    let mut positions: Vec<u32> = Vec::new();
    for (position, (slot, id, lengths, sketch)) in (0u32..).zip(postings.documents()) {
        positions.resize(slot as usize + 1, u32::MAX);
        if let Some(last) = positions.last_mut() {
            *last = position;
        }
        let document: SavedDocument = (*id.as_bytes(), lengths.title, lengths.body, sketch);
        bytes = postcard::to_extend(&document, bytes)?;
    }
    let position = |posting: Posting| {
        let document = positions.get(posting.document as usize).copied().unwrap_or(u32::MAX);
        Posting { document, ..posting }
    };
    bytes = postcard::to_extend(&(postings.terms().count() as u32), bytes)?;
    for term in postings.terms() {
        let packed = pack(term.postings.each().map(position));
        let saved = SavedTerm {
            name: &term.name,
            count: term.postings.len() as u32,
            titles: term.titles as u32,
            bodies: term.bodies as u32,
            postings: &packed,
        };
        bytes = postcard::to_extend(&saved, bytes)?;
    }
    Ok(bytes)
}

/// Decodes the index; `None` if the bytes are invalid. The packed postings are not read.
pub(super) fn decode(snapshot: Vec<u8>) -> Option<Postings> {
    let snapshot = Arc::new(snapshot);
    let mut postings = Postings::default();
    let (documents, mut bytes) = postcard::take_from_bytes::<u32>(&snapshot).ok()?;
    // Every document and every term takes at least one byte.
    postings.reserve((documents as usize).min(bytes.len()), 0);
    for _ in 0..documents {
        // The bytes of an id are stored as they are, and faster to read at once.
        let (id, after) = bytes.split_first_chunk()?;
        let ((title, body, sketch), rest) = postcard::take_from_bytes(after).ok()?;
        bytes = rest;
        postings.add_document(NodeId::from_bytes(*id), Lengths { title, body }, sketch);
    }
    let (terms, mut bytes) = postcard::take_from_bytes::<u32>(bytes).ok()?;
    postings.reserve(0, (terms as usize).min(bytes.len()));
    for _ in 0..terms {
        let (saved, rest) = postcard::take_from_bytes::<SavedTerm<'_>>(bytes).ok()?;
        bytes = rest;
        // The packed postings are the last field.
        let start = snapshot.len() - rest.len() - saved.postings.len();
        let packed = SharedBytes::part(&snapshot, saved.postings, start);
        postings.add_term(Term {
            name: saved.name.into(),
            postings: PackedList::packed(saved.count, packed),
            titles: saved.titles as usize,
            bodies: saved.bodies as usize,
        })?;
    }
    (bytes.is_empty() && postings.len() == documents as usize).then_some(postings)
}

/// The saved form of a decoded index.
#[cfg(any(fuzzing, test))]
pub(crate) fn saved_again(bytes: &[u8]) -> Option<Vec<u8>> {
    encode(&decode(bytes.to_vec())?).ok()
}
