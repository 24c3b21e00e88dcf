//! The other names of notes: names in the front matter of their files that are neither a path nor a key.

use super::binding::VaultFiles;
use super::digest::FileDigest;
use super::note_chunks::{chunks_of, text_chars};
use super::sync::VaultSync;
use crate::import::references::without_extension;
use crate::key;
use poc_graph::error::Result;
use poc_graph::{Ix, MAX_ALIASES, NodeId, View};
use std::collections::HashMap;

impl VaultSync<'_> {
    /// Gives the notes the other names that their files have, and removes those that their files had before. This
    /// also gives notes their names that were stored by a release without other names.
    pub(super) fn set_other_names(&self) -> Result<()> {
        self.replace_other_names(&self.names_by_note(&self.start), &self.names_by_note(&self.records))
    }

    /// Removes the other names that the files had before and no longer have. This comes before the first change of a
    /// record: if the sync stops later, no record says that the names came from a file.
    pub(super) fn remove_other_names(&self) -> Result<()> {
        let had = self.names_by_note(&self.start);
        let mut kept: HashMap<NodeId, Vec<String>> = HashMap::new();
        for group in &self.plan.groups {
            let Some(node) = group.node else { continue };
            for path in &group.paths {
                let names = self.files.get(path).map(|digest| other_names(path, digest)).unwrap_or_default();
                kept.entry(node).or_default().extend(names);
            }
        }
        // New names are added at the end, when the records have them.
        for (node, names) in &mut kept {
            names.retain(|name| names_of(&had, *node).contains(name));
        }
        self.replace_other_names(&had, &kept)
    }

    /// Gives the notes the other names `have` in place of `had`.
    fn replace_other_names(
        &self,
        had: &HashMap<NodeId, Vec<String>>,
        have: &HashMap<NodeId, Vec<String>>,
    ) -> Result<()> {
        let view = self.memory.store.view();
        let is_wrong = |id: &NodeId| {
            let (had, have) = (names_of(had, *id), names_of(have, *id));
            view.find(*id).is_some_and(|ix| other_names_differ(&view, ix, had, have))
        };
        let mut wrong: Vec<NodeId> = had.keys().chain(have.keys()).copied().filter(is_wrong).collect();
        wrong.sort_unstable();
        wrong.dedup();
        let wrong = wrong.into_iter().map(|id| (vec![id], text_chars(&view, id)));
        for chunk in chunks_of(wrong) {
            self.transact(|tx, _| {
                for id in &chunk {
                    let Some(mut node) = tx.node(*id)? else { continue };
                    let keys: Vec<&str> = node.names().collect();
                    let next = next_other_names(
                        &keys,
                        node.other_names.iter().map(String::as_str),
                        names_of(had, *id),
                        names_of(have, *id),
                    );
                    if next != node.other_names {
                        node.other_names = next;
                        tx.put_node(&node)?;
                    }
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    /// The other names of the files of each note.
    fn names_by_note(&self, files: &VaultFiles) -> HashMap<NodeId, Vec<String>> {
        let mut names: HashMap<NodeId, Vec<String>> = HashMap::new();
        for (path, file) in files.iter().filter(|(_, file)| file.deleted_at.is_none()) {
            let other = other_names(path, &file.digest);
            if !other.is_empty() {
                names.entry(self.current(file.node)).or_default().extend(other);
            }
        }
        names
    }
}

/// The names of a file that are neither its path nor its key.
fn other_names(path: &str, digest: &FileDigest) -> Vec<String> {
    let mut names = key::other_names(&digest.names);
    names.retain(|name| {
        let own = [path, without_extension(path), digest.path_key.as_str()];
        !own.contains(&name.as_str()) && digest.own_key.as_ref() != Some(name)
    });
    names
}

fn names_of(names: &HashMap<NodeId, Vec<String>>, id: NodeId) -> &[String] {
    names.get(&id).map(Vec::as_slice).unwrap_or_default()
}

fn other_names_differ(view: &View, ix: Ix, had: &[String], have: &[String]) -> bool {
    let keys: Vec<&str> = view.names(ix).collect();
    let present: Vec<&str> = view.other_names(ix).collect();
    next_other_names(&keys, present.iter().copied(), had, have) != present
}

/// The other names of a note whose files had the names `had` and now have the names `have`. Names that the note has
/// from elsewhere stay, and keys of the note are left out.
fn next_other_names<'a>(
    keys: &[&str],
    present: impl Iterator<Item = &'a str>,
    had: &[String],
    have: &[String],
) -> Vec<String> {
    let is_lost = |name: &str| had.iter().any(|own| own == name) && !have.iter().any(|own| own == name);
    let mut names: Vec<String> =
        present.filter(|name| !is_lost(name) && !keys.contains(name)).map(str::to_owned).collect();
    for name in have {
        if !keys.contains(&name.as_str()) && !names.contains(name) {
            names.push(name.clone());
        }
    }
    names.truncate(MAX_ALIASES);
    names
}
