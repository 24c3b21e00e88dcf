//! The digest of a file of a vault: the data that a sync needs without reading the file again.

use super::sketch;
use super::written_properties::{self, WrittenProperties};
use crate::import::references::without_extension;
use crate::import::{NoteLink, VaultNote, read_vault_note};
use crate::{Memory, draft, keyword_normalization};
use poc_graph::error::{Error, Result};
use poc_graph::time::Timestamp;
use poc_graph::{Category, Node, content_hash, former_title_of, is_title_of, normal_key, one_line, title_of};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The parts of a file that a sync compares.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct FileDigest {
    /// BLAKE3 of the bytes, or [`FileDigest::NO_HASH`].
    pub(super) bytes: [u8; 32],
    /// The hash of title, text and keywords. Files with the same hash are names of one note. A title that is made from
    /// the text is the one that earlier releases made, so that the hashes in their records are the same.
    pub(super) content: [u8; 32],
    /// The key in the front matter, if there is one.
    pub(super) own_key: Option<String>,
    /// The key derived from the path.
    pub(super) path_key: String,
    /// Other names that links may use.
    pub(super) names: Vec<String>,
    /// The links of the file.
    pub(super) links: Vec<NoteLink>,
    /// The session of the note, if it has one.
    pub(super) session: Option<String>,
    /// The properties in the front matter.
    pub(super) given: FileProperties,
    /// The properties that write-back has added to the front matter.
    pub(super) written: WrittenProperties,
    /// The sketch of the text, for similarity.
    pub(super) sketch: Vec<u32>,
}

/// The properties that a file sets on its note. Properties that are removed from the file are reset, unless
/// somebody else changed them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct FileProperties {
    pub(super) keywords: Vec<String>,
    pub(super) node_type: Option<String>,
    pub(super) category: Option<Category>,
    pub(super) author: Option<String>,
    pub(super) source: Option<String>,
    pub(super) emotion: Option<f32>,
    pub(super) expires: Option<Timestamp>,
}

/// A file that was read: its digest, and the note.
pub(super) struct ReadFile {
    pub(super) digest: FileDigest,
    /// The content hash of the note.
    pub(super) note_content: [u8; 32],
    pub(super) note: VaultNote,
}

/// Reads the text of the file at `path`. `name` is its path in the folder of the vault.
///
/// # Errors
/// `invalid_argument` if it cannot become a note.
pub(super) fn read(
    memory: &Memory,
    path: &Path,
    name: &str,
    bytes: &[u8],
    provenance: &str,
) -> Result<ReadFile> {
    if bytes.contains(&0) {
        return Err(Error::invalid("it is a binary file").hint("give it another extension"));
    }
    let text = std::str::from_utf8(bytes).map_err(|error| {
        Error::invalid(format!("it is not UTF-8: byte {} is invalid", error.valid_up_to() + 1))
            .hint("save it as UTF-8")
    })?;
    let mut note = read_vault_note(memory, path, name, text, provenance)?;
    let written = take_written(&mut note);
    let words = note.draft.keywords.take().unwrap_or_default();
    let words = keyword_normalization::normalize(&words)?;
    let body = draft::tidy(note.draft.body.as_deref().unwrap_or_default());
    let title = note.draft.title.as_deref().map(one_line).filter(|title| !title.is_empty());
    let title = title.or_else(|| title_of(&body)).unwrap_or_default();
    let former_title = note.draft.former_title.as_ref().unwrap_or(&title);
    let note_content = content_hash(&title, &body, &words);
    let limit = memory.config.insert.max_node_bytes;
    draft::check_size(&title, &body, &words, limit)?;
    note.draft.keywords = Some(words.clone());
    // A note may have several files, so a sync sets their names after it has stored the texts.
    note.draft.other_names = None;
    let key = note.draft.key.as_deref().map(crate::key::checked).transpose()?.unwrap_or_default();
    let digest = FileDigest {
        bytes: *blake3::hash(bytes).as_bytes(),
        content: content_hash(former_title, &body, &words),
        own_key: note.has_own_key.then_some(key),
        path_key: path_key(name)?,
        names: note.names.clone(),
        links: note.links.clone(),
        session: note.session.clone(),
        given: FileProperties {
            keywords: words,
            node_type: note.draft.node_type.clone(),
            category: note.draft.category,
            author: note.draft.author.as_deref().map(one_line).filter(|author| !author.is_empty()),
            source: note.draft.source.as_deref().map(one_line).filter(|source| !source.is_empty()),
            emotion: note.draft.emotion,
            expires: note.draft.expires,
        },
        written,
        sketch: sketch::of(&format!("{title} {body}")),
    };
    Ok(ReadFile { digest, note_content, note })
}

impl FileDigest {
    /// The `bytes` of a file whose note does not have what is in the file. The next sync reads the file.
    pub(super) const NO_HASH: [u8; 32] = [0; 32];

    /// Whether the note has what was read from the file.
    pub(super) fn has_hash(&self) -> bool {
        self.bytes != FileDigest::NO_HASH
    }

    /// Whether a note has the title and the text of the file. Keywords are not compared, because others may have added
    /// some.
    pub(super) fn is_text_of(&self, note: &Node) -> bool {
        let has_title = |title: &str| content_hash(title, &note.body, &self.given.keywords) == self.content;
        let former = || former_title_of(&note.body).filter(|_| is_title_of(&note.title, &note.body));
        has_title(&note.title) || former().is_some_and(|title| has_title(&title))
    }

    /// The digest, without a hash, of a file that was moved to the path `name` and cannot be read there.
    pub(super) fn unread_at(&self, name: &str) -> Result<FileDigest> {
        let path_key = path_key(name)?;
        let of_path = |name: &String| if *name == self.path_key { path_key.clone() } else { name.clone() };
        let names = self.names.iter().map(of_path).collect();
        Ok(FileDigest { bytes: FileDigest::NO_HASH, names, path_key, ..self.clone() })
    }
}

/// The key that is derived from the path of a file.
fn path_key(name: &str) -> Result<String> {
    crate::key::checked(&normal_key(without_extension(name)))
}

/// Removes the links that write-back has added, because they are edges already.
fn take_written(note: &mut VaultNote) -> WrittenProperties {
    let mut written = WrittenProperties::default();
    note.links.retain(|link| {
        match link.reason.as_str() {
            written_properties::LINKS => written.links.push(link.target.clone()),
            written_properties::REPLACED_BY => written.replaced_by = Some(link.target.clone()),
            _ => return true,
        }
        false
    });
    written
}
