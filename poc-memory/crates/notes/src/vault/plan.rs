//! Decides which note each file belongs to. The functions are pure: they read digests and records and change
//! nothing.
//!
//! Files with the same title, text and keywords are names of one note. A note keeps its identity as long as
//! its file can be recognised: first by the same text or bytes (the file was moved), then by the same path (the
//! file was edited), then by a similar text (the file was moved and edited).

use super::binding::{VaultFile, VaultFiles};
use super::digest::FileDigest;
use super::sketch::{self, SketchIndex};
use crate::import::copy_rank;
use poc_graph::NodeId;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// Minimum similarity (Jaccard, 0 to 1) of the text of a file that was moved and edited.
const SIMILAR: f64 = 0.5;
/// The same for a file that kept its file name in another folder.
const SIMILAR_WITH_NAME: f64 = 0.25;

/// Files with one text, and their note.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FileGroup {
    /// The files, in the order of their ranks. The note has the properties of the first.
    pub(super) paths: Vec<String>,
    /// The note; `None` if it is new.
    pub(super) node: Option<NodeId>,
    /// Whether the note was created from these files.
    pub(super) is_own: bool,
    /// Whether the note was retired and is to be revived.
    pub(super) is_revived: bool,
    /// Notes whose files now have this text. This note replaces them.
    pub(super) merged: Vec<NodeId>,
}

/// The changes that a sync will make.
#[derive(Debug, Default, PartialEq)]
pub(super) struct VaultSyncPlan {
    /// All files, grouped by text.
    pub(super) groups: Vec<FileGroup>,
    /// Notes whose files were deleted.
    pub(super) retired: BTreeSet<NodeId>,
    /// The former path of each file that was moved.
    pub(super) moved: BTreeMap<String, String>,
}

/// The digests of the files that exist, by path.
pub(super) type Digests = BTreeMap<String, FileDigest>;

/// Whether an expired note, which a sync can revive, represents itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ExpiredNotes {
    /// It does.
    Include,
    /// It does not.
    Skip,
}

/// Plans a sync. `current` maps a recorded note to the note that now represents it: itself or its successor
/// if that is live, itself if it was retired and can be revived, `None` if it was deleted. `is_elsewhere` says
/// whether a file of another vault has a note.
pub(super) fn plan(
    files: &Digests,
    records: &VaultFiles,
    current: &dyn Fn(NodeId, ExpiredNotes) -> Option<NodeId>,
    is_elsewhere: &dyn Fn(NodeId) -> bool,
) -> VaultSyncPlan {
    let (groups, contents) = group_by_content(files);
    let mut files_of: HashMap<NodeId, Vec<&str>> = HashMap::new();
    let existing = |(path, record): &(&String, &VaultFile)| {
        record.deleted_at.is_none() && files.contains_key(path.as_str())
    };
    for (path, record) in records.iter().filter(existing) {
        files_of.entry(record.node).or_default().push(path);
    }
    let mut matching =
        NoteMatcher { groups, taken: HashSet::new(), records, files_of, current, is_elsewhere };
    matching.by_content(&contents);
    matching.by_bytes(files);
    matching.by_path();
    matching.by_key(files);
    matching.by_similarity(files);
    let mut groups = matching.groups;

    let mut plan = VaultSyncPlan::default();
    let mut paths_of: BTreeMap<NodeId, Vec<&str>> = BTreeMap::new();
    for (path, record) in records.iter().filter(|(_, record)| record.deleted_at.is_none()) {
        paths_of.entry(record.node).or_default().push(path);
    }
    let group_of: HashMap<String, usize> = groups
        .iter()
        .enumerate()
        .flat_map(|(at, group)| group.paths.iter().map(move |path| (path.clone(), at)))
        .collect();
    let kept: HashSet<NodeId> = groups.iter().filter_map(|group| group.node).collect();
    for (node, paths) in &paths_of {
        let now = current(*node, ExpiredNotes::Skip).unwrap_or(*node);
        // A successor that has files of its own is handled with those files.
        let has_own_files = now != *node && paths_of.contains_key(&now);
        if kept.contains(node) || kept.contains(&now) || has_own_files {
            continue;
        }
        let is_own = paths.iter().all(|path| records.get(*path).is_some_and(|record| record.is_own));
        if !is_own {
            continue;
        }
        let group = paths.iter().find_map(|path| group_of.get(*path));
        match group.and_then(|&group| groups.get_mut(group)) {
            // The note belongs to the files of the other vault now.
            Some(_) if is_elsewhere(now) => {}
            Some(group) => group.merged.push(now),
            None => drop(plan.retired.insert(now)),
        }
    }
    plan.moved = moved_files(&groups, records, &paths_of);
    plan.groups = groups;
    plan
}

/// The files, grouped by content, and the content of each group.
fn group_by_content(files: &Digests) -> (Vec<FileGroup>, Vec<[u8; 32]>) {
    let mut groups: Vec<FileGroup> = Vec::new();
    let mut contents: Vec<[u8; 32]> = Vec::new();
    let mut by_content: HashMap<[u8; 32], usize> = HashMap::new();
    for (path, digest) in files {
        let at = *by_content.entry(digest.content).or_insert_with(|| {
            groups.push(FileGroup {
                paths: Vec::new(),
                node: None,
                is_own: true,
                is_revived: false,
                merged: Vec::new(),
            });
            contents.push(digest.content);
            groups.len() - 1
        });
        if let Some(group) = groups.get_mut(at) {
            group.paths.push(path.clone());
        }
    }
    for group in &mut groups {
        group.paths.sort_by(|a, b| copy_rank(a).cmp(&copy_rank(b)));
    }
    (groups, contents)
}

/// The former path of each file that was moved. `paths_of` has the recorded paths of each note.
fn moved_files(
    groups: &[FileGroup],
    records: &VaultFiles,
    paths_of: &BTreeMap<NodeId, Vec<&str>>,
) -> BTreeMap<String, String> {
    let mut moved = BTreeMap::new();
    for group in groups {
        let Some(node) = group.node else { continue };
        let was_in = |path: &&String| {
            records.get(*path).is_some_and(|record| record.node == node && record.deleted_at.is_none())
        };
        let own: HashSet<&str> = group.paths.iter().map(String::as_str).collect();
        let mut before = paths_of.get(&node).into_iter().flatten().filter(|path| !own.contains(*path));
        for path in group.paths.iter().filter(|path| !was_in(path)) {
            if let Some(from) = before.next() {
                moved.insert(path.clone(), (*from).to_owned());
            }
        }
    }
    moved
}

/// The groups with the notes assigned to them so far.
struct NoteMatcher<'a> {
    groups: Vec<FileGroup>,
    taken: HashSet<NodeId>,
    records: &'a VaultFiles,
    /// The files that exist, by the note of their record.
    files_of: HashMap<NodeId, Vec<&'a str>>,
    current: &'a dyn Fn(NodeId, ExpiredNotes) -> Option<NodeId>,
    is_elsewhere: &'a dyn Fn(NodeId) -> bool,
}

impl NoteMatcher<'_> {
    /// Assigns a note to a group.
    fn assign(&mut self, group: usize, node: NodeId, is_own: bool) -> bool {
        if !self.taken.insert(node) {
            return false;
        }
        if let Some(group) = self.groups.get_mut(group) {
            group.node = Some(node);
            group.is_own = is_own;
        }
        true
    }

    /// Assigns a note to a group whose text differs from that of the note, or whose files exist again.
    fn reassign(&mut self, group: usize, node: NodeId) -> bool {
        let is_revived = (self.current)(node, ExpiredNotes::Skip).is_none();
        let given = self.assign(group, node, true);
        if let Some(group) = self.groups.get_mut(group).filter(|_| given) {
            group.is_revived = is_revived;
        }
        given
    }

    /// Assigns a note to a group whose text differs from that of the note, unless the note also belongs to a file of
    /// another vault. Such a note keeps its text.
    fn assign_edited(&mut self, group: usize, node: NodeId) -> bool {
        !(self.is_elsewhere)(node) && self.reassign(group, node)
    }

    /// Whether a note belongs to an existing file that is not in the group.
    fn is_of_other_file(&self, group: usize, node: NodeId) -> bool {
        let own = self.groups.get(group).map(|group| group.paths.as_slice()).unwrap_or_default();
        let files = self.files_of.get(&node).map(Vec::as_slice).unwrap_or_default();
        files.iter().any(|file| !own.iter().any(|path| path == file))
    }

    /// The groups without a note.
    fn unassigned(&self) -> Vec<usize> {
        (0..self.groups.len())
            .filter(|&at| self.groups.get(at).is_some_and(|group| group.node.is_none()))
            .collect()
    }

    /// Matches by the same text: first the notes of the records, then the notes that replaced them, then retired
    /// notes.
    fn by_content(&mut self, contents: &[[u8; 32]]) {
        for (is_deleted, is_successor) in [(false, false), (false, true), (true, false)] {
            let mut owners: HashMap<[u8; 32], Vec<(&String, &VaultFile)>> = HashMap::new();
            for (path, record) in
                self.records.iter().filter(|(_, record)| record.deleted_at.is_some() == is_deleted)
            {
                owners.entry(record.digest.content).or_default().push((path, record));
            }
            for at in self.unassigned() {
                let Some(found) = contents.get(at).and_then(|content| owners.get(content)) else { continue };
                let mut found = found.clone();
                if let Some(group) = self.groups.get(at) {
                    // A file at its old path takes precedence over a new file.
                    let paths: HashSet<&String> = group.paths.iter().collect();
                    found.sort_by_cached_key(|(path, _)| !paths.contains(path));
                }
                for (_, record) in found {
                    let successor =
                        (self.current)(record.node, ExpiredNotes::Skip).filter(|node| *node != record.node);
                    let is_given = match (is_deleted, is_successor, successor) {
                        // Only if the note expired because of the deletion of its file.
                        (true, ..) => (self.current)(record.node, ExpiredNotes::Include)
                            .filter(|node| *node == record.node && record.is_own)
                            .is_some_and(|node| self.reassign(at, node)),
                        // The file keeps its note even if somebody has retired or deleted the note.
                        (false, false, None) => self.assign(at, record.node, record.is_own),
                        // If the successor is the note of another file, this file keeps the replaced note.
                        (false, true, Some(node)) => {
                            let is_free = !self.taken.contains(&node) && !self.is_of_other_file(at, node);
                            self.assign(at, if is_free { node } else { record.node }, record.is_own)
                        }
                        _ => false,
                    };
                    if is_given {
                        break;
                    }
                }
            }
        }
    }

    /// Matches by the same bytes. The title of a canvas and of a file without text is its file name, so such a file has
    /// another content after a move. A file that was edited keeps its note, even if a new file has its former bytes, as
    /// files that were made from the same template have.
    fn by_bytes(&mut self, files: &Digests) {
        let former: HashSet<[u8; 32]> = self.records.values().map(|record| record.digest.bytes).collect();
        let is_edited = |path: &String| files.get(path).is_some_and(|file| !former.contains(&file.bytes));
        let mut owners: HashMap<[u8; 32], Vec<&VaultFile>> = HashMap::new();
        for (path, record) in self.records {
            if record.deleted_at.is_none() && record.is_own && !is_edited(path) {
                owners.entry(record.digest.bytes).or_default().push(record);
            }
        }
        for at in self.unassigned() {
            let path = self.groups.get(at).and_then(|group| group.paths.first());
            let bytes = path.and_then(|path| files.get(path)).map(|digest| digest.bytes);
            for record in bytes.and_then(|bytes| owners.get(&bytes)).into_iter().flatten() {
                // The file keeps its note even if somebody has retired or deleted the note.
                let node = (self.current)(record.node, ExpiredNotes::Skip).unwrap_or(record.node);
                if (node == record.node || !self.is_of_other_file(at, node))
                    && !(self.is_elsewhere)(node)
                    && self.assign(at, node, true)
                {
                    break;
                }
            }
        }
    }

    /// Matches by the same path. A note that was not created from the files is not changed, and a note that replaced
    /// another one stays with its own file.
    fn by_path(&mut self) {
        for is_deleted in [false, true] {
            for at in self.unassigned() {
                let paths = self.groups.get(at).map(|group| group.paths.clone()).unwrap_or_default();
                for path in paths {
                    let record = self.records.get(&path).filter(|record| record.is_own);
                    let Some(record) = record.filter(|record| record.deleted_at.is_some() == is_deleted)
                    else {
                        continue;
                    };
                    if let Some(node) = (self.current)(record.node, ExpiredNotes::Include)
                        && (node == record.node || !self.is_of_other_file(at, node))
                        && self.assign_edited(at, node)
                    {
                        break;
                    }
                }
            }
        }
    }

    /// The notes whose files were deleted, each with its former path. A new file may be such a file at another path.
    fn lost(&self, files: &Digests) -> Vec<(&String, &VaultFile, NodeId)> {
        let deleted = self.records.iter().filter(|(path, record)| {
            record.deleted_at.is_none() && record.is_own && !files.contains_key(*path)
        });
        let with_note = deleted.filter_map(|(path, record)| {
            Some((path, record, (self.current)(record.node, ExpiredNotes::Include)?))
        });
        with_note.filter(|(_, _, node)| !self.taken.contains(node)).collect()
    }

    /// Matches by the key in the front matter.
    fn by_key(&mut self, files: &Digests) {
        let mut keys: HashMap<String, NodeId> = HashMap::new();
        for (_, record, node) in self.lost(files) {
            if let Some(key) = &record.digest.own_key {
                keys.insert(key.clone(), node);
            }
        }
        for at in self.unassigned() {
            let paths = self.groups.get(at).map(|group| group.paths.clone()).unwrap_or_default();
            let key = paths.iter().find_map(|path| files.get(path)?.own_key.clone());
            if let Some(&node) = key.and_then(|key| keys.get(&key)) {
                self.assign_edited(at, node);
            }
        }
    }

    /// Matches by similar texts, the most similar first.
    fn by_similarity(&mut self, files: &Digests) {
        let mut pairs: Vec<(f64, usize, &String, NodeId)> = Vec::new();
        let lost = self.lost(files);
        let index = SketchIndex::of(lost.iter().map(|(_, record, _)| record.digest.sketch.as_slice()));
        for at in self.unassigned() {
            let Some(path) = self.groups.get(at).and_then(|group| group.paths.first()) else { continue };
            let Some(digest) = files.get(path) else { continue };
            let has_name =
                |place: usize| lost.get(place).is_some_and(|(from, ..)| file_name(from) == file_name(path));
            // The required similarity is half as high for the same file name.
            let nearest = index.nearest(&digest.sketch, |place| if has_name(place) { 2 } else { 1 });
            for (from, record, node) in nearest.into_iter().filter_map(|place| lost.get(place)) {
                let similarity = sketch::similarity(&digest.sketch, &record.digest.sketch);
                let min = if file_name(from) == file_name(path) { SIMILAR_WITH_NAME } else { SIMILAR };
                if similarity >= min {
                    pairs.push((similarity, at, from, *node));
                }
            }
        }
        pairs.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| (a.1, a.2).cmp(&(b.1, b.2))));
        let pairs: Vec<(usize, NodeId)> = pairs.into_iter().map(|(_, at, _, node)| (at, node)).collect();
        for (at, node) in pairs {
            if self.groups.get(at).is_some_and(|group| group.node.is_none()) {
                self.assign_edited(at, node);
            }
        }
    }
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
