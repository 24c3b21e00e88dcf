//! Stores the texts of files as notes.

use super::binding::{VaultFile, WriteBackState, put_file};
use super::digest::{self, FileDigest, FileProperties, ReadFile};
use super::moves::{self, LostPaths};
use super::plan::FileGroup;
use super::report::FileError;
use super::sync::VaultSync;
use crate::batch::{Chunk, separate_note_errors};
use crate::insert::{self, PreparedNote};
use crate::markdown_frame::{MarkdownFrame, Properties};
use crate::resolve::quoted;
use crate::{Draft, regular_file, rename, supersede};
use poc_graph::error::{Code, Error, Result};
use poc_graph::time::Timestamp;
use poc_graph::{Category, Node, NodeId, NodeType};
use poc_store::Transaction;

/// A group of files that is ready to be stored.
struct ReadyGroup {
    group: FileGroup,
    /// The files that were read, by path; the first one determines the properties.
    read: Vec<(String, ReadFile)>,
    /// The digest of the file that determined the properties at the last sync.
    before: Option<FileDigest>,
    /// `None` if the note existed before the files and stays as it is.
    prepared: Option<PreparedNote>,
    /// Whether the note has a text that was changed in the memory, which the text of the file replaces.
    replaces_edit: bool,
}

impl VaultSync<'_> {
    /// Stores new and changed texts in chunks, one transaction each.
    pub(super) fn store(&mut self) -> Result<()> {
        let is_named = |group: &&FileGroup| !group.paths.iter().any(|path| self.unnamed.contains(path));
        let is_held = |group: &&FileGroup| group.paths.iter().all(|path| self.held.contains(path));
        let groups = self.plan.groups.iter().filter(is_named).filter(|group| !is_held(group));
        let changed: Vec<FileGroup> = groups.filter(|group| self.is_changed(group)).cloned().collect();
        let total = changed.len() as u64;
        let mut done = 0;
        let mut rest = changed.into_iter().peekable();
        while rest.peek().is_some() {
            let mut chunk = Chunk::of(self.memory.config.import.chunk);
            while !chunk.is_full()
                && let Some(group) = rest.next()
            {
                chunk.add_bytes(self.bytes_of(&group));
                chunk.push(group);
            }
            let chunk = chunk.take();
            self.store_chunk(&chunk)?;
            done += chunk.len() as u64;
            (self.progress)(done, total);
        }
        Ok(())
    }

    /// The bytes of the files of a group. A file that was deleted since the scan has none.
    fn bytes_of(&self, group: &FileGroup) -> usize {
        let bytes =
            |path: &String| std::fs::metadata(self.vault.folder.join(path)).map_or(0, |found| found.len());
        group.paths.iter().map(bytes).sum::<u64>() as usize
    }

    /// Whether a file of a group differs from its record.
    fn is_changed(&self, group: &FileGroup) -> bool {
        let is_recorded = |(index, path): (usize, &String)| {
            let (Some(record), Some(digest)) = (self.records.get(path), self.files.get(path)) else {
                return false;
            };
            let is_source = index == 0;
            record.deleted_at.is_none()
                && group.node.is_some_and(|node| record.node == node || self.current(record.node) == node)
                && record.digest.bytes == digest.bytes
                && (record.is_source || !is_source)
        };
        !group.paths.iter().enumerate().all(is_recorded)
    }

    /// Stores groups in one transaction.
    fn store_chunk(&mut self, groups: &[FileGroup]) -> Result<()> {
        let chunk = self.prepare_chunk(groups)?;
        let lost = self.lost_paths();
        let stored = self.transact(|tx, now| {
            chunk
                .iter()
                .map(|ready| separate_note_errors(self.store_group(tx, ready, &lost, now)))
                .collect::<Result<Vec<_>>>()
        })?;
        for (ready, stored) in chunk.into_iter().zip(stored) {
            match stored {
                Ok(stored) => {
                    self.report.added += u64::from(stored.is_new);
                    self.report.updated += u64::from(stored.is_updated);
                    self.report.merged += stored.merged;
                    if let Some((path, record)) = stored.records.first()
                        && ready.replaces_edit
                        && stored.is_updated
                    {
                        let warning = self.replaced_text(path, record)?;
                        self.report.warnings.push(warning);
                    }
                    self.records.extend(stored.records);
                    for (path, file) in ready.read {
                        let warnings = file.note.warnings.into_iter();
                        self.report
                            .warnings
                            .extend(warnings.map(|error| FileError { file: path.clone(), error }));
                    }
                }
                Err(error) => self.refuse(&ready.group, error),
            }
        }
        Ok(())
    }

    /// The warning that a file has replaced a text that did not come from it: its note was changed in the memory, or
    /// another note has replaced it, such as the overview of its parts.
    fn replaced_text(&self, path: &str, record: &VaultFile) -> Result<FileError> {
        let former_path = self.plan.moved.get(path).map_or(path, String::as_str);
        let is_successor = self.start.get(former_path).is_some_and(|before| before.node != record.node);
        let node = self.memory.store.node(record.node)?;
        let key = node.map_or_else(|| record.name.clone(), |node| node.key);
        let error = Error::conflict(match is_successor {
            true => format!(
                "the text of the file has replaced that of `{key}`, which had replaced the note of the file"
            ),
            false => "the text of the file has replaced a text that was changed in the memory".to_owned(),
        });
        let hint = format!("`poc-memory history {}` shows the former text", quoted(&key));
        Ok(FileError { file: path.to_owned(), error: error.hint(hint) })
    }

    /// Reads and embeds groups. Those that have an error or are being changed are reported and left out.
    fn prepare_chunk(&mut self, groups: &[FileGroup]) -> Result<Vec<ReadyGroup>> {
        let mut read_groups = Vec::new();
        let mut drafts = Vec::new();
        for group in groups {
            let Some(read) = self.read_group(group) else {
                self.report.busy += 1;
                continue;
            };
            let group = self.with_same_note(group, &read)?;
            let before = group.node.and_then(|node| self.before.get(&node).cloned());
            let known = group.node.map(|id| self.memory.store.node(id)).transpose()?.flatten();
            let is_kept = group.node.is_some()
                && (!group.is_own || known.as_ref().is_none_or(|node| !node.state.is_live()));
            let replaces_edit = !is_kept
                && known.as_ref().zip(before.as_ref()).zip(read.first()).is_some_and(
                    |((node, before), (_, file))| {
                        before.has_hash()
                            && before.content != file.digest.content
                            && !before.is_text_of(node)
                            && !file.digest.is_text_of(node)
                    },
                );
            if let Some((path, file)) = read.first().filter(|_| !is_kept) {
                drafts.push(self.draft(path, file, known.as_ref(), before.as_ref()));
            }
            read_groups.push((ReadyGroup { group, read, before, prepared: None, replaces_edit }, is_kept));
        }
        let mut prepared = insert::prepare_all(self.memory, drafts)?.into_iter();
        let mut ready_groups = Vec::new();
        for (mut ready, is_kept) in read_groups {
            if !is_kept {
                match prepared.next() {
                    Some(Ok(prepared)) => ready.prepared = Some(prepared),
                    Some(Err(error)) => {
                        self.refuse(&ready.group, error);
                        continue;
                    }
                    None => return Err(Error::internal("a file of the vault was not prepared")),
                }
            }
            ready_groups.push(ready);
        }
        Ok(ready_groups)
    }

    /// The group as it is stored. If its files now have the text of a note outside this vault, that note replaces their
    /// own note. New files with such a text get that note, too.
    fn with_same_note(&self, group: &FileGroup, read: &[(String, ReadFile)]) -> Result<FileGroup> {
        let mut group = group.clone();
        let (Some((_, file)), Some(own)) = (read.first(), group.node.filter(|_| group.is_own)) else {
            return Ok(group);
        };
        let is_edited = self.before.get(&own).is_some_and(|before| before.content != file.digest.content);
        if !is_edited {
            return Ok(group);
        }
        let store = &self.memory.store;
        let with_title = store.find_hash(&file.note_content)?;
        // An earlier release may have stored the note.
        let same = with_title.map_or_else(|| store.find_hash(&file.digest.content), |same| Ok(Some(same)))?;
        if let Some(same) = same
            && same != own
            && !self.records.values().any(|record| record.node == same)
        {
            group.merged.push(own);
            group.node = None;
        }
        Ok(group)
    }

    /// Reports the error of a group that was not stored.
    fn refuse(&mut self, group: &FileGroup, error: Error) {
        // The error has a version if somebody changed the note in between. The next sync sees the change.
        let is_outdated = error.at.as_ref().is_some_and(|at| at.version.is_some());
        if error.code == Code::Conflict && is_outdated {
            self.report.busy += 1;
        }
        let file = group.paths.first().cloned().unwrap_or_default();
        self.report.refused.push(FileError { file, error });
    }

    /// Reads the first file of a group and those that have changed, apart from files whose last sync was undone. `None`
    /// if one of them has changed since the sync began.
    fn read_group(&self, group: &FileGroup) -> Option<Vec<(String, ReadFile)>> {
        let provenance = self.vault.provenance();
        let mut read = Vec::new();
        for path in &group.paths {
            // Such a file does not have the text of the note.
            if self.held.contains(path) {
                continue;
            }
            let record = self.records.get(path).filter(|record| record.deleted_at.is_none());
            let planned = self.files.get(path)?;
            if !read.is_empty() && record.is_some_and(|record| record.digest.bytes == planned.bytes) {
                continue;
            }
            let at = self.vault.folder.join(path);
            let bytes = regular_file::read(&at).ok()?;
            let file = digest::read(self.memory, &at, path, &bytes, &provenance).ok()?;
            if file.digest.bytes != planned.bytes {
                return None;
            }
            read.push((path.clone(), file));
        }
        Some(read)
    }

    /// The draft of the note of a file. `known` is the stored note, `before` the digest of the file at the last sync.
    fn draft(&self, path: &str, file: &ReadFile, known: Option<&Node>, before: Option<&FileDigest>) -> Draft {
        let mut draft = file.note.draft.clone();
        match known {
            // Changes by others are kept as long as the content of the file is the same.
            Some(node) if before.is_some_and(|before| before.content == file.digest.content) => {
                draft = Draft { title: None, body: None, keywords: None, ..draft };
                draft.key = Some(node.key.clone());
                draft.update = true;
            }
            Some(node) => {
                draft.key = Some(node.key.clone());
                draft.update = true;
                // Keywords that agents and people added are kept.
                let given = before.map(|before| before.given.keywords.as_slice()).unwrap_or_default();
                let added = node.keywords.iter().filter(|word| !given.contains(word)).cloned();
                draft.keywords.get_or_insert_default().extend(added);
            }
            None => {
                draft.key = self.names.get(path).or_else(|| self.desired_names.get(path)).cloned();
                draft.update = false;
            }
        }
        draft
    }

    /// Stores the note, the names and the records of a group.
    fn store_group(
        &self,
        tx: &mut Transaction<'_>,
        ready: &ReadyGroup,
        lost: &LostPaths<'_>,
        now: Timestamp,
    ) -> Result<StoredGroup> {
        let ReadyGroup { group, read, before, prepared, replaces_edit: _ } = ready;
        let mut stored = StoredGroup::default();
        let mut is_own = group.is_own;
        let id = match prepared {
            None => group.node.ok_or_else(|| Error::internal("a file of the vault has no note"))?,
            Some(prepared) => {
                let inserted = insert::apply(tx, prepared, now)?;
                stored.is_new = !inserted.duplicate && !inserted.updated;
                stored.is_updated = inserted.updated;
                if group.node.is_none() && inserted.duplicate {
                    is_own = self.may_adopt(tx, inserted.id, &group.paths)?;
                }
                let given = read.first().map(|(_, file)| &file.digest.given);
                if let (Some(before), Some(given)) = (before, given) {
                    stored.is_updated |=
                        reset_removed_properties(tx, inserted.id, &before.given, given, now)?;
                }
                inserted.id
            }
        };
        self.add_names(tx, id, &group.paths)?;
        for (_, file) in read {
            let frame = file.note.frame.as_ref().filter(|_| is_own);
            if let Some(frame) = frame
                && let Some(node) = tx.node(id)?
            {
                MarkdownFrame { imported: Properties::of(&node), ..frame.clone() }.put(tx, id)?;
            }
        }
        for (index, path) in group.paths.iter().enumerate() {
            let (Some(digest), Some(desired_name)) = (self.files.get(path), self.desired_names.get(path))
            else {
                continue;
            };
            let record = VaultFile {
                node: id,
                desired_name: desired_name.clone(),
                name: self.names.get(path).unwrap_or(desired_name).clone(),
                digest: FileDigest::clone(digest),
                is_own,
                is_source: index == 0,
                deleted_at: None,
                write_back: self.write_back_state(path, id),
            };
            put_file(tx, &self.vault, path, Some(&record))?;
            stored.records.push((path.clone(), record));
        }
        let names: Vec<String> = stored.records.iter().map(|(_, record)| record.name.clone()).collect();
        stored.merged = self.merge(tx, &group.merged, lost, id, &names, now)?;
        Ok(stored)
    }

    /// Adds the names of files that have the same text as the first.
    fn add_names(&self, tx: &mut Transaction<'_>, id: NodeId, paths: &[String]) -> Result<()> {
        let Some(mut node) = tx.node(id)? else { return Ok(()) };
        let before = node.aliases.len();
        for path in paths {
            let name = self.names.get(path).or_else(|| self.desired_names.get(path));
            let Some(name) = name.filter(|name| !node.names().any(|own| own == name.as_str())) else {
                continue;
            };
            if tx.find_key(name)?.is_none() && node.aliases.len() < poc_graph::MAX_ALIASES {
                // An import of the folder may have made it another name.
                node.other_names.retain(|other| other != name);
                node.aliases.push(name.clone());
            }
        }
        if node.aliases.len() > before { tx.put_node(&node) } else { Ok(()) }
    }

    /// Whether an existing note was imported from these files, and belongs to no vault yet.
    pub(super) fn may_adopt(&self, tx: &Transaction<'_>, id: NodeId, paths: &[String]) -> Result<bool> {
        if self.notes_of_all_vaults.contains(&id) {
            return Ok(false);
        }
        let is_suffix = |long: &str, short: &str| {
            long == short || long.strip_suffix(short).is_some_and(|before| before.ends_with('/'))
        };
        let is_same = |frame: &MarkdownFrame| {
            let path = frame.path.as_str();
            paths.iter().any(|own| is_suffix(own, path) || is_suffix(path, own))
        };
        let provenance = self.vault.provenance();
        let frames = MarkdownFrame::all(tx, id)?;
        Ok(match frames.as_slice() {
            [] => tx.node(id)?.is_some_and(|node| node.provenance == provenance),
            frames => frames.iter().any(is_same),
        })
    }

    /// The recorded paths of files that no longer exist, by note.
    pub(super) fn lost_paths(&self) -> LostPaths<'_> {
        let mut lost = LostPaths::new();
        for (path, record) in self.records.iter().filter(|(path, _)| !self.files.contains_key(*path)) {
            lost.entry(record.node).or_default().push(path);
        }
        lost
    }

    /// Replaces notes by the note whose text their files now have, and returns their number. A note that cannot
    /// be replaced is retired, because it has no file any more.
    pub(super) fn merge(
        &self,
        tx: &mut Transaction<'_>,
        merged: &[NodeId],
        lost: &LostPaths<'_>,
        new: NodeId,
        names: &[String],
        now: Timestamp,
    ) -> Result<u64> {
        let provenance = self.vault.provenance();
        let mut count = 0;
        for &old in merged {
            for path in lost.get(&old).into_iter().flatten() {
                put_file(tx, &self.vault, path, None)?;
            }
            let is_live = tx.node(old)?.is_some_and(|node| node.state.is_live());
            if !is_live || old == new || self.is_elsewhere(old) {
                continue;
            }
            let result = replace_note(tx, old, new, names, &provenance, &self.memory.config, now);
            match separate_note_errors(result)? {
                Ok(()) => count += 1,
                Err(error) => {
                    tracing::debug!("a note of `{}` was not replaced: {}", self.vault.name, error.line());
                    if let Some(node) = tx.node(old)? {
                        moves::expire(tx, node, now)?;
                    }
                }
            }
        }
        Ok(count)
    }

    /// The state of write-back of a file whose note is now `id`.
    pub(super) fn write_back_state(&self, path: &str, id: NodeId) -> WriteBackState {
        let Some(before) = self.before_sync(path) else { return WriteBackState::default() };
        let mut state = before.write_back.clone();
        let has_same_text =
            self.files.get(path).is_some_and(|digest| digest.content == before.digest.content);
        let is_successor = before.node != id && self.current(before.node) == id;
        if !has_same_text {
            state.replaced = None;
        } else if is_successor {
            state.replaced = Some(id);
        }
        state
    }
}

/// The result of storing a group.
#[derive(Default)]
struct StoredGroup {
    is_new: bool,
    is_updated: bool,
    /// Number of replaced notes.
    merged: u64,
    records: Vec<(String, VaultFile)>,
}

/// Replaces one note by another, which gets the names of the files.
fn replace_note(
    tx: &mut Transaction<'_>,
    old: NodeId,
    new: NodeId,
    names: &[String],
    provenance: &str,
    config: &poc_config::Config,
    now: Timestamp,
) -> Result<()> {
    let retired = supersede::check(tx, old)?;
    if names.contains(&retired.key) {
        super::names::free_key(tx, retired)?;
    }
    supersede::apply(tx, old, new, provenance, "its file has the same text", config, now)?;
    let Some(mut node) = tx.node(new)? else { return Ok(()) };
    for name in names {
        if rename::other_owner(tx, name, new)?.is_none() && !node.names().any(|own| own == name) {
            node.aliases.push(name.clone());
        }
    }
    node.aliases.truncate(poc_graph::MAX_ALIASES);
    tx.put_node(&node)
}

/// Resets properties that were removed from the file, unless somebody else has changed them since. Returns
/// whether any was reset.
fn reset_removed_properties(
    tx: &mut Transaction<'_>,
    id: NodeId,
    before: &FileProperties,
    given: &FileProperties,
    now: Timestamp,
) -> Result<bool> {
    let Some(node) = tx.node(id)? else { return Ok(false) };
    let mut next = node.clone();
    let was_removed = |before: bool, given: bool| before && !given;
    if was_removed(before.author.is_some(), given.author.is_some()) && node.author == before.author {
        next.author = None;
    }
    if was_removed(before.source.is_some(), given.source.is_some()) && node.source == before.source {
        next.source = None;
    }
    if was_removed(before.expires.is_some(), given.expires.is_some()) && node.expires == before.expires {
        next.expires = None;
    }
    if was_removed(before.emotion.is_some(), given.emotion.is_some()) && Some(node.emotion) == before.emotion
    {
        next.emotion = 0.0;
    }
    if was_removed(before.category.is_some(), given.category.is_some())
        && Some(node.category) == before.category
    {
        next.category = Category::General;
    }
    let is_type = Some(&node.node_type.0) == before.node_type.as_ref();
    if was_removed(before.node_type.is_some(), given.node_type.is_some()) && is_type {
        next.node_type = NodeType::default();
    }
    if next == node {
        return Ok(false);
    }
    next.version = next.version.saturating_add(1);
    next.modified = now.max(next.modified);
    tx.put_node(&next)?;
    Ok(true)
}
