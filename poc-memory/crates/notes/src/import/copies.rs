//! Files with the same text, which are one note. The note has the names of all of them.

use super::references::{is_markdown, without_extension};
use super::run::Import;
use super::source_file::Sample;
use super::stored::{StoreOutcome, StoredNote};
use crate::markdown_frame::MarkdownFrame;
use crate::{Draft, front_matter, key};
use poc_graph::error::Result;
use poc_graph::{MAX_ALIASES, normal_key};
use poc_store::Transaction;
use std::collections::HashMap;

/// Words in the names of folders with copies and former versions of files.
const FOLDERS_OF_COPIES: [&str; 13] = [
    "archiv", "archive", "archived", "archives", "backup", "backups", "bak", "copies", "copy", "obsolete",
    "old", "trash", "versions",
];

/// The place of a file among files with the same text. The note has the properties of the first, and a new note has its
/// key. Files outside of folders of copies come first, then those with few folders, then those with a short path.
pub(crate) type CopyRank<'a> = (bool, usize, usize, &'a str);

/// The rank of the file at a path.
pub(crate) fn copy_rank(path: &str) -> CopyRank<'_> {
    let folders = path.rsplit_once('/').map_or("", |(folders, _)| folders);
    let mut words = folders.split(|c: char| !c.is_alphanumeric());
    let is_of_copies = words.any(|word| FOLDERS_OF_COPIES.contains(&word.to_lowercase().as_str()));
    (is_of_copies, path.matches('/').count(), path.chars().count(), path)
}

/// A hash of the text of a Markdown file, by which its copies are recognised; `None` for very long files and other
/// formats.
pub(super) fn text_hash(sample: &Sample) -> Option<[u8; 32]> {
    let text = sample.text().filter(|_| sample.is_whole && is_markdown(&sample.extension))?;
    let mut hasher = blake3::Hasher::new();
    // Lines may end in `\r\n`.
    for line in front_matter::split(text).body.trim().lines() {
        hasher.update(line.as_bytes()).update(b"\n");
    }
    Some(*hasher.finalize().as_bytes())
}

/// Sorts files with the same text by their ranks within the positions that they have together. All other files keep
/// their positions. Each file is given with a hash of its text.
pub(super) fn in_order_of_ranks<T>(files: Vec<(T, Option<[u8; 32]>)>, path: impl Fn(&T) -> &str) -> Vec<T> {
    let mut by_text: HashMap<[u8; 32], Vec<(CopyRank<'_>, usize)>> = HashMap::new();
    for (position, (file, text)) in files.iter().enumerate() {
        if let Some(text) = text {
            by_text.entry(*text).or_default().push((copy_rank(path(file)), position));
        }
    }
    let mut moved: HashMap<usize, usize> = HashMap::new();
    for mut copies in by_text.into_values().filter(|copies| copies.len() > 1) {
        let positions: Vec<usize> = copies.iter().map(|(_, position)| *position).collect();
        copies.sort_unstable();
        moved.extend(copies.into_iter().map(|(_, position)| position).zip(positions));
    }
    let mut placed: Vec<(usize, T)> = files
        .into_iter()
        .enumerate()
        .map(|(position, (file, _))| (moved.get(&position).copied().unwrap_or(position), file))
        .collect();
    placed.sort_by_key(|(position, _)| *position);
    placed.into_iter().map(|(_, file)| file).collect()
}

impl Import<'_> {
    /// Adds to the draft of a file the names that its note has from copies of the file, because the front matter does not
    /// contain them.
    pub(super) fn keep_names_of_copies(&self, draft: &mut Draft) -> Result<()> {
        let view = self.memory.store.view();
        let ix = draft.key.as_deref().and_then(|key| view.find_key(&normal_key(key)));
        let Some((ix, id)) = ix.and_then(|ix| Some((ix, view.id(ix)?))) else { return Ok(()) };
        // Most notes have no other names, so their frames need not be read.
        if view.other_names(ix).next().is_none() {
            return Ok(());
        }
        let frames = MarkdownFrame::all(&self.memory.store, id)?;
        let present = frames.iter().filter(|frame| !self.is_gone(frame));
        let copies: Vec<String> = present.filter_map(|frame| name_of(&frame.path)).collect();
        let is_kept = |name: &&str| copies.iter().any(|copy| copy == *name) && view.find_key(name).is_none();
        let kept = view.other_names(ix).filter(is_kept).map(str::to_owned);
        draft.other_names.get_or_insert_default().extend(kept);
        Ok(())
    }
}

/// Gives a note the name of a file with its text, and takes this name from the note whose text the file had before.
/// `key` is the key that the file gives its note: one that comes from the front matter takes the place of the name.
pub(super) fn name_after_file(
    tx: &mut Transaction<'_>,
    stored: &StoredNote,
    key: Option<&str>,
    frame: &MarkdownFrame,
) -> Result<()> {
    let is_key = |name: &String| key.is_some_and(|key| *normal_key(key) == **name);
    let Some(name) = name_of(&frame.path).filter(is_key) else { return Ok(()) };
    let view = tx.view();
    for ix in view.find_other_names_any_case(&name) {
        let Some(id) = view.id(ix).filter(|id| *id != stored.id) else { continue };
        let frames = MarkdownFrame::all(tx, id)?;
        let is_same =
            |other: &&MarkdownFrame| other.path == frame.path && other.provenance == frame.provenance;
        let Some(former) = frames.iter().find(is_same) else { continue };
        former.delete(tx, id)?;
        if let Some(mut node) = tx.node(id)? {
            node.other_names.retain(|other| *other != name);
            tx.put_node(&node)?;
        }
    }
    // The name of most files is the key of their note, which need not be read.
    if stored.outcome == StoreOutcome::Duplicate
        && tx.find_key(&name)?.is_none()
        && let Some(mut node) = tx.node(stored.id)?
        && node.other_names.len() < MAX_ALIASES
        && !node.other_names.contains(&name)
    {
        node.other_names.push(name);
        tx.put_node(&node)?;
    }
    Ok(())
}

/// The name that a note has from a file; `None` if its path cannot be a name.
fn name_of(path: &str) -> Option<String> {
    key::other_names([&without_extension(path).to_owned()]).pop()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_outside_of_folders_of_copies_come_first_then_short_paths() {
        let ranked = [
            "zebra.md",
            "apple copy.md",
            "notes/a.md",
            "threshold/b.md",
            "notes/deep/a.md",
            "Archive/a.md",
            "my-old notes/a.md",
            "notes/backup_2024/a.md",
        ];
        assert!(ranked.map(copy_rank).is_sorted(), "{:?}", ranked.map(copy_rank));
    }

    #[test]
    fn only_files_with_the_same_text_change_places() {
        let text = |text: u8| Some([text; 32]);
        let files = vec![
            ("archive/a.md", text(1)),
            ("b.md", text(2)),
            ("c/a.md", text(1)),
            ("d.csv", None),
            ("e.md", text(1)),
            ("f.csv", None),
        ];
        let ordered = in_order_of_ranks(files, |path| path);
        assert_eq!(ordered, ["e.md", "b.md", "c/a.md", "d.csv", "archive/a.md", "f.csv"]);
    }
}
