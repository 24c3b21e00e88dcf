//! Assigns to notes the names of their files, and retires notes whose files were deleted.

use super::binding::{VaultFile, put_file};
use super::digest::FileDigest;
use super::names::{self, NameChange, NameOwners};
use super::note_chunks::{CHUNK_NOTES, chunks_of, text_chars};
use super::plan::FileGroup;
use super::report::{FileError, RenamedFile};
use super::sync::VaultSync;
use crate::batch::separate_note_errors;
use crate::markdown_frame::MarkdownFrame;
use crate::{consolidate, derivation};
use poc_graph::error::Result;
use poc_graph::time::Timestamp;
use poc_graph::{Node, NodeId, State};
use poc_store::Transaction;
use std::collections::{BTreeMap, HashMap, HashSet};

/// The result of the second step of an exchange of names.
#[derive(Default)]
struct AssignedNames {
    /// The names that files got, by path.
    given: Vec<(String, String)>,
    /// The records that were stored.
    records: Vec<(String, VaultFile)>,
    /// Number of revived notes.
    revived: u64,
    /// Number of replaced notes.
    merged: u64,
    warnings: Vec<FileError>,
    /// The first file of each note whose names could not be assigned.
    refused: Vec<FileError>,
}

/// The recorded paths of files that no longer exist, by note.
pub(super) type LostPaths<'a> = HashMap<NodeId, Vec<&'a String>>;

/// The files that no longer exist.
struct LostFiles<'a> {
    /// Those whose notes stay, with their recorded notes, by those and by the notes that replaced them.
    by_note: HashMap<NodeId, Vec<(&'a String, NodeId)>>,
    /// The paths of all of them, by recorded note.
    paths: LostPaths<'a>,
}

impl VaultSync<'_> {
    /// Deletes the records of files whose notes were deleted for good.
    pub(super) fn forget(&mut self) -> Result<()> {
        let view = self.memory.store.view();
        let is_deleted = |record: &VaultFile| record.deleted_at.is_some() && view.find(record.node).is_none();
        let paths: Vec<String> = self
            .records
            .iter()
            .filter(|(_, record)| is_deleted(record))
            .map(|(path, _)| path.clone())
            .collect();
        self.delete_records(&paths.iter().collect::<Vec<_>>())?;
        paths.iter().for_each(|path| drop(self.records.remove(path)));
        Ok(())
    }

    /// Deletes the stored records of files that do not exist any more.
    pub(super) fn delete_records(&self, paths: &[&String]) -> Result<()> {
        paths.chunks(CHUNK_NOTES).try_for_each(|chunk| {
            self.transact(|tx, _| chunk.iter().try_for_each(|path| put_file(tx, &self.vault, path, None)))
        })
    }

    /// Retires the notes whose files were deleted, in transactions of their own that can be undone.
    pub(super) fn retire(&mut self) -> Result<()> {
        let mut files_of: HashMap<NodeId, Vec<(String, VaultFile)>> = HashMap::new();
        for (path, record) in self.records.iter().filter(|(_, record)| record.deleted_at.is_none()) {
            let node = self.current(record.node);
            if self.plan.retired.contains(&node) {
                files_of.entry(node).or_default().push((path.clone(), record.clone()));
            }
        }
        let view = self.memory.store.view();
        let retired = self.plan.retired.iter().map(|id| (vec![*id], text_chars(&view, *id)));
        for chunk in &chunks_of(retired) {
            let mut deleted: Vec<(String, VaultFile, NodeId)> = Vec::new();
            for node in chunk {
                let files = files_of.remove(node).unwrap_or_default();
                deleted.extend(files.into_iter().map(|(path, record)| (path, record, *node)));
            }
            deleted.sort_unstable_by(|(one, ..), (other, ..)| one.cmp(other));
            let (expired, now) = self.transact(|tx, now| {
                let mut expired = HashSet::new();
                for id in chunk {
                    let is_elsewhere = self.is_elsewhere(*id);
                    let node = tx.node(*id)?.filter(|node| node.state.is_live() && !is_elsewhere);
                    if let Some(node) = node {
                        expire(tx, node, now)?;
                        expired.insert(*id);
                    }
                }
                for (path, record, _) in &deleted {
                    let record = VaultFile { deleted_at: Some(now), ..record.clone() };
                    put_file(tx, &self.vault, path, Some(&record))?;
                }
                Ok((expired, now))
            })?;
            self.report.retired += expired.len() as u64;
            for (path, _, node) in deleted {
                if let Some(record) = self.records.get_mut(&path) {
                    record.deleted_at = Some(now);
                }
                if expired.contains(&node) {
                    self.report.retired_files.push(path);
                }
            }
        }
        self.report.retired_files.sort_unstable();
        Ok(())
    }

    /// Assigns to notes the names of their files, and revives retired notes whose files exist again.
    pub(super) fn rename(&mut self) -> Result<()> {
        let changes = self.name_changes();
        if changes.is_empty() {
            return Ok(());
        }
        let moved = self.moved_to_copies(&changes);
        self.report.renamed.extend(moved);
        let desired_names: HashSet<&str> = self.desired_names.values().map(String::as_str).collect();
        let own: HashSet<NodeId> = self.records.values().map(|record| record.node).collect();
        let merged: HashSet<NodeId> =
            self.plan.groups.iter().flat_map(|group| &group.merged).copied().collect();
        let provenance = self.vault.provenance();
        let owners = NameOwners {
            vault: &self.vault.name,
            provenance: &provenance,
            own: &own,
            merged: &merged,
            desired_names: &desired_names,
        };
        let chunks = self.in_chunks(changes);
        let lost = LostFiles { by_note: self.lost_files_by_note(), paths: self.lost_paths() };
        let mut done = Vec::new();
        if let [chunk] = chunks.as_slice() {
            done.push(self.transact(|tx, now| {
                let moving = release(tx, chunk)?;
                self.assign(tx, chunk, &moving, &owners, &lost, now)
            })?);
        } else {
            let mut moving = Vec::new();
            for chunk in &chunks {
                moving.push(self.transact(|tx, _| release(tx, chunk))?);
            }
            for (chunk, moving) in chunks.iter().zip(&moving) {
                done.push(self.transact(|tx, now| self.assign(tx, chunk, moving, &owners, &lost, now))?);
            }
        }
        let lost: Vec<String> = self.lost_records().map(|(path, _)| path.clone()).collect();
        for path in lost {
            self.records.remove(&path);
        }
        for assigned in done {
            self.report.revived += assigned.revived;
            self.report.merged += assigned.merged;
            self.report.warnings.extend(assigned.warnings);
            self.unnamed.extend(assigned.refused.iter().map(|refused| refused.file.clone()));
            self.report.refused.extend(assigned.refused);
            self.records.extend(assigned.records);
            self.names.extend(assigned.given);
        }
        Ok(())
    }

    /// The deleted files whose names were the keys of notes that a copy of the file keeps. To copy a file and delete the
    /// original is to move it.
    fn moved_to_copies(&self, changes: &[NameChange]) -> Vec<RenamedFile> {
        let lost = self.lost_records().filter(|(_, record)| record.deleted_at.is_none());
        let originals: HashMap<(NodeId, &str), &String> =
            lost.map(|(path, record)| ((self.current(record.node), record.name.as_str()), path)).collect();
        let view = self.memory.store.view();
        let mut moved = Vec::new();
        for change in changes.iter().filter(|change| change.is_own && change.gained.is_empty()) {
            let Some(node) = change.node.filter(|_| !change.first.is_empty()) else { continue };
            let key = view.find(node).map(|ix| view.key(ix)).unwrap_or_default();
            if let Some(&from) = originals.get(&(node, key)) {
                moved.push(RenamedFile { from: from.clone(), to: change.first.clone() });
            }
        }
        moved
    }

    /// Divides the changes into chunks. If a file goes from one note to another, both are in the same chunk, so that no
    /// transaction leaves a note without the records of its files.
    fn in_chunks(&self, changes: Vec<NameChange>) -> Vec<Vec<NameChange>> {
        let places: HashMap<NodeId, usize> = changes
            .iter()
            .enumerate()
            .filter_map(|(place, change)| change.node.map(|node| (node, place)))
            .collect();
        // A union-find structure: the parent of a change is an earlier one that must be in the same chunk, or itself.
        let mut parents: Vec<usize> = (0..changes.len()).collect();
        for (place, change) in changes.iter().enumerate() {
            for (path, _) in &change.gained {
                let before = self.records.get(path);
                let other = before.and_then(|record| {
                    places.get(&record.node).or_else(|| places.get(&self.current(record.node)))
                });
                if let Some(&other) = other {
                    let (one, other) = (root_of(&mut parents, place), root_of(&mut parents, other));
                    if let Some(parent) = parents.get_mut(one.max(other)) {
                        *parent = one.min(other);
                    }
                }
            }
        }
        let mut connected: BTreeMap<usize, Vec<NameChange>> = BTreeMap::new();
        for (place, change) in changes.into_iter().enumerate() {
            connected.entry(root_of(&mut parents, place)).or_default().push(change);
        }
        let view = self.memory.store.view();
        chunks_of(connected.into_values().map(|changes| {
            let nodes = changes.iter().flat_map(|change| change.node.iter().chain(&change.merged));
            let chars: usize = nodes.map(|id| text_chars(&view, *id)).sum();
            (changes, chars)
        }))
    }

    /// The second step of an exchange of names, with the records of the files.
    fn assign(
        &self,
        tx: &mut Transaction<'_>,
        changes: &[NameChange],
        moving: &[Option<names::MovingNote>],
        owners: &NameOwners<'_>,
        lost: &LostFiles<'_>,
        now: Timestamp,
    ) -> Result<AssignedNames> {
        let mut assigned = AssignedNames::default();
        let mut nodes: HashSet<NodeId> = changes.iter().filter_map(|change| change.node).collect();
        for (change, moving) in changes.iter().zip(moving) {
            assigned.revived += u64::from(revive(tx, change, now)?);
            let Some(moving) = moving else { continue };
            let names = names::assign(tx, change, moving, owners, &mut assigned.warnings);
            let names = match separate_note_errors(names)? {
                Ok(names) => names,
                Err(error) => {
                    if let Some(node) = &change.node {
                        nodes.remove(node);
                    }
                    assigned.refused.push(FileError { file: change.first.clone(), error });
                    continue;
                }
            };
            if let Some(node) = change.node {
                for (path, name) in names.iter().chain(&change.new_source) {
                    if let Some(record) = self.unread_record(change, path, name, node) {
                        put_file(tx, &self.vault, path, Some(&record))?;
                        assigned.records.push((path.clone(), record));
                    }
                }
                let all: Vec<String> =
                    names.iter().map(|(_, name)| name).chain(&change.kept).cloned().collect();
                assigned.merged += self.merge(tx, &change.merged, &lost.paths, node, &all, now)?;
            }
            assigned.given.extend(names);
        }
        let files = nodes.iter().filter_map(|node| lost.by_note.get(node)).flatten();
        // By path, and once if both the recorded note of a file and its successor change.
        let files: BTreeMap<&String, NodeId> = files.copied().collect();
        for (path, recorded) in files {
            put_file(tx, &self.vault, path, None)?;
            MarkdownFrame::delete_of_file(tx, recorded, path)?;
        }
        Ok(assigned)
    }

    /// The record of a file that was recognised, until its text is stored. It describes the text that the note
    /// still has, so that an interrupted sync does not lose what the note got from its file.
    fn unread_record(&self, change: &NameChange, path: &str, name: &str, node: NodeId) -> Option<VaultFile> {
        let file = self.files.get(path)?;
        let is_same_note = |before: &&VaultFile| before.node == node || self.current(before.node) == node;
        let before = self.before_sync(path).filter(is_same_note);
        let of_file = before.map(|before| &before.digest);
        let of_note = self.before.get(&node);
        let is_first = path == change.first;
        let former = if is_first { of_note.or(of_file) } else { of_file.or(of_note) };
        let (bytes, path_key) = (FileDigest::NO_HASH, file.path_key.clone());
        let digest = FileDigest { bytes, path_key, ..former.unwrap_or(file).clone() };
        Some(VaultFile {
            node,
            desired_name: self.desired_names.get(path)?.clone(),
            name: name.to_owned(),
            digest,
            is_own: change.is_own,
            is_source: match is_first {
                true => of_note.is_some(),
                false => before.is_some_and(|before| before.is_source),
            },
            deleted_at: None,
            write_back: self.write_back_state(path, node),
        })
    }

    /// The record of a file before this sync, found by its former path if it was moved; `None` if the file is
    /// new.
    pub(super) fn before_sync(&self, path: &str) -> Option<&VaultFile> {
        let before = self.plan.moved.get(path).and_then(|from| self.start.get(from));
        before.or_else(|| self.start.get(path))
    }

    /// The records of deleted files whose notes stay.
    fn lost_records(&self) -> impl Iterator<Item = (&String, &VaultFile)> {
        let kept: HashSet<NodeId> = self.plan.groups.iter().filter_map(|group| group.node).collect();
        self.records.iter().filter(move |(path, record)| {
            !self.files.contains_key(*path) && (record.deleted_at.is_none() || kept.contains(&record.node))
        })
    }

    /// The deleted files whose notes stay, with their recorded notes, by those and by the notes that replaced them.
    fn lost_files_by_note(&self) -> HashMap<NodeId, Vec<(&String, NodeId)>> {
        let mut by_note: HashMap<NodeId, Vec<(&String, NodeId)>> = HashMap::new();
        for (path, record) in self.lost_records() {
            let current = self.current(record.node);
            by_note.entry(record.node).or_default().push((path, record.node));
            if current != record.node {
                by_note.entry(current).or_default().push((path, record.node));
            }
        }
        by_note
    }

    /// The names that notes lose and get.
    fn name_changes(&self) -> Vec<NameChange> {
        let kept: HashSet<NodeId> = self.plan.groups.iter().filter_map(|group| group.node).collect();
        // A file may keep a note that was replaced by the note of another file.
        let note_of = |record: &VaultFile| match kept.contains(&record.node) {
            true => record.node,
            false => self.current(record.node),
        };
        let mut by_node: BTreeMap<NodeId, Vec<(&String, &VaultFile)>> = BTreeMap::new();
        for (path, record) in self.records.iter().filter(|(_, record)| record.deleted_at.is_none()) {
            by_node.entry(note_of(record)).or_default().push((path, record));
        }
        let mut deleted_names: HashMap<NodeId, Vec<&String>> = HashMap::new();
        for record in self.records.values().filter(|record| record.deleted_at.is_some()) {
            deleted_names.entry(record.node).or_default().push(&record.name);
        }
        let without_file: HashSet<NodeId> = self.lost_records().map(|(_, record)| note_of(record)).collect();
        let merged: HashSet<NodeId> =
            self.plan.groups.iter().flat_map(|group| &group.merged).copied().collect();
        let view = self.memory.store.view();
        let mut changes = Vec::new();
        for group in &self.plan.groups {
            let before = group.node.and_then(|node| by_node.remove(&node)).unwrap_or_default();
            let former = group.node.and_then(|node| deleted_names.get(&node)).map(Vec::as_slice);
            let change = self.name_change(group, &before, former.unwrap_or_default());
            // Two copies may have the same name; the record of a deleted copy must be deleted anyway.
            let has_lost = group.node.is_some_and(|node| without_file.contains(&node));
            // A temporary key shows that an exchange of names was interrupted.
            let key = group.node.and_then(|node| view.find(node)).map(|ix| view.key(ix));
            let is_moving = key.is_some_and(names::is_moving);
            if change.is_revived
                || change.new_source.is_some()
                || has_lost
                || is_moving
                || !change.lost.is_empty()
                || !change.gained.is_empty()
            {
                changes.push(change);
            }
        }
        // The remaining notes have no file in this vault any more. Either they existed before their files, or they also
        // belong to files of other vaults.
        for (node, before) in by_node {
            if !self.plan.retired.contains(&node) && !merged.contains(&node) {
                // A note that also belongs to files of another vault gets the name of such a file as its key.
                let kept = self.names_elsewhere(node);
                let is_own = !kept.is_empty() && before.iter().all(|(_, record)| record.is_own);
                let kept_names: HashSet<&String> = kept.iter().collect();
                let names = before.iter().map(|(_, record)| &record.name);
                let lost = names.filter(|name| !kept_names.contains(name)).cloned().collect();
                changes.push(NameChange { node: Some(node), is_own, lost, kept, ..NameChange::default() });
            }
        }
        changes
    }

    /// The names that the note of a group loses and gets. `before` has the recorded files of the note, `former` the
    /// names of its deleted files.
    fn name_change(
        &self,
        group: &FileGroup,
        before: &[(&String, &VaultFile)],
        former: &[&String],
    ) -> NameChange {
        let mut change = NameChange {
            node: group.node,
            is_own: group.is_own,
            is_revived: group.is_revived,
            first: group.paths.first().cloned().unwrap_or_default(),
            merged: group.merged.clone(),
            ..NameChange::default()
        };
        let recorded: HashMap<&String, &VaultFile> = before.iter().copied().collect();
        for path in &group.paths {
            let Some(desired_name) = self.desired_names.get(path) else { continue };
            match recorded.get(path) {
                Some(record) if record.desired_name == *desired_name => {
                    change.kept.push(record.name.clone());
                    if *path == change.first && !record.is_source {
                        change.new_source = Some((path.clone(), record.name.clone()));
                    }
                }
                _ => change.gained.push((path.clone(), desired_name.clone())),
            }
        }
        let kept: HashSet<&String> =
            change.kept.iter().chain(change.gained.iter().map(|(_, name)| name)).collect();
        // A revived note still has the names that it had when it was retired.
        let names = before.iter().map(|(_, record)| &record.name).chain(former.iter().copied());
        let lost = names.filter(|name| !kept.contains(name)).cloned().collect();
        NameChange { lost, ..change }
    }
}

/// The root of a change in a union-find structure. Halves the path to it, so that a long path is followed only once.
fn root_of(parents: &mut [usize], mut place: usize) -> usize {
    while let Some(&parent) = parents.get(place)
        && parent != place
    {
        let next = parents.get(parent).copied().unwrap_or(parent);
        if let Some(parent) = parents.get_mut(place) {
            *parent = next;
        }
        place = next;
    }
    place
}

/// The first step of an exchange of names.
fn release(tx: &mut Transaction<'_>, changes: &[NameChange]) -> Result<Vec<Option<names::MovingNote>>> {
    changes.iter().map(|change| names::release(tx, change)).collect()
}

/// Expires a note: no search finds it, and consolidation deletes it for good after a while.
pub(super) fn expire(tx: &mut Transaction<'_>, node: Node, now: Timestamp) -> Result<()> {
    consolidate::expire(tx, Node { expires: Some(now), ..node }, now)
}

/// Brings a retired note back. Returns whether it was retired.
fn revive(tx: &mut Transaction<'_>, change: &NameChange, now: Timestamp) -> Result<bool> {
    let node = change.node.map(|id| tx.node(id)).transpose()?.flatten();
    let Some(node) = node.filter(|node| change.is_revived && node.state == State::Expired) else {
        return Ok(false);
    };
    let (id, version) = (node.id, node.version.saturating_add(1));
    tx.put_node(&Node { state: State::Active, expires: None, modified: now, version, ..node })?;
    derivation::source_changed(tx, id, now)?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of changes between a change and its root.
    fn depth(parents: &[usize], mut place: usize) -> usize {
        let mut depth = 0;
        while parents[place] != place {
            place = parents[place];
            depth += 1;
        }
        depth
    }

    #[test]
    fn a_search_for_a_root_shortens_the_path_for_later_ones() {
        // Each change has the previous one as its parent.
        let mut parents: Vec<usize> = (0..1000).map(|place: usize| place.saturating_sub(1)).collect();
        assert_eq!(depth(&parents, 999), 999);
        for expected in [500, 250, 125] {
            assert_eq!(root_of(&mut parents, 999), 0);
            assert_eq!(depth(&parents, 999), expected);
        }
        assert!((0..1000).all(|place| root_of(&mut parents, place) == 0));
        assert!((0..1000).map(|place| depth(&parents, place)).sum::<usize>() < 10 * 1000);
    }
}
