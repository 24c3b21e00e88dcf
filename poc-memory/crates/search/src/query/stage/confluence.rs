//! `confluence,max_hops=3,edge_decay=0.3,min_sources=2,min_activation=0.005`: what several nodes of the
//! incoming set reach together (`rank::confluence`).

use super::definition::{Hints, StageDef, Work};
use super::seeds::best;
use super::spread::{EDGE_DECAY, MAX_HOPS, MIN_ACTIVATION, rules, weighed};
use crate::query::example::Example;
use crate::query::param::{Param, ParamPosition, Presence, ValueType};
use crate::query::scan::visible_at;
use poc_rank::confluence::confluence;

/// Nodes activation spreads from one by one, the best of the set.
const MOST_SOURCES: usize = 10_000;

pub(super) const STAGE: StageDef = StageDef {
    word: "confluence",
    params: &[
        MAX_HOPS,
        EDGE_DECAY,
        Param {
            name: "min_sources",
            position: ParamPosition::Named,
            value_type: ValueType::Count(1, MOST_SOURCES),
            presence: Presence::Default("2"),
            doc: "nodes of the set that must reach a node",
        },
        MIN_ACTIVATION,
    ],
    doc: "Nodes that activation from several of the set arrives at, times their weight",
    more: "Activation spreads from each node of the set on its own, as in `spread`: from node s, which \
           emits its score, `a(s, i)` arrives at node i; a sum under `min_activation` is dropped, node \
           by node of the set. A node that activation from at least `min_sources` of them arrives at \
           scores `weight(i) · Σ a(s, i)`. A node of the set is reached from itself, so of one node \
           with `min_sources=1` this is `spread`. Of more than 10,000 nodes the best spread, and no further one starts after 100 million steps. \
           After the \
           intersection search of Quillian (1968, \"Semantic memory\"), graded as by Collins and Loftus \
           (1975).\n\n\
           By hand: with ties a — m of 1 and m — b of 0.5, `edge_decay=0.5` and one hop, a and b with \
           score 1 each, m gets 0.5 from a and 0.25 from b: it alone is reached from both and scores \
           0.75.",
    example: Example {
        pipeline: "key:[bw]* | confluence,max_hops=1",
        output: &["b-tree", "wal", "crash-notes"],
    },
    describe: |call| {
        let least = call.count("min_sources").unwrap_or_default();
        let hops = call.count("max_hops").unwrap_or_default();
        format!(
            "spreads activation from each node of the set over {hops} hops and keeps what {least} or more reach"
        )
    },
    work: Work::Algorithm(|call, ctx, items| {
        let (view, rules) = (ctx.sources.view, rules(call)?);
        let min_sources = call.count("min_sources")?;
        let sources = best(ctx, items, MOST_SOURCES);
        if sources.len() < min_sources {
            ctx.note(format!("{} in the set, {min_sources} must reach a node", sources.len()));
        }
        let is_live = visible_at(view, ctx.sources.visibility());
        let (found, started) = confluence(view, &sources, rules, min_sources, is_live);
        if started < sources.len() {
            ctx.note(format!("stopped at {started} of the set: enough was walked"));
        }
        Ok(weighed(ctx, found))
    }),
    hints: Hints::NONE,
};
