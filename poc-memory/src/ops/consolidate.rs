//! `consolidate`

use super::text::counted;
use super::{Access, Ctx, Op, Progress};
use poc_graph::error::Result;
use poc_notes::consolidate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Clean up: notes past their date leave, edges that lead nowhere or have faded go, keywords nobody uses
/// are forgotten, and the indexes are written anew. What is in use stays as it is, so it may run every
/// night. It is about one tenant; without one, about the default tenant.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct Consolidate {
    /// Only say what would be done
    #[arg(long)]
    #[serde(default)]
    dry_run: bool,
}

/// What was done.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Consolidated {
    /// Notes past their date that have left retrieval; their state is `expired` now.
    pruned_nodes: u64,
    /// Notes deleted for good, long after their date.
    deleted_nodes: u64,
    /// Edges with a missing end, those of deleted notes, and those that use made and that have faded.
    removed_edges: u64,
    /// Keywords no live note has any more.
    removed_keywords: u64,
    /// Whether this is only what would be done.
    dry_run: bool,
}

impl Op for Consolidate {
    const NAME: &'static str = "consolidate";
    const ACCESS: Access = Access::Person;
    type Output = Consolidated;

    fn run(self, ctx: &Ctx<'_>) -> Result<Consolidated> {
        let progress = |part: consolidate::Part, done, total| {
            (ctx.progress)(Progress { what: part.name().into(), done, total: Some(total) });
        };
        let report = consolidate::consolidate(ctx.memory, &ctx.cause(Self::NAME), self.dry_run, &progress)?;
        Ok(Consolidated {
            pruned_nodes: report.pruned_nodes,
            deleted_nodes: report.deleted_nodes,
            removed_edges: report.removed_edges,
            removed_keywords: report.removed_keywords,
            dry_run: self.dry_run,
        })
    }

    fn show(output: &Consolidated) -> String {
        let Consolidated { pruned_nodes, deleted_nodes, removed_edges, removed_keywords, dry_run } = output;
        let whose = if *pruned_nodes == 1 { "its" } else { "their" };
        let would = if *dry_run { "would be " } else { "" };
        format!(
            "{} past {whose} date {would}pruned, {} {would}deleted for good, {} and {} {would}removed\n",
            counted(*pruned_nodes, "note"),
            counted(*deleted_nodes, "note"),
            counted(*removed_edges, "edge"),
            counted(*removed_keywords, "keyword"),
        )
    }
}
