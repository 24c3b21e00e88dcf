//! `linked-to:KEY`: nodes with an edge to the node with the key.

use super::definition::{Hints, StageDef, StageImplementation};
use crate::query::example::Example;
use crate::query::param::{Param, ParamPosition, ParamType, Presence};
use poc_graph::Neighbor;

pub(super) const STAGE: StageDef = StageDef {
    word: "linked-to",
    params: &[Param {
        name: "KEY",
        position: ParamPosition::Colon,
        value_type: ParamType::Key,
        presence: Presence::Required,
        doc: "the key of the other note",
    }],
    doc: "Keeps notes with an edge to the note with a key",
    more: "Edges of all kinds that graph stages see count (`link`, `keyword`, `semantic` and the associative \
           ones), in both directions. The note with the key may be in any state.",
    example: Example { pipeline: "linked-to:wal", output: &["b-tree", "crash-notes"] },
    describe: |call| format!("linked to `{}`", call.text("KEY").unwrap_or_default()),
    implementation: StageImplementation::Filter(|call, ctx| {
        let view = ctx.sources.view;
        let center = ctx.node("linked-to", &call.text("KEY")?)?;
        // The edges are sorted by target, and nodes mostly ascend, so the next target is usually close ahead.
        let row = view.edges(center);
        let mut at = 0;
        Ok(Box::new(move |ix| {
            let is_before = |edge: &Neighbor| edge.target() < ix;
            if at > 0 && !row.get(at - 1).is_some_and(is_before) {
                at = row.partition_point(is_before);
            }
            while row.get(at).is_some_and(is_before) {
                at += 1;
            }
            row.get(at).is_some_and(|edge| edge.target() == ix)
        }))
    }),
    hints: Hints::NONE,
};
