//! The notes that have one name in a vault, and which of them a link with this name leads to.

use crate::import::last_part;
use poc_graph::NodeId;
use std::cell::OnceCell;
use std::collections::{BTreeSet, HashMap};

/// Maximum number of notes that are listed for an ambiguous link. A vault may have a `README` in each of its folders.
const MAX_CANDIDATES: usize = 100;

/// The target of a link: a note, several candidates, or nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum LinkTarget {
    Note(NodeId),
    Several(BTreeSet<String>),
    None,
}

/// The notes that have one name, each with the path of its file or with its key. Thousands of files may have the same
/// name, and each of them may link to it, so a link does not read all of them.
#[derive(Default)]
pub(super) struct NamedNotes<'a> {
    notes: Vec<(&'a str, NodeId)>,
    /// Computed for the first link.
    single_notes: OnceCell<SingleNotes<'a>>,
}

/// Notes that are the only ones with a name.
struct SingleNotes<'a> {
    /// The only note of all; `None` if there are several.
    of_all: Option<NodeId>,
    /// The only note of each folder; `None` if it has several.
    by_folder: HashMap<&'a str, Option<NodeId>>,
}

impl<'a> NamedNotes<'a> {
    /// Adds a note.
    pub(super) fn add(&mut self, path: &'a str, note: NodeId) {
        self.notes.push((path, note));
        self.single_notes = OnceCell::new();
    }

    /// The note that was added last, with its path.
    pub(super) fn last(&self) -> Option<(&'a str, NodeId)> {
        self.notes.last().copied()
    }

    /// The only note, or the only one in the folder of the file with the link. `file` is empty if folders do not count.
    pub(super) fn target(&self, file: &str) -> LinkTarget {
        match self.notes.as_slice() {
            [] => return LinkTarget::None,
            [(_, note)] => return LinkTarget::Note(*note),
            _ => {}
        }
        let single = self.single_notes.get_or_init(|| SingleNotes::of(&self.notes));
        let beside = || single.by_folder.get(folder(file)).copied().flatten().filter(|_| !file.is_empty());
        match single.of_all.or_else(beside) {
            Some(note) => LinkTarget::Note(note),
            None => {
                let candidates = self.notes.iter().take(MAX_CANDIDATES).map(|(path, _)| (*path).to_owned());
                LinkTarget::Several(candidates.collect())
            }
        }
    }
}

impl<'a> SingleNotes<'a> {
    fn of(notes: &[(&'a str, NodeId)]) -> SingleNotes<'a> {
        let first = notes.first().map(|(_, note)| *note);
        let of_all = first.filter(|first| notes.iter().all(|(_, note)| note == first));
        let mut by_folder: HashMap<&str, Option<NodeId>> = HashMap::new();
        for (path, note) in notes {
            let single = by_folder.entry(folder(path)).or_insert(Some(*note));
            if *single != Some(*note) {
                *single = None;
            }
        }
        SingleNotes { of_all, by_folder }
    }
}

/// The files whose paths have the same last part, by the ends of their paths.
#[derive(Default)]
pub(super) struct FilesByEnding<'a> {
    /// The path as links are compared with it, the path itself, and the note of each file.
    files: Vec<(&'a str, &'a str, NodeId)>,
    /// Computed for the first link.
    by_ending: OnceCell<HashMap<&'a str, NamedNotes<'a>>>,
}

impl<'a> FilesByEnding<'a> {
    /// Adds a file. `compared` is its path as links are compared with it.
    pub(super) fn add(&mut self, compared: &'a str, path: &'a str, note: NodeId) {
        self.files.push((compared, path, note));
        self.by_ending = OnceCell::new();
    }

    /// The files whose path ends with the parts of a name.
    pub(super) fn get(&self, name: &str) -> Option<&NamedNotes<'a>> {
        let by_ending = self.by_ending.get_or_init(|| {
            let mut by_ending: HashMap<&str, NamedNotes<'_>> = HashMap::new();
            for &(compared, path, note) in &self.files {
                let starts = compared.match_indices('/').map(|(at, _)| at + 1);
                for ending in std::iter::once(0).chain(starts).filter_map(|start| compared.get(start..)) {
                    by_ending.entry(ending).or_default().add(path, note);
                }
            }
            by_ending
        });
        by_ending.get(name)
    }
}

/// Files by the last part of their paths.
#[derive(Default)]
pub(super) struct FilesByLastPart<'a>(HashMap<&'a str, FilesByEnding<'a>>);

impl<'a> FilesByLastPart<'a> {
    /// Adds a file. `compared` is its path as links are compared with it.
    pub(super) fn add(&mut self, compared: &'a str, path: &'a str, note: NodeId) {
        self.0.entry(last_part(compared)).or_default().add(compared, path, note);
    }

    /// The files whose path ends with the parts of a name.
    pub(super) fn ending(&self, name: &str) -> Option<&NamedNotes<'a>> {
        self.0.get(last_part(name))?.get(name)
    }
}

fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

#[cfg(test)]
mod tests {
    use super::*;
    use poc_graph::testing::node;
    use proptest::prelude::*;

    /// The target of a link, from all notes with the name.
    fn naive_target(notes: &[(&str, NodeId)], file: &str) -> LinkTarget {
        let all: BTreeSet<NodeId> = notes.iter().map(|(_, note)| *note).collect();
        let in_folder = notes.iter().filter(|(path, _)| !file.is_empty() && folder(path) == folder(file));
        let beside: BTreeSet<NodeId> = in_folder.map(|(_, note)| *note).collect();
        let single =
            [&all, &beside].into_iter().find(|notes| notes.len() == 1).and_then(|notes| notes.first());
        match single {
            Some(note) => LinkTarget::Note(*note),
            None if notes.is_empty() => LinkTarget::None,
            None => {
                let candidates = notes.iter().take(MAX_CANDIDATES).map(|(path, _)| (*path).to_owned());
                LinkTarget::Several(candidates.collect())
            }
        }
    }

    poc_laws::laws! {
        #[test]
        fn a_link_leads_to_the_note_that_a_comparison_with_all_files_finds(
            files in proptest::collection::vec(("([ab]/){0,3}[ab]", 0u64..4), 0..12),
            names in proptest::collection::vec("([ab]/){0,2}[ab]", 1..6),
            from in "(([ab]/){0,2}x)?",
        ) {
            let files: Vec<(&str, NodeId)> =
                files.iter().map(|(path, number)| (path.as_str(), node(*number).id)).collect();
            let mut by_last_part = FilesByLastPart::default();
            files.iter().for_each(|&(path, note)| by_last_part.add(path, path, note));
            for name in names {
                let is_end = |path: &str| {
                    path == name || path.strip_suffix(name.as_str()).is_some_and(|before| before.ends_with('/'))
                };
                let ending: Vec<(&str, NodeId)> =
                    files.iter().filter(|(path, _)| is_end(path)).copied().collect();
                let target = by_last_part.ending(&name).map_or(LinkTarget::None, |found| found.target(&from));
                prop_assert_eq!(target, naive_target(&ending, &from));
            }
        }
    }
}
