//! `recall`

use super::argument::{self, Words};
use super::text::{degraded, table};
use super::{Access, Ctx, Op, Route};
use poc_graph::error::{Error, Result};
use poc_graph::{EdgeKind, NodeId};
use poc_notes::freshness::{self, AsOf};
use poc_notes::message::{self, Origin};
use poc_notes::recall::{self, Wish};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

/// Remember what matters to a text: notes near it in meaning that weigh much, and notes tied to those
/// by having been written or remembered together. Remembering teaches: what comes to mind gains weight,
/// and what comes to mind together is tied.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct Recall {
    /// Words or a sentence
    #[command(flatten)]
    #[schemars(regex(pattern = r"\S"))]
    query: Words,
    /// How many notes, at most 256 [default: 8]
    #[arg(long, short, value_name = "N")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 256))]
    k: Option<usize>,
    /// Hops along ties from what was found, at most 8; 0 for none [default: 2]
    #[arg(long, value_name = "N")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 8))]
    hops: Option<usize>,
    /// How many of the nearest notes are weighed, at most 1000; never fewer than are wanted [default: 300]
    #[arg(long, value_name = "N")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000))]
    oversample: Option<usize>,
    /// Learn nothing from it: the answer is the same, the memory stays as it is
    #[arg(long)]
    #[serde(default)]
    no_learn: bool,
}

/// What came to mind, best first.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Answer {
    results: Vec<Remembered>,
    /// Whether the memory has learned from it.
    learned: bool,
    /// Why it has not, when it was to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    warning: Option<String>,
    as_of: AsOf,
    /// Transactions the slowest index is behind.
    lag: u64,
    /// What makes this answer poorer than it should be.
    degraded: Vec<String>,
}

/// A note that came to mind.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Remembered {
    id: NodeId,
    key: String,
    title: String,
    #[serde(rename = "type")]
    node_type: String,
    text: String,
    /// The message it is a part of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    message: Option<Origin>,
    /// sim^α · graph · weight^β, with α 1 and β 0.5 unless the settings say otherwise.
    score: f64,
    /// As decayed to now, with what this recall adds to it.
    weight: f64,
    breakdown: Breakdown,
    /// The ties that led to it; none for a note that was found by itself.
    path: Vec<Step>,
}

/// What the score is made of.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Breakdown {
    /// Likeness of the note that was found to the query, 0 to 1: (cosine + 1) / 2. Of a note that ties
    /// led to, that of the note the ties begin at.
    sim: f64,
    /// As above.
    weight: f64,
    /// What the ties leave of the likeness: 1 for a note found by itself, halved by each hop.
    graph: f64,
    /// Hops.
    depth: usize,
}

/// A tie on the way to a note.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Step {
    from: NodeId,
    to: NodeId,
    kind: EdgeKind,
    /// Weight of the tie, as decayed to now.
    strength: f64,
}

impl Op for Recall {
    const NAME: &'static str = "recall";
    const ACCESS: Access = Access::Write;
    const ROUTE: Option<Route> = Route::post("/v1/recall");
    const TOOL: Option<&'static str> = Some("memory_recall");
    type Output = Answer;

    fn run(self, ctx: &Ctx<'_>) -> Result<Answer> {
        let (memory, config) = (ctx.memory, &ctx.memory.config.recall);
        let text = self.query.filled("query")?;
        let wish = Wish {
            k: argument::count("k", self.k, ("recall.k", config.k))?,
            hops: argument::count("hops", self.hops, ("recall.hops", config.hops))?,
            oversample: argument::count(
                "oversample",
                self.oversample,
                ("recall.oversample", config.oversample),
            )?,
            vector: &memory.embedder.embed_one(text)?,
        };
        let cause = ctx.cause(Self::NAME);
        let (now, actor) = (cause.at, ctx.actor.name());
        let view = memory.store.view();
        let recalled = recall::recall(memory, &view, &wish, now)?;
        let freshness = freshness::of(memory, &view);
        let remembered = |hit: recall::Hit| {
            let ix =
                view.find(hit.id).ok_or_else(|| Error::internal("a note came to mind that is not there"))?;
            // Deleted since the view was taken: it was there as of the view, but its text is gone.
            let node = memory.store.node(hit.id)?;
            let source = node.as_ref().and_then(|node| node.source.clone());
            let (title, body) = node.map(|node| (node.title, node.body)).unwrap_or_default();
            Ok(Remembered {
                id: hit.id,
                key: view.key(ix).to_owned(),
                node_type: view.type_name(ix).to_owned(),
                text: if body.is_empty() { title.clone() } else { body },
                title,
                message: message::origin(&memory.store, hit.id, source.as_deref())?,
                score: hit.score,
                weight: hit.weight,
                breakdown: Breakdown {
                    sim: hit.likeness,
                    weight: hit.weight,
                    graph: hit.graph,
                    depth: hit.path.len(),
                },
                path: hit
                    .path
                    .into_iter()
                    .map(|recall::Step { from, to, kind, strength }| Step { from, to, kind, strength })
                    .collect(),
            })
        };
        let results = recalled.hits.into_iter().map(remembered).collect::<Result<_>>()?;
        let learned = (!self.no_learn).then(|| {
            let learning = &recalled.learning;
            memory.store.transact(cause, |tx| recall::learn(tx, learning, &memory.config, actor, now))
        });
        Ok(answer(results, learned.map(|learned| learned.map(drop)), freshness))
    }

    fn show(output: &Answer) -> String {
        let rows: Vec<Vec<String>> = output.results.iter().map(row).collect();
        let mut text = if rows.is_empty() { "nothing comes to mind\n".to_owned() } else { table(&rows) };
        if let Some(warning) = &output.warning {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "warning: {warning}");
        }
        text + &degraded(&output.degraded)
    }
}

/// The answer, also when learning from it failed.
fn answer(results: Vec<Remembered>, learned: Option<Result<()>>, freshness: freshness::Freshness) -> Answer {
    let failed = learned.as_ref().and_then(|learned| learned.as_ref().err());
    Answer {
        results,
        learned: matches!(learned, Some(Ok(()))),
        warning: failed.map(|error| format!("the memory has not learned from this: {}", error.line())),
        as_of: freshness.as_of,
        lag: freshness.lag,
        degraded: freshness.degraded,
    }
}

fn row(hit: &Remembered) -> Vec<String> {
    let through = match hit.path.last() {
        None => String::new(),
        Some(step) => format!("{} hops, by {}", hit.breakdown.depth, step.kind),
    };
    vec![format!("{:>7.4}", hit.score), hit.key.clone(), hit.title.clone(), through]
}

#[cfg(test)]
mod tests {
    use super::*;
    use poc_graph::error::Code;
    use poc_graph::time::Timestamp;

    #[test]
    fn what_came_to_mind_is_told_also_when_it_cannot_be_learned_from() {
        let as_of = AsOf { seq: 1, at: Timestamp(0) };
        let freshness = || freshness::Freshness { as_of, lag: 0, degraded: Vec::new() };
        let full = Error::new(Code::ReadOnly, "the store takes no more writes: no space left on device");
        let failed = answer(Vec::new(), Some(Err(full)), freshness());
        insta::assert_snapshot!(Recall::show(&failed), @r"
        nothing comes to mind
        warning: the memory has not learned from this: the store takes no more writes: no space left on device
        ");
        assert!(!failed.learned && !answer(Vec::new(), None, freshness()).learned);
        assert!(answer(Vec::new(), Some(Ok(())), freshness()).learned);
    }
}
