//! Connects the notes of a session in their order.
//!
//! Lines of a file keep their order. Files of a folder are sorted by their positions if all have one, otherwise by
//! creation time, and by path if the times are equal.

use super::edges::put_edge;
use super::location::SourceLocation;
use super::run::{Import, PROVENANCE, SessionNote};
use crate::batch::separate_note_errors;
use crate::sequence;
use poc_graph::error::Result;
use poc_graph::{Edge, EdgeKind, NodeId, cancellation};
use rustc_hash::{FxHashMap, FxHashSet};

impl Import<'_> {
    /// Creates the edges between the notes of each session, chunk by chunk.
    pub(super) fn link_sessions(&mut self) -> Result<()> {
        let strength = self.memory.config.write.structural_weight;
        let (now, provenance) = (self.memory.now(), self.cause.actor.clone());
        let mut edges: Vec<(SourceLocation, Edge)> = Vec::new();
        self.detach()?;
        for (_, mut notes) in std::mem::take(&mut self.sessions) {
            if notes.iter().any(|note| matches!(note.location, SourceLocation::File(_))) {
                let by_position = notes.iter().all(|note| note.position.is_some());
                let position = |note: &SessionNote| note.position.filter(|_| by_position).unwrap_or_default();
                notes.sort_by(|a, b| {
                    let order = position(a).total_cmp(&position(b));
                    order.then_with(|| a.created.cmp(&b.created)).then_with(|| a.location.cmp(&b.location))
                });
            }
            let ids: Vec<NodeId> = notes.iter().map(|note| note.id).collect();
            self.delete_outdated(&ids)?;
            let locations: FxHashMap<NodeId, &SourceLocation> =
                notes.iter().map(|note| (note.id, &note.location)).collect();
            let made = sequence::edges(&ids, strength, now, &provenance).into_iter();
            edges.extend(made.filter_map(|edge| Some(((*locations.get(&edge.src)?).clone(), edge))));
        }
        for chunk in edges.chunks(self.chunk_of_edges()) {
            cancellation::check()?;
            let made = self.memory.store.transact(self.cause(), |tx| {
                chunk
                    .iter()
                    .map(|(_, edge)| separate_note_errors(put_edge(tx, edge, now)))
                    .collect::<Result<Vec<_>>>()
            })?;
            for ((location, _), made) in chunk.iter().zip(made.value) {
                match made {
                    Ok(made) => self.report.edges += u64::from(made),
                    Err(error) => self.report.failed.push((location.clone(), error)),
                }
            }
        }
        Ok(())
    }

    /// Removes notes that are no longer part of their session from its order.
    fn detach(&self) -> Result<()> {
        for chunk in self.detached.chunks(self.chunk_of_edges()) {
            self.memory.store.transact(self.cause(), |tx| {
                for key in chunk {
                    let Some(id) = tx.find_key(key)? else { continue };
                    for edge in tx.edges(id)? {
                        if edge.kind == EdgeKind::Structural && edge.provenance.starts_with(PROVENANCE) {
                            tx.delete_edge(edge.src, edge.kind, edge.dst)?;
                        }
                    }
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Deletes edges between notes of a session that are no longer neighbours.
    fn delete_outdated(&self, ids: &[NodeId]) -> Result<()> {
        let members: FxHashSet<NodeId> = ids.iter().copied().collect();
        let beside: FxHashSet<(NodeId, NodeId)> =
            ids.iter().zip(ids.iter().skip(1)).flat_map(|(&a, &b)| [(a, b), (b, a)]).collect();
        let view = self.memory.store.view();
        let outdated = |id: NodeId| -> Vec<NodeId> {
            let edges = view.find(id).map(|ix| view.edges(ix)).unwrap_or_default().iter();
            let order = edges.filter(|edge| edge.is_outgoing() && edge.kind() == EdgeKind::Structural);
            let others = order.filter_map(|edge| view.id(edge.target()));
            others.filter(|other| members.contains(other) && !beside.contains(&(id, *other))).collect()
        };
        let outdated: Vec<(NodeId, NodeId)> =
            members.iter().flat_map(|&id| outdated(id).into_iter().map(move |other| (id, other))).collect();
        for chunk in outdated.chunks(self.chunk_of_edges()) {
            self.memory.store.transact(self.cause(), |tx| {
                for &(src, dst) in chunk {
                    let edge = tx.edge(src, EdgeKind::Structural, dst)?;
                    // Deletes only edges that an import created; others were created on purpose.
                    if edge.is_some_and(|edge| edge.provenance.starts_with(PROVENANCE)) {
                        tx.delete_edge(src, EdgeKind::Structural, dst)?;
                    }
                }
                Ok(())
            })?;
        }
        Ok(())
    }
}
