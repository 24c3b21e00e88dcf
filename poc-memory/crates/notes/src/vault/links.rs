//! Creates edges for the links of the files, and removes edges whose links are no longer in any file.
//!
//! Only edges with the provenance of the vault are removed: those of people and agents stay.

use super::binding::{self, VaultFile};
use super::deleted_notes::take_without_note;
use super::named_notes::{FilesByLastPart, LinkTarget, NamedNotes};
use super::report::{AmbiguousLink, UnresolvedVaultLink};
use super::sync::VaultSync;
use crate::import::references::{joined, without_extension};
use crate::import::{NoteLink, folded, last_part, without_heading};
use crate::link;
use poc_graph::error::Result;
use poc_graph::time::Timestamp;
use poc_graph::{Edge, EdgeKind, NodeId, View, normal_key};
use poc_store::{Records as _, Store};
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The edges that the links of the files require, by source: kind and target, with the reason.
pub(super) type DesiredEdges = BTreeMap<NodeId, BTreeMap<(EdgeKind, NodeId), String>>;

/// The files of a vault, and the notes, by the names that links use.
struct LinkNames<'a> {
    store: &'a Store,
    view: &'a View,
    /// Files by path without extension.
    paths: HashMap<&'a str, NodeId>,
    /// Files by their path in lower case, and by the last part of it.
    any_case: HashMap<&'a str, NamedNotes<'a>>,
    last_parts: FilesByLastPart<'a>,
    /// Files by their other names in lower case.
    names: HashMap<String, NamedNotes<'a>>,
    /// All notes by the last part of their keys in lower case.
    notes: OnceCell<HashMap<String, NamedNotes<'a>>>,
}

/// A change of the edges of the vault.
enum EdgeChange {
    /// Writes the edge.
    Write(Edge),
    /// Deletes the edge.
    Delete(Edge),
}

impl VaultSync<'_> {
    /// Creates and removes edges so that they match the links of all files.
    pub(super) fn link(&mut self) -> Result<()> {
        self.records = binding::files(&self.memory.store, &self.vault)?;
        take_without_note(self.memory, &mut self.records)?;
        let (desired_edges, ambiguous, unresolved) = desired_edges(self)?;
        self.report.ambiguous = ambiguous;
        self.report.unresolved = unresolved;
        let changes = self.edge_changes(&desired_edges)?;
        self.apply_edge_changes(&changes)?;
        if self.vault.write_back { self.write_back(&desired_edges) } else { Ok(()) }
    }

    /// The edges to write and to delete.
    fn edge_changes(&self, desired_edges: &DesiredEdges) -> Result<Vec<EdgeChange>> {
        let (memory, provenance) = (self.memory, self.vault.provenance());
        let strength = memory.config.write.structural_weight;
        let mut changes = Vec::new();
        let now = memory.now();
        let sources: BTreeSet<NodeId> = self
            .records
            .values()
            .flat_map(|record| [record.node, self.current(record.node)])
            // The files may have got other notes.
            .chain(self.start.values().map(|record| record.node))
            .chain(desired_edges.keys().copied())
            .collect();
        let none = BTreeMap::new();
        for src in sources {
            let desired_edges = desired_edges.get(&src).unwrap_or(&none);
            let existing = memory.store.edges_from(src, &[EdgeKind::Link, EdgeKind::Structural])?;
            let known: BTreeMap<(EdgeKind, NodeId), Edge> =
                existing.into_iter().map(|edge| ((edge.kind, edge.dst), edge)).collect();
            for (&(kind, dst), reason) in desired_edges {
                let edge = Edge {
                    src,
                    dst,
                    kind,
                    strength: if kind == EdgeKind::Link { link::STRENGTH } else { strength },
                    created: now,
                    touched: now,
                    provenance: provenance.clone(),
                    reason: reason.clone(),
                };
                match known.get(&(kind, dst)) {
                    None => changes.push(EdgeChange::Write(edge)),
                    Some(there) if there.provenance == provenance && there.reason != *reason => {
                        changes.push(EdgeChange::Write(Edge { reason: reason.clone(), ..there.clone() }));
                    }
                    Some(_) => {}
                }
            }
            let unwanted = known
                .into_iter()
                .filter(|(key, edge)| edge.provenance == provenance && !desired_edges.contains_key(key));
            changes.extend(unwanted.map(|(_, edge)| EdgeChange::Delete(edge)));
        }
        Ok(changes)
    }

    /// Writes and deletes edges, apart from those that others have made since or whose notes were deleted.
    fn apply_edge_changes(&mut self, changes: &[EdgeChange]) -> Result<()> {
        let (memory, provenance) = (self.memory, self.vault.provenance());
        for chunk in changes.chunks(memory.config.import.chunk.max(1) * 4) {
            let (added, removed) = self.transact(|tx, _| {
                let (mut added, mut removed) = (0, 0);
                for change in chunk {
                    let (EdgeChange::Write(edge) | EdgeChange::Delete(edge)) = change;
                    let there = tx.edge(edge.src, edge.kind, edge.dst)?;
                    let is_own = there.as_ref().is_none_or(|there| there.provenance == provenance);
                    let exist = tx.node(edge.src)?.is_some() && tx.node(edge.dst)?.is_some();
                    match change {
                        EdgeChange::Write(_) if exist && is_own => {
                            tx.put_edge(edge)?;
                            added += u64::from(there.is_none());
                        }
                        EdgeChange::Delete(_) if is_own && there.is_some() => {
                            tx.delete_edge(edge.src, edge.kind, edge.dst)?;
                            removed += 1;
                        }
                        EdgeChange::Write(_) | EdgeChange::Delete(_) => {}
                    }
                }
                Ok((added, removed))
            })?;
            self.report.links_added += added;
            self.report.links_removed += removed;
        }
        Ok(())
    }
}

/// The edges that the links require, and the links that are ambiguous or unresolved.
fn desired_edges(
    sync: &VaultSync<'_>,
) -> Result<(DesiredEdges, Vec<AmbiguousLink>, Vec<UnresolvedVaultLink>)> {
    let view = sync.memory.store.view();
    let live: Vec<(&String, &VaultFile, NodeId)> = sync
        .records
        .iter()
        .filter(|(_, record)| record.deleted_at.is_none())
        .map(|(path, record)| (path, record, sync.current(record.node)))
        .filter(|(_, _, node)| view.find(*node).is_some_and(|ix| view.is_live(ix)))
        .collect();
    let folded_paths: Vec<String> = live.iter().map(|(path, ..)| folded(without_extension(path))).collect();
    let names = LinkNames::of(&sync.memory.store, &view, &live, &folded_paths);
    let mut edges = DesiredEdges::new();
    let (mut ambiguous, mut unresolved) = (Vec::new(), Vec::new());
    let mut sessions: BTreeMap<&str, BTreeSet<(Timestamp, &String, NodeId)>> = BTreeMap::new();
    for (path, record, node) in &live {
        for link in &record.digest.links {
            let from = match &link.from {
                None => LinkTarget::Note(*node),
                Some(from) => names.resolve(path, &NoteLink::from(from.clone()))?,
            };
            match (from, names.resolve(path, link)?) {
                (LinkTarget::Note(src), LinkTarget::Note(dst)) if src != dst => {
                    let reason = link.reason.clone();
                    edges.entry(src).or_default().entry((EdgeKind::Link, dst)).or_insert(reason);
                }
                (LinkTarget::Several(candidates), _) | (_, LinkTarget::Several(candidates)) => {
                    let candidates = candidates.into_iter().collect();
                    ambiguous.push(AmbiguousLink {
                        file: (*path).clone(),
                        link: link.target.clone(),
                        candidates,
                    });
                }
                (LinkTarget::None, _) | (_, LinkTarget::None) => {
                    unresolved.push(UnresolvedVaultLink { file: (*path).clone(), link: link.target.clone() });
                }
                _ => {}
            }
        }
        if let Some(session) = &record.digest.session {
            let created = view.find(*node).map_or(Timestamp(0), |ix| view.created(ix));
            sessions.entry(session).or_default().insert((created, path, *node));
        }
    }
    for turns in sessions.values() {
        let mut nodes: Vec<NodeId> = turns.iter().map(|(_, _, node)| *node).collect();
        nodes.dedup();
        for pair in nodes.windows(2) {
            if let [before, after] = *pair {
                for (src, dst) in [(before, after), (after, before)] {
                    edges.entry(src).or_default().entry((EdgeKind::Structural, dst)).or_default();
                }
            }
        }
    }
    Ok((edges, ambiguous, unresolved))
}

impl<'a> LinkNames<'a> {
    /// `folded_paths` are the paths of the files, without extension and in lower case.
    fn of(
        store: &'a Store,
        view: &'a View,
        live: &[(&'a String, &'a VaultFile, NodeId)],
        folded_paths: &'a [String],
    ) -> LinkNames<'a> {
        let mut names = LinkNames {
            store,
            view,
            paths: HashMap::new(),
            any_case: HashMap::new(),
            last_parts: FilesByLastPart::default(),
            names: HashMap::new(),
            notes: OnceCell::new(),
        };
        for (&(path, record, node), folded_path) in live.iter().zip(folded_paths) {
            let stem = without_extension(path);
            names.paths.entry(stem).or_insert(node);
            names.any_case.entry(folded_path).or_default().add(path, node);
            names.last_parts.add(folded_path, path, node);
            let own_key = record.digest.own_key.iter();
            for name in record.digest.names.iter().chain(own_key).filter(|name| name.as_str() != stem) {
                let owners = names.names.entry(folded(name)).or_default();
                if owners.last() != Some((path.as_str(), node)) {
                    owners.add(path, node);
                }
            }
        }
        names
    }

    /// The note that a link refers to. The link is tried as written, then without its heading.
    fn resolve(&self, file: &str, link: &NoteLink) -> Result<LinkTarget> {
        let target = link.target.as_str();
        let whole = self.resolve_name(file, target, link.is_path)?;
        let short = without_heading(target);
        if matches!(whole, LinkTarget::None) && short != target {
            return self.resolve_name(file, short, link.is_path);
        }
        Ok(whole)
    }

    /// The note with a name. Tries in this order: the file with this path; the only file whose path ends with
    /// the name, or the one in the same folder; the only file with this alias; any other note with this key,
    /// former key, last part of a key, or other name.
    fn resolve_name(&self, file: &str, target: &str, is_path: bool) -> Result<LinkTarget> {
        let is_relative = is_path || target.starts_with("./") || target.starts_with("../");
        if is_relative && let Some(path) = joined(file, target) {
            let in_any_case = || self.any_case.get(folded(&path).as_str()).map(|found| found.target(file));
            match self.path(&path).map(LinkTarget::Note).or_else(in_any_case) {
                Some(found) => return Ok(found),
                None => {
                    // The file was moved, and its note has this path as a former key.
                    if let Some(node) =
                        self.store.find_key(&normal_key(&path))?.filter(|node| self.is_live(*node))
                    {
                        return Ok(LinkTarget::Note(node));
                    }
                }
            }
        }
        let target = without_extension(target.trim_start_matches(['.', '/']));
        if let Some(node) = self.path(target) {
            return Ok(LinkTarget::Note(node));
        }
        let whole = folded(target);
        for found in
            [self.any_case.get(whole.as_str()), self.last_parts.ending(&whole), self.names.get(&whole)]
        {
            match found.map(|found| found.target(file)) {
                None | Some(LinkTarget::None) => {}
                Some(resolved) => return Ok(resolved),
            }
        }
        if let Some(node) = self.store.find_key(&normal_key(target))?.filter(|node| self.is_live(*node)) {
            return Ok(LinkTarget::Note(node));
        }
        Ok(self.notes().get(&whole).map_or(LinkTarget::None, |found| found.target("")))
    }

    fn path(&self, path: &str) -> Option<NodeId> {
        self.paths.get(path).copied()
    }

    fn is_live(&self, node: NodeId) -> bool {
        self.view.find(node).is_some_and(|ix| self.view.is_live(ix))
    }

    /// The notes by key and last part of a key, and by their other names that are neither.
    fn notes(&self) -> &HashMap<String, NamedNotes<'a>> {
        self.notes.get_or_init(|| {
            let view = self.view;
            let mut notes: HashMap<String, NamedNotes<'_>> = HashMap::new();
            let mut others: HashMap<String, NamedNotes<'_>> = HashMap::new();
            for ix in (0..view.slots()).filter(|&ix| view.is_live(ix)) {
                let Some(id) = view.id(ix) else { continue };
                let is_last = |owners: &NamedNotes<'_>| owners.last().is_some_and(|(_, owner)| owner == id);
                for name in view.names(ix) {
                    for part in [folded(name), folded(last_part(name))] {
                        let owners = notes.entry(part).or_default();
                        if !is_last(owners) {
                            owners.add(name, id);
                        }
                    }
                }
                for name in view.other_names(ix) {
                    let owners = others.entry(folded(name)).or_default();
                    if !is_last(owners) {
                        owners.add(view.key(ix), id);
                    }
                }
            }
            for (name, owners) in others {
                notes.entry(name).or_insert(owners);
            }
            notes
        })
    }
}
