//! Keywords that people and agents have added to imported notes, and those of options of earlier imports. An import
//! that repeats or changes such a note keeps them.

use super::foreign::ForeignNote;
use super::run::Import;
use super::source_file::SourceFile;
use super::{ParsedNote, format};
use crate::Draft;
use crate::keyword_normalization::normalize;
use crate::markdown_frame::MarkdownFrame;
use poc_graph::Node;
use poc_graph::error::Result;

impl Import<'_> {
    /// The keywords that a Markdown file gave its note `stored` and does not contain any more. Other sources leave no
    /// record of what they gave their notes, so they remove no keyword.
    pub(super) fn removed_keywords(&self, stored: &Node, note: &ForeignNote) -> Result<Vec<String>> {
        let Some(frame) = &note.frame else { return Ok(Vec::new()) };
        let given = keywords_of(note);
        // Most notes have no keywords but those of their files.
        if stored.keywords.iter().all(|word| given.contains(word)) {
            return Ok(Vec::new());
        }
        let frames = MarkdownFrame::all(&self.memory.store, stored.id)?;
        let is_same =
            |other: &&MarkdownFrame| other.path == frame.path && other.provenance == frame.provenance;
        let Some(former) = frames.iter().find(is_same) else { return Ok(Vec::new()) };
        let text = former.file(&stored.body);
        let former = match format::vault_note(&text, &SourceFile::text_of(&text), self) {
            Ok(ParsedNote::Foreign(former)) => keywords_of(&former),
            _ => Vec::new(),
        };
        Ok(former.into_iter().filter(|word| !given.contains(word)).collect())
    }
}

/// Adds to a draft the keywords of the note that it updates, apart from those that its source has removed. Returns the
/// added ones.
pub(super) fn keep(draft: &mut Draft, stored: &Node, removed: &[String]) -> Vec<String> {
    // An invalid draft is reported when it is prepared.
    let Some(Ok(given)) = draft.keywords.as_deref().map(normalize) else { return Vec::new() };
    let is_added = |word: &&String| !given.contains(word) && !removed.contains(word);
    let added: Vec<String> = stored.keywords.iter().filter(is_added).cloned().collect();
    if !added.is_empty() {
        // In the order of the note, which gets a new version only if its keywords change.
        let stays = |word: &&String| given.contains(word) || added.contains(word);
        let kept = stored.keywords.iter().filter(stays);
        let new = given.iter().filter(|word| !stored.keywords.contains(word));
        draft.keywords = Some(kept.chain(new).cloned().collect());
    }
    added
}

/// The keywords of a note in their stored form.
fn keywords_of(note: &ForeignNote) -> Vec<String> {
    note.draft.keywords.as_deref().map(normalize).and_then(Result::ok).unwrap_or_default()
}
