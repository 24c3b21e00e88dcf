//! Sessions: the notes that name one are tied in their order, each to the next.
//!
//! The order is that of the lines of a file; files of a folder have none, there it is the time of
//! creation, and the path among those of one time.

use super::edges::put_edge;
use super::source::PROVENANCE;
use super::{Import, SourceLocation, separate_note_errors};
use crate::row;
use poc_graph::error::Result;
use poc_graph::time::Timestamp;
use poc_graph::{Edge, EdgeKind, NodeId};
use rustc_hash::{FxHashMap, FxHashSet};

/// A note of a session.
pub(super) struct SessionNote {
    pub(super) id: NodeId,
    pub(super) place: SourceLocation,
    pub(super) created: Timestamp,
}

impl Import<'_> {
    /// Ties the notes of each session, chunk by chunk.
    pub(super) fn link_sessions(&mut self) -> Result<()> {
        let strength = self.memory.config.write.structural_weight;
        let (now, provenance) = (self.memory.now(), self.cause.actor.clone());
        let mut edges: Vec<(SourceLocation, Edge)> = Vec::new();
        for (_, mut notes) in std::mem::take(&mut self.sessions) {
            if notes.iter().any(|note| matches!(note.place, SourceLocation::File(_))) {
                notes.sort_by(|a, b| a.created.cmp(&b.created).then_with(|| a.place.cmp(&b.place)));
            }
            let row: Vec<NodeId> = notes.iter().map(|note| note.id).collect();
            self.delete_outdated(&row)?;
            let places: FxHashMap<NodeId, &SourceLocation> =
                notes.iter().map(|note| (note.id, &note.place)).collect();
            let made = row::edges(&row, strength, now, &provenance).into_iter();
            edges.extend(made.filter_map(|edge| Some(((*places.get(&edge.src)?).clone(), edge))));
        }
        for chunk in edges.chunks(self.chunk_of_edges()) {
            let made = self.memory.store.transact(self.cause(), |tx| {
                chunk
                    .iter()
                    .map(|(_, edge)| separate_note_errors(put_edge(tx, edge)))
                    .collect::<Result<Vec<_>>>()
            })?;
            for ((place, _), made) in chunk.iter().zip(made.value) {
                match made {
                    Ok(made) => self.report.edges += u64::from(made),
                    Err(error) => self.report.failed.push((place.clone(), error)),
                }
            }
        }
        Ok(())
    }

    /// Takes away edges between notes of a session that stood beside each other and do not any more.
    fn delete_outdated(&self, row: &[NodeId]) -> Result<()> {
        let members: FxHashSet<NodeId> = row.iter().copied().collect();
        let beside: FxHashSet<(NodeId, NodeId)> =
            row.iter().zip(row.iter().skip(1)).flat_map(|(&a, &b)| [(a, b), (b, a)]).collect();
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
                    // Those an import made, from whichever file; others were made on purpose.
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
