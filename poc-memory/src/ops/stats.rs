//! `stats`

mod shape;
mod spread;
mod tenant_memory;

use super::growth;
use super::hit::is_zero;
use super::shared_log::SharedLogOutput;
use super::text::{edge_kind, second, size};
use super::{Access, Ctx, Op, Route, Terminal, ToolEffect, argument};
use poc_agent::Definition;
use poc_agent::selection::backlog_of_scan;
use poc_graph::Tuple;
use poc_graph::error::Result;
use poc_graph::time::{PastTime, Timestamp};
use poc_notes::answer_status::{self, AsOf};
use poc_notes::growth::Growth;
use poc_notes::stats;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shape::GraphShape;
use spread::{Cosines, Spread};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use tenant_memory::TenantMemoryOutput;

/// Count notes, edges and keywords, and show how much space they take.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Stats")]
pub(crate) struct StatsRequest {
    /// Also show by how much the memory has grown since a time, or how long ago (`24h`)
    #[arg(long, value_name = "TIME", value_parser = argument::past_time)]
    #[serde(default)]
    since: Option<PastTime>,
    /// List at most N tenants, those with the most notes [default: 100]
    #[arg(long, short = 'n', value_name = "N")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    limit: Option<usize>,
}

/// Counts, sizes and the shape of the graph.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct StatsOutput {
    /// Notes in any state.
    nodes: u64,
    /// Notes that searches can find.
    live: u64,
    /// Edges of every kind.
    edges: u64,
    /// By how much the memory has grown since `since`; absent without `since`, or if the history does not
    /// reach back that far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    growth: Option<Growth>,
    /// Distinct keywords of live notes.
    keywords: u64,
    by_type: BTreeMap<String, u64>,
    by_state: BTreeMap<String, u64>,
    by_edge_kind: BTreeMap<String, u64>,
    /// Notes of each tenant, by name: of the default tenant, and of those with the most notes, up to `limit`. Only set
    /// for a request without a tenant: tenants learn nothing about each other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    by_tenant: Option<BTreeMap<String, u64>>,
    /// How many more tenants there are than `by_tenant` lists.
    #[serde(default, skip_serializing_if = "is_zero")]
    more: usize,
    /// The tenants in memory. Only set for a request without a tenant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tenant_memory: Option<TenantMemoryOutput>,
    /// Average weight of live notes, decayed to now.
    average_weight: f64,
    /// Size of the log on disk in bytes, for all tenants. This and the other sizes are only set for a request
    /// without a tenant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    log_bytes: Option<u64>,
    /// Size of the records on disk in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    record_bytes: Option<u64>,
    /// Size of the saved indexes on disk in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    index_bytes: Option<u64>,
    /// Where the history begins, if a compaction deleted older changes or the store began with a snapshot;
    /// absent if the history is complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    history_since: Option<Timestamp>,
    /// How many transactions each index is behind, by name.
    lags: BTreeMap<String, u64>,
    /// The log that this memory shares with others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    shared_log: Option<SharedLogOutput>,
    cosines: Cosines,
    /// How many notes of the default tenant each agent would process now; null if that needs a search. Agents that do
    /// not run for it are left out. Empty for other tenants.
    backlog: BTreeMap<String, Option<usize>>,
    graph: GraphShape,
    as_of: AsOf,
    /// How many transactions the slowest index is behind.
    lag: u64,
    /// Problems that may make this answer incomplete.
    degraded: Vec<String>,
}

impl Op for StatsRequest {
    const NAME: &'static str = "stats";
    const ACCESS: Access = Access::Read;
    const ROUTE: Option<Route> = Route::get("/v1/stats");
    const TOOL: Option<ToolEffect> = Some(ToolEffect::ReadOnly);
    const SHOWS_DEGRADED: bool = true;
    type Output = StatsOutput;

    fn run(self, ctx: &Ctx<'_>) -> Result<StatsOutput> {
        let limit = argument::count("limit", self.limit, ("stats.limit", ctx.memory.config.stats.limit))?;
        let view = ctx.memory.store.view();
        let counted = stats::count(ctx.memory, &view)?;
        let tenants = counted.by_tenant.map(|tenants| largest(tenants, limit));
        let (by_tenant, more) = tenants.map_or((None, 0), |(tenants, more)| (Some(tenants), more));
        let mut status = answer_status::of(ctx.memory, &view);
        let backlog = backlog(ctx).unwrap_or_else(|error| {
            status.degraded.push(format!("agents: {error}"));
            BTreeMap::new()
        });
        let start = self.since.map(|since| growth::start(since, ctx.memory.now())).transpose()?;
        let growth = start.map(|start| poc_notes::growth::since(ctx.memory, start)).transpose()?.flatten();
        Ok(StatsOutput {
            nodes: counted.nodes,
            live: counted.live,
            edges: counted.edges,
            growth,
            keywords: counted.keywords,
            by_type: counted.by_type,
            by_state: counted.by_state,
            by_edge_kind: counted.by_edge_kind,
            by_tenant,
            more,
            tenant_memory: counted.loaded_tenants.map(TenantMemoryOutput::from),
            average_weight: counted.average_weight,
            log_bytes: counted.sizes.map(|sizes| sizes.log),
            record_bytes: counted.sizes.map(|sizes| sizes.records),
            index_bytes: counted.sizes.map(|sizes| sizes.indexes),
            history_since: ctx.memory.store.history_base().map(|base| base.at),
            lags: counted.lags,
            shared_log: SharedLogOutput::of(&ctx.memory.store),
            cosines: Cosines {
                embedder: ctx.memory.embedder.name().to_owned(),
                insert: Spread::from(&counted.insert_cosines),
                query: Spread::from(&counted.query_cosines),
            },
            backlog,
            graph: GraphShape::of(&view, &ctx.memory.config.structure.options()),
            as_of: status.as_of,
            lag: status.lag,
            degraded: status.degraded,
        })
    }

    fn show(output: &StatsOutput, terminal: &Terminal) -> String {
        let by = |counts: &BTreeMap<String, u64>| {
            let parts: Vec<String> = counts.iter().map(|(name, count)| format!("{count} {name}")).collect();
            if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) }
        };
        let mut text = String::new();
        let mut line = |name: &str, value: String| {
            let lines = terminal.wrapped(&value, NAME_WIDTH);
            // The name takes the place of the indent of the first line.
            let value = lines.get(NAME_WIDTH..).unwrap_or_default();
            // Writing to a string cannot fail.
            let _ = write!(text, "{name:<NAME_WIDTH$}{value}");
        };
        line("notes", format!("{}{}", output.nodes, by(&output.by_type)));
        if !output.by_state.is_empty() {
            line("states", by(&output.by_state).trim_matches([' ', '(', ')']).to_owned());
        }
        if let Some(grown) = &output.growth {
            line("growth", growth::line(grown));
        }
        let kinds = output.by_edge_kind.iter().map(|(kind, count)| (edge_kind(kind), *count)).collect();
        line("edges", format!("{}{}", output.edges, by(&kinds)));
        line("graph", output.graph.to_string());
        let tenants = output.by_tenant.as_ref();
        if let Some(tenants) = tenants.filter(|tenants| tenants.len() + output.more > 1) {
            let all = tenants.len() + output.more;
            let more = match output.more {
                0 => String::new(),
                more => format!(" and {more} more: `--limit {all}` lists all"),
            };
            line("tenants", format!("{}{more}", by(tenants).trim_matches([' ', '(', ')'])));
            if let Some(memory) = &output.tenant_memory {
                line("loaded", memory.line(all - 1));
            }
        }
        line("keywords", output.keywords.to_string());
        line("weight", format!("{:.3} on average", output.average_weight));
        if let (Some(log), Some(records), Some(indexes)) =
            (output.log_bytes, output.record_bytes, output.index_bytes)
        {
            line("disk", format!("log {}, records {}, indexes {}", size(log), size(records), size(indexes)));
        }
        let cosines = &output.cosines;
        for (name, spread) in [("inserts", &cosines.insert), ("queries", &cosines.query)] {
            if spread.count > 0 {
                line(name, format!("cosines of `{}`: {spread}", cosines.embedder));
            }
        }
        let waiting: Vec<String> = output
            .backlog
            .iter()
            .filter_map(|(agent, notes)| Some(format!("{agent} {}", notes.filter(|notes| *notes > 0)?)))
            .collect();
        if !waiting.is_empty() {
            line("backlog", waiting.join(", "));
        }
        if let Some(since) = output.history_since {
            line("history", format!("since {}; earlier changes are not kept here", second(since)));
        }
        line("changes", format!("{}, indexes {} behind", output.as_of.seq, output.lag));
        if let Some(log) = &output.shared_log {
            line("log", log.line());
        }
        // A command that is part of a problem stays on one line.
        for problem in &output.degraded {
            let _ = writeln!(text, "{:<NAME_WIDTH$}{problem}", "degraded");
        }
        text
    }
}

/// The width of the names of figures.
const NAME_WIDTH: usize = 9;

/// The default tenant and those with the most notes, `limit` in all, and the number of the others.
fn largest(tenants: BTreeMap<String, u64>, limit: usize) -> (BTreeMap<String, u64>, usize) {
    let default = Tuple::default().to_string();
    let mut all: Vec<(String, u64)> = tenants.into_iter().collect();
    let more = all.len().saturating_sub(limit);
    all.sort_by(|(a, notes), (b, others)| {
        let rank = |name: &String, notes: u64| (*name != default, Reverse(notes));
        rank(a, *notes).cmp(&rank(b, *others)).then_with(|| a.cmp(b))
    });
    all.truncate(limit);
    (all.into_iter().collect(), more)
}

fn backlog(ctx: &Ctx<'_>) -> Result<BTreeMap<String, Option<usize>>> {
    if !ctx.memory.store.tenant().is_default() {
        return Ok(BTreeMap::new());
    }
    let catalog = ctx.host.catalog()?;
    let enabled = catalog.agents.iter().filter_map(|(name, entry)| {
        let runs = |definition: &&Definition| {
            definition.enabled && definition.schedule.tenants.matches(ctx.memory.store.tuple())
        };
        let definition = entry.definition.as_deref().filter(runs)?;
        Some((name.clone(), backlog_of_scan(ctx.memory, definition)))
    });
    Ok(enabled.collect())
}
