//! `view`

use super::hit::missing_note;
use super::pipeline_agents::PipelineAgents;
use super::{Access, Ctx, Op, Route, Terminal, argument, versioned};
use poc_graph::error::{Error, Result};
use poc_graph::json;
use poc_graph::time::Timestamp;
use poc_graph::{EdgeKind, HistoryPoint, Ix, NodeId, State};
use poc_notes::ReadSnapshot;
use poc_notes::answer_status::AsOf;
use poc_notes::graph_layout::{self, GraphLayout, LayoutLimits, LayoutNotes};
use poc_notes::resolve;
use poc_rank::decay::weight_at;
use poc_search::query::Pipeline;
use poc_store::Records;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Compute a layout of the graph: notes with positions in 2D and 3D, and the edges between them. The same
/// graph always gets the same layout.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct ViewRequest {
    /// Stages of a pipeline that selects the notes, separated by `|`; without any, the notes with the most
    /// edges
    #[arg(long = "pipeline", short, value_name = "STAGE")]
    #[serde(default)]
    pipeline: Vec<String>,
    /// Select this note, the notes that it has edges of any kind to, and the notes around them
    #[arg(long, value_name = "NOTE", conflicts_with = "pipeline")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    around: Option<String>,
    /// How many notes, at most 100,000 [default: 2,000]
    #[arg(long, short = 'n', value_name = "N")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100_000))]
    limit: Option<usize>,
    /// How many edges, 0 to 100,000: the strongest, those of each note first [default: 10,000]
    #[arg(long, value_name = "N")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 100_000))]
    max_edges: Option<usize>,
    /// Show the memory as of this time or after this change: `2026-11-21`, `2026-11-21T08:00:00Z`, `7d` (a week ago),
    /// or `1042` (a number that `changes` shows)
    #[arg(long, value_name = "SEQ|TIME", value_parser = argument::history_point)]
    #[serde(default)]
    at: Option<HistoryPoint>,
    /// Leave out the positions in 3D, which take more than half of the time
    #[arg(long)]
    #[serde(default)]
    plane: bool,
}

/// The layout.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ViewOutput {
    nodes: Vec<ViewNode>,
    edges: Vec<ViewEdge>,
    /// Notes selected, of which at most `limit` are returned.
    node_count: usize,
    /// Edges between the returned notes, of which at most `max_edges` are returned.
    edge_count: usize,
    /// Version of the graph, which changes with every change of the memory.
    graph_version: u64,
    /// Whether the answer shows a past state of the memory.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    past: bool,
    as_of: AsOf,
    /// How many transactions the slowest index is behind.
    lag: u64,
    /// Problems that may make this answer incomplete.
    degraded: Vec<String>,
}

/// A note with its position. Linked notes are about 1 apart.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct ViewNode {
    id: NodeId,
    key: String,
    title: String,
    #[serde(rename = "type")]
    node_type: String,
    state: State,
    /// Number of its community, the largest being 0; null for a note without a community.
    community: Option<u32>,
    /// Weight, decayed to now: 0.01 to 100 with the default settings.
    weight: f64,
    /// Number of live notes that it has edges to.
    degree: u32,
    /// Who wrote it: `manual`, `import:FILE`, `agent:NAME`.
    provenance: String,
    modified: Timestamp,
    /// Position in 2D: x, y.
    position: [f64; 2],
    /// Position in 3D: x, y, z; absent with `plane`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    position_3d: Option<[f64; 3]>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct ViewEdge {
    from: NodeId,
    to: NodeId,
    kind: EdgeKind,
    /// Strength of the edge, 0 to 1; a learned weight w counts as w / (1 + w).
    strength: f64,
}

impl Op for ViewRequest {
    const NAME: &'static str = "view";
    const ACCESS: Access = Access::Read;
    const ROUTE: Option<Route> = Route::get("/v1/view");
    const SHOWS_DEGRADED: bool = true;
    type Output = ViewOutput;

    fn run(self, ctx: &Ctx<'_>) -> Result<ViewOutput> {
        let config = &ctx.memory.config.view;
        let bounds = LayoutLimits {
            notes: argument::count("limit", self.limit, ("view.limit", config.limit))?,
            edges: argument::count("max_edges", self.max_edges, ("view.max-edges", config.max_edges))?,
            plane: self.plane,
        };
        argument::check_length(
            self.pipeline.iter().map(String::as_str),
            "pipeline",
            &ctx.memory.config.search,
        )?;
        let pipeline = match self.pipeline.as_slice() {
            [] => None,
            stages => Some(Pipeline::from_parts(&[], stages, &ctx.memory.names.load())?),
        };
        if self.around.is_some() && pipeline.is_some() {
            return Err(Error::invalid("`around` and `pipeline` both select notes")
                .hint("leave one of them out")
                .field("around"));
        }
        let agents = PipelineAgents::of(ctx, pipeline.as_ref());
        let snapshot = ReadSnapshot::of(ctx.memory, self.at)?
            .with_quarantined(ctx.visibility(false).quarantined)
            .with_visit_rules(agents.visit_rules(&ctx.memory.config));
        let center = match &self.around {
            Some(name) => {
                let node = snapshot.find(name).map_err(|error| error.field("around"))?;
                // It may have been inserted or deleted since the view was taken.
                let center = snapshot.view().find(node.id);
                Some(center.ok_or_else(|| resolve::unknown(name, snapshot.view()).field("around"))?)
            }
            None => None,
        };
        let notes = match (center, &pipeline) {
            (Some(center), _) => LayoutNotes::Around(center),
            (None, Some(pipeline)) => LayoutNotes::Of(pipeline),
            (None, None) => LayoutNotes::All,
        };
        let drawing = graph_layout::lay_out(ctx.memory, &snapshot, notes, bounds)?;
        let status = snapshot.answer_status();
        let edge = |edge: &graph_layout::LayoutEdge| ViewEdge {
            from: edge.from,
            to: edge.to,
            kind: edge.kind,
            strength: rounded(f64::from(edge.strength), 1e6),
        };
        Ok(ViewOutput {
            nodes: nodes(ctx, &snapshot, &drawing)?,
            edges: drawing.edges.iter().map(edge).collect(),
            node_count: drawing.matched,
            edge_count: drawing.edge_count,
            graph_version: status.as_of.seq,
            past: snapshot.is_past(),
            as_of: status.as_of,
            lag: status.lag,
            degraded: status.degraded.into_iter().chain(drawing.degraded).collect(),
        })
    }

    fn verbatim(_: &ViewOutput) -> bool {
        true
    }

    /// Programs read it, so it is always JSON.
    fn show(output: &ViewOutput, _: &Terminal) -> String {
        let value = json::encode(output).map(versioned);
        value.map_or_else(|error| error.to_string(), |value| format!("{value}\n"))
    }
}

fn nodes(ctx: &Ctx<'_>, snapshot: &ReadSnapshot<'_>, drawing: &GraphLayout) -> Result<Vec<ViewNode>> {
    let view = snapshot.view();
    let node = |ix: Ix, community: Option<u32>, plane: &[f64; 2], space: Option<&[f64; 3]>| {
        let id = view.id(ix).zip(view.state(ix));
        let (id, state) = id.ok_or_else(missing_note)?;
        // A note deleted since the view was taken has no title any more.
        let (title, provenance, modified) = snapshot
            .node(id)?
            .map_or_else(Default::default, |node| (node.title, node.provenance, node.modified));
        Ok(ViewNode {
            id,
            key: view.key(ix).to_owned(),
            title,
            provenance,
            modified,
            node_type: view.type_name(ix).to_owned(),
            state,
            community,
            weight: weight_at(view, ix, &ctx.memory.config.weight, snapshot.now()),
            degree: view.degree(ix),
            position: plane.map(|x| rounded(x, 1e3)),
            position_3d: space.map(|space| space.map(|x| rounded(x, 1e3))),
        })
    };
    let GraphLayout { nodes, communities, layout, .. } = drawing;
    let space = layout.space.iter().map(Some).chain(std::iter::repeat(None));
    let all = nodes.iter().zip(communities).zip(layout.plane.iter().zip(space));
    all.map(|((&ix, &community), (plane, space))| node(ix, community, plane, space)).collect()
}

/// Rounds to 1/`parts`; never returns −0.
fn rounded(x: f64, parts: f64) -> f64 {
    (x * parts).round() / parts + 0.0
}
