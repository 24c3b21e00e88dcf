//! `similar:"TEXT",k=50`: the nodes nearest to a text by meaning, best first. The score is the
//! cosine.

use super::definition::{Hints, StageDef, StageImplementation};
use crate::query::context::QueryContext;
use crate::query::example::Example;
use crate::query::param::{Param, ParamPosition, ParamType, Presence};
use crate::query::set::{ResultSet, ScoredNode};
use crate::query::top::best_first;
use poc_graph::error::Result;
use poc_graph::plural;

pub(super) const STAGE: StageDef = StageDef {
    word: "similar",
    params: &[
        Param {
            name: "TEXT",
            position: ParamPosition::Colon,
            value_type: ParamType::Text,
            presence: Presence::Required,
            doc: "words or a sentence to compare with",
        },
        Param {
            name: "k",
            position: ParamPosition::Named,
            value_type: ParamType::Count(1, 10_000),
            presence: Presence::Default("50"),
            doc: "the number of notes to return",
        },
    ],
    doc: "The notes nearest to a text in the vector index, score = cosine",
    more: "The text is embedded as the texts of notes are. A note has one vector for its title and one for \
           each passage of its text; the nearest of them counts. Below `[vectors] exact-below` vectors all \
           are compared; above that, an HNSW graph is searched (Malkov and Yashunin 2018). Best first, ties \
           by id.",
    example: Example { pipeline: "similar:\"write ahead log\",k=1", output: &["wal"] },
    describe: |call| {
        let (text, k) = (call.text("TEXT").unwrap_or_default(), call.count("k").unwrap_or_default());
        format!("the {} most like `{text}`", plural(k as u64, "note"))
    },
    implementation: StageImplementation::Generate(|call, ctx| {
        similar(&call.text("TEXT")?, call.count("k")?, ctx)
    }),
    hints: Hints::NONE,
};

fn similar(text: &str, k: usize, ctx: &QueryContext<'_>) -> Result<ResultSet> {
    let view = ctx.sources.view;
    let vector = ctx.sources.embedder.embed_one(text)?;
    if vector.iter().all(|&value| value == 0.0) {
        ctx.remark("the text has no content to compare");
        return Ok(ResultSet::default());
    }
    let (visibility, leaves_out) = (ctx.sources.visibility(), ctx.leaves_out());
    let keep = |id| view.find(id).is_some_and(|ix| view.is_visible(ix, visibility) && !leaves_out(ix));
    let hits = ctx.sources.indexes.vectors()?.search(&vector, k, &keep)?;
    let mut items: Vec<ScoredNode> = hits
        .iter()
        .filter_map(|hit| Some(ScoredNode { ix: view.find(hit.id)?, score: hit.cosine }))
        .collect();
    best_first(view, &mut items);
    Ok(ResultSet::of(items))
}
