//! Writes links of agents and people, and replacements, into the files of a vault.
//!
//! Only lines of the front matter that write-back added are ever changed. A file is replaced atomically, and only if it
//! has not changed since the sync read it. A copy of the replaced file is kept.

use super::binding::{VaultFile, WriteBackState, put_file};
use super::digest;
use super::links::DesiredEdges;
use super::report::FileError;
use super::scan::FileStat;
use super::sync::VaultSync;
use super::written_properties::{self, WrittenProperties};
use crate::import::PROVENANCE;
use crate::import::references::{is_attachment, without_extension};
use crate::markdown_frame::{MarkdownFrame, Properties};
use crate::regular_file;
use poc_config::paths::{Paths, create_private};
use poc_config::{atomic_write, files};
use poc_graph::error::{Error, Result};
use poc_graph::{EdgeKind, NodeId, View, cancellation};
use poc_store::Records as _;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

impl VaultSync<'_> {
    /// Writes the missing links and replacements into the files. `edges` are those that the files' own links
    /// require.
    pub(super) fn write_back(&mut self, edges: &DesiredEdges) -> Result<()> {
        let view = self.memory.store.view();
        let paths = self.paths_of_notes(&view);
        let mut writes = Vec::new();
        // The note of a refused file does not have the text of the file.
        let refused: HashSet<&str> =
            self.report.refused.iter().map(|problem| problem.file.as_str()).collect();
        for (path, record) in &self.records {
            let is_note = is_stored_source(record)
                && record.is_own
                && !self.held.contains(path)
                && !path.ends_with(".canvas")
                && !refused.contains(path.as_str());
            let now = self.current(record.node);
            let is_of_note = paths.get(&now) == Some(path);
            // The file of a replaced note shows only the replacement: the links are in the file of that note.
            if !is_note || !is_of_note && (now == record.node || !paths.contains_key(&now)) {
                continue;
            }
            let written = &record.digest.written;
            // A link that a person removed from the property stays removed.
            let state = &record.write_back;
            let mut declined = state.declined.clone();
            let removed = state.written.iter().filter(|(_, name)| !written.links.contains(name));
            declined.extend(removed.map(|(node, _)| *node));
            let links = match is_of_note {
                true => self.links_of_others(now, &declined, &paths, edges)?,
                false => BTreeMap::new(),
            };
            let replacement =
                state.replaced.or((now != record.node).then_some(now)).filter(|node| *node == now);
            let name_of = |node: NodeId| view.find(node).map(|ix| view.key(ix).to_owned());
            let properties = WrittenProperties {
                links: links.keys().cloned().collect(),
                replaced_by: replacement.and_then(name_of),
            };
            let links: Vec<(NodeId, String)> = links.into_iter().map(|(name, node)| (node, name)).collect();
            let next = WriteBackState { written: links, declined, ..state.clone() };
            if properties != *written || next != *state {
                writes.push((path.clone(), properties, next));
            }
        }
        for (path, properties, state) in writes {
            cancellation::check()?;
            self.write_properties(&path, &properties, state)?;
        }
        Ok(())
    }

    /// The path of the file of each live note that has one.
    fn paths_of_notes(&self, view: &View) -> HashMap<NodeId, String> {
        let mut paths: HashMap<NodeId, String> = HashMap::new();
        for (path, record) in self.records.iter().filter(|(_, record)| is_stored_source(record)) {
            let now = self.current(record.node);
            // The successor of a replaced note may be the note of another file. Then it has the path of that file.
            if now == record.node {
                paths.insert(now, path.clone());
            } else {
                paths.entry(now).or_insert_with(|| path.clone());
            }
        }
        paths.retain(|node, _| view.find(*node).is_some_and(|ix| view.is_live(ix)));
        paths
    }

    /// The links that agents and people made from a note to notes with a file: their targets by the name that a link
    /// in a file gives. Links that the file itself requires and links to `declined` targets are not among them.
    fn links_of_others(
        &self,
        from: NodeId,
        declined: &[NodeId],
        paths: &HashMap<NodeId, String>,
        edges: &DesiredEdges,
    ) -> Result<BTreeMap<String, NodeId>> {
        let mut links = BTreeMap::new();
        for edge in self.memory.store.edges_from(from, &[EdgeKind::Link])? {
            let target = self.current(edge.dst);
            let is_own = edges.get(&from).is_some_and(|own| own.contains_key(&(EdgeKind::Link, target)));
            let is_foreign = !edge.provenance.starts_with(PROVENANCE);
            if let Some(name) = paths.get(&target).map(|path| without_extension(path))
                && !name.contains(['[', ']', '|'])
                && !is_attachment(name)
                && is_foreign
                && !is_own
                && target != from
                && !declined.contains(&target)
            {
                links.insert(name.to_owned(), target);
            }
        }
        Ok(links)
    }

    fn write_properties(
        &mut self,
        path: &str,
        properties: &WrittenProperties,
        write_back: WriteBackState,
    ) -> Result<()> {
        let Some(record) = self.records.get(path).cloned() else { return Ok(()) };
        let digest = if *properties == record.digest.written {
            None
        } else {
            match self.write_file(path, &record, properties) {
                Ok(Some((file, stat))) => {
                    self.written.insert(path.to_owned(), stat);
                    Some(file)
                }
                Ok(None) => {
                    self.report.busy += 1;
                    return Ok(());
                }
                Err(_) if self.is_deleted(path) => {
                    self.report.busy += 1;
                    return Ok(());
                }
                Err(error) => {
                    self.report.refused.push(FileError { file: path.to_owned(), error });
                    return Ok(());
                }
            }
        };
        self.report.written.extend(digest.as_ref().map(|_| path.to_owned()));
        let (digest, frame) = match digest {
            Some(file) => (file.digest, file.note.frame),
            None => (record.digest.clone(), None),
        };
        let record = VaultFile { digest, write_back, ..record };
        let node = self.current(record.node);
        // The file is written already, so a cancelled sync records it, too.
        self.memory.store.transact(self.cause(), |tx| {
            put_file(tx, &self.vault, path, Some(&record))?;
            // The rewritten file does not change the note, so the frame keeps the properties of the last
            // import.
            let before = MarkdownFrame::all(tx, node)?.into_iter().find(|frame| frame.path == path);
            if let (Some(frame), Some(node)) = (&frame, tx.node(node)?) {
                let imported = before.map_or_else(|| Properties::of(&node), |before| before.imported);
                MarkdownFrame { imported, ..frame.clone() }.put(tx, node.id)?;
            }
            Ok(())
        })?;
        self.records.insert(path.to_owned(), record);
        Ok(())
    }

    /// Whether a file was deleted or moved since the scan.
    fn is_deleted(&self, path: &str) -> bool {
        let found = std::fs::symlink_metadata(self.vault.folder.join(path));
        found.is_err_and(|error| error.kind() == ErrorKind::NotFound)
    }

    /// Replaces a file; `None` if it has changed since the sync read it.
    fn write_file(
        &self,
        path: &str,
        record: &VaultFile,
        properties: &WrittenProperties,
    ) -> Result<Option<(digest::ReadFile, FileStat)>> {
        let at = self.vault.folder.join(path);
        let wrong = |error: std::io::Error| {
            Error::invalid(format!("cannot be written: {error}"))
                .hint("`poc-memory vault write-back VAULT --off` leaves files as they are")
        };
        let metadata = std::fs::symlink_metadata(&at).map_err(wrong)?;
        if !metadata.is_file() {
            return Err(Error::invalid("it is a symbolic link, which is not written to"));
        }
        let stat = FileStat::of(&metadata);
        let bytes = regular_file::read(&at).map_err(wrong)?;
        if *blake3::hash(&bytes).as_bytes() != record.digest.bytes {
            return Ok(None);
        }
        let Ok(text) = std::str::from_utf8(&bytes) else { return Ok(None) };
        if let Some(name) = written_properties::property_of_person(text) {
            return Err(Error::conflict(format!("its property `{name}` is not a list of links"))
                .hint("rename the property, because write-back uses this name"));
        }
        let next = written_properties::set(text, properties);
        let read = digest::read(self.memory, &at, path, next.as_bytes(), &self.vault.provenance())?;
        let is_same_note = read.digest.content == record.digest.content
            && read.digest.links == record.digest.links
            && read.digest.written == *properties
            && written_properties::remove(&next) == written_properties::remove(text);
        if !is_same_note {
            return Err(Error::invalid(
                "no property can be added to its front matter without changing the note",
            )
            .hint("write one property per line between two lines `---`"));
        }
        self.back_up(path, text)?;
        let temporary = atomic_write::synced_temporary(&at, next.as_bytes()).map_err(wrong)?;
        if std::fs::symlink_metadata(&at).map(|now| FileStat::of(&now)).ok() != Some(stat) {
            return Ok(None);
        }
        let is_read = |bytes: &[u8]| bytes == text.as_bytes();
        let file = atomic_write::replace_expected(&at, temporary, is_read).map_err(wrong)?;
        let Some(file) = file else { return Ok(None) };
        Ok(Some((read, FileStat::of(&file.metadata().map_err(wrong)?))))
    }

    /// Keeps a copy of a file as it was before it is written.
    fn back_up(&self, path: &str, text: &str) -> Result<()> {
        let copy = copies_folder(&self.memory.paths).join(&self.vault.name).join(path);
        create_private(copy.parent().unwrap_or(Path::new(".")))?;
        files::write(&copy, text)
    }
}

/// Whether a file determines the properties of its note, and the note has the text of the file.
fn is_stored_source(record: &VaultFile) -> bool {
    record.deleted_at.is_none() && record.is_source && record.digest.has_hash()
}

/// The folder with copies of the files of all vaults, by name of the vault, from before the last write-back.
pub(crate) fn copies_folder(paths: &Paths) -> PathBuf {
    paths.vaults().join("before-write-back")
}
