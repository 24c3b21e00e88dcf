//! The saved form of the inverted index. It contains documents and postings, so opening it need not read any note.

use super::postings::{Lengths, Posting, Postings};
use crate::error::IndexError;
use poc_graph::NodeId;
use poc_graph::error::Result;
use poc_rank::lookalike::WordSketch;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Snapshot {
    // The id, the length of the title, the length of the body, and the digest of the words.
    documents: Vec<([u8; 16], u32, u32, WordSketch)>,
    terms: Vec<(String, Vec<Entry>)>,
}

/// The position of a document in the list, and the occurrences in its title and in its body.
type Entry = (u32, u16, u16);

/// Encodes the index.
pub(super) fn encode(postings: &Postings) -> Result<Vec<u8>> {
    let mut documents = Vec::with_capacity(postings.len());
    let mut positions: Vec<u32> = Vec::new();
    for (slot, id, lengths, sketch) in postings.documents() {
        positions.resize(slot as usize + 1, 0);
        if let Some(position) = positions.last_mut() {
            *position = documents.len() as u32;
        }
        documents.push((*id.as_bytes(), lengths.title, lengths.body, sketch));
    }
    let entry = |posting: &Posting| {
        let position = positions.get(posting.document as usize).copied().unwrap_or(u32::MAX);
        (position, posting.title, posting.body)
    };
    let terms =
        postings.terms().map(|term| (term.name.to_string(), term.postings.iter().map(entry).collect()));
    postcard::to_allocvec(&Snapshot { documents, terms: terms.collect() })
        .map_err(|problem| IndexError::Encode { what: "text index", problem }.into())
}

/// Decodes the index; `None` if the bytes are invalid.
pub(super) fn decode(bytes: &[u8]) -> Option<Postings> {
    let snapshot: Snapshot = postcard::from_bytes(bytes).ok()?;
    let mut postings = Postings::default();
    let count = snapshot.documents.len();
    for (id, title, body, sketch) in snapshot.documents {
        postings.add_document(NodeId::from_bytes(id), Lengths { title, body }, sketch);
    }
    for (name, entries) in snapshot.terms {
        let entries = entries.into_iter();
        let entries = entries.map(|(document, title, body)| Posting { document, title, body });
        postings.add_term(&name, entries.collect())?;
    }
    (postings.len() == count).then_some(postings)
}

/// The saved form of a decoded index.
#[cfg(any(fuzzing, test))]
pub(crate) fn saved_again(bytes: &[u8]) -> Option<Vec<u8>> {
    encode(&decode(bytes)?).ok()
}
