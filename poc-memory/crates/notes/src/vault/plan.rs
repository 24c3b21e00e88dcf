//! Decides which note each file belongs to. The functions are pure: they read digests and records and change
//! nothing.
//!
//! Files with the same title, text and keywords are names of one note. A note keeps its identity as long as
//! its file can be recognised: first by the same text (the file was moved), then by the same path (the file
//! was edited), then by a similar text (the file was moved and edited).

use super::binding::{VaultFile, VaultFiles};
use super::digest::FileDigest;
use super::sketch;
use poc_graph::NodeId;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// Minimum similarity (Jaccard, 0 to 1) of the text of a file that was moved and edited.
const SIMILAR: f64 = 0.5;
/// The same for a file that kept its file name in another folder.
const SIMILAR_WITH_NAME: f64 = 0.25;

/// Files with one text, and their note.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FileGroup {
    /// The files, in order. The note has the properties of the first.
    pub(super) paths: Vec<String>,
    /// The note; `None` if it is new.
    pub(super) node: Option<NodeId>,
    /// Whether the note was created from these files.
    pub(super) is_own: bool,
    /// Whether the note was retired and is to be revived.
    pub(super) is_revived: bool,
}

/// The changes that a sync will make.
#[derive(Debug, Default, PartialEq)]
pub(super) struct VaultSyncPlan {
    /// All files, grouped by text.
    pub(super) groups: Vec<FileGroup>,
    /// Notes whose files were deleted.
    pub(super) retired: BTreeSet<NodeId>,
    /// Notes whose files now have the text of another group, with the index of that group.
    pub(super) merged: BTreeMap<NodeId, usize>,
    /// The former path of each file that was moved.
    pub(super) moved: BTreeMap<String, String>,
}

/// The digests of the files that exist, by path.
pub(super) type Digests = BTreeMap<String, FileDigest>;

/// Plans a sync. `current` maps a recorded note to the note that now stands for it: itself or its successor
/// if that is live, itself if it was retired and can be revived, `None` if it was deleted.
pub(super) fn plan(
    files: &Digests,
    records: &VaultFiles,
    current: &dyn Fn(NodeId, bool) -> Option<NodeId>,
) -> VaultSyncPlan {
    let mut groups: Vec<FileGroup> = Vec::new();
    let mut contents: Vec<[u8; 32]> = Vec::new();
    let mut by_content: HashMap<[u8; 32], usize> = HashMap::new();
    for (path, digest) in files {
        let at = *by_content.entry(digest.content).or_insert_with(|| {
            groups.push(FileGroup { paths: Vec::new(), node: None, is_own: true, is_revived: false });
            contents.push(digest.content);
            groups.len() - 1
        });
        if let Some(group) = groups.get_mut(at) {
            group.paths.push(path.clone());
        }
    }
    let mut matching = Matching { groups, taken: HashSet::new(), records, current };
    matching.by_content(&contents);
    matching.by_path();
    matching.by_key(files);
    matching.by_similarity(files);
    let groups = matching.groups;

    let mut plan = VaultSyncPlan::default();
    let group_of: HashMap<&str, usize> = groups
        .iter()
        .enumerate()
        .flat_map(|(at, group)| group.paths.iter().map(move |path| (path.as_str(), at)))
        .collect();
    let kept: HashSet<NodeId> = groups.iter().filter_map(|group| group.node).collect();
    let mut paths_of: BTreeMap<NodeId, Vec<&str>> = BTreeMap::new();
    for (path, record) in records.iter().filter(|(_, record)| record.deleted_at.is_none()) {
        paths_of.entry(record.node).or_default().push(path);
    }
    for (node, paths) in &paths_of {
        let now = current(*node, false).unwrap_or(*node);
        if kept.contains(node) || kept.contains(&now) {
            continue;
        }
        let is_own = paths.iter().all(|path| records.get(*path).is_some_and(|record| record.is_own));
        if !is_own {
            continue;
        }
        match paths.iter().find_map(|path| group_of.get(path)) {
            Some(&group) => drop(plan.merged.insert(now, group)),
            None => drop(plan.retired.insert(now)),
        }
    }
    for group in &groups {
        let Some(node) = group.node else { continue };
        let was_in = |path: &&String| {
            records.get(*path).is_some_and(|record| record.node == node && record.deleted_at.is_none())
        };
        let mut before = paths_of
            .get(&node)
            .into_iter()
            .flatten()
            .filter(|path| !group.paths.iter().any(|own| own == *path));
        for path in group.paths.iter().filter(|path| !was_in(path)) {
            if let Some(from) = before.next() {
                plan.moved.insert(path.clone(), (*from).to_owned());
            }
        }
    }
    plan.groups = groups;
    plan
}

/// The groups with the notes assigned to them so far.
struct Matching<'a> {
    groups: Vec<FileGroup>,
    taken: HashSet<NodeId>,
    records: &'a VaultFiles,
    current: &'a dyn Fn(NodeId, bool) -> Option<NodeId>,
}

impl Matching<'_> {
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
        let is_revived = (self.current)(node, false).is_none();
        let given = self.assign(group, node, true);
        if let Some(group) = self.groups.get_mut(group).filter(|_| given) {
            group.is_revived = is_revived;
        }
        given
    }

    fn open(&self) -> Vec<usize> {
        (0..self.groups.len())
            .filter(|&at| self.groups.get(at).is_some_and(|group| group.node.is_none()))
            .collect()
    }

    /// Matches by the same text: first live notes, then retired ones.
    fn by_content(&mut self, contents: &[[u8; 32]]) {
        for is_deleted in [false, true] {
            let mut owners: HashMap<[u8; 32], Vec<(&String, &VaultFile)>> = HashMap::new();
            for (path, record) in
                self.records.iter().filter(|(_, record)| record.deleted_at.is_some() == is_deleted)
            {
                owners.entry(record.digest.content).or_default().push((path, record));
            }
            for at in self.open() {
                let Some(found) = contents.get(at).and_then(|content| owners.get(content)) else { continue };
                let paths = self.groups.get(at).map(|group| group.paths.clone()).unwrap_or_default();
                // A file at its old path takes precedence over a new file.
                let mut found = found.clone();
                found.sort_by_key(|(path, _)| !paths.contains(path));
                for (_, record) in found {
                    let is_given = match is_deleted {
                        // Only if the note expired because of the deletion of its file.
                        true => (self.current)(record.node, true)
                            .filter(|node| *node == record.node && record.is_own)
                            .is_some_and(|node| self.reassign(at, node)),
                        // The file keeps its note even if somebody has retired or deleted the note.
                        false => {
                            let node = (self.current)(record.node, false).unwrap_or(record.node);
                            self.assign(at, node, record.is_own)
                        }
                    };
                    if is_given {
                        break;
                    }
                }
            }
        }
    }

    /// Matches by the same path. A note that was not created from the files is not changed.
    fn by_path(&mut self) {
        for is_deleted in [false, true] {
            for at in self.open() {
                let paths = self.groups.get(at).map(|group| group.paths.clone()).unwrap_or_default();
                for path in paths {
                    let record = self.records.get(&path).filter(|record| record.is_own);
                    let Some(record) = record.filter(|record| record.deleted_at.is_some() == is_deleted)
                    else {
                        continue;
                    };
                    if let Some(node) = (self.current)(record.node, true)
                        && self.reassign(at, node)
                    {
                        break;
                    }
                }
            }
        }
    }

    /// The notes whose files were deleted, each with its former path. A new file may be one of them.
    fn lost(&self, files: &Digests) -> Vec<(&String, &VaultFile, NodeId)> {
        let deleted = self.records.iter().filter(|(path, record)| {
            record.deleted_at.is_none() && record.is_own && !files.contains_key(*path)
        });
        let with_note =
            deleted.filter_map(|(path, record)| Some((path, record, (self.current)(record.node, true)?)));
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
        for at in self.open() {
            let paths = self.groups.get(at).map(|group| group.paths.clone()).unwrap_or_default();
            let key = paths.iter().find_map(|path| files.get(path)?.own_key.clone());
            if let Some(&node) = key.and_then(|key| keys.get(&key)) {
                self.reassign(at, node);
            }
        }
    }

    /// Matches by similar texts, the most similar first.
    fn by_similarity(&mut self, files: &Digests) {
        let mut pairs: Vec<(f64, usize, &String, NodeId)> = Vec::new();
        let lost = self.lost(files);
        let mut by_hash: HashMap<u32, Vec<usize>> = HashMap::new();
        for (place, (_, record, _)) in lost.iter().enumerate() {
            record.digest.sketch.iter().for_each(|hash| by_hash.entry(*hash).or_default().push(place));
        }
        for at in self.open() {
            let Some(path) = self.groups.get(at).and_then(|group| group.paths.first()) else { continue };
            let Some(digest) = files.get(path) else { continue };
            let candidates: BTreeSet<usize> =
                digest.sketch.iter().filter_map(|hash| by_hash.get(hash)).flatten().copied().collect();
            for (from, record, node) in candidates.into_iter().filter_map(|place| lost.get(place)) {
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
                self.reassign(at, node);
            }
        }
    }
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
