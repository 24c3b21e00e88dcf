//! `hybrid:"TEXT",k=50`: the best nodes by vector search and text search together (`retrieve`),
//! best first.

use super::definition::{Hints, StageDef, StageImplementation};
use crate::query::example::Example;
use crate::query::param::{Param, ParamPosition, ParamType, Presence};
use crate::query::set::{ResultSet, ScoredNode};
use crate::query::top::best_first;
use crate::retrieve::{MAX_HITS, Retriever};

pub(super) const STAGE: StageDef = StageDef {
    word: "hybrid",
    params: &[
        Param {
            name: "TEXT",
            position: ParamPosition::Colon,
            value_type: ParamType::Text,
            presence: Presence::Required,
            doc: "words or a sentence",
        },
        Param {
            name: "k",
            position: ParamPosition::Named,
            value_type: ParamType::Count(1, MAX_HITS),
            presence: Presence::Default("50"),
            doc: "the number of notes to return",
        },
        Param {
            name: "derived",
            position: ParamPosition::Named,
            value_type: ParamType::Count(0, 1),
            presence: Presence::Default("0"),
            doc: "1 also returns notes that were derived from others, such as facts; with 0, their sources represent them, \
                  unless a filter asks for a type other than `episodic` or for the provenance of an agent",
        },
    ],
    doc: "The best notes by vector search and text search together, and notes that they mention or that are next to them in a session, best first",
    more: "The same search as the op `retrieve`. Every note has two standard scores, the number of standard \
           deviations above the mean of all notes: one by words (BM25 of title and text together, where a \
           word of the title counts three times) and one by meaning (the cosine of its nearest passage). The \
           combined score is `words + weight · sign(meaning) · meaning²`, where the weight is `meaning-weight`, or \
           `contextual-weight` with `candle` and `http`.\n\n\
           If the text contains an identifier (`INC-90037`, `store_open`, `src/main.rs`), every note that \
           contains it as a whole word or has it as its key gains as much as the score of the best note. A \
           note whose title or key occurs in the text gains three quarters of that.\n\n\
           Windows of five consecutive notes of a session are scored as one text, and each note gains a \
           share of the score of its best window.\n\n\
           Then the best notes pass part of their score on, one step: to the notes before and after them in \
           their session; the best ten to the notes they mention and to those that mention them; and the \
           best five to the notes that share a name with them. A name is an identifier or a capitalised \
           word (in a text where not every word is capitalised). Days, months, dates, names in the text, and \
           names in more than 20 notes (in a small store, in more than a tenth of the notes) do not count. \
           The fewer notes share a name, the more is passed on. With an embedder that reads a text as a \
           whole (`candle`, `http`), a note without mentions and without a session gets a share from the \
           five notes nearest to it among the best 128.\n\n\
           A note whose key occurs in the text as a name (`people/lin`), or is the whole text in any \
           spelling (`https://wiki/People/Lin.md`), comes before all others. The weights are defined in \
           `[retrieve.scores]`; `graph = false` turns the step off.\n\n\
           With `fusion = \"rrf\"`, three lists of 50 notes (or `k`, if that is more) are combined by \
           reciprocal rank fusion (Cormack, Clarke and Büttcher 2009, SIGIR): the nearest notes, the best by \
           BM25 of the title, and the best by BM25 of the text. A note then scores `1 / (60 + rank)` for \
           each list that contains it, at most 0.049 in total.",
    example: Example { pipeline: "hybrid:\"slow query\",k=2", output: &["session#1", "session#2"] },
    describe: |call| {
        let (text, k) = (call.text("TEXT").unwrap_or_default(), call.count("k").unwrap_or_default());
        format!("the {k} best notes for `{text}` by vector search and text search together")
    },
    implementation: StageImplementation::Generate(|call, ctx| {
        let sources = &ctx.sources;
        let (view, config) = (sources.view, &sources.config.retrieve);
        let (text, vectors) = (sources.indexes.text()?, sources.indexes.vectors()?);
        let (mentions, embedder) = (sources.indexes.mentions()?, sources.embedder);
        let (except, list_derived) = (&[][..], ctx.lists_derived || call.count("derived")? == 1);
        let retriever =
            Retriever { within: None, view, text, vectors, mentions, embedder, config, except, list_derived };
        let found = retriever.find(&call.text("TEXT")?, call.count("k")?, sources.visibility())?;
        let named: Vec<String> =
            found.named.iter().map(|(list, count)| format!("{count} by {list}")).collect();
        ctx.remark(named.join(", "));
        let mut items = Vec::with_capacity(found.hits.len());
        for hit in &found.hits {
            let Some(ix) = view.find(hit.id) else { continue };
            if let Some(derived) = hit.derived {
                ctx.record_found_through(ix, derived);
            }
            items.push(ScoredNode { ix, score: hit.score });
        }
        best_first(view, &mut items);
        Ok(ResultSet::of(items))
    }),
    hints: Hints { takes_free_terms: true, ..Hints::NONE },
};
