//! `confluence,max_hops=3,edge_decay=0.3,min_sources=2,min_activation=0.005`: the nodes that activation from several
//! nodes of the input reaches (`poc_rank::confluence`).

use super::definition::{Hints, StageDef, StageImplementation};
use super::seeds::best;
use super::spread::{EDGE_DECAY, MAX_HOPS, MIN_ACTIVATION, rules, times_weight};
use crate::query::example::Example;
use crate::query::param::{Param, ParamPosition, ParamType, Presence};
use crate::query::scan::visible_at;
use poc_graph::plural;
use poc_rank::confluence::confluence;

/// The maximum number of source nodes.
const MAX_SOURCES: usize = 10_000;

pub(super) const STAGE: StageDef = StageDef {
    word: "confluence",
    params: &[
        MAX_HOPS,
        EDGE_DECAY,
        Param {
            name: "min_sources",
            position: ParamPosition::Named,
            value_type: ParamType::Count(1, MAX_SOURCES),
            presence: Presence::Default("2"),
            doc: "the number of notes of the set that must reach a note",
        },
        MIN_ACTIVATION,
    ],
    doc: "Notes that activation from several notes of the set reaches, scored by its sum times their weight",
    more: "Activation spreads from each note of the set separately, as in `spread`: from note s, which emits \
           its score, `a(s, i)` arrives at note i. For each source, sums under `min_activation` are dropped. \
           A note reached from at least `min_sources` sources scores `weight(i) · Σ a(s, i)`. A note of the \
           set counts as reached from itself, so for a single note with `min_sources=1` this is `spread`. If \
           the set has more than 10,000 notes, only the best 10,000 spread, and after 100 million steps no \
           further source starts. The algorithm follows the intersection search of Quillian (1968, \
           \"Semantic memory\"), with the graded activation of Collins and Loftus (1975).\n\n\
           Worked example: the edges are a — m with strength 1 and m — b with 0.5, `edge_decay=0.5`, one \
           hop, and a and b have score 1. Then m gets 0.5 from a and 0.25 from b. It is the only note \
           reached from both and scores 0.75.",
    example: Example {
        pipeline: "key:[bw]* | confluence,max_hops=1",
        output: &["b-tree", "wal", "crash-notes"],
    },
    describe: |call| {
        let min = call.count("min_sources").unwrap_or_default();
        let hops = plural(call.count("max_hops").unwrap_or_default() as u64, "hop");
        format!("spreads activation from each note of the set over {hops} and keeps what {min} or more reach")
    },
    implementation: StageImplementation::Algorithm(|call, ctx, items, wanted| {
        let (view, rules) = (ctx.sources.view, rules(call)?);
        let min_sources = call.count("min_sources")?;
        let sources = best(ctx, items, MAX_SOURCES);
        if sources.len() < min_sources {
            ctx.remark(format!("{} in the set, {min_sources} must reach a note", sources.len()));
        }
        let is_live = visible_at(view, ctx.sources.visibility());
        let (found, started) = confluence(view, &sources, rules, min_sources, is_live);
        if started < sources.len() {
            ctx.remark(format!("stopped at {started} of the set: the limit on the work was reached"));
        }
        Ok(times_weight(ctx, found, wanted))
    }),
    hints: Hints::NONE,
};
