//! Creates the edges that notes name, after all notes are stored.

use super::location::SourceLocation;
use super::note_link::NoteLink;
use super::run::{Import, PendingEdges, UnresolvedImportLink};
use super::{references, wikilinks};
use crate::batch::separate_note_errors;
use crate::{link, supersede};
use poc_graph::error::{Error, Result};
use poc_graph::time::Timestamp;
use poc_graph::{Edge, EdgeKind, NodeId, cancellation, normal_key};
use poc_store::Transaction;
use rustc_hash::FxHashSet;
use std::collections::HashMap;

/// An edge with resolved source and target.
struct ResolvedEdge {
    place: usize,
    edge: Edge,
}

/// Notes by the names that links use, [folded](wikilinks::folded).
type NotesByName = HashMap<String, NodeId>;

/// The notes by folded name; `None` for a name of several notes.
#[derive(Default)]
struct UniqueNames(HashMap<String, Option<NodeId>>);

impl UniqueNames {
    fn add(&mut self, name: &str, id: NodeId) {
        let owner = self.0.entry(wikilinks::folded(name)).or_insert(Some(id));
        *owner = owner.filter(|owner| *owner == id);
    }
}

impl Import<'_> {
    /// Creates the edges, chunk by chunk.
    pub(super) fn create_edges(&mut self) -> Result<()> {
        let pending = std::mem::take(&mut self.pending);
        let names = self.names(&pending);
        let mut ready = Vec::new();
        let mut outdated = Vec::new();
        for (place, (_, edges)) in pending.iter().enumerate() {
            cancellation::check()?;
            match edges {
                PendingEdges::Exported { id, edges } => {
                    let moved = |id: NodeId| self.ids.get(&id).copied().unwrap_or(id);
                    for edge in edges {
                        let edge = edge.edge(moved(*id));
                        // The store that exported the edge may have had a higher cap.
                        let strength = match edge.kind.is_associative() {
                            true => edge.strength.min(self.memory.config.edges.cap),
                            false => edge.strength,
                        };
                        ready.push(ResolvedEdge {
                            place,
                            edge: Edge { dst: moved(edge.dst), strength, ..edge },
                        });
                    }
                }
                PendingEdges::Foreign { src: Some(src), links, replaces, .. } => {
                    let edges = self.links(*src, links, &names, &pending, place)?;
                    if *replaces {
                        let own = edges.iter().filter(|ready| ready.edge.src == *src);
                        outdated.push((*src, own.map(|ready| ready.edge.dst).collect::<FxHashSet<_>>()));
                    }
                    ready.extend(edges);
                }
                PendingEdges::Foreign { src: None, .. } => {}
            }
        }
        self.add_link_candidates(&pending)?;
        for chunk in outdated.chunks(self.memory.config.import.chunk.max(1)) {
            cancellation::check()?;
            let provenance = self.cause.actor.clone();
            self.memory.store.transact(self.cause(), |tx| {
                chunk.iter().try_for_each(|(src, kept)| unlink(tx, *src, kept, &provenance))
            })?;
        }
        for chunk in ready.chunks(self.chunk_of_edges()) {
            cancellation::check()?;
            let cause = self.cause();
            let now = cause.at;
            let made = self.memory.store.transact(cause, |tx| {
                chunk
                    .iter()
                    .map(|ready| separate_note_errors(put_edge(tx, &ready.edge, now)))
                    .collect::<Result<Vec<_>>>()
            })?;
            for (ready, made) in chunk.iter().zip(made.value) {
                match (made, pending.get(ready.place)) {
                    (Ok(made), _) => self.report.edges += u64::from(made),
                    (Err(error), Some((place, _))) => self.report.failed.push((place.clone(), error)),
                    (Err(_), None) => {}
                }
            }
        }
        Ok(())
    }

    /// The notes by the names that links use. The kinds of names, in increasing order of precedence, are other names,
    /// last parts of keys, aliases of the files that were read, and names of these files. A name of several notes is
    /// left out, unless it is the name of a file.
    fn names(&self, pending: &[(SourceLocation, PendingEdges)]) -> NotesByName {
        let view = self.memory.store.view();
        let (mut others, mut last_parts, mut aliases) =
            (UniqueNames::default(), UniqueNames::default(), UniqueNames::default());
        for ix in 0..view.slots() {
            if view.is_live(ix)
                && let Some(id) = view.id(ix)
            {
                view.other_names(ix).for_each(|name| others.add(name, id));
                view.names(ix)
                    .filter_map(|name| name.rsplit('/').next())
                    .for_each(|last| last_parts.add(last, id));
            }
        }
        let mut own_names = NotesByName::new();
        for (_, edges) in pending {
            if let PendingEdges::Foreign { src: Some(src), names: own, aliases: other, .. } = edges {
                // Files with the same text are names of the same note.
                let lasts = own.iter().chain(other).filter_map(|name| name.rsplit('/').next());
                lasts.for_each(|last| last_parts.add(last, *src));
                other.iter().for_each(|name| aliases.add(name, *src));
                own_names.extend(own.iter().map(|name| (wikilinks::folded(name), *src)));
            }
        }
        let mut names = NotesByName::new();
        for unique in [others, last_parts, aliases] {
            names.extend(unique.0.into_iter().filter_map(|(name, id)| Some((name, id?))));
        }
        names.extend(own_names);
        names
    }

    fn links(
        &mut self,
        src: NodeId,
        links: &[NoteLink],
        names: &NotesByName,
        pending: &[(SourceLocation, PendingEdges)],
        place: usize,
    ) -> Result<Vec<ResolvedEdge>> {
        let mut ready: Vec<ResolvedEdge> = Vec::new();
        // An index of a vault may have a link to each of its notes.
        let mut known: FxHashSet<(NodeId, NodeId)> = FxHashSet::default();
        let now = self.memory.now();
        let file = match pending.get(place) {
            Some((SourceLocation::File(file), _)) => file.as_str(),
            _ => "",
        };
        for link in links {
            let from = link.from.as_deref().map(|from| self.find(&from.to_owned().into(), file, names));
            let (dst, src) = (self.find(link, file, names)?, from.transpose()?.unwrap_or(Some(src)));
            let (Some(dst), Some(src)) = (dst, src) else {
                if let Some((place, _)) = pending.get(place) {
                    let missing =
                        if dst.is_none() { &link.target } else { link.from.as_ref().unwrap_or(&link.target) };
                    self.report.unresolved.push(UnresolvedImportLink::new(place.clone(), missing.clone()));
                }
                continue;
            };
            if dst != src && known.insert((src, dst)) {
                let edge = link_edge(src, dst, &self.cause.actor, &link.reason, now);
                ready.push(ResolvedEdge { place, edge });
            }
        }
        Ok(ready)
    }

    /// The note that a link leads to. A path is resolved from the folder of its file first; every target is
    /// then looked up as written, without its heading, and last without the extension before the heading.
    fn find(&self, link: &NoteLink, file: &str, names: &NotesByName) -> Result<Option<NodeId>> {
        if link.is_path
            && let Some(path) = references::joined(file, &link.target)
            && let Some(id) = names.get(&wikilinks::folded(&path))
        {
            return Ok(Some(*id));
        }
        let target = link.target.as_str();
        let short = wikilinks::without_heading(target);
        let mut forms = vec![target, short, references::without_extension(short)];
        forms.dedup();
        for name in forms {
            if let Some(id) = self.memory.store.find_key(&normal_key(name))? {
                return Ok(Some(id));
            }
            if let Some(id) = names.get(&wikilinks::folded(name)) {
                return Ok(Some(*id));
            }
        }
        Ok(None)
    }
}

fn link_edge(src: NodeId, dst: NodeId, provenance: &str, reason: &str, now: Timestamp) -> Edge {
    Edge {
        src,
        dst,
        kind: EdgeKind::Link,
        strength: link::STRENGTH,
        created: now,
        touched: now,
        provenance: provenance.to_owned(),
        reason: reason.to_owned(),
    }
}

/// Creates an edge unless it exists. Returns whether it was created.
pub(super) fn put_edge(tx: &mut Transaction<'_>, edge: &Edge, now: Timestamp) -> Result<bool> {
    for id in [edge.src, edge.dst] {
        if tx.node(id)?.is_none() {
            return Err(Error::not_found(format!("an edge leads to `{id}`, which does not exist"))
                .hint("import the file that holds this note, too"));
        }
    }
    if tx.edge(edge.src, edge.kind, edge.dst)?.is_some() || edge.src == edge.dst {
        return Ok(false);
    }
    supersede::put_edge(tx, edge, now)?;
    Ok(true)
}

/// Deletes the links of an older version of a note that the new version does not name.
fn unlink(tx: &mut Transaction<'_>, src: NodeId, kept: &FxHashSet<NodeId>, provenance: &str) -> Result<()> {
    for edge in tx.edges(src)? {
        let own = edge.src == src && edge.kind == EdgeKind::Link && edge.provenance == provenance;
        if own && !kept.contains(&edge.dst) {
            tx.delete_edge(src, edge.kind, edge.dst)?;
        }
    }
    Ok(())
}
