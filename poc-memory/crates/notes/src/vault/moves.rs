//! Assigns to notes the names of their files, and retires notes whose files were deleted.

use super::binding::{VaultFile, put_file};
use super::names::{self, NameChange, NameOwners};
use super::report::FileError;
use super::sync::VaultSync;
use crate::derivation;
use crate::markdown_frame::MarkdownFrame;
use poc_graph::error::Result;
use poc_graph::time::Timestamp;
use poc_graph::{Node, NodeId, State, cancellation};
use poc_store::Transaction;
use std::collections::{BTreeMap, HashMap, HashSet};

/// Maximum number of notes of one transaction.
const CHUNK: usize = 1000;

/// The result of the second step of an exchange of names.
#[derive(Default)]
struct AssignedNames {
    /// The names that files got, by path.
    given: Vec<(String, String)>,
    warnings: Vec<FileError>,
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
        if !paths.is_empty() {
            self.memory.store.transact(self.cause("vault sync"), |tx| {
                paths.iter().try_for_each(|path| put_file(tx, &self.vault, path, None))
            })?;
            paths.iter().for_each(|path| drop(self.records.remove(path)));
        }
        Ok(())
    }

    /// Retires the notes whose files were deleted, in a transaction of its own that can be undone.
    pub(super) fn retire(&mut self) -> Result<()> {
        let others = self.nodes_of_other_vaults()?;
        let retired: Vec<NodeId> = self.plan.retired.iter().copied().collect();
        for chunk in retired.chunks(CHUNK) {
            cancellation::check()?;
            let is_retired: HashSet<NodeId> = chunk.iter().copied().collect();
            let (vault, records) = (&self.vault, &self.records);
            let cause = self.cause("vault retire");
            let now = cause.at;
            let deleted: Vec<(&String, &VaultFile)> = records
                .iter()
                .filter(|(_, record)| {
                    record.deleted_at.is_none() && is_retired.contains(&self.current(record.node))
                })
                .collect();
            let count = self.memory.store.transact(cause, |tx| {
                let mut count = 0;
                for id in chunk {
                    let node = tx.node(*id)?.filter(|node| node.state.is_live() && !others.contains(id));
                    if let Some(node) = node {
                        expire(tx, node, now)?;
                        count += 1;
                    }
                }
                for (path, record) in &deleted {
                    let record = VaultFile { deleted_at: Some(now), ..(*record).clone() };
                    put_file(tx, vault, path, Some(&record))?;
                }
                Ok(count)
            })?;
            self.report.retired += count.value;
            let paths: Vec<String> = deleted.iter().map(|(path, _)| (*path).clone()).collect();
            for path in paths {
                if let Some(record) = self.records.get_mut(&path) {
                    record.deleted_at = Some(now);
                }
            }
        }
        Ok(())
    }

    /// Assigns to notes the names of their files, and revives retired notes whose files exist again.
    pub(super) fn rename(&mut self) -> Result<()> {
        let changes = self.name_changes();
        if changes.is_empty() {
            return Ok(());
        }
        let desired_names: HashSet<&str> = self.desired_names.values().map(String::as_str).collect();
        let own: HashSet<NodeId> = self.records.values().map(|record| record.node).collect();
        let merged: HashSet<NodeId> = self.plan.merged.keys().copied().collect();
        let provenance = self.vault.provenance();
        let owners = NameOwners {
            vault: &self.vault.name,
            provenance: &provenance,
            own: &own,
            merged: &merged,
            desired_names: &desired_names,
        };
        let mut moving = Vec::new();
        let mut given: Vec<(String, String)> = Vec::new();
        let mut warnings = Vec::new();
        let has_one_chunk = changes.len() <= CHUNK;
        for chunk in changes.chunks(CHUNK) {
            let cause = self.cause("vault rename");
            let now = cause.at;
            let done = self.memory.store.transact(cause, |tx| {
                let (mut revived, mut moving) = (0, Vec::with_capacity(chunk.len()));
                for change in chunk {
                    revived += u64::from(revive(tx, change, now)?);
                    moving.push(names::release(tx, change)?);
                }
                let assigned = has_one_chunk.then(|| self.assign(tx, chunk, &moving, &owners));
                Ok((revived, moving, assigned.transpose()?))
            })?;
            let (count, released, assigned) = done.value;
            self.report.revived += count;
            moving.extend(released);
            if let Some(assigned) = assigned {
                given.extend(assigned.given);
                warnings.extend(assigned.warnings);
            }
        }
        if !has_one_chunk {
            for (chunk, moving) in changes.chunks(CHUNK).zip(moving.chunks(CHUNK)) {
                let cause = self.cause("vault rename");
                let done = self.memory.store.transact(cause, |tx| self.assign(tx, chunk, moving, &owners))?;
                given.extend(done.value.given);
                warnings.extend(done.value.warnings);
            }
        }
        self.report.warnings.extend(warnings);
        let given: HashMap<String, String> = given.into_iter().collect();
        self.record_moves(&given);
        self.names.extend(given);
        Ok(())
    }

    /// The second step of an exchange of names, with the records of the files.
    fn assign(
        &self,
        tx: &mut Transaction<'_>,
        changes: &[NameChange],
        moving: &[Option<names::MovingNote>],
        owners: &NameOwners<'_>,
    ) -> Result<AssignedNames> {
        let mut assigned = AssignedNames::default();
        for (change, moving) in changes.iter().zip(moving) {
            let Some(moving) = moving else { continue };
            let names = names::assign(tx, change, moving, owners, &mut assigned.warnings)?;
            if let Some(node) = change.node {
                for (path, name) in &names {
                    if let Some(record) = self.moved_record(path, name, node, change.is_own) {
                        put_file(tx, &self.vault, path, Some(&record))?;
                    }
                }
            }
            assigned.given.extend(names);
        }
        let nodes: HashSet<NodeId> = changes.iter().filter_map(|change| change.node).collect();
        for (path, record) in self.lost_records() {
            if nodes.contains(&record.node) || nodes.contains(&self.current(record.node)) {
                put_file(tx, &self.vault, path, None)?;
                let frames = MarkdownFrame::all(tx, record.node)?;
                let frame = frames.iter().find(|frame| frame.path == *path);
                frame.map_or(Ok(()), |frame| frame.delete(tx, record.node))?;
            }
        }
        Ok(assigned)
    }

    /// The record of a file that was recognised, before it is read.
    fn moved_record(&self, path: &str, name: &str, node: NodeId, is_own: bool) -> Option<VaultFile> {
        let mut digest = self.files.get(path)?.clone();
        // If this sync is interrupted before it reads the file, the next one will read it.
        digest.bytes = [0; 32];
        let desired_name = self.desired_names.get(path)?.clone();
        let name = name.to_owned();
        let write_back = self.before_sync(path).map(|before| before.write_back.clone()).unwrap_or_default();
        Some(VaultFile {
            node,
            desired_name,
            name,
            digest,
            is_own,
            is_source: false,
            deleted_at: None,
            write_back,
        })
    }

    /// The record of a file before this sync, found by its former path if it was moved; `None` if the file is
    /// new.
    pub(super) fn before_sync(&self, path: &str) -> Option<&VaultFile> {
        let before = self.plan.moved.get(path).and_then(|from| self.start.get(from));
        before.or_else(|| self.start.get(path))
    }

    /// The records of files that were deleted although their notes stay.
    fn lost_records(&self) -> impl Iterator<Item = (&String, &VaultFile)> {
        let kept: HashSet<NodeId> = self.plan.groups.iter().filter_map(|group| group.node).collect();
        self.records.iter().filter(move |(path, record)| {
            !self.files.contains_key(*path) && (record.deleted_at.is_none() || kept.contains(&record.node))
        })
    }

    fn record_moves(&mut self, given: &HashMap<String, String>) {
        let lost: Vec<String> = self.lost_records().map(|(path, _)| path.clone()).collect();
        for path in lost {
            self.records.remove(&path);
        }
        for group in self.plan.groups.clone() {
            let Some(node) = group.node else { continue };
            for path in &group.paths {
                let record =
                    given.get(path).and_then(|name| self.moved_record(path, name, node, group.is_own));
                if let Some(record) = record {
                    self.records.insert(path.clone(), record);
                }
            }
        }
    }

    /// The names that notes lose and get.
    fn name_changes(&self) -> Vec<NameChange> {
        let mut by_node: BTreeMap<NodeId, Vec<(&String, &VaultFile)>> = BTreeMap::new();
        for (path, record) in self.records.iter().filter(|(_, record)| record.deleted_at.is_none()) {
            by_node.entry(self.current(record.node)).or_default().push((path, record));
        }
        let mut deleted_names: HashMap<NodeId, Vec<&String>> = HashMap::new();
        for record in self.records.values().filter(|record| record.deleted_at.is_some()) {
            deleted_names.entry(record.node).or_default().push(&record.name);
        }
        let without_file: HashSet<NodeId> =
            self.lost_records().map(|(_, record)| self.current(record.node)).collect();
        let view = self.memory.store.view();
        let mut changes = Vec::new();
        for group in &self.plan.groups {
            let mut change = NameChange {
                node: group.node,
                is_own: group.is_own,
                is_revived: group.is_revived,
                ..NameChange::default()
            };
            let before = group.node.and_then(|node| by_node.remove(&node)).unwrap_or_default();
            for path in &group.paths {
                let Some(desired_name) = self.desired_names.get(path) else { continue };
                match before.iter().find(|(before, _)| *before == path) {
                    Some((_, record)) if record.desired_name == *desired_name => {
                        change.kept.push(record.name.clone())
                    }
                    _ => change.gained.push((path.clone(), desired_name.clone())),
                }
            }
            let is_kept = |name: &String| {
                change.kept.contains(name) || change.gained.iter().any(|(_, gained)| gained == name)
            };
            // A revived note still has the names that it had when it was retired.
            let former = group.node.and_then(|node| deleted_names.get(&node)).into_iter().flatten();
            let names = before.iter().map(|(_, record)| &record.name).chain(former.copied());
            change.lost = names.filter(|name| !is_kept(name)).cloned().collect();
            // Two copies may have the same name; the record of a deleted copy must be deleted anyway.
            let has_lost = group.node.is_some_and(|node| without_file.contains(&node));
            // A temporary key shows that an exchange of names was interrupted.
            let key = group.node.and_then(|node| view.find(node)).map(|ix| view.key(ix));
            let is_moving = key.is_some_and(names::is_moving);
            if change.is_revived
                || has_lost
                || is_moving
                || !change.lost.is_empty()
                || !change.gained.is_empty()
            {
                changes.push(change);
            }
        }
        // Notes that existed before their files and have no file any more.
        for (node, before) in by_node {
            if !self.plan.retired.contains(&node) && !self.plan.merged.contains_key(&node) {
                let lost = before.iter().map(|(_, record)| record.name.clone()).collect();
                changes.push(NameChange { node: Some(node), lost, ..NameChange::default() });
            }
        }
        changes
    }
}

/// Expires a note: no search finds it, and consolidation deletes it for good after a while.
fn expire(tx: &mut Transaction<'_>, node: Node, now: Timestamp) -> Result<()> {
    let (id, version) = (node.id, node.version.saturating_add(1));
    tx.put_node(&Node { state: State::Expired, expires: Some(now), modified: now, version, ..node })?;
    derivation::source_changed(tx, id, now)
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
