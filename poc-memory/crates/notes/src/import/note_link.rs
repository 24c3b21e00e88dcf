//! A link from one note to another, as a file states it.

use serde::{Deserialize, Serialize};

/// A link of a note.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct NoteLink {
    /// The name of the note it leads to, as written.
    pub target: String,
    /// Why it exists; may be empty.
    pub reason: String,
    /// Whether the target is a path that starts at the folder of the file.
    pub is_path: bool,
    /// The name of the note where it begins, if that is another note than the one that contains it.
    pub from: Option<String>,
}

impl From<String> for NoteLink {
    fn from(target: String) -> NoteLink {
        NoteLink { target, ..NoteLink::default() }
    }
}
