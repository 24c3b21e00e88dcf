//! `view`

use super::{Access, Ctx, Op, Route, argument, versioned};
use poc_graph::error::{Error, Result};
use poc_graph::time::Moment;
use poc_graph::{EdgeKind, Ix, NodeId, State};
use poc_notes::Reading;
use poc_notes::drawing::{self, Bounds, Drawing};
use poc_notes::freshness::AsOf;
use poc_rank::decay::weight_at;
use poc_search::query::Pipeline;
use poc_store::Records;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Lay the graph out to be drawn: notes with a place in the plane and one in space, and the edges
/// among them. The same graph is laid out the same way each time.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct View {
    /// A stage of the pipeline that chooses the notes, or several with `|` between them; without any,
    /// those with most ties are shown
    #[arg(long = "pipeline", short, value_name = "STAGE")]
    #[serde(default)]
    pipeline: Vec<String>,
    /// Notes shown at most, 1 to 10000 [default: 2000]
    #[arg(long, value_name = "N")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 10_000))]
    limit: Option<usize>,
    /// Edges shown at most, 0 to 100000: the strongest, each note's own first [default: 10000]
    #[arg(long, value_name = "N")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 100_000))]
    max_edges: Option<usize>,
    /// Show the memory as it was then: `2026-11-21`, `2026-11-21T08:00:00Z`, or `7d` for a week ago
    #[arg(long, value_name = "TIME", value_parser = argument::moment)]
    #[serde(default)]
    at: Option<Moment>,
}

/// What to draw.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Drawn {
    nodes: Vec<Node>,
    edges: Vec<Edge>,
    /// Notes that were chosen; more than are shown when there is no room for all.
    node_count: usize,
    /// Edges among the notes shown; more than are shown when there is no room for all.
    edge_count: usize,
    /// Another number stands for another state of the memory.
    graph_version: u64,
    /// Whether the answer is of the past.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    past: bool,
    as_of: AsOf,
    /// Transactions the slowest index is behind.
    lag: u64,
    /// What makes this answer poorer than it should be.
    degraded: Vec<String>,
}

/// A note and where to draw it. Tied notes are about 1 apart.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Node {
    id: NodeId,
    key: String,
    title: String,
    #[serde(rename = "type")]
    node_type: String,
    state: State,
    /// 0 is the largest; null for a note that is in none.
    community: Option<u32>,
    /// As decayed to now.
    weight: f64,
    /// How many live notes it is tied to.
    degree: u32,
    /// In the plane: x, y.
    position: [f64; 2],
    /// In space: x, y, z.
    position_3d: [f64; 3],
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Edge {
    from: NodeId,
    to: NodeId,
    kind: EdgeKind,
    /// 0 to 1; a weight w that learning gave counts as w / (1 + w).
    strength: f64,
}

impl Op for View {
    const NAME: &'static str = "view";
    const ACCESS: Access = Access::Read;
    const ROUTE: Option<Route> = Route::get("/v1/view");
    type Output = Drawn;

    fn run(self, ctx: &Ctx<'_>) -> Result<Drawn> {
        let config = &ctx.memory.config.view;
        let bounds = Bounds {
            notes: argument::count("limit", self.limit, ("view.limit", config.limit))?,
            edges: argument::count("max_edges", self.max_edges, ("view.max-edges", config.max_edges))?,
        };
        let pipeline = match self.pipeline.as_slice() {
            [] => None,
            stages => Some(Pipeline::from_parts(&[], stages, &ctx.memory.names.load())?),
        };
        let reading = Reading::of(ctx.memory, self.at)?;
        let drawing = drawing::draw(ctx.memory, &reading, pipeline.as_ref(), bounds)?;
        let freshness = reading.freshness();
        let edge = |edge: &drawing::Drawn| Edge {
            from: edge.from,
            to: edge.to,
            kind: edge.kind,
            strength: rounded(f64::from(edge.strength), 1e6),
        };
        Ok(Drawn {
            nodes: nodes(ctx, &reading, &drawing)?,
            edges: drawing.edges.iter().map(edge).collect(),
            node_count: drawing.chosen,
            edge_count: drawing.joining,
            graph_version: freshness.as_of.seq,
            past: reading.is_past(),
            as_of: freshness.as_of,
            lag: freshness.lag,
            degraded: freshness.degraded.into_iter().chain(drawing.degraded).collect(),
        })
    }

    /// It is for programs: JSON in any case.
    fn show(output: &Drawn) -> String {
        let value = serde_json::to_value(output).map(versioned);
        value.map_or_else(|error| error.to_string(), |value| format!("{value}\n"))
    }
}

fn nodes(ctx: &Ctx<'_>, reading: &Reading<'_>, drawing: &Drawing) -> Result<Vec<Node>> {
    let view = reading.view();
    let node = |ix: Ix, community: Option<u32>, plane: &[f64; 2], space: &[f64; 3]| {
        let id = view.id(ix).zip(view.state(ix));
        let (id, state) = id.ok_or_else(|| Error::internal("a note to draw is not there"))?;
        Ok(Node {
            id,
            key: view.key(ix).to_owned(),
            // Deleted since the view was taken: it was there as of the view, but its title is gone.
            title: reading.node(id)?.map(|node| node.title).unwrap_or_default(),
            node_type: view.type_name(ix).to_owned(),
            state,
            community,
            weight: weight_at(view, ix, &ctx.memory.config.weight, reading.now()),
            degree: view.degree(ix),
            position: plane.map(|x| rounded(x, 1e3)),
            position_3d: space.map(|x| rounded(x, 1e3)),
        })
    };
    let Drawing { nodes, communities, layout, .. } = drawing;
    let all = nodes.iter().zip(communities).zip(layout.plane.iter().zip(&layout.space));
    all.map(|((&ix, &community), (plane, space))| node(ix, community, plane, space)).collect()
}

/// To 1/`parts`. A zero has no sign.
fn rounded(x: f64, parts: f64) -> f64 {
    (x * parts).round() / parts + 0.0
}
