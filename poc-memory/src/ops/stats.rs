//! `stats`

use super::{Access, Ctx, Op, Route};
use crate::error::Result;
use crate::graph::{Rules, View};
use crate::memory::freshness::{self, AsOf};
use crate::memory::stats;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Count notes, edges and keywords, and say how much room they take.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct Stats {}

/// How much there is.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Counts {
    /// Notes in any state.
    nodes: u64,
    /// Notes that searches see.
    live: u64,
    edges: u64,
    /// Different keywords of live notes.
    keywords: u64,
    by_type: BTreeMap<String, u64>,
    by_state: BTreeMap<String, u64>,
    by_edge_kind: BTreeMap<String, u64>,
    /// Notes of each tenant, by name. Told to who asks without a tenant; a tenant learns nothing of
    /// others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    by_tenant: Option<BTreeMap<String, u64>>,
    /// Of live notes, as decayed to now.
    average_weight: f64,
    /// Size of the log on disk, in bytes, with what all tenants have. This and the other sizes are told
    /// to who asks without a tenant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    log_bytes: Option<u64>,
    /// Size of the records on disk, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    record_bytes: Option<u64>,
    /// Size of the saved indexes on disk, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    index_bytes: Option<u64>,
    graph: Shape,
    as_of: AsOf,
    /// Transactions the slowest index is behind.
    lag: u64,
    /// What is not as it should be.
    degraded: Vec<String>,
}

/// The shape of the graph of live notes. Figures that have no meaning for it, as in a graph without
/// ties, are null; so are all of a large graph that has just changed.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
struct Shape {
    /// Where the figures come from: `fresh`, `reused, N changes old`, `computed now in N ms` or `not
    /// computed yet`.
    source: String,
    /// Connected components, notes without ties included.
    components: Option<usize>,
    /// Notes of the largest component.
    largest: Option<usize>,
    /// Notes without ties.
    isolated: Option<usize>,
    /// Mean local clustering coefficient, 0–1.
    clustering: Option<f64>,
    /// Mean number of ties between two notes of the largest component.
    path_length: Option<f64>,
    /// Small-world σ of the largest component; above 1 it is a small world.
    small_world: Option<f64>,
    /// Gini coefficient of the degrees: 0 when all are alike, 1 when one note has all ties.
    degree_gini: Option<f64>,
    /// How many changes of the graph ago each of what is derived from all of it was computed: 0 is
    /// up to date, null is not computed yet.
    ages: BTreeMap<String, Option<u64>>,
    /// Exponent of the power law the degrees follow …
    power_law_alpha: Option<f64>,
    /// … from this degree on.
    power_law_least: Option<u32>,
}

impl Shape {
    fn of(view: &View, rules: &Rules) -> Shape {
        let found = view.health(rules);
        let ages = view.ages().into_iter().map(|(name, age)| (name.to_owned(), age)).collect();
        let Some((health, source)) = found else {
            return Shape { source: "not computed yet".into(), ages, ..Shape::default() };
        };
        Shape {
            source: source.to_string(),
            ages,
            components: Some(health.components),
            largest: Some(health.largest),
            isolated: Some(health.isolated),
            clustering: health.clustering,
            path_length: health.path_length,
            small_world: health.small_world,
            degree_gini: health.gini,
            power_law_alpha: health.power_law.map(|law| law.alpha),
            power_law_least: health.power_law.map(|law| law.least),
        }
    }
}

impl std::fmt::Display for Shape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (Some(components), Some(largest), Some(isolated)) =
            (self.components, self.largest, self.isolated)
        else {
            return f.write_str(&self.source);
        };
        let parts = if components == 1 { "component" } else { "components" };
        write!(f, "{components} {parts}, the largest of {largest}; {isolated} without ties")?;
        for (name, figure) in [
            ("clustering", self.clustering),
            ("path length", self.path_length),
            ("small-world σ", self.small_world),
            ("degree Gini", self.degree_gini),
            ("power-law α", self.power_law_alpha),
        ] {
            if let Some(figure) = figure {
                write!(f, ", {name} {figure:.2}")?;
            }
        }
        write!(f, " ({})", self.source)
    }
}

impl Op for Stats {
    const NAME: &'static str = "stats";
    const ACCESS: Access = Access::Read;
    const ROUTE: Option<Route> = Route::get("/v1/stats");
    const TOOL: Option<&'static str> = Some("graft_stats");
    type Output = Counts;

    fn run(self, ctx: &Ctx<'_>) -> Result<Counts> {
        let view = ctx.memory.store.view();
        let counted = stats::count(ctx.memory, &view)?;
        let freshness = freshness::of(ctx.memory, &view);
        Ok(Counts {
            nodes: counted.nodes,
            live: counted.live,
            edges: counted.edges,
            keywords: counted.keywords,
            by_type: counted.by_type,
            by_state: counted.by_state,
            by_edge_kind: counted.by_edge_kind,
            by_tenant: counted.by_tenant,
            average_weight: counted.average_weight,
            log_bytes: counted.sizes.map(|sizes| sizes.log),
            record_bytes: counted.sizes.map(|sizes| sizes.records),
            index_bytes: counted.sizes.map(|sizes| sizes.indexes),
            graph: Shape::of(&view, &ctx.memory.config.structure.rules()),
            as_of: freshness.as_of,
            lag: freshness.lag,
            degraded: freshness.degraded,
        })
    }

    fn show(output: &Counts) -> String {
        let by = |counts: &BTreeMap<String, u64>| {
            let parts: Vec<String> = counts.iter().map(|(name, count)| format!("{count} {name}")).collect();
            if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) }
        };
        let mib = |bytes: u64| format!("{:.1} MiB", bytes as f64 / (1 << 20) as f64);
        let mut text = String::new();
        let mut line = |name: &str, value: String| {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{name:<9}{value}");
        };
        line("notes", format!("{}{}", output.nodes, by(&output.by_type)));
        line("states", by(&output.by_state).trim_matches([' ', '(', ')']).to_owned());
        line("edges", format!("{}{}", output.edges, by(&output.by_edge_kind)));
        line("graph", output.graph.to_string());
        if let Some(tenants) = output.by_tenant.as_ref().filter(|tenants| tenants.len() > 1) {
            line("tenants", by(tenants).trim_matches([' ', '(', ')']).to_owned());
        }
        line("keywords", output.keywords.to_string());
        line("weight", format!("{:.3} on average", output.average_weight));
        if let (Some(log), Some(records), Some(indexes)) =
            (output.log_bytes, output.record_bytes, output.index_bytes)
        {
            line("disk", format!("log {}, records {}, indexes {}", mib(log), mib(records), mib(indexes)));
        }
        line("changes", format!("{}, indexes {} behind", output.as_of.seq, output.lag));
        for problem in &output.degraded {
            line("degraded", problem.clone());
        }
        text
    }
}
