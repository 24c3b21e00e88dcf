//! `explore`

use super::argument::{self, Words};
use super::{Access, Ctx, Op, Route};
use poc_graph::error::{Error, Result};
use poc_graph::{EdgeKind, NodeId};
use poc_notes::freshness::{self, AsOf};
use poc_notes::keywords;
use poc_search::retrieve::explore::{self, ExploreQuery};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Wander from the notes nearest to a text along keyword and semantic edges, and tell the notes on
/// the way with the edges that lead to them.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct Explore {
    /// Where to start: words or a sentence
    #[command(flatten)]
    #[schemars(regex(pattern = r"\S"))]
    text: Words,
    /// Keywords of which the starts should have one
    #[arg(
        long = "keyword",
        short = 'k',
        value_name = "WORD",
        help = "A keyword the starts should have; repeat it for more"
    )]
    #[serde(default)]
    keywords: Vec<String>,
    /// Hops, 1 to 8 [default: 3]
    #[arg(long, value_name = "N")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 8))]
    depth: Option<usize>,
    /// Ways that go on after each hop, 1 to 32 [default: 4]
    #[arg(long, value_name = "N")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 32))]
    beam: Option<usize>,
    /// Notes that are enough, 1 to 256 [default: 12]
    #[arg(long, value_name = "N")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 256))]
    target_count: Option<usize>,
    /// Also notes that are quarantined, which nobody has vouched for: a model sees them only with this,
    /// a person always
    #[arg(long)]
    #[serde(default)]
    quarantined: bool,
}

/// The notes on the way, best first.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Explored {
    results: Vec<Visited>,
    /// The edges between them that were walked.
    edges: Vec<Walked>,
    as_of: AsOf,
    /// Transactions the slowest index is behind.
    lag: u64,
    /// What makes this answer poorer than it should be.
    degraded: Vec<String>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Visited {
    id: NodeId,
    key: String,
    title: String,
    /// The best score it was reached with; a start's is its cosine, and every step takes from it what
    /// a weak edge, another meaning, the distance and likeness to the way so far cost: it may be below 0.
    score: f64,
    /// With the text, −1 to 1.
    cosine: f64,
    /// Hops from a start.
    hop: usize,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Walked {
    from: NodeId,
    to: NodeId,
    kind: EdgeKind,
    strength: f64,
}

impl Op for Explore {
    const NAME: &'static str = "explore";
    const ACCESS: Access = Access::Read;
    const ROUTE: Option<Route> = Route::get("/v1/explore");
    const TOOL: Option<&'static str> = Some("graft_explore");
    type Output = Explored;

    fn run(self, ctx: &Ctx<'_>) -> Result<Explored> {
        let memory = ctx.memory;
        let config = &memory.config.explore;
        let text = self.text.filled("text")?;
        let keywords = keywords::normalized(&self.keywords)?;
        let wish = ExploreQuery {
            keywords: &keywords,
            depth: argument::count("depth", self.depth, ("explore.depth", config.depth))?,
            beam: argument::count("beam", self.beam, ("explore.beam", config.beam))?,
            target_count: argument::count(
                "target_count",
                self.target_count,
                ("explore.target-count", config.target_count),
            )?,
            vector: &memory.embedder.embed_one(text)?,
        };
        let view = memory.store.view();
        let seen = view.found_at(ctx.sight(self.quarantined));
        let found = explore::explore(&wish, &*memory.vectors, &view, config, &seen)?;
        let freshness = freshness::of(memory, &view);
        let visited = |node: explore::Visited| {
            let ix = view
                .find(node.id)
                .ok_or_else(|| Error::internal("a walk led to a note that is not there"))?;
            Ok(Visited {
                id: node.id,
                key: view.key(ix).to_owned(),
                title: memory.store.node(node.id)?.map(|node| node.title).unwrap_or_default(),
                score: node.score,
                cosine: node.cosine,
                hop: node.hop,
            })
        };
        Ok(Explored {
            results: found.nodes.into_iter().map(visited).collect::<Result<_>>()?,
            edges: found
                .edges
                .into_iter()
                .map(|explore::Walked { from, to, kind, strength }| Walked { from, to, kind, strength })
                .collect(),
            as_of: freshness.as_of,
            lag: freshness.lag,
            degraded: freshness.degraded,
        })
    }

    fn show(output: &Explored) -> String {
        if output.results.is_empty() {
            return "nothing found\n".to_owned();
        }
        let key = |id| output.results.iter().find(|node| node.id == id).map_or("", |node| &node.key);
        let rows: Vec<Vec<String>> = output
            .results
            .iter()
            .map(|node| {
                let through = output.edges.iter().find(|edge| edge.to == node.id && node.hop > 0);
                let through = through
                    .map_or_else(String::new, |edge| format!("by {} from {}", edge.kind, key(edge.from)));
                vec![
                    format!("{:>7.3}", node.score),
                    format!("hop {}", node.hop),
                    node.key.clone(),
                    node.title.clone(),
                    through,
                ]
            })
            .collect();
        super::text::table(&rows)
    }
}
