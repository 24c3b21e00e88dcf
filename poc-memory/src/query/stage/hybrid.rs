//! `hybrid:"TEXT",k=50`: what meaning and words find together (`retrieve`), best first.

use super::{Example, StageDef, Work};
use crate::query::param::{Absent, Param, Place, Takes};
use crate::query::top::best_first;
use crate::query::{ResultSet, Scored};
use crate::retrieve::{LISTS, MOST, Retriever};

pub(super) const STAGE: StageDef = StageDef {
    word: "hybrid",
    params: &[
        Param {
            name: "TEXT",
            place: Place::Colon,
            takes: Takes::Text,
            absent: Absent::Error,
            doc: "words or a sentence",
        },
        Param {
            name: "k",
            place: Place::Named,
            takes: Takes::Count(1, MOST),
            absent: Absent::Default("50"),
            doc: "how many nodes",
        },
    ],
    doc: "What meaning and words find together: nearest vectors, titles and texts, fused by their ranks",
    more: "Three lists of at most 50 nodes, or `k` where that is more, are fused by reciprocal rank (Cormack, Clarke and Büttcher \
           2009, SIGIR): the nearest by their best vector, the best by BM25 of the title, the best by \
           BM25 of the text. A node is worth `1 / (60 + rank)` in each list that holds it, ranks from \
           1, so nothing scores more than 3/61 ≈ 0.049, unless `[retrieve]` in the settings weighs the \
           lists otherwise.",
    example: Example { pipeline: "hybrid:\"slow query\",k=2", gives: &["session#1", "session#2"] },
    does: |call| {
        let (text, k) = (call.text("TEXT").unwrap_or_default(), call.count("k").unwrap_or_default());
        format!("the {k} nodes that meaning and words together find for `{text}`")
    },
    work: Work::Generate(|call, ctx| {
        let sources = &ctx.sources;
        let (view, config) = (sources.view, &sources.config.retrieve);
        let (text, vectors) = (sources.indexes.text()?, sources.indexes.vectors()?);
        let retriever = Retriever { text, vectors, embedder: sources.embedder, config };
        let keep = view.found_at(sources.sight());
        let found = retriever.find(&call.text("TEXT")?, call.count("k")?, &keep)?;
        let named: Vec<String> =
            LISTS.iter().zip(found.named).map(|(list, count)| format!("{count} by {list}")).collect();
        ctx.note(named.join(", "));
        let hits = found.hits.iter();
        let mut items: Vec<Scored> =
            hits.filter_map(|hit| Some(Scored { ix: view.find(hit.id)?, score: hit.score })).collect();
        best_first(view, &mut items);
        Ok(ResultSet { items, pairs: Vec::new() })
    }),
};
