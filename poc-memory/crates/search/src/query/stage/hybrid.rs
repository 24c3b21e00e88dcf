//! `hybrid:"TEXT",k=50`: what meaning and words find together (`retrieve`), best first.

use super::definition::{Hints, StageDef, Work};
use crate::query::example::Example;
use crate::query::param::{Param, ParamPosition, Presence, ValueType};
use crate::query::set::{ResultSet, ScoredNode};
use crate::query::top::best_first;
use crate::retrieve::{MOST, Retriever};

pub(super) const STAGE: StageDef = StageDef {
    word: "hybrid",
    params: &[
        Param {
            name: "TEXT",
            position: ParamPosition::Colon,
            value_type: ValueType::Text,
            presence: Presence::Required,
            doc: "words or a sentence",
        },
        Param {
            name: "k",
            position: ParamPosition::Named,
            value_type: ValueType::Count(1, MOST),
            presence: Presence::Default("50"),
            doc: "how many nodes",
        },
    ],
    doc: "What meaning and words find together, and what that mentions and stands beside, best first",
    more: "What the op `retrieve` answers. Every note has a standard score by its words (BM25 of title and text \
           as one, a word of the title counting three times) and by its meaning (the cosine of its nearest \
           passage): by how many standard deviations it lies above the mean of all notes. Together they are \
           `words + 0.5 · sign(meaning) · meaning²`. A note that holds an identifier of the text (`INC-90037`, \
           `store_open`, `src/main.rs`) as a whole gets as much as the best note has, and so does the \
           one that has it as its key; one whose title or key the text names gets three quarters of that. \
           Then the best give on a share of what they have, one step: to the notes before and after in their \
           session, the best ten to those they mention and to those that mention them, and the best five to \
           those that have a name in common with them: an identifier, or a word with a capital where not every word \
           has one, which is no day, month or date, not in the text, and in at most 20 notes (in a small store in a \
           tenth of them); the fewer, the more. With an embedder that reads a text as a whole \
           (`candle`, `http`) a note without mentions and session has a share of the five notes nearest to it \
           among the best 128. A note whose key stands in the text as a name (`people/lin`), or \
           is all of it, however it is spelt (`https://wiki/People/Lin.md`), comes before all others. Weights stand under `[retrieve.scores]`; `graph = false` leaves out the step. With `fusion = \"rrf\"` three lists of \
           50 nodes, or `k` where that is more, are fused by reciprocal rank (Cormack, Clarke and Büttcher \
           2009, SIGIR): the nearest, the best by BM25 of the title and by that of the text; then a node is \
           worth `1 / (60 + rank)` in each list that holds it, 0.049 at most.",
    example: Example { pipeline: "hybrid:\"slow query\",k=2", output: &["session#1", "session#2"] },
    describe: |call| {
        let (text, k) = (call.text("TEXT").unwrap_or_default(), call.count("k").unwrap_or_default());
        format!("the {k} nodes that meaning and words together find for `{text}`")
    },
    work: Work::Generate(|call, ctx| {
        let sources = &ctx.sources;
        let (view, config) = (sources.view, &sources.config.retrieve);
        let (text, vectors) = (sources.indexes.text()?, sources.indexes.vectors()?);
        let (mentions, embedder) = (sources.indexes.mentions()?, sources.embedder);
        let retriever = Retriever { view, text, vectors, mentions, embedder, config, except: &[] };
        let found = retriever.find(&call.text("TEXT")?, call.count("k")?, sources.visibility())?;
        let named: Vec<String> =
            found.named.iter().map(|(list, count)| format!("{count} by {list}")).collect();
        ctx.note(named.join(", "));
        let hits = found.hits.iter();
        let mut items: Vec<ScoredNode> =
            hits.filter_map(|hit| Some(ScoredNode { ix: view.find(hit.id)?, score: hit.score })).collect();
        best_first(view, &mut items);
        Ok(ResultSet { items, pairs: Vec::new() })
    }),
    hints: Hints::NONE,
};
