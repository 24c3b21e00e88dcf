//! `neighbors:KEY,hops=1`: the nodes around a node (`rank::reach`), best first.

use super::definition::{Hints, StageDef, Work};
use crate::query::example::Example;
use crate::query::param::{Absent, Param, Place, Takes};
use crate::query::scan::is_seen;
use crate::query::set::{ResultSet, Scored};
use crate::query::top::best_first;
use poc_rank::reach::reach;

pub(super) const STAGE: StageDef = StageDef {
    word: "neighbors",
    params: &[
        Param {
            name: "KEY",
            place: Place::Colon,
            takes: Takes::Key,
            absent: Absent::Error,
            doc: "the key of the node in the middle",
        },
        Param {
            name: "hops",
            place: Place::Named,
            takes: Takes::Count(1, 8),
            absent: Absent::Default("1"),
            doc: "ties from the node at most",
        },
    ],
    doc: "The nodes around a node, without itself; score = product of the strengths of the strongest path",
    more: "A path is as strong as the product of its ties, and a node scores as much as the strongest \
           path of at most `hops` ties from KEY: with one hop, the strength of the tie. Paths lead over \
           live nodes; the node in the middle may be in any state, and is not part of the answer.",
    example: Example { pipeline: "neighbors:wal", gives: &["b-tree", "crash-notes"] },
    does: |call| {
        let (key, hops) = (call.text("KEY").unwrap_or_default(), call.count("hops").unwrap_or_default());
        let ties = if hops == 1 { "tie" } else { "ties" };
        format!("the nodes within {hops} {ties} of `{key}`")
    },
    work: Work::Generate(|call, ctx| {
        let view = ctx.sources.view;
        let center = ctx.node("neighbors", &call.text("KEY")?)?;
        let around = reach(view, center, call.count("hops")?, is_seen(view, ctx.sources.sight()));
        let mut items: Vec<Scored> = around.into_iter().map(|(ix, score)| Scored { ix, score }).collect();
        best_first(view, &mut items);
        Ok(ResultSet { items, pairs: Vec::new() })
    }),
    hints: Hints::NONE,
};
