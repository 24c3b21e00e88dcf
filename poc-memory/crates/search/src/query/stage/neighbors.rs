//! `neighbors:KEY,hops=1`: the nodes around a node (`poc_rank::reach`), best first.

use super::definition::{Hints, StageDef, StageImplementation};
use crate::query::example::Example;
use crate::query::param::{Param, ParamPosition, ParamType, Presence};
use crate::query::scan::visible_at;
use crate::query::set::{ResultSet, ScoredNode};
use crate::query::top::best_first;
use poc_rank::strongest_paths::reach;

pub(super) const STAGE: StageDef = StageDef {
    word: "neighbors",
    params: &[
        Param {
            name: "KEY",
            position: ParamPosition::Colon,
            value_type: ParamType::Key,
            presence: Presence::Required,
            doc: "the key of the note to start from",
        },
        Param {
            name: "hops",
            position: ParamPosition::Named,
            value_type: ParamType::Count(1, 8),
            presence: Presence::Default("1"),
            doc: "the maximum number of edges from the note",
        },
    ],
    doc: "The notes around a note, without the note itself; score = strength of the strongest path",
    more: "The strength of a path is the product of the strengths of its edges. A note scores the strength \
           of the strongest path of at most `hops` edges from KEY: for one hop, the strength of the edge. \
           Paths lead over live notes only. The note KEY itself may be in any state and is not part of the \
           result.",
    example: Example { pipeline: "neighbors:wal", output: &["b-tree", "crash-notes"] },
    describe: |call| {
        let (key, hops) = (call.text("KEY").unwrap_or_default(), call.count("hops").unwrap_or_default());
        let edges = if hops == 1 { "edge" } else { "edges" };
        format!("the notes within {hops} {edges} of `{key}`")
    },
    implementation: StageImplementation::Generate(|call, ctx| {
        let view = ctx.sources.view;
        let center = ctx.node("neighbors", &call.text("KEY")?)?;
        let around = reach(view, center, call.count("hops")?, visible_at(view, ctx.sources.visibility()));
        let mut items: Vec<ScoredNode> =
            around.into_iter().map(|(ix, score)| ScoredNode { ix, score }).collect();
        best_first(view, &mut items);
        Ok(ResultSet::of(items))
    }),
    hints: Hints::NONE,
};
