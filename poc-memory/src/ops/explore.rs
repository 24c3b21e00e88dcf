//! `explore`

use super::argument::{self, TextArgument};
use super::hit::{NoteRow, missing_note};
use super::terminal::{Emphasis, StyledText, Terminal};
use super::text::one_line;
use super::{Access, Ctx, Op, Route, ToolEffect};
use poc_graph::error::Result;
use poc_graph::{EdgeKind, NodeId};
use poc_notes::answer_status::{self, AsOf};
use poc_notes::keyword_normalization;
use poc_search::retrieve::explore::{self, ExploreQuery};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Walk the graph outward from a text: start at the notes nearest to it and follow keyword and semantic
/// edges. Returns the notes on the way and the edges that lead to them.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct Explore {
    /// Where to start: words or a sentence
    #[command(flatten)]
    #[schemars(regex(pattern = r"\S"))]
    text: TextArgument,
    /// Start only from notes with one of these keywords
    #[arg(
        long = "keyword",
        short = 'k',
        alias = "tag",
        value_name = "WORD",
        help = "Start only from notes with this keyword; repeat it for more"
    )]
    #[serde(default)]
    keywords: Vec<String>,
    /// Number of hops, 1 to 8 [default: 3]
    #[arg(long, value_name = "N")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 8))]
    depth: Option<usize>,
    /// Beam width: paths kept after each hop, 1 to 32 [default: 4]
    #[arg(long, value_name = "N")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 32))]
    beam: Option<usize>,
    /// How many notes, at most 256 [default: 12]
    #[arg(long = "limit", short = 'n', alias = "target-count", value_name = "N")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 256))]
    target_count: Option<usize>,
    /// Include quarantined notes, which no person has approved. Only models need this: a person always sees them
    #[arg(long)]
    #[serde(default)]
    quarantined: bool,
}

/// The notes on the way, best first.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ExploreOutput {
    results: Vec<ExploreNode>,
    /// The edges that were followed.
    edges: Vec<ExploreEdge>,
    as_of: AsOf,
    /// How many transactions the slowest index is behind.
    lag: u64,
    /// Problems that may make this answer incomplete.
    degraded: Vec<String>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct ExploreNode {
    #[serde(flatten)]
    note: NoteRow,
    /// The best score of a path to the note. A starting note has its cosine; each step subtracts costs for a
    /// weak edge, a change of topic, the distance and redundancy with the path. The score may be negative.
    score: f64,
    /// Cosine with the text, −1 to 1.
    cosine: f64,
    /// Number of hops from the nearest starting note; 0 for a starting note.
    hop: usize,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct ExploreEdge {
    from: NodeId,
    to: NodeId,
    kind: EdgeKind,
    /// Strength of the edge, 0 to 1.
    strength: f64,
}

impl Op for Explore {
    const NAME: &'static str = "explore";
    const ACCESS: Access = Access::Read;
    const ROUTE: Option<Route> = Route::get("/v1/explore");
    const TOOL: Option<ToolEffect> = Some(ToolEffect::ReadOnly);
    type Output = ExploreOutput;

    fn run(self, ctx: &Ctx<'_>) -> Result<ExploreOutput> {
        let memory = ctx.memory;
        let config = &memory.config.explore;
        let text = self.text.question(&ctx.memory.config.search)?;
        let keywords = keyword_normalization::normalize(&self.keywords)?;
        let query = ExploreQuery {
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
        let seen = view.visible_filter(ctx.visibility(self.quarantined));
        let found = explore::explore(&query, &*memory.vectors, &view, config, &seen)?;
        let status = answer_status::of(memory, &view);
        let visited = |node: explore::ExploredNode| {
            let ix = view.find(node.id).ok_or_else(missing_note)?;
            Ok(ExploreNode {
                note: NoteRow::new(&view, ix, memory.store.node(node.id)?.as_ref(), None, Some(text))?,
                score: node.score,
                cosine: node.cosine,
                hop: node.hop,
            })
        };
        Ok(ExploreOutput {
            results: found.nodes.into_iter().map(visited).collect::<Result<_>>()?,
            edges: found
                .edges
                .into_iter()
                .map(|explore::TraversedEdge { from, to, kind, strength }| ExploreEdge {
                    from,
                    to,
                    kind,
                    strength,
                })
                .collect(),
            as_of: status.as_of,
            lag: status.lag,
            degraded: status.degraded,
        })
    }

    fn lists_nothing(output: &ExploreOutput) -> bool {
        output.results.is_empty()
    }

    fn show(output: &ExploreOutput, terminal: &Terminal) -> StyledText {
        if output.results.is_empty() {
            return "nothing found\n".to_owned().into();
        }
        let key =
            |id| output.results.iter().find(|node| node.note.id == id).map_or("", |node| &node.note.key);
        let mut rows: Vec<Vec<String>> = output
            .results
            .iter()
            .map(|node| {
                let through = output.edges.iter().find(|edge| edge.to == node.note.id && node.hop > 0);
                let through = through
                    .map_or_else(String::new, |edge| format!("by {} from {}", edge.kind, key(edge.from)));
                vec![
                    format!("{:>7.3}", node.score),
                    format!("hop {}", node.hop),
                    node.note.key.clone(),
                    one_line(&node.note.title),
                    through,
                ]
            })
            .collect();
        terminal.cut_titles(&mut rows, 3);
        let columns = [Emphasis::Faint, Emphasis::Faint, Emphasis::Name, Emphasis::None, Emphasis::Faint];
        let mut text = StyledText::default();
        text.push_table(terminal, &columns, &rows, |row| {
            Some((Emphasis::Faint, output.results.get(row)?.note.detail(terminal)))
        });
        text
    }
}
